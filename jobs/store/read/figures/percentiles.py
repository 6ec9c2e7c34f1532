"""Where the durations and the lateness of executions lie: percentiles, all of one look at these."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
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
    func,
    literal,
    select,
    union_all,
)

from ...db import dialect
from ...db.functions import bucket_start, duration
from ...db.unreadable import AnySelect
from ...schema.tables import job_execution as e
from .scope import Scope

PARTS: Final = (0.5, 0.95, 0.99)


class Series(IntEnum):
    """What there are percentiles of."""

    TOTAL = 0
    """The durations of all, in seconds; what runs has none."""
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
    """The percentiles that are wanted, by series and the beginning of the bucket of ``seconds`` (else 0).

    Buckets begin at multiples of ``seconds`` since 1970. Where there is no execution, nothing is answered.
    """
    if not wanted:
        return {}
    looked_at = _looked_at(scope, seconds)
    rows = union_all(*(_values(looked_at, series) for series in sorted(wanted))).subquery("judged")
    found = _postgresql(rows) if dialect.is_postgresql(conn) else _sqlite(rows)
    return {(Series(series), bucket): Percentiles(*parts) for series, bucket, *parts in conn.execute(found)}


def _looked_at(scope: Scope, seconds: int) -> CTE:
    """The executions of the scope, read once for all series."""
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
    """The percentiles as PostgreSQL's ``percentile_cont`` defines them.

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
