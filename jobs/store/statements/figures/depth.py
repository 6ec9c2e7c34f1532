"""Read the number of queued runs at each minute, as nodes kept it, and the number now.

A minute is kept as a row for each job, group and state with any run, the largest of them; further ones are summed up
under no name. The row without a name that waits is always there, also at zero: it shows that the minute was kept.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, literal, or_, select

from ....core.model import SkipReason, Task
from ....core.occurrences import is_stalled
from ....core.states import CLAIMABLE, RunState
from ...db import dialect
from ...db.functions import bucket_start, duration, sql_literal, sql_literals
from ...schema.tables import AMONG_ALL_RUNS, IS_OPEN
from ...schema.tables import periodic_task as t
from ...schema.tables import queue_depth as d
from ...schema.tables import run as r
from ...schema.types import UtcDateTime
from ..listing.criteria import Criteria, mentions, stand_in
from ..tasks import newest_skipped, task_from
from .failures import failing_tasks


def stalled(
    conn: Connection,
    now: datetime,
    *,
    job_name: str | None = None,
    task_name: str | None = None,
    group: str | None = None,
) -> tuple[int, ...]:
    """Return the keys of the tasks that should have started and did not; only those in question are read."""
    conditions = [
        t.c.enabled,
        t.c.last_due_at.is_not(None),
        or_(
            t.c.last_started_at.is_(None),
            and_(
                t.c.last_started_at < t.c.last_due_at,
                duration(t.c.last_started_at, literal(now, UtcDateTime())) > t.c.misfire_grace,
            ),
        ),
    ]
    if job_name is not None:
        conditions.append(t.c.job_name == job_name)
    if task_name is not None:
        conditions.append(t.c.name == task_name)
    if group is not None:
        conditions.append(t.c.group_name == group)
    asked = [task_from(row) for row in conn.execute(select(t).where(*conditions).order_by(t.c.id))]
    return stalled_of(conn, asked, now)


_JUDGED: Final = {"stalled": stalled, "failing": failing_tasks}
"""Truths about tasks that no column holds: what schedules and errors mean, no database can tell."""


def is_judged(criteria: Criteria) -> bool:
    """Return whether a condition asks for such a truth."""
    return any(mentions(criteria, field) for field in _JUDGED)


def judged(conn: Connection, criteria: Criteria, now: datetime) -> Criteria:
    """Return the same with the keys of the tasks of which such a truth holds in its place."""
    for field, find in _JUDGED.items():
        if mentions(criteria, field):
            criteria = stand_in(criteria, field, find(conn, now))
    return criteria


def stalled_of(conn: Connection, tasks: Collection[Task], now: datetime) -> tuple[int, ...]:
    """Return those of these tasks that should have started and did not, as ``is_stalled`` judges."""
    suspects = [task for task in tasks if is_stalled(task, now, owed=True)]
    if not suspects:
        return ()
    owed = _owed(conn, suspects)
    return tuple(task.id for task in suspects if task.id in owed)


def _owed(conn: Connection, tasks: Collection[Task]) -> set[int]:
    """Return tasks whose scheduled run has yet to begin, or whose last occurrence was skipped for want of a node."""
    keys = [task.id for task in tasks]
    asked, parameters = dialect.batch(conn, {"task_id": dialect.KINDS[int]}, [(key,) for key in keys], name="asked")
    unbegun = (
        select(r.c.id)
        .where(r.c.task_id == asked.c.task_id, IS_OPEN, r.c.attempt == 0, r.c.scheduled_for.is_not(None))
        .exists()
    )
    waiting = set(conn.execute(select(asked.c.task_id).where(unbegun), parameters).scalars())
    newest = newest_skipped(conn, keys)
    return waiting | {
        task.id
        for task in tasks
        if (skip := newest.get(task.id)) is not None
        and skip.reason is SkipReason.NO_JOB
        and skip.last_scheduled_for == task.last_due_at
    }


KEPT_FOR = timedelta(days=2)
UNNAMED = ""
"""Job and group of the summed-up rest."""


@dataclass(frozen=True, slots=True)
class Part:
    """The unfinished runs of one job, group and state.

    Attributes:
        oldest_at: Since when the one that is due for longest waits; None if none is due.
    """

    job_name: str
    group_name: str
    state: RunState
    runs: int
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True)
class DepthPoint:
    """The queue in a bucket of time.

    Attributes:
        at: When the bucket begins.
        states: Unfinished runs by state, the mean of the minutes that were kept.
        oldest_wait: The longest that a due run had waited at any of them, in seconds; None if none was due.
    """

    at: datetime
    states: Mapping[RunState, float]
    oldest_wait: float | None


def parts(conn: Connection, now: datetime) -> list[Part]:
    """Return the queue as it is, the largest parts first."""
    due = and_(r.c.state.in_(sql_literals(CLAIMABLE)), r.c.available_at <= now)
    count = func.count().label("number")
    statement = (
        select(
            r.c.job_name,
            r.c.group_name,
            r.c.state,
            count,
            func.min(case((due, r.c.available_at)), type_=UtcDateTime()).label("oldest_at"),
        )
        .where(IS_OPEN, AMONG_ALL_RUNS)
        .group_by(r.c.job_name, r.c.group_name, r.c.state)
        .order_by(count.desc(), r.c.job_name, r.c.group_name, r.c.state)
    )
    return [
        Part(row.job_name, row.group_name, RunState(row.state), row.number, row.oldest_at)
        for row in conn.execute(statement)
    ]


def is_kept(conn: Connection, minute: datetime) -> bool:
    """Return whether somebody kept this minute."""
    return conn.execute(select(exists().where(_mark(), d.c.at == minute))).scalar_one()


def over_time(
    conn: Connection,
    start: datetime,
    end: datetime,
    seconds: int,
    *,
    job_name: str | None = None,
    group: str | None = None,
) -> list[DepthPoint]:
    """Return the queue, or the part of one job or group, in ``start <= time < end`` by buckets of ``seconds``.

    Buckets are aligned to the epoch; those of which no minute was kept are left out.
    """
    span = (d.c.at >= start, d.c.at < end)
    bucket = bucket_start(d.c.at, literal(seconds)).label("bucket")
    kept = {
        at: count for at, count in conn.execute(select(bucket, func.count()).where(_mark(), *span).group_by(bucket))
    }
    conditions = [*span]
    if job_name is not None:
        conditions.append(d.c.job_name == job_name)
    if group is not None:
        conditions.append(d.c.group_name == group)
    waited = func.max(duration(d.c.oldest_at, d.c.at))
    columns = (bucket, d.c.state, func.sum(d.c.runs), waited)
    found: Any = conn.execute(select(*columns).where(*conditions).group_by(bucket, d.c.state))
    states: dict[int, dict[RunState, float]] = {at: {} for at in kept}
    waits: dict[int, float] = {}
    for at, state, runs, wait in found:
        states[at][RunState(state)] = int(runs) / kept[at]
        if wait is not None:
            waits[at] = max(wait, waits.get(at, 0.0))
    return [DepthPoint(datetime.fromtimestamp(at, UTC), states[at], waits.get(at)) for at in sorted(kept)]


def _mark() -> ColumnElement[bool]:
    return and_(d.c.job_name == UNNAMED, d.c.group_name == UNNAMED, d.c.state == sql_literal(RunState.WAITING))
