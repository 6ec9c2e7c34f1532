"""Which executions a pruning would delete, found without deleting anything, by the rules of ``prune``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, select

from ..schema.tables import job_execution as e
from ..write.prune import kept_executions, old_executions, tasks_with_history

BATCH: Final = 500
MOST: Final = 10_000
"""So many executions are looked at, unless said."""
MOST_TASKS: Final = 500
"""Of so many tasks the surplus is looked for."""


@dataclass(frozen=True, slots=True)
class Prunable:
    """What would go.

    Attributes:
        executions: The executions, oldest first.
        complete: False: there is more than was looked at, and more may go.
    """

    executions: list[int]
    complete: bool


def prunable(conn: Connection, before: datetime, keep: int | None, *, most: int = MOST) -> Prunable:
    """Look for the executions that a pruning would delete; bounded work, however long the log is.

    Args:
        conn: A connection.
        before: What ended earlier goes.
        keep: Of each task only so many executions stay (at least 1); None = any number.
        most: So many executions are looked at because of their age, and so many because of their number.
    """
    doomed, complete = _old(conn, before, most)
    if keep is not None:
        surplus, all_surplus = _surplus(conn, doomed, keep, most)
        doomed, complete = doomed | surplus, complete and all_surplus
    return Prunable(sorted(doomed), complete)


def _old(conn: Connection, before: datetime, most: int) -> tuple[set[int], bool]:
    """Those beyond the age, and whether these are all of them."""
    doomed: set[int] = set()
    after, looked_at, more = 0, 0, True
    while more and looked_at < most:
        size = min(BATCH, most - looked_at)
        step = old_executions(conn, after, before, size)
        doomed.update(step.doomed)
        after, more, looked_at = step.last, step.more, looked_at + size
    return doomed, not more


def _surplus(conn: Connection, gone: set[int], keep: int, most: int) -> tuple[set[int], bool]:
    """Those beyond the number once ``gone`` are deleted, and whether these are all of them."""
    tasks = tasks_with_history(conn, 0, MOST_TASKS + 1)
    doomed: set[int] = set()
    room = most
    for task_id in tasks[:MOST_TASKS]:
        newest = select(e.c.id, e.c.completed_at).where(e.c.task_id == task_id).order_by(e.c.id.desc()).limit(room + 1)
        rows = conn.execute(newest).all()
        kept = kept_executions(conn, [task_id])
        left = [row for row in rows[:room] if row.id not in gone]
        doomed.update(row.id for row in left[keep:] if row.completed_at is not None and row.id not in kept)
        if len(rows) > room:
            return doomed, False
        room -= len(rows)
    return doomed, len(tasks) <= MOST_TASKS
