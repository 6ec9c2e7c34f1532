"""Keeping the log lines of executions, bounded."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, delete, select

from ...core.model import KEPT_LINES
from ...store.db import dialect
from ...store.db.transaction import Tx, Wake
from ...store.read.logs import LogLine
from ...store.schema.tables import execution_log as l

_COLUMNS = {one.name: one.type for one in l.columns}


def append_lines(tx: Tx, lines: Sequence[LogLine], *, cut_at_most: int | None = None) -> None:
    """Store lines of any executions, in order, and cut those beyond the bound. Repeating it changes nothing.

    ``cut_at_most`` limits the lines that are cut of one execution, so that the transaction stays short; the rest is cut
    by later ones, at last by ``cut_lines``.
    """
    _append(tx.conn, lines)
    newest = {one.execution_id: one.line for one in lines}
    for execution_id, line in newest.items():
        if line > KEPT_LINES:
            _cut(tx.conn, execution_id, line - KEPT_LINES + 1, cut_at_most)
    tx.wake(Wake.LOGS)


def cut_lines(tx: Tx, execution_id: int, written: int, limit: int) -> bool:
    """Cut up to ``limit`` lines beyond the bound of an execution with ``written`` lines; return whether more remain."""
    before = written - KEPT_LINES + 1
    return before > 1 and _cut(tx.conn, execution_id, before, limit) == limit


def _append(conn: Connection, lines: Sequence[LogLine]) -> None:
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


def _cut(conn: Connection, execution_id: int, before: int, limit: int | None = None) -> int:
    """Delete the lines of an execution before line ``before``, the oldest ``limit`` of them; returns how many."""
    doomed = (l.c.execution_id == execution_id) & (l.c.line < before)
    if limit is not None:
        doomed &= l.c.line.in_(select(l.c.line).where(doomed).order_by(l.c.line).limit(limit))
    return conn.execute(delete(l).where(doomed)).rowcount
