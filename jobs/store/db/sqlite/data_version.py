"""Whether anybody has committed to a SQLite file: for a hundredth of what a transaction that finds nothing costs."""

import sqlite3
from pathlib import Path

from sqlalchemy.exc import OperationalError

from .presence import FilePresence


class DataVersion:
    """A connection that only ever asks how far the file is.

    It waits for no lock, so an event loop may ask it. Commits of this process count as well as those of others: each
    connection but the one that commits sees them.

    Args:
        path: The database file; it is not made.
        presence: Knows which file it was. Another one in its place is not even opened: next to it is the log of the
            first, which SQLite would take for its own.
    """

    def __init__(self, path: Path, presence: FilePresence) -> None:
        self._path = path
        self._presence = presence
        self._connection: sqlite3.Connection | None = None

    def version(self) -> int | None:
        """Differs from an earlier one whenever something was committed in between; None = that is not known now."""
        try:
            self._presence.check()
            if self._connection is None:
                self._connection = self._open()
            found: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        except (OperationalError, sqlite3.Error):
            # It is gone, or busy for a moment: the caller has to look, and finds what is wrong.
            return None
        return found

    def _open(self) -> sqlite3.Connection:
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            # What came into its place before it was opened.
            self._presence.check()
        except OperationalError:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
