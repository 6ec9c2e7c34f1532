"""Read and change queue groups: names, pauses, limits, and how many runs wait in each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Select,
    Subquery,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    union,
    update,
)

from ...core.admission.caps import Cap, Line, Rate
from ...core.model import DEFAULT_GROUP, Group
from ...core.states import CLAIMABLE, OCCUPYING, RunState
from ..db import dialect
from ..db.functions import sql_literal, sql_literals
from ..db.unreadable import every, readable
from ..schema.rows import NOT_PAUSED, reader_of
from ..schema.tables import AMONG_ALL_RUNS, IS_OPEN, periodic_task
from ..schema.tables import flow as f
from ..schema.tables import queue_group as g
from ..schema.tables import run as r


def _rate(stored: dict[str, Any] | None) -> Rate | None:
    return None if stored is None else Rate.from_json(stored)


def _cap(stored: dict[str, Any] | None) -> Cap | None:
    return None if stored is None else Cap.from_json(stored)


group_from = reader_of(Group, {"rate": _rate, "cap": _cap})
"""The group behind a whole row."""


def all_names() -> Subquery:
    """Return the names of all groups: of tasks, of unfinished runs, with a row of their own, and the default one.

    The queue may be long and have few groups, so its index is walked by jumps from each name to the next: its cost
    depends on the groups and not on the runs. The runs of nodes are bounded by their slots.
    """
    pending = _walk("pending", r.c.state.in_(sql_literals(CLAIMABLE)))
    suspended = _walk("suspended", r.c.state == sql_literal(RunState.SUSPENDED))
    return union(
        select(g.c.name),
        select(literal(DEFAULT_GROUP)),
        select(periodic_task.c.group_name),
        select(r.c.group_name).where(r.c.state.in_(sql_literals(OCCUPYING))),
        select(pending.c.name).where(pending.c.name.is_not(None)),
        select(suspended.c.name).where(suspended.c.name.is_not(None)),
    ).subquery("named")


def _walk(name: str, condition: ColumnElement[bool]) -> CTE:
    """Return the groups of the runs that meet a condition, one step per group along an index that begins with it."""
    # Not by ``min``, for which PostgreSQL 16 may read all of them.
    one = select(r.c.group_name).where(condition).order_by(r.c.group_name).limit(1)
    walk = select(one.scalar_subquery().label("name")).cte(name, recursive=True)
    following = one.where(r.c.group_name > walk.c.name).scalar_subquery()
    return walk.union_all(select(following).where(walk.c.name.is_not(None)))


def settings(conn: Connection) -> dict[str, Group]:
    """Return all groups with a row, by name."""
    return {group.name: group for group in readable(conn, select(g).order_by(g.c.name), g.c.name, group_from)}


def occupied_counts(conn: Connection, groups: Sequence[str]) -> dict[str, int]:
    """Return how many runs of these groups are scheduled or running, on all nodes."""
    statement = (
        select(r.c.group_name, func.count())
        .where(r.c.group_name.in_(groups), r.c.state.in_(sql_literals(OCCUPYING)))
        .group_by(r.c.group_name)
    )
    return {key: value for key, value in conn.execute(statement)}


def by_names(conn: Connection, names: Sequence[str]) -> dict[str, Group]:
    """Return the pauses and limits of those of these groups that have any, by name."""
    return {group.name: group for group in every(conn, select(g).where(g.c.name.in_(names)), g.c.name, group_from)}


def caps(conn: Connection, names: Collection[str]) -> dict[str, Cap]:
    """Return how many runs may wait in those of these groups that have a cap, by name."""
    return {row.name: Cap.from_json(row.cap) for row in conn.execute(_CAPS, {"names": sorted(names)})}


# Runs are enqueued one by one, too: a statement that stands is put together once.
_CAPS: Final = select(g.c.name, g.c.cap).where(g.c.cap.is_not(None), g.c.name.in_(bindparam("names", expanding=True)))


UNBEGUN_STATES: Final = (RunState.WAITING, RunState.SCHEDULED)
"""States in which a run waits; that it has never begun, its attempts tell."""


def unbegun(but: Collection[int] = ()) -> list[ColumnElement[bool]]:
    """Return the conditions of a run, none of ``but``, that never began and was not enqueued with a whole flow."""
    without = [r.c.id.not_in(but)] if but else []
    of_step = exists().where(f.c.id == r.c.flow_id, f.c.parent_id.is_not(None))
    alone = or_(r.c.flow_id.is_(None), of_step)
    return [r.c.attempt == literal_column("0"), alone, IS_OPEN, *without]


def of_line(statement: Select[Any], line: Line, but: Collection[int] = ()) -> list[Select[Any]]:
    """Return a statement on the runs that wait in a line; for a group two of them, each with an index of its own."""
    statement = statement.where(*unbegun(but))
    if line.job_name is not None:
        own = (r.c.job_name == line.job_name, r.c.cap_key == line.name, r.c.state.in_(sql_literals(UNBEGUN_STATES)))
        return [statement.where(*own)]
    return [statement.where(r.c.group_name == line.name, r.c.state == sql_literal(state)) for state in UNBEGUN_STATES]


def waiting_in(conn: Connection, line: Line, most: int) -> int:
    """Return how many runs wait in a line, counted up to a limit."""
    found = (some.limit(most).subquery() for some in of_line(select(r.c.id), line))
    return sum(conn.execute(select(func.count()).select_from(some)).scalar_one() for some in found)


@dataclass(frozen=True, slots=True)
class Depth:
    """Count the unfinished runs of a group by state; say for how many seconds its oldest due run has waited."""

    states: Mapping[RunState, int]
    oldest_wait: float | None


def depths(conn: Connection, names: Sequence[str], now: datetime) -> dict[str, Depth]:
    """Return the depth of each of these groups."""
    counted = (
        select(r.c.group_name, r.c.state, func.count())
        # By the index of what is open: there is none of these states, and the others are most of the table.
        .where(r.c.group_name.in_(names), IS_OPEN, AMONG_ALL_RUNS)
        .group_by(r.c.group_name, r.c.state)
    )
    waiting = (
        select(r.c.group_name, func.min(r.c.available_at))
        .where(r.c.group_name.in_(names), r.c.state.in_(sql_literals(CLAIMABLE)), r.c.available_at <= now)
        .group_by(r.c.group_name)
    )
    states: dict[str, dict[RunState, int]] = {name: {} for name in names}
    for name, state, count in conn.execute(counted):
        states[name][RunState(state)] = count
    waits = {name: (now - since).total_seconds() for name, since in conn.execute(waiting)}
    return {name: Depth(states[name], waits.get(name)) for name in names}


def hold(conn: Connection, names: Sequence[str]) -> None:
    """Lock those of these groups that exist, in one order."""
    if names:
        conn.execute(select(g.c.name).where(g.c.name.in_(names)).order_by(g.c.name).with_for_update()).all()


def ensure(conn: Connection, name: str) -> Group:
    """Return the group of this name, made if it was never named before; locked until the commit."""
    conn.execute(dialect.insert_or_ignore(conn, g).values(name=name))
    return group_from(conn.execute(select(g).where(g.c.name == name).with_for_update()).one())


def locked(conn: Connection, name: str) -> Group:
    """Return the group of this name, locked until the commit; one without pause and limits if it has no row."""
    row = conn.execute(select(g).where(g.c.name == name).with_for_update()).one_or_none()
    return Group(name) if row is None else group_from(row)


def pause(
    conn: Connection, name: str, *, actor: str, reason: str | None, now: datetime, until: datetime | None
) -> Group:
    """Mark a group as paused since ``now``, until a time or until it is resumed."""
    values = {"paused_at": now, "paused_by": actor, "pause_reason": reason, "resume_at": until}
    statement = update(g).where(g.c.name == name).values(**values)
    return group_from(conn.execute(statement.returning(g)).one())


def resume(conn: Connection, name: str) -> Group:
    """Take a group's pause away."""
    statement = update(g).where(g.c.name == name).values(**NOT_PAUSED)
    return group_from(conn.execute(statement.returning(g)).one())


def limit(conn: Connection, name: str, max_running: int | None) -> Group:
    """Set how many runs of a group may be scheduled or running on all nodes; None = no limit."""
    statement = update(g).where(g.c.name == name).values(max_running=max_running)
    return group_from(conn.execute(statement.returning(g)).one())


def set_max_wait_low(conn: Connection, name: str, seconds: float | None) -> Group:
    """Set how long runs of low priority wait at most behind those of high priority; None = as the scheme has it."""
    statement = update(g).where(g.c.name == name).values(max_wait_low=seconds)
    return group_from(conn.execute(statement.returning(g)).one())


def set_cap(conn: Connection, name: str, cap: Cap | None) -> Group:
    """Set how many runs of a group may wait; None = any number."""
    statement = update(g).where(g.c.name == name).values(cap=None if cap is None else cap.to_json())
    return group_from(conn.execute(statement.returning(g)).one())


def set_keep(conn: Connection, name: str, seconds: float | None) -> Group:
    """Set how long the history of a group's runs is kept; None = as their jobs say."""
    statement = update(g).where(g.c.name == name).values(keep=seconds)
    return group_from(conn.execute(statement.returning(g)).one())


def set_rate(conn: Connection, name: str, rate: Rate | None, full_at: datetime | None) -> Group:
    """Set how many runs of a group start in how long, None = any number, and when its bucket is full again."""
    values = {"rate": None if rate is None else rate.to_json(), "rate_full_at": full_at, "next_token_at": None}
    return group_from(conn.execute(update(g).where(g.c.name == name).values(**values).returning(g)).one())
