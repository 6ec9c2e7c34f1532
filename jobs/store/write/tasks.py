"""Statements on ``periodic_task``: stored schedules and when they are due."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from ...core.model import Json, Task, TaskSource
from ..db import dialect
from ..read.tasks import task_from
from ..schema.specs import NOT_PAUSED, declared_values, spec_values
from ..schema.tables import periodic_task as t

_EDITED = (
    *("declared_args", "overridden", "signature", "anchor_at", "next_nominal", "next_execution"),
    *NOT_PAUSED,
)


def edited_values(task: Task) -> dict[str, Any]:
    """Return the columns that people's edits set, as they are."""
    return {
        **spec_values(task.spec),
        **declared_values(task.declared),
        **{name: getattr(task, name) for name in _EDITED},
    }


def create(conn: Connection, rows: Sequence[Mapping[str, Any]]) -> list[Task]:
    """Insert tasks, all with the same columns, and return those whose names were free, in their order."""
    return sorted(map(task_from, dialect.insert_rows(conn, t, rows)), key=lambda task: task.id)


def change(conn: Connection, task_id: int, values: Mapping[str, Any]) -> Task:
    """Set columns of one task and return it."""
    return task_from(conn.execute(update(t).where(t.c.id == task_id).values(**values).returning(t)).one())


def put(conn: Connection, task_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of one task, which need not be readable."""
    conn.execute(update(t).where(t.c.id == task_id).values(**values))


_LOCK_SETS = select(func.pg_advisory_xact_lock(func.hashtextextended("cronograph sets", 0)))


def lock_sets(conn: Connection) -> None:
    """Wait until nobody else applies files: nodes that start together would make the same tasks."""
    if dialect.is_postgresql(conn):
        conn.execute(_LOCK_SETS)


def put_into_sets(conn: Connection, sets: Mapping[int, str]) -> None:
    """Say of tasks, by id, to which set each belongs; a statement for each set."""
    members: dict[str, list[int]] = {}
    for task_id, name in sets.items():
        members.setdefault(name, []).append(task_id)
    for name, ids in members.items():
        conn.execute(update(t).where(t.c.id.in_(ids)).values(set_name=name))


def remove(conn: Connection, task_id: int) -> None:
    """Delete one task."""
    conn.execute(delete(t).where(t.c.id == task_id))


def mark_started(conn: Connection, task_ids: Sequence[int], now: datetime) -> None:
    """Set the last start of tasks whose schedule-made run starts for the first time."""
    conn.execute(update(t).where(t.c.id.in_(sorted(task_ids))).values(last_started_at=now))


def save_checkpoint(conn: Connection, task_id: int, value: Json, now: datetime) -> bool:
    """Keep a job's checkpoint with its task; False if the task has been deleted."""
    statement = update(t).where(t.c.id == task_id).values(checkpoint=value, updated_at=now)
    return conn.execute(statement).rowcount == 1


def declared(conn: Connection) -> list[Task]:
    """Return all tasks declared in code, locked."""
    statement = select(t).where(t.c.source == TaskSource.CODE.value).order_by(t.c.name).with_for_update()
    return [task_from(row) for row in conn.execute(statement)]


def of_jobs(conn: Connection, names: Sequence[str]) -> list[Task]:
    """Return all tasks of these jobs, locked."""
    statement = select(t).where(t.c.job_name.in_(names)).order_by(t.c.name).with_for_update()
    return [task_from(row) for row in conn.execute(statement)]
