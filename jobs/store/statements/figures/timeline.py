"""Read the runs and skips in a span of time: a row for each task or job, small enough to be drawn.

Executions that began in the same part of the span are one bar. The rows that need a person come first: failing ones,
then late ones. All of it is bounded: the executions that are read, the rows, the bars and the skips of a row.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, case, func, literal, literal_column, select

from ....core.model import FAILURES, SkipReason
from ...db.functions import bucket_start, sql_literals
from ...schema.tables import job_execution as e
from ...schema.tables import periodic_task as t
from ...schema.tables import skipped_occurrence as s
from ...schema.types import UtcDateTime
from .depth import stalled
from .failures import news
from .scope import Scope

LOOKED_AT: Final = 100_000
"""Executions of a span that are read at most, the newest."""
SKIPS: Final = 2_000
"""Stretches of skipped occurrences that are read at most, the newest."""
SKIPS_OF_ROW: Final = 40

RowName = tuple[str | None, str | None]
"""Of a task its name and None; of a job's executions without a task None and its name."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Executions of a row that began in the same part of the span.

    Attributes:
        begin: When the first of them began.
        end: When the last of them ended; None if one still runs.
        failures: How many failed, timed out, or were lost.
        execution_id: The newest that failed, or else the newest.
    """

    begin: datetime
    end: datetime | None
    count: int
    failures: int
    execution_id: int


@dataclass(frozen=True, slots=True)
class Skip:
    """A stretch of skipped occurrences."""

    first: datetime
    last: datetime
    reason: SkipReason
    count: int
    run_id: int | None


@dataclass(slots=True)
class TimelineRow:
    """A task, or the executions of a job without a task.

    Attributes:
        task_name: The task; None without.
        job_name: The job; None if the task was deleted and nothing of it ran.
        group: The group of the task; None without, or if it was deleted.
        failing: Whether its newest execution that ended in the span failed, with an error that is news.
        late: Whether it should have started and did not.
        executions: How many began in the span.
        failures: How many of them failed.
        bars: From the earliest to the latest.
        skips: The skipped occurrences, the newest first.
    """

    task_name: str | None
    job_name: str | None
    group: str | None = None
    failing: bool = False
    late: bool = False
    executions: int = 0
    failures: int = 0
    bars: list[Bar] = field(default_factory=list[Bar])
    skips: list[Skip] = field(default_factory=list[Skip])

    @property
    def order(self) -> tuple[bool, bool, int, int, str]:
        """Return the key of the order: rows that need a person first, then by failures and runs, then by name."""
        name = self.task_name or self.job_name or ""
        return not self.failing, not self.late, -self.failures, -self.executions, name


@dataclass(frozen=True, slots=True)
class Timeline:
    """The rows of a span.

    Attributes:
        rows: The first of them.
        total: How many rows there are.
        since: Executions that began before are left out; None = none are.
    """

    rows: Sequence[TimelineRow]
    total: int
    since: datetime | None


def read(conn: Connection, scope: Scope, seconds: int, first: int, now: datetime, *, most: int = LOOKED_AT) -> Timeline:
    """Return the timeline of a span.

    Args:
        scope: The span, of all or of one task.
        seconds: The width of a part of the span; parts are aligned to the epoch.
        first: Rows at most.
        now: By this time tasks are late.
        most: Executions that are read at most.
    """
    since = _since(conn, scope, most)
    start = scope.start if since is None else since
    rows = {row_name(row): row for row in _summary(conn, scope, start, now)}
    skips = _skips(conn, scope)
    late = _late(conn, scope, now)
    for name in [*skips, *late]:
        rows.setdefault((name, None), TimelineRow(name, None))
    for name in late:
        rows[name, None].late = True
    shown = sorted(rows.values(), key=lambda row: row.order)[:first]
    _add_tasks(conn, [row for row in shown if row.task_name is not None])
    bars = _bars(conn, scope, start, seconds, {row_name(row) for row in shown})
    for row in shown:
        row.bars = bars.get(row_name(row), [])
        row.skips = skips.get(row.task_name or "", [])
    return Timeline(shown, len(rows), since)


def row_name(row: TimelineRow) -> RowName:
    """Return the identity of a row."""
    return row.task_name, None if row.task_name is not None else row.job_name


_JOB: Final[ColumnElement[str | None]] = case((e.c.task_name.is_(None), e.c.job_name), else_=None)
_FAILED: Final = e.c.outcome.in_(sql_literals(FAILURES))
_FAILURES: Final = func.coalesce(func.sum(case((_FAILED, 1), else_=0)), 0)
_NEWEST_FAILED: Final = func.max(case((_FAILED, e.c.id)))


def _since(conn: Connection, scope: Scope, most: int) -> datetime | None:
    """Return the time after which ``most`` executions of a span started; None if it has no more than these."""
    statement = select(e.c.started_at).where(scope.condition()).order_by(e.c.started_at.desc()).offset(most).limit(1)
    return conn.execute(statement).scalar()


def _within(scope: Scope, start: datetime) -> ColumnElement[bool]:
    return scope.condition() if start == scope.start else scope.condition() & (e.c.started_at > start)


def _summary(conn: Connection, scope: Scope, start: datetime, now: datetime) -> Iterable[TimelineRow]:
    job = func.max(e.c.job_name)
    newest_ended = func.max(case((e.c.completed_at.is_not(None), e.c.id)))
    statement = (
        select(e.c.task_name, job, func.count(), _FAILURES, _NEWEST_FAILED, newest_ended)
        .where(_within(scope, start))
        .group_by(e.c.task_name, _JOB)
    )
    rows = conn.execute(statement).all()
    fresh = news(conn, {failed for *_, failed, ended in rows if failed is not None and failed == ended}, now)
    for task, job_name, count, failures, _, ended in rows:
        yield TimelineRow(task, job_name, failing=ended in fresh, executions=count, failures=int(failures))


def _bars(
    conn: Connection, scope: Scope, start: datetime, seconds: int, shown: Collection[RowName]
) -> dict[RowName, list[Bar]]:
    bucket = bucket_start(e.c.started_at, literal(seconds)).label("bucket")
    statement = (
        select(
            e.c.task_name,
            _JOB.label("job"),
            bucket,
            func.min(e.c.started_at, type_=UtcDateTime()).label("begin"),
            func.max(e.c.completed_at, type_=UtcDateTime()).label("end"),
            func.count().label("number"),
            func.count(e.c.completed_at).label("ended"),
            _FAILURES.label("failures"),
            func.coalesce(_NEWEST_FAILED, func.max(e.c.id)).label("execution_id"),
        )
        .where(_within(scope, start), _of_rows(shown))
        .group_by(e.c.task_name, _JOB, bucket)
        .order_by(bucket)
    )
    found: defaultdict[RowName, list[Bar]] = defaultdict(list)
    rows: Iterable[Any] = conn.execute(statement)
    for row in rows:
        end = row.end if row.ended == row.number else None
        found[row.task_name, row.job].append(Bar(row.begin, end, row.number, int(row.failures), row.execution_id))
    return found


def _of_rows(shown: Collection[RowName]) -> ColumnElement[bool]:
    """Return the condition that an execution belongs to one of these rows: others are not put into parts of the span.

    The columns that SQLite cannot look up by name: it would read all that these rows ever did, and not the span.
    """
    tasks = sorted(task for task, _ in shown if task is not None)
    jobs = sorted(job for task, job in shown if task is None and job is not None)
    task_name = func.coalesce(e.c.task_name, literal_column("''"))
    return task_name.in_(tasks) | ((task_name == literal_column("''")) & e.c.job_name.in_(jobs))


def _skips(conn: Connection, scope: Scope) -> dict[str, list[Skip]]:
    """Return skips by task name. A stretch was last written at its last nominal time or after it."""
    conditions = [s.c.at >= scope.start, s.c.last_scheduled_for >= scope.start, s.c.first_scheduled_for < scope.end]
    if scope.task_name is not None:
        conditions.append(s.c.task_name == scope.task_name)
    statement = (
        select(s.c.task_name, s.c.first_scheduled_for, s.c.last_scheduled_for, s.c.reason, s.c.occurrences, s.c.run_id)
        .where(*conditions)
        .order_by(s.c.at.desc(), s.c.id.desc())
        .limit(SKIPS)
    )
    found: defaultdict[str, list[Skip]] = defaultdict(list)
    for task, begin, end, reason, count, run_id in conn.execute(statement):
        if len(found[task]) < SKIPS_OF_ROW:
            found[task].append(Skip(begin, end, SkipReason(reason), count, run_id))
    return found


def _late(conn: Connection, scope: Scope, now: datetime) -> list[str]:
    """Return the names of the tasks that are late now, if the span reaches to now."""
    if scope.end < now:
        return []
    ids = stalled(conn, now, task_name=scope.task_name)
    return list(conn.execute(select(t.c.name).where(t.c.id.in_(ids))).scalars()) if ids else []


def _add_tasks(conn: Connection, rows: Sequence[TimelineRow]) -> None:
    names = [row.task_name for row in rows]
    if not names:
        return
    found = conn.execute(select(t.c.name, t.c.group_name, t.c.job_name).where(t.c.name.in_(names)))
    known = {name: (group, job) for name, group, job in found}
    for row in rows:
        row.group, job_name = known.get(row.task_name or "", (None, None))
        row.job_name = row.job_name or job_name
