"""Due tasks are read, and their occurrences become runs: each by one statement for thousands.

The copied values never leave the database. The statements are texts: if SQLAlchemy built them each time, that would
cost as much as their work.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, select

from ..core.admission.caps import Rate
from ..core.base.errors import UnreadableRow
from ..core.defaults import NO_DEFAULTS, JobDefaults
from ..core.model import MisfirePolicy, OverlapPolicy, ScheduleSpec
from ..core.occurrences import DueTask
from ..core.schedule import Syntax
from ..core.states import RunState
from ..store.db import dialect
from ..store.db.autocommit import PLANNED
from ..store.schema.rows import defaults_from, members
from ..store.schema.tables import periodic_task as t
from ..store.schema.types import SchemaText
from ..store.statements import jobs, tasks
from .base import statements
from .base.new_runs import index_labels

REPLACED = "replaced by a newer occurrence of its task"
"""The error of a run that is cancelled as it is made."""


class Found(NamedTuple):
    """A due task, locked until the commit.

    ``job``: the settings of its job that follow from each run's arguments; None = no node has published it. ``now``:
    the time by which it is due. ``any_cap``: whether any group at all has a cap.
    """

    task: DueTask
    job: JobDefaults | None
    now: datetime
    any_cap: bool = False


class Occurrence(NamedTuple):
    """A due occurrence that becomes a run.

    ``timeout``: the time box in force, in seconds. ``replaced``: a newer one has taken its place already.
    ``unique_key``, ``concurrency_key``, ``rate_key``, ``cap_key``, ``keeps_place``: of the run; None = it has none.
    ``labels``: the text of its labels; None = those of its task. ``ttl``: seconds in which it has to start;
    ``expires_at``: until when. ``key_until``, ``key_until_start``: how its unique key holds.
    """

    task_id: int
    scheduled_for: datetime
    timeout: float | None
    exclusive: bool
    replaced: bool
    unique_key: str | None = None
    labels: str | None = None
    concurrency_key: str | None = None
    max_concurrent: int | None = None
    rate_key: str | None = None
    ttl: float | None = None
    expires_at: datetime | None = None
    key_until: datetime | None = None
    key_until_start: bool | None = None
    cap_key: str | None = None
    keeps_place: bool | None = None


class Moved(NamedTuple):
    """Hold a task's next occurrence and run, its newest due occurrence (None = none), and the number of runs made."""

    task_id: int
    next_nominal: datetime | None
    next_execution: datetime | None
    last_due_at: datetime | None
    made: int


class Made(NamedTuple):
    """A run that was made."""

    run_id: int
    task_id: int
    state: RunState


class Written(NamedTuple):
    """``runs`` were made; ``without_event``: those of them for which there is no event yet, in their order."""

    runs: int
    without_event: list[Made]


_OVERLAPS, _MISFIRES, _STATES = members(OverlapPolicy), members(MisfirePolicy), members(RunState)
_PLAN: Final = SchemaText(f"SELECT {PLANNED}")
_OWN: Final = tuple({"group": "group_name", "schedule": "schedule_value"}.get(name, name) for name in DueTask._fields)
_SCHEDULE, _OVERLAP, _MISFIRE, _ENABLED, _RATE = map(
    DueTask._fields.index, ("schedule", "overlap", "misfire", "enabled", "rate")
)


def due(conn: Connection, now: datetime | None, limit: int) -> list[Found]:
    """Return up to ``limit`` due tasks that no other node dispatches, the longest due first; locked until the commit.

    On PostgreSQL, later statements of the transaction are planned as on an ``AutocommitConnection``.

    Args:
        now: The time that counts; None = that of the database, on PostgreSQL alone.
        limit: How many at most.
    """
    rows = statements.execute(conn, "due_tasks", {"now": now, "limit": limit})
    pick = statements.picker(tuple(rows.keys()), (*_OWN, "schedule_syntax", "timezone", "declared", "job_known"))
    every = rows.all()
    return [
        Found(
            _due_task(own, syntax, timezone),
            _declared(declared) if known else None,
            every[0].now,
            bool(every[0].any_cap),
        )
        for *own, syntax, timezone, declared, known in map(pick, every)
    ]


def unreadable_due(conn: Connection, now: datetime, limit: int) -> Iterator[tuple[int, UnreadableRow]]:
    """Yield which of the tasks that ``due`` finds cannot be read, or whose job cannot."""
    is_due = select(t.c.id, t.c.job_name).where(t.c.next_execution <= now).order_by(t.c.next_execution).limit(limit)
    for task_id, job_name in conn.execute(is_due).all():
        try:
            tasks.by_ids(conn, [task_id])
            jobs.by_names(conn, [job_name], [])
        except UnreadableRow as fault:
            yield task_id, fault


def due_ids(conn: Connection, now: datetime, limit: int) -> list[int]:
    """Lock up to ``limit`` due tasks as ``due`` does, and read no more of them than their ids."""
    statement = (
        select(t.c.id)
        .where(t.c.next_execution <= now)
        .order_by(t.c.next_execution, t.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return list(conn.execute(statement).scalars())


def plan(conn: Connection) -> None:
    """Plan the rest of the transaction as after ``due``."""
    if dialect.is_postgresql(conn):
        conn.execute(_PLAN)


def _due_task(values: list[Any], syntax: str, timezone: str) -> DueTask:
    values[_SCHEDULE] = _schedule(syntax, values[_SCHEDULE], timezone)
    values[_OVERLAP] = _OVERLAPS[values[_OVERLAP]]
    values[_MISFIRE] = _MISFIRES[values[_MISFIRE]]
    values[_ENABLED] = bool(values[_ENABLED])
    if values[_RATE] is not None:
        values[_RATE] = _rate(values[_RATE])
    return DueTask._make(values)


def _declared(stored: str | dict[str, Any] | None) -> JobDefaults:
    if stored is None:
        return NO_DEFAULTS
    return defaults_from(json.loads(stored) if isinstance(stored, str) else stored)


def _rate(stored: str | dict[str, Any]) -> Rate:
    return Rate.from_json(json.loads(stored) if isinstance(stored, str) else stored)


@lru_cache(maxsize=1024)
def _schedule(syntax: str, value: str, timezone: str) -> ScheduleSpec:
    return ScheduleSpec(Syntax(syntax), value, timezone)


class Upcoming(NamedTuple):
    """When the next task is due, the next suspended run is woken, and the next pause ends; None = not by time."""

    task_at: datetime | None
    wakes_at: datetime | None
    resumes_at: datetime | None

    @property
    def earliest(self) -> datetime | None:
        """The earliest one."""
        return min((at for at in self if at is not None), default=None)


def look_ahead(conn: Connection) -> Upcoming:
    """Return when anything but waiting runs comes due by time; one statement for all kinds."""
    row = statements.execute(conn, "look_ahead", {}).one()
    return Upcoming(row.next_execution, row.wake_at, row.resume_at)


def move(conn: Connection, moved: Sequence[Moved]) -> None:
    """Move tasks on, of which no occurrence becomes a run."""
    statements.execute(conn, "move_tasks", {"tasks": _listed(moved)})


def unfinished_counts(conn: Connection, task_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return the number of unfinished runs and the oldest of them, for each of these tasks that has any."""
    rows = statements.execute(conn, "count_unfinished", {"ids": list(task_ids)})
    return {row.task_id: (row.runs, row.oldest) for row in rows}


def write(
    conn: Connection, occurrences: Sequence[Occurrence], moved: Sequence[Moved], now: datetime, *, with_event: bool
) -> Written:
    """Insert a run for each occurrence that nobody had inserted before, and move the tasks on.

    Args:
        occurrences: The occurrences that become runs.
        moved: How their tasks go on, and others.
        now: The database's time.
        with_event: Whether all of them wait and an event may tell of them now, where that saves a statement.
    """
    parameters: dict[str, Any] = {"occurrences": _listed(occurrences), "now": now}
    if not dialect.is_postgresql(conn):
        rows = statements.execute(conn, "make_runs_of_tasks", parameters).all()
        index_labels(conn, ((row.id, json.dumps(row.labels)) for row in rows if row.labels))
        move(conn, moved)
        return _written(len(rows), rows)
    parameters |= {"tasks": _listed(moved), "with_event": with_event}
    rows = statements.execute(conn, "make_runs_of_tasks", parameters).all()
    return _written(rows[0].runs, [] if with_event else [row for row in rows if row.id is not None])


def _written(runs: int, rows: Sequence[Row[Any]]) -> Written:
    return Written(runs, sorted(Made(row.id, row.task_id, _STATES[row.state]) for row in rows))


def _all_but_task(row: Occurrence | Moved) -> tuple[object, ...]:
    """Return the parts of an occurrence or of a ``Moved`` that tasks may share."""
    return row[1:]


def _listed(rows: Sequence[Occurrence | Moved]) -> str:
    """Return rows as a JSON array: neighbours that differ only by their tasks share an object, which has its place."""
    listed: list[dict[str, Any]] = []
    for place, (_, some) in enumerate(groupby(rows, _all_but_task)):
        alike = list(some)
        listed.append({**alike[0]._asdict(), "task_ids": [one.task_id for one in alike], "place": place})
    return json.dumps(listed, default=dialect.time_text)
