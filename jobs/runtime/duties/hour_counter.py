"""Counts the hours of the execution log that are over, for the statistics. Any node may do it, also several at once."""

from datetime import datetime

from ...actions.figures import count_hour
from ...store.db.database import Database
from ...store.read.clock import server_time
from ...store.read.figures import hours as stored_hours

EVERY = 60.0
"""Seconds between two looks."""


class HourCounter:
    """Counts hour after hour, each in a transaction of its own.

    Args:
        database: Whose log.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._start: datetime | None = None

    async def look(self) -> int:
        """Count what can be counted; how many hours that were."""
        now = await server_time(self._database)
        if self._start is None:
            self._start = await self._database.read(stored_hours.first_to_count, now)
        if self._start is None:
            return 0
        pending = await self._database.read(stored_hours.uncounted, self._start, now)
        waiting = [hour for hour in pending if not await self._database.write(count_hour, hour)]
        if pending:
            # An hour in which something began that still runs is looked at again.
            self._start = waiting[0] if waiting else pending[-1] + stored_hours.HOUR
        return len(pending) - len(waiting)
