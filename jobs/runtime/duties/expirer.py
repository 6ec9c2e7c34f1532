"""Looks again at what waits: skips what is too old to start, fails what had to end, wakes what was overlooked."""

import logging
from typing import Final

from ...queue import waits
from ...queue.claims.expiry import skip_due
from ...queue.deadlines import are_due, fail_overdue
from ...store.db.database import Database
from ...store.db.transaction import Tx

log = logging.getLogger(__name__)

EVERY: Final = 5.0
"""Seconds between two looks; a claim asks for itself, so that nothing starts too late meanwhile."""


class Expirer:
    """Looks at the next run that expires or has to end, by one probe of an index for each, and at fulfilled waits."""

    def __init__(self, database: Database, node: str) -> None:
        self._database = database
        self._node = node

    async def look(self) -> int:
        """Look once; how many runs were skipped or failed."""
        overlooked = await self._database.read(waits.overlooked)
        if overlooked:
            await self._database.write(waits.wake_overlooked, overlooked)
        ended = 0
        while any(await self._database.read(are_due)):
            skipped, failed = await self._database.write(_end_due, self._node)
            if skipped:
                log.warning("%d runs were skipped: they had to start by a time that has passed", skipped)
            if failed:
                log.warning("%d runs were failed: their max_duration is over", failed)
            ended += skipped + failed
            if not skipped + failed:
                # Somebody else is at them.
                break
        return ended


def _end_due(tx: Tx, node: str) -> tuple[int, int]:
    return skip_due(tx, node), fail_overdue(tx, node)
