"""Whether anybody has committed to a SQLite file: for a hundredth of what a transaction that finds nothing costs."""

import sqlite3
from pathlib import Path


class Witness:
    """A connection that only ever asks how far the file is.

    It begins no transaction and waits for no lock, so an event loop may ask it. Commits of this process count as well
    as those of others: each connection but the one that commits sees them.

    Args:
        path: The database file; it is not made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None

    def version(self) -> tuple[int, int, int] | None:
        """Differs from an earlier one whenever something was committed in between; None = that cannot be told now."""
        try:
            found = self._path.stat()
            file = found.st_dev, found.st_ino
            if self._connection is None or file != self._opened:
                self.close()
                self._connection, self._opened = self._open(), file
            return *file, self._connection.execute("PRAGMA data_version").fetchone()[0]
        except (OSError, sqlite3.Error):
            # It is gone, or busy for a moment: whoever asks has to look, and hears what is wrong.
            self.close()
            return None

    def _open(self) -> sqlite3.Connection:
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=0, isolation_level=None, check_same_thread=False)

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
