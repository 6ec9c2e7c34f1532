"""Statements on ``idempotency_key``: which requests were answered, and how."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from ...core.model import Json
from ..db import dialect
from ..schema.tables import idempotency_key as k


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered under a key. ``digest`` is a hash of what was asked."""

    operation: str
    digest: str
    answer: Json


def reserve(conn: Connection, key: str, operation: str, digest: str, now: datetime) -> bool:
    """Take a key for a request; False if it is taken. Waits for a transaction that is just taking it."""
    statement = dialect.insert_or_ignore(conn, k).values(
        key=key, operation=operation, request_hash=digest, answer={}, created_at=now
    )
    return conn.execute(statement.returning(k.c.key)).first() is not None


def find(conn: Connection, key: str) -> Answered | None:
    """What was answered under a key."""
    row = conn.execute(select(k).where(k.c.key == key)).one_or_none()
    return None if row is None else Answered(row.operation, row.request_hash, row.answer)


def remember(conn: Connection, key: str, answer: Json) -> None:
    """Keep the answer to the request that took the key."""
    conn.execute(update(k).where(k.c.key == key).values(answer=answer))


def forget_older(conn: Connection, before: datetime, limit: int, key: str | None = None) -> int:
    """Free up to ``limit`` keys taken before a time, the oldest first, but those that somebody else frees now.

    ``key`` is freed in any case if it was taken before that time. Returns how many were.
    """
    over = k.c.created_at < before
    oldest = select(k.c.key).where(over).order_by(k.c.created_at).limit(limit).with_for_update(skip_locked=True)
    return conn.execute(delete(k).where(k.c.key.in_(oldest) | ((k.c.key == key) & over))).rowcount
