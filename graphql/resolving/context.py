"""Give resolvers the database, the live events, the person who asks, and the loaders of one operation."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Concatenate, Final, ParamSpec, Protocol, TypeAlias, TypeVar

import strawberry

from ...jobs.accounts.rules.accounts import LOCAL_ADMINISTRATOR_NAME
from ...jobs.accounts.rules.secrets import KeySource, no_keys
from ...jobs.accounts.rules.sessions import Identity
from ...jobs.actions.idempotent import acting
from ...jobs.base.services import Also
from ...jobs.core.actor import Actor, Submitter
from ...jobs.core.base.errors import UnreadableRow
from ...jobs.core.base.tracing import TRACED
from ...jobs.core.events import Cursor, Event, EventFilter
from ...jobs.store.db.database import Database
from ...jobs.store.db.transaction import ReplicaState, Tx
from ...jobs.store.statements.figures import reports
from ...jobs.store.statements.figures.reports import Overview, Part
from ..base.enums import Role
from ..guard.searches import Searches
from .loaders import Loaders, Slices

P = ParamSpec("P")
T = TypeVar("T")


class EventSource(Protocol):
    """Provide events: the event bus of the node that serves the API, or a page of the event log.

    Attributes:
        is_live: Whether events come as they happen, so that a subscription can begin with the present state.
    """

    is_live: bool

    async def cursor(self) -> Cursor:
        """Return the newest published place; everything that was committed before is visible to later reads."""
        ...

    def subscribe(self, after: Cursor | None, event_filter: EventFilter, /) -> AsyncIterator[Event]:
        """Return events in their one order: first those after ``after`` that are stored, then live ones."""
        ...


class LogFollower(Protocol):
    """One who reads the log of an execution."""

    async def more(self, last_line: int, /) -> None:
        """Wait until the log goes beyond ``last_line``, or the execution is over or gone."""
        ...


class LogSource(Protocol):
    """Announce written log lines: the log feed of the node that serves the API."""

    def follow(self, execution_id: int, /) -> AbstractContextManager[LogFollower]:
        """Return a follower of an execution's log; it notices lines written once the block has begun."""
        ...


class OverviewSource(Protocol):
    """Read the overview for all who look."""

    async def latest(self, database: Database, wanted: frozenset[Part], /) -> Overview:
        """Return the current overview, or one that is a moment old."""
        ...

    async def read(self, database: Database, wanted: frozenset[Part], /) -> Overview:
        """Read the current overview."""
        ...


class ReplicaSource(Protocol):
    """Answer reads in the place of the database."""

    @property
    def state(self) -> ReplicaState:
        """Its present state."""
        ...


@dataclass(frozen=True, slots=True)
class Person:
    """Describe the person who asks.

    Attributes:
        role: The rights: the account's role, or that of a token.
        account_id: The account; None without one.
        identity: The credential that was shown; None if none was.
        address: Where the request comes from, None when from no network.
    """

    name: str
    role: Role
    account_id: int | None = None
    identity: Identity | None = None
    address: str | None = None

    @classmethod
    def of(cls, identity: Identity, address: str | None) -> "Person":
        """Return the person whose credential a request shows."""
        return cls(identity.name, identity.role, identity.account_id, identity, address)

    @property
    def actor(self) -> Actor:
        """In whose name changes are made."""
        known = self.identity
        full = known is None or known.role is known.account_role
        return Actor(self.name, self.role, self.account_id, self.address, full_rights=full)

    @property
    def key(self) -> str:
        """Return a key that identifies the caller: the account, or the name by which an application knows a person."""
        return f"person {self.name}" if self.account_id is None else f"account {self.account_id}"

    @property
    def submitter(self) -> Submitter:
        """In whose name runs are submitted."""
        return Submitter(self.name, self.account_id)


LOCAL_ADMINISTRATOR: Final = Person(LOCAL_ADMINISTRATOR_NAME, Role.ADMIN)
"""Everybody on loopback, where there is no sign-in."""


@dataclass(slots=True)
class Context:
    """The context of one operation.

    Attributes:
        database: All reads and writes go through it.
        bus: The live events.
        logs: Notifies when log lines are written.
        person: Who asks; written into their changes.
        fell_behind: Whether this subscriber missed something before the operation began, which it begins with making
            good.
        keys: Those that secrets are encrypted with.
        as_of: The event cursor taken before anything was read, once the operation asks for it.
        slices: Where its resolvers that compute take turns.
        overviews: Reads the overview for all subscribers; None = each reads it for itself.
        searches: How rows are read that no index finds; None = as any others.
        left_out: By their messages, the rows that lists of this operation leave out because they cannot be read.
        trace_link: The address of an attempt's trace, with ``{run}``, ``{execution}`` or ``{trace}`` in it; None =
            there is none.
        replica: The standby that answers queries; None = there is none.
        also: Called in the transaction of a mutation, with the kept part of its answer; None = nothing is called.
    """

    database: Database
    bus: EventSource
    logs: LogSource
    person: Person = LOCAL_ADMINISTRATOR
    fell_behind: bool = False
    keys: KeySource = no_keys
    as_of: str | None = None
    slices: Slices = field(default_factory=Slices)
    overviews: OverviewSource | None = None
    searches: Searches | None = None
    trace_link: str | None = None
    replica: ReplicaSource | None = None
    also: Also | None = None
    left_out: dict[str, UnreadableRow] = field(default_factory=dict[str, UnreadableRow])
    _loaders: Loaders | None = None

    @property
    def loaders(self) -> Loaders:
        """Batch and remember reads; a subscription gets new ones for each of its events."""
        if self._loaders is None:
            self._loaders = Loaders(self.database, self.slices, self.searches, self.left_out)
        return self._loaders

    def behind(self) -> "Context":
        """Return the context of a subscription that goes on for a reader that was too slow."""
        return self._of(self.database, self.searches, fell_behind=True)

    def with_database(self, database: Database, searches: Searches | None = None) -> "Context":
        """Return the context of an operation that reads and writes by another access to the same database."""
        return self._of(database, searches, fell_behind=self.fell_behind)

    def _of(self, database: Database, searches: Searches | None, *, fell_behind: bool) -> "Context":
        """Return another context of the same reader."""
        return Context(
            database,
            self.bus,
            self.logs,
            self.person,
            fell_behind=fell_behind,
            keys=self.keys,
            overviews=self.overviews,
            searches=searches,
            trace_link=self.trace_link,
            replica=self.replica,
            also=self.also,
        )

    def renew(self) -> None:
        """Forget all reads, so that the next event of a subscription shows the data of that time."""
        self._loaders = None

    async def now(self) -> datetime:
        """Return the database's time, read once per operation."""
        return await self.loaders.now()

    async def overview(self, wanted: frozenset[Part], *, again: bool = False) -> Overview:
        """Return the current overview.

        Args:
            again: Whether it is shown again and again, so that it may be a moment old.
        """
        if self.overviews is None:
            return await self.database.read(reports.overview, await self.now(), wanted)
        return await (self.overviews.latest if again else self.overviews.read)(self.database, wanted)

    async def write(self, action: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an action of ``jobs.actions`` in a transaction; later reads of this operation see its changes."""
        result = await self.database.write(acting, self.person.actor, TRACED.here(action), *args, **kwargs)
        self.renew()
        return result


Info: TypeAlias = strawberry.Info[Context, None]
"""The annotation of resolvers' ``info``."""
