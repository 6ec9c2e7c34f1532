"""Due occurrences become runs, thousands in one statement: what a run copies of its task never leaves the database."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, literal, literal_column, null, select

from ...core.model import Trigger
from ...core.states import RunState
from ..db import dialect
from ..schema.tables import periodic_task as t
from ..schema.tables import run as r
from ..schema.types import UtcDateTime

REPLACED = "replaced by a newer occurrence of its task"
"""The error of a run that is cancelled as it is made."""


class Occurrence(NamedTuple):
    """A due occurrence that becomes a run.

    ``timeout``: the time box in force, in seconds. ``replaced``: a newer one has taken its place already.
    """

    task_id: int
    scheduled_for: datetime
    timeout: float | None
    exclusive: bool
    replaced: bool


_COPIED = "job_name args group_name priority retries retry_delay submitter submitter_id description signature"
"""What a run has of its task."""
_COLUMNS = {**dialect.kinds_of(Occurrence), "place": dialect.KINDS[int]}


class Made(NamedTuple):
    """A run that was made."""

    run_id: int
    task_id: int
    state: RunState


def insert_occurrences(conn: Connection, occurrences: Sequence[Occurrence], now: datetime) -> list[Made]:
    """Insert a run for each that nobody had inserted before; in the order of the runs."""
    postgres = dialect.is_postgresql(conn)
    rows = [(*one, place) for place, one in enumerate(occurrences)]
    parameters = dialect.batch_rows(_COLUMNS, rows, "due", postgres=postgres)
    found: Any = conn.execute(_inserting(postgres=postgres), {**parameters, "now": now})
    return sorted(Made(run_id, task_id, RunState(state)) for run_id, task_id, state in found)


@cache
def _inserting(*, postgres: bool) -> Any:
    due = dialect.batch_source(_COLUMNS, "due", postgres=postgres)
    now = bindparam("now", type_=UtcDateTime())
    zero: ColumnElement[int] = literal_column("0")
    made: dict[str, Any] = {
        "task_id": t.c.id,
        "task_name": t.c.name,
        **{name: t.c[name] for name in _COPIED.split()},
        "state": case((due.c.replaced, literal(RunState.CANCELLED.value)), else_=literal(RunState.WAITING.value)),
        "trigger": literal(Trigger.SCHEDULE.value),
        "scheduled_for": due.c.scheduled_for,
        "submitted_at": now,
        "available_at": now,
        "finished_at": case((due.c.replaced, now), else_=null()),
        "attempt": zero,
        "failures": zero,
        "timeout": due.c.timeout,
        "exclusive": due.c.exclusive,
        "error": case((due.c.replaced, literal(REPLACED)), else_=null()),
    }
    # SQLite needs a WHERE between a SELECT and ON CONFLICT to tell it from a join's ON.
    joined = and_(t.c.id == due.c.task_id, due.c.place.is_not(None))
    source = select(*made.values()).where(joined).order_by(due.c.place)
    statement = dialect.ignoring_conflicts(r, postgres=postgres).from_select(list(made), source)
    return statement.returning(r.c.id, r.c.task_id, r.c.state)
