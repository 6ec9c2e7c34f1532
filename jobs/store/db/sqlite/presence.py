"""Whether the SQLite file that is open is still the one under its name."""

import sqlite3
from pathlib import Path

from sqlalchemy.exc import OperationalError


class FilePresence:
    """Remembers which file it was, by device and inode.

    A deleted file still takes what is written to it, and all of that is lost with the last connection. A file that was
    put in its place is another database.

    Args:
        path: The database file; it may be made later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[int, int] | None = None

    def check(self) -> bool:
        """Let pass while it is there, or was not made yet; whether it is there.

        Raises:
            OperationalError: it was deleted, moved away or replaced; if it comes back, all is well again.
        """
        found = self._look()
        if self._known is None:
            self._known = found
        elif found != self._known:
            what = "was deleted or moved away" if found is None else "was replaced by another file"
            fault = sqlite3.OperationalError(
                f"database file '{self._path}' {what} while it was in use; put it back, or restart"
            )
            fault.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise OperationalError(None, None, fault)
        return found is not None

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino
