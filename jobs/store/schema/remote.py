"""The table of attempts that an executor has handed to an engine outside of their node."""

from sqlalchemy import CheckConstraint, Column, Integer, String, Table, Text, UniqueConstraint

from ...core.remote.attempts import EngineState
from .types import JsonDocument, Key, Name, UtcDateTime, metadata, one_of, partial_index

remote_attempt = Table(
    "remote_attempt",
    metadata,
    Column("execution_id", Key, primary_key=True, autoincrement=False),
    Column("run_id", Key, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("executor", Name, nullable=False),
    # At the engine: stored before it is submitted, so that it can be looked for there after any doubt.
    Column("name", Name, nullable=False),
    # Of the token by which its code speaks, valid until `ended_at`.
    Column("token_hash", String(64), nullable=False, unique=True),
    # The node that looks after it; null = none at this moment.
    Column("node_id", Key),
    Column("handle", Text),
    # Where a person finds it there, with `{handle}` and `{name}` in the place of these.
    Column("page", Text),
    # Through which its code speaks; null = it reaches a server.
    Column("folder", Text),
    # What it was submitted with: those of its job, its task and its run in one.
    Column("resources", JsonDocument),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("engine_state", String(8), nullable=False),
    Column("engine_text", Text, nullable=False),
    Column("engine_since", UtcDateTime, nullable=False),
    # Where it waits there among others; null = it does not, or the engine does not say.
    Column("queue_position", Integer),
    Column("queue_length", Integer),
    # What its code gets when it begins, without secrets.
    Column("begin", JsonDocument, nullable=False),
    # Which process has begun it: an engine may start one twice.
    Column("starter", String(64)),
    Column("started_at", UtcDateTime),
    Column("heard_at", UtcDateTime),
    # The number of the last message of its code, and the answer to it, if it gets one.
    Column("sequence", Integer, nullable=False),
    Column("answer", JsonDocument),
    Column("stop", String(8)),
    Column("log_lines", Integer, nullable=False),
    # The labels of results that its code asked for, and the waits that it began.
    Column("notes", JsonDocument),
    # The message that ended it, until the node has stored that end.
    Column("outcome", JsonDocument),
    Column("ended_at", UtcDateTime),
    Column("over_at", UtcDateTime),
    UniqueConstraint("run_id", "attempt"),
    one_of("engine_state", EngineState),
    CheckConstraint("over_at IS NULL OR ended_at IS NOT NULL", name="over_after_end"),
    partial_index("ix_remote_attempt_open", "over_at IS NULL", "node_id", "execution_id"),
    partial_index("ix_remote_attempt_ended", "over_at IS NULL AND ended_at IS NOT NULL", "node_id"),
)
