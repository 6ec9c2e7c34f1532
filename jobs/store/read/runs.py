"""Runs as they are stored: by key, by task, by node."""

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, func, literal, literal_column, or_, select

from ...core.model import Priority, Run, SkipReason, Trigger
from ...core.states import OCCUPYING, RELEASING, UNFINISHED, RunState
from ..db.functions import sql_literal, sql_literals
from ..db.unreadable import every
from ..schema.rows import RowReader
from ..schema.tables import IS_OPEN
from ..schema.tables import node as n
from ..schema.tables import run as r
from ..schema.types import UtcDateTime


def select_runs() -> Select[Any]:
    """Return all columns of a run and the name of the node that holds or held it."""
    return select(r, n.c.name.label("node")).select_from(r.outerjoin(n, n.c.id == r.c.node_id))


def _run(*values: Any) -> Run:
    run = Run(*values)
    # Beyond all times while it is held back.
    return run if run.due_at is None else replace(run, available_at=run.due_at)


_COLUMNS = ["group_name" if one.name == "group" else one.name for one in fields(Run)]
_WORDS = {"state": RunState, "trigger": Trigger, "priority": Priority, "skip_reason": SkipReason}
run_from = RowReader(_run, _COLUMNS, _WORDS)
"""The run behind a row of ``select_runs``."""


DUE_TIME = func.coalesce(r.c.due_at, r.c.available_at, type_=UtcDateTime())
"""When a run is due, also while it waits for a slot or a token; as ``ix_run_available`` has it."""

HOLDING = (
    r.c.state.in_(sql_literals(UNFINISHED)),
    or_(r.c.key_until_start.is_(None), r.c.attempt == literal_column("0")),
)
"""That an unfinished run holds its unique key."""

# To put a statement of all columns together takes three times as long as to execute it.
_BY_IDS: Final = select_runs().where(r.c.id.in_(bindparam("ids", type_=r.c.id.type, expanding=True)))
_WITH_KEY: Final = select_runs().where(r.c.unique_key == bindparam("key"), *HOLDING)


def holding_for_a_time(conn: Connection, unique_key: str, now: datetime, but: int | None = None) -> Run | None:
    """Return the newest run, other than ``but``, that holds this unique key for a time that is not over."""
    released = sorted(state.value for state in RELEASING)
    statement = (
        select_runs()
        .where(r.c.unique_key == unique_key, r.c.key_until > now, r.c.state.not_in(released))
        .order_by(r.c.id.desc())
        .limit(1)
    )
    if but is not None:
        statement = statement.where(r.c.id != but)
    return next(iter(every(conn, statement, r.c.id, run_from)), None)


MOST_RETRIES: Final = 50
"""Retries of retries that are followed."""


def recovered(conn: Connection, ids: Collection[int]) -> dict[int, bool]:
    """Return the runs among these that succeeded, or of which a retry did, or a retry of that."""
    given = select(r.c.id.label("origin"), r.c.id, r.c.state, literal(0).label("depth")).where(r.c.id.in_(ids))
    again = given.cte("again", recursive=True)
    retries = select(again.c.origin, r.c.id, r.c.state, again.c.depth + 1)
    followed = again.union_all(retries.where(r.c.retried_from == again.c.id, again.c.depth < MOST_RETRIES))
    succeeded = select(followed.c.origin).where(followed.c.state == sql_literal(RunState.SUCCESS)).distinct()
    return {row.origin: True for row in conn.execute(succeeded)}


def key_until(conn: Connection, run_id: int) -> datetime | None:
    """Return the time until which a run holds its unique key, with any outcome; None = it does not."""
    found: datetime | None = conn.execute(select(r.c.key_until).where(r.c.id == run_id)).scalar()
    return found


def unfinished_with_key(conn: Connection, unique_key: str) -> Run | None:
    """Return the unfinished run that has this unique key."""
    return next(iter(every(conn, _WITH_KEY, r.c.id, run_from, {"key": unique_key})), None)


def holders_of_keys(conn: Connection, keys: Collection[str]) -> dict[str, int]:
    """Return the unfinished runs that have these unique keys, by key."""
    statement = select(r.c.unique_key, r.c.id).where(r.c.unique_key.in_(sorted(keys)), *HOLDING)
    return {row.unique_key: row.id for row in conn.execute(statement)}


def holders_for_a_time(conn: Connection, keys: Collection[str], now: datetime) -> dict[str, int]:
    """Return the newest runs that hold these unique keys for a time that is not over, by key."""
    released = sorted(state.value for state in RELEASING)
    condition = (r.c.unique_key.in_(sorted(keys)), r.c.key_until > now, r.c.state.not_in(released))
    return {row.unique_key: row.id for row in conn.execute(select(r.c.unique_key, r.c.id).where(*condition))}


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Run]:
    """Return the runs of these ids that exist, by id."""
    return {run.id: run for run in every(conn, _BY_IDS, r.c.id, run_from, {"ids": ids})}


def latest(conn: Connection, number: int) -> list[Run]:
    """Return the newest runs, the newest first."""
    return every(conn, select_runs().order_by(r.c.id.desc()).limit(number), r.c.id, run_from)


def unfinished_of_tasks(conn: Connection, task_ids: Sequence[int]) -> list[int]:
    """Return the unfinished runs of these tasks, oldest first."""
    statement = select(r.c.id).where(r.c.task_id.in_(task_ids), IS_OPEN).order_by(r.c.id)
    return list(conn.execute(statement).scalars())


def cancel_requests(conn: Connection, node_id: int) -> dict[int, str]:
    """Return the running runs of a node that were asked to stop, with the reason."""
    statement = select(r.c.id, r.c.cancel_reason).where(
        r.c.node_id == node_id, r.c.state == RunState.RUNNING.value, r.c.cancel_requested_at.is_not(None)
    )
    return {run_id: reason or "cancelled" for run_id, reason in conn.execute(statement)}


def held_by(conn: Connection, node_id: int) -> set[int]:
    """Return the ids of the runs that a node holds, scheduled and running."""
    statement = select(r.c.id).where(r.c.node_id == node_id, r.c.state.in_(sql_literals(OCCUPYING)))
    return set(conn.execute(statement).scalars())


def running_on(conn: Connection, node_ids: Sequence[int]) -> dict[int, int]:
    """Return how many runs each of these nodes executes; nodes without any are left out."""
    statement = (
        select(r.c.node_id, func.count())
        .where(
            r.c.node_id.in_(node_ids),
            r.c.state.in_(sql_literals(OCCUPYING)),
            r.c.state == sql_literal(RunState.RUNNING),
        )
        .group_by(r.c.node_id)
    )
    return {node_id: count for node_id, count in conn.execute(statement)}
