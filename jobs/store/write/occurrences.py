"""Due tasks are read, and their occurrences become runs: each by one statement for thousands.

What a run copies of its task never leaves the database. The statements are texts: put together anew by SQLAlchemy they
would cost as much as what they do.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple

from sqlalchemy import Boolean, Connection, String, TextClause, TextualSelect, bindparam, column

from ...core.due import DueTask
from ...core.events import CREATED
from ...core.model import MisfirePolicy, OverlapPolicy, ScheduleSpec, Trigger
from ...core.schedule import Syntax
from ...core.states import RunState
from ..db import dialect
from ..db.autocommit import PLANNED
from ..schema.naming import SchemaText
from ..schema.rows import members
from ..schema.tables import periodic_task as t
from ..schema.types import UtcDateTime

REPLACED = "replaced by a newer occurrence of its task"
"""The error of a run that is cancelled as it is made."""


class Found(NamedTuple):
    """A due task, locked until the commit.

    ``job_known``: whether any node has published its job. ``now``: the time by which it is due.
    """

    task: DueTask
    job_known: bool
    now: datetime


class Occurrence(NamedTuple):
    """A due occurrence that becomes a run.

    ``timeout``: the time box in force, in seconds. ``replaced``: a newer one has taken its place already.
    """

    task_id: int
    scheduled_for: datetime
    timeout: float | None
    exclusive: bool
    replaced: bool


class Moved(NamedTuple):
    """How a task goes on: its next occurrence and run, the newest one that was due (None = none), runs made."""

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
    """``runs`` were made; ``without_event``: those of them of which no event tells yet, in their order."""

    runs: int
    without_event: list[Made]


_COLUMN: Final = {"group": "group_name", "schedule": "schedule_value"}
_READ: Final = [t.c[_COLUMN.get(name, name)] for name in DueTask._fields]
_LIST: Final = ", ".join(f"t.{one.name}" for one in _READ)
_PLACE: Final = {name: place for place, name in enumerate(DueTask._fields)}
_SCHEDULE, _OVERLAP, _MISFIRE = (_PLACE[name] for name in ("schedule", "overlap", "misfire"))
_OVERLAPS, _MISFIRES, _STATES = members(OverlapPolicy), members(MisfirePolicy), members(RunState)
_NOW: Final = bindparam("now", type_=UtcDateTime())


_PLAN: Final = SchemaText(f"SELECT {PLANNED}")


@cache
def _finding(*, postgres: bool) -> TextualSelect:
    now = "coalesce(CAST(:now AS timestamptz), statement_timestamp())" if postgres else ":now"
    statement = SchemaText(f"""
        SELECT {"(SELECT " + PLANNED + ")" if postgres else "NULL"} AS planned, {now} AS at,
            EXISTS (SELECT 1 FROM cronograph.job j WHERE j.name = t.job_name) AS known,
            t.schedule_syntax, t.timezone, {_LIST}
        FROM cronograph.periodic_task t WHERE t.next_execution <= {now} ORDER BY t.next_execution LIMIT :limit
        {"FOR UPDATE OF t SKIP LOCKED" if postgres else ""}""")
    planned, at, known = column("planned", String()), column("at", UtcDateTime()), column("known", Boolean())
    return statement.bindparams(_NOW).columns(planned, at, known, t.c.schedule_syntax, t.c.timezone, *_READ)


def due(conn: Connection, now: datetime | None, limit: int) -> list[Found]:
    """Up to ``limit`` due tasks, the longest due first, that no other node is dispatching; locked until the commit.

    On PostgreSQL, what follows in the transaction is planned as on an ``AutocommitConnection``.

    Args:
        conn: The transaction.
        now: The time that counts; None = that of the database, on PostgreSQL alone.
        limit: How many at most.
    """
    statement = _finding(postgres=dialect.is_postgresql(conn))
    return [_found(*row) for row in conn.execute(statement, {"now": now, "limit": limit})]


def plan(conn: Connection) -> None:
    """Have the rest of the transaction planned as after ``due``."""
    if dialect.is_postgresql(conn):
        conn.execute(_PLAN)


def _found(_planned: object, now: datetime, known: bool, syntax: str, timezone: str, *own: Any) -> Found:
    values = list(own)
    values[_SCHEDULE] = _schedule(syntax, values[_SCHEDULE], timezone)
    values[_OVERLAP], values[_MISFIRE] = _OVERLAPS[values[_OVERLAP]], _MISFIRES[values[_MISFIRE]]
    return Found(DueTask._make(values), known, now)


@lru_cache(maxsize=1024)
def _schedule(syntax: str, value: str, timezone: str) -> ScheduleSpec:
    """One for all tasks that share it."""
    return ScheduleSpec(Syntax(syntax), value, timezone)


_COPIED: Final = "job_name args group_name priority retries retry_delay submitter submitter_id description signature"
"""What a run has of its task under the same name."""
_NEW: Final = {
    "task_id": "t.id",
    "task_name": "t.name",
    **{name: f"t.{name}" for name in _COPIED.split()},
    "state": f"CASE WHEN o.replaced THEN '{RunState.CANCELLED.value}' ELSE '{RunState.WAITING.value}' END",
    "trigger": f"'{Trigger.SCHEDULE.value}'",
    "scheduled_for": "o.scheduled_for",
    "submitted_at": "m.at",
    "available_at": "m.at",
    "finished_at": "CASE WHEN o.replaced THEN m.at END",
    "attempt": "0",
    "failures": "0",
    "timeout": "o.timeout",
    "exclusive": "o.exclusive",
    "error": f"CASE WHEN o.replaced THEN '{REPLACED}' END",
}
_OCCURRENCES: Final = {**dialect.kinds_of(Occurrence), "place": dialect.KINDS[int]}
_TASKS: Final = dialect.kinds_of(Moved)
_MOVED: Final = """
    UPDATE cronograph.periodic_task AS t SET next_nominal = v.next_nominal, next_execution = v.next_execution,
        last_due_at = coalesce(v.last_due_at, t.last_due_at), counter = t.counter + v.made"""


def _made(occurrences: str) -> str:
    # SQLite needs a WHERE between a SELECT and ON CONFLICT to tell it from a join's ON.
    return f"""
    INSERT INTO cronograph.run ({", ".join(_NEW)})
    SELECT {", ".join(_NEW.values())}
    FROM {occurrences} CROSS JOIN moment m CROSS JOIN cronograph.periodic_task t WHERE t.id = o.task_id
    ORDER BY o.place ON CONFLICT DO NOTHING
    RETURNING id, task_id, state, job_name, group_name, task_name"""


def _lines(*, postgres: bool) -> tuple[str, str]:
    lines = partial(dialect.lines, postgres=postgres)
    return lines(_OCCURRENCES, "o"), f"{_MOVED} FROM {lines(_TASKS, 'v')} WHERE t.id = v.task_id"


def _on_postgres(seen: str) -> TextClause:
    runs, moving = _lines(postgres=True)
    return SchemaText(f"""
        WITH moment AS MATERIALIZED (SELECT CAST(:now AS timestamptz) AS at),
        moved AS ({moving}),
        made AS ({_made(runs)}) {seen}""").bindparams(_NOW)


def _on_sqlite() -> TextClause:
    runs, _ = _lines(postgres=False)
    return SchemaText(f"WITH moment AS MATERIALIZED (SELECT :now AS at) {_made(runs)}").bindparams(_NOW)


_WRITING: Final = _on_postgres("SELECT id, task_id, state FROM made")
# The event is that of ``actions.dispatch``.
_TELLING: Final = _on_postgres(f""",
        event_written AS (
            INSERT INTO cronograph.event (at, changes)
            SELECT m.at, jsonb_build_array(jsonb_build_object('{CREATED}', (
                SELECT jsonb_agg(jsonb_build_array(id, job_name, group_name, task_id, task_name) ORDER BY id)
                FROM made))) FROM moment m WHERE EXISTS (SELECT FROM made))
        SELECT count(*) FROM made""")
_MAKING: Final = _on_sqlite()


@cache
def _moving(*, postgres: bool) -> TextClause:
    _, moving = _lines(postgres=postgres)
    return SchemaText(moving)


def move(conn: Connection, moved: Sequence[Moved]) -> None:
    """Move tasks on, of which no occurrence becomes a run."""
    postgres = dialect.is_postgresql(conn)
    conn.execute(_moving(postgres=postgres), dialect.batch_rows(_TASKS, moved, "v", postgres=postgres))


def write(
    conn: Connection, occurrences: Sequence[Occurrence], moved: Sequence[Moved], now: datetime, *, with_event: bool
) -> Written:
    """Insert a run for each occurrence that nobody had inserted before, and move the tasks on.

    Args:
        conn: The transaction.
        occurrences: What becomes runs.
        moved: How their tasks go on, and others.
        now: The database's time.
        with_event: Whether all of them wait and an event may tell of them now, where that saves a statement.
    """
    postgres = dialect.is_postgresql(conn)
    placed = [(*one, place) for place, one in enumerate(occurrences)]
    runs = {**dialect.batch_rows(_OCCURRENCES, placed, "o", postgres=postgres), "now": now}
    if postgres:
        both = {**runs, **dialect.batch_rows(_TASKS, moved, "v", postgres=True)}
        if with_event:
            return Written(conn.execute(_TELLING, both).scalar_one(), [])
        found = conn.execute(_WRITING, both).all()
    else:
        found = conn.execute(_MAKING, runs).all()
        move(conn, moved)
    made = sorted(Made(run_id, task_id, _STATES[state]) for run_id, task_id, state, *_ in found)
    return Written(len(made), made)
