"""Statements on ``failure_mark``: what people say of groups of failures."""

from dataclasses import asdict
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, or_, select

from ...core.failures import FailureMark
from ..db import dialect
from ..schema.tables import failure_mark as m

KEPT = timedelta(days=90)
"""Time for which a mark is kept that says nothing any more."""
SOLVED_FOR = timedelta(days=730)
"""Time for which a group counts as solved."""


def keep(conn: Connection, mark: FailureMark) -> None:
    """Store what people say of a group, in the place of what they said before."""
    values = asdict(mark)
    conn.execute(dialect.upsert(conn, m, ["fingerprint"], [name for name in values if name != "fingerprint"]), values)


def count(conn: Connection) -> int:
    """Return the number of groups of which somebody has said anything."""
    return conn.execute(select(func.count()).select_from(m)).scalar_one()


def prune(conn: Connection, now: datetime, limit: int = 1000) -> int:
    """Delete some marks that have said nothing for long, and solutions of long ago; return how many."""
    is_quiet = or_(m.c.silenced_until.is_(None), m.c.silenced_until < now)
    is_over = or_(m.c.solved_at.is_(None), m.c.solved_at < now - SOLVED_FOR)
    old = select(m.c.fingerprint).where(is_quiet, is_over, m.c.updated_at < now - KEPT).limit(limit)
    return conn.execute(delete(m).where(m.c.fingerprint.in_(old))).rowcount
