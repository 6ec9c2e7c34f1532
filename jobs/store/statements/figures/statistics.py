"""Figures about executions, computed in SQL: counts, percentiles, lateness, points over time."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Float,
    Subquery,
    and_,
    case,
    exists,
    func,
    literal,
    select,
    union_all,
)

from ....core.base.errors import UnreadableRow
from ....core.model import FAILURES, Task
from ...db import dialect
from ...db.functions import bucket_start, duration, sql_literals
from ...db.unreadable import AnySelect, each
from ...schema.tables import job
from ...schema.tables import job_execution as e
from ...schema.tables import periodic_task as t
from ..listing.criteria import EVERYTHING, Criteria
from ..lists import EXECUTIONS, TASKS
from .scope import Scope

PARTS: Final = (0.5, 0.95, 0.99)


class Series(IntEnum):
    """Name the durations that have percentiles."""

    TOTAL = 0
    """The durations of all, in seconds; a running one has none."""
    POINTS = 1
    """The durations of each bucket."""
    LATENESS = 2
    """The seconds from nominal time to start, of first attempts made by a schedule."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Seconds at the percentiles 50, 95 and 99; None without a value to judge by."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


def percentiles(
    conn: Connection, scope: Scope, seconds: int, wanted: Collection[Series]
) -> Mapping[tuple[Series, int], Percentiles]:
    """Return the percentiles that are wanted, by series and the beginning of the bucket of ``seconds`` (else 0).

    Buckets begin at multiples of ``seconds`` since 1970. Where there is no execution, nothing is answered.
    """
    if not wanted:
        return {}
    looked_at = _looked_at(scope, seconds)
    rows = union_all(*(_values(looked_at, series) for series in sorted(wanted))).subquery("judged")
    found = _postgresql(rows) if dialect.is_postgresql(conn) else _sqlite(rows)
    return {(Series(series), bucket): Percentiles(*parts) for series, bucket, *parts in conn.execute(found)}


def _looked_at(scope: Scope, seconds: int) -> CTE:
    """Return the executions of the scope, read once for all series."""
    is_first = and_(e.c.scheduled_for.is_not(None), e.c.attempt == 1)
    return (
        select(
            bucket_start(e.c.started_at, literal(seconds)).label("bucket"),
            duration(e.c.started_at, e.c.completed_at).label("took"),
            case((is_first, duration(e.c.scheduled_for, e.c.started_at))).label("late"),
        )
        .where(scope.condition())
        .cte("looked_at")
    )


def _values(rows: CTE, series: Series) -> AnySelect:
    value = rows.c.late if series is Series.LATENESS else rows.c.took
    bucket = rows.c.bucket if series is Series.POINTS else literal(0)
    return select(literal(int(series)).label("series"), bucket.label("bucket"), value.label("value"))


def _postgresql(rows: Subquery) -> AnySelect:
    parts = [func.percentile_cont(part, type_=Float()).within_group(rows.c.value) for part in PARTS]
    return select(rows.c.series, rows.c.bucket, *parts).group_by(rows.c.series, rows.c.bucket)


def _sqlite(rows: Subquery) -> AnySelect:
    """Return the percentiles as PostgreSQL's ``percentile_cont`` defines them.

    The percentile p of n values is at rank p·(n-1), between two values in general: each value weighs by how near its
    rank is, and only those two have a weight at all.
    """
    group = (rows.c.series, rows.c.bucket)
    missing = rows.c.value.is_(None)
    rank = func.row_number().over(partition_by=(*group, missing), order_by=rows.c.value) - 1
    number = func.count(rows.c.value).over(partition_by=group)
    ranked = select(rows, rank.label("rank"), number.label("number")).subquery("ranked")

    def percentile(part: float) -> ColumnElement[float]:
        distance = func.abs(ranked.c.rank - literal(part) * (ranked.c.number - 1))
        return func.sum(ranked.c.value * func.max(0.0, 1.0 - distance), type_=Float())

    found = select(ranked.c.series, ranked.c.bucket, *(percentile(part) for part in PARTS))
    return found.group_by(ranked.c.series, ranked.c.bucket)


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


def scaled(point: Point, by: int) -> Point:
    """Return the weight of one of so many executions."""
    figures = point.figures
    return Point(
        point.at,
        replace(figures, count=figures.count * by, failures=figures.failures * by, records=figures.records * by),
    )


def counts(conn: Connection, scope: Scope, seconds: int) -> list[Point]:
    """Return the counts per bucket of ``seconds``, aligned to the epoch, oldest first; empty buckets are left out."""
    bucket = bucket_start(e.c.started_at, literal(seconds)).label("bucket")
    failed = func.sum(case((e.c.outcome.in_(sql_literals(FAILURES)), 1), else_=0))
    records = func.coalesce(func.sum(e.c.records_processed), 0)
    statement = select(bucket, func.count(), failed, records).where(scope.condition()).group_by(bucket).order_by(bucket)
    return [
        Point(datetime.fromtimestamp(at, UTC), Figures(count, int(failed), int(records), None, None, None))
        for at, count, failed, records in conn.execute(statement)
    ]


def newest_counts(
    conn: Connection, criteria: Criteria, span: tuple[datetime, datetime], seconds: int, most: int
) -> tuple[list[Point], datetime]:
    """Count the executions of a span that meet a condition, per bucket, but only the newest ``most`` of them.

    Returns:
        The buckets as of ``counts``, and since when all are counted: the beginning of the span, or of a later bucket.
    """
    start, end = span
    scope = Scope(start, end)
    rows = (
        select(e.c.started_at, e.c.outcome, e.c.records_processed)
        .where(EXECUTIONS.condition(criteria), scope.condition(), scope.ids())
        .order_by(e.c.id.desc())
        .limit(most)
        .subquery("newest")
    )
    bucket = bucket_start(rows.c.started_at, literal(seconds)).label("bucket")
    failed = func.sum(case((rows.c.outcome.in_(sql_literals(FAILURES)), 1), else_=0))
    records = func.coalesce(func.sum(rows.c.records_processed), 0)
    statement = select(bucket, func.count(), failed, records).group_by(bucket).order_by(bucket)
    points = [
        Point(datetime.fromtimestamp(at, UTC), Figures(count, int(failed), int(records), None, None, None))
        for at, count, failed, records in conn.execute(statement)
    ]
    if sum(point.figures.count for point in points) < most:
        return points, start
    return points[1:], points[0].at + timedelta(seconds=seconds)


def planned(
    conn: Connection, start: datetime, end: datetime, first: int, cap: int, criteria: Criteria = EVERYTHING
) -> list[Task | UnreadableRow]:
    """Return the tasks that can have one of the ``first`` earliest occurrences in ``start <= time < end``.

    These are the tasks due before ``start`` (their later occurrences may lie in the span) and, of those due in the
    span, the ``first`` earliest. Paused tasks and those whose job no node has published are left out. In the place of
    one that cannot be read is its fault.

    Args:
        start: The beginning of the span.
        first: How many occurrences are wanted.
        cap: Most tasks of the first kind; of more, those that are due earliest count.
        criteria: Which tasks, by the fields of the list of tasks.
    """
    due = t.c.next_execution
    alive = exists().where(job.c.name == t.c.job_name)
    active = TASKS.rows.where(t.c.enabled, alive, TASKS.condition(criteria)).order_by(due, t.c.id)
    earlier = each(conn, active.where(due < start, due < end).limit(cap), t.c.id, TASKS.model)
    in_range = each(conn, active.where(due >= start, due < end).limit(first), t.c.id, TASKS.model)
    return [*earlier, *in_range]
