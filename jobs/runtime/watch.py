"""A part of a node that looks when it is told that it may be worth it, and slowly without having been told."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import NoReturn

from ..store.db.transaction import Wake
from .service import Service


async def whenever(
    wanted: asyncio.Event,
    do: Callable[[], Awaitable[object]],
    *,
    pause: Callable[[], float] = lambda: 0.0,
    poll: float | None = None,
) -> NoReturn:
    """Do something each time that it is wanted; however often that is said meanwhile, it is done once more.

    Args:
        wanted: Set by whoever wants it.
        do: Does it.
        pause: Seconds after it; asked each time.
        poll: Seconds after which it is done although nobody wants it; None = never.
    """
    loop = asyncio.get_running_loop()
    while True:
        # Whatever nobody told of is found in the end; one timer costs less than a wait with a limit.
        timer = None if poll is None else loop.call_later(poll, wanted.set)
        await wanted.wait()
        if timer is not None:
            timer.cancel()
        wanted.clear()
        await do()
        await asyncio.sleep(pause())


class Watch(Service):
    """Looks at the start, after every hint, and at the latest after a while; between two looks it pauses.

    All by the monotonic clock: whoever sets the time of day does not make it sleep.

    Args:
        name: Of the service.
        hints: Which wakes are worth a look.
        poll: Seconds after which it looks without having been told of anything; None = it waits to be told.
    """

    def __init__(self, name: str, *, hints: Wake = Wake.NONE, poll: float | None = None) -> None:
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
        self._wanted.set()
        await whenever(self._wanted, self.look, pause=lambda: self.pause, poll=self._poll)

    @abstractmethod
    async def look(self) -> None:
        """Do what there is to do."""

    @property
    def pause(self) -> float:
        """Seconds between two looks: the first comes at once, and under load many commits are seen together."""
        return 0.0


class Duty(Watch):
    """Something that a node does every so often; a fault is logged, and it is done again.

    Args:
        name: What it is.
        every: Seconds between the end of one and the beginning of the next.
        do: Does it.
    """

    def __init__(self, name: str, every: float, do: Callable[[], Awaitable[object]]) -> None:
        super().__init__(name, poll=every)
        self._do = do

    async def look(self) -> None:
        """Do it."""
        await self._do()
