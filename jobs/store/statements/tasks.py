"""Read and change tasks: schedules, arguments, checkpoints, sets; and the occurrences that they skipped."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from ...core.admission.caps import Rate
from ...core.model import Json, SkippedOccurrence, SkipReason, Task, TaskSource
from ..db import dialect
from ..db.unreadable import every
from ..schema.rows import (
    COLUMNS,
    NOT_PAUSED,
    WORDS,
    RowReader,
    declared_of,
    declared_values,
    reader_of,
    spec_of,
    spec_values,
)
from ..schema.tables import periodic_task as t
from ..schema.tables import skipped_occurrence as s

_OWN = tuple(field.name for field in fields(Task) if field.name not in ("spec", "declared"))


def _task_of(*values: Any) -> Task:
    (key, source, *own), decided = values[: len(_OWN)], values[len(_OWN) :]
    # By place: with names it takes twice as long.
    return Task(key, spec_of(decided), source, declared_of(decided), *own)


task_from = RowReader(_task_of, (*_OWN, *COLUMNS), {**WORDS, "source": TaskSource})
"""The task behind a whole row of ``periodic_task``."""


def by_name(conn: Connection, name: str, *, lock: bool = False) -> Task | None:
    """Return the task of this name; with ``lock`` nobody else changes or dispatches it until the transaction ends.

    Only a transaction that writes may lock.
    """
    statement = select(t).where(t.c.name == name)
    return next(iter(every(conn, statement.with_for_update() if lock else statement, t.c.id, task_from)), None)


def of_owner(conn: Connection, owner: str, *, lock: bool = False) -> list[Task]:
    """Return all tasks of an owner, by name."""
    statement = select(t).where(t.c.owner == owner).order_by(t.c.name)
    return every(conn, statement.with_for_update() if lock else statement, t.c.id, task_from)


def of_set(conn: Connection, set_name: str, *, lock: bool = True) -> list[Task]:
    """Return all tasks of a set, by name; with ``lock`` in a transaction that writes."""
    statement = select(t).where(t.c.set_name == set_name).order_by(t.c.name)
    return every(conn, statement.with_for_update() if lock else statement, t.c.id, task_from)


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Task]:
    """Return the tasks of these ids that exist, by id."""
    return {task.id: task for task in every(conn, select(t).where(t.c.id.in_(ids)), t.c.id, task_from)}


def rates_of(conn: Connection, ids: Iterable[int]) -> dict[int, Rate]:
    """Return the rates of those of these tasks that say one, by id."""
    rows = conn.execute(select(t.c.id, t.c.rate).where(t.c.id.in_(sorted(set(ids))), t.c.rate.is_not(None)))
    return {row.id: Rate.from_json(row.rate) for row in rows}


def args_and_labels_of(conn: Connection, ids: Sequence[int]) -> dict[int, tuple[dict[str, Json], dict[str, str]]]:
    """Return the arguments and the labels of these tasks, by id."""
    rows = conn.execute(select(t.c.id, t.c.args, t.c.labels).where(t.c.id.in_(ids)))
    return {row.id: (row.args, row.labels) for row in rows}


def args_of(conn: Connection, ids: Sequence[int]) -> dict[int, dict[str, Json]]:
    """Return the arguments of the tasks of these ids that exist, by id."""
    return {row.id: row.args for row in conn.execute(select(t.c.id, t.c.args).where(t.c.id.in_(ids)))}


def names_like(conn: Connection, prefix: str) -> list[str]:
    """Return some names, for a suggestion when one is not found."""
    statement = select(t.c.name).where(t.c.name.startswith(prefix[:1], autoescape=True)).order_by(t.c.name).limit(200)
    return list(conn.execute(statement).scalars())


def checkpoints(conn: Connection, task_ids: Sequence[int]) -> dict[int, Json]:
    """Return the last checkpoint of those of these tasks that have one."""
    statement = select(t.c.id, t.c.checkpoint).where(t.c.id.in_(task_ids), t.c.checkpoint.is_not(None))
    return {key: value for key, value in conn.execute(statement)}


def by_names(conn: Connection, names: Sequence[str]) -> dict[str, Task]:
    """Return the tasks of these names that exist, by name."""
    statement = select(t).where(t.c.name.in_(names))
    return {task.spec.name: task for task in every(conn, statement, t.c.id, task_from)}


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


skipped_from = reader_of(SkippedOccurrence, {"reason": SkipReason}, {"count": "occurrences"})
"""The skipped stretch behind a whole row."""


def newest_skipped(conn: Connection, task_ids: Sequence[int]) -> dict[int, SkippedOccurrence]:
    """Return the newest skipped stretch of each of these tasks that has one."""
    wanted, parameters = dialect.batch(conn, {"task_id": dialect.KINDS[int]}, [(task_id,) for task_id in task_ids])
    newest = select(func.max(s.c.id)).where(s.c.task_id == wanted.c.task_id).scalar_subquery()
    statement = select(s).where(s.c.id.in_(select(newest).select_from(wanted)))
    return dict(every(conn, statement, s.c.id, lambda row: (row.task_id, skipped_from(row)), parameters))


def skipped_by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, SkippedOccurrence]:
    """Return the skipped stretches of these ids that exist, by id."""
    statement = select(s).where(s.c.id.in_(ids))
    return {one.id: one for one in every(conn, statement, s.c.id, skipped_from)}
