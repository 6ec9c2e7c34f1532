"""Statements that end attempts, many at a time."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, update

from ..core.model import Outcome
from ..core.outcome import LEFT_BEHIND
from ..core.states import RunState
from ..store.db import dialect
from ..store.db.functions import sql_literal
from ..store.schema.tables import job_execution as e
from ..store.schema.types import to_text
from .base import statements
from .base.runs import count_ends


class Ending(NamedTuple):
    """The end of one attempt, as it is written into its run and its execution.

    ``cancelled``: it takes into account that the run was asked to stop; others are not written once it was.
    ``is_common``: it succeeded, and nothing but a number is to be kept of it.
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
    awaits: Any
    wake_at: datetime | None
    value: Any
    progress: Any
    success: bool
    outcome: str
    error_type: str | None
    traceback: str | None
    records_processed: int | None
    log_lines: int
    log_cut: int
    trace_id: str | None
    is_common: bool


class Before(NamedTuple):
    """A run as it was when its end was to be written, and whether that was done."""

    id: int
    state: str
    attempt: int
    node_id: int | None
    cancel_requested: bool
    ended: bool


def end_attempts(conn: Connection, node_id: int, now: datetime, endings: Sequence[Ending]) -> dict[int, Before]:
    """End running attempts of this node and complete their executions; return the runs as they were, by id.

    The attempt and the node are the fence: a run that was taken from this node is not touched. The runs are locked in
    ascending order, so that two bulk actions never wait for each other.
    """
    if not endings:
        return {}
    if not dialect.is_postgresql(conn):
        return _end_on_sqlite(conn, node_id, now, endings)
    listed = json.dumps([one._asdict() for one in endings], default=dialect.time_text)
    asked = {"node_id": node_id, "now": now, "endings": listed}
    rows = statements.picked(conn, "end_attempts", asked, Before._fields)
    return {row[0]: Before._make(row) for row in rows}


def note_left_behind(conn: Connection, node_id: int, execution_ids: Sequence[int], sentence: str) -> None:
    """Record that the code of a node's lost executions could not be stopped."""
    statement = (
        update(e)
        .where(e.c.id.in_(execution_ids), e.c.node_id == node_id, e.c.outcome == sql_literal(Outcome.LOST))
        .values(error_type=LEFT_BEHIND, error_message=e.c.error_message + f"; {sentence}")
    )
    conn.execute(statement)


def _end_on_sqlite(conn: Connection, node_id: int, now: datetime, endings: Sequence[Ending]) -> dict[int, Before]:
    """Write row by row, by the key: with a single writer, rows that were read hold until they are written."""
    asked = {"ids": [one.id for one in endings]}
    before = {row[0]: row for row in statements.picked(conn, "attempts_to_end", asked, Before._fields[:-1])}
    ended = [one for one in endings if one.id in before and _is_open(before[one.id], one, node_id)]
    at = to_text(now)
    common = [one for one in ended if one.is_common]
    if common:
        runs = json.dumps([one.id for one in common])
        executions = json.dumps({one.execution_id: _success_of(one) for one in common})
        statements.execute_on_sqlite(conn, "end_successes", {"ids": runs, "now": at})
        statements.execute_on_sqlite(conn, "close_successes", {"executions": executions, "now": at})
    others = [_as_stored(one, at) for one in ended if not one.is_common]
    if others:
        statements.execute_on_sqlite(conn, "end_attempt", others)
        statements.execute_on_sqlite(conn, "close_execution", others)
    count_ends(conn, [one.execution_id for one in ended])
    done = {one.id for one in ended}
    return {run_id: Before._make((*row[:-1], bool(row[-1]), run_id in done)) for run_id, row in before.items()}


def _success_of(one: Ending) -> Any:
    return one.records_processed if one.trace_id is None else [one.records_processed, one.trace_id]


def _is_open(stored: Sequence[Any], one: Ending, node_id: int) -> bool:
    _, state, attempt, node, cancel_requested = stored
    is_ours = node == node_id and attempt == one.attempt
    return is_ours and state == RunState.RUNNING.value and (one.cancelled or not cancel_requested)


def _as_stored(one: Ending, at: str) -> dict[str, Any]:
    """Return the parameters of ``end_attempt`` and ``close_execution``."""
    return {
        **one._asdict(),
        "now": at,
        "available_at": _time(one.available_at),
        "finished_at": _time(one.finished_at),
        "awaits": _document(one.awaits),
        "wake_at": _time(one.wake_at),
        "value": _document(one.value),
        "progress": _document(one.progress),
    }


def _time(instant: datetime | None) -> str | None:
    return None if instant is None else to_text(instant)


def _document(value: Any) -> str | None:
    return None if value is None else json.dumps(value)
