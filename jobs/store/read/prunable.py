"""Which executions a pruning would delete, found without deleting anything, by the rules of ``prune``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, func, select

from ..schema.tables import job_execution as e
from ..schema.tables import periodic_task, skipped_occurrence
from ..schema.tables import run as r


@dataclass(frozen=True, slots=True)
class Walk:
    """One step of a walk over executions.

    Attributes:
        doomed: The ids to delete.
        last: The greatest id that was looked at; the next step begins after it.
        more: Whether anything old may follow.
    """

    doomed: list[int]
    last: int
    more: bool


def old_executions(conn: Connection, after: int, before: datetime, limit: int) -> Walk:
    """Among the ``limit`` executions after id ``after``: those that started and ended before ``before``.

    Ids ascend with the time of the start, so a step that finds nothing started before ``before`` is the last one:
    the young rest of the table, the largest part, is never read.
    """
    rows = conn.execute(
        select(e.c.id, e.c.task_id, e.c.started_at, e.c.completed_at)
        .where(e.c.id > after)
        .order_by(e.c.id)
        .limit(limit)
    ).all()
    if not rows:
        return Walk([], after, more=False)
    old = [row for row in rows if row.completed_at is not None and max(row.started_at, row.completed_at) < before]
    kept = kept_executions(conn, sorted({row.task_id for row in old if row.task_id is not None}))
    begun_before = any(row.started_at < before for row in rows)
    return Walk([row.id for row in old if row.id not in kept], rows[-1].id, more=begun_before and len(rows) == limit)


def kept_executions(conn: Connection, task_ids: Sequence[int]) -> set[int]:
    """Of each of these tasks that still exist: the newest execution and the newest finished one."""
    newest = select(func.max(e.c.id)).where(e.c.task_id == periodic_task.c.id)
    finished = newest.where(e.c.completed_at.is_not(None))
    statement = select(newest.scalar_subquery(), finished.scalar_subquery()).where(periodic_task.c.id.in_(task_ids))
    return {execution_id for row in conn.execute(statement) for execution_id in row if execution_id is not None}


def surplus_executions(conn: Connection, task_id: int, keep: int, limit: int) -> list[int]:
    """The oldest finished executions of a task beyond its ``keep`` newest ones (at least 1)."""
    cut = (
        select(e.c.id).where(e.c.task_id == task_id).order_by(e.c.id.desc()).offset(keep - 1).limit(1).scalar_subquery()
    )
    statement = (
        select(e.c.id)
        .where(e.c.task_id == task_id, e.c.completed_at.is_not(None), e.c.id < cut)
        .order_by(e.c.id)
        .limit(limit)
    )
    kept = kept_executions(conn, [task_id])
    return [execution_id for execution_id in conn.execute(statement).scalars() if execution_id not in kept]


def tasks_with_history(conn: Connection, after: int, limit: int) -> list[int]:
    """The ids of ``limit`` tasks after id ``after`` that have history, existing or deleted ones, ascending."""
    tables = (e, r, skipped_occurrence)
    found: list[int] = []
    while len(found) < limit:
        smallest = [
            conn.execute(select(func.min(table.c.task_id)).where(table.c.task_id > after)).scalar_one()
            for table in tables
        ]
        present = [task_id for task_id in smallest if task_id is not None]
        if not present:
            break
        after = min(present)
        found.append(after)
    return found


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
