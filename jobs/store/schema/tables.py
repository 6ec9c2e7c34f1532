"""Every table of the database, as SQLAlchemy Core. The migrations make them; a test compares the two."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from ...core.model import MisfirePolicy, Outcome, OverlapPolicy, Priority, SkipReason, TaskSource, Trigger
from ...core.nodes import NodeState
from ...core.remote import EngineState
from ...core.schedule import Syntax
from ...core.states import CLAIMABLE, FINAL, OCCUPYING, UNFINISHED, RunState
from .accounts import (
    api_token,
    audit_head,
    audit_log,
    device_code,
    login_throttle,
    one_time_link,
    passkey,
    provider_attempt,
    provider_identity,
    refresh_token,
    saved_view,
    secret,
    session,
    user_account,
    webauthn_challenge,
)
from .delivery import (
    alarm,
    alarm_firing,
    alarm_timer,
    channel,
    consumer,
    delivery,
    failure_mark,
    hook,
    public_address,
)
from .flows import flow, flow_edge, flow_run, run_awaited, run_signal, run_step, signal_link
from .parts import Split, split
from .records import (
    event,
    event_publisher,
    execution_hour,
    execution_log,
    execution_minute,
    history_archive,
    idempotency_key,
    queue_depth,
    queue_group,
    rate_bucket,
    run_label,
    skipped_occurrence,
)
from .types import (
    AMONG_ALL,
    BY_JOB,
    HOT,
    IN_LINE,
    NO_REUSE,
    JsonDocument,
    Key,
    Name,
    Part,
    UtcDateTime,
    check,
    key,
    metadata,
    one_of,
    partial_index,
    quoted,
)

__all__ = [
    "alarm",
    "alarm_firing",
    "alarm_timer",
    "api_token",
    "audit_head",
    "audit_log",
    "channel",
    "consumer",
    "delivery",
    "device_code",
    "event",
    "event_publisher",
    "execution_hour",
    "execution_log",
    "execution_minute",
    "failure_mark",
    "flow",
    "flow_edge",
    "flow_run",
    "history_archive",
    "hook",
    "idempotency_key",
    "job",
    "job_execution",
    "login_throttle",
    "metadata",
    "node",
    "one_time_link",
    "passkey",
    "periodic_task",
    "provider_attempt",
    "provider_identity",
    "public_address",
    "queue_depth",
    "queue_group",
    "quoted",
    "rate_bucket",
    "refresh_token",
    "remote_attempt",
    "run",
    "run_awaited",
    "run_label",
    "run_signal",
    "run_step",
    "saved_view",
    "secret",
    "session",
    "signal_link",
    "skipped_occurrence",
    "user_account",
    "webauthn_challenge",
]

periodic_task = Table(
    "periodic_task",
    metadata,
    key(),
    Column("name", Name, nullable=False, unique=True),
    Column("description", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("source", String(8), nullable=False),
    Column("job_name", Name, nullable=False, index=True),
    Column("args", JsonDocument, nullable=False),
    Column("group_name", Name, nullable=False),
    Column("priority", String(8), nullable=False),
    Column("submitter", Name),
    Column("submitter_id", Key),
    Column("owner", Name, index=True),
    Column("schedule_syntax", String(12), nullable=False),
    Column("schedule_value", Text, nullable=False),
    Column("timezone", String(64), nullable=False),
    Column("declared_syntax", String(12)),
    Column("declared_value", Text),
    Column("declared_timezone", String(64)),
    Column("declared_args", JsonDocument),
    Column("inherits", JsonDocument, nullable=False),
    Column("overridden", Boolean, nullable=False),
    Column("jitter", Float, nullable=False),
    Column("start_at", UtcDateTime),
    Column("end_at", UtcDateTime),
    Column("labels", JsonDocument, nullable=False),
    Column("resources", JsonDocument),
    Column("rate", JsonDocument),
    Column("overlap", String(8)),
    Column("misfire", String(8), nullable=False),
    Column("misfire_grace", Float, nullable=False),
    Column("catch_up_limit", Integer, nullable=False),
    Column("tolerance", Float),
    Column("timeout", Float),
    Column("max_duration", Float),
    Column("retries", Integer, nullable=False),
    Column("retry_delay", Float, nullable=False),
    Column("checkpoint", JsonDocument),
    Column("anchor_at", UtcDateTime, nullable=False),
    Column("next_nominal", UtcDateTime),
    Column("next_execution", UtcDateTime),
    Column("paused_at", UtcDateTime),
    Column("paused_by", Name),
    Column("pause_reason", Text),
    # When the pause ends by itself.
    Column("resume_at", UtcDateTime),
    Column("last_due_at", UtcDateTime),
    Column("last_started_at", UtcDateTime),
    Column("counter", Key, nullable=False),
    Column("signature", String(16)),
    Column("set_name", Name),
    # Why no run could be made when it was due, and until when it was put off.
    Column("put_off", JsonDocument),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    one_of("source", TaskSource),
    one_of("priority", Priority),
    one_of("schedule_syntax", Syntax),
    one_of("overlap", OverlapPolicy, nullable=True),
    one_of("misfire", MisfirePolicy),
    CheckConstraint("(next_nominal IS NULL) = (next_execution IS NULL)", name="next_times"),
    partial_index("ix_periodic_task_set", "set_name IS NOT NULL", "set_name"),
    partial_index("ix_periodic_task_resume", "resume_at IS NOT NULL", "resume_at"),
    partial_index("ix_periodic_task_due", "next_execution IS NOT NULL", "next_execution"),
    **HOT,
)


UNUSUAL = frozenset(Outcome) - {Outcome.SUCCESS, Outcome.FAILED}
"""Outcomes that are rare in every log; for plain failures there is an index of its own."""

SELDOM = (Trigger.HOOK, Trigger.MANUAL, Trigger.RETRY)
"""Triggers that are rare in most logs."""


_CLAIMABLE = f"state IN ({quoted(CLAIMABLE)})"
_OCCUPYING = f"state IN ({quoted(OCCUPYING)})"
_UNFINISHED = f"state IN ({quoted(UNFINISHED)})"
# The same as unfinished, by a column that a start does not change: SQLite rewrites an index where a column of its
# condition has changed.
_OPEN = "finished_at IS NULL"
# Which parts of its table an index covers on PostgreSQL. An index of all open rows is the key of their part there.
_IN_OPEN = (Part.OPEN,)
_IN_DONE = (Part.DONE,)
_ON_SQLITE = ()
_LANE = ("group_name", "state", "priority", "available_at", "id")

HOLDS_KEY = "(key_until_start IS NULL OR attempt = 0)"
"""That an unfinished run holds its unique key, as the index of these keys says it."""

HAS_PLACE = f"({_OCCUPYING} OR keeps_place AND attempt > 0 AND {_OPEN})"
"""That a run counts for its concurrency key, as the index of these keys says it."""

HELD_FOR_PLACE = f"(due_at IS NOT NULL AND {_CLAIMABLE} AND (keeps_place AND attempt > 0) IS NOT TRUE)"
"""That a run is held back until its concurrency key has a slot. One that has its place waits for a token."""

run = Table(
    "run",
    metadata,
    key(),
    Column("task_id", Key),
    Column("task_name", Name),
    Column("job_name", Name, nullable=False),
    Column("args", JsonDocument, nullable=False),
    Column("group_name", Name, nullable=False),
    Column("priority", String(8), nullable=False),
    Column("state", String(12), nullable=False),
    Column("trigger", String(12), nullable=False),
    Column("scheduled_for", UtcDateTime),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("available_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("attempt", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("retries", Integer, nullable=False),
    Column("retry_delay", Float, nullable=False),
    Column("timeout", Float),
    Column("exclusive", Boolean, nullable=False),
    Column("node_id", Key),
    Column("done_attempt", Integer),
    Column("cancel_requested_at", UtcDateTime),
    Column("cancel_reason", Text),
    Column("unique_key", Name),
    Column("retried_from", Key),
    Column("progress", JsonDocument),
    Column("checkpoint", JsonDocument),
    Column("result", JsonDocument),
    Column("error", Text),
    Column("submitter", Name),
    Column("submitter_id", Key),
    Column("description", Text, nullable=False),
    Column("signature", String(16)),
    # Which versions of its job could not read its arguments (`core.base.signature.UnreadBy`).
    Column("unread_by", JsonDocument),
    Column("carried", JsonDocument),
    Column("labels", JsonDocument),
    Column("expires_at", UtcDateTime),
    Column("skip_reason", String(12)),
    # How the unique key holds, unless it does so while the run is unfinished.
    Column("key_until_start", Boolean),
    Column("key_until", UtcDateTime),
    Column("concurrency_key", Name),
    Column("max_concurrent", Integer),
    Column("rate_key", Name),
    Column("cap_key", Name),
    # Whether it counts for its concurrency key from its first start until it is finished.
    Column("keeps_place", Boolean),
    # When it would be available, while it waits for a slot or a token of its key: then no claim sees it.
    Column("due_at", UtcDateTime),
    Column("awaits", JsonDocument),
    Column("wake_at", UtcDateTime),
    Column("flow_id", Key),
    Column("max_duration", Float),
    # That long after its first start.
    Column("deadline_at", UtcDateTime),
    # What was to follow its end and was refused or failed.
    Column("lost_follow_ups", JsonDocument),
    one_of("state", RunState, parts=_ON_SQLITE),
    one_of("priority", Priority),
    one_of("trigger", Trigger),
    check(
        "skip_reason",
        f"skip_reason IS NULL OR finished_at IS NOT NULL AND skip_reason IN ({quoted(SkipReason)})",
        _IN_DONE,
    ),
    check("finished_iff_final", f"(finished_at IS NOT NULL) = (state IN ({quoted(FINAL)}))", _ON_SQLITE),
    check("occupying_has_node", f"(node_id IS NOT NULL) OR state NOT IN ({quoted(OCCUPYING)})", _IN_OPEN),
    CheckConstraint("(awaits IS NOT NULL) = (state = 'suspended')", name="suspended_iff_awaits"),
    CheckConstraint("wake_at IS NULL OR state = 'suspended'", name="only_suspended_wakes"),
    partial_index("uq_run_occurrence", "trigger = 'schedule'", "task_id", "scheduled_for", unique=True),
    partial_index(
        "uq_run_unique_key",
        f"unique_key IS NOT NULL AND {_UNFINISHED} AND {HOLDS_KEY}",
        "unique_key",
        unique=True,
        parts=_IN_OPEN,
    ),
    partial_index("ix_run_key_until", "key_until IS NOT NULL", "unique_key", "id"),
    partial_index("uq_run_exclusive", f"exclusive AND {_OCCUPYING}", "task_id", unique=True, parts=_IN_OPEN),
    partial_index(
        "ix_run_concurrent", f"concurrency_key IS NOT NULL AND {HAS_PLACE}", "concurrency_key", parts=_IN_OPEN
    ),
    partial_index(
        "ix_run_held_concurrency",
        f"due_at IS NOT NULL AND concurrency_key IS NOT NULL AND {_CLAIMABLE}",
        "concurrency_key",
        "state",
        "priority",
        "due_at",
        "id",
        parts=_IN_OPEN,
    ),
    partial_index(
        "ix_run_held_rate",
        f"due_at IS NOT NULL AND rate_key IS NOT NULL AND {_CLAIMABLE}",
        "job_name",
        "rate_key",
        "state",
        "priority",
        "due_at",
        "id",
        parts=_IN_OPEN,
    ),
    partial_index("ix_run_claimable", _CLAIMABLE, *_LANE, parts=_IN_OPEN),
    # For a queue that holds runs of jobs that a node does not know: it finds its own without looking at those.
    partial_index(
        "ix_run_claimable_job",
        f"{_CLAIMABLE} AND {BY_JOB}",
        "job_name",
        "group_name",
        "state",
        "priority",
        "available_at",
        "id",
        parts=_IN_OPEN,
    ),
    # Those that may expire: what has begun once does not.
    partial_index(
        "ix_run_expires", f"expires_at IS NOT NULL AND attempt = 0 AND {_OPEN}", "expires_at", "id", parts=_IN_OPEN
    ),
    # Those that have never begun; those of flows are not counted.
    partial_index(
        "ix_run_cap", f"cap_key IS NOT NULL AND attempt = 0 AND {_OPEN}", "job_name", "cap_key", "id", parts=_IN_OPEN
    ),
    partial_index("ix_run_stuck", "state = 'stuck'", "group_name", "available_at", "id", parts=_IN_OPEN),
    # By a column that no other change of a state touches. Which groups have suspended runs is asked by their names.
    partial_index("ix_run_wake", "wake_at IS NOT NULL", "wake_at", "id", parts=_IN_OPEN),
    partial_index("ix_run_deadline", f"deadline_at IS NOT NULL AND {_OPEN}", "deadline_at", "id", parts=_IN_OPEN),
    partial_index("ix_run_flow", "flow_id IS NOT NULL", "flow_id", "id"),
    partial_index("ix_run_flow_open", "flow_id IS NOT NULL AND finished_at IS NULL", "flow_id", parts=_ON_SQLITE),
    partial_index("ix_run_suspended", "state = 'suspended'", "group_name", "id", parts=_IN_OPEN),
    # Hardly ever any: a node looks here for what it can read and others could not.
    partial_index("ix_run_unread", f"unread_by IS NOT NULL AND {_OPEN}", "job_name", "id", parts=_IN_OPEN),
    partial_index("ix_run_available", f"{_CLAIMABLE} AND {AMONG_ALL}", IN_LINE, parts=_IN_OPEN),
    partial_index("ix_run_occupying", _OCCUPYING, "node_id", parts=_IN_OPEN),
    partial_index("ix_run_unfinished", f"task_id IS NOT NULL AND {_OPEN}", "task_id", "id", parts=_ON_SQLITE),
    partial_index("ix_run_live", f"{_OPEN} AND {AMONG_ALL}", "id", parts=_ON_SQLITE),
    partial_index("ix_run_finished", "finished_at IS NOT NULL", "finished_at", parts=_IN_DONE),
    # A run is stored three times in each index that does not leave it out (waiting, running, ended): runs without a
    # task are left out of those that are asked for tasks, and what nearly all runs become has no index of its own.
    partial_index("ix_run_task", "task_id IS NOT NULL", "task_id", "id"),
    Index("ix_run_job", "job_name", "id"),
    partial_index("ix_run_retried", "retried_from IS NOT NULL", "retried_from"),
    partial_index("ix_run_unusual", f"state IN ({quoted(FINAL - {RunState.SUCCESS})})", "state", "id", parts=_IN_DONE),
    **NO_REUSE,
    **Split(
        _OPEN,
        {Part.OPEN: f"{_UNFINISHED} AND skip_reason IS NULL", Part.DONE: f"state IN ({quoted(FINAL)})"},
        HOT["postgresql_with"],
    ).options,
)

split(run)

AMONG_ALL_RUNS = run.c.attempt >= literal_column("0")
"""``AMONG_ALL`` for statements that are put together from parts."""

IS_OPEN = run.c.finished_at.is_(None)
"""That a run is unfinished, as the indexes of unfinished runs say it."""

job_execution = Table(
    "job_execution",
    metadata,
    key(),
    Column("job_name", Name, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("completed_at", UtcDateTime),
    Column("success", Boolean),
    Column("error_message", Text),
    Column("records_processed", Key),
    Column("outcome", String(12)),
    Column("run_id", Key, nullable=False),
    Column("task_id", Key),
    Column("task_name", Name),
    Column("attempt", Integer, nullable=False),
    Column("node_id", Key, nullable=False),
    Column("node", Name, nullable=False),
    Column("trigger", String(12), nullable=False),
    Column("scheduled_for", UtcDateTime),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("error_type", String(200)),
    Column("traceback", Text),
    Column("value", JsonDocument),
    Column("progress", JsonDocument),
    Column("log_lines", Integer, nullable=False),
    Column("log_cut", Key, nullable=False),
    Column("trace_id", String(32)),
    UniqueConstraint("run_id", "attempt"),
    check("completed_iff_judged", "(completed_at IS NULL) = (success IS NULL)", _ON_SQLITE),
    check("completed_iff_outcome", "(completed_at IS NULL) = (outcome IS NULL)", _ON_SQLITE),
    check("failure_has_message", "success IS NULL OR success OR error_message IS NOT NULL", _IN_DONE),
    one_of("outcome", Outcome, nullable=True, parts=_IN_DONE),
    one_of("trigger", Trigger),
    Index("ix_job_execution_job", "job_name", "id", info={"parts": _IN_DONE}),
    partial_index("ix_job_execution_task", "task_id IS NOT NULL", "task_id", "id", parts=_IN_DONE),
    partial_index("ix_job_execution_failed", "success = false", "id", parts=_IN_DONE),
    partial_index("ix_job_execution_failed_job", "success = false", "job_name", "id", parts=_IN_DONE),
    partial_index("ix_job_execution_open", "completed_at IS NULL", "id", parts=_ON_SQLITE),
    partial_index("ix_job_execution_task_name", "task_name IS NOT NULL", "task_name", "id", parts=_IN_DONE),
    # Few rows each: what an unusual outcome or trigger is looked for by.
    partial_index("ix_job_execution_unusual", f"outcome IN ({quoted(UNUSUAL)})", "outcome", "id", parts=_IN_DONE),
    partial_index("ix_job_execution_trigger", f"trigger IN ({quoted(SELDOM)})", "trigger", "id", parts=_IN_DONE),
    # Not BRIN: once pruning has made room in old pages, each of them holds rows of all times.
    Index("ix_job_execution_started_at", "started_at", info={"parts": _IN_DONE}),
    partial_index("ix_job_execution_completed_at", "completed_at IS NOT NULL", "completed_at", parts=_IN_DONE),
    **NO_REUSE,
    **Split(
        "completed_at IS NULL",
        {Part.OPEN: "success IS NULL AND outcome IS NULL", Part.DONE: "success IS NOT NULL AND outcome IS NOT NULL"},
        HOT["postgresql_with"],
    ).options,
)

split(job_execution)

job = Table(
    "job",
    metadata,
    Column("name", Name, primary_key=True),
    Column("description", Text, nullable=False),
    Column("schedule", Text),
    Column("isolation", String(8), nullable=False),
    Column("args_schema", JsonDocument, nullable=False),
    Column("defaults", JsonDocument, nullable=False),
    Column("tags", JsonDocument, nullable=False),
    Column("signature", String(16), nullable=False),
    # Other versions that nodes have at the same time, by their signatures: schema and defaults. Usually null.
    Column("versions", JsonDocument),
    # Of an operator, instead of the one that its code says.
    Column("rate", JsonDocument),
    # How many of a node's slots a run takes.
    Column("slots", Integer, nullable=False, default=1),
)

node = Table(
    "node",
    metadata,
    key(),
    Column("name", Name, nullable=False),
    Column("state", String(12), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("thread_slots", Integer),
    Column("process_slots", Integer),
    # How many runs it hands to engines at once, besides those; null = none.
    Column("remote_slots", Integer),
    Column("running", Integer, nullable=False),
    Column("version", String(40), nullable=False),
    Column("seq", Key, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("heartbeat_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("clock_skew", Float, nullable=False),
    Column("jobs", JsonDocument, nullable=False),
    Column("signatures", JsonDocument, nullable=False),
    Column("choice", JsonDocument, nullable=False),
    Column("blockage", JsonDocument),
    Column("launcher_fault", String(500)),
    Column("stall", String(40)),
    one_of("state", NodeState),
    partial_index(
        "uq_node_live_name",
        "state IN ('active', 'draining', 'stalled', 'starting', 'stopping')",
        "name",
        unique=True,
    ),
    **NO_REUSE,
)


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
