"""Keep one row's fault its own: work that fails for many is done for halves of them, and losses are recorded."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from traceback import clear_frames
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, delete, func, select, update

from ...core.base.errors import UserError
from ...core.model import KEPT_LINES, Json, LogLevel
from ...core.states import RunState
from ...store.db import dialect
from ...store.db.faults import ErrorKind, first_line, kind_of, log_fault
from ...store.db.transaction import Tx, Wake
from ...store.schema.tables import execution_log as l
from ...store.schema.tables import job_execution as x
from ...store.schema.tables import run as r
from ...store.statements.logs import LogLine
from .changes import run_change
from .shapes import reserved_from

log = logging.getLogger(__name__)

T = TypeVar("T")

AT_END: Final = "enqueue_at_end"
ON_FAILURE: Final = "on_failure"
ON_EXPIRED: Final = "on_expired"
ON_CANCEL: Final = "on_cancel"
CLEANUP: Final = "cleanup"
CALLBACK: Final = "flow callback"
FLOW: Final = "flow"
_LONGEST: Final = 500
"""Characters of a reason that are kept."""


def in_halves(tx: Tx, items: Sequence[T], do: Callable[[Sequence[T]], object]) -> list[tuple[T, Exception]]:
    """Do something for these items in a savepoint; where that fails, for each half, until the guilty ones stand alone.

    Args:
        tx: The transaction; it goes on.
        do: Does it for some of them; it must not change anything outside the transaction.

    Returns:
        The items for which it was refused or failed, each with the reason; nothing of them was done.

    Raises:
        Exception: one that passes; the whole transaction is to be tried again.
    """
    if not items:
        return []
    try:
        with tx.savepoint():
            do(items)
    except Exception as error:
        if kind_of(error).passes:
            raise
        # SQLite keeps its lock for as long as anything holds an answer that was begun.
        clear_frames(error.__traceback__)
        half = len(items) // 2
        return [*in_halves(tx, items[:half], do), *in_halves(tx, items[half:], do)] if half else [(items[0], error)]
    return []


def append_apart(tx: Tx, lines: Sequence[LogLine]) -> None:
    """Append lines of which one may not be storable: its place in the log then says why."""
    for line, error in in_halves(tx, lines, partial(append_lines, tx)):
        why = reason_of(f"line {line.line} of the log of execution {line.execution_id} cannot be stored", error)
        append_lines(tx, [replace(line, message=f"This line could not be stored: {why}", fields=None)])


def reason_of(what: str, error: Exception) -> str:
    """Return why something was left out, in words for people; a fault is logged with the id that the words name."""
    if kind_of(error) is ErrorKind.REFUSAL:
        said = error.message if isinstance(error, UserError) else first_line(error)
        log.warning("%s: %s", what, said)
        return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
    return f"internal error, id {log_fault(log, what, error)}; the log of the node has the reason"


def note_lost(tx: Tx, run_id: int, kind: str, job_name: str | None, error: Exception) -> None:
    """Record refused or failed follow-ups of a run's end: on its row, in its log, as an event.

    Args:
        tx: The transaction in which the run ends.
        kind: The thing that was to follow, one of the words above.
        job_name: Of the run that was to be enqueued, if it was one.
        error: Why it was not.
    """
    whose = kind if job_name is None else f"{kind} (job '{job_name}')"
    why = reason_of(f"the follow-ups of run {run_id} were left out, {whose}", error)
    columns = (r.c.id, r.c.task_id, r.c.task_name, r.c.job_name, r.c.group_name, r.c.flow_id, r.c.state)
    row = tx.conn.execute(select(*columns, r.c.lost_follow_ups).where(r.c.id == run_id)).one()
    lost: dict[str, Json] = {"kind": kind, "job": job_name, "code": kind_of(error).name, "reason": why}
    listed: list[dict[str, Json]] = [*(row.lost_follow_ups or []), lost]
    tx.conn.execute(update(r).where(r.c.id == run_id).values(lost_follow_ups=listed))
    _note_in_log(tx, run_id, f"{whose} was left out: {why}")
    tx.emit([run_change(reserved_from(row), RunState(row.state))])


def _note_in_log(tx: Tx, run_id: int, message: str) -> None:
    """Append a line to the log of the newest execution of a run, if it has one."""
    newest = select(func.max(x.c.id)).where(x.c.run_id == run_id).scalar_subquery()
    noted = update(x).where(x.c.id == newest).values(log_lines=x.c.log_lines + 1)
    row = tx.conn.execute(noted.returning(x.c.id, x.c.log_lines, x.c.log_cut)).one_or_none()
    if row is not None:
        number = row.log_lines + row.log_cut
        append_lines(tx, [LogLine(row.id, number, tx.now, LogLevel.WARNING.value, message)])


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
