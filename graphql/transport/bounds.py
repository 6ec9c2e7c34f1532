"""What an execution must stay within: the budget, a time, and the connections and the time that its reads may use.

A query or mutation is one execution; a subscription is one for each of its events, plus its source of events.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from starlette.requests import HTTPConnection

from ..base.errors import UserFacingError
from ..execution.executor import Admitted, EventBounds
from ..guard.document import Prepared
from ..guard.limits import Limits
from .budget import Budget
from .pace import Pace

END_SECONDS: Final = 0.1
"""So much later than the execution itself, what it still reads ends."""

RETRY_SECONDS: Final = 10.0
"""Seconds for which a subscription repeats a read while the database is unavailable: its reader would come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """How an execution reads.

    Attributes:
        client: Whose budget it uses; empty for what no client asked for.
        cost: As the guard measured it.
        costly: Whether it must leave the connections of others alone: it costs much, or its client has used much.
        deadline: When its reads end, by the event loop's clock; None = they have no common end.
        retry_seconds: Seconds for which a read is repeated while the database is unavailable.
    """

    client: str = ""
    cost: int = 0
    costly: bool = False
    deadline: float | None = None
    retry_seconds: float = 0.0


Lane = Callable[[Any, Reads], Any]
"""Makes of a context the one with which an execution reads so."""


ClientOf = Callable[[Any, HTTPConnection], str]
"""Whose budget an operation uses, from its context and its connection."""

Clients = Callable[[], Collection[str]]
"""Those who read a subscription at present, one at least."""


def address_of(_context: object, connection: HTTPConnection) -> str:
    """The network address of who asks."""
    return connection.client.host if connection.client else ""


MayWrite = Callable[[Any], bool]
"""Decides by its context whether a request comes from somebody who has signed in and may change things."""


class Count(Protocol):
    """Counts operations that were executed."""

    def __call__(self, prepared: Prepared, seconds: float, *, failed: bool) -> None:
        """One was executed in so many seconds; ``failed``: its answer has errors."""
        ...


def uncounted(prepared: Prepared, seconds: float, *, failed: bool) -> None:
    """For servers that tell no monitoring system."""
    del prepared, seconds, failed


def nobody(_context: object) -> bool:
    """For servers that do not say who may change things."""
    return False


def same_lane(context: Any, reads: Reads) -> Any:  # noqa: ANN401 - the schema's own type
    """One lane for everything, without an end."""
    del reads
    return context


class Bounds:
    """Lets executions begin, each within its bounds.

    Attributes:
        client_of: Whose budget an operation uses.
        may_write: Who may send the wide bodies of mutations of many rows.
        count: Counts queries and mutations that were executed.
        pace: Whose turn it is on the event loop.
    """

    def __init__(
        self,
        limits: Limits,
        lane: Lane = same_lane,
        client_of: ClientOf = address_of,
        may_write: MayWrite = nobody,
        count: Count = uncounted,
    ) -> None:
        """Start with nothing under way.

        Args:
            limits: Every figure.
            lane: Knows what a context is made of.
            client_of: Knows who asks; the network address unless given.
            may_write: Knows who may change things; nobody unless given.
            count: Counts what was executed; nothing unless given.
        """
        self.client_of = client_of
        self.may_write = may_write
        self.count = count
        self._limits = limits
        self._lane = lane
        self._budget = Budget(limits)
        self.pace = Pace(limits)

    @asynccontextmanager
    async def admitted(
        self,
        client: str,
        cost: int,
        context: Any,  # noqa: ANN401 - the schema's own type
        retry_seconds: float = 0.0,
        *,
        event: bool = False,
    ) -> AsyncGenerator[Admitted, None]:
        """Wait until the budget has room for an execution and its turn has come; what it may use, while the block runs.

        Args:
            client: Whose budget it uses.
            cost: As the guard measured it.
            context: Of its operation.
            retry_seconds: See ``Reads``.
            event: Whether it is one event of a subscription.

        Raises:
            UserFacingError: the server is busy, see ``Budget.admitted`` and ``Pace.turn``.
        """
        async with self._budget.admitted(client, cost), self.pace.turn(client, event=event) as turn:
            deadline = asyncio.get_running_loop().time() + self._limits.operation_seconds + END_SECONDS
            costly = turn.paced or cost > self._limits.cheap_cost
            reads = Reads(client=client, cost=cost, costly=costly, deadline=deadline, retry_seconds=retry_seconds)
            yield Admitted(self._lane(context, reads), turn.meter)

    def of_source(self, context: Any) -> Any:  # noqa: ANN401 - the schema's own type
        """The context for what a subscription reads to find its events."""
        return self._lane(context, Reads(retry_seconds=RETRY_SECONDS))

    def of_events(self, clients: Clients, cost: int) -> EventBounds:
        """The bounds of each event of a subscription that costs so much.

        Args:
            clients: Who reads it. An event is that of the one who has used least of late: no reader waits for another
                one who is busy, and all of them come to pay.
            cost: As the guard measured it.
        """
        return partial(self._event, clients, cost)

    @asynccontextmanager
    async def _event(self, clients: Clients, cost: int, context: Any) -> AsyncGenerator[Admitted, None]:  # noqa: ANN401
        client = min(clients(), key=self.pace.used)
        async with self.admitted(client, cost, context, RETRY_SECONDS, event=True) as found:
            try:
                async with asyncio.timeout(self._limits.operation_seconds):
                    yield found
            except TimeoutError:
                raise timed_out("An event of this subscription", self._limits) from None


def timed_out(what: str, limits: Limits, consequence: str = "") -> UserFacingError:
    """The refusal of an execution that took too long."""
    message = f"{what} took longer than {limits.operation_seconds:g} s and was stopped{consequence}."
    return UserFacingError(message, code="TIMEOUT")
