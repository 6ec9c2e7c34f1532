"""Statements on ``periodic_task``: stored schedules and when they are due."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select, update

from ...core.model import Json, MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, Task, TaskSource, TaskSpec
from ...core.schedule import Syntax
from ..db import dialect
from ..schema.tables import periodic_task as t


def spec_values(spec: TaskSpec) -> dict[str, Any]:
    """The columns that hold what a user decides."""
    return {
        "name": spec.name,
        "description": spec.description,
        "enabled": spec.enabled,
        "job_name": spec.job_name,
        "args": spec.args,
        "group_name": spec.group,
        "priority": spec.priority.value,
        "owner": spec.owner,
        "schedule_syntax": spec.schedule.syntax.value,
        "schedule_value": spec.schedule.value,
        "timezone": spec.schedule.timezone,
        "overlap": None if spec.overlap is None else spec.overlap.value,
        "misfire": spec.misfire.value,
        "misfire_grace": spec.misfire_grace,
        "catch_up_limit": spec.catch_up_limit,
        "tolerance": spec.tolerance,
        "timeout": spec.timeout,
        "retries": spec.retries,
        "retry_delay": spec.retry_delay,
        "jitter": spec.jitter,
        "start_at": spec.start_at,
        "end_at": spec.end_at,
    }


def spec_from(row: Row[Any]) -> TaskSpec:
    """What a user decided, read back."""
    return TaskSpec(
        name=row.name,
        job_name=row.job_name,
        schedule=ScheduleSpec(Syntax(row.schedule_syntax), row.schedule_value, row.timezone),
        args=row.args,
        description=row.description,
        enabled=row.enabled,
        group=row.group_name,
        priority=Priority(row.priority),
        owner=row.owner,
        overlap=None if row.overlap is None else OverlapPolicy(row.overlap),
        misfire=MisfirePolicy(row.misfire),
        misfire_grace=row.misfire_grace,
        catch_up_limit=row.catch_up_limit,
        tolerance=row.tolerance,
        timeout=row.timeout,
        retries=row.retries,
        retry_delay=row.retry_delay,
        jitter=row.jitter,
        start_at=row.start_at,
        end_at=row.end_at,
    )


def declared_values(declared: ScheduleSpec | None) -> dict[str, Any]:
    """The columns that hold the schedule declared in code."""
    return {
        "declared_syntax": declared.syntax.value if declared else None,
        "declared_value": declared.value if declared else None,
        "declared_timezone": declared.timezone if declared else None,
    }


def edited_values(task: Task) -> dict[str, Any]:
    """The columns that people's edits set, as they are."""
    return {
        **spec_values(task.spec),
        **declared_values(task.declared),
        "overridden": task.overridden,
        "signature": task.signature,
        "anchor_at": task.anchor_at,
        "next_occurrence_at": task.next_occurrence_at,
        "next_run_at": task.next_run_at,
        "paused_at": task.paused_at,
        "paused_by": task.paused_by,
        "paused_reason": task.paused_reason,
    }


def task_from(row: Row[Any]) -> Task:
    """The task behind a whole row of ``periodic_task``."""
    declared = None
    if row.declared_syntax is not None:
        declared = ScheduleSpec(Syntax(row.declared_syntax), row.declared_value, row.declared_timezone)
    return Task(
        id=row.id,
        spec=spec_from(row),
        source=TaskSource(row.source),
        declared=declared,
        overridden=row.overridden,
        submitter=row.submitter,
        checkpoint=row.checkpoint,
        anchor_at=row.anchor_at,
        next_occurrence_at=row.next_occurrence_at,
        next_run_at=row.next_run_at,
        paused_at=row.paused_at,
        paused_by=row.paused_by,
        paused_reason=row.paused_reason,
        last_due_at=row.last_due_at,
        last_started_at=row.last_started_at,
        counter=row.counter,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        signature=row.signature,
    )


def create(conn: Connection, values: Mapping[str, Any]) -> Task | None:
    """Insert a task and return it, or None if its name is taken."""
    statement = dialect.insert_or_ignore(conn, t).values(**values).returning(t)
    row = conn.execute(statement).one_or_none()
    return None if row is None else task_from(row)


def change(conn: Connection, task_id: int, values: Mapping[str, Any]) -> Task:
    """Set columns of one task and return it."""
    return task_from(conn.execute(update(t).where(t.c.id == task_id).values(**values).returning(t)).one())


def remove(conn: Connection, task_id: int) -> None:
    """Delete one task."""
    conn.execute(delete(t).where(t.c.id == task_id))


def by_name(conn: Connection, name: str, *, lock: bool = False) -> Task | None:
    """The task of this name; with ``lock`` nobody else changes or dispatches it until the transaction ends."""
    statement = select(t).where(t.c.name == name)
    row = conn.execute(statement.with_for_update() if lock else statement).one_or_none()
    return None if row is None else task_from(row)


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Task]:
    """The tasks of these ids that exist, by id."""
    return {row.id: task_from(row) for row in conn.execute(select(t).where(t.c.id.in_(ids)))}


def of_owner(conn: Connection, owner: str, *, lock: bool = False) -> list[Task]:
    """All tasks of an owner, by name."""
    statement = select(t).where(t.c.owner == owner).order_by(t.c.name)
    return [task_from(row) for row in conn.execute(statement.with_for_update() if lock else statement)]


def names_like(conn: Connection, prefix: str, limit: int = 200) -> list[str]:
    """Some names, for a suggestion when one is not found."""
    statement = select(t.c.name).where(t.c.name.startswith(prefix[:1], autoescape=True)).order_by(t.c.name).limit(limit)
    return list(conn.execute(statement).scalars())


def due(conn: Connection, now: datetime, limit: int) -> list[Task]:
    """Up to ``limit`` due tasks, the longest due first, that no other node is dispatching; locked until the commit."""
    statement = (
        select(t).where(t.c.next_run_at <= now).order_by(t.c.next_run_at).limit(limit).with_for_update(skip_locked=True)
    )
    return [task_from(row) for row in conn.execute(statement)]


def earliest_due(conn: Connection) -> datetime | None:
    """When the next task is due, or None if no task has an occurrence left."""
    # The condition is that of the index of due tasks; without it SQLite looks at every task.
    statement = select(func.min(t.c.next_run_at)).where(t.c.next_run_at.is_not(None))
    found: datetime | None = conn.execute(statement).scalar_one()
    return found


def advance(
    conn: Connection, rows: Sequence[tuple[int, datetime | None, datetime | None, datetime | None, int]]
) -> None:
    """Move tasks on: (id, next occurrence, next run, newest due occurrence or None, runs made)."""
    columns = {
        "id": dialect.KINDS[int],
        "next_occurrence_at": dialect.KINDS[datetime],
        "next_run_at": dialect.KINDS[datetime],
        "last_due_at": dialect.KINDS[datetime],
        "made": dialect.KINDS[int],
    }
    batch, parameters = dialect.batch(conn, columns, rows)
    statement = (
        update(t)
        .where(t.c.id == batch.c.id)
        .values(
            next_occurrence_at=batch.c.next_occurrence_at,
            next_run_at=batch.c.next_run_at,
            last_due_at=func.coalesce(batch.c.last_due_at, t.c.last_due_at),
            counter=t.c.counter + batch.c.made,
        )
    )
    conn.execute(statement, parameters)


def mark_started(conn: Connection, task_ids: Sequence[int], now: datetime) -> dict[int, Json]:
    """Set the last start of tasks whose schedule-made run starts for the first time; their checkpoints."""
    statement = update(t).where(t.c.id.in_(sorted(task_ids))).values(last_started_at=now)
    return {key: value for key, value in conn.execute(statement.returning(t.c.id, t.c.checkpoint))}


def save_checkpoint(conn: Connection, task_id: int, value: Json, now: datetime) -> bool:
    """Keep a job's checkpoint with its task; False if the task has been deleted."""
    statement = update(t).where(t.c.id == task_id).values(checkpoint=value, updated_at=now)
    return conn.execute(statement).rowcount == 1


def checkpoints(conn: Connection, task_ids: Sequence[int]) -> dict[int, Json]:
    """The last checkpoint of those of these tasks that have one."""
    statement = select(t.c.id, t.c.checkpoint).where(t.c.id.in_(task_ids), t.c.checkpoint.is_not(None))
    return {key: value for key, value in conn.execute(statement)}


def declared(conn: Connection) -> list[Task]:
    """All tasks declared in code, locked."""
    statement = select(t).where(t.c.source == TaskSource.CODE.value).order_by(t.c.name).with_for_update()
    return [task_from(row) for row in conn.execute(statement)]
