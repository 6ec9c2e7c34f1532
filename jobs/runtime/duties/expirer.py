"""Looks again at what waits: skips what is too old to start, fails what had to end, wakes what was overlooked."""

import logging
from datetime import UTC, datetime
from typing import Final

from ...queue import waits
from ...queue.base.runs import bring_forward
from ...queue.claims.expiry import skip_due
from ...queue.deadlines import are_due, fail_overdue
from ...store.db.database import Database
from ...store.db.transaction import Tx, Wake
from ...store.read.clock import server_time

log = logging.getLogger(__name__)

EVERY: Final = 5.0
"""Seconds between two looks; a claim asks for itself, so that nothing starts too late meanwhile."""


class Expirer:
    """Looks at the next run that expires or has to end, by one probe of an index for each, and at fulfilled waits.

    It looks at the database's clock, too: what was due before somebody set that back does not wait until it is that
    late again.
    """

    def __init__(self, database: Database, node: str) -> None:
        self._database = database
        self._node = node
        self._seen = datetime.min.replace(tzinfo=UTC)

    async def look(self) -> int:
        """Look once; return how many runs were skipped or failed."""
        ended = await self._look_at_waits()
        await self._look_at_clock()
        return ended

    async def _look_at_clock(self) -> None:
        now = await server_time(self._database)
        if now < self._seen:
            brought = 0
            while batch := await self._database.write(_bring_forward, self._seen, now):
                brought += batch
            by = (self._seen - now).total_seconds()
            log.warning("the database's clock was set back by at least %.1f s; %d runs were due already", by, brought)
        self._seen = now

    async def _look_at_waits(self) -> int:
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


def _bring_forward(tx: Tx, seen: datetime, now: datetime) -> int:
    brought = bring_forward(tx.conn, seen, now)
    if brought:
        tx.wake(Wake.RUNS)
    return brought


def _end_due(tx: Tx, node: str) -> tuple[int, int]:
    return skip_due(tx, node), fail_overdue(tx, node)
