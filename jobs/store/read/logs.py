"""Log lines of executions, a page of each at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, true

from ...core.model import Execution, Json
from ..db import dialect
from ..schema.rows import reader_of
from ..schema.tables import execution_log as log
from ..schema.tables import job_execution as execution
from .executions import by_ids


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. ``line`` counts from 1 within its execution; ``level`` is ``debug`` … ``critical``.

    ``step`` is the label of the step that wrote it.
    """

    execution_id: int
    line: int
    at: datetime
    level: str
    message: str
    fields: Json = None
    step: str | None = None


def after(conn: Connection, execution_id: int, line: int, limit: int) -> list[LogLine]:
    """Up to ``limit`` lines of an execution after ``line``, in order."""
    statement = (
        select(log).where(log.c.execution_id == execution_id, log.c.line > line).order_by(log.c.line).limit(limit)
    )
    return [line_from(row) for row in conn.execute(statement)]


@dataclass(frozen=True, slots=True)
class LogPart:
    """Some kept lines of an execution in order, and how many lines before the first kept one were cut."""

    lines: tuple[LogLine, ...]
    cut: int


@dataclass(frozen=True, slots=True)
class LogEnd:
    """How far the log of an execution goes by now: its last line, 0 without one, and whether nothing more can come."""

    last_line: int
    over: bool


line_from = reader_of(LogLine)
"""The line behind a whole row of ``execution_log``."""


def parts_after(conn: Connection, execution_ids: Sequence[int], after: int, limit: int) -> dict[int, LogPart]:
    """For each execution, up to ``limit`` kept lines behind line number ``after``; two statements for all together."""
    rows = [(one,) for one in execution_ids]
    wanted, parameters = dialect.batch(conn, {"id": dialect.KINDS[int]}, rows, name="wanted")
    mine = (
        select(log)
        .where(log.c.execution_id == wanted.c.id, log.c.line > after)
        .order_by(log.c.line)
        .limit(limit)
        .correlate(wanted)
    )
    if dialect.is_postgresql(conn):
        lines = mine.lateral("lines")
        statement = select(lines).select_from(wanted.join(lines, true()))
    else:
        # SQLite has no LATERAL, but it answers a correlated IN once per execution and by the primary key.
        theirs = (log.c.execution_id == wanted.c.id) & log.c.line.in_(mine.with_only_columns(log.c.line))
        statement = select(log).join_from(wanted, log, theirs)
    found: dict[int, list[LogLine]] = {one: [] for one in execution_ids}
    for row in conn.execute(statement, parameters):
        found[row.execution_id].append(line_from(row))
    first = _first_kept(conn, execution_ids)
    return {
        one: LogPart(tuple(sorted(lines, key=lambda line: line.line)), first.get(one, 1) - 1)
        for one, lines in found.items()
    }


def _first_kept(conn: Connection, execution_ids: Sequence[int]) -> dict[int, int]:
    """The first kept line of each execution that has any; the newest are kept, so all before it were cut."""
    statement = (
        select(log.c.execution_id, func.min(log.c.line))
        .where(log.c.execution_id.in_(execution_ids))
        .group_by(log.c.execution_id)
    )
    return {key: value for key, value in conn.execute(statement)}


def follow(conn: Connection, execution_id: int, after: int, limit: int) -> tuple[Execution | None, LogPart]:
    """An execution and the next of its lines, from one snapshot: if it is over, nothing but these lines is left."""
    found = by_ids(conn, [execution_id]).get(execution_id)
    return found, parts_after(conn, [execution_id], after, limit)[execution_id]


def ends(conn: Connection, execution_ids: Sequence[int]) -> dict[int, LogEnd]:
    """How far the logs of these executions go, by one statement; those that do not exist (any more) are over."""
    last = select(func.max(log.c.line)).where(log.c.execution_id == execution.c.id).scalar_subquery()
    statement = select(execution.c.id, last.label("last"), execution.c.completed_at.is_not(None).label("over"))
    found = {
        row.id: LogEnd(row.last or 0, bool(row.over))
        for row in conn.execute(statement.where(execution.c.id.in_(execution_ids)))
    }
    return {one: found.get(one, LogEnd(0, over=True)) for one in execution_ids}
