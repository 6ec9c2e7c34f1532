"""A part of a node that runs until it is stopped; it outlives faults of the database."""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod

from .faults import log_fault

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


class Service(ABC):
    """Start and stop are idempotent; stop without start is fine.

    When ``run`` raises, it is logged and started again after a pause that doubles up to five seconds, so a database
    that is away for a while stops nothing for good.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def run(self) -> None:
        """Do the work until cancelled."""

    def start(self) -> None:
        """Begin in the running event loop."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._supervise(), name=f"cronograph-{self.name}")

    async def stop(self) -> None:
        """End, and wait for the end."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _supervise(self) -> None:
        pause = _FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self.run()
                return
            except Exception as error:
                log_fault(log, f"{self.name} failed and starts again in {pause:.1f} s", error)
            await asyncio.sleep(pause)
            steady = loop.time() - began > 60
            pause = _FIRST_PAUSE if steady else min(_LONGEST_PAUSE, pause * 2)
