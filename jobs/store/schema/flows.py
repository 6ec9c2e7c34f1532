"""Tables of flows: which runs belong together and in which order; and the stored form of runs that follow a flow."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Boolean, CheckConstraint, Column, Index, Integer, String, Table, Text, UniqueConstraint

from ...core.admission.holding import Hold
from ...core.defaults import FOLLOWED
from ...core.flows import FlowState, When
from ...core.model import NewRun, Priority, Trigger
from ...core.steps import StepKind, StepState
from .types import (
    NO_REUSE,
    JsonDocument,
    Key,
    Name,
    UtcDateTime,
    WrittenDocument,
    from_text,
    key,
    metadata,
    one_of,
    partial_index,
    to_text,
)

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
    Column("value", WrittenDocument),
    Column("error", Text),
    Column("used", Boolean, nullable=False),
    # Of a wait for a signal: its box, whose signals it takes, what these have to be, and the one that it took.
    Column("signal", Text),
    Column("rank", Integer),
    Column("form", JsonDocument),
    Column("signal_id", Key),
    # Of a wait for other runs: the flow that they are.
    Column("flow_id", Key),
    # The run that undoes it, once its own run has failed for good or was cancelled.
    Column("cleanup", JsonDocument),
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
    # What its page shows, and the JSON Schema of what it asks for.
    Column("page", JsonDocument),
    Column("created_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime),
    **NO_REUSE,
)
"""An address by which somebody without an account sends one signal to one wait of a run."""


flow = Table(
    "flow",
    metadata,
    key(),
    Column("name", Name, nullable=False),
    Column("state", String(12), nullable=False),
    Column("unique_key", Name),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("cancel_requested_at", UtcDateTime),
    Column("submitter", Name),
    Column("submitter_id", Key),
    Column("callbacks", JsonDocument, nullable=False),
    # The run that has begun it as a step and waits for its end.
    Column("parent_id", Key),
    # Inherited by its runs, which are found by them.
    Column("labels", JsonDocument),
    # The run of a job that enqueued it, and the task of that run; both may be deleted since.
    Column("started_by_run_id", Key),
    Column("started_by_task_id", Key),
    # Until then its runs have to have ended.
    Column("deadline_at", UtcDateTime),
    one_of("state", FlowState),
    CheckConstraint("(finished_at IS NULL) = (state = 'running')", name="finished_iff_over"),
    CheckConstraint("finished_at IS NULL OR closed_at IS NOT NULL", name="open_until_closed"),
    partial_index("uq_flow_unique_key", "unique_key IS NOT NULL AND finished_at IS NULL", "unique_key", unique=True),
    partial_index("ix_flow_running", "finished_at IS NULL", "id"),
    partial_index("ix_flow_finished", "finished_at IS NOT NULL", "finished_at"),
    Index("ix_flow_name", "name", "id"),
    partial_index("ix_flow_parent", "parent_id IS NOT NULL", "parent_id"),
    partial_index("ix_flow_started_by_run", "started_by_run_id IS NOT NULL", "started_by_run_id", "id"),
    partial_index("ix_flow_started_by_task", "started_by_task_id IS NOT NULL", "started_by_task_id", "id"),
    partial_index("ix_flow_deadline", "deadline_at IS NOT NULL AND finished_at IS NULL", "deadline_at"),
    **NO_REUSE,
)

flow_run = Table(
    "flow_run",
    metadata,
    Column("run_id", Key, primary_key=True, autoincrement=False),
    Column("flow_id", Key, nullable=False),
    Column("key", Name, nullable=False),
    Column("condition", String(8), nullable=False),
    Column("uses", JsonDocument),
    Column("chain", JsonDocument),
    UniqueConstraint("flow_id", "key"),
    one_of("condition", When),
)
"""A run of a flow.

``uses``: the keys of the results that its arguments take, and these arguments before they are filled in. ``chain``: if
it was skipped, the keys of the runs that kept it from starting, the first cause first.
"""

flow_edge = Table(
    "flow_edge",
    metadata,
    Column("run_id", Key, primary_key=True, autoincrement=False),
    Column("after_id", Key, primary_key=True, autoincrement=False),
    Index("ix_flow_edge_after", "after_id", "run_id"),
)
"""``run_id`` comes after ``after_id``."""


_FIELDS: Final = (
    "job_name", "args", "group", "retries", "retry_delay", "timeout", "max_duration", "signature", "carried",
    "submitter", "submitter_id", "description", "labels", "ttl", "unique_key",
)  # fmt: skip
_TIMES: Final = ("available_at", "expires_at")


def callback_document(run: NewRun) -> dict[str, Any]:
    """Return the stored form of all that a request can say of a run; inherited values are added when it is enqueued."""
    times: dict[str, datetime | None] = {name: getattr(run, name) for name in _TIMES}
    return {
        **{name: getattr(run, name) for name in _FIELDS},
        **{name: None if at is None else to_text(at) for name, at in times.items()},
        "priority": run.priority.value,
        "hold": None if run.hold is None else run.hold.to_json(),
        "inherits": sorted(run.inherits & FOLLOWED),
    }


def callback_from(stored: dict[str, Any], labels: dict[str, str] | None = None) -> NewRun:
    """Return the run behind the stored form, which inherits the labels of its flow."""
    hold = stored.get("hold")
    named: dict[str, Any] = {name: stored.get(name) for name in _FIELDS}
    named |= {name: from_text(stored[name]) for name in _TIMES if stored.get(name) is not None}
    return NewRun(
        **named,
        trigger=Trigger.API,
        priority=Priority(stored["priority"]),
        inherits=frozenset(stored["inherits"]),
        parent_labels=labels,
        hold=None if hold is None else Hold.from_json(hold),
    )
