"""Reading the execution log row by row."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from ...core.model import Execution, Outcome, Trigger
from ..schema.tables import job_execution as e


def execution_from(row: Row[Any]) -> Execution:
    """The execution behind a whole row of ``job_execution``."""
    return Execution(
        id=row.id,
        job_name=row.job_name,
        started_at=row.started_at,
        completed_at=row.completed_at,
        success=row.success,
        error_message=row.error_message,
        records_processed=row.records_processed,
        outcome=None if row.outcome is None else Outcome(row.outcome),
        run_id=row.run_id,
        task_id=row.task_id,
        task_name=row.task_name,
        attempt=row.attempt,
        node_id=row.node_id,
        node=row.node,
        trigger=Trigger(row.trigger),
        scheduled_for=row.scheduled_for,
        submitted_at=row.submitted_at,
        error_type=row.error_type,
        traceback=row.traceback,
        value=row.value,
        progress=row.progress,
        log_lines=row.log_lines,
        log_cut=row.log_cut,
    )


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Execution]:
    """The executions of these ids that exist, by id."""
    return {row.id: execution_from(row) for row in conn.execute(select(e).where(e.c.id.in_(ids)))}


def open_of_node(conn: Connection, node_id: int) -> list[Execution]:
    """The executions that a node has begun and not ended."""
    statement = select(e).where(e.c.node_id == node_id, e.c.completed_at.is_(None)).order_by(e.c.id)
    return [execution_from(row) for row in conn.execute(statement)]
