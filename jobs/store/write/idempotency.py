"""Statements on ``idempotency_key``: which requests were answered, and how."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select, update

from ..db import dialect
from ..schema.tables import idempotency_key as k


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered under a key. ``digest`` is a hash of the request."""

    operation: str
    digest: str
    answer: dict[str, Any]


def reserve(conn: Connection, key: str, operation: str, digest: str, now: datetime) -> bool:
    """Take a key for a request; False if it is taken. Waits for a transaction that is just taking it."""
    statement = dialect.insert_or_ignore(conn, k).values(
        key=key, operation=operation, request_hash=digest, answer={}, created_at=now
    )
    return conn.execute(statement.returning(k.c.key)).first() is not None


def find(conn: Connection, keys: Sequence[str]) -> dict[str, Answered]:
    """Return the answers under some keys, by key."""
    rows = conn.execute(select(k).where(k.c.key.in_(keys)))
    return {row.key: Answered(row.operation, row.request_hash, row.answer) for row in rows}


def remember(conn: Connection, key: str, answer: dict[str, Any]) -> None:
    """Keep the answer to the request that took the key."""
    conn.execute(update(k).where(k.c.key == key).values(answer=answer))


def forget_older(conn: Connection, before: datetime, limit: int, *keys: str) -> int:
    """Free up to ``limit`` keys taken before a time, the oldest first, but those that somebody else frees now.

    Those of ``keys`` that were taken before that time are freed in any case. Returns how many were.
    """
    over = k.c.created_at < before
    oldest = select(k.c.key).where(over).order_by(k.c.created_at).limit(limit).with_for_update(skip_locked=True)
    return conn.execute(delete(k).where(k.c.key.in_(oldest) | (k.c.key.in_(keys) & over))).rowcount
