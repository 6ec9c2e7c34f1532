"""Tables of records in addition to executions: their log lines, and occurrences that did not become runs."""

from enum import StrEnum

from sqlalchemy import CheckConstraint, Column, Float, Index, Integer, String, Table, Text

from ...core.model import SkipReason
from ...core.states import UNFINISHED
from .parts import in_blocks, split
from .types import HOT, NO_REUSE, JsonDocument, Key, Name, UtcDateTime, key, metadata, one_of, partial_index

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
    **in_blocks("id"),
)
split(event)

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


queue_group = Table(
    "queue_group",
    metadata,
    Column("name", Name, primary_key=True),
    Column("paused_at", UtcDateTime),
    Column("paused_by", Name),
    Column("pause_reason", Text),
    Column("resume_at", UtcDateTime),
    Column("max_running", Integer),
    Column("max_wait_low", Float),
    Column("rate", JsonDocument),
    Column("rate_full_at", UtcDateTime),
    Column("next_token_at", UtcDateTime),
    Column("cap", JsonDocument),
    Column("keep", Float),
    CheckConstraint("max_running IS NULL OR max_running >= 0", name="max_running"),
    # Each enqueue looks here, and mostly there are none.
    partial_index("ix_queue_group_resume", "resume_at IS NOT NULL", "resume_at"),
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


run_label = Table(
    "run_label",
    metadata,
    # A row for each label of a run, and none for a run without.
    Column("key", Name, primary_key=True),
    Column("value", Name, primary_key=True),
    Column("run_id", Key, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)


execution_log = Table(
    "execution_log",
    metadata,
    Column("execution_id", Key, primary_key=True, autoincrement=False),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcDateTime, nullable=False),
    Column("level", String(10), nullable=False),
    Column("message", Text, nullable=False),
    Column("fields", JsonDocument),
    Column("step", Text),
    **in_blocks("execution_id"),
)

split(execution_log)

history_archive = Table(
    "history_archive",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    # Where it is, without anything secret.
    Column("location", Text, nullable=False),
    # What ended earlier is there.
    Column("through", UtcDateTime, nullable=False),
)

skipped_occurrence = Table(
    "skipped_occurrence",
    metadata,
    key(),
    Column("task_id", Key, nullable=False),
    Column("task_name", Name, nullable=False),
    Column("reason", String(12), nullable=False),
    Column("first_scheduled_for", UtcDateTime, nullable=False),
    Column("last_scheduled_for", UtcDateTime, nullable=False),
    Column("occurrences", Key, nullable=False),
    Column("policy", JsonDocument, nullable=False),
    Column("node", Name),
    Column("run_id", Key),
    Column("at", UtcDateTime, nullable=False),
    one_of("reason", SkipReason),
    CheckConstraint("occurrences >= 1", name="occurrences"),
    Index("ix_skipped_occurrence_task", "task_id", "id"),
    Index("ix_skipped_occurrence_at", "at"),
    **NO_REUSE,
)


class HourKind(StrEnum):
    """Name the subject of a row of ``execution_hour``: everything (with an empty name), a job, task, group or node."""

    ALL = "all"
    JOB = "job"
    TASK = "task"
    GROUP = "group"
    NODE = "node"


execution_hour = Table(
    "execution_hour",
    metadata,
    Column("kind", String(5), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("hour", UtcDateTime, primary_key=True),
    Column("executions", Key, nullable=False),
    Column("failures", Key, nullable=False),
    Column("successes", Key, nullable=False),
    Column("records", Key, nullable=False),
    one_of("kind", HourKind),
    Index("ix_execution_hour_hour", "hour"),
)

execution_minute = Table(
    "execution_minute",
    metadata,
    Column("minute", UtcDateTime, primary_key=True),
    Column("shard", Key, primary_key=True, autoincrement=False),
    Column("ended", Key, nullable=False),
    Column("failures", Key, nullable=False),
    Column("successes", Key, nullable=False),
    postgresql_with=HOT["postgresql_with"],
)
"""Counts the executions that ended in a minute, and the ends of those that began in it.

The transactions that end executions count here. Each connection to PostgreSQL has rows of its own (``shard``), so
none waits for another; they are added up when the hour is over. SQLite has one writer and one shard.
"""

queue_depth = Table(
    "queue_depth",
    metadata,
    Column("at", UtcDateTime, primary_key=True),
    Column("job_name", Name, primary_key=True),
    Column("group_name", Name, primary_key=True),
    Column("state", String(12), primary_key=True),
    Column("runs", Key, nullable=False),
    Column("oldest_at", UtcDateTime),
    one_of("state", UNFINISHED),
    Index("ix_queue_depth_job", "job_name", "at"),
    Index("ix_queue_depth_group", "group_name", "at"),
)
