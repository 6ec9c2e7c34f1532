"""Statements on ``queue_group``: pauses and limits. A group without either needs no row."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from ..core.model import Group
from ..core.states import UNFINISHED, RunState
from . import dialect
from .tables import queue_group as g
from .tables import run as r
from .words import words


def group_from(row: Row[Any]) -> Group:
    """The group behind a whole row."""
    return Group(row.name, row.paused_at, row.paused_by, row.pause_reason, row.max_running)


def ensure(conn: Connection, name: str) -> Group:
    """The group of this name, made if it was never named before; locked until the commit."""
    conn.execute(dialect.insert_or_ignore(conn, g).values(name=name))
    return group_from(conn.execute(select(g).where(g.c.name == name).with_for_update()).one())


def pause(conn: Connection, name: str, *, actor: str, reason: str | None, now: datetime) -> Group:
    """Mark a group as paused."""
    statement = update(g).where(g.c.name == name).values(paused_at=now, paused_by=actor, pause_reason=reason)
    return group_from(conn.execute(statement.returning(g)).one())


def resume(conn: Connection, name: str) -> Group:
    """Take a group's pause away."""
    statement = update(g).where(g.c.name == name).values(paused_at=None, paused_by=None, pause_reason=None)
    return group_from(conn.execute(statement.returning(g)).one())


def limit(conn: Connection, name: str, max_running: int | None) -> Group:
    """Set how many runs of a group may be scheduled or running on all nodes; None = no limit."""
    statement = update(g).where(g.c.name == name).values(max_running=max_running)
    return group_from(conn.execute(statement.returning(g)).one())


def settings(conn: Connection) -> dict[str, Group]:
    """All groups with a row, by name."""
    return {row.name: group_from(row) for row in conn.execute(select(g).order_by(g.c.name))}


def depths(conn: Connection) -> dict[str, dict[RunState, int]]:
    """How many unfinished runs each group has, by state."""
    statement = (
        select(r.c.group_name, r.c.state, func.count())
        .where(r.c.state.in_(words(UNFINISHED)))
        .group_by(r.c.group_name, r.c.state)
    )
    found: dict[str, dict[RunState, int]] = {}
    for name, state, count in conn.execute(statement):
        found.setdefault(name, {})[RunState(state)] = count
    return found


def oldest_waits(conn: Connection, now: datetime) -> dict[str, datetime]:
    """Since when the longest waiting due run of each group waits."""
    statement = (
        select(r.c.group_name, func.min(r.c.available_at))
        .where(r.c.state.in_(words([RunState.WAITING, RunState.STUCK])), r.c.available_at <= now)
        .group_by(r.c.group_name)
    )
    return {key: value for key, value in conn.execute(statement)}
