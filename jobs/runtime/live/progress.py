"""Writes the newest progress of running jobs a few times a second, many in one transaction."""

import asyncio
import threading

from ...actions.checkpoints import save_progress
from ...core.model import Json
from ...queue.claims.claim import Started
from ...store.db.database import Database
from ..base.service import Watch

_PAUSE = 0.25


class ProgressWriter(Watch):
    """Keeps only the newest value of each run until it is written."""

    def __init__(self, database: Database) -> None:
        super().__init__("progress-writer")
        self._database = database
        self._newest: dict[int, tuple[Started, Json]] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()

    def show(self, started: Started, progress: Json) -> None:
        """Take a value; safe from any thread."""
        with self._lock:
            was_idle = not self._newest
            self._newest[started.run.id] = (started, progress)
        if was_idle:
            self._loop.call_soon_threadsafe(self.poke)

    def forget(self, run_id: int) -> None:
        """The run ended; its last progress is written with its end."""
        with self._lock:
            self._newest.pop(run_id, None)

    @property
    def pause(self) -> float:
        """Seconds between two writes: at most four a second."""
        return _PAUSE

    async def look(self) -> None:
        """Write what waits."""
        with self._lock:
            newest, self._newest = self._newest, {}
        if not newest:
            return
        try:
            rows = [(started.run, progress) for started, progress in newest.values()]
            await self._database.write(save_progress, rows)
        except Exception:
            # Kept for the next try, unless something newer has come meanwhile.
            with self._lock:
                self._newest = newest | self._newest
            raise
