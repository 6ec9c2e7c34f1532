"""Figures about executions, computed in SQL: counts, percentiles, lateness, points over time, groups of failures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Subquery, and_, case, func, select

from ..core.model import FAILURES
from . import dialect
from .reading.functions import bucket_start, duration
from .tables import job_execution as e
from .tables import periodic_task as t

PERCENTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which executions: those that started in ``start <= time < end``, of one job or one task if given."""

    start: datetime
    end: datetime
    job_name: str | None = None
    task_name: str | None = None

    def condition(self) -> ColumnElement[bool]:
        """The SQL of it."""
        conditions = [e.c.started_at >= self.start, e.c.started_at < self.end]
        if self.job_name is not None:
            conditions.append(e.c.job_name == self.job_name)
        if self.task_name is not None:
            conditions.append(e.c.task_name == self.task_name)
        return and_(*conditions)


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of executions, and seconds at the percentiles 50, 95 and 99 (None without a value to judge by)."""

    count: int
    failures: int
    records: int
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of one bucket of time, which begins at ``at``."""

    at: datetime
    figures: Figures


@dataclass(frozen=True, slots=True)
class FailureRow:
    """Failures of one job with the same error: how many, first and last start, the newest execution."""

    job_name: str
    error_type: str | None
    message: str
    count: int
    first: datetime
    last: datetime
    execution_id: int


def totals(conn: Connection, scope: Scope) -> Figures:
    """The figures of all executions of a scope together."""
    rows = _judged(scope, None)
    found = _figures(conn, rows)
    return next(iter(found.values()), Figures(0, 0, 0, None, None, None))


def points(conn: Connection, scope: Scope, seconds: int) -> list[Point]:
    """The figures per bucket of ``seconds``, aligned to the epoch; buckets without executions are left out."""
    rows = _judged(scope, seconds)
    return [Point(datetime.fromtimestamp(at, UTC), figures) for at, figures in sorted(_figures(conn, rows).items())]


def lateness(conn: Connection, scope: Scope) -> tuple[float | None, float | None]:
    """Seconds from nominal time to start, at the percentiles 50 and 95, of first attempts made by a schedule."""
    late = duration(e.c.scheduled_for, e.c.started_at)
    condition = and_(scope.condition(), e.c.scheduled_for.is_not(None), e.c.attempt == 1)
    rows = select(_nothing(), late.label("value")).where(condition).subquery("judged")
    found = _percentiles(conn, rows)
    return next(((p50, p95) for p50, p95, _ in found.values()), (None, None))


def stalled(conn: Connection, now: datetime, *, job_name: str | None = None, task_name: str | None = None) -> int:
    """How many tasks should have started and did not: no start since the last due time and the grace after it."""
    conditions = [
        t.c.enabled,
        t.c.last_due_at.is_not(None),
        (t.c.last_started_at.is_(None)) | (t.c.last_started_at < t.c.last_due_at),
        duration(t.c.last_due_at, _bound(now)) > t.c.misfire_grace,
    ]
    if job_name is not None:
        conditions.append(t.c.job_name == job_name)
    if task_name is not None:
        conditions.append(t.c.name == task_name)
    return conn.execute(select(func.count()).select_from(t).where(*conditions)).scalar_one()
