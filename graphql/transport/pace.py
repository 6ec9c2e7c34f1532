"""Whose turn it is on the event loop: who has kept it busy of late goes on one document after the other, behind others.

What a document costs the loop is known for certain only afterwards: twenty lists that are all refused read nothing and
take as long as twenty that are read. So each caller is charged with the time that its documents took, refused or not,
and half of it is forgotten every so often. Who has used little passes at once. The others share a few places, and the
one who has used least gets the next that is free: a neighbour waits for one document, not for all that others
have sent. Nobody is slower for it while nobody else asks: the loop does one thing at a time anyway.
"""

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from ..base.errors import UserFacingError
from ..execution.metered import Meter
from ..guard.limits import Limits

Queue = deque[asyncio.Future[None]]

WINDOW: Final = 1.0
"""Seconds in which what a caller has used falls to a third."""
IDLE_AFTER: Final = 0.05
"""Seconds without a step after which a document loses its place: it waits for the database, not for the loop."""
NOTED: Final = 0.001
"""Seconds of use below which a caller counts as idle."""
LONGEST: Final = 0.05
"""Seconds that one step is charged with at most: a longer one was kept waiting by the system, too."""
RECOUNT: Final = 0.1
"""Seconds between two looks at how many callers there are."""
CALLERS: Final = 1_000
"""So many callers are remembered; before that, idle ones are forgotten, and if there are none, those who came first."""


class Caller:
    """One caller: the use of the loop, and what waits for a place, first come first served.

    Attributes:
        documents: Those that wait.
        events: Events of subscriptions that wait; they take turns with the documents, since others may share them.
    """

    __slots__ = ("_at", "_order", "_used", "documents", "events")

    def __init__(self) -> None:
        self._used = 0.0
        self._at = -math.inf
        self.documents = Queue()
        self.events = Queue()
        self._order = [self.events, self.documents]

    def __len__(self) -> int:
        """How many wait."""
        return len(self.documents) + len(self.events)

    def charge(self, began: float, ended: float) -> None:
        """Add a step."""
        self._used = self.used(ended) + min(ended - began, LONGEST)
        self._at = ended

    def used(self, now: float) -> float:
        """Seconds used of late: one who takes a tenth of the loop all the time has used a tenth of the window."""
        return self._used * math.exp((self._at - now) / WINDOW) if self._used else 0.0

    def next(self) -> asyncio.Future[None] | None:
        """Take out the next that waits; one that was cancelled just now removes itself."""
        for queue in self._order:
            turn = next((one for one in queue if not one.done()), None)
            if turn is not None:
                queue.remove(turn)
                self._order.sort(key=lambda one: one is queue)
                return turn
        return None


@dataclass(slots=True)
class Turn:
    """A document's turn.

    Attributes:
        meter: Charges the caller.
        paced: Whether the caller has used much of late.
    """

    meter: Meter
    paced: bool


class _Place:
    """A place on the loop, given back once: at the end of its document, or when that waits for long."""

    def __init__(self, meter: Meter, free: Callable[[], None]) -> None:
        self._meter = meter
        self._free: Callable[[], None] | None = free
        self._seen = meter.steps
        self._timer = self._look_later()

    def _look_later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(IDLE_AFTER, self._look)

    def _look(self) -> None:
        if self._seen == self._meter.steps:
            self.give_back()
            return
        self._seen = self._meter.steps
        self._timer = self._look_later()

    def give_back(self) -> None:
        self._timer.cancel()
        free, self._free = self._free, None
        if free is not None:
            free()


@dataclass(slots=True)
class _Count:
    """How many callers there were when it was last looked."""

    callers: int = 0
    at: float = field(default=-math.inf)


class Pace:
    """Gives turns on one event loop."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = perf_counter) -> None:
        """Start with nobody.

        Args:
            limits: What is little use, how many places there are, and how many documents may wait.
            clock: Seconds, by which steps are timed.
        """
        self._limits = limits
        self._clock = clock
        self._callers: dict[str, Caller] = {}
        # Those of them who wait.
        self._queued: set[Caller] = set()
        self._taken = 0
        self._waiting = 0
        self._count = _Count()

    @asynccontextmanager
    async def turn(self, client: str, *, event: bool = False) -> AsyncGenerator[Turn, None]:
        """Wait for the turn of a document, or of one event of a subscription.

        Args:
            client: Who asks.
            event: Whether it is an event, which goes before the client's documents.

        Raises:
            UserFacingError: ``LIMIT_QUEUED_DOCUMENTS`` or ``LIMIT_QUEUE_SECONDS``, HTTP 503: try again later.
        """
        caller = self._caller(client)
        meter = Meter(caller.charge, self._clock)
        if caller.used(self._clock()) <= self._allowance():
            yield Turn(meter, paced=False)
            return
        await self._enter(caller, caller.events if event else caller.documents)
        place = _Place(meter, self._free)
        try:
            yield Turn(meter, paced=True)
        finally:
            place.give_back()

    def meter(self, client: str) -> Meter:
        """Charges a client for what needs no turn."""
        return Meter(self._caller(client).charge, self._clock)

    def used(self, client: str) -> float:
        """Seconds of the loop that a client has used of late."""
        known = self._callers.get(client)
        return 0.0 if known is None else known.used(self._clock())

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._waiting

    @property
    def remembered(self) -> int:
        """How many clients are remembered."""
        return len(self._callers)

    def _caller(self, name: str) -> Caller:
        known = self._callers.get(name)
        if known is None:
            if len(self._callers) >= CALLERS:
                self._forget_absent()
            known = self._callers[name] = Caller()
        return known

    def _forget_absent(self) -> None:
        now = self._clock()
        for name, one in list(self._callers.items()):
            if one.used(now) < NOTED and not len(one):
                del self._callers[name]
        if len(self._callers) >= CALLERS:
            # A quarter at once: to look through all of them for each new one would cost more than they ask for.
            leaving = [name for name, one in self._callers.items() if not len(one)][: CALLERS // 4]
            for name in leaving:
                del self._callers[name]

    def _allowance(self) -> float:
        """Seconds that a caller may have used and still pass at once: at most half of an equal part for everybody."""
        now, count = self._clock(), self._count
        if now - count.at > RECOUNT:
            count.callers = sum(one.used(now) >= NOTED for one in self._callers.values())
            count.at = now
        return WINDOW * min(self._limits.loop_share, 0.5 / max(1, count.callers))

    async def _enter(self, caller: Caller, queue: Queue) -> None:
        if self._taken < self._limits.paced_documents and not self._waiting:
            self._taken += 1
            return
        self._check_queue(caller)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._queued.add(caller)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.operation_seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                # Its turn had just come.
                self._free()
            else:
                queue.remove(turn)
                self._left(caller)
            if isinstance(error, TimeoutError):
                raise self._refusal("queue_seconds", self._limits.operation_seconds, "waited for its turn") from None
            raise

    def _check_queue(self, caller: Caller) -> None:
        most = self._limits.queued_documents
        if self._waiting >= most or len(caller) >= max(1, most // 2):
            raise self._refusal("queued_documents", most, "would have to wait behind too many others")

    def _refusal(self, limit: str, maximum: float, what: str) -> UserFacingError:
        message = (
            f"You ask for more than the server answers, and this operation {what}: the limit of {limit} is "
            f"{maximum:g}. Try again in a moment, or ask for less at a time."
        )
        extensions = {"limit": limit, "maximum": maximum}
        return UserFacingError(message, code=f"LIMIT_{limit.upper()}", http_status=503, extensions=extensions)

    def _left(self, caller: Caller) -> None:
        """One of a caller's waits no more."""
        self._waiting -= 1
        if not len(caller):
            self._queued.discard(caller)

    def _free(self) -> None:
        """Give a place to the caller in line that has used least."""
        now = self._clock()
        for caller in sorted(self._queued, key=lambda one: one.used(now)):
            turn = caller.next()
            if turn is not None:
                self._left(caller)
                turn.set_result(None)
                return
        self._taken -= 1
