"""Read log lines of executions: a page of each at once, their ends, and those that hold a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, true

from ...core.model import Execution, Json
from ..db import dialect
from ..schema.rows import reader_of
from ..schema.tables import execution_log as log
from ..schema.tables import job_execution as execution
from .executions import by_ids
from .listing.criteria import began_after, began_before, contains


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
    """Return up to ``limit`` lines of an execution after ``line``, in order."""
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
    """Say how far the log of an execution goes: its last line, 0 without one, and whether nothing more can come."""

    last_line: int
    over: bool


line_from = reader_of(LogLine)
"""The line behind a whole row of ``execution_log``."""


def parts_after(conn: Connection, execution_ids: Sequence[int], after: int, limit: int) -> dict[int, LogPart]:
    """Return for each execution up to ``limit`` kept lines after line ``after``; two statements for all together."""
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
    """Return the first kept line of each execution that has any; the newest are kept, so all before it were cut."""
    statement = (
        select(log.c.execution_id, func.min(log.c.line))
        .where(log.c.execution_id.in_(execution_ids))
        .group_by(log.c.execution_id)
    )
    return {key: value for key, value in conn.execute(statement)}


def follow(conn: Connection, execution_id: int, after: int, limit: int) -> tuple[Execution | None, LogPart]:
    """Return an execution and its next lines from one snapshot: if it is over, no later lines can follow."""
    found = by_ids(conn, [execution_id]).get(execution_id)
    return found, parts_after(conn, [execution_id], after, limit)[execution_id]


def ends(conn: Connection, execution_ids: Sequence[int]) -> dict[int, LogEnd]:
    """Return how far the logs of these executions go, by one statement; those that do not exist (any more) are over."""
    last = select(func.max(log.c.line)).where(log.c.execution_id == execution.c.id).scalar_subquery()
    statement = select(execution.c.id, last.label("last"), execution.c.completed_at.is_not(None).label("over"))
    found = {
        row.id: LogEnd(row.last or 0, bool(row.over))
        for row in conn.execute(statement.where(execution.c.id.in_(execution_ids)))
    }
    return {one: found.get(one, LogEnd(0, over=True)) for one in execution_ids}


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A line in a log. Line 0 stands behind all lines of its execution, since the newest come first."""

    execution_id: int
    line: int


@dataclass(frozen=True, slots=True)
class Searched:
    """Select the executions to search: of a job, of a task, or one; those that began in a span."""

    job_name: str | None = None
    task_name: str | None = None
    execution_id: int | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Logged:
    """An execution, when it began, and how many lines of it are kept and were cut."""

    execution_id: int
    started_at: datetime
    lines: int
    cut: int


def logged(conn: Connection, searched: Searched, behind: LogPlace | None, limit: int) -> list[Logged]:
    """Return the newest executions that are looked through, of those behind a place, at most so many."""
    kept = select(func.count()).where(log.c.execution_id == execution.c.id).scalar_subquery()
    # What runs says only at its end how many lines it has.
    lines = case((execution.c.completed_at.is_(None), kept), else_=execution.c.log_lines)
    statement = select(execution.c.id, execution.c.started_at, lines.label("lines"), execution.c.log_cut)
    statement = statement.where(*_wanted(searched, behind))
    rows = conn.execute(statement.order_by(execution.c.id.desc()).limit(limit))
    return [Logged(row.id, row.started_at, row.lines, row.log_cut) for row in rows]


def _wanted(searched: Searched, behind: LogPlace | None) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if searched.job_name is not None:
        wanted.append(execution.c.job_name == searched.job_name)
    if searched.task_name is not None:
        wanted.append(execution.c.task_name == searched.task_name)
    if searched.execution_id is not None:
        wanted.append(execution.c.id == searched.execution_id)
    if searched.start is not None:
        wanted += [execution.c.started_at >= searched.start, began_after(searched.start)]
    if searched.end is not None:
        wanted += [execution.c.started_at < searched.end, began_before(searched.end)]
    if behind is not None:
        first = behind.execution_id if behind.line > 0 else behind.execution_id - 1
        wanted.append(execution.c.id <= first)
    return wanted


def holding(
    conn: Connection, text: str, execution_ids: Sequence[int], behind: LogPlace | None, limit: int
) -> list[LogLine]:
    """Return the newest lines, at most ``limit``, of these executions that hold a text in any case, behind a place."""
    fits = contains(log.c.message, text)
    if behind is not None:
        fits &= or_(log.c.execution_id < behind.execution_id, log.c.line < behind.line)
    if dialect.is_postgresql(conn):
        # Execution by execution: else the planner may walk through the whole table in the order of the key.
        rows = [(one,) for one in execution_ids]
        wanted, parameters = dialect.batch(conn, {"id": dialect.KINDS[int]}, rows, name="wanted")
        mine = select(log).where(and_(log.c.execution_id == wanted.c.id, fits)).order_by(log.c.line.desc())
        lines = mine.limit(limit).correlate(wanted).lateral("lines")
        found = select(lines).select_from(wanted.join(lines, true())).order_by(lines.c.execution_id.desc())
        statement = found.order_by(lines.c.line.desc()).limit(limit)
    else:
        parameters = {}
        mine = select(log).where(log.c.execution_id.in_(execution_ids), fits)
        statement = mine.order_by(log.c.execution_id.desc(), log.c.line.desc()).limit(limit)
    return [line_from(row) for row in conn.execute(statement, parameters)]
