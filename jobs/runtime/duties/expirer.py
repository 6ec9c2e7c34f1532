"""Skips runs that are too old to start and that no claim meets: of paused groups, of jobs that nobody knows."""

import logging
from typing import Final

from ...queue.expiry import is_due, skip_due
from ...store.db.database import Database
from ...store.db.transaction import Tx

log = logging.getLogger(__name__)

EVERY: Final = 5.0
"""Seconds between two looks; a claim asks for itself, so that nothing starts too late meanwhile."""


class Expirer:
    """Looks at the next run that expires: one probe of an index, however many wait.

    Args:
        database: Where they are.
        node: The name of the node that looks.
    """

    def __init__(self, database: Database, node: str) -> None:
        self._database = database
        self._node = node

    async def look(self) -> int:
        """Look once; how many runs were skipped."""
        skipped = 0
        while await self._database.read(is_due):
            some = await self._database.write(_skip, self._node)
            skipped += some
            if not some:
                # Somebody else is at them.
                break
        if skipped:
            log.warning("%d runs were skipped: they had to start by a time that has passed", skipped)
        return skipped


def _skip(tx: Tx, node: str) -> int:
    return skip_due(tx, node)
