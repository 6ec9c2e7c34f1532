"""Statements on ``login_throttle``: who failed to sign in how often, and until when nobody there may try again."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from ...store.db import dialect
from ...store.schema.tables import login_throttle as t


@dataclass(frozen=True, slots=True)
class Failures:
    """Hold the failures of one subject."""

    failures: int
    last_failed_at: datetime
    blocked_until: datetime


def lock(conn: Connection, subject: str, now: datetime) -> Failures:
    """Return the failures of a subject, zeros if there are none; lock it for this transaction."""
    fresh = {"subject": subject, "failures": 0, "last_failed_at": now, "blocked_until": now}
    conn.execute(dialect.insert_or_ignore(conn, t).values(**fresh))
    row = conn.execute(select(t).where(t.c.subject == subject).with_for_update()).one()
    return Failures(row.failures, row.last_failed_at, row.blocked_until)


def keep(conn: Connection, subject: str, new: Failures) -> None:
    """Write down the failures of a subject that is locked."""
    values = {"failures": new.failures, "last_failed_at": new.last_failed_at, "blocked_until": new.blocked_until}
    conn.execute(update(t).where(t.c.subject == subject).values(**values))


def forgive(conn: Connection, subject: str) -> None:
    """Forget the failures of a subject."""
    conn.execute(delete(t).where(t.c.subject == subject))
