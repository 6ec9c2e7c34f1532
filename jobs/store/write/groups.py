"""Statements on ``queue_group``: pauses and limits. A group without either needs no row."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, select, update

from ...core.admission.caps import Cap, Rate
from ...core.model import Group
from ..db import dialect
from ..read.groups import group_from
from ..schema.specs import NOT_PAUSED
from ..schema.tables import queue_group as g


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
