"""Keeps how deep the queue is at each minute, for the charts of it. One of the nodes does it, whichever looks first."""

from ...actions.figures import keep_depth
from ...store.db.database import Database
from ...store.read.clock import server_time
from ...store.read.figures import depth
from ..clock import Clock

EVERY = 20.0
"""Seconds between two looks: less than a minute, so that none is left out."""

REST = 60
"""Counting a very long queue takes a while: so many times as long nothing is counted."""


class DepthKeeper:
    """Counts the queue once a minute, unless another node has, or the last count was costly.

    Args:
        database: Whose queue.
        clock: The clocks of this process.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._rests_until = clock.monotonic()

    async def look(self) -> bool:
        """Keep this minute if nobody has; whether it was kept here."""
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
