"""Count for statistics and charts: the hours of the execution log that are over, and the depth of the queue."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from ...actions.figures import count_hour, keep_depth
from ...store.db.database import Database
from ...store.read.clock import server_time
from ...store.read.figures import depth
from ...store.read.figures import hours as stored_hours
from ..base.settings import Clock

HOURS_EVERY = 60.0
DEPTH_EVERY = 20.0
"""Seconds between two looks; at the depth less than a minute, so that none is left out."""
REST = 60
"""Counting a very long queue takes a while: so many times as long nothing is counted."""
REST_OF_HOURS = 9
"""The same between two hours of the log: a long history is counted in a tenth of the time, and the rest is for runs."""
BRIEF = 0.05
"""Seconds that an hour may take without a rest."""


class HourCounter:
    """Counts hour after hour, each in a transaction of its own; any node may do it, also several at once.

    A history that was never counted (a log that was copied or restored) is counted while runs go on, with rests.

    Args:
        clock: The clocks of this process.
        rest: Waits for so many seconds.
    """

    def __init__(
        self, database: Database, clock: Clock, *, rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._database = database
        self._clock = clock
        self._rest = rest
        self._start: datetime | None = None

    async def look(self) -> int:
        """Count all hours that can be counted; return how many they were."""
        now = await server_time(self._database)
        if self._start is None:
            self._start = await self._database.read(stored_hours.first_to_count, now)
        if self._start is None:
            return 0
        pending = await self._database.read(stored_hours.uncounted, self._start, now)
        waiting = [hour for hour in pending if not await self._count(hour)]
        if pending:
            # An hour in which something began that still runs is looked at again.
            self._start = waiting[0] if waiting else pending[-1] + stored_hours.HOUR
        return len(pending) - len(waiting)

    async def _count(self, hour: datetime) -> bool:
        began = self._clock.monotonic()
        is_counted = await self._database.write(count_hour, hour)
        took = self._clock.monotonic() - began
        if took > BRIEF:
            await self._rest(REST_OF_HOURS * took)
        return is_counted


class DepthKeeper:
    """Counts the queue once a minute, for its charts, unless another node has, or the last count was costly."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._rests_until = clock.monotonic()

    async def look(self) -> bool:
        """Keep this minute if nobody has; return whether it was kept here."""
        began = self._clock.monotonic()
        if began < self._rests_until:
            return False
        now = await server_time(self._database)
        minute = now.replace(second=0, microsecond=0)
        if await self._database.read(depth.is_kept, minute):
            return False
        parts = await self._database.read(depth.parts, now)
        ended = self._clock.monotonic()
        self._rests_until = ended + REST * (ended - began)
        return await self._database.write(keep_depth, minute, parts)
