"""Statements that end attempts, many at a time."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Row,
    Select,
    Subquery,
    Update,
    bindparam,
    func,
    not_,
    or_,
    select,
    text,
    update,
)

from ...core.model import Outcome
from ...core.outcome import LEFT_BEHIND
from ...core.states import RunState
from ..db import dialect
from ..db.literals import sql_literal
from ..schema.tables import job_execution as e
from ..schema.tables import run as r
from ..schema.types import UtcDateTime, to_text

_Rows: TypeAlias = Subquery | CTE


class Ending(NamedTuple):
    """The end of one attempt, as it is written into its run and its execution.

    ``cancelled``: it takes into account that the run was asked to stop; others are not written once it was.
    """

    id: int
    attempt: int
    cancelled: bool
    execution_id: int
    state: str
    failures: int
    available_at: datetime | None
    finished_at: datetime | None
    error: str | None
    value: Any
    progress: Any
    success: bool
    outcome: str
    error_type: str | None
    traceback: str | None
    records_processed: int | None
    log_lines: int
    log_cut: int


_ENDING = dialect.kinds_of(Ending)


class Before(NamedTuple):
    """A run as it was when its end was to be written, and whether that was done."""

    id: int
    state: str
    attempt: int
    node_id: int | None
    cancel_requested: bool
    ended: bool


def end_attempts(conn: Connection, node_id: int, now: datetime, endings: Sequence[Ending]) -> dict[int, Before]:
    """End running attempts of this node and complete their executions; the runs as they were, by id.

    The attempt and the node are the fence: a run that was taken from this node is not touched. The runs are locked in
    ascending order, so that two bulk actions never wait for each other.
    """
    if dialect.is_postgresql(conn):
        parameters = {"holder": node_id, "now": now, **dialect.batch_rows(_ENDING, endings, postgres=True)}
        return {row[0]: Before(*row) for row in conn.execute(_on_postgres(), parameters)}
    return _end_on_sqlite(conn, node_id, now, endings)


def note_left_behind(conn: Connection, node_id: int, execution_ids: Sequence[int], sentence: str) -> None:
    """Say of lost executions of a node that their code could not be stopped."""
    statement = (
        update(e)
        .where(e.c.id.in_(execution_ids), e.c.node_id == node_id, e.c.outcome == sql_literal(Outcome.LOST))
        .values(error_type=LEFT_BEHIND, error_message=e.c.error_message + f"; {sentence}")
    )
    conn.execute(statement)


@cache
def _on_postgres() -> Select[Any]:
    """One statement: lock the runs, end those that are still this node's, complete their executions."""
    batch = select(dialect.batch_source(_ENDING, postgres=True)).cte("endings")
    held = _held(batch).order_by(r.c.id).with_for_update().cte("held")
    # The conditions are on what was locked: on the table itself they would tempt the planner to its index of states.
    fence = _fence(batch, held.c, held.c.cancel_requested)
    ended = _end_runs(batch).where(held.c.id == batch.c.id, *fence).returning(r.c.id).cte("ended")
    closed = _close_executions(batch).where(ended.c.id == batch.c.id).returning(e.c.id).cte("closed")
    told = select(*held.c, ended.c.id.is_not(None)).select_from(held.outerjoin(ended, ended.c.id == held.c.id))
    return told.add_cte(closed)


def _end_on_sqlite(conn: Connection, node_id: int, now: datetime, endings: Sequence[Ending]) -> dict[int, Before]:
    """Its single writer needs no locks: what is read holds until it is written, row by row by its key."""
    ids = json.dumps([one.id for one in endings])
    before = {row.id: row for row in conn.execute(_HELD_ON_SQLITE, {"ids": ids})}
    ended = [one for one in endings if one.id in before and _is_open(before[one.id], one, node_id)]
    at = to_text(now)
    common = [one for one in ended if _is_common(one, now)]
    if common:
        conn.exec_driver_sql(_END_SUCCESSES, (at, json.dumps([one.id for one in common])))
        conn.exec_driver_sql(_CLOSE_SUCCESSES, (at, json.dumps([one.execution_id for one in common])))
    others = [one for one in ended if not _is_common(one, now)] if len(common) < len(ended) else []
    if others:
        conn.exec_driver_sql(_END_RUN, [_run_values(one) for one in others])
        conn.exec_driver_sql(_CLOSE_EXECUTION, [_execution_values(one, at) for one in others])
    done = {one.id for one in ended}
    return {
        row.id: Before(row.id, row.state, row.attempt, row.node_id, bool(row.cancel_requested), row.id in done)
        for row in before.values()
    }


_HELD_ON_SQLITE = text("""
    SELECT id, state, attempt, node_id, cancel_requested_at IS NOT NULL AS cancel_requested
    FROM run WHERE id IN (SELECT value FROM json_each(:ids))""")
# What most attempts end with needs no values of its own: a third of the time of a statement for each.
_END_SUCCESSES = """
    UPDATE run SET state = 'success', finished_at = ?, done_attempt = attempt, error = NULL, result = NULL
    WHERE id IN (SELECT value FROM json_each(?))"""
_CLOSE_SUCCESSES = """
    UPDATE job_execution SET completed_at = ?, success = 1, outcome = 'success'
    WHERE id IN (SELECT value FROM json_each(?))"""
_END_RUN = """
    UPDATE run SET state = ?, failures = ?, available_at = coalesce(?, available_at), finished_at = ?, done_attempt = ?,
        error = ?, result = ?, progress = coalesce(?, progress) WHERE id = ?"""
_CLOSE_EXECUTION = """
    UPDATE job_execution SET completed_at = ?, success = ?, outcome = ?, error_message = ?, error_type = ?,
        traceback = ?, records_processed = ?, value = ?, progress = coalesce(?, progress), log_lines = ?, log_cut = ?
    WHERE id = ?"""


def _is_open(stored: Row[Any], one: Ending, node_id: int) -> bool:
    is_ours = stored.node_id == node_id and stored.attempt == one.attempt
    return is_ours and stored.state == RunState.RUNNING.value and (one.cancelled or not stored.cancel_requested)


def _is_common(one: Ending, now: datetime) -> bool:
    """Whether an attempt succeeded, and nothing else is to be kept of it: neither a value nor a number nor a line."""
    return one[4:5] + one[6:] == ("success", None, now, None, None, None, True, "success", None, None, None, 0, 0)


def _run_values(one: Ending) -> tuple[Any, ...]:
    return (
        one.state,
        one.failures,
        _time(one.available_at),
        _time(one.finished_at),
        one.attempt,
        one.error,
        _document(one.value),
        _document(one.progress),
        one.id,
    )


def _execution_values(one: Ending, at: str) -> tuple[Any, ...]:
    return (
        at,
        one.success,
        one.outcome,
        one.error,
        one.error_type,
        one.traceback,
        one.records_processed,
        _document(one.value),
        _document(one.progress),
        one.log_lines,
        one.log_cut,
        one.execution_id,
    )


def _time(instant: datetime | None) -> str | None:
    return None if instant is None else to_text(instant)


def _document(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _held(batch: _Rows) -> Select[*tuple[Any, ...]]:
    asked = r.c.cancel_requested_at.is_not(None).label("cancel_requested")
    return select(r.c.id, r.c.state, r.c.attempt, r.c.node_id, asked).where(r.c.id.in_(select(batch.c.id)))


def _fence(batch: _Rows, run: Any, cancel_requested: ColumnElement[bool]) -> list[ColumnElement[bool]]:
    return [
        run.attempt == batch.c.attempt,
        run.node_id == bindparam("holder"),
        run.state == RunState.RUNNING.value,
        or_(not_(cancel_requested), batch.c.cancelled),
    ]


def _end_runs(batch: _Rows) -> Update:
    return (
        update(r)
        .where(r.c.id == batch.c.id)
        .values(
            state=batch.c.state,
            failures=batch.c.failures,
            available_at=func.coalesce(batch.c.available_at, r.c.available_at),
            finished_at=batch.c.finished_at,
            done_attempt=batch.c.attempt,
            error=batch.c.error,
            result=batch.c.value,
            progress=func.coalesce(batch.c.progress, r.c.progress),
        )
    )


def _close_executions(batch: _Rows) -> Update:
    """An attempt that runs has an open execution: whoever ended the attempt may close it without asking again."""
    written = ("success", "outcome", "error_type", "traceback", "records_processed", "value", "log_lines", "log_cut")
    return (
        update(e)
        .where(e.c.id == batch.c.execution_id)
        .values(
            {name: batch.c[name] for name in written}
            | {
                "completed_at": bindparam("now", type_=UtcDateTime()),
                "error_message": batch.c.error,
                "progress": func.coalesce(batch.c.progress, e.c.progress),
            }
        )
    )
