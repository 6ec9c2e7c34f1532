"""Write-ahead logging on SQLite: readers and the writer do not wait for each other."""

import sqlite3

ATTEMPTS = 20
"""How often a connection tries to switch a file over, while others lock it."""


def use_wal(connection: sqlite3.Connection) -> None:
    """Have the file of this connection use a write-ahead log; the file remembers it.

    Of several connections that open a new file at once one switches it over. SQLite refuses the others while that one
    is about to, without the waiting that ``busy_timeout`` promises; so they wait for its lock, and look again.

    Args:
        connection: In autocommit mode, with a ``busy_timeout``.

    Raises:
        sqlite3.OperationalError: the file stayed locked for longer than that, or cannot be written.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # The low byte is the kind of error; the others say more about it.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            # This does wait until nobody else is about to write.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("COMMIT")
        else:
            return
    connection.execute("PRAGMA journal_mode=WAL")
