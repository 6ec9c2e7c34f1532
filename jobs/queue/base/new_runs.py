"""New runs are written here, one to some thousands by one statement; runs copied from a task are in ``due_tasks``."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection

from ...core.actor import Record
from ...core.admission.holding import expiry_of
from ...core.admission.labels import inherited
from ...core.base.tracing import TRACED
from ...core.defaults import NO_DEFAULTS, PER_RUN, RUN_POLICIES, UNIQUE_KEY, JobDefaults, run_of_job
from ...core.events import Listed, created
from ...core.flows import AWAITS_OTHERS
from ...core.limits import LIMITS
from ...core.model import Json, NewRun, Priority, Run
from ...core.states import RunState
from ...store.db import dialect
from ...store.db.audit import link_values
from ...store.db.postgres import Send
from ...store.db.transaction import Wake
from ...store.schema.types import loads
from . import statements

NAME: Final = "insert_runs"
"""The statement."""
_ONE: Final = "insert_run"
"""The one for a run without labels on PostgreSQL."""
CHUNK: Final = 5000
"""Runs of one statement."""
NOTHING: Final = "null"
"""The text for a run that carries nothing, or has no labels."""
WAKES: Final = Wake.RUNS | Wake.EVENTS
"""Whom new runs concern."""

_AWAITS_OTHERS: Final = json.dumps(AWAITS_OTHERS)

SendNamed = Callable[[str, dict[str, Any]], Sequence[Any]]
"""Sends the statement of this name to PostgreSQL with these parameters; its rows."""

_OWN: Final = {"args", "carried", "labels", "parent_labels"}
_ALIKE: Final = tuple(one.name for one in fields(NewRun) if one.name not in _OWN)
"""The fields that runs of one kind share: all of a ``NewRun`` but its arguments, its carried values, and its labels."""
_settings = attrgetter(*_ALIKE)


@dataclass(slots=True)
class NewRuns:
    """Runs to be inserted: each with its arguments and labels, and with the kind that it shares with others.

    Attributes:
        kinds: The shared fields; the arguments, the carried values and the labels of these are not read.
        kind: The place of each run's kind.
        args: The arguments of each run, the text of a JSON object.
        carried: The values that each run carries, likewise, or ``NOTHING``.
        labels: The own labels of each run, likewise.
        parents: The labels of the runs that make some of them, by their places.
    """

    kinds: list[NewRun] = field(default_factory=list[NewRun])
    kind: list[int] = field(default_factory=list[int])
    args: list[str] = field(default_factory=list[str])
    carried: list[str] = field(default_factory=list[str])
    labels: list[str] = field(default_factory=list[str])
    parents: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])

    @classmethod
    def of(cls, runs: Iterable[NewRun]) -> "NewRuns":
        """Return these runs, with one kind for those that are alike."""
        new = cls()
        known: dict[tuple[object, ...], int] = {}
        for run in runs:
            kind = known.setdefault(_settings(run), len(new.kinds))
            if kind == len(new.kinds):
                new.kinds.append(run)
            new.kind.append(kind)
            new.args.append(json.dumps(run.args))
            carried = TRACED.carried(run.job_name, run.carried, alone=False)
            new.carried.append(NOTHING if carried is None else json.dumps(carried))
            new.labels.append(NOTHING if run.labels is None else labels_text(run.labels))
            if run.parent_labels:
                new.parents[len(new.kind) - 1] = run.parent_labels
        return new

    @property
    def all_labels(self) -> list[str]:
        """The labels of each run, with the inherited ones."""
        if not self.parents:
            return self.labels
        labels = list(self.labels)
        for place, parent in self.parents.items():
            labels[place] = labels_text(json.loads(labels[place]), parent)
        return labels

    def apart(self) -> list[NewRun]:
        """Return each run by itself."""
        return [
            replace(
                self.kinds[kind],
                args=json.loads(args),
                carried=json.loads(carried),
                labels=json.loads(labels),
                parent_labels=self.parents.get(place),
            )
            for place, (kind, args, carried, labels) in enumerate(
                zip(self.kind, self.args, self.carried, self.labels, strict=True)
            )
        ]


def labels_text(own: Mapping[str, str] | None, parent: Mapping[str, str] | None = None) -> str:
    """Return the labels of a run as the text of a JSON object, or ``NOTHING``."""
    labels = inherited(parent, own)
    return NOTHING if labels is None else json.dumps(labels)


class Decided(NamedTuple):
    """The policies of a kind as the database decided them."""

    group: str
    priority: str
    retries: int
    retry_delay: float
    timeout: float | None
    max_duration: float | None


Policies: TypeAlias = Decided | NewRun
"""The policies of a run; a ``NewRun`` that inherits nothing has the same names."""


class Inserted(NamedTuple):
    """Runs as they were inserted: ``ids`` in their order, and of each kind the policies that its runs have.

    There is no id where an unfinished run has the unique key, or where a job's settings were unknown to the caller. Of
    more than ``CHUNK`` runs the first may have ids and the others none.
    """

    ids: list[int]
    kinds: Sequence[NewRun]
    policies: Sequence[Policies]
    submitted_at: datetime

    def stored(self, new: NewRuns) -> list[Run]:
        """Return the runs as they are read from the database; none unless all were inserted."""
        if len(self.ids) < len(new.kind):
            return []
        texts = zip(new.args, new.carried, new.all_labels, strict=True)
        rows = zip(self.ids, new.kind, texts, strict=True)
        return [_stored(self.kinds[kind], self.policies[kind], key, self.submitted_at, own) for key, kind, own in rows]

    def created(self, new: NewRuns) -> Listed:
        """Return their event, for a transaction that writes its events itself."""
        about = [(kind.job_name, policies.group) for kind, policies in zip(self.kinds, self.policies, strict=True)]
        return created((key, *about[kind]) for key, kind in zip(self.ids, new.kind, strict=True))


class Audited(NamedTuple):
    """A client's request for one run: its entry of the audit log, and the published forms that the client judged by.

    If the job has another ``signature`` by now, or says something else of each run (``per_run``), nothing is inserted.
    """

    record: Record
    signature: str
    per_run: Mapping[str, Any] | None


def insert(
    conn: Connection, new: NewRuns, now: datetime, published: Mapping[str, JobDefaults] = MappingProxyType({})
) -> Inserted:
    """Insert runs in a transaction, without their event; with a unique key only one.

    Args:
        now: When they are submitted.
        published: The defaults of the jobs from which they inherit.
    """
    kinds = [
        run_of_job(kind, published.get(kind.job_name, NO_DEFAULTS)) if kind.inherits else kind for kind in new.kinds
    ]
    if dialect.is_postgresql(conn):
        return insert_by(sender(conn), replace(new, kinds=kinds), now, with_event=False)
    columns = [
        {**_columns(kind), "expires_at": expiry_of(kind.expires_at, kind.ttl, kind.available_at or now)}
        for kind in kinds
    ]
    all_labels = new.all_labels
    rows = list(zip(new.kind, new.args, map(_or_none, new.carried), map(_or_none, all_labels), strict=True))
    asked = {"kinds": _document(columns), "runs": json.dumps(rows), "now": now}
    ids = sorted(row.id for row in statements.execute(conn, NAME, asked))
    if ids:
        index_labels(conn, zip(ids, all_labels, strict=True))
    return Inserted(ids, kinds, kinds, now)


def insert_by(
    send: SendNamed,
    new: NewRuns,
    now: datetime | None = None,
    *,
    with_event: bool = True,
    audited: Audited | None = None,
) -> Inserted:
    """Insert runs on PostgreSQL, where the statement also finds the settings that they inherit from their jobs.

    Args:
        send: Sends the statement.
        now: When they are submitted; None: by the database's clock.
        with_event: Whether to write their event and notify the nodes as well; a group must have no cap then.
        audited: The request that it is, of one run; ``send`` is ``by_driver`` for that.
    """
    texts = [_document(_kind(one, audited)) if audited else _kind_text(_settings(one)) for one in new.kinds]
    kinds = [f'{text[:-1]}, "kind": {place}}}' for place, text in enumerate(texts)]
    same: dict[str, Any] = {"kinds": _array(kinds), "now": now, "with_event": with_event, "wakes": str(WAKES.value)}
    if audited is not None:
        same |= link_values(audited.record) | {"labels": None}
    all_labels = new.all_labels
    is_one = len(all_labels) == 1 and (audited is not None or all_labels[0] == NOTHING)
    ids: list[int] = []
    row: Any = None
    for first in range(0, len(new.kind), CHUNK):
        (row,) = (
            send(_ONE, same | _own(new, all_labels)) if is_one else send(NAME, same | _listed(new, all_labels, first))
        )
        if not row.ids:
            # A job, or a group, says something of these since it was published between two statements.
            break
        ids += sorted(row.ids)
    policies: Sequence[Policies] = new.kinds
    if ids and any(kind.inherits for kind in new.kinds):
        policies = [Decided(*one) for one in json.loads(row.decided)]
    return Inserted(ids, new.kinds, policies, row.submitted_at)


def sender(conn: Connection) -> SendNamed:
    """Return a function that sends a statement in a transaction."""
    return lambda name, parameters: statements.execute(conn, name, parameters).all()


def by_driver(send: Send, form: str | None = None) -> SendNamed:
    """Return a function that sends a statement on a connection of the driver's own, as a transaction of its own."""
    return lambda name, parameters: send(statements.for_driver(name, form), parameters)


def index_labels(conn: Connection, labels: Iterable[tuple[int, str]]) -> None:
    """Index the labels of new runs on SQLite; on PostgreSQL the inserting statements do it.

    Args:
        labels: Of each run the text of its labels, or ``NOTHING``.
    """
    found = [f'{{"id":{run_id},"labels":{text}}}' for run_id, text in labels if text != NOTHING]
    if found:
        statements.execute(conn, "insert_labels", {"runs": _array(found)})


def stored_here(run: NewRun, key: int, submitted_at: datetime) -> Run:
    """Return a run that somebody else has inserted, as far as it is known here."""
    texts = json.dumps(run.args), NOTHING, labels_text(run.labels, run.parent_labels)
    return _stored(run, run, key, submitted_at, texts)


def columns_text(run: NewRun) -> str:
    """Return the columns of one run for a statement of PostgreSQL, which finds out the inherited ones."""
    return _document(_kind(run, None))


_document: Final = json.JSONEncoder(default=dialect.time_text).encode


def _columns(run: NewRun) -> dict[str, Any]:
    """Return the columns of a kind without nulls."""
    settings = zip(_ALIKE, _settings(run), strict=True)
    columns = {_COLUMN[name]: value for name, value in settings if value is not None and name in _COLUMN}
    columns |= {"trigger": run.trigger.value, "priority": run.priority.value}
    return {**columns, "awaits": _AWAITS_OTHERS} if run.suspended else columns


_NO_COLUMNS: Final = {"inherits", "hold", "cap", "suspended", "on_conflict"}
"""The shared fields that decide about a run, and are no columns of it."""
_COLUMN: Final = {name: "group_name" if name == "group" else name for name in _ALIKE if name not in _NO_COLUMNS}


@lru_cache(maxsize=1024)
def _kind_text(settings: tuple[object, ...]) -> str:
    """Return ``_kind`` as JSON: who enqueues runs one by one mostly enqueues the same kinds."""
    given: dict[str, Any] = dict(zip(_ALIKE, settings, strict=True))
    return _document(_kind(NewRun(**given), None))


def _kind(run: NewRun, audited: Audited | None) -> dict[str, Any]:
    """Return the columns of a kind for PostgreSQL, which finds out the inherited ones."""
    inherited = {_COLUMN[name] for name in run.inherits if name in RUN_POLICIES}
    judged = audited is not None
    return {
        **{name: value for name, value in _columns(run).items() if name not in inherited},
        "own_timeout": "timeout" not in run.inherits,
        "own_max_duration": "max_duration" not in run.inherits,
        "own_key": UNIQUE_KEY not in run.inherits and not judged,
        "own_limits": LIMITS not in run.inherits and not judged,
        "settled": PER_RUN not in run.inherits and not judged,
        "per_run": None if audited is None else audited.per_run,
        "published": None if audited is None else audited.signature,
    }


def _own(new: NewRuns, all_labels: list[str]) -> dict[str, str | None]:
    """Return the parameters of the one run."""
    own = {"args": new.args[0], "carried": _or_none(new.carried[0])}
    return own if all_labels[0] == NOTHING else {**own, "labels": all_labels[0]}


def _listed(new: NewRuns, all_labels: list[str], first: int) -> dict[str, str | None]:
    """Return the parameters of each of ``CHUNK`` runs."""
    some = slice(first, first + CHUNK)
    listed: dict[str, str | None] = {"kind": json.dumps(new.kind[some])}
    for name, texts in (("args", new.args[some]), ("carried", new.carried[some]), ("labels", all_labels[some])):
        same = texts.count(texts[0]) == len(texts)
        listed[name], listed[f"each_{name}"] = (None, texts[0]) if same else (_array(texts), None)
    return listed


def _array(texts: list[str]) -> str:
    return f"[{','.join(texts)}]"


def _expiry(kind: NewRun, submitted_at: datetime) -> datetime | None:
    found = expiry_of(kind.expires_at, kind.ttl, submitted_at if kind.available_at is None else kind.available_at)
    return None if found is None else found.astimezone(UTC)


def _or_none(text: str) -> str | None:
    return None if text == NOTHING else text


def _stored(kind: NewRun, policies: Policies, key: int, submitted_at: datetime, texts: tuple[str, str, str]) -> Run:
    args, carried, labels = texts
    at = submitted_at.astimezone(UTC)
    carries: dict[str, Json] | None = None if carried == NOTHING else loads(carried)
    return Run(
        id=key,
        job_name=kind.job_name,
        state=RunState.SUSPENDED if kind.suspended else RunState.WAITING,
        trigger=kind.trigger,
        args=loads(args),
        group=policies.group,
        priority=Priority(policies.priority),
        task_id=kind.task_id,
        task_name=kind.task_name,
        scheduled_for=None if kind.scheduled_for is None else kind.scheduled_for.astimezone(UTC),
        submitted_at=at,
        available_at=at if kind.available_at is None else kind.available_at.astimezone(UTC),
        started_at=None,
        finished_at=None,
        attempt=0,
        failures=0,
        retries=policies.retries,
        retry_delay=float(policies.retry_delay),
        timeout=None if policies.timeout is None else float(policies.timeout),
        max_duration=None if policies.max_duration is None else float(policies.max_duration),
        exclusive=kind.exclusive,
        node_id=None,
        node=None,
        cancel_requested_at=None,
        cancel_reason=None,
        unique_key=kind.unique_key,
        retried_from=kind.retried_from,
        progress=None,
        checkpoint=None,
        result=None,
        error=None,
        submitter=kind.submitter,
        submitter_id=kind.submitter_id,
        description=kind.description,
        signature=kind.signature,
        carried=carries,
        awaits=AWAITS_OTHERS if kind.suspended else None,
        flow_id=kind.flow_id,
        labels=None if labels == NOTHING else loads(labels),
        concurrency_key=kind.concurrency_key,
        max_concurrent=kind.max_concurrent,
        rate_key=kind.rate_key,
        cap_key=kind.cap_key,
        keeps_place=kind.keeps_place,
        expires_at=None if kind.expires_at is None and kind.ttl is None else _expiry(kind, at),
    )
