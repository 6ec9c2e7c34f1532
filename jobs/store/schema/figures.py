"""Tables of counts over time."""

from enum import StrEnum

from sqlalchemy import Column, Index, String, Table

from ...core.states import UNFINISHED
from .types import HOT, Key, Name, UtcDateTime, metadata, one_of


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
