"""Log lines of executions, a page of each at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, true

from ...core.model import Json
from .. import dialect
from ..tables import execution_log as log


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a job logged; ``line`` counts from 1 within its execution."""

    execution_id: int
    line: int
    at: datetime
    level: str
    message: str
    fields: Json


def line_from(row: Row[Any]) -> LogLine:
    """The line behind a whole row of ``execution_log``."""
    return LogLine(row.execution_id, row.line, row.at, row.level, row.message, row.fields)


def lines_after(conn: Connection, execution_ids: Sequence[int], after: int, limit: int) -> dict[int, list[LogLine]]:
    """For each execution, up to ``limit`` kept lines behind line number ``after``, in order."""
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
    return {one: sorted(lines, key=lambda line: line.line) for one, lines in found.items()}
