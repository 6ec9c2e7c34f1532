"""Read the history that is archived, a day at a time: executions with their log lines, runs, skipped occurrences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from sqlalchemy import JSON, Boolean, Column, Connection, Float, Integer, Table, func, select, tuple_

from ..schema.tables import execution_log as line
from ..schema.tables import history_archive, job_execution, run, skipped_occurrence
from ..schema.types import UtcDateTime

DAY: Final = timedelta(days=1)
Kind = Literal["flag", "json", "number", "text", "time", "whole"]
"""The kinds of values that a column may hold."""


@dataclass(frozen=True, slots=True)
class Archived:
    """Say where the history is archived, and which part of it.

    Attributes:
        location: The folder or bucket, without anything secret.
        through: History that ended earlier is there; the beginning of a day in UTC.
    """

    location: str
    through: datetime


@dataclass(frozen=True, slots=True)
class Part:
    """Name a table whose rows are archived by the day on which they ended.

    Attributes:
        name: The name of the rows.
        ended: When a row ended.
    """

    name: str
    table: Table
    ended: Column[datetime]

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kind of each column."""
        return _kinds(self.table)


EXECUTIONS: Final = Part("executions", job_execution, job_execution.c.completed_at)
RUNS: Final = Part("runs", run, run.c.finished_at)
SKIPPED: Final = Part("skipped_occurrences", skipped_occurrence, skipped_occurrence.c.at)
PARTS: Final = (EXECUTIONS, RUNS, SKIPPED)
LINES: Final = "log_lines"
"""The name of log lines; they are in the archive on the day on which their execution ended."""


def _kinds(table: Table) -> Mapping[str, Kind]:
    return {column.name: _kind(column) for column in table.columns}


def _kind(column: Column[Any]) -> Kind:
    for of_type, kind in _KINDS:
        if isinstance(column.type, of_type):
            return kind
    return "text"


_KINDS: Final[tuple[tuple[type, Kind], ...]] = (
    (JSON, "json"),
    (UtcDateTime, "time"),
    (Boolean, "flag"),
    (Integer, "whole"),
    (Float, "number"),
)
KINDS_OF_LINES: Final = _kinds(line)


def of(conn: Connection) -> Archived | None:
    """Return where the history is archived; None = nowhere."""
    row = conn.execute(select(history_archive.c.location, history_archive.c.through)).one_or_none()
    return None if row is None else Archived(row.location, row.through)


def first_day(conn: Connection, now: datetime) -> datetime:
    """Return the day on which the oldest history ended; that of ``now`` if there is none."""
    ends: list[datetime | None] = [conn.execute(select(func.min(part.ended))).scalar_one() for part in PARTS]
    return day_of(min((end for end in ends if end is not None), default=now))


def day_of(at: datetime) -> datetime:
    """Return the beginning of the day of ``at`` in UTC."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def count(conn: Connection, part: Part, day: datetime) -> int:
    """Return how many rows ended on a day."""
    statement = select(func.count()).select_from(part.table).where(part.ended >= day, part.ended < day + DAY)
    rows: int = conn.execute(statement).scalar_one()
    return rows


def count_lines(conn: Connection, day: datetime) -> int:
    """Return how many log lines the executions have that ended on a day."""
    e = job_execution
    of_day = select(e.c.id).where(e.c.completed_at >= day, e.c.completed_at < day + DAY)
    rows: int = conn.execute(select(func.count()).select_from(line).where(line.c.execution_id.in_(of_day))).scalar_one()
    return rows


def page(
    conn: Connection, part: Part, day: datetime, after: tuple[datetime, int] | None, limit: int
) -> Sequence[Mapping[str, Any]]:
    """Return up to ``limit`` rows that ended on a day, in the order of their ends, behind the place ``after``."""
    place = tuple_(part.ended, part.table.c.id)
    statement = select(part.table).where(part.ended >= day, part.ended < day + DAY)
    if after is not None:
        statement = statement.where(part.ended >= after[0], place > after)
    rows = conn.execute(statement.order_by(part.ended, part.table.c.id).limit(limit))
    return [dict(row) for row in rows.mappings()]


def lines_page(
    conn: Connection, executions: Sequence[int], after: tuple[int, int], limit: int
) -> Sequence[Mapping[str, Any]]:
    """Return up to ``limit`` log lines of these executions, in the order of their ids, behind the place ``after``."""
    place = tuple_(line.c.execution_id, line.c.line)
    statement = select(line).where(line.c.execution_id.in_(executions), place > after)
    ordered = statement.order_by(line.c.execution_id, line.c.line)
    return [dict(row) for row in conn.execute(ordered.limit(limit)).mappings()]
