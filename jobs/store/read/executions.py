"""Reading the execution log row by row."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, select

from ...core.model import Execution, Outcome, Trigger
from ..db import dialect
from ..schema.rows import reader_of
from ..schema.tables import job_execution as e

execution_from = reader_of(Execution, {"outcome": Outcome, "trigger": Trigger})
"""The execution behind a whole row of ``job_execution``."""


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Execution]:
    """The executions of these ids that exist, by id."""
    return {row.id: execution_from(row) for row in conn.execute(select(e).where(e.c.id.in_(ids)))}


def open_of_node(conn: Connection, node_id: int) -> list[Execution]:
    """The executions that a node has begun and not ended."""
    statement = select(e).where(e.c.node_id == node_id, e.c.completed_at.is_(None)).order_by(e.c.id)
    return [execution_from(row) for row in conn.execute(statement)]


def newest_finished(conn: Connection, task_ids: Sequence[int]) -> dict[int, Execution]:
    """The newest finished execution of each of these tasks that has one, by the id of the task."""
    columns = {"task": dialect.KINDS[int]}
    owners, parameters = dialect.batch(conn, columns, [(one,) for one in task_ids], name="owners")
    one = e.alias("one")
    # Not "=", as in ``pages.pages_of``: only the index that begins with the task is to serve the order.
    mine = and_(one.c.task_id >= owners.c.task, one.c.task_id <= owners.c.task, one.c.completed_at.is_not(None))
    newest = select(one.c.id).where(mine).order_by(one.c.task_id.desc(), one.c.id.desc()).limit(1).correlate(owners)
    statement = select(e).where(e.c.id.in_(select(newest.scalar_subquery()).select_from(owners)))
    return {row.task_id: execution_from(row) for row in conn.execute(statement, parameters)}
