"""Stored schedules, and when they are due."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, select

from ...core.admission.caps import Rate
from ...core.model import Json, Task, TaskSource
from ..db.unreadable import every
from ..schema.rows import RowReader
from ..schema.specs import COLUMNS, WORDS, declared_of, spec_of
from ..schema.tables import periodic_task as t

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
