"""The tables of events, and of the answers that repeated requests get again."""

from sqlalchemy import Column, Index, Integer, String, Table

from .parts import NO_REUSE, key, metadata, partial_index
from .types import JsonDocument, Key, Name, UtcDateTime

event = Table(
    "event",
    metadata,
    key(),
    Column("seq", Key, unique=True),
    Column("at", UtcDateTime, nullable=False),
    Column("changes", JsonDocument, nullable=False),
    partial_index("ix_event_unpublished", "seq IS NULL", "id"),
    Index("ix_event_at", "at"),
    **NO_REUSE,
)

event_publisher = Table(
    "event_publisher",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("last_seq", Key, nullable=False),
)

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("key", Name, primary_key=True),
    Column("operation", String(60), nullable=False),
    Column("request_hash", String(64), nullable=False),
    Column("answer", JsonDocument, nullable=False),
    Column("created_at", UtcDateTime, nullable=False, index=True),
)
