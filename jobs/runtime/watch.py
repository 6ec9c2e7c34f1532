"""A part of a node that looks when it is told that it may be worth it, and slowly without having been told."""

import asyncio
from abc import abstractmethod

from ..store.db.transaction import Wake
from .service import Service


class Watch(Service):
    """Looks at the start, after every hint, and at the latest after a while; between two looks it pauses.

    Args:
        name: Of the service.
        hints: Which wakes are worth a look.
        poll: Seconds after which it looks without having been told of anything.
    """

    def __init__(self, name: str, *, hints: Wake, poll: float) -> None:
        super().__init__(name)
        self._hints = hints
        self._poll = poll
        self._wanted = asyncio.Event()

    def on_wake(self, wakes: Wake) -> None:
        """A look may be worth it."""
        if wakes & self._hints:
            self._wanted.set()

    def poke(self) -> None:
        """Look now."""
        self._wanted.set()

    async def run(self) -> None:
        """Look whenever it may be worth it."""
        loop = asyncio.get_running_loop()
        self._wanted.set()
        while True:
            # Whatever nobody told of is found in the end; one timer costs less than a wait with a limit.
            timer = loop.call_later(self._poll, self._wanted.set)
            await self._wanted.wait()
            timer.cancel()
            self._wanted.clear()
            await self.look()
            await asyncio.sleep(self.pause)

    @abstractmethod
    async def look(self) -> None:
        """Do what there is to do."""

    @property
    @abstractmethod
    def pause(self) -> float:
        """Seconds between two looks: the first comes at once, and under load many commits are seen together."""
