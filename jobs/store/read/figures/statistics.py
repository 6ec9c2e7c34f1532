"""Figures about executions, computed in SQL: counts, percentiles, lateness, points over time, groups of failures."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import (
    Connection,
    case,
    func,
    literal,
    literal_column,
    select,
)

from ....core.model import FAILURES
from ...db.functions import bucket_start
from ...db.literals import sql_literals
from ...schema.tables import job_execution as e
from ...schema.types import UtcDateTime
from .scope import Scope

MESSAGE_PREFIX = 300
"""Characters of an error's message that failures are grouped by."""
GROUPED = 20_000
"""So many failures are looked at."""


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


def scaled(point: Point, by: int) -> Point:
    """What one of so many executions stands for."""
    figures = point.figures
    return Point(
        point.at,
        replace(figures, count=figures.count * by, failures=figures.failures * by, records=figures.records * by),
    )


def counts(conn: Connection, scope: Scope, seconds: int) -> list[Point]:
    """The counts per bucket of ``seconds``, aligned to the epoch, oldest first; empty buckets are left out."""
    bucket = bucket_start(e.c.started_at, literal(seconds)).label("bucket")
    failed = func.sum(case((e.c.outcome.in_(sql_literals(FAILURES)), 1), else_=0))
    records = func.coalesce(func.sum(e.c.records_processed), 0)
    statement = select(bucket, func.count(), failed, records).where(scope.condition()).group_by(bucket).order_by(bucket)
    return [
        Point(datetime.fromtimestamp(at, UTC), Figures(count, int(failed), int(records), None, None, None))
        for at, count, failed, records in conn.execute(statement)
    ]


def failures(
    conn: Connection, start: datetime, end: datetime, limit: int, *, grouped: int = GROUPED
) -> list[FailureRow]:
    """Failures that started in ``start <= time < end``, by job and equal error, the most frequent first.

    Of more than ``grouped`` the newest count: where everything fails, they say enough.
    """
    message = func.substr(e.c.error_message, 1, MESSAGE_PREFIX)
    scope = Scope(start, end)
    rows = (
        select(e.c.job_name, e.c.error_type, message.label("message"), e.c.started_at, e.c.id)
        .where(
            scope.condition(),
            scope.ids(),
            e.c.success == literal_column("false"),
            e.c.outcome.in_(sql_literals(FAILURES)),
        )
        .order_by(e.c.id.desc())
        .limit(grouped)
        .subquery("failed")
    )
    count = func.count().label("number")
    statement = (
        select(
            rows.c.job_name,
            rows.c.error_type,
            rows.c.message,
            count,
            func.min(rows.c.started_at, type_=UtcDateTime()).label("first"),
            func.max(rows.c.started_at, type_=UtcDateTime()).label("last"),
            func.max(rows.c.id).label("execution_id"),
        )
        .group_by(rows.c.job_name, rows.c.error_type, rows.c.message)
        .order_by(count.desc(), func.max(rows.c.id).desc())
        .limit(limit)
    )
    return [
        FailureRow(row.job_name, row.error_type, row.message, row.number, row.first, row.last, row.execution_id)
        for row in conn.execute(statement)
    ]
