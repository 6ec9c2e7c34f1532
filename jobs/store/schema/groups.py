"""Tables of what limits runs: groups, and the buckets of the rates of jobs."""

from sqlalchemy import CheckConstraint, Column, Float, Integer, Table, Text

from .parts import metadata, partial_index
from .types import JsonDocument, Name, UtcDateTime

queue_group = Table(
    "queue_group",
    metadata,
    Column("name", Name, primary_key=True),
    Column("paused_at", UtcDateTime),
    Column("paused_by", Name),
    Column("pause_reason", Text),
    Column("max_running", Integer),
    Column("max_wait_low", Float),
    Column("rate", JsonDocument),
    Column("rate_full_at", UtcDateTime),
    Column("next_token_at", UtcDateTime),
    Column("cap", JsonDocument),
    Column("keep", Float),
    CheckConstraint("max_running IS NULL OR max_running >= 0", name="max_running"),
    # Each enqueue looks here, and mostly there are none.
    partial_index("ix_queue_group_cap", "cap IS NOT NULL", "name"),
)

rate_bucket = Table(
    "rate_bucket",
    metadata,
    Column("job_name", Name, primary_key=True),
    Column("rate_key", Name, primary_key=True),
    Column("full_at", UtcDateTime, nullable=False),
    # When a token comes that a run is held back for.
    Column("next_token_at", UtcDateTime),
    partial_index("ix_rate_bucket_next_token_at", "next_token_at IS NOT NULL", "next_token_at"),
)
