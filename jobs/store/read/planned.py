"""Which tasks the plan of a span of time has to look at."""

from datetime import datetime

from sqlalchemy import Connection, exists, select

from ...core.model import Task
from ..schema.tables import job, periodic_task
from ..write.tasks import task_from


def candidates(conn: Connection, start: datetime, end: datetime, first: int, cap: int) -> list[Task]:
    """The tasks that can have one of the ``first`` earliest occurrences in ``start <= time < end``.

    These are the tasks due before ``start`` (their later occurrences may lie in the span) and, of those due in the
    span, the ``first`` earliest. Paused tasks and those whose job no node has published are left out.

    Args:
        conn: A connection.
        start: The beginning of the span.
        end: Its end.
        first: How many occurrences are wanted.
        cap: Most tasks of the first kind; of more, those that are due earliest count.
    """
    due = periodic_task.c.next_run_at
    alive = exists().where(job.c.name == periodic_task.c.job_name)
    active = select(periodic_task).where(periodic_task.c.enabled, alive).order_by(due, periodic_task.c.id)
    earlier = conn.execute(active.where(due < start, due < end).limit(cap))
    within = conn.execute(active.where(due >= start, due < end).limit(first))
    return [task_from(row) for rows in (earlier, within) for row in rows]
