"""Tables of what is recorded in addition to executions: their log lines, and occurrences that did not become runs."""

from sqlalchemy import CheckConstraint, Column, Index, Integer, String, Table, Text

from ...core.model import SkipReason
from .parts import NO_REUSE, key, metadata, one_of
from .types import JsonDocument, Key, Name, UtcDateTime

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
