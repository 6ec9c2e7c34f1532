"""The parts of a node: services that run until they are stopped, survive faults, and say whether they get on."""

import asyncio
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar

from ...core.outcome import exponential
from ...store.db.database import Database
from ...store.db.faults import ErrorKind, first_line, kind_of, log_fault
from ...store.db.transaction import Wake

T = TypeVar("T")

log = logging.getLogger(__name__)


PASSING: Final = frozenset(kind for kind in ErrorKind if kind.passes)


class Backoff:
    """Seconds to wait: doubled after each failure, up to a limit."""

    def __init__(self, first: float, longest: float = 5.0) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0

    def fail(self) -> float:
        """Return the seconds to wait now; the next wait is twice as long."""
        seconds = exponential(self._first, self._longest, self._failures)
        self._failures += 1
        return seconds

    def succeed(self) -> None:
        """Begin with the first wait again."""
        self._failures = 0


async def repeated(
    action: Callable[[], Awaitable[T]],
    note: Callable[[float, Exception], None],
    first: float,
    during: Collection[ErrorKind] = PASSING,
    give_up_at: float = math.inf,
) -> T:
    """Repeat ``action`` until it does not fail and return its result; doing it twice must change nothing.

    Args:
        action: The call to try.
        note: Called before each wait with its length and the reason.
        first: Seconds of the first wait; see ``Backoff``.
        during: After errors of these kinds it is tried again; any other is raised.
        give_up_at: From then on, by the event loop's clock, every error is raised.
    """
    backoff = Backoff(first)
    while True:
        try:
            return await action()
        except Exception as error:
            if kind_of(error) not in during or asyncio.get_running_loop().time() >= give_up_at:
                raise
            pause = backoff.fail()
            note(pause, error)
        await asyncio.sleep(pause)


AT_LATEST: Final = 10
"""At the latest every so many times there is a look, even if nothing was committed."""


class ChangeDetector:
    """Asked each time that a slow look is due. Each part that looks has its own.

    Work that comes due by time alone is no concern of slow looks: a look that finds nothing due sets a timer.

    Args:
        database: On PostgreSQL, and where the time is replaced, no look is left out.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: object = None
        self._left_out = 0

    def should_poll(self) -> bool:
        """Return whether to look now; then the caller has to look, and sees all commits until now."""
        version = self._database.version()
        if version is not None and version == self._seen and self._left_out < AT_LATEST - 1:
            self._left_out += 1
            return False
        self._seen, self._left_out = version, 0
        return True


@dataclass(frozen=True, slots=True)
class Stall:
    """A part that makes no progress."""

    part: str
    seconds: float

    def __str__(self) -> str:
        return f"its {self.part} has made no progress for {self.seconds:.0f} s"


class Pulse:
    """Of one part, which calls it; read from any thread.

    Args:
        part: In words, e.g. ``"dispatcher"``.
        clock: Seconds that only grow.
    """

    def __init__(self, part: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.part = part
        self._clock = clock
        self._since: float | None = None

    def wanted(self) -> None:
        """Note that there is something to do."""
        if self._since is None:
            self._since = self._clock()

    def beat(self) -> None:
        """Note that some of it was done, and that more is to do."""
        self._since = self._clock()

    def done(self) -> None:
        """Note that all of it was done."""
        self._since = None

    def age(self) -> float:
        """Return for how many seconds there has been something to do of which nothing was done."""
        since = self._since
        return 0.0 if since is None else self._clock() - since


_STILL = 0.25
"""The part of its patience after which what carries the parts counts as standing still, if one of them does."""


def stall_of(pulses: Iterable[Pulse], patience: float, carrier: Pulse | None = None) -> Stall | None:
    """Return the part that has made no progress for the longest, if for longer than ``patience`` seconds.

    Args:
        patience: Seconds.
        carrier: Of the part that all of them need. While it stands still it is the one to name: a part that had begun
            something before has been waiting for longer, but for this.
    """
    slowest = max(pulses if carrier is None else (carrier, *pulses), key=Pulse.age, default=None)
    age = 0.0 if slowest is None else slowest.age()
    if slowest is None or age <= patience:
        return None
    carried = 0.0 if carrier is None else carrier.age()
    return Stall(slowest.part, age) if carrier is None or carried <= _STILL * patience else Stall(carrier.part, carried)


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
        """Return whether it was started and has ended although nobody stopped it."""
        return self._task is not None and self._task.done()

    def passed(self, *, more: bool = False) -> None:
        """Note a success, which ends earlier failures. ``more``: there is more to do at once."""
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

    Attributes:
        first_after: Seconds after the start until it looks without a hint.

    Args:
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
        self.first_after = 0.0
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
        if self.first_after > 0:
            asyncio.get_running_loop().call_later(self.first_after, self._wanted.set)
        else:
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
        """Do the work that is there."""

    @property
    def pause(self) -> float:
        """Seconds between two looks: the first comes at once, and under load many commits are seen together."""
        return 0.0


class Duty(Watch):
    """Something that a node does every so often; a fault is logged, and it is done again.

    Args:
        every: Seconds between the end of one and the beginning of the next.
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
