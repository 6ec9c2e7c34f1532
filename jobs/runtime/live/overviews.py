"""The overview as all readers of a process see it: those who ask at about the same time are shown one reading."""

import asyncio
import math
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...store.db.database import Database
from ...store.read.clock import server_time
from ...store.read.figures.reports import EVERYTHING, Overview, Part, overview

FRESH: Final = 0.5
"""Seconds for which a reading is shown to other callers."""
PAUSE: Final = 4
"""One that took long is shown for so many times as long: however many look, a fifth of the time is read at most."""


@dataclass(slots=True)
class _Reading:
    """A reading, who waits for it, and until when it is shown."""

    task: asyncio.Task[Overview]
    waiting: int = 0
    stale_at: float = math.inf


class Overviews:
    """Reads the overview for all who ask in one event loop."""

    def __init__(self) -> None:
        self._readings: dict[frozenset[Part], _Reading] = {}

    async def latest(self, database: Database, wanted: frozenset[Part] = EVERYTHING) -> Overview:
        """A reading that is under way, or one that is over and still fresh, or else a new one.

        It ends when the last of those who wait for it has left. What it raises, all of them get; the next try is new.

        Args:
            database: The first caller reads by it.
            wanted: Which parts.
        """
        reading = self._readings.get(wanted)
        if reading is None or asyncio.get_running_loop().time() >= reading.stale_at:
            task = asyncio.create_task(self.read(database, wanted), name="cronograph-overview")
            reading = self._readings[wanted] = _Reading(task)
            task.add_done_callback(partial(_note_the_end, reading, asyncio.get_running_loop().time()))
        reading.waiting += 1
        try:
            return await asyncio.shield(reading.task)
        finally:
            reading.waiting -= 1
            if not reading.waiting and not reading.task.done():
                self._readings.pop(wanted, None)
                reading.task.cancel()

    async def read(self, database: Database, wanted: frozenset[Part] = EVERYTHING) -> Overview:
        """A new reading."""
        return await database.read(overview, await server_time(database), wanted)


def _note_the_end(reading: _Reading, began: float, task: asyncio.Task[Overview]) -> None:
    ended = task.get_loop().time()
    good = not task.cancelled() and task.exception() is None
    reading.stale_at = ended + max(FRESH, PAUSE * (ended - began)) if good else ended
