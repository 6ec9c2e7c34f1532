"""A part of a node that runs until it is stopped, or looks whenever it is asked to; it survives faults."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

from ...store.db.faults import first_line, log_fault
from ...store.db.transaction import Wake
from .backoff import Backoff, repeated
from .pulse import Pulse

T = TypeVar("T")

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.1
PERSISTENCE = 10.0
"""So long a node tries to write that it starts or stops while its database is unavailable."""


async def persistently(do: Callable[[], Awaitable[T]]) -> T:
    """Do something with the database, again for up to ``PERSISTENCE`` seconds while that is unavailable.

    The answer to a commit may have been lost: to do it twice must be as to do it once.
    """
    loop = asyncio.get_running_loop()

    def note(pause: float, error: Exception) -> None:
        log.warning("the database is unavailable, tried again in %.1f s: %s", pause, first_line(error))

    return await repeated(do, note, _FIRST_PAUSE, give_up_at=loop.time() + PERSISTENCE)


def _uncounted(_name: str) -> None:
    """Count nothing: the owner has no metrics."""


class Service(ABC):
    """Start and stop are idempotent; stop without start is fine.

    When ``run`` raises, it is logged and started again after a pause, so a database that fails for a while stops
    nothing for good. The pause doubles up to five seconds as long as nothing gets done in between.

    Attributes:
        pulse: Whether it gets on; ``run`` calls it.
        on_fault: Called with its name each time that it fails; its owner counts it there.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.pulse = Pulse(name)
        self.on_fault: Callable[[str], None] = _uncounted
        self._got_on = False
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    @abstractmethod
    async def run(self) -> None:
        """Do the work until cancelled."""

    def start(self) -> None:
        """Begin in the running event loop."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._supervise(), name=f"cronograph-{self.name}")

    async def stop(self) -> None:
        """End, and wait for the end. A caller that is cancelled meanwhile ends at once; the next one waits again."""
        task, self._task = self._task, None
        if task is not None:
            self._ending = task
            task.cancel()
        if self._ending is not None:
            # To await the task itself, and to suppress its cancellation, would suppress that of the caller too.
            await asyncio.wait([self._ending])
        self.pulse.done()

    @property
    def is_over(self) -> bool:
        """Whether it was started and has ended although nobody stopped it."""
        return self._task is not None and self._task.done()

    def passed(self, *, more: bool = False) -> None:
        """Something was done: what failed before is over. ``more``: there is more to do at once."""
        self._got_on = True
        if more:
            self.pulse.beat()
        else:
            self.pulse.done()

    async def _supervise(self) -> None:
        backoff = Backoff(_FIRST_PAUSE)
        while True:
            self._got_on = False
            try:
                await self.run()
                return
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                if asyncio.current_task() is not self._task:
                    # A group of tasks raises what failed in it instead of the cancel that it was ended by.
                    log_fault(log, f"{self.name} failed while it ended", error)
                    return
                self.pulse.wanted()
                if self._got_on:
                    backoff.succeed()
                pause = backoff.fail()
                log_fault(log, f"{self.name} failed and starts again in {pause:.1f} s", error)
                self.on_fault(self.name)
            await asyncio.sleep(pause)


async def whenever(
    wanted: asyncio.Event,
    do: Callable[[], Awaitable[object]],
    *,
    pause: Callable[[], float] = lambda: 0.0,
    poll: float | None = None,
    should_poll: Callable[[], bool] = lambda: True,
    service: Service | None = None,
) -> NoReturn:
    """Do something each time that it is wanted; however often that is said meanwhile, it is done once more.

    Args:
        wanted: Set by callers that want it.
        do: Does it.
        pause: Seconds after it; asked each time.
        poll: Seconds after which it is done although nobody wants it; None = never.
        should_poll: Asked then whether to do it; if not, it is asked again ``poll`` seconds later.
        service: Gets on each time that it was done.
    """
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def ring() -> None:
        nonlocal timer
        if should_poll():
            wanted.set()
        else:
            timer = loop.call_later(poll or 0.0, ring)

    while True:
        # The poll finds what no hint announced; one timer costs less than a wait with a limit.
        timer = None if poll is None else loop.call_later(poll, ring)
        try:
            await wanted.wait()
        finally:
            if timer is not None:
                timer.cancel()
        wanted.clear()
        if service is None:
            await do()
        else:
            service.pulse.wanted()
            await do()
            service.passed()
        await asyncio.sleep(pause())


class Watch(Service):
    """Looks at the start, after every hint, and at the latest after a while; between two looks it pauses.

    All by the monotonic clock: a change of the time of day does not make it sleep.

    Args:
        name: Of the service.
        hints: Which wakes make it look.
        poll: Seconds after which it looks without a hint; None = it waits for a hint.
        should_poll: Asked then whether to look.
    """

    def __init__(
        self,
        name: str,
        *,
        hints: Wake = Wake.NONE,
        poll: float | None = None,
        should_poll: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(name)
        self._hints = hints
        self._poll = poll
        self._should_poll = should_poll
        self._wanted = asyncio.Event()

    def on_wake(self, wakes: Wake) -> None:
        """Look if this is one of its hints."""
        if wakes & self._hints:
            self._wanted.set()

    def poke(self) -> None:
        """Look now."""
        self._wanted.set()

    async def run(self) -> None:
        """Look whenever that is wanted."""
        self._wanted.set()
        await whenever(
            self._wanted,
            self.look,
            pause=lambda: self.pause,
            poll=self._poll,
            should_poll=self._should_poll,
            service=self,
        )

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
        should_poll: Asked each time but the first whether to do it.
    """

    def __init__(
        self,
        name: str,
        every: float,
        do: Callable[[], Awaitable[object]],
        *,
        should_poll: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(name, poll=every, should_poll=should_poll)
        self._do = do

    async def look(self) -> None:
        """Do it."""
        await self._do()
