"""The tables of what outlives the attempts at a run: its steps, and the signals that it was sent."""

from sqlalchemy import Boolean, CheckConstraint, Column, Index, Integer, String, Table, Text

from ...core.steps import StepKind, StepState
from .parts import NO_REUSE, key, metadata, one_of, partial_index
from .types import JsonDocument, Key, Name, UtcDateTime

run_step = Table(
    "run_step",
    metadata,
    Column("run_id", Key, primary_key=True, autoincrement=False),
    Column("step", Text, primary_key=True),
    # 0 for the result, of which there is one at most; of a failure the attempt.
    Column("failure", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(8), nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("wake_at", UtcDateTime),
    Column("value", JsonDocument),
    Column("error", Text),
    Column("used", Boolean, nullable=False),
    # Of a wait for a signal: its box, whose signals it takes, what these have to be, and the one that it took.
    Column("signal", Text),
    Column("rank", Integer),
    Column("form", JsonDocument),
    Column("signal_id", Key),
    # Of a wait for other runs: the flow that they are.
    Column("flow_id", Key),
    one_of("kind", StepKind),
    one_of("state", StepState),
    CheckConstraint("(finished_at IS NULL) = (state = 'waiting')", name="finished_unless_waiting"),
    CheckConstraint("(failure > 0) = (state = 'failed')", name="failure_iff_failed"),
    # What is looked at again though nothing announced it.
    partial_index("ix_run_step_awaits_runs", "kind = 'runs' AND state = 'waiting'", "flow_id"),
)

run_awaited = Table(
    "run_awaited",
    metadata,
    # The run that waits, and its step.
    Column("run_id", Key, primary_key=True, autoincrement=False),
    Column("step", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("awaited_id", Key, nullable=False, index=True),
)
"""Runs that a step waits for though others have begun them: they have the unique key of a run that it was to begin."""

run_signal = Table(
    "run_signal",
    metadata,
    key(),
    Column("run_id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("payload", JsonDocument),
    Column("rejects", Text),
    Column("sender", Name),
    Column("rank", Integer, nullable=False),
    Column("sent_at", UtcDateTime, nullable=False),
    Index("ix_run_signal_run", "run_id", "name", "id"),
    **NO_REUSE,
)

signal_link = Table(
    "signal_link",
    metadata,
    key(),
    # SHA-256 of the token in the address.
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("run_id", Key, nullable=False, index=True),
    # Of the wait that it is for, which need not have begun.
    Column("step", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime),
    **NO_REUSE,
)
"""An address by which somebody without an account sends one signal to one wait of a run."""
