"""The overview as all readers of a process see it: those who ask at about the same time are shown one reading."""

import asyncio
from typing import Final

from ...store.db.database import Database
from ...store.read.clock import server_time
from ...store.read.figures.reports import Overview, overview

FRESH: Final = 0.5
"""Seconds for which a reading is shown to whoever else asks."""
PAUSE: Final = 4
"""One that took long is shown for so many times as long: however many look, a fifth of the time is read at most."""


class Overviews:
    """Reads the overview for all who ask in one event loop."""

    def __init__(self) -> None:
        self._reading: asyncio.Task[Overview] | None = None
        self._waiting = 0
        self._stale_at = 0.0

    async def latest(self, database: Database) -> Overview:
        """A reading that is under way, or one that is over and still fresh, or else a new one.

        It ends when the last of those who wait for it has left. What it raises, all of them get; the next try is new.

        Args:
            database: Whoever comes first reads by it.
        """
        reading = self._reading
        if reading is None or (reading.done() and asyncio.get_running_loop().time() >= self._stale_at):
            reading = self._reading = asyncio.create_task(self._read(database), name="cronograph-overview")
        self._waiting += 1
        try:
            return await asyncio.shield(reading)
        finally:
            self._waiting -= 1
            if not self._waiting and not reading.done():
                self._reading = None
                reading.cancel()

    async def _read(self, database: Database) -> Overview:
        loop = asyncio.get_running_loop()
        began = self._stale_at = loop.time()
        found = await database.read(overview, await server_time(database))
        ended = loop.time()
        self._stale_at = ended + max(FRESH, PAUSE * (ended - began))
        return found
