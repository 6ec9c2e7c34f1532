"""Every table of the database, as SQLAlchemy Core. The migrations make them; a test compares the two."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from ..core.model import MisfirePolicy, NodeState, Outcome, OverlapPolicy, Priority, SkipReason, TaskSource, Trigger
from ..core.schedule import Syntax
from ..core.states import CLAIMABLE, FINAL, OCCUPYING, UNFINISHED, RunState
from .types import JsonDocument, Key, UtcDateTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def quoted(values: Iterable[StrEnum]) -> str:
    """``'a', 'b'``: the values of an enumeration for an IN list, sorted so that the text is always the same."""
    return ", ".join(f"'{value}'" for value in sorted(value.value for value in values))


def _one_of(column: str, values: Iterable[StrEnum], *, nullable: bool = False) -> CheckConstraint:
    condition = f"{column} IN ({quoted(values)})"
    return CheckConstraint(f"{column} IS NULL OR {condition}" if nullable else condition, name=column)


def _key() -> Column[int]:
    return Column("id", Key, primary_key=True, autoincrement=True)


# Keys are never used twice: the log keeps the ids of what was deleted.
_NO_REUSE: dict[str, Any] = {"sqlite_autoincrement": True}
# Hot tables: room for updates in place, and a vacuum that comes early.
_HOT: dict[str, Any] = {
    **_NO_REUSE,
    "postgresql_with": {
        "fillfactor": 70,
        "autovacuum_vacuum_scale_factor": 0.02,
        "autovacuum_vacuum_cost_delay": 0,
        "autovacuum_analyze_scale_factor": 0.05,
    },
}

periodic_task = Table(
    "periodic_task",
    metadata,
    _key(),
    Column("name", String(200), nullable=False, unique=True),
    Column("description", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("source", String(8), nullable=False),
    Column("job_name", String(200), nullable=False, index=True),
    Column("args", JsonDocument, nullable=False),
    Column("group_name", String(200), nullable=False),
    Column("priority", String(8), nullable=False),
    Column("submitter", String(200)),
    Column("owner", String(200), index=True),
    Column("schedule_syntax", String(12), nullable=False),
    Column("schedule_value", Text, nullable=False),
    Column("timezone", String(64), nullable=False),
    Column("declared_syntax", String(12)),
    Column("declared_value", Text),
    Column("declared_timezone", String(64)),
    Column("overridden", Boolean, nullable=False),
    Column("jitter", Float, nullable=False),
    Column("start_at", UtcDateTime),
    Column("end_at", UtcDateTime),
    Column("overlap", String(8)),
    Column("misfire", String(8), nullable=False),
    Column("misfire_grace", Float, nullable=False),
    Column("catch_up_limit", Integer, nullable=False),
    Column("tolerance", Float),
    Column("timeout", Float),
    Column("retries", Integer, nullable=False),
    Column("retry_delay", Float, nullable=False),
    Column("checkpoint", JsonDocument),
    Column("anchor_at", UtcDateTime, nullable=False),
    Column("next_occurrence_at", UtcDateTime),
    Column("next_run_at", UtcDateTime),
    Column("paused_at", UtcDateTime),
    Column("paused_by", String(200)),
    Column("paused_reason", Text),
    Column("last_due_at", UtcDateTime),
    Column("last_started_at", UtcDateTime),
    Column("counter", Key, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    _one_of("source", TaskSource),
    _one_of("priority", Priority),
    _one_of("schedule_syntax", Syntax),
    _one_of("overlap", OverlapPolicy, nullable=True),
    _one_of("misfire", MisfirePolicy),
    CheckConstraint("(next_occurrence_at IS NULL) = (next_run_at IS NULL)", name="next_times"),
    Index(
        "ix_periodic_task_due",
        "next_run_at",
        sqlite_where=text("next_run_at IS NOT NULL"),
        postgresql_where=text("next_run_at IS NOT NULL"),
    ),
    **_HOT,
)


def _partial(name: str, condition: str, *columns: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=text(condition), postgresql_where=text(condition))


_CLAIMABLE = f"state IN ({quoted(CLAIMABLE)})"
_OCCUPYING = f"state IN ({quoted(OCCUPYING)})"
_UNFINISHED = f"state IN ({quoted(UNFINISHED)})"

run = Table(
    "run",
    metadata,
    _key(),
    Column("task_id", Key),
    Column("task_name", String(200)),
    Column("job_name", String(200), nullable=False),
    Column("args", JsonDocument, nullable=False),
    Column("group_name", String(200), nullable=False),
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
    Column("unique_key", String(200)),
    Column("retried_from", Key),
    Column("progress", JsonDocument),
    Column("result", JsonDocument),
    Column("error", Text),
    Column("submitter", String(200)),
    Column("description", Text, nullable=False),
    _one_of("state", RunState),
    _one_of("priority", Priority),
    _one_of("trigger", Trigger),
    CheckConstraint(f"(finished_at IS NOT NULL) = (state IN ({quoted(FINAL)}))", name="finished_iff_final"),
    CheckConstraint(f"(node_id IS NOT NULL) OR state NOT IN ({quoted(OCCUPYING)})", name="occupying_has_node"),
    _partial("uq_run_occurrence", "trigger = 'schedule'", "task_id", "scheduled_for", unique=True),
    _partial("uq_run_unique_key", f"unique_key IS NOT NULL AND {_UNFINISHED}", "unique_key", unique=True),
    _partial("uq_run_exclusive", f"exclusive AND {_OCCUPYING}", "task_id", unique=True),
    _partial("ix_run_claimable", _CLAIMABLE, "group_name", "state", "priority", "available_at", "id"),
    _partial("ix_run_stuck", "state = 'stuck'", "group_name", "available_at", "id"),
    _partial("ix_run_available", _CLAIMABLE, "available_at"),
    _partial("ix_run_occupying", _OCCUPYING, "node_id"),
    _partial("ix_run_unfinished", _UNFINISHED, "task_id", "id"),
    _partial("ix_run_live", _UNFINISHED, "id"),
    _partial("ix_run_finished", "finished_at IS NOT NULL", "finished_at"),
    Index("ix_run_task", "task_id", "id"),
    Index("ix_run_job", "job_name", "id"),
    Index("ix_run_state", "state", "id"),
    **_HOT,
)

job_execution = Table(
    "job_execution",
    metadata,
    _key(),
    Column("job_name", String(200), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("completed_at", UtcDateTime),
    Column("success", Boolean),
    Column("error_message", Text),
    Column("records_processed", Key),
    Column("outcome", String(12)),
    Column("run_id", Key, nullable=False),
    Column("task_id", Key),
    Column("task_name", String(200)),
    Column("attempt", Integer, nullable=False),
    Column("node_id", Key, nullable=False),
    Column("node", String(200), nullable=False),
    Column("trigger", String(12), nullable=False),
    Column("scheduled_for", UtcDateTime),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("error_type", String(200)),
    Column("traceback", Text),
    Column("value", JsonDocument),
    Column("progress", JsonDocument),
    Column("log_lines", Integer, nullable=False),
    Column("log_cut", Key, nullable=False),
    UniqueConstraint("run_id", "attempt"),
    CheckConstraint("(completed_at IS NULL) = (success IS NULL)", name="completed_iff_judged"),
    CheckConstraint("(completed_at IS NULL) = (outcome IS NULL)", name="completed_iff_outcome"),
    CheckConstraint("success IS NULL OR success OR error_message IS NOT NULL", name="failure_has_message"),
    _one_of("outcome", Outcome, nullable=True),
    _one_of("trigger", Trigger),
    Index("ix_job_execution_job", "job_name", "id"),
    Index("ix_job_execution_task", "task_id", "id"),
    _partial("ix_job_execution_failed", "success = false", "id"),
    _partial("ix_job_execution_failed_job", "success = false", "job_name", "id"),
    _partial("ix_job_execution_open", "completed_at IS NULL", "node_id"),
    Index("ix_job_execution_started_at", "started_at", postgresql_using="brin"),
    **_NO_REUSE,
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
)

skipped_occurrence = Table(
    "skipped_occurrence",
    metadata,
    _key(),
    Column("task_id", Key, nullable=False),
    Column("task_name", String(200), nullable=False),
    Column("reason", String(12), nullable=False),
    Column("first_scheduled_for", UtcDateTime, nullable=False),
    Column("last_scheduled_for", UtcDateTime, nullable=False),
    Column("count", Key, nullable=False),
    Column("policy", JsonDocument, nullable=False),
    Column("node", String(200)),
    Column("run_id", Key),
    Column("at", UtcDateTime, nullable=False),
    _one_of("reason", SkipReason),
    CheckConstraint("count >= 1", name="count"),
    Index("ix_skipped_occurrence_task", "task_id", "id"),
    Index("ix_skipped_occurrence_at", "at"),
    **_NO_REUSE,
)

queue_group = Table(
    "queue_group",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("paused_at", UtcDateTime),
    Column("paused_by", String(200)),
    Column("pause_reason", Text),
    Column("max_running", Integer),
    CheckConstraint("max_running IS NULL OR max_running >= 0", name="max_running"),
)

job = Table(
    "job",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("description", Text, nullable=False),
    Column("schedule", Text),
    Column("isolation", String(8), nullable=False),
    Column("args_schema", JsonDocument, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
)

node = Table(
    "node",
    metadata,
    _key(),
    Column("name", String(200), nullable=False),
    Column("state", String(12), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("running", Integer, nullable=False),
    Column("version", String(40), nullable=False),
    Column("seq", Key, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("heartbeat_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("clock_skew", Float, nullable=False),
    Column("jobs", JsonDocument, nullable=False),
    _one_of("state", NodeState),
    _partial("uq_node_live_name", "state IN ('active', 'draining', 'starting')", "name", unique=True),
    **_NO_REUSE,
)

event = Table(
    "event",
    metadata,
    _key(),
    Column("seq", Key, unique=True),
    Column("at", UtcDateTime, nullable=False),
    Column("changes", JsonDocument, nullable=False),
    _partial("ix_event_unpublished", "seq IS NULL", "id"),
    Index("ix_event_at", "at"),
    **_NO_REUSE,
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
    Column("key", String(200), primary_key=True),
    Column("operation", String(60), nullable=False),
    Column("request_hash", String(64), nullable=False),
    Column("answer", JsonDocument, nullable=False),
    Column("created_at", UtcDateTime, nullable=False, index=True),
)

# Sign-in. The tables exist from the first day so that the cleanups clean something real.
user_account = Table(
    "user_account",
    metadata,
    _key(),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(12), nullable=False),
    Column("password_hash", Text),
    Column("disabled_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    CheckConstraint("role IN ('viewer', 'operator', 'admin')", name="role"),
    **_NO_REUSE,
)


def _user() -> Column[int]:
    return Column("user_id", Key, ForeignKey("user_account.id", ondelete="CASCADE"), index=True)


session = Table(
    "session",
    metadata,
    _key(),
    Column("token_hash", String(64), nullable=False, unique=True),
    _user(),
    Column("kind", String(8), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_seen_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    CheckConstraint("kind IN ('browser', 'cli')", name="kind"),
    **_NO_REUSE,
)

refresh_token = Table(
    "refresh_token",
    metadata,
    _key(),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("family", String(64), nullable=False, index=True),
    _user(),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime, index=True),
    **_NO_REUSE,
)

webauthn_challenge = Table(
    "webauthn_challenge",
    metadata,
    _key(),
    Column("challenge_hash", String(64), nullable=False, unique=True),
    _user(),
    Column("purpose", String(12), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("consumed_at", UtcDateTime, index=True),
    CheckConstraint("purpose IN ('register', 'sign_in')", name="purpose"),
    **_NO_REUSE,
)

device_code = Table(
    "device_code",
    metadata,
    _key(),
    Column("device_code_hash", String(64), nullable=False, unique=True),
    Column("user_code", String(16), nullable=False, unique=True),
    _user(),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("approved_at", UtcDateTime),
    Column("denied_at", UtcDateTime),
    Column("consumed_at", UtcDateTime, index=True),
    **_NO_REUSE,
)

audit_log = Table(
    "audit_log",
    metadata,
    _key(),
    Column("at", UtcDateTime, nullable=False, index=True),
    Column("actor", String(200), nullable=False),
    Column("action", String(60), nullable=False),
    Column("subject", String(200)),
    Column("before", JsonDocument),
    Column("after", JsonDocument),
    **_NO_REUSE,
)
