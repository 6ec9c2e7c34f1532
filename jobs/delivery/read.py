"""Alarms, their firings, channels and deliveries as they are stored; and the facts that timers ask for.

No statement grows with the number of alarms: each takes any number of them in one parameter.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, case, exists, func, or_, select

from ..core.alarms import Condition, Settings, Severity, SubjectKind
from ..core.events import Cursor
from ..core.explain.facts import ExplanationCode
from ..core.explain.runs import explain_run
from ..core.flows import FlowState
from ..core.model import Outcome, Trigger
from ..core.nodes import NodeState
from ..core.states import CLAIMABLE
from ..store.db import dialect
from ..store.db.functions import duration, sql_literal, sql_literals
from ..store.schema.delivery import alarm as a
from ..store.schema.delivery import alarm_firing as f
from ..store.schema.delivery import alarm_timer as t
from ..store.schema.delivery import channel as c
from ..store.schema.delivery import consumer, hook
from ..store.schema.delivery import delivery as d
from ..store.schema.delivery import delivery_firing as df
from ..store.schema.rows import reader_of
from ..store.schema.tables import event, failure_mark, flow, job, job_execution, node, periodic_task, run
from ..store.statements.facts import of_runs
from ..store.statements.figures.failures import MESSAGE_PREFIX, fingerprint
from ..store.statements.flows import by_ids as flows_by_ids
from ..store.statements.listing.keyset import OrderKey
from ..store.statements.listing.listing import Indexes, Listing, columns
from ..store.statements.runs import by_ids as runs_by_ids
from .rules import Alarm, AlarmSource, Channel, ChannelKind, Delivery, DeliveryEvent, DeliveryState, Firing, TimerKind
from .watching import Watchlist

READER: Final = "alarms"
"""The name of the reader of the event log that judges alarms."""

_WORDS: Final[Mapping[str, Any]] = {
    "severity": Severity,
    "condition": Condition,
    "subject_kind": SubjectKind,
    "source": AlarmSource,
    "settings": Settings.from_json,
    "channels": tuple,
}
alarm_from = reader_of(Alarm, _WORDS)
firing_from = reader_of(Firing, {name: _WORDS[name] for name in ("severity", "condition", "subject_kind", "channels")})
channel_from = reader_of(Channel, {"kind": ChannelKind})
delivery_from = reader_of(Delivery, {"event": DeliveryEvent, "state": DeliveryState})

ALARMS: Listing[Alarm] = Listing(
    name="alarms",
    rows=select(a),
    key=a.c.id,
    fields={
        **columns(
            a,
            "id name enabled severity condition subject_kind subject source owner created_at updated_at silenced_until",
        ),
        "firing": exists().where(f.c.alarm_id == a.c.id, f.c.resolved_at.is_(None)),
    },
    order=(OrderKey("name"),),
    model=alarm_from,
)
FIRINGS: Listing[Firing] = Listing(
    name="alarmFirings",
    rows=select(f),
    key=f.c.id,
    fields={
        **columns(
            f,
            "id alarm_id alarm_name condition severity subject_kind subject run_id fired_at resolved_at "
            "acknowledged_at acknowledged_by",
        ),
        "open": f.c.resolved_at.is_(None),
    },
    order=(OrderKey("id", descending=True),),
    model=firing_from,
    indexes=Indexes(unique=frozenset({"id"}), equal=frozenset({"alarm_id"}), ordered=frozenset({"id", "fired_at"})),
)
CHANNELS: Listing[Channel] = Listing(
    name="channels",
    rows=select(c).where(c.c.document.is_(None)),
    key=c.c.name,
    fields=columns(c, "name kind created_at updated_at"),
    order=(OrderKey("name"),),
    model=channel_from,
)
DELIVERIES: Listing[Delivery] = Listing(
    name="alarmDeliveries",
    rows=select(d),
    key=d.c.id,
    fields=columns(d, "id message_id channel event state attempts created_at ended_at"),
    order=(OrderKey("id", descending=True),),
    model=delivery_from,
    indexes=Indexes(
        unique=frozenset({"id", "message_id"}), equal=frozenset({"channel"}), ordered=frozenset({"id", "created_at"})
    ),
)

OF_FIRING: Listing[Delivery] = replace(
    DELIVERIES,
    name="deliveriesOfFiring",
    rows=select(d).join_from(d, df, df.c.delivery_id == d.c.id),
    fields={**DELIVERIES.fields, "firing_id": df.c.firing_id},
)
"""The messages about one firing."""


_other: Final = d.alias("other")
_FIRST: Final = (
    select(func.min(_other.c.id))
    .where(_other.c.channel == d.c.channel, _other.c.state == sql_literal(DeliveryState.PENDING))
    .correlate(d)
    .scalar_subquery()
)
SENDABLE: Final = or_(
    c.c.name.is_(None),
    c.c.document.is_(None),
    and_(c.c.enabled, c.c.stopped_at.is_(None), or_(~c.c.ordered, d.c.id == _FIRST)),
)
"""Holds for a pending delivery, joined with its channel, unless a webhook is stopped or sends another one first."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a reader in the order of events.

    Attributes:
        cursor: Everything up to it was judged.
        version: The number of changes of alarms that it knows of.
        holder: The node that reads, until ``held_until``.
    """

    cursor: Cursor
    version: int
    holder: int | None
    held_until: datetime | None


_GONE: Final = exists().where(
    node.c.id == d.c.node_id, node.c.state.in_([NodeState.STOPPED.value, NodeState.EXPIRED.value])
)


def due_at() -> ColumnElement[datetime]:
    """Return the time of the next try of a delivery; it is past if the node is gone that was sending it."""
    return case((_GONE, d.c.created_at), else_=d.c.next_attempt_at)


class Glance(NamedTuple):
    """The place of the reader, the time of the next timer, and whether events wait for their number."""

    place: Place
    next_timer: datetime | None
    has_unpublished: bool


_NEXT: Final = select(func.min(t.c.due_at))
_GLANCE: Final = select(
    consumer, _NEXT.scalar_subquery().label("next_timer"), exists().where(event.c.seq.is_(None)).label("unpublished")
).where(consumer.c.name == READER)


def glance(conn: Connection) -> Glance | None:
    """Return the reader's place and its pending work; None before the first alarm."""
    row = conn.execute(_GLANCE).first()
    if row is None:
        return None
    place = Place(Cursor.parse(row.cursor), row.version, row.holder, row.held_until)
    return Glance(place, row.next_timer, bool(row.unpublished))


def watchlist(conn: Connection) -> Watchlist:
    """Return all alarms, with the open firings of each."""
    about = func.coalesce(f.c.execution_id, f.c.flow_id)
    opened = select(f.c.alarm_id, f.c.subject, about).where(f.c.resolved_at.is_(None))
    armed = select(t.c.alarm_id).where(t.c.kind == TimerKind.LOOK)
    found = Watchlist(
        (alarm_from(row) for row in conn.execute(select(a))),
        {(alarm_id, subject): about for alarm_id, subject, about in conn.execute(opened)},
    )
    found.armed.update(conn.execute(armed).scalars())
    return found


class DueTimer(NamedTuple):
    """A timer whose time has come."""

    alarm_id: int
    kind: TimerKind
    about: int
    due_at: datetime


MOST_TIMERS: Final = 500
_NOW: Final = bindparam("now", type_=t.c.due_at.type)
_DUE: Final = select(t).where(t.c.due_at <= _NOW).order_by(t.c.due_at).limit(MOST_TIMERS)


def due_timers(conn: Connection, now: datetime) -> list[DueTimer]:
    """Return timers that are due, the earliest first, at most ``MOST_TIMERS``."""
    return [
        DueTimer(row.alarm_id, TimerKind(row.kind), row.about, row.due_at) for row in conn.execute(_DUE, {"now": now})
    ]


def next_timer(conn: Connection) -> datetime | None:
    """Return the time of the next timer."""
    found: datetime | None = conn.execute(_NEXT).scalar_one()
    return found


class Occurrence(NamedTuple):
    """An occurrence of a task that became a run."""

    run_id: int
    scheduled_for: datetime


class TimedTask(NamedTuple):
    """A task as far as timers look at it: a look needs a few of its fifty columns.

    Attributes:
        waiting: The oldest occurrence that became a run and has not begun.
    """

    id: int
    name: str
    enabled: bool
    jitter: float
    timezone: str
    next_nominal: datetime | None
    next_execution: datetime | None
    waiting: Occurrence | None


_NAMED: Final = {"name": dialect.KINDS[str]}


def timed_tasks(conn: Connection, names: Collection[str]) -> dict[str, TimedTask]:
    """Return the tasks of these names that exist, by name."""
    postgres = dialect.is_postgresql(conn)
    rows = dialect.batch_rows(_NAMED, [(one,) for one in names], "asked", postgres=postgres)
    found = conn.execute(_timed(postgres=postgres), rows)
    tasks = [(row, None if row.run_id is None else Occurrence(row.run_id, row.scheduled_for)) for row in found]
    return {row.name: TimedTask._make((*row[:7], waiting)) for row, waiting in tasks}


@cache
def _timed(*, postgres: bool) -> Any:  # noqa: ANN401 - a statement of nine columns
    """Return the statement that finds tasks: to put it together costs as much as to send it."""
    asked, p, other = dialect.batch_source(_NAMED, "asked", postgres=postgres), periodic_task.c, run.alias("other")
    waits = (other.c.trigger == Trigger.SCHEDULE.value, other.c.state != "skipped", other.c.finished_at.is_(None))
    oldest = select(other.c.id).where(other.c.task_id == p.id, *waits, other.c.attempt == 0).order_by(other.c.id)
    columns = (p.id, p.name, p.enabled, p.jitter, p.timezone, p.next_nominal, p.next_execution)
    tasks = asked.join(periodic_task, p.name == asked.c.name)
    waiting = tasks.outerjoin(run, run.c.id == oldest.limit(1).correlate(periodic_task).scalar_subquery())
    return select(*columns, run.c.id.label("run_id"), run.c.scheduled_for).select_from(waiting)


_LIMITS: Final = {"asker": dialect.KINDS[int], "task": dialect.KINDS[int], "until": dialect.KINDS[datetime]}


class Limit(NamedTuple):
    """A task and a time; ``asker`` is the alarm that asks."""

    asker: int
    task_id: int
    at: datetime


def occurrences(conn: Connection, which: Literal["newest", "next"], limits: Sequence[Limit]) -> dict[int, Occurrence]:
    """Return, by alarm, the newest occurrence of its task that was due by a time, or the next one that was due after.

    Only occurrences that became a run count.
    """
    postgres = dialect.is_postgresql(conn)
    rows = dialect.batch_rows(_LIMITS, limits, "asked", postgres=postgres)
    found = conn.execute(_asking(which, postgres=postgres), rows)
    runs: dict[int, int] = {row[0]: row[1] for row in found if row[1] is not None}
    times = {row.id: row.scheduled_for for row in conn.execute(_DUE_TIMES, {"ids": list({*runs.values()})})}
    return {asker: Occurrence(run_id, times[run_id]) for asker, run_id in runs.items() if run_id in times}


_DUE_TIMES: Final = select(run.c.id, run.c.scheduled_for).where(run.c.id.in_(bindparam("ids", expanding=True)))


@cache
def _asking(which: str, *, postgres: bool) -> Select[Any, Any]:
    """Return the statement that finds an occurrence of each task."""
    asked = dialect.batch_source(_LIMITS, "asked", postgres=postgres)
    of_task = select(run.c.id).where(
        run.c.task_id == asked.c.task, run.c.trigger == Trigger.SCHEDULE.value, run.c.state != "skipped"
    )
    if which == "newest":
        found = of_task.where(run.c.scheduled_for <= asked.c.until).order_by(run.c.scheduled_for.desc())
    else:
        found = of_task.where(run.c.scheduled_for > asked.c.until).order_by(run.c.scheduled_for)
    return select(asked.c.asker, found.limit(1).scalar_subquery())


def last_successes(conn: Connection, kind: SubjectKind, names: Collection[str]) -> dict[str, datetime]:
    """Return the end of the last success of each of these tasks, jobs or flows; of groups nothing."""
    if kind is SubjectKind.FLOW and names:
        done = (flow.c.name.in_(names), flow.c.state == FlowState.SUCCESS.value)
        ends = select(flow.c.name, func.max(flow.c.finished_at)).where(*done).group_by(flow.c.name)
        return {row[0]: row[1] for row in conn.execute(ends)}
    owner = {SubjectKind.TASK: job_execution.c.task_name, SubjectKind.JOB: job_execution.c.job_name}.get(kind)
    if owner is None or not names:
        return {}
    asked, parameters = dialect.batch(conn, {"name": dialect.KINDS[str]}, [(one,) for one in names], "asked")
    newest = (
        select(job_execution.c.id)
        .where(owner == asked.c.name, job_execution.c.outcome == Outcome.SUCCESS.value)
        .order_by(job_execution.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    statement = select(owner, job_execution.c.completed_at).where(
        job_execution.c.id.in_(select(newest).select_from(asked))
    )
    return {row[0]: row[1] for row in conn.execute(statement, parameters)}


class Watched(NamedTuple):
    """An execution as far as alarms look at it."""

    run_id: int
    started_at: datetime
    completed_at: datetime | None
    records: int | None


def watched_flows(conn: Connection, ids: Collection[int]) -> dict[int, Watched]:
    """Return these flows, as if each were an execution."""
    found = flows_by_ids(conn, list(ids))
    return {one.id: Watched(0, one.submitted_at, one.finished_at, None) for one in found.values()}


MOST_UNTAKEN: Final = 50
"""Jobs and groups of which a run is looked at that nobody takes."""
_LEFT: Final = frozenset(
    {ExplanationCode.NEXT, ExplanationCode.IN_LINE, ExplanationCode.LOOP_BLOCKED, ExplanationCode.NODE_STALLED}
)
"""Reasons to wait that are the nodes': nothing else holds the run back, and there are free slots."""


def untaken(conn: Connection, now: datetime, patience: timedelta) -> dict[tuple[str, str], datetime]:
    """Return, by job and group, since when a run has been due that nodes should have taken before their patience ended.

    A run that a limit, a pause or another run holds back is none of these.
    """
    waits = (run.c.state.in_(sql_literals(CLAIMABLE)), run.c.available_at < now - patience)
    oldest = select(func.min(run.c.id)).where(*waits).group_by(run.c.job_name, run.c.group_name).limit(MOST_UNTAKEN)
    found = runs_by_ids(conn, list(conn.execute(oldest).scalars()))
    facts = of_runs(conn, list(found.values()), now)
    return {
        (one.job_name, one.group): one.available_at
        for one in found.values()
        if explain_run(one, facts[one.id], now).code in _LEFT
    }


def watched(conn: Connection, ids: Collection[int]) -> dict[int, Watched]:
    """Return these executions."""
    e = job_execution.c
    statement = select(e.id, e.run_id, e.started_at, e.completed_at, e.records_processed).where(e.id.in_(ids))
    return {row[0]: Watched(*row[1:]) for row in conn.execute(statement)}


class Error(NamedTuple):
    """The error of an execution."""

    job_name: str
    error_type: str | None
    message: str
    at: datetime
    started_at: datetime
    node_id: int

    @property
    def fingerprint(self) -> str:
        """Return the name of its group."""
        return fingerprint(self.job_name, self.error_type, self.message)


_e = job_execution.c
_ERROR: Final = select(
    _e.id,
    _e.job_name,
    _e.error_type,
    func.substr(_e.error_message, 1, MESSAGE_PREFIX),
    _e.completed_at,
    _e.started_at,
    _e.node_id,
)
MOST_ERRORS: Final = 1_000
"""Failed executions of a job whose errors are compared."""


def errors(conn: Connection, ids: Collection[int]) -> dict[int, Error]:
    """Return the errors of these executions, by id."""
    rows = conn.execute(_ERROR.where(_e.id.in_(ids), _e.success.is_(False)))
    return {row[0]: Error(*row[1:]) for row in rows}


def recent_errors(
    conn: Connection, job_name: str, before: int, since: datetime, is_past: Callable[[Error], bool]
) -> dict[str, datetime]:
    """Return the fingerprints of a job's errors since a time in executions before one, with the last time of each.

    ``is_past``: whether an error belongs to code that a newer version has mended; it is left out.
    """
    failed = _ERROR.where(_e.success.is_(False), _e.job_name == job_name, _e.id < before, _e.completed_at >= since)
    rows = conn.execute(failed.order_by(_e.id.desc()).limit(MOST_ERRORS))
    found: dict[str, datetime] = {}
    for row in rows:
        error = Error(*row[1:])
        if not is_past(error):
            found.setdefault(error.fingerprint, error.at)
    return found


RECENT: Final = 200
LEAST: Final = 20
"""Executions of which the p95 is taken, and the least number of which there is one."""


def p95(conn: Connection, kind: SubjectKind, name: str) -> float | None:
    """Return the duration that 95 of 100 recent successful executions stay under; None if there are too few."""
    e = job_execution.c
    owner = {SubjectKind.TASK: e.task_name, SubjectKind.JOB: e.job_name}.get(kind)
    recent = select(duration(e.started_at, e.completed_at)).where(e.outcome == Outcome.SUCCESS.value)
    if kind is SubjectKind.FLOW:
        succeeded = (flow.c.name == name, flow.c.state == FlowState.SUCCESS.value)
        recent = select(duration(flow.c.submitted_at, flow.c.finished_at)).where(*succeeded)
    elif owner is None:
        recent = recent.join_from(job_execution, run, run.c.id == e.run_id).where(run.c.group_name == name)
    else:
        recent = recent.where(owner == name)
    key = flow.c.id if kind is SubjectKind.FLOW else e.id
    found = sorted(float(one) for one in conn.execute(recent.order_by(key.desc()).limit(RECENT)).scalars())
    return found[min(len(found) - 1, int(len(found) * 0.95))] if len(found) >= LEAST else None


def alarms_by_ids(conn: Connection, ids: Collection[int]) -> dict[int, Alarm]:
    """Return these alarms."""
    return {row.id: alarm_from(row) for row in conn.execute(select(a).where(a.c.id.in_(ids)))}


def has_job(conn: Connection, name: str) -> bool:
    """Return whether a job was published."""
    return conn.execute(select(job.c.name).where(job.c.name == name)).first() is not None


def names_of(conn: Connection, kind: SubjectKind) -> list[str]:
    """Return the names of all tasks or jobs, for a suggestion."""
    named = periodic_task.c.name if kind is SubjectKind.TASK else job.c.name
    return list(conn.execute(select(named).order_by(named).limit(5000)).scalars())


def firings(conn: Connection, ids: Collection[int], *, lock: bool = False) -> list[Firing]:
    """Return these firings, by id."""
    statement = select(f).where(f.c.id.in_(ids)).order_by(f.c.id)
    return [firing_from(row) for row in conn.execute(statement.with_for_update() if lock else statement)]


def firings_by_id(conn: Connection, ids: Collection[int]) -> dict[int, Firing]:
    """Return those of these firings that exist, by id."""
    return {one.id: one for one in firings(conn, ids)}


def open_firings(conn: Connection, alarm_id: int | None, most: int) -> list[int]:
    """Return the ids of open firings that nobody has acknowledged, the oldest first, of one alarm or of all."""
    statement = select(f.c.id).where(f.c.resolved_at.is_(None), f.c.acknowledged_at.is_(None))
    if alarm_id is not None:
        statement = statement.where(f.c.alarm_id == alarm_id)
    return list(conn.execute(statement.order_by(f.c.id).limit(most)).scalars())


def unnotified(conn: Connection, alarm_ids: Collection[int] | None = None) -> list[Firing]:
    """Return the open firings of which nobody was notified, of these alarms or of all."""
    statement = select(f).where(f.c.resolved_at.is_(None), f.c.notified.is_(False))
    if alarm_ids is not None:
        statement = statement.where(f.c.alarm_id.in_(alarm_ids))
    return [firing_from(row) for row in conn.execute(statement.order_by(f.c.id))]


def channels(conn: Connection, names: Collection[str] | None = None) -> dict[str, Channel]:
    """Return channels that are no webhooks, by name."""
    statement = select(c).where(c.c.document.is_(None))
    if names is not None:
        statement = statement.where(c.c.name.in_(names))
    return {row.name: channel_from(row) for row in conn.execute(statement.order_by(c.c.name))}


def stop_messages(conn: Connection, names: Collection[str]) -> dict[str, str]:
    """Return the reasons why these webhooks send nothing, by name."""
    stopped = select(c.c.name, c.c.stop_message).where(c.c.name.in_(names), c.c.stop_message.is_not(None))
    return {row.name: row.stop_message for row in conn.execute(stopped)}


_RECEIVER: Final = select(c).where(c.c.name == bindparam("channel"))


def receiver(conn: Connection, name: str) -> Channel | None:
    """Return a channel or webhook."""
    row = conn.execute(_RECEIVER, {"channel": name}).one_or_none()
    return None if row is None else channel_from(row)


def users_of_channel(conn: Connection, name: str) -> list[str]:
    """Return the names of the alarms that notify a channel."""
    rows = conn.execute(select(a.c.name, a.c.channels).order_by(a.c.name))
    return [row.name for row in rows if name in row.channels]


def delivery_by_id(conn: Connection, delivery_id: int, *, lock: bool = False) -> Delivery | None:
    """Return a delivery."""
    statement = select(d).where(d.c.id == delivery_id)
    row = conn.execute(statement.with_for_update() if lock else statement).one_or_none()
    return None if row is None else delivery_from(row)


def count(conn: Connection, what: str) -> int:
    """Return how many alarms, channels, hooks or marks of failures there are."""
    table = {"alarms": a, "channels": c, "hooks": hook, "marks": failure_mark}[what]
    return conn.execute(select(func.count()).select_from(table)).scalar_one()


def next_delivery(conn: Connection) -> datetime | None:
    """Return the time of the next try of a delivery."""
    at = case((c.c.blocked_until > due_at(), c.c.blocked_until), else_=due_at())
    pending = d.c.state == DeliveryState.PENDING.value
    statement = select(func.min(at)).outerjoin_from(d, c, c.c.name == d.c.channel).where(pending, SENDABLE)
    found: datetime | None = conn.execute(statement).scalar_one()
    return found
