"""The first schema.

Frozen: a later change of the schema is a revision of its own, which imports nothing of the product.
"""

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = BigInteger().with_variant(Integer(), "sqlite")
TIME = String(27).with_variant(TIMESTAMP(timezone=True), "postgresql")
NAME = String(200).with_variant(String(200, collation="C"), "postgresql")
DOCUMENT = JSON().with_variant(JSONB(), "postgresql")
FIRST = {"id": 1, "last_seq": 0}
# Hot tables: room for updates in place, and a vacuum that comes early.
HOT = {
    "fillfactor": 70,
    "autovacuum_vacuum_scale_factor": 0.02,
    "autovacuum_vacuum_cost_delay": 0,
    "autovacuum_analyze_scale_factor": 0.05,
}


def upgrade() -> None:
    """Make every table."""
    for make in MAKERS:
        make()
    # The publisher of events counts from here; there is never a second row.
    columns = Column("id", Integer), Column("last_seq", BigInteger)
    op.bulk_insert(Table("event_publisher", MetaData(), *columns), [FIRST])


def _audit_head() -> None:
    op.create_table(
        "audit_head",
        Column("id", Integer(), autoincrement=False, nullable=False),
        Column("last_id", KEY, nullable=False),
        Column("last_hash", String(64), nullable=False),
        Column("pruned_id", KEY, nullable=False),
        Column("pruned_hash", String(64), nullable=False),
        PrimaryKeyConstraint("id", name="pk_audit_head"),
    )


def _audit_log() -> None:
    op.create_table(
        "audit_log",
        Column("id", KEY, autoincrement=False, nullable=False),
        Column("at", TIME, nullable=False),
        Column("actor", NAME, nullable=False),
        Column("actor_id", KEY),
        Column("address", String(60)),
        Column("action", String(60), nullable=False),
        Column("subject", String(400)),
        Column("before", Text()),
        Column("after", Text()),
        Column("hash", String(64), nullable=False),
        PrimaryKeyConstraint("id", name="pk_audit_log"),
    )


def _audit_log_indexes() -> None:
    op.create_index("ix_audit_log_action", "audit_log", ["action"])
    op.create_index("ix_audit_log_actor_id", "audit_log", ["actor_id"])
    op.create_index("ix_audit_log_at", "audit_log", ["at"])


def _event() -> None:
    op.create_table(
        "event",
        Column("id", KEY, nullable=False),
        Column("seq", KEY),
        Column("at", TIME, nullable=False),
        Column("changes", DOCUMENT, nullable=False),
        PrimaryKeyConstraint("id", name="pk_event"),
        UniqueConstraint("seq", name="uq_event_seq"),
        sqlite_autoincrement=True,
    )


def _event_indexes() -> None:
    op.create_index("ix_event_at", "event", ["at"])
    _partial("ix_event_unpublished", "event", ["id"], "seq IS NULL")


def _event_publisher() -> None:
    op.create_table(
        "event_publisher",
        Column("id", Integer(), autoincrement=False, nullable=False),
        Column("last_seq", KEY, nullable=False),
        PrimaryKeyConstraint("id", name="pk_event_publisher"),
    )


def _execution_hour() -> None:
    op.create_table(
        "execution_hour",
        Column("kind", String(5), nullable=False),
        Column("name", NAME, nullable=False),
        Column("hour", TIME, nullable=False),
        Column("executions", KEY, nullable=False),
        Column("failures", KEY, nullable=False),
        Column("successes", KEY, nullable=False),
        Column("records", KEY, nullable=False),
        PrimaryKeyConstraint("kind", "name", "hour", name="pk_execution_hour"),
        CheckConstraint("kind IN ('all', 'group', 'job', 'node', 'task')", name="ck_execution_hour_kind"),
    )


def _execution_hour_indexes() -> None:
    op.create_index("ix_execution_hour_hour", "execution_hour", ["hour"])


def _execution_log() -> None:
    op.create_table(
        "execution_log",
        Column("execution_id", KEY, autoincrement=False, nullable=False),
        Column("line", Integer(), autoincrement=False, nullable=False),
        Column("at", TIME, nullable=False),
        Column("level", String(10), nullable=False),
        Column("message", Text(), nullable=False),
        Column("fields", DOCUMENT),
        Column("step", Text()),
        PrimaryKeyConstraint("execution_id", "line", name="pk_execution_log"),
    )


def _execution_minute() -> None:
    op.create_table(
        "execution_minute",
        Column("minute", TIME, nullable=False),
        Column("shard", KEY, autoincrement=False, nullable=False),
        Column("ended", KEY, nullable=False),
        Column("failures", KEY, nullable=False),
        Column("successes", KEY, nullable=False),
        PrimaryKeyConstraint("minute", "shard", name="pk_execution_minute"),
        postgresql_with=HOT,
    )


def _flow() -> None:
    op.create_table(
        "flow",
        Column("id", KEY, nullable=False),
        Column("name", NAME, nullable=False),
        Column("state", String(12), nullable=False),
        Column("unique_key", NAME),
        Column("submitted_at", TIME, nullable=False),
        Column("closed_at", TIME),
        Column("finished_at", TIME),
        Column("cancel_requested_at", TIME),
        Column("submitter", NAME),
        Column("submitter_id", KEY),
        Column("callbacks", DOCUMENT, nullable=False),
        Column("parent_id", KEY),
        Column("labels", DOCUMENT),
        PrimaryKeyConstraint("id", name="pk_flow"),
        CheckConstraint("(finished_at IS NULL) = (state = 'running')", name="ck_flow_finished_iff_over"),
        CheckConstraint("finished_at IS NULL OR closed_at IS NOT NULL", name="ck_flow_open_until_closed"),
        CheckConstraint("state IN ('cancelled', 'failed', 'running', 'success')", name="ck_flow_state"),
        sqlite_autoincrement=True,
    )


def _flow_indexes() -> None:
    _partial("ix_flow_finished", "flow", ["finished_at"], "finished_at IS NOT NULL")
    op.create_index("ix_flow_name", "flow", ["name", "id"])
    _partial("ix_flow_parent", "flow", ["parent_id"], "parent_id IS NOT NULL")
    _partial("ix_flow_running", "flow", ["id"], "finished_at IS NULL")
    _partial(
        "uq_flow_unique_key", "flow", ["unique_key"], "unique_key IS NOT NULL AND finished_at IS NULL", unique=True
    )


def _flow_edge() -> None:
    op.create_table(
        "flow_edge",
        Column("run_id", KEY, autoincrement=False, nullable=False),
        Column("after_id", KEY, autoincrement=False, nullable=False),
        PrimaryKeyConstraint("run_id", "after_id", name="pk_flow_edge"),
    )


def _flow_edge_indexes() -> None:
    op.create_index("ix_flow_edge_after", "flow_edge", ["after_id", "run_id"])


def _flow_run() -> None:
    op.create_table(
        "flow_run",
        Column("run_id", KEY, autoincrement=False, nullable=False),
        Column("flow_id", KEY, nullable=False),
        Column("key", NAME, nullable=False),
        Column("condition", String(8), nullable=False),
        Column("uses", DOCUMENT),
        Column("chain", DOCUMENT),
        PrimaryKeyConstraint("run_id", name="pk_flow_run"),
        UniqueConstraint("flow_id", "key", name="uq_flow_run_flow_id_key"),
        CheckConstraint("condition IN ('always', 'failure', 'success')", name="ck_flow_run_condition"),
    )


def _idempotency_key() -> None:
    op.create_table(
        "idempotency_key",
        Column("key", NAME, nullable=False),
        Column("operation", String(60), nullable=False),
        Column("request_hash", String(64), nullable=False),
        Column("answer", DOCUMENT, nullable=False),
        Column("created_at", TIME, nullable=False),
        PrimaryKeyConstraint("key", name="pk_idempotency_key"),
    )


def _idempotency_key_indexes() -> None:
    op.create_index("ix_idempotency_key_created_at", "idempotency_key", ["created_at"])


def _job() -> None:
    op.create_table(
        "job",
        Column("name", NAME, nullable=False),
        Column("description", Text(), nullable=False),
        Column("schedule", Text()),
        Column("isolation", String(8), nullable=False),
        Column("args_schema", DOCUMENT, nullable=False),
        Column("defaults", DOCUMENT, nullable=False),
        Column("tags", DOCUMENT, nullable=False),
        Column("signature", String(16), nullable=False),
        Column("rate", DOCUMENT),
        PrimaryKeyConstraint("name", name="pk_job"),
    )


def _job_execution() -> None:
    op.create_table(
        "job_execution",
        Column("id", KEY, nullable=False),
        Column("job_name", NAME, nullable=False),
        Column("started_at", TIME, nullable=False),
        Column("completed_at", TIME),
        Column("success", Boolean()),
        Column("error_message", Text()),
        Column("records_processed", KEY),
        Column("outcome", String(12)),
        Column("run_id", KEY, nullable=False),
        Column("task_id", KEY),
        Column("task_name", NAME),
        Column("attempt", Integer(), nullable=False),
        Column("node_id", KEY, nullable=False),
        Column("node", NAME, nullable=False),
        Column("trigger", String(12), nullable=False),
        Column("scheduled_for", TIME),
        Column("submitted_at", TIME, nullable=False),
        Column("error_type", String(200)),
        Column("traceback", Text()),
        Column("value", DOCUMENT),
        Column("progress", DOCUMENT),
        Column("log_lines", Integer(), nullable=False),
        Column("log_cut", KEY, nullable=False),
        Column("trace_id", String(32)),
        PrimaryKeyConstraint("id", name="pk_job_execution"),
        UniqueConstraint("run_id", "attempt", name="uq_job_execution_run_id_attempt"),
        CheckConstraint("(completed_at IS NULL) = (success IS NULL)", name="ck_job_execution_completed_iff_judged"),
        CheckConstraint("(completed_at IS NULL) = (outcome IS NULL)", name="ck_job_execution_completed_iff_outcome"),
        CheckConstraint(
            "success IS NULL OR success OR error_message IS NOT NULL", name="ck_job_execution_failure_has_message"
        ),
        CheckConstraint(
            "outcome IS NULL OR outcome IN ('cancelled', 'failed', 'handed_back', 'lost', "
            "'snoozed', 'success', 'suspended', 'timed_out')",
            name="ck_job_execution_outcome",
        ),
        CheckConstraint("trigger IN ('api', 'manual', 'retry', 'schedule')", name="ck_job_execution_trigger"),
        sqlite_autoincrement=True,
    )


def _job_execution_indexes() -> None:
    _partial("ix_job_execution_by_hand", "job_execution", ["trigger", "id"], "trigger IN ('manual', 'retry')")
    _partial("ix_job_execution_completed_at", "job_execution", ["completed_at"], "completed_at IS NOT NULL")
    _partial("ix_job_execution_failed", "job_execution", ["id"], "success = false")
    _partial("ix_job_execution_failed_job", "job_execution", ["job_name", "id"], "success = false")
    op.create_index("ix_job_execution_job", "job_execution", ["job_name", "id"])
    _partial("ix_job_execution_open", "job_execution", ["id"], "completed_at IS NULL")
    op.create_index("ix_job_execution_started_at", "job_execution", ["started_at"])
    _partial("ix_job_execution_task", "job_execution", ["task_id", "id"], "task_id IS NOT NULL")
    _partial("ix_job_execution_task_name", "job_execution", ["task_name", "id"], "task_name IS NOT NULL")
    _partial(
        "ix_job_execution_unusual",
        "job_execution",
        ["outcome", "id"],
        "outcome IN ('cancelled', 'handed_back', 'lost', 'snoozed', 'suspended', 'timed_out')",
    )


def _login_throttle() -> None:
    op.create_table(
        "login_throttle",
        Column("subject", String(80), nullable=False),
        Column("failures", Integer(), nullable=False),
        Column("last_failed_at", TIME, nullable=False),
        Column("blocked_until", TIME, nullable=False),
        PrimaryKeyConstraint("subject", name="pk_login_throttle"),
    )


def _login_throttle_indexes() -> None:
    op.create_index("ix_login_throttle_last_failed_at", "login_throttle", ["last_failed_at"])


def _node() -> None:
    op.create_table(
        "node",
        Column("id", KEY, nullable=False),
        Column("name", NAME, nullable=False),
        Column("state", String(12), nullable=False),
        Column("slots", Integer(), nullable=False),
        Column("thread_slots", Integer()),
        Column("process_slots", Integer()),
        Column("running", Integer(), nullable=False),
        Column("version", String(40), nullable=False),
        Column("seq", KEY, nullable=False),
        Column("started_at", TIME, nullable=False),
        Column("heartbeat_at", TIME, nullable=False),
        Column("expires_at", TIME, nullable=False),
        Column("clock_skew", Float(), nullable=False),
        Column("jobs", DOCUMENT, nullable=False),
        Column("signatures", DOCUMENT, nullable=False),
        Column("choice", DOCUMENT, nullable=False),
        Column("blockage", DOCUMENT),
        Column("launcher_fault", String(500)),
        Column("stall", String(40)),
        PrimaryKeyConstraint("id", name="pk_node"),
        CheckConstraint(
            "state IN ('active', 'draining', 'expired', 'stalled', 'starting', 'stopped', 'stopping')",
            name="ck_node_state",
        ),
        sqlite_autoincrement=True,
    )


def _node_indexes() -> None:
    _partial(
        "uq_node_live_name",
        "node",
        ["name"],
        "state IN ('active', 'draining', 'stalled', 'starting', 'stopping')",
        unique=True,
    )


def _periodic_task() -> None:
    op.create_table(
        "periodic_task",
        Column("id", KEY, nullable=False),
        Column("name", NAME, nullable=False),
        Column("description", Text(), nullable=False),
        Column("enabled", Boolean(), nullable=False),
        Column("source", String(8), nullable=False),
        Column("job_name", NAME, nullable=False),
        Column("args", DOCUMENT, nullable=False),
        Column("group_name", NAME, nullable=False),
        Column("priority", String(8), nullable=False),
        Column("submitter", NAME),
        Column("submitter_id", KEY),
        Column("owner", NAME),
        Column("schedule_syntax", String(12), nullable=False),
        Column("schedule_value", Text(), nullable=False),
        Column("timezone", String(64), nullable=False),
        Column("declared_syntax", String(12)),
        Column("declared_value", Text()),
        Column("declared_timezone", String(64)),
        Column("declared_args", DOCUMENT),
        Column("inherits", DOCUMENT, nullable=False),
        Column("overridden", Boolean(), nullable=False),
        Column("jitter", Float(), nullable=False),
        Column("start_at", TIME),
        Column("end_at", TIME),
        Column("labels", DOCUMENT, nullable=False),
        Column("rate", DOCUMENT),
        Column("overlap", String(8)),
        Column("misfire", String(8), nullable=False),
        Column("misfire_grace", Float(), nullable=False),
        Column("catch_up_limit", Integer(), nullable=False),
        Column("tolerance", Float()),
        Column("timeout", Float()),
        Column("max_duration", Float()),
        Column("retries", Integer(), nullable=False),
        Column("retry_delay", Float(), nullable=False),
        Column("checkpoint", DOCUMENT),
        Column("anchor_at", TIME, nullable=False),
        Column("next_nominal", TIME),
        Column("next_execution", TIME),
        Column("paused_at", TIME),
        Column("paused_by", NAME),
        Column("pause_reason", Text()),
        Column("last_due_at", TIME),
        Column("last_started_at", TIME),
        Column("counter", KEY, nullable=False),
        Column("signature", String(16)),
        Column("set_name", NAME),
        Column("version", Integer(), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("updated_at", TIME, nullable=False),
        PrimaryKeyConstraint("id", name="pk_periodic_task"),
        UniqueConstraint("name", name="uq_periodic_task_name"),
        CheckConstraint("misfire IN ('all', 'last', 'none')", name="ck_periodic_task_misfire"),
        CheckConstraint("(next_nominal IS NULL) = (next_execution IS NULL)", name="ck_periodic_task_next_times"),
        CheckConstraint(
            "overlap IS NULL OR overlap IN ('allow', 'queue', 'replace', 'skip')", name="ck_periodic_task_overlap"
        ),
        CheckConstraint("priority IN ('high', 'low')", name="ck_periodic_task_priority"),
        CheckConstraint(
            "schedule_syntax IN ('calendar', 'cron', 'interval', 'timestamp')", name="ck_periodic_task_schedule_syntax"
        ),
        CheckConstraint("source IN ('api', 'code', 'file')", name="ck_periodic_task_source"),
        postgresql_with=HOT,
        sqlite_autoincrement=True,
    )


def _periodic_task_indexes() -> None:
    _partial("ix_periodic_task_due", "periodic_task", ["next_execution"], "next_execution IS NOT NULL")
    op.create_index("ix_periodic_task_job_name", "periodic_task", ["job_name"])
    op.create_index("ix_periodic_task_owner", "periodic_task", ["owner"])
    _partial("ix_periodic_task_set", "periodic_task", ["set_name"], "set_name IS NOT NULL")


def _queue_depth() -> None:
    op.create_table(
        "queue_depth",
        Column("at", TIME, nullable=False),
        Column("job_name", NAME, nullable=False),
        Column("group_name", NAME, nullable=False),
        Column("state", String(12), nullable=False),
        Column("runs", KEY, nullable=False),
        Column("oldest_at", TIME),
        PrimaryKeyConstraint("at", "job_name", "group_name", "state", name="pk_queue_depth"),
        CheckConstraint(
            "state IN ('running', 'scheduled', 'stuck', 'suspended', 'waiting')", name="ck_queue_depth_state"
        ),
    )


def _queue_depth_indexes() -> None:
    op.create_index("ix_queue_depth_group", "queue_depth", ["group_name", "at"])
    op.create_index("ix_queue_depth_job", "queue_depth", ["job_name", "at"])


def _queue_group() -> None:
    op.create_table(
        "queue_group",
        Column("name", NAME, nullable=False),
        Column("paused_at", TIME),
        Column("paused_by", NAME),
        Column("pause_reason", Text()),
        Column("max_running", Integer()),
        Column("max_wait_low", Float()),
        Column("rate", DOCUMENT),
        Column("rate_full_at", TIME),
        Column("next_token_at", TIME),
        Column("cap", DOCUMENT),
        Column("keep", Float()),
        PrimaryKeyConstraint("name", name="pk_queue_group"),
        CheckConstraint("max_running IS NULL OR max_running >= 0", name="ck_queue_group_max_running"),
    )


def _queue_group_indexes() -> None:
    _partial("ix_queue_group_cap", "queue_group", ["name"], "cap IS NOT NULL")


def _rate_bucket() -> None:
    op.create_table(
        "rate_bucket",
        Column("job_name", NAME, nullable=False),
        Column("rate_key", NAME, nullable=False),
        Column("full_at", TIME, nullable=False),
        Column("next_token_at", TIME),
        PrimaryKeyConstraint("job_name", "rate_key", name="pk_rate_bucket"),
    )


def _rate_bucket_indexes() -> None:
    _partial("ix_rate_bucket_next_token_at", "rate_bucket", ["next_token_at"], "next_token_at IS NOT NULL")


def _run() -> None:
    op.create_table(
        "run",
        Column("id", KEY, nullable=False),
        Column("task_id", KEY),
        Column("task_name", NAME),
        Column("job_name", NAME, nullable=False),
        Column("args", DOCUMENT, nullable=False),
        Column("group_name", NAME, nullable=False),
        Column("priority", String(8), nullable=False),
        Column("state", String(12), nullable=False),
        Column("trigger", String(12), nullable=False),
        Column("scheduled_for", TIME),
        Column("submitted_at", TIME, nullable=False),
        Column("available_at", TIME, nullable=False),
        Column("started_at", TIME),
        Column("finished_at", TIME),
        Column("attempt", Integer(), nullable=False),
        Column("failures", Integer(), nullable=False),
        Column("retries", Integer(), nullable=False),
        Column("retry_delay", Float(), nullable=False),
        Column("timeout", Float()),
        Column("exclusive", Boolean(), nullable=False),
        Column("node_id", KEY),
        Column("done_attempt", Integer()),
        Column("cancel_requested_at", TIME),
        Column("cancel_reason", Text()),
        Column("unique_key", NAME),
        Column("retried_from", KEY),
        Column("progress", DOCUMENT),
        Column("checkpoint", DOCUMENT),
        Column("result", DOCUMENT),
        Column("error", Text()),
        Column("submitter", NAME),
        Column("submitter_id", KEY),
        Column("description", Text(), nullable=False),
        Column("signature", String(16)),
        Column("carried", DOCUMENT),
        Column("labels", DOCUMENT),
        Column("expires_at", TIME),
        Column("skip_reason", String(12)),
        Column("key_until_start", Boolean()),
        Column("key_until", TIME),
        Column("concurrency_key", NAME),
        Column("max_concurrent", Integer()),
        Column("rate_key", NAME),
        Column("cap_key", NAME),
        Column("due_at", TIME),
        Column("awaits", DOCUMENT),
        Column("wake_at", TIME),
        Column("flow_id", KEY),
        Column("max_duration", Float()),
        Column("deadline_at", TIME),
        PrimaryKeyConstraint("id", name="pk_run"),
        CheckConstraint(
            "(finished_at IS NOT NULL) = (state IN ('cancelled', 'failed', 'skipped', 'success'))",
            name="ck_run_finished_iff_final",
        ),
        CheckConstraint(
            "(node_id IS NOT NULL) OR state NOT IN ('running', 'scheduled')", name="ck_run_occupying_has_node"
        ),
        CheckConstraint("wake_at IS NULL OR state = 'suspended'", name="ck_run_only_suspended_wakes"),
        CheckConstraint("priority IN ('high', 'low')", name="ck_run_priority"),
        CheckConstraint(
            "skip_reason IS NULL OR skip_reason IN ('coalesced', 'expired', 'missed', 'no_job', "
            "'overlap', 'paused', 'predecessor', 'queue_full', 'tolerance', 'unique_key', "
            "'window')",
            name="ck_run_skip_reason",
        ),
        CheckConstraint(
            "state IN ('cancelled', 'failed', 'running', 'scheduled', 'skipped', 'stuck', "
            "'success', 'suspended', 'waiting')",
            name="ck_run_state",
        ),
        CheckConstraint("(awaits IS NOT NULL) = (state = 'suspended')", name="ck_run_suspended_iff_awaits"),
        CheckConstraint("trigger IN ('api', 'manual', 'retry', 'schedule')", name="ck_run_trigger"),
        postgresql_with=HOT,
        sqlite_autoincrement=True,
    )


def _run_indexes() -> None:
    _partial("ix_run_available", "run", ["available_at"], "state IN ('stuck', 'waiting') AND attempt >= 0")
    _partial(
        "ix_run_cap",
        "run",
        ["job_name", "cap_key", "id"],
        "cap_key IS NOT NULL AND attempt = 0 AND finished_at IS NULL",
    )
    _partial(
        "ix_run_claimable",
        "run",
        ["group_name", "state", "priority", "available_at", "id"],
        "state IN ('stuck', 'waiting')",
    )
    _partial(
        "ix_run_claimable_job",
        "run",
        ["job_name", "group_name", "state", "priority", "available_at", "id"],
        "state IN ('stuck', 'waiting') AND failures >= 0",
    )
    _partial(
        "ix_run_concurrent",
        "run",
        ["concurrency_key"],
        "concurrency_key IS NOT NULL AND state IN ('running', 'scheduled')",
    )
    _partial("ix_run_deadline", "run", ["deadline_at", "id"], "deadline_at IS NOT NULL AND finished_at IS NULL")
    _partial(
        "ix_run_expires", "run", ["expires_at", "id"], "expires_at IS NOT NULL AND attempt = 0 AND finished_at IS NULL"
    )
    _partial("ix_run_finished", "run", ["finished_at"], "finished_at IS NOT NULL")
    _partial("ix_run_flow", "run", ["flow_id", "id"], "flow_id IS NOT NULL")
    _partial("ix_run_flow_open", "run", ["flow_id"], "flow_id IS NOT NULL AND finished_at IS NULL")
    _partial(
        "ix_run_held_concurrency",
        "run",
        ["concurrency_key", "state", "priority", "due_at", "id"],
        "due_at IS NOT NULL AND concurrency_key IS NOT NULL AND state IN ('stuck', 'waiting')",
    )
    _partial(
        "ix_run_held_rate",
        "run",
        ["job_name", "rate_key", "state", "priority", "due_at", "id"],
        "due_at IS NOT NULL AND rate_key IS NOT NULL AND state IN ('stuck', 'waiting')",
    )
    op.create_index("ix_run_job", "run", ["job_name", "id"])
    _partial("ix_run_key_until", "run", ["unique_key", "id"], "key_until IS NOT NULL")
    _partial("ix_run_live", "run", ["id"], "finished_at IS NULL AND attempt >= 0")
    _partial("ix_run_occupying", "run", ["node_id"], "state IN ('running', 'scheduled')")
    _partial("ix_run_retried", "run", ["retried_from"], "retried_from IS NOT NULL")
    _partial("ix_run_stuck", "run", ["group_name", "available_at", "id"], "state = 'stuck'")
    _partial("ix_run_suspended", "run", ["group_name", "id"], "state = 'suspended'")
    _partial("ix_run_task", "run", ["task_id", "id"], "task_id IS NOT NULL")
    _partial("ix_run_unfinished", "run", ["task_id", "id"], "task_id IS NOT NULL AND finished_at IS NULL")
    _partial("ix_run_unusual", "run", ["state", "id"], "state IN ('cancelled', 'failed', 'skipped')")
    _partial("ix_run_wake", "run", ["wake_at", "id"], "wake_at IS NOT NULL")
    _partial("uq_run_exclusive", "run", ["task_id"], "exclusive AND state IN ('running', 'scheduled')", unique=True)
    _partial("uq_run_occurrence", "run", ["task_id", "scheduled_for"], "trigger = 'schedule'", unique=True)
    _partial(
        "uq_run_unique_key",
        "run",
        ["unique_key"],
        "unique_key IS NOT NULL AND state IN ('running', 'scheduled', 'stuck', 'suspended', "
        "'waiting') AND (key_until_start IS NULL OR attempt = 0)",
        unique=True,
    )


def _run_label() -> None:
    op.create_table(
        "run_label",
        Column("key", NAME, nullable=False),
        Column("value", NAME, nullable=False),
        Column("run_id", KEY, autoincrement=False, nullable=False),
        PrimaryKeyConstraint("key", "value", "run_id", name="pk_run_label"),
        sqlite_with_rowid=False,
    )


def _run_signal() -> None:
    op.create_table(
        "run_signal",
        Column("id", KEY, nullable=False),
        Column("run_id", KEY, nullable=False),
        Column("name", Text(), nullable=False),
        Column("payload", DOCUMENT),
        Column("rejects", Text()),
        Column("sender", NAME),
        Column("rank", Integer(), nullable=False),
        Column("sent_at", TIME, nullable=False),
        PrimaryKeyConstraint("id", name="pk_run_signal"),
        sqlite_autoincrement=True,
    )


def _run_signal_indexes() -> None:
    op.create_index("ix_run_signal_run", "run_signal", ["run_id", "name", "id"])


def _run_step() -> None:
    op.create_table(
        "run_step",
        Column("run_id", KEY, autoincrement=False, nullable=False),
        Column("step", Text(), nullable=False),
        Column("failure", Integer(), autoincrement=False, nullable=False),
        Column("kind", String(8), nullable=False),
        Column("state", String(10), nullable=False),
        Column("attempt", Integer(), nullable=False),
        Column("started_at", TIME, nullable=False),
        Column("finished_at", TIME),
        Column("wake_at", TIME),
        Column("value", DOCUMENT),
        Column("error", Text()),
        Column("used", Boolean(), nullable=False),
        Column("signal", Text()),
        Column("rank", Integer()),
        Column("form", DOCUMENT),
        Column("signal_id", KEY),
        Column("flow_id", KEY),
        PrimaryKeyConstraint("run_id", "step", "failure", name="pk_run_step"),
        CheckConstraint("(failure > 0) = (state = 'failed')", name="ck_run_step_failure_iff_failed"),
        CheckConstraint("(finished_at IS NULL) = (state = 'waiting')", name="ck_run_step_finished_unless_waiting"),
        CheckConstraint("kind IN ('function', 'runs', 'signal', 'sleep')", name="ck_run_step_kind"),
        CheckConstraint("state IN ('done', 'failed', 'rejected', 'timed_out', 'waiting')", name="ck_run_step_state"),
    )


def _secret() -> None:
    op.create_table(
        "secret",
        Column("name", NAME, nullable=False),
        Column("sealed", Text(), nullable=False),
        Column("key_id", String(16), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("created_by", NAME, nullable=False),
        Column("updated_at", TIME, nullable=False),
        Column("updated_by", NAME, nullable=False),
        PrimaryKeyConstraint("name", name="pk_secret"),
    )


def _signal_link() -> None:
    op.create_table(
        "signal_link",
        Column("id", KEY, nullable=False),
        Column("token_hash", String(64), nullable=False),
        Column("run_id", KEY, nullable=False),
        Column("step", Text(), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("used_at", TIME),
        PrimaryKeyConstraint("id", name="pk_signal_link"),
        UniqueConstraint("token_hash", name="uq_signal_link_token_hash"),
        sqlite_autoincrement=True,
    )


def _signal_link_indexes() -> None:
    op.create_index("ix_signal_link_run_id", "signal_link", ["run_id"])


def _skipped_occurrence() -> None:
    op.create_table(
        "skipped_occurrence",
        Column("id", KEY, nullable=False),
        Column("task_id", KEY, nullable=False),
        Column("task_name", NAME, nullable=False),
        Column("reason", String(12), nullable=False),
        Column("first_scheduled_for", TIME, nullable=False),
        Column("last_scheduled_for", TIME, nullable=False),
        Column("occurrences", KEY, nullable=False),
        Column("policy", DOCUMENT, nullable=False),
        Column("node", NAME),
        Column("run_id", KEY),
        Column("at", TIME, nullable=False),
        PrimaryKeyConstraint("id", name="pk_skipped_occurrence"),
        CheckConstraint("occurrences >= 1", name="ck_skipped_occurrence_occurrences"),
        CheckConstraint(
            "reason IN ('coalesced', 'expired', 'missed', 'no_job', 'overlap', 'paused', "
            "'predecessor', 'queue_full', 'tolerance', 'unique_key', 'window')",
            name="ck_skipped_occurrence_reason",
        ),
        sqlite_autoincrement=True,
    )


def _skipped_occurrence_indexes() -> None:
    op.create_index("ix_skipped_occurrence_at", "skipped_occurrence", ["at"])
    op.create_index("ix_skipped_occurrence_task", "skipped_occurrence", ["task_id", "id"])


def _user_account() -> None:
    op.create_table(
        "user_account",
        Column("id", KEY, nullable=False),
        Column("name", NAME, nullable=False),
        Column("name_key", String(400), nullable=False),
        Column("role", String(12), nullable=False),
        Column("password_hash", Text()),
        Column("disabled_at", TIME),
        Column("created_at", TIME, nullable=False),
        PrimaryKeyConstraint("id", name="pk_user_account"),
        UniqueConstraint("name", name="uq_user_account_name"),
        UniqueConstraint("name_key", name="uq_user_account_name_key"),
        CheckConstraint("role IN ('admin', 'operator', 'viewer')", name="ck_user_account_role"),
        sqlite_autoincrement=True,
    )


def _api_token() -> None:
    op.create_table(
        "api_token",
        Column("id", KEY, nullable=False),
        Column("token_hash", String(64), nullable=False),
        Column("user_id", KEY, nullable=False),
        Column("name", NAME, nullable=False),
        Column("shown", String(20), nullable=False),
        Column("role", String(12), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("expires_at", TIME),
        Column("last_used_at", TIME),
        Column("revoked_at", TIME),
        PrimaryKeyConstraint("id", name="pk_api_token"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_api_token_user_id", ondelete="CASCADE"),
        UniqueConstraint("token_hash", name="uq_api_token_token_hash"),
        CheckConstraint("role IN ('admin', 'operator', 'viewer')", name="ck_api_token_role"),
        sqlite_autoincrement=True,
    )


def _api_token_indexes() -> None:
    op.create_index("ix_api_token_user_id", "api_token", ["user_id"])


def _device_code() -> None:
    op.create_table(
        "device_code",
        Column("id", KEY, nullable=False),
        Column("device_code_hash", String(64), nullable=False),
        Column("user_code_hash", String(64), nullable=False),
        Column("user_id", KEY),
        Column("address", String(60)),
        Column("agent", String(200)),
        Column("poll_interval", Integer(), nullable=False),
        Column("polled_at", TIME),
        Column("created_at", TIME, nullable=False),
        Column("expires_at", TIME, nullable=False),
        Column("approved_at", TIME),
        Column("denied_at", TIME),
        Column("consumed_at", TIME),
        PrimaryKeyConstraint("id", name="pk_device_code"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_device_code_user_id", ondelete="CASCADE"),
        UniqueConstraint("device_code_hash", name="uq_device_code_device_code_hash"),
        UniqueConstraint("user_code_hash", name="uq_device_code_user_code_hash"),
        sqlite_autoincrement=True,
    )


def _device_code_indexes() -> None:
    op.create_index("ix_device_code_consumed_at", "device_code", ["consumed_at"])
    op.create_index("ix_device_code_expires_at", "device_code", ["expires_at"])
    op.create_index("ix_device_code_user_id", "device_code", ["user_id"])


def _one_time_link() -> None:
    op.create_table(
        "one_time_link",
        Column("id", KEY, nullable=False),
        Column("token_hash", String(64), nullable=False),
        Column("user_id", KEY),
        Column("purpose", String(12), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("expires_at", TIME, nullable=False),
        Column("consumed_at", TIME),
        PrimaryKeyConstraint("id", name="pk_one_time_link"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_one_time_link_user_id", ondelete="CASCADE"),
        UniqueConstraint("token_hash", name="uq_one_time_link_token_hash"),
        CheckConstraint("purpose IN ('recovery', 'setup')", name="ck_one_time_link_purpose"),
        CheckConstraint("(purpose = 'setup') = (user_id IS NULL)", name="ck_one_time_link_whose"),
        sqlite_autoincrement=True,
    )


def _one_time_link_indexes() -> None:
    op.create_index("ix_one_time_link_expires_at", "one_time_link", ["expires_at"])
    op.create_index("ix_one_time_link_user_id", "one_time_link", ["user_id"])


def _passkey() -> None:
    op.create_table(
        "passkey",
        Column("id", KEY, nullable=False),
        Column("user_id", KEY, nullable=False),
        Column("credential_id", String(1364), nullable=False),
        Column("public_key", Text(), nullable=False),
        Column("sign_count", KEY, nullable=False),
        Column("name", NAME, nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("last_used_at", TIME),
        PrimaryKeyConstraint("id", name="pk_passkey"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_passkey_user_id", ondelete="CASCADE"),
        UniqueConstraint("credential_id", name="uq_passkey_credential_id"),
        sqlite_autoincrement=True,
    )


def _passkey_indexes() -> None:
    op.create_index("ix_passkey_user_id", "passkey", ["user_id"])


def _provider_attempt() -> None:
    op.create_table(
        "provider_attempt",
        Column("id", KEY, nullable=False),
        Column("state_hash", String(64), nullable=False),
        Column("bound_to", String(64), nullable=False),
        Column("provider", String(40), nullable=False),
        Column("next_path", String(2000), nullable=False),
        Column("user_id", KEY),
        Column("created_at", TIME, nullable=False),
        Column("expires_at", TIME, nullable=False),
        Column("consumed_at", TIME),
        PrimaryKeyConstraint("id", name="pk_provider_attempt"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_provider_attempt_user_id", ondelete="CASCADE"),
        UniqueConstraint("state_hash", name="uq_provider_attempt_state_hash"),
        sqlite_autoincrement=True,
    )


def _provider_attempt_indexes() -> None:
    op.create_index("ix_provider_attempt_consumed_at", "provider_attempt", ["consumed_at"])
    op.create_index("ix_provider_attempt_expires_at", "provider_attempt", ["expires_at"])
    op.create_index("ix_provider_attempt_user_id", "provider_attempt", ["user_id"])


def _provider_identity() -> None:
    op.create_table(
        "provider_identity",
        Column("id", KEY, nullable=False),
        Column("user_id", KEY, nullable=False),
        Column("provider", String(40), nullable=False),
        Column("issuer", String(400), nullable=False),
        Column("subject", String(255), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("last_used_at", TIME),
        PrimaryKeyConstraint("id", name="pk_provider_identity"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_provider_identity_user_id", ondelete="CASCADE"),
        UniqueConstraint("issuer", "subject", name="uq_provider_identity_issuer_subject"),
        sqlite_autoincrement=True,
    )


def _provider_identity_indexes() -> None:
    op.create_index("ix_provider_identity_user_id", "provider_identity", ["user_id"])


def _saved_view() -> None:
    op.create_table(
        "saved_view",
        Column("id", KEY, nullable=False),
        Column("scope", String(220), nullable=False),
        Column("account_id", KEY),
        Column("page", String(200), nullable=False),
        Column("name", NAME, nullable=False),
        Column("search", String(2000), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("created_by", NAME, nullable=False),
        Column("updated_at", TIME, nullable=False),
        PrimaryKeyConstraint("id", name="pk_saved_view"),
        ForeignKeyConstraint(["account_id"], ["user_account.id"], name="fk_saved_view_account_id", ondelete="CASCADE"),
        UniqueConstraint("scope", "page", "name", name="uq_saved_view_scope_page_name"),
        sqlite_autoincrement=True,
    )


def _saved_view_indexes() -> None:
    op.create_index("ix_saved_view_account_id", "saved_view", ["account_id"])


def _session() -> None:
    op.create_table(
        "session",
        Column("id", KEY, nullable=False),
        Column("token_hash", String(64), nullable=False),
        Column("user_id", KEY, nullable=False),
        Column("kind", String(8), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("last_seen_at", TIME, nullable=False),
        Column("expires_at", TIME, nullable=False),
        Column("access_expires_at", TIME),
        Column("address", String(60)),
        Column("agent", String(200)),
        PrimaryKeyConstraint("id", name="pk_session"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_session_user_id", ondelete="CASCADE"),
        UniqueConstraint("token_hash", name="uq_session_token_hash"),
        CheckConstraint("(kind = 'cli') = (access_expires_at IS NOT NULL)", name="ck_session_access"),
        CheckConstraint("kind IN ('browser', 'cli')", name="ck_session_kind"),
        sqlite_autoincrement=True,
    )


def _session_indexes() -> None:
    op.create_index("ix_session_expires_at", "session", ["expires_at"])
    op.create_index("ix_session_user_id", "session", ["user_id"])


def _webauthn_challenge() -> None:
    op.create_table(
        "webauthn_challenge",
        Column("id", KEY, nullable=False),
        Column("challenge_hash", String(64), nullable=False),
        Column("user_id", KEY),
        Column("bound_to", String(64), nullable=False),
        Column("purpose", String(12), nullable=False),
        Column("created_at", TIME, nullable=False),
        Column("expires_at", TIME, nullable=False),
        Column("consumed_at", TIME),
        PrimaryKeyConstraint("id", name="pk_webauthn_challenge"),
        ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_webauthn_challenge_user_id", ondelete="CASCADE"
        ),
        UniqueConstraint("challenge_hash", name="uq_webauthn_challenge_challenge_hash"),
        CheckConstraint("purpose IN ('register', 'sign_in')", name="ck_webauthn_challenge_purpose"),
        sqlite_autoincrement=True,
    )


def _webauthn_challenge_indexes() -> None:
    op.create_index("ix_webauthn_challenge_bound_to", "webauthn_challenge", ["bound_to"])
    op.create_index("ix_webauthn_challenge_consumed_at", "webauthn_challenge", ["consumed_at"])
    op.create_index("ix_webauthn_challenge_expires_at", "webauthn_challenge", ["expires_at"])
    op.create_index("ix_webauthn_challenge_user_id", "webauthn_challenge", ["user_id"])


def _refresh_token() -> None:
    op.create_table(
        "refresh_token",
        Column("id", KEY, nullable=False),
        Column("token_hash", String(64), nullable=False),
        Column("family", String(64), nullable=False),
        Column("user_id", KEY, nullable=False),
        Column("session_id", KEY),
        Column("parent_id", KEY),
        Column("created_at", TIME, nullable=False),
        Column("expires_at", TIME, nullable=False),
        Column("used_at", TIME),
        Column("revoked_at", TIME),
        PrimaryKeyConstraint("id", name="pk_refresh_token"),
        ForeignKeyConstraint(["session_id"], ["session.id"], name="fk_refresh_token_session_id", ondelete="SET NULL"),
        ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_refresh_token_user_id", ondelete="CASCADE"),
        UniqueConstraint("token_hash", name="uq_refresh_token_token_hash"),
        sqlite_autoincrement=True,
    )


def _refresh_token_indexes() -> None:
    op.create_index("ix_refresh_token_expires_at", "refresh_token", ["expires_at"])
    op.create_index("ix_refresh_token_family", "refresh_token", ["family"])
    op.create_index("ix_refresh_token_parent_id", "refresh_token", ["parent_id"])
    op.create_index("ix_refresh_token_revoked_at", "refresh_token", ["revoked_at"])
    op.create_index("ix_refresh_token_session_id", "refresh_token", ["session_id"])
    op.create_index("ix_refresh_token_user_id", "refresh_token", ["user_id"])


def _partial(name: str, table: str, columns: list[str], condition: str, *, unique: bool = False) -> None:
    """An index of the rows that meet the condition, on either database."""
    where = text(condition)
    op.create_index(name, table, columns, unique=unique, postgresql_where=where, sqlite_where=where)


# The tables and their indexes, in the order in which they are made.
MAKERS = (
    _audit_head,
    _audit_log,
    _audit_log_indexes,
    _event,
    _event_indexes,
    _event_publisher,
    _execution_hour,
    _execution_hour_indexes,
    _execution_log,
    _execution_minute,
    _flow,
    _flow_indexes,
    _flow_edge,
    _flow_edge_indexes,
    _flow_run,
    _idempotency_key,
    _idempotency_key_indexes,
    _job,
    _job_execution,
    _job_execution_indexes,
    _login_throttle,
    _login_throttle_indexes,
    _node,
    _node_indexes,
    _periodic_task,
    _periodic_task_indexes,
    _queue_depth,
    _queue_depth_indexes,
    _queue_group,
    _queue_group_indexes,
    _rate_bucket,
    _rate_bucket_indexes,
    _run,
    _run_indexes,
    _run_label,
    _run_signal,
    _run_signal_indexes,
    _run_step,
    _secret,
    _signal_link,
    _signal_link_indexes,
    _skipped_occurrence,
    _skipped_occurrence_indexes,
    _user_account,
    _api_token,
    _api_token_indexes,
    _device_code,
    _device_code_indexes,
    _one_time_link,
    _one_time_link_indexes,
    _passkey,
    _passkey_indexes,
    _provider_attempt,
    _provider_attempt_indexes,
    _provider_identity,
    _provider_identity_indexes,
    _saved_view,
    _saved_view_indexes,
    _session,
    _session_indexes,
    _webauthn_challenge,
    _webauthn_challenge_indexes,
    _refresh_token,
    _refresh_token_indexes,
)
