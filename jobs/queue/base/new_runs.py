"""New runs are written here, one to some thousands by one statement; what copies from a task is in ``due_tasks``."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import Connection

from ...core.admission.expiry import expiry_of
from ...core.admission.labels import inherited
from ...core.audit import Record
from ...core.base.tracing import TRACED
from ...core.defaults import NO_DEFAULTS, PER_RUN, RUN_POLICIES, UNIQUE_KEY, JobDefaults, run_of_job
from ...core.flows import AWAITS_OTHERS
from ...core.limits import LIMITS
from ...core.model import Json, NewRun, Priority, Run
from ...core.states import RunState
from ...store.db import dialect
from ...store.db.audit import link_values
from ...store.db.postgres import Send
from ...store.db.transaction import Wake
from ...store.read import jobs
from ...store.schema.types import loads
from . import statements

T = TypeVar("T")

NAME: Final = "insert_runs"
"""The statement."""
CHUNK: Final = 5000
"""Runs of one statement."""
NOTHING: Final = "null"
"""What a run carries that carries nothing; the labels of one that has none."""
WAKES: Final = Wake.RUNS | Wake.EVENTS
"""Whom new runs concern."""

_AWAITS_OTHERS: Final = json.dumps(AWAITS_OTHERS)

SendNamed = Callable[[str, dict[str, Any]], Sequence[Any]]
"""Sends the statement of this name to PostgreSQL with these parameters; its rows."""

_ALIKE: Final = (
    "job_name", "trigger", "group", "priority", "task_id", "task_name", "scheduled_for", "available_at", "retries",
    "retry_delay", "timeout", "max_duration", "exclusive", "unique_key", "retried_from", "submitter", "submitter_id",
    "description", "signature", "inherits", "expires_at", "ttl", "hold", "concurrency_key", "max_concurrent",
    "rate_key", "cap_key", "cap", "flow_id", "suspended",
)  # fmt: skip
"""What runs of one kind have in common: all of a ``NewRun`` but its arguments, what it carries, and its labels."""
_settings = attrgetter(*_ALIKE)


@dataclass(slots=True)
class NewRuns:
    """Runs to be inserted: what several have in common, and of each run its kind and the rest.

    Attributes:
        kinds: What is alike; the arguments, what is carried and the labels are not read.
        kind: Of each run the place of its kind.
        args: Of each run its arguments, the text of a JSON object.
        carried: Of each run what it carries, likewise, or ``NOTHING``.
        labels: Of each run its own labels, likewise.
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
        """These runs, those that are alike as one kind."""
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
        """Of each run its labels, the inherited ones included."""
        if not self.parents:
            return self.labels
        labels = list(self.labels)
        for place, parent in self.parents.items():
            labels[place] = labels_text(json.loads(labels[place]), parent)
        return labels

    def apart(self) -> list[NewRun]:
        """Each run by itself."""
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
    """The labels of a run, the text of a JSON object; of one that has none, ``NOTHING``."""
    labels = inherited(parent, own)
    return NOTHING if labels is None else json.dumps(labels)


class Decided(NamedTuple):
    """What the database decides of a kind; a row has the same names."""

    group: str
    priority: str
    retries: int
    retry_delay: float
    timeout: float | None
    max_duration: float | None


Policies: TypeAlias = Decided | NewRun
"""The policies of a run; a ``NewRun`` that inherits nothing has the same names."""


class Inserted(NamedTuple):
    """What is stored: ``ids`` in the order of the runs; of each kind the policies that its runs have.

    No id: an unfinished run has the unique key, or a job says how a key follows from the arguments, and the run that
    inherits it has none yet. Of more than ``CHUNK`` runs the first may have ids and the others none.
    """

    ids: list[int]
    kinds: Sequence[NewRun]
    policies: Sequence[Policies]
    submitted_at: datetime

    def stored(self, new: NewRuns) -> list[Run]:
        """The runs as they are read from the database."""
        if not self.ids:
            return []
        texts = zip(new.args, new.carried, new.all_labels, strict=True)
        rows = zip(self.ids, new.kind, texts, strict=True)
        return [_stored(self.kinds[kind], self.policies[kind], key, self.submitted_at, own) for key, kind, own in rows]


def insert(
    conn: Connection,
    new: NewRuns,
    now: datetime | None = None,
    *,
    with_event: bool = False,
    published: Mapping[str, JobDefaults] | None = None,
) -> Inserted:
    """Insert runs in a transaction; with a unique key only one.

    Args:
        conn: The transaction.
        new: What; what it inherits it has from its job as that is published now.
        now: When they are submitted; None on PostgreSQL: by its clock.
        with_event: On PostgreSQL, whether the statement writes their event and notifies the nodes.
        published: What their jobs say, where this transaction has read it; on SQLite it is read here otherwise.
    """
    if dialect.is_postgresql(conn):
        send: SendNamed = lambda name, parameters: statements.execute(conn, name, parameters).all()  # noqa: E731
        return insert_by(send, new, now, with_event=with_event)
    at = now or dialect.database_now(conn)
    if published is None:
        names = {kind.job_name for kind in new.kinds if kind.inherits}
        published = jobs.published_defaults(conn, names) if names else {}
    kinds = [
        run_of_job(kind, published.get(kind.job_name, NO_DEFAULTS)) if kind.inherits else kind for kind in new.kinds
    ]
    columns = [
        {**_columns(kind), "expires_at": expiry_of(kind.expires_at, kind.ttl, kind.available_at or at)}
        for kind in kinds
    ]
    all_labels = new.all_labels
    rows = list(zip(new.kind, new.args, map(_or_none, new.carried), map(_or_none, all_labels), strict=True))
    asked = {"kinds": _document(columns), "runs": json.dumps(rows), "now": at}
    ids = sorted(row.id for row in statements.execute(conn, NAME, asked))
    if ids:
        index_labels(conn, zip(ids, all_labels, strict=True))
    return Inserted(ids, kinds, kinds, at)


def index_labels(conn: Connection, labels: Iterable[tuple[int, str]]) -> None:
    """Have new runs found by their labels, on SQLite; on PostgreSQL the statements that make runs do it themselves.

    Args:
        conn: The transaction.
        labels: Of each run the text of its labels, or ``NOTHING``.
    """
    found = [f'{{"id":{run_id},"labels":{text}}}' for run_id, text in labels if text != NOTHING]
    if found:
        statements.execute(conn, "insert_labels", {"runs": _array(found)})


def insert_by(send: SendNamed, new: NewRuns, now: datetime | None = None, *, with_event: bool = True) -> Inserted:
    """``insert`` on PostgreSQL, by any way to send the statement."""
    same = {"now": now, "with_event": with_event, "wakes": str(WAKES.value)}
    if len(new.kind) == 1:
        one = {"run": columns_text(new.kinds[0]), "args": new.args[0], "carried": new.carried[0]}
        for row in send("insert_run", {**same, **one, "labels": new.all_labels[0]}):
            return Inserted([row.id], new.kinds, [row], row.submitted_at)
        return Inserted([], new.kinds, new.kinds, datetime.now(UTC))
    same |= {"kinds": _document([_kind(place, one) for place, one in enumerate(new.kinds)])}
    ids: list[int] = []
    all_labels = new.all_labels
    row = None
    for first in range(0, len(new.kind), CHUNK):
        some = slice(first, first + CHUNK)
        own = {
            **_listed("kind", new.kind[some], lambda each: each),
            **_listed("args", new.args[some], _array),
            **_listed("carried", new.carried[some], _array),
            **_listed("labels", all_labels[some], _array),
        }
        (row,) = send(NAME, {**same, **own, "runs": len(new.kind[some])})
        if not row.ids:
            # A job, or a group, says something of these since it was published between two statements.
            break
        ids += row.ids
    if row is None or not ids:
        return Inserted([], new.kinds, new.kinds, datetime.now(UTC))
    return Inserted(ids, new.kinds, [Decided(**one) for one in json.loads(row.decided)], row.submitted_at)


def insert_requested(
    send: Send, run: NewRun, record: Record, *, per_run: Mapping[str, Any] | None = None
) -> Run | None:
    """Insert a run that the API is asked for and the entry of the audit log, in a transaction of its own.

    Args:
        send: Sends the statement.
        run: Without a unique key; its arguments were checked against the version of its job that has its signature.
        record: The entry.
        per_run: What its job says of each run, by which it has got its labels and its ttl.

    Returns:
        What is stored; None, and nothing is: the job has another version or rule, or is published no more, or the audit
        log has no entry yet that another could follow.
    """
    args, labels = json.dumps(run.args), labels_text(run.labels)
    entry = json.dumps(link_values(record))
    document = _document({**_kind(0, run), "per_run": per_run})
    parameters = {"run": document, "args": args, "labels": labels, "entry": entry}
    for row in send(statements.for_driver("insert_requested"), parameters):
        return _stored(run, row, row.id, row.submitted_at, (args, NOTHING, labels))
    return None


def stored_here(run: NewRun, key: int, submitted_at: datetime) -> Run:
    """A run that somebody else has inserted, as far as it is known here."""
    texts = json.dumps(run.args), NOTHING, labels_text(run.labels, run.parent_labels)
    return _stored(run, run, key, submitted_at, texts)


def columns_text(run: NewRun) -> str:
    """The columns of one run for a statement of PostgreSQL, which finds out what is inherited."""
    return _document(_kind(0, run))


_document: Final = json.JSONEncoder(default=dialect.time_text).encode


def _columns(run: NewRun) -> dict[str, Any]:
    """The columns of a kind; what is null is left out."""
    columns = {
        "job_name": run.job_name,
        "task_id": run.task_id,
        "task_name": run.task_name,
        "trigger": run.trigger.value,
        "scheduled_for": run.scheduled_for,
        "available_at": run.available_at,
        "exclusive": run.exclusive,
        "unique_key": run.unique_key,
        "retried_from": run.retried_from,
        "submitter": run.submitter,
        "submitter_id": run.submitter_id,
        "description": run.description,
        "signature": run.signature,
        "group_name": run.group,
        "priority": run.priority.value,
        "retries": run.retries,
        "retry_delay": run.retry_delay,
        "timeout": run.timeout,
        "max_duration": run.max_duration,
        "expires_at": run.expires_at,
        "ttl": run.ttl,
        "concurrency_key": run.concurrency_key,
        "max_concurrent": run.max_concurrent,
        "rate_key": run.rate_key,
        "cap_key": run.cap_key,
        "flow_id": run.flow_id,
        "awaits": _AWAITS_OTHERS if run.suspended else None,
    }
    return {name: value for name, value in columns.items() if value is not None}


_COLUMN: Final = {name: "group_name" if name == "group" else name for name in RUN_POLICIES}


def _kind(place: int, run: NewRun) -> dict[str, Any]:
    """A kind for the statement of PostgreSQL, which finds out what is inherited."""
    inherited = {_COLUMN[name] for name in run.inherits if name in _COLUMN}
    return {
        **{name: value for name, value in _columns(run).items() if name not in inherited},
        "own_timeout": "timeout" not in run.inherits,
        "own_max_duration": "max_duration" not in run.inherits,
        "own_key": UNIQUE_KEY not in run.inherits,
        "own_limits": LIMITS not in run.inherits,
        "settled": PER_RUN not in run.inherits,
        "kind": place,
    }


def _listed(name: str, values: list[T], listed: Callable[[list[T]], Any]) -> dict[str, Any]:
    same = values.count(values[0]) == len(values)
    return {name: None if same else listed(values), f"each_{name}": values[0] if same else None}


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
        expires_at=None if kind.expires_at is None and kind.ttl is None else _expiry(kind, at),
    )
