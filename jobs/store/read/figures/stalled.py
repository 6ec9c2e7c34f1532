"""The tasks that should have started and did not."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, and_, literal, or_, select

from ....core.model import SkipReason, Task
from ....core.occurrences import is_stalled
from ...db import dialect
from ...db.functions import duration
from ...schema.tables import IS_OPEN
from ...schema.tables import periodic_task as t
from ...schema.tables import run as r
from ...schema.types import UtcDateTime
from ..skipped import newest_of_tasks
from ..tasks import task_from


def stalled(
    conn: Connection,
    now: datetime,
    *,
    job_name: str | None = None,
    task_name: str | None = None,
    group: str | None = None,
) -> tuple[int, ...]:
    """The keys of the tasks that should have started and did not; only those in question are read."""
    conditions = [
        t.c.enabled,
        t.c.last_due_at.is_not(None),
        or_(
            t.c.last_started_at.is_(None),
            and_(
                t.c.last_started_at < t.c.last_due_at,
                duration(t.c.last_started_at, literal(now, UtcDateTime())) > t.c.misfire_grace,
            ),
        ),
    ]
    if job_name is not None:
        conditions.append(t.c.job_name == job_name)
    if task_name is not None:
        conditions.append(t.c.name == task_name)
    if group is not None:
        conditions.append(t.c.group_name == group)
    asked = [task_from(row) for row in conn.execute(select(t).where(*conditions).order_by(t.c.id))]
    return stalled_of(conn, asked, now)


def stalled_of(conn: Connection, tasks: Collection[Task], now: datetime) -> tuple[int, ...]:
    """Which of these tasks should have started and did not, as ``is_stalled`` judges."""
    suspects = [task for task in tasks if is_stalled(task, now, owed=True)]
    if not suspects:
        return ()
    owed = _owed(conn, suspects)
    return tuple(task.id for task in suspects if task.id in owed)


def _owed(conn: Connection, tasks: Collection[Task]) -> set[int]:
    """Of which of these tasks a scheduled run has yet to begin, or what was due last was skipped for want of a node."""
    keys = [task.id for task in tasks]
    asked, parameters = dialect.batch(conn, {"task_id": dialect.KINDS[int]}, [(key,) for key in keys], name="asked")
    unbegun = (
        select(r.c.id)
        .where(r.c.task_id == asked.c.task_id, IS_OPEN, r.c.attempt == 0, r.c.scheduled_for.is_not(None))
        .exists()
    )
    waiting = set(conn.execute(select(asked.c.task_id).where(unbegun), parameters).scalars())
    newest = newest_of_tasks(conn, keys)
    return waiting | {
        task.id
        for task in tasks
        if (skip := newest.get(task.id)) is not None
        and skip.reason is SkipReason.NO_JOB
        and skip.last_scheduled_for == task.last_due_at
    }
