"""Statements on ``execution_log``: the lines of an execution."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, delete, select

from ..db import dialect
from ..read.logs import LogLine
from ..schema.tables import execution_log as l

_COLUMNS = {one.name: one.type for one in l.columns}


def append(conn: Connection, lines: Sequence[LogLine]) -> None:
    """Insert lines; those that are there already (a repeated transaction) stay."""
    rows = [(one.execution_id, one.line, one.at, one.level, one.message, one.fields, one.step) for one in lines]
    postgres = dialect.is_postgresql(conn)
    conn.execute(_appending(postgres=postgres), dialect.batch_rows(_COLUMNS, rows, postgres=postgres))


@cache
def _appending(*, postgres: bool) -> Any:
    batch = dialect.batch_source(_COLUMNS, postgres=postgres)
    # SQLite needs a WHERE between a SELECT and ON CONFLICT to tell it from a join's ON.
    source = select(batch).where(batch.c.execution_id.is_not(None))
    return dialect.ignoring_conflicts(l, postgres=postgres).from_select(list(_COLUMNS), source)


def cut(conn: Connection, execution_id: int, before: int, limit: int | None = None) -> int:
    """Delete the lines of an execution before line ``before``, the oldest ``limit`` of them; returns how many."""
    doomed = (l.c.execution_id == execution_id) & (l.c.line < before)
    if limit is not None:
        doomed &= l.c.line.in_(select(l.c.line).where(doomed).order_by(l.c.line).limit(limit))
    return conn.execute(delete(l).where(doomed)).rowcount
