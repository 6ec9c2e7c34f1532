"""Admission: decide which operations run now and which wait, by cost, share per caller and lane.

A **lane** is a queue in front of something scarce; three of them follow the same rules. The loop lane gives turns on
the event loop, the costly lane shares out the processor, and the search lane (``guard/searches.py``) has the one
connection for rows that no index finds. Each operation has a **cost**, and a lane has room for so much cost at a time.
Each caller has a **share**: a part of the room, and a place in line that depends on how much it used recently. The
caller that used least goes first, and equals take turns. So a caller with a hundred operations delays another one by a
single operation.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from starlette.requests import HTTPConnection

from ..base.errors import UserFacingError
from .document import Prepared
from .limits import Limits
from .metered import Meter

WINDOW: Final = 1.0
"""Seconds after which a third of the use of the event loop is still counted."""
IDLE_AFTER: Final = 0.05
"""Seconds without a step after which an operation loses its place on the loop: it waits for the database instead."""
NOTED: Final = 0.001
"""Seconds of use below which a caller counts as idle."""
LONGEST: Final = 0.05
"""Seconds charged for one step at most: the operating system also delays the longer ones."""
RECOUNT: Final = 0.1
"""Seconds between two counts of the callers that use the loop."""
CALLERS: Final = 1_000
"""Callers that a lane remembers. Then it forgets the idle ones, or the oldest if none is idle."""
SHORTEST_REST: Final = 0.005
"""Seconds of rest below which no timer is set."""
END_SECONDS: Final = 0.1
"""Seconds after the end of an execution at which its reads end."""
RETRY_SECONDS: Final = 10.0
"""Seconds for which a subscription repeats a read while the database is unavailable: its reader would come back."""

Fade = Callable[[float, float], float]
"""Returns how much of a use still counts after so many seconds."""


def forgotten(_used: float, _seconds: float) -> float:
    """Count no use: all callers are equal and take turns."""
    return 0.0


def faded(used: float, seconds: float) -> float:
    """Forget use by and by: a caller that takes a tenth of the loop all the time has used a tenth of the window."""
    return used * math.exp(-seconds / WINDOW) if used else 0.0


@dataclass(eq=False, slots=True)
class Ticket:
    """An operation that waits.

    Attributes:
        cost: The room it takes.
        event: Whether it is an event of a subscription.
        turn: Done when it may run.
    """

    cost: int
    event: bool
    turn: asyncio.Future[None]


class Caller:
    """One caller in one lane: its use, and its tickets, first come first served.

    Events and other operations of one caller alternate, since events may be shared with others.

    Attributes:
        cost: The room taken by its operations that run.
        tickets: Its operations that wait.
    """

    __slots__ = ("_after_event", "_at", "_fade", "_used", "cost", "tickets")

    def __init__(self, fade: Fade) -> None:
        self.cost = 0
        self.tickets: list[Ticket] = []
        self._fade = fade
        self._used = 0.0
        self._at = -math.inf
        self._after_event = False

    def charge(self, began: float, ended: float) -> None:
        """Add a step on the event loop."""
        self.add(min(ended - began, LONGEST), ended)

    def add(self, seconds: float, now: float) -> None:
        """Add use."""
        self._used = self.used(now) + seconds
        self._at = now

    def used(self, now: float) -> float:
        """Return the seconds that still count."""
        return self._fade(self._used, now - self._at)

    def next(self) -> Ticket | None:
        """Return the next ticket; a cancelled one removes itself."""
        waiting = [ticket for ticket in self.tickets if not ticket.turn.done()]
        others = (ticket for ticket in waiting if ticket.event is not self._after_event)
        return next(others, waiting[0] if waiting else None)

    def served(self, ticket: Ticket) -> None:
        """Take out a ticket that runs now."""
        self.tickets.remove(ticket)
        self._after_event = ticket.event


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of a lane.

    Attributes:
        room: The cost that runs at a time.
        share: The same for one caller.
        limit: The name of the limit on how many may wait.
        most: How many may wait.
        part: One caller may be one in so many of them.
        seconds: How long an operation may wait.
        busy: The beginning of a refusal.
        fade: How use is forgotten.
        retry_after: Seconds after which to try again; None = as for any refusal of its kind.
    """

    room: int
    share: int
    limit: str
    most: int
    part: int
    seconds: float
    busy: str
    fade: Fade = forgotten
    retry_after: float | None = None

    def refusal(self, limit: str, maximum: float, what: str) -> UserFacingError:
        """Return the error for an operation that cannot wait."""
        message = (
            f"{self.busy} {what}: the limit of {limit} is {maximum:g}. "
            "Try again in a moment, or ask for less at a time."
        )
        extensions: dict[str, Any] = {"limit": limit, "maximum": maximum}
        if self.retry_after is not None:
            extensions["retryAfter"] = self.retry_after
        return UserFacingError(message, code=f"LIMIT_{limit.upper()}", http_status=503, extensions=extensions)


class Lane:
    """A queue in front of something scarce; on one event loop."""

    def __init__(self, rules: Rules, clock: Callable[[], float]) -> None:
        """Start empty.

        Args:
            rules: How much runs at a time and how much waits.
            clock: Seconds, by which use is counted and forgotten.
        """
        self.clock = clock
        self._rules = rules
        self._callers: dict[str, Caller] = {}
        # Those with tickets, in the order of their turns.
        self._queue: dict[Caller, None] = {}
        self._waiting = 0
        self._cost = 0

    @property
    def waiting(self) -> int:
        """Return how many operations wait."""
        return self._waiting

    @property
    def remembered(self) -> int:
        """Return how many callers are remembered."""
        return len(self._callers)

    def used(self, client: str) -> float:
        """Return the seconds that a caller has used recently."""
        known = self._callers.get(client)
        return 0.0 if known is None else known.used(self.clock())

    def caller(self, name: str) -> Caller:
        """Return the caller of a name."""
        known = self._callers.get(name)
        if known is None:
            if len(self._callers) >= CALLERS:
                self._forget()
            known = self._callers[name] = Caller(self._rules.fade)
        return known

    def busy_callers(self) -> int:
        """Count the callers that are not idle."""
        now = self.clock()
        return sum(caller.used(now) >= NOTED for caller in self._callers.values())

    async def enter(self, caller: Caller, cost: int = 1, *, event: bool = False) -> None:
        """Wait until there is room for an operation; end it with ``leave``.

        Raises:
            UserFacingError: HTTP 503: too many wait already, or the operation has waited for too long.
        """
        if caller.next() is None and self._fits(caller, cost):
            self._take(caller, cost)
            return
        self._check_queue(caller)
        ticket = Ticket(cost, event, asyncio.get_running_loop().create_future())
        caller.tickets.append(ticket)
        self._queue.setdefault(caller)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._rules.seconds):
                await ticket.turn
        except BaseException as error:
            self._give_up(caller, ticket)
            if isinstance(error, TimeoutError):
                raise self._rules.refusal("queue_seconds", self._rules.seconds, "waited for its turn") from None
            raise

    def leave(self, caller: Caller, cost: int = 1, rest: float = 0.0) -> None:
        """Give back the room of an operation, after ``rest`` seconds."""
        if rest >= SHORTEST_REST:
            asyncio.get_running_loop().call_later(rest, self.leave, caller, cost)
            return
        caller.cost -= cost
        self._cost -= cost
        self._admit()

    def _fits(self, caller: Caller, cost: int) -> bool:
        return self._cost + cost <= self._rules.room and caller.cost + cost <= self._rules.share

    def _take(self, caller: Caller, cost: int) -> None:
        caller.cost += cost
        self._cost += cost

    def _check_queue(self, caller: Caller) -> None:
        most = self._rules.most
        if self._waiting >= most or len(caller.tickets) >= max(1, most // self._rules.part):
            raise self._rules.refusal(self._rules.limit, most, "would have to wait behind too many others")

    def _give_up(self, caller: Caller, ticket: Ticket) -> None:
        if ticket.turn.done() and not ticket.turn.cancelled():
            # Its turn had just come.
            self.leave(caller, ticket.cost)
            return
        caller.tickets.remove(ticket)
        self._waiting -= 1
        if not caller.tickets:
            del self._queue[caller]
        # A smaller one may have waited behind it.
        self._admit()

    def _admit(self) -> None:
        while self._cost < self._rules.room and (found := self._next()) is not None:
            caller, ticket = found
            caller.served(ticket)
            self._waiting -= 1
            # Its next ticket comes after the next ones of equal callers.
            del self._queue[caller]
            if caller.tickets:
                self._queue[caller] = None
            self._take(caller, ticket.cost)
            ticket.turn.set_result(None)

    def _next(self) -> tuple[Caller, Ticket] | None:
        now = self.clock()
        for caller in sorted(self._queue, key=lambda one: one.used(now)):
            ticket = caller.next()
            if ticket is not None and self._fits(caller, ticket.cost):
                return caller, ticket
        return None

    def _forget(self) -> None:
        now = self.clock()
        away = [name for name, one in self._callers.items() if not one.tickets and not one.cost]
        idle = [name for name in away if self._callers[name].used(now) < NOTED]
        # A quarter at once: to look through all of them for each new one would cost more than they ask for.
        for name in idle or away[: CALLERS // 4]:
            del self._callers[name]


@dataclass(slots=True)
class Turn:
    """An operation's turn on the event loop.

    Attributes:
        paced: Whether the caller has used much recently.
    """

    meter: Meter
    paced: bool


class _Place:
    """A place on the loop, given back once: when its operation ends, or when that waits for long."""

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
    callers: int = 0
    at: float = field(default=-math.inf)


class LoopLane(Lane):
    """Turns on the event loop.

    The cost of a document for the loop is known only afterwards: twenty lists that are all refused read nothing and
    take as long as twenty that are read. So each caller is charged with the time of its steps, refused or not. Callers
    that used little pass at once, the others share a few places. Nobody is slower for it while nobody else asks: the
    loop does one thing at a time anyway.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.perf_counter) -> None:
        """Start with nobody; see ``loop_share``, ``paced_documents`` and ``queued_documents`` of the limits."""
        places = limits.paced_documents
        busy = "You ask for more than the server answers, and this operation"
        rules = Rules(
            room=places, share=places, limit="queued_documents", most=limits.queued_documents, part=2,
            seconds=limits.operation_seconds, busy=busy, fade=faded,
        )  # fmt: skip
        super().__init__(rules, clock)
        self._share = limits.loop_share
        self._count = _Count()

    @asynccontextmanager
    async def turn(self, client: str, *, event: bool = False) -> AsyncGenerator[Turn, None]:
        """Wait for the turn of a document, or of one event of a subscription.

        Raises:
            UserFacingError: ``LIMIT_QUEUED_DOCUMENTS`` or ``LIMIT_QUEUE_SECONDS``, HTTP 503: try again later.
        """
        caller = self.caller(client)
        meter = Meter(caller.charge, self.clock)
        if caller.used(self.clock()) <= self._allowance():
            yield Turn(meter, paced=False)
            return
        await self.enter(caller, event=event)
        place = _Place(meter, partial(self.leave, caller))
        try:
            yield Turn(meter, paced=True)
        finally:
            place.give_back()

    def meter(self, client: str) -> Meter:
        """Return a meter for work that needs no turn."""
        return Meter(self.caller(client).charge, self.clock)

    def _allowance(self) -> float:
        """Return the seconds of use up to which a caller passes: half of an equal part for everybody at most."""
        now, count = self.clock(), self._count
        if now - count.at > RECOUNT:
            count.callers = self.busy_callers()
            count.at = now
        return WINDOW * min(self._share, 0.5 / max(1, count.callers))


class CostlyLane(Lane):
    """The processor, for operations that cost much; the others pass.

    Threads that compute share one interpreter: two operations at once are not faster than one after the other, but
    everything else in the process is slower meanwhile. So an operation keeps its room for a while after its end, in
    proportion to its processor time. Its answer does not wait, only the next operation does.
    """

    def __init__(self, limits: Limits, processor: Callable[[], float] = time.process_time) -> None:
        """Start with nothing under way.

        Args:
            limits: See ``cheap_cost``, ``budget``, ``client_budget``, ``queued_operations`` and ``rest``.
            processor: The processor time of this process so far, in seconds.
        """
        rules = Rules(
            room=limits.budget, share=limits.client_budget, limit="queued_operations", most=limits.queued_operations,
            part=4, seconds=limits.queue_seconds, busy="The server is busy with costly operations, and this one",
        )  # fmt: skip
        super().__init__(rules, processor)
        self._limits = limits

    @asynccontextmanager
    async def admitted(self, client: str, cost: int) -> AsyncGenerator[None, None]:
        """Wait for the turn of an operation, and count it as under way while the block runs and rests.

        Raises:
            UserFacingError: ``LIMIT_QUEUED_OPERATIONS`` or ``LIMIT_QUEUE_SECONDS``, HTTP 503: try again later.
        """
        limits = self._limits
        if cost <= limits.cheap_cost:
            yield
            return
        # An operation that costs more than there is room for runs alone.
        cost = min(cost, limits.budget, limits.client_budget)
        caller = self.caller(client)
        await self.enter(caller, cost)
        began = self.clock()
        try:
            yield
        finally:
            self.leave(caller, cost, min(limits.rest * (self.clock() - began), limits.rest_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Choose the connection by which an execution reads.

    Attributes:
        client: The caller; empty for reads that no client asked for.
        cost: As the guard measured it.
        costly: Whether it must leave the connections of others alone: it costs much, or its caller has used much.
        deadline: When its reads end, by the event loop's clock; None = they have no common end.
        retry_seconds: Seconds for which a read is repeated while the database is unavailable.
        writes: Whether it reads for a change, or for the events of changes: the database itself answers then.
    """

    client: str = ""
    cost: int = 0
    costly: bool = False
    deadline: float | None = None
    retry_seconds: float = 0.0
    writes: bool = True


@dataclass(frozen=True, slots=True)
class Admitted:
    """The context and the meter of an execution that may run."""

    context: Any
    meter: Meter


EventBounds: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Admitted]]
"""Lets one event of a subscription be executed: takes the operation's context, admits the event while a block runs."""

Reading = Callable[[Any, Reads], Any]
"""Returns the context with which an execution reads so."""

ClientOf = Callable[[Any, HTTPConnection], str]
"""Returns the caller of an operation from its context and its connection."""

Clients = Callable[[], Collection[str]]
"""Returns those who read a subscription at present, one at least."""

MayWrite = Callable[[Any], bool]
"""Decides by its context whether a request comes from somebody who has signed in and may change things."""


class Count(Protocol):
    """Counts operations that were executed."""

    def __call__(self, prepared: Prepared, seconds: float, *, failed: bool) -> None:
        """Count one that took so many seconds; ``failed``: its answer has errors."""
        ...


def address_of(_context: object, connection: HTTPConnection) -> str:
    """Return the caller's network address."""
    return connection.client.host if connection.client else ""


def uncounted(prepared: Prepared, seconds: float, *, failed: bool) -> None:
    """Count nothing."""
    del prepared, seconds, failed


def nobody(_context: object) -> bool:
    """Let nobody change things."""
    return False


def as_it_is(context: Any, reads: Reads) -> Any:  # noqa: ANN401 - the schema's own type
    """Return the context as it is: all executions read alike, without an end."""
    del reads
    return context


class Admission:
    """Admits executions: a query or mutation is one, a subscription is one for each of its events.

    Attributes:
        client_of: Returns the caller of an operation.
        may_write: Decides who may send the wide bodies of mutations of many rows.
        count: Counts queries and mutations that were executed.
        loop: Turns on the event loop.
    """

    def __init__(
        self,
        limits: Limits,
        reading: Reading = as_it_is,
        client_of: ClientOf = address_of,
        may_write: MayWrite = nobody,
        count: Count = uncounted,
    ) -> None:
        """Start with nothing under way.

        Args:
            limits: Every figure.
            reading: Returns the context of an execution that has been admitted.
            client_of: Returns the caller; the network address unless given.
            may_write: Decides who may change things; nobody unless given.
            count: Counts executions; nothing unless given.
        """
        self.client_of = client_of
        self.may_write = may_write
        self.count = count
        self.loop = LoopLane(limits)
        self._limits = limits
        self._reading = reading
        self._costly = CostlyLane(limits)

    @asynccontextmanager
    async def admitted(
        self,
        client: str,
        cost: int,
        context: Any,  # noqa: ANN401 - the schema's own type
        retry_seconds: float = 0.0,
        *,
        event: bool = False,
        writes: bool = True,
    ) -> AsyncGenerator[Admitted, None]:
        """Wait for the turn of an execution, and admit it while the block runs.

        Args:
            cost: As the guard measured it.
            retry_seconds: See ``Reads``.
            event: Whether it is one event of a subscription.
            writes: See ``Reads``.

        Raises:
            UserFacingError: the server is busy, see ``CostlyLane.admitted`` and ``LoopLane.turn``.
        """
        async with self._costly.admitted(client, cost), self.loop.turn(client, event=event) as turn:
            deadline = asyncio.get_running_loop().time() + self._limits.operation_seconds + END_SECONDS
            costly = turn.paced or cost > self._limits.cheap_cost
            reads = Reads(
                client=client, cost=cost, costly=costly, deadline=deadline, retry_seconds=retry_seconds, writes=writes
            )  # fmt: skip
            yield Admitted(self._reading(context, reads), turn.meter)

    def of_source(self, context: Any) -> Any:  # noqa: ANN401 - the schema's own type
        """Return the context with which a subscription reads to find its events."""
        return self._reading(context, Reads(retry_seconds=RETRY_SECONDS))

    def of_events(self, clients: Clients, cost: int) -> EventBounds:
        """Return the admission of each event of a subscription that costs so much.

        An event is charged to the reader that has used least recently: no reader waits for another one that is busy,
        and all of them come to pay.
        """
        return partial(self._event, clients, cost)

    @asynccontextmanager
    async def _event(self, clients: Clients, cost: int, context: Any) -> AsyncGenerator[Admitted, None]:  # noqa: ANN401
        client = min(clients(), key=self.loop.used)
        async with self.admitted(client, cost, context, RETRY_SECONDS, event=True) as found:
            try:
                async with asyncio.timeout(self._limits.operation_seconds):
                    yield found
            except TimeoutError:
                raise timed_out("An event of this subscription", self._limits) from None


def timed_out(what: str, limits: Limits, consequence: str = "") -> UserFacingError:
    """Return the refusal of an execution that took too long."""
    message = f"{what} took longer than {limits.operation_seconds:g} s and was stopped{consequence}."
    return UserFacingError(message, code="TIMEOUT")
