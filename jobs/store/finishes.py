"""Statements that end attempts, many at a time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, update

from ..core.states import RunState
from . import dialect
from .tables import job_execution as e
from .tables import run as r

_RUN = {
    "id": dialect.KINDS[int],
    "attempt": dialect.KINDS[int],
    "state": dialect.KINDS[str],
    "failures": dialect.KINDS[int],
    "available_at": dialect.KINDS[datetime],
    "finished_at": dialect.KINDS[datetime],
    "error": dialect.KINDS[str],
    "result": dialect.KINDS[dict],
    "progress": dialect.KINDS[dict],
}
_EXECUTION = {
    "id": dialect.KINDS[int],
    "completed_at": dialect.KINDS[datetime],
    "success": dialect.KINDS[bool],
    "outcome": dialect.KINDS[str],
    "error_message": dialect.KINDS[str],
    "error_type": dialect.KINDS[str],
    "traceback": dialect.KINDS[str],
    "records_processed": dialect.KINDS[int],
    "value": dialect.KINDS[dict],
    "progress": dialect.KINDS[dict],
    "log_lines": dialect.KINDS[int],
    "log_cut": dialect.KINDS[int],
}


def finish_runs(conn: Connection, node_id: int, rows: Sequence[tuple[Any, ...]]) -> set[int]:
    """End the running attempts of this node (columns as in ``_RUN``); returns the ids of the runs that were changed.

    The attempt and the node are the fence: a run that was taken from this node is not touched.
    """
    batch, parameters = dialect.batch(conn, _RUN, rows)
    statement = (
        update(r)
        .where(
            r.c.id == batch.c.id,
            r.c.attempt == batch.c.attempt,
            r.c.node_id == node_id,
            r.c.state == RunState.RUNNING.value,
        )
        .values(
            state=batch.c.state,
            failures=batch.c.failures,
            available_at=func.coalesce(batch.c.available_at, r.c.available_at),
            finished_at=batch.c.finished_at,
            done_attempt=batch.c.attempt,
            error=batch.c.error,
            result=batch.c.result,
            progress=func.coalesce(batch.c.progress, r.c.progress),
        )
        .returning(r.c.id)
    )
    return set(conn.execute(statement, parameters).scalars())


def close_executions(conn: Connection, rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """Complete open executions (columns as in ``_EXECUTION``); one that is complete already stays as it is."""
    batch, parameters = dialect.batch(conn, _EXECUTION, rows)
    values = {name: batch.c[name] for name in _EXECUTION if name not in ("id", "progress")}
    statement = (
        update(e)
        .where(e.c.id == batch.c.id, e.c.completed_at.is_(None))
        .values(**values, progress=func.coalesce(batch.c.progress, e.c.progress))
        .returning(e.c.id)
    )
    return list(conn.execute(statement, parameters).scalars())
