"""Slow looks that are left out while nobody has committed anything that they could find."""

from typing import Final

from ...store.db.database import Database

AT_LATEST: Final = 10
"""At the latest every so many times there is a look, even if nothing was committed."""


class ChangeDetector:
    """Asked each time that a slow look is due. Each part that looks has its own.

    What comes due by time alone is no concern of slow looks: a look that finds nothing due sets a timer.

    Args:
        database: On PostgreSQL, and where the time is replaced, no look is left out.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: object = None
        self._left_out = 0

    def should_poll(self) -> bool:
        """Whether to look now; then it has to be done, and sees all that was committed until now."""
        version = self._database.version()
        if version is not None and version == self._seen and self._left_out < AT_LATEST - 1:
            self._left_out += 1
            return False
        self._seen, self._left_out = version, 0
        return True
