"""Offer the process' services to jobs, beyond their arguments; the built-in jobs use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..accounts.rules.secrets import KeySource, no_keys
from ..core.counts import NodeCounts

if TYPE_CHECKING:
    from ..store.db.database import Database
    from ..store.db.transaction import Tx
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from ..core.actor import Submitter
from ..core.events import Cursor, Event, EventFilter
from ..core.model import Json

SCHEDULE_TIMEZONE: Final = "schedule_timezone"
"""Carried by a run of a schedule whose time zone is not UTC: the zone's IANA name."""


class StopReason(StrEnum):
    """Name the reason to stop: the time box is used up, somebody cancelled the run, or its node shuts down."""

    DEADLINE = "deadline"
    CANCEL = "cancel"
    SHUTDOWN = "shutdown"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The facts about an attempt that do not change while it runs. ``deadline`` in UTC, None = no time box.

    ``clock_ahead``: the seconds by which the node's clock was ahead of the database's when the attempt began, or
    somewhat more, as its start came with an answer.
    """

    run_id: int
    execution_id: int
    job_name: str
    task_id: int | None
    task_name: str | None
    attempt: int
    is_last_attempt: bool
    scheduled_for: datetime | None
    deadline: datetime | None
    submitter: Submitter | None
    args: Mapping[str, Json]
    carried: Mapping[str, Json] | None = None
    labels: Mapping[str, str] | None = None
    clock_ahead: float = 0.0


class Result(NamedTuple):
    """The result of a subscription for one event.

    Attributes:
        event: The event.
        answer: The answer as GraphQL says it: ``data`` and, if there are any, ``errors``.
        length: The number of characters of the answer as JSON.
    """

    event: Event
    answer: Mapping[str, Json]
    length: int


class Followed(NamedTuple):
    """The results of a subscription for some events of the log.

    Attributes:
        answers: The results, in the order of the events.
        through: The place up to which all events were looked at; None = none was.
        wanted: The events that it asks for; None = that is not known.
        refusal: The reason why it cannot be executed any more: rights that are gone, or a document that the schema no
            longer takes.
    """

    answers: Sequence[Result]
    through: Cursor | None
    wanted: EventFilter | None = None
    refusal: str | None = None


class Also(Protocol):
    """Adds something to the transaction of a mutation."""

    def __call__(self, tx: "Tx", answer: Json, /) -> None:
        """Add to the transaction; ``answer`` is the stored part of the answer. An error takes back the mutation."""
        ...


class ApiCaller(Protocol):
    """Runs one GraphQL operation of this server."""

    async def call(
        self,
        query: str,
        *,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        submitter: Submitter | None = None,
        run_id: int | None = None,
        also: Also | None = None,
    ) -> dict[str, Any]:
        """Execute ``query`` with the rights of ``submitter`` (None = the code of a job), on behalf of a run.

        ``also`` is called in the transaction of a mutation, with the part of its answer that is kept.

        Returns the answer as GraphQL says it: ``data`` and, if there are any, ``errors``.
        """
        ...


class Subscriptions(Protocol):
    """Executes subscriptions of this server for events that were read from the log."""

    async def follow(
        self, document: str, variables: Mapping[str, Any], owner: Submitter | None, events: Sequence[Event], most: int
    ) -> Followed:
        """Execute a subscription for events of the log, with the rights of ``owner`` (None = job code)."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of the process that a job may use.

    Attributes:
        database: This server's own database.
        api: This server's own API; None on a process that has none.
        subscriptions: The subscriptions of that API.
        http_allow: Addresses that ``http_request`` may reach besides public ones: addresses, networks, host names, or
            ``*``.
        keys: Those that secrets are encrypted with.
        counts: The node's counts for its monitoring.
        public_url: Under which address people reach this server; None = it is not known.
        resources: The resources that the node has opened for its jobs, by their functions.
        apprise_schemes: The schemes of URLs that channels may hand to Apprise.
        archive_url: Where history is written before it is deleted; ``off`` = nowhere from now on, None = unsaid.
    """

    database: "Database"
    api: ApiCaller | None = None
    subscriptions: Subscriptions | None = None
    http_allow: tuple[str, ...] = ()
    keys: KeySource = no_keys
    counts: NodeCounts = field(default_factory=NodeCounts)
    public_url: str | None = None
    resources: Mapping[Any, object] = field(default_factory=dict[Any, object])
    apprise_schemes: tuple[str, ...] = ()
    archive_url: str | None = None
