"""The first schema.

Frozen: a later change of the schema is a revision of its own, which imports nothing of the product.
"""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSON, JSONB, TIMESTAMP
from sqlalchemy.schema import CreateIndex, CreateTable

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = BigInteger().with_variant(Integer(), "sqlite")
TIME = String(27).with_variant(TIMESTAMP(timezone=True), "postgresql")
NAME = String(200).with_variant(String(200, collation="C"), "postgresql")
DOCUMENT = Text().with_variant(JSONB(), "postgresql")
WRITTEN = Text().with_variant(JSON(), "postgresql")
FIRST = {"id": 1, "last_seq": 0}
SCHEMA = MetaData()
# Hot tables: room for updates in place, and a vacuum that comes early.
HOT = {
    "fillfactor": 70,
    "autovacuum_vacuum_scale_factor": 0.02,
    "autovacuum_vacuum_cost_delay": 0,
    "autovacuum_analyze_scale_factor": 0.05,
}


def upgrade() -> None:
    """Make every table with its indexes; some have two parts on PostgreSQL, each with keys and indexes of its own."""
    connection = op.get_bind()
    parts = PARTS if connection.dialect.name == "postgresql" else {}
    for table in SCHEMA.tables.values():
        op.execute(CreateTable(table))
        schema = str(connection.schema_for_object(table))
        for statement in parts.get(table.name, ()):
            op.execute(statement.replace("{schema}", schema))
        for index in sorted(table.indexes, key=lambda one: str(one.name)):
            if table.name not in parts:
                op.execute(CreateIndex(index))
    # The publisher of events counts from here; there is never a second row.
    op.bulk_insert(SCHEMA.tables["event_publisher"], [FIRST])


def _partial(name: str, *columns: str | TextClause, where: str, unique: bool = False) -> Index:
    """An index of the rows that meet the condition, on either database."""
    condition = text(where)
    return Index(name, *columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


# The tables in the order in which they are made.

Table(
    "alarm",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("name", NAME, nullable=False),
    Column("description", Text(), nullable=False),
    Column("enabled", Boolean(), nullable=False),
    Column("severity", String(8), nullable=False),
    Column("condition", String(12), nullable=False),
    Column("subject_kind", String(8), nullable=False),
    Column("subject", NAME),
    Column("settings", DOCUMENT, nullable=False),
    Column("channels", DOCUMENT, nullable=False),
    Column("source", String(4), nullable=False),
    Column("owner", NAME),
    Column("streak", KEY, nullable=False),
    Column("silenced_until", TIME),
    Column("silenced_by", NAME),
    Column("silence_reason", Text()),
    Column("version", Integer(), nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("created_by", NAME, nullable=False),
    Column("updated_at", TIME, nullable=False),
    PrimaryKeyConstraint("id", name="pk_alarm"),
    UniqueConstraint("name", name="uq_alarm_name"),
    CheckConstraint(
        "condition IN ('backlog', 'database', 'empty', 'failing', 'idle', 'late', "
        "'new_error', 'node', 'overdue', 'skew', 'slow', 'webhook')",
        name="ck_alarm_condition",
    ),
    CheckConstraint("(source = 'api') = (owner IS NULL)", name="ck_alarm_owned_iff_defined"),
    CheckConstraint("severity IN ('critical', 'info', 'warning')", name="ck_alarm_severity"),
    CheckConstraint("source IN ('api', 'code', 'file')", name="ck_alarm_source"),
    CheckConstraint(
        "subject_kind IN ('database', 'flow', 'group', 'job', 'node', 'task', 'webhook')", name="ck_alarm_subject_kind"
    ),
    sqlite_autoincrement=True,
)
Table(
    "alarm_firing",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("alarm_id", KEY, nullable=False),
    Column("alarm_name", NAME, nullable=False),
    Column("condition", String(12), nullable=False),
    Column("severity", String(8), nullable=False),
    Column("subject_kind", String(8), nullable=False),
    Column("subject", NAME, nullable=False),
    Column("run_id", KEY),
    Column("execution_id", KEY),
    Column("flow_id", KEY),
    Column("scheduled_for", TIME),
    Column("sentence", Text(), nullable=False),
    Column("explanation", Text()),
    Column("policy", DOCUMENT, nullable=False),
    Column("channels", DOCUMENT, nullable=False),
    Column("last_success_at", TIME),
    Column("fired_at", TIME, nullable=False),
    Column("resolved_at", TIME),
    Column("acknowledged_at", TIME),
    Column("acknowledged_by", NAME),
    Column("note", Text()),
    Column("notified", Boolean(), nullable=False),
    PrimaryKeyConstraint("id", name="pk_alarm_firing"),
    Index("ix_alarm_firing_alarm", "alarm_id", "id"),
    Index("ix_alarm_firing_fired_at", "fired_at"),
    _partial("uq_alarm_firing_open", "alarm_id", "subject", where="resolved_at IS NULL", unique=True),
    sqlite_autoincrement=True,
)
Table(
    "audit_head",
    SCHEMA,
    Column("id", Integer(), autoincrement=False, nullable=False),
    Column("last_id", KEY, nullable=False),
    Column("last_hash", String(64), nullable=False),
    Column("pruned_id", KEY, nullable=False),
    Column("pruned_hash", String(64), nullable=False),
    PrimaryKeyConstraint("id", name="pk_audit_head"),
)
Table(
    "audit_log",
    SCHEMA,
    Column("id", KEY, autoincrement=False, nullable=False),
    Column("at", TIME, nullable=False),
    Column("actor", NAME, nullable=False),
    Column("actor_id", KEY),
    Column("address", String(60)),
    Column("action", String(60), nullable=False),
    Column("subject", String(400)),
    Column("before", Text()),
    Column("after", Text()),
    Column("revised", String(12)),
    Column("job_name", NAME),
    Column("hash", String(64), nullable=False),
    PrimaryKeyConstraint("id", name="pk_audit_log"),
    Index("ix_audit_log_action", "action"),
    Index("ix_audit_log_actor_id", "actor_id"),
    Index("ix_audit_log_at", "at"),
    _partial("ix_audit_log_revised", "revised", "subject", "id", where="revised IS NOT NULL"),
    _partial("ix_audit_log_revised_job", "job_name", "id", where="revised IS NOT NULL"),
)
Table(
    "channel",
    SCHEMA,
    Column("name", NAME, nullable=False),
    Column("kind", String(12), nullable=False),
    Column("settings", DOCUMENT, nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME, nullable=False),
    Column("updated_by", NAME, nullable=False),
    Column("set_name", NAME),
    Column("version", Integer(), nullable=False),
    Column("document", Text()),
    Column("variables", DOCUMENT),
    Column("description", Text()),
    Column("ordered", Boolean()),
    Column("enabled", Boolean()),
    Column("account_id", KEY),
    Column("failures", Integer()),
    Column("failing_since", TIME),
    Column("blocked_until", TIME),
    Column("delivered_at", TIME),
    Column("stop_reason", String(8)),
    Column("stop_message", Text()),
    Column("stopped_at", TIME),
    PrimaryKeyConstraint("name", name="pk_channel"),
    CheckConstraint("document IS NULL OR kind = 'webhook'", name="ck_channel_documents_of_webhooks"),
    CheckConstraint("kind IN ('alertmanager', 'apprise', 'chat', 'mail', 'webhook')", name="ck_channel_kind"),
    CheckConstraint("stop_reason IN ('failing', 'gone', 'parked', 'refused')", name="ck_channel_stop_reason"),
    CheckConstraint("(stop_reason IS NULL) = (stopped_at IS NULL)", name="ck_channel_stopped_has_reason"),
    CheckConstraint(
        "(document IS NULL) = (enabled IS NULL) AND (document IS NULL) = (ordered IS NULL) "
        "AND (document IS NULL) = (failures IS NULL)",
        name="ck_channel_whole_webhooks",
    ),
)
Table(
    "consumer",
    SCHEMA,
    Column("name", NAME, nullable=False),
    Column("cursor", String(60), nullable=False),
    Column("version", KEY, nullable=False),
    Column("holder", KEY),
    Column("held_until", TIME),
    PrimaryKeyConstraint("name", name="pk_consumer"),
)
Table(
    "delivery",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("message_id", String(40), nullable=False),
    Column("channel", NAME, nullable=False),
    Column("event", String(8), nullable=False),
    Column("payload", DOCUMENT, nullable=False),
    Column("cursor", String(60)),
    Column("state", String(8), nullable=False),
    Column("attempts", Integer(), nullable=False),
    Column("node_id", KEY),
    Column("created_at", TIME, nullable=False),
    Column("next_attempt_at", TIME),
    Column("ended_at", TIME),
    Column("status", Integer()),
    Column("answer", Text()),
    Column("error", Text()),
    PrimaryKeyConstraint("id", name="pk_delivery"),
    UniqueConstraint("message_id", name="uq_delivery_message_id"),
    CheckConstraint("event IN ('events', 'fired', 'resolved', 'test')", name="ck_delivery_event"),
    CheckConstraint("(state = 'pending') = (next_attempt_at IS NOT NULL)", name="ck_delivery_pending_has_time"),
    CheckConstraint("state IN ('failed', 'pending', 'sent')", name="ck_delivery_state"),
    Index("ix_delivery_channel", "channel", "id"),
    Index("ix_delivery_created_at", "created_at"),
    _partial("ix_delivery_pending", "next_attempt_at", "id", where="state = 'pending'"),
    _partial("ix_delivery_waiting", "channel", "id", where="state = 'pending'"),
    sqlite_autoincrement=True,
)
Table(
    "event",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("seq", KEY),
    Column("at", TIME, nullable=False),
    Column("changes", DOCUMENT, nullable=False),
    PrimaryKeyConstraint("id", name="pk_event"),
    UniqueConstraint("seq", name="uq_event_seq").ddl_if(dialect="sqlite"),
    Index("ix_event_at", "at"),
    _partial("ix_event_unpublished", "id", where="seq IS NULL"),
    postgresql_partition_by="RANGE (id)",
    sqlite_autoincrement=True,
)
Table(
    "event_publisher",
    SCHEMA,
    Column("id", Integer(), autoincrement=False, nullable=False),
    Column("last_seq", KEY, nullable=False),
    PrimaryKeyConstraint("id", name="pk_event_publisher"),
)
Table(
    "execution_hour",
    SCHEMA,
    Column("kind", String(5), nullable=False),
    Column("name", NAME, nullable=False),
    Column("hour", TIME, nullable=False),
    Column("executions", KEY, nullable=False),
    Column("failures", KEY, nullable=False),
    Column("successes", KEY, nullable=False),
    Column("records", KEY, nullable=False),
    PrimaryKeyConstraint("kind", "name", "hour", name="pk_execution_hour"),
    CheckConstraint("kind IN ('all', 'group', 'job', 'node', 'task')", name="ck_execution_hour_kind"),
    Index("ix_execution_hour_hour", "hour"),
)
Table(
    "execution_log",
    SCHEMA,
    Column("execution_id", KEY, autoincrement=False, nullable=False),
    Column("line", Integer(), autoincrement=False, nullable=False),
    Column("at", TIME, nullable=False),
    Column("level", String(10), nullable=False),
    Column("message", Text(), nullable=False),
    Column("fields", DOCUMENT),
    Column("step", Text()),
    PrimaryKeyConstraint("execution_id", "line", name="pk_execution_log"),
    postgresql_partition_by="RANGE (execution_id)",
)
Table(
    "execution_minute",
    SCHEMA,
    Column("minute", TIME, nullable=False),
    Column("shard", KEY, autoincrement=False, nullable=False),
    Column("ended", KEY, nullable=False),
    Column("failures", KEY, nullable=False),
    Column("successes", KEY, nullable=False),
    PrimaryKeyConstraint("minute", "shard", name="pk_execution_minute"),
    postgresql_with=HOT,
)
Table(
    "failure_mark",
    SCHEMA,
    Column("fingerprint", String(16), nullable=False),
    Column("job_name", NAME, nullable=False),
    Column("silenced_until", TIME),
    Column("silenced_by", NAME),
    Column("silence_reason", Text()),
    Column("solved_at", TIME),
    Column("solved_by", NAME),
    Column("solved_in", NAME),
    Column("old_versions", DOCUMENT),
    Column("updated_at", TIME, nullable=False),
    PrimaryKeyConstraint("fingerprint", name="pk_failure_mark"),
)
Table(
    "flow",
    SCHEMA,
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
    Column("started_by_run_id", KEY),
    Column("started_by_task_id", KEY),
    Column("deadline_at", TIME),
    PrimaryKeyConstraint("id", name="pk_flow"),
    CheckConstraint("(finished_at IS NULL) = (state = 'running')", name="ck_flow_finished_iff_over"),
    CheckConstraint("finished_at IS NULL OR closed_at IS NOT NULL", name="ck_flow_open_until_closed"),
    CheckConstraint("state IN ('cancelled', 'failed', 'running', 'success')", name="ck_flow_state"),
    _partial("ix_flow_deadline", "deadline_at", where="deadline_at IS NOT NULL AND finished_at IS NULL"),
    _partial("ix_flow_finished", "finished_at", where="finished_at IS NOT NULL"),
    Index("ix_flow_name", "name", "id"),
    _partial("ix_flow_parent", "parent_id", where="parent_id IS NOT NULL"),
    _partial("ix_flow_running", "id", where="finished_at IS NULL"),
    _partial("ix_flow_started_by_run", "started_by_run_id", "id", where="started_by_run_id IS NOT NULL"),
    _partial("ix_flow_started_by_task", "started_by_task_id", "id", where="started_by_task_id IS NOT NULL"),
    _partial("uq_flow_unique_key", "unique_key", where="unique_key IS NOT NULL AND finished_at IS NULL", unique=True),
    sqlite_autoincrement=True,
)
Table(
    "flow_edge",
    SCHEMA,
    Column("run_id", KEY, autoincrement=False, nullable=False),
    Column("after_id", KEY, autoincrement=False, nullable=False),
    PrimaryKeyConstraint("run_id", "after_id", name="pk_flow_edge"),
    Index("ix_flow_edge_after", "after_id", "run_id"),
)
Table(
    "flow_run",
    SCHEMA,
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
Table(
    "history_archive",
    SCHEMA,
    Column("id", Integer(), autoincrement=False, nullable=False),
    Column("location", Text(), nullable=False),
    Column("through", TIME, nullable=False),
    PrimaryKeyConstraint("id", name="pk_history_archive"),
)
Table(
    "hook",
    SCHEMA,
    Column("name", NAME, nullable=False),
    Column("job_name", NAME, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("secrets", DOCUMENT, nullable=False),
    Column("argument", NAME),
    Column("description", Text(), nullable=False),
    Column("enabled", Boolean(), nullable=False),
    Column("version", Integer(), nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("created_by", NAME, nullable=False),
    Column("updated_at", TIME, nullable=False),
    Column("set_name", NAME),
    PrimaryKeyConstraint("name", name="pk_hook"),
    CheckConstraint("kind IN ('bearer', 'github', 'standard', 'stripe')", name="ck_hook_kind"),
)
Table(
    "idempotency_key",
    SCHEMA,
    Column("key", NAME, nullable=False),
    Column("operation", String(60), nullable=False),
    Column("request_hash", String(64), nullable=False),
    Column("answer", DOCUMENT, nullable=False),
    Column("created_at", TIME, nullable=False),
    PrimaryKeyConstraint("key", name="pk_idempotency_key"),
    Index("ix_idempotency_key_created_at", "created_at"),
)
Table(
    "job",
    SCHEMA,
    Column("name", NAME, nullable=False),
    Column("description", Text(), nullable=False),
    Column("schedule", Text()),
    Column("isolation", String(8), nullable=False),
    Column("args_schema", DOCUMENT, nullable=False),
    Column("defaults", DOCUMENT, nullable=False),
    Column("tags", DOCUMENT, nullable=False),
    Column("signature", String(16), nullable=False),
    Column("versions", DOCUMENT),
    Column("rate", DOCUMENT),
    Column("slots", Integer(), nullable=False),
    PrimaryKeyConstraint("name", name="pk_job"),
)
Table(
    "job_execution",
    SCHEMA,
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
    PrimaryKeyConstraint("id", name="pk_job_execution").ddl_if(dialect="sqlite"),
    UniqueConstraint("run_id", "attempt", name="uq_job_execution_run_id_attempt").ddl_if(dialect="sqlite"),
    CheckConstraint("(completed_at IS NULL) = (success IS NULL)", name="ck_job_execution_completed_iff_judged").ddl_if(
        dialect="sqlite"
    ),
    CheckConstraint("(completed_at IS NULL) = (outcome IS NULL)", name="ck_job_execution_completed_iff_outcome").ddl_if(
        dialect="sqlite"
    ),
    CheckConstraint(
        "success IS NULL OR success OR error_message IS NOT NULL", name="ck_job_execution_failure_has_message"
    ).ddl_if(dialect="sqlite"),
    CheckConstraint(
        "outcome IS NULL OR outcome IN ('cancelled', 'failed', 'handed_back', 'lost', "
        "'snoozed', 'success', 'suspended', 'timed_out')",
        name="ck_job_execution_outcome",
    ).ddl_if(dialect="sqlite"),
    CheckConstraint(
        "trigger IN ('api', 'hook', 'manual', 'retry', 'schedule')", name="ck_job_execution_trigger"
    ).ddl_if(dialect="sqlite"),
    _partial("ix_job_execution_completed_at", "completed_at", where="completed_at IS NOT NULL"),
    _partial("ix_job_execution_failed", "id", where="success = false"),
    _partial("ix_job_execution_failed_job", "job_name", "id", where="success = false"),
    Index("ix_job_execution_job", "job_name", "id"),
    _partial("ix_job_execution_open", "id", where="completed_at IS NULL"),
    Index("ix_job_execution_started_at", "started_at"),
    _partial("ix_job_execution_task", "task_id", "id", where="task_id IS NOT NULL"),
    _partial("ix_job_execution_task_name", "task_name", "id", where="task_name IS NOT NULL"),
    _partial("ix_job_execution_trigger", "trigger", "id", where="trigger IN ('hook', 'manual', 'retry')"),
    _partial(
        "ix_job_execution_unusual",
        "outcome",
        "id",
        where="outcome IN ('cancelled', 'handed_back', 'lost', 'snoozed', 'suspended', 'timed_out')",
    ),
    postgresql_partition_by="LIST ((completed_at IS NULL))",
    sqlite_autoincrement=True,
)
Table(
    "login_throttle",
    SCHEMA,
    Column("subject", String(80), nullable=False),
    Column("failures", Integer(), nullable=False),
    Column("last_failed_at", TIME, nullable=False),
    Column("blocked_until", TIME, nullable=False),
    PrimaryKeyConstraint("subject", name="pk_login_throttle"),
    Index("ix_login_throttle_last_failed_at", "last_failed_at"),
)
Table(
    "node",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("name", NAME, nullable=False),
    Column("state", String(12), nullable=False),
    Column("slots", Integer(), nullable=False),
    Column("thread_slots", Integer()),
    Column("process_slots", Integer()),
    Column("remote_slots", Integer()),
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
        "state IN ('active', 'draining', 'expired', 'stalled', 'starting', 'stopped', 'stopping')", name="ck_node_state"
    ),
    _partial(
        "uq_node_live_name",
        "name",
        where="state IN ('active', 'draining', 'stalled', 'starting', 'stopping')",
        unique=True,
    ),
    sqlite_autoincrement=True,
)
Table(
    "periodic_task",
    SCHEMA,
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
    Column("resources", DOCUMENT),
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
    Column("resume_at", TIME),
    Column("last_due_at", TIME),
    Column("last_started_at", TIME),
    Column("counter", KEY, nullable=False),
    Column("signature", String(16)),
    Column("set_name", NAME),
    Column("put_off", DOCUMENT),
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
    _partial("ix_periodic_task_due", "next_execution", where="next_execution IS NOT NULL"),
    Index("ix_periodic_task_job_name", "job_name"),
    Index("ix_periodic_task_owner", "owner"),
    _partial("ix_periodic_task_resume", "resume_at", where="resume_at IS NOT NULL"),
    _partial("ix_periodic_task_set", "set_name", where="set_name IS NOT NULL"),
    postgresql_with=HOT,
    sqlite_autoincrement=True,
)
Table(
    "public_address",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("token_hash", String(64), nullable=False),
    Column("task_name", NAME),
    Column("created_at", TIME, nullable=False),
    Column("created_by", NAME, nullable=False),
    PrimaryKeyConstraint("id", name="pk_public_address"),
    UniqueConstraint("token_hash", name="uq_public_address_token_hash"),
    CheckConstraint("kind IN ('badge', 'calendar', 'ping')", name="ck_public_address_kind"),
    sqlite_autoincrement=True,
)
Table(
    "queue_depth",
    SCHEMA,
    Column("at", TIME, nullable=False),
    Column("job_name", NAME, nullable=False),
    Column("group_name", NAME, nullable=False),
    Column("state", String(12), nullable=False),
    Column("runs", KEY, nullable=False),
    Column("oldest_at", TIME),
    PrimaryKeyConstraint("at", "job_name", "group_name", "state", name="pk_queue_depth"),
    CheckConstraint("state IN ('running', 'scheduled', 'stuck', 'suspended', 'waiting')", name="ck_queue_depth_state"),
    Index("ix_queue_depth_group", "group_name", "at"),
    Index("ix_queue_depth_job", "job_name", "at"),
)
Table(
    "queue_group",
    SCHEMA,
    Column("name", NAME, nullable=False),
    Column("paused_at", TIME),
    Column("paused_by", NAME),
    Column("pause_reason", Text()),
    Column("resume_at", TIME),
    Column("max_running", Integer()),
    Column("max_wait_low", Float()),
    Column("rate", DOCUMENT),
    Column("rate_full_at", TIME),
    Column("next_token_at", TIME),
    Column("cap", DOCUMENT),
    Column("keep", Float()),
    PrimaryKeyConstraint("name", name="pk_queue_group"),
    CheckConstraint("max_running IS NULL OR max_running >= 0", name="ck_queue_group_max_running"),
    _partial("ix_queue_group_cap", "name", where="cap IS NOT NULL"),
    _partial("ix_queue_group_resume", "resume_at", where="resume_at IS NOT NULL"),
)
Table(
    "rate_bucket",
    SCHEMA,
    Column("job_name", NAME, nullable=False),
    Column("rate_key", NAME, nullable=False),
    Column("full_at", TIME, nullable=False),
    Column("next_token_at", TIME),
    PrimaryKeyConstraint("job_name", "rate_key", name="pk_rate_bucket"),
    _partial("ix_rate_bucket_next_token_at", "next_token_at", where="next_token_at IS NOT NULL"),
)
Table(
    "remote_attempt",
    SCHEMA,
    Column("execution_id", KEY, autoincrement=False, nullable=False),
    Column("run_id", KEY, nullable=False),
    Column("attempt", Integer(), nullable=False),
    Column("executor", NAME, nullable=False),
    Column("name", NAME, nullable=False),
    Column("token_hash", String(64), nullable=False),
    Column("node_id", KEY),
    Column("handle", Text()),
    Column("page", Text()),
    Column("folder", Text()),
    Column("resources", DOCUMENT),
    Column("submitted_at", TIME, nullable=False),
    Column("engine_state", String(8), nullable=False),
    Column("engine_text", Text(), nullable=False),
    Column("engine_since", TIME, nullable=False),
    Column("queue_position", Integer()),
    Column("queue_length", Integer()),
    Column("begin", DOCUMENT, nullable=False),
    Column("starter", String(64)),
    Column("started_at", TIME),
    Column("heard_at", TIME),
    Column("sequence", Integer(), nullable=False),
    Column("answer", DOCUMENT),
    Column("stop", String(8)),
    Column("log_lines", Integer(), nullable=False),
    Column("notes", DOCUMENT),
    Column("outcome", DOCUMENT),
    Column("ended_at", TIME),
    Column("over_at", TIME),
    PrimaryKeyConstraint("execution_id", name="pk_remote_attempt"),
    UniqueConstraint("run_id", "attempt", name="uq_remote_attempt_run_id_attempt"),
    UniqueConstraint("token_hash", name="uq_remote_attempt_token_hash"),
    CheckConstraint(
        "engine_state IN ('ended', 'evicted', 'gone', 'pending', 'running', 'unknown')",
        name="ck_remote_attempt_engine_state",
    ),
    CheckConstraint("over_at IS NULL OR ended_at IS NOT NULL", name="ck_remote_attempt_over_after_end"),
    _partial("ix_remote_attempt_ended", "node_id", where="over_at IS NULL AND ended_at IS NOT NULL"),
    _partial("ix_remote_attempt_open", "node_id", "execution_id", where="over_at IS NULL"),
)
Table(
    "run",
    SCHEMA,
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
    Column("unread_by", DOCUMENT),
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
    Column("keeps_place", Boolean()),
    Column("due_at", TIME),
    Column("awaits", DOCUMENT),
    Column("wake_at", TIME),
    Column("flow_id", KEY),
    Column("max_duration", Float()),
    Column("deadline_at", TIME),
    Column("lost_follow_ups", DOCUMENT),
    PrimaryKeyConstraint("id", name="pk_run").ddl_if(dialect="sqlite"),
    CheckConstraint(
        "(finished_at IS NOT NULL) = (state IN ('cancelled', 'failed', 'skipped', 'success'))",
        name="ck_run_finished_iff_final",
    ).ddl_if(dialect="sqlite"),
    CheckConstraint(
        "(node_id IS NOT NULL) OR state NOT IN ('running', 'scheduled')", name="ck_run_occupying_has_node"
    ).ddl_if(dialect="sqlite"),
    CheckConstraint("wake_at IS NULL OR state = 'suspended'", name="ck_run_only_suspended_wakes").ddl_if(
        dialect="sqlite"
    ),
    CheckConstraint("priority IN ('high', 'low')", name="ck_run_priority").ddl_if(dialect="sqlite"),
    CheckConstraint(
        "skip_reason IS NULL OR finished_at IS NOT NULL AND skip_reason IN ('coalesced', "
        "'expired', 'missed', 'no_job', 'overlap', 'paused', 'predecessor', 'queue_full', "
        "'tolerance', 'unique_key', 'window')",
        name="ck_run_skip_reason",
    ).ddl_if(dialect="sqlite"),
    CheckConstraint(
        "state IN ('cancelled', 'failed', 'running', 'scheduled', 'skipped', 'stuck', "
        "'success', 'suspended', 'waiting')",
        name="ck_run_state",
    ).ddl_if(dialect="sqlite"),
    CheckConstraint("(awaits IS NOT NULL) = (state = 'suspended')", name="ck_run_suspended_iff_awaits").ddl_if(
        dialect="sqlite"
    ),
    CheckConstraint("trigger IN ('api', 'hook', 'manual', 'retry', 'schedule')", name="ck_run_trigger").ddl_if(
        dialect="sqlite"
    ),
    _partial(
        "ix_run_available",
        text("coalesce(due_at, available_at)"),
        where="state IN ('stuck', 'waiting') AND attempt >= 0",
    ),
    _partial(
        "ix_run_cap", "job_name", "cap_key", "id", where="cap_key IS NOT NULL AND attempt = 0 AND finished_at IS NULL"
    ),
    _partial(
        "ix_run_claimable",
        "group_name",
        "state",
        "priority",
        "available_at",
        "id",
        where="state IN ('stuck', 'waiting')",
    ),
    _partial(
        "ix_run_claimable_job",
        "job_name",
        "group_name",
        "state",
        "priority",
        "available_at",
        "id",
        where="state IN ('stuck', 'waiting') AND failures >= 0",
    ),
    _partial(
        "ix_run_concurrent",
        "concurrency_key",
        where="concurrency_key IS NOT NULL AND (state IN ('running', 'scheduled') OR keeps_place "
        "AND attempt > 0 AND finished_at IS NULL)",
    ),
    _partial("ix_run_deadline", "deadline_at", "id", where="deadline_at IS NOT NULL AND finished_at IS NULL"),
    _partial(
        "ix_run_expires", "expires_at", "id", where="expires_at IS NOT NULL AND attempt = 0 AND finished_at IS NULL"
    ),
    _partial("ix_run_finished", "finished_at", where="finished_at IS NOT NULL"),
    _partial("ix_run_flow", "flow_id", "id", where="flow_id IS NOT NULL"),
    _partial("ix_run_flow_open", "flow_id", where="flow_id IS NOT NULL AND finished_at IS NULL"),
    _partial(
        "ix_run_held_concurrency",
        "concurrency_key",
        "state",
        "priority",
        "due_at",
        "id",
        where="due_at IS NOT NULL AND concurrency_key IS NOT NULL AND state IN ('stuck', 'waiting')",
    ),
    _partial(
        "ix_run_held_rate",
        "job_name",
        "rate_key",
        "state",
        "priority",
        "due_at",
        "id",
        where="due_at IS NOT NULL AND rate_key IS NOT NULL AND state IN ('stuck', 'waiting')",
    ),
    Index("ix_run_job", "job_name", "id"),
    _partial("ix_run_key_until", "unique_key", "id", where="key_until IS NOT NULL"),
    _partial("ix_run_live", "id", where="finished_at IS NULL AND attempt >= 0"),
    _partial("ix_run_occupying", "node_id", where="state IN ('running', 'scheduled')"),
    _partial("ix_run_retried", "retried_from", where="retried_from IS NOT NULL"),
    _partial("ix_run_stuck", "group_name", "available_at", "id", where="state = 'stuck'"),
    _partial("ix_run_suspended", "group_name", "id", where="state = 'suspended'"),
    _partial("ix_run_task", "task_id", "id", where="task_id IS NOT NULL"),
    _partial("ix_run_unfinished", "task_id", "id", where="task_id IS NOT NULL AND finished_at IS NULL"),
    _partial("ix_run_unread", "job_name", "id", where="unread_by IS NOT NULL AND finished_at IS NULL"),
    _partial("ix_run_unusual", "state", "id", where="state IN ('cancelled', 'failed', 'skipped')"),
    _partial("ix_run_wake", "wake_at", "id", where="wake_at IS NOT NULL"),
    _partial("uq_run_exclusive", "task_id", where="exclusive AND state IN ('running', 'scheduled')", unique=True),
    _partial("uq_run_occurrence", "task_id", "scheduled_for", where="trigger = 'schedule'", unique=True),
    _partial(
        "uq_run_unique_key",
        "unique_key",
        where="unique_key IS NOT NULL AND state IN ('running', 'scheduled', 'stuck', 'suspended', "
        "'waiting') AND (key_until_start IS NULL OR attempt = 0)",
        unique=True,
    ),
    postgresql_partition_by="LIST ((finished_at IS NULL))",
    sqlite_autoincrement=True,
)
Table(
    "run_awaited",
    SCHEMA,
    Column("run_id", KEY, autoincrement=False, nullable=False),
    Column("step", Text(), nullable=False),
    Column("number", Integer(), autoincrement=False, nullable=False),
    Column("awaited_id", KEY, nullable=False),
    PrimaryKeyConstraint("run_id", "step", "number", name="pk_run_awaited"),
    Index("ix_run_awaited_awaited_id", "awaited_id"),
)
Table(
    "run_label",
    SCHEMA,
    Column("key", NAME, nullable=False),
    Column("value", NAME, nullable=False),
    Column("run_id", KEY, autoincrement=False, nullable=False),
    PrimaryKeyConstraint("key", "value", "run_id", name="pk_run_label"),
    sqlite_with_rowid=False,
)
Table(
    "run_signal",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("run_id", KEY, nullable=False),
    Column("name", Text(), nullable=False),
    Column("payload", DOCUMENT),
    Column("rejects", Text()),
    Column("sender", NAME),
    Column("rank", Integer(), nullable=False),
    Column("sent_at", TIME, nullable=False),
    PrimaryKeyConstraint("id", name="pk_run_signal"),
    Index("ix_run_signal_run", "run_id", "name", "id"),
    sqlite_autoincrement=True,
)
Table(
    "run_step",
    SCHEMA,
    Column("run_id", KEY, autoincrement=False, nullable=False),
    Column("step", Text(), nullable=False),
    Column("failure", Integer(), autoincrement=False, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempt", Integer(), nullable=False),
    Column("started_at", TIME, nullable=False),
    Column("finished_at", TIME),
    Column("wake_at", TIME),
    Column("value", WRITTEN),
    Column("error", Text()),
    Column("used", Boolean(), nullable=False),
    Column("signal", Text()),
    Column("rank", Integer()),
    Column("form", DOCUMENT),
    Column("signal_id", KEY),
    Column("flow_id", KEY),
    Column("cleanup", DOCUMENT),
    PrimaryKeyConstraint("run_id", "step", "failure", name="pk_run_step"),
    CheckConstraint("(failure > 0) = (state = 'failed')", name="ck_run_step_failure_iff_failed"),
    CheckConstraint("(finished_at IS NULL) = (state = 'waiting')", name="ck_run_step_finished_unless_waiting"),
    CheckConstraint("kind IN ('function', 'runs', 'signal', 'sleep')", name="ck_run_step_kind"),
    CheckConstraint("state IN ('done', 'failed', 'rejected', 'timed_out', 'waiting')", name="ck_run_step_state"),
    _partial("ix_run_step_awaits_runs", "flow_id", where="kind = 'runs' AND state = 'waiting'"),
)
Table(
    "secret",
    SCHEMA,
    Column("name", NAME, nullable=False),
    Column("sealed", Text(), nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("created_by", NAME, nullable=False),
    Column("updated_at", TIME, nullable=False),
    Column("updated_by", NAME, nullable=False),
    PrimaryKeyConstraint("name", name="pk_secret"),
)
Table(
    "signal_link",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("token_hash", String(64), nullable=False),
    Column("run_id", KEY, nullable=False),
    Column("step", Text(), nullable=False),
    Column("page", DOCUMENT),
    Column("created_at", TIME, nullable=False),
    Column("used_at", TIME),
    PrimaryKeyConstraint("id", name="pk_signal_link"),
    UniqueConstraint("token_hash", name="uq_signal_link_token_hash"),
    Index("ix_signal_link_run_id", "run_id"),
    sqlite_autoincrement=True,
)
Table(
    "skipped_occurrence",
    SCHEMA,
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
    Index("ix_skipped_occurrence_at", "at"),
    Index("ix_skipped_occurrence_task", "task_id", "id"),
    sqlite_autoincrement=True,
)
Table(
    "user_account",
    SCHEMA,
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
Table(
    "alarm_timer",
    SCHEMA,
    Column("alarm_id", KEY, autoincrement=False, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("about", KEY, autoincrement=False, nullable=False),
    Column("due_at", TIME, nullable=False),
    PrimaryKeyConstraint("alarm_id", "kind", "about", name="pk_alarm_timer"),
    ForeignKeyConstraint(["alarm_id"], ["alarm.id"], name="fk_alarm_timer_alarm_id", ondelete="CASCADE"),
    CheckConstraint("kind IN ('look', 'running', 'silence')", name="ck_alarm_timer_kind"),
    Index("ix_alarm_timer_due_at", "due_at"),
)
Table(
    "api_token",
    SCHEMA,
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
    Index("ix_api_token_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "delivery_firing",
    SCHEMA,
    Column("firing_id", KEY, autoincrement=False, nullable=False),
    Column("delivery_id", KEY, autoincrement=False, nullable=False),
    PrimaryKeyConstraint("firing_id", "delivery_id", name="pk_delivery_firing"),
    ForeignKeyConstraint(["delivery_id"], ["delivery.id"], name="fk_delivery_firing_delivery_id", ondelete="CASCADE"),
    Index("ix_delivery_firing_delivery", "delivery_id"),
)
Table(
    "device_code",
    SCHEMA,
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
    Index("ix_device_code_consumed_at", "consumed_at"),
    Index("ix_device_code_expires_at", "expires_at"),
    Index("ix_device_code_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "one_time_link",
    SCHEMA,
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
    Index("ix_one_time_link_expires_at", "expires_at"),
    Index("ix_one_time_link_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "passkey",
    SCHEMA,
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
    Index("ix_passkey_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "provider_attempt",
    SCHEMA,
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
    Index("ix_provider_attempt_consumed_at", "consumed_at"),
    Index("ix_provider_attempt_expires_at", "expires_at"),
    Index("ix_provider_attempt_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "provider_identity",
    SCHEMA,
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
    Index("ix_provider_identity_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "saved_view",
    SCHEMA,
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
    Index("ix_saved_view_account_id", "account_id"),
    sqlite_autoincrement=True,
)
Table(
    "session",
    SCHEMA,
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
    Index("ix_session_expires_at", "expires_at"),
    Index("ix_session_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "webauthn_challenge",
    SCHEMA,
    Column("id", KEY, nullable=False),
    Column("challenge_hash", String(64), nullable=False),
    Column("user_id", KEY),
    Column("bound_to", String(64), nullable=False),
    Column("purpose", String(12), nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("expires_at", TIME, nullable=False),
    Column("consumed_at", TIME),
    PrimaryKeyConstraint("id", name="pk_webauthn_challenge"),
    ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_webauthn_challenge_user_id", ondelete="CASCADE"),
    UniqueConstraint("challenge_hash", name="uq_webauthn_challenge_challenge_hash"),
    CheckConstraint("purpose IN ('register', 'sign_in')", name="ck_webauthn_challenge_purpose"),
    Index("ix_webauthn_challenge_bound_to", "bound_to"),
    Index("ix_webauthn_challenge_consumed_at", "consumed_at"),
    Index("ix_webauthn_challenge_expires_at", "expires_at"),
    Index("ix_webauthn_challenge_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "refresh_token",
    SCHEMA,
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
    Index("ix_refresh_token_expires_at", "expires_at"),
    Index("ix_refresh_token_family", "family"),
    Index("ix_refresh_token_parent_id", "parent_id"),
    Index("ix_refresh_token_revoked_at", "revoked_at"),
    Index("ix_refresh_token_session_id", "session_id"),
    Index("ix_refresh_token_user_id", "user_id"),
    sqlite_autoincrement=True,
)
# What makes the parts of tables on PostgreSQL.
PARTS: dict[str, list[str]] = {
    "event": [
        ("CREATE TABLE {schema}.event_1 PARTITION OF {schema}.event FOR VALUES FROM (MINVALUE) TO (10000000)"),
        ("CREATE TABLE {schema}.event_2 PARTITION OF {schema}.event FOR VALUES FROM (10000000) TO (MAXVALUE)"),
        ("ALTER TABLE {schema}.event_1 ADD CONSTRAINT uq_event_seq_1 UNIQUE (seq)"),
        ("ALTER TABLE {schema}.event_2 ADD CONSTRAINT uq_event_seq_2 UNIQUE (seq)"),
        ("CREATE INDEX ix_event_at_1 ON {schema}.event_1 (at)"),
        ("CREATE INDEX ix_event_at_2 ON {schema}.event_2 (at)"),
        ("CREATE INDEX ix_event_unpublished_1 ON {schema}.event_1 (id) WHERE seq IS NULL"),
        ("CREATE INDEX ix_event_unpublished_2 ON {schema}.event_2 (id) WHERE seq IS NULL"),
    ],
    "execution_log": [
        (
            "CREATE TABLE {schema}.execution_log_1 PARTITION OF {schema}.execution_log FOR VALUES "
            "FROM (MINVALUE) TO (10000000)"
        ),
        (
            "CREATE TABLE {schema}.execution_log_2 PARTITION OF {schema}.execution_log FOR VALUES "
            "FROM (10000000) TO (MAXVALUE)"
        ),
    ],
    "job_execution": [
        (
            "CREATE TABLE {schema}.job_execution_open PARTITION OF {schema}.job_execution FOR "
            "VALUES IN (true) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, "
            "autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)"
        ),
        (
            "ALTER TABLE {schema}.job_execution_open ADD CONSTRAINT ck_job_execution_open_part "
            "CHECK (success IS NULL AND outcome IS NULL), ADD CONSTRAINT ck_job_execution_trigger "
            "CHECK (trigger = ANY ('{api, hook, manual, retry, schedule}')), ADD CONSTRAINT "
            "pk_job_execution PRIMARY KEY (id), ADD CONSTRAINT uq_job_execution_run_id_attempt "
            "UNIQUE (run_id, attempt)"
        ),
        (
            "CREATE TABLE {schema}.job_execution_done PARTITION OF {schema}.job_execution FOR "
            "VALUES IN (false) PARTITION BY RANGE (id)"
        ),
        (
            "ALTER TABLE {schema}.job_execution_done ADD CONSTRAINT ck_job_execution_done_part "
            "CHECK (success IS NOT NULL AND outcome IS NOT NULL), ADD CONSTRAINT "
            "ck_job_execution_failure_has_message CHECK (success IS NULL OR success OR "
            "error_message IS NOT NULL), ADD CONSTRAINT ck_job_execution_outcome CHECK (outcome "
            "IS NULL OR outcome = ANY ('{cancelled, failed, handed_back, lost, snoozed, success, "
            "suspended, timed_out}')), ADD CONSTRAINT ck_job_execution_trigger CHECK (trigger = "
            "ANY ('{api, hook, manual, retry, schedule}')), ADD CONSTRAINT pk_job_execution_done "
            "PRIMARY KEY (id)"
        ),
        (
            "CREATE TABLE {schema}.job_execution_done_1 PARTITION OF {schema}.job_execution_done "
            "FOR VALUES FROM (MINVALUE) TO (10000000)"
        ),
        (
            "CREATE TABLE {schema}.job_execution_done_2 PARTITION OF {schema}.job_execution_done "
            "FOR VALUES FROM (10000000) TO (MAXVALUE)"
        ),
        (
            "ALTER TABLE {schema}.job_execution_done_1 ADD CONSTRAINT "
            "uq_job_execution_run_id_attempt_done_1 UNIQUE (run_id, attempt)"
        ),
        (
            "ALTER TABLE {schema}.job_execution_done_2 ADD CONSTRAINT "
            "uq_job_execution_run_id_attempt_done_2 UNIQUE (run_id, attempt)"
        ),
        (
            "CREATE INDEX ix_job_execution_completed_at_done_1 ON {schema}.job_execution_done_1 "
            "(completed_at) WHERE completed_at IS NOT NULL"
        ),
        (
            "CREATE INDEX ix_job_execution_completed_at_done_2 ON {schema}.job_execution_done_2 "
            "(completed_at) WHERE completed_at IS NOT NULL"
        ),
        ("CREATE INDEX ix_job_execution_failed_done_1 ON {schema}.job_execution_done_1 (id) WHERE success = false"),
        ("CREATE INDEX ix_job_execution_failed_done_2 ON {schema}.job_execution_done_2 (id) WHERE success = false"),
        (
            "CREATE INDEX ix_job_execution_failed_job_done_1 ON {schema}.job_execution_done_1 "
            "(job_name, id) WHERE success = false"
        ),
        (
            "CREATE INDEX ix_job_execution_failed_job_done_2 ON {schema}.job_execution_done_2 "
            "(job_name, id) WHERE success = false"
        ),
        ("CREATE INDEX ix_job_execution_job_done_1 ON {schema}.job_execution_done_1 (job_name, id)"),
        ("CREATE INDEX ix_job_execution_job_done_2 ON {schema}.job_execution_done_2 (job_name, id)"),
        ("CREATE INDEX ix_job_execution_started_at_done_1 ON {schema}.job_execution_done_1 (started_at)"),
        ("CREATE INDEX ix_job_execution_started_at_done_2 ON {schema}.job_execution_done_2 (started_at)"),
        (
            "CREATE INDEX ix_job_execution_task_done_1 ON {schema}.job_execution_done_1 (task_id, "
            "id) WHERE task_id IS NOT NULL"
        ),
        (
            "CREATE INDEX ix_job_execution_task_done_2 ON {schema}.job_execution_done_2 (task_id, "
            "id) WHERE task_id IS NOT NULL"
        ),
        (
            "CREATE INDEX ix_job_execution_task_name_done_1 ON {schema}.job_execution_done_1 "
            "(task_name, id) WHERE task_name IS NOT NULL"
        ),
        (
            "CREATE INDEX ix_job_execution_task_name_done_2 ON {schema}.job_execution_done_2 "
            "(task_name, id) WHERE task_name IS NOT NULL"
        ),
        (
            "CREATE INDEX ix_job_execution_trigger_done_1 ON {schema}.job_execution_done_1 "
            "(trigger, id) WHERE trigger IN ('hook', 'manual', 'retry')"
        ),
        (
            "CREATE INDEX ix_job_execution_trigger_done_2 ON {schema}.job_execution_done_2 "
            "(trigger, id) WHERE trigger IN ('hook', 'manual', 'retry')"
        ),
        (
            "CREATE INDEX ix_job_execution_unusual_done_1 ON {schema}.job_execution_done_1 "
            "(outcome, id) WHERE outcome IN ('cancelled', 'handed_back', 'lost', 'snoozed', "
            "'suspended', 'timed_out')"
        ),
        (
            "CREATE INDEX ix_job_execution_unusual_done_2 ON {schema}.job_execution_done_2 "
            "(outcome, id) WHERE outcome IN ('cancelled', 'handed_back', 'lost', 'snoozed', "
            "'suspended', 'timed_out')"
        ),
    ],
    "run": [
        (
            "CREATE TABLE {schema}.run_open PARTITION OF {schema}.run FOR VALUES IN (true) WITH "
            "(fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, "
            "autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)"
        ),
        (
            "ALTER TABLE {schema}.run_open ADD CONSTRAINT ck_run_open_part CHECK (state = ANY "
            "('{running, scheduled, stuck, suspended, waiting}') AND skip_reason IS NULL), ADD "
            "CONSTRAINT ck_run_occupying_has_node CHECK ((node_id IS NOT NULL) OR state <> ALL "
            "('{running, scheduled}')), ADD CONSTRAINT ck_run_only_suspended_wakes CHECK (wake_at "
            "IS NULL OR state = 'suspended'), ADD CONSTRAINT ck_run_priority CHECK (priority = "
            "ANY ('{high, low}')), ADD CONSTRAINT ck_run_suspended_iff_awaits CHECK ((awaits IS "
            "NOT NULL) = (state = 'suspended')), ADD CONSTRAINT ck_run_trigger CHECK (trigger = "
            "ANY ('{api, hook, manual, retry, schedule}')), ADD CONSTRAINT pk_run PRIMARY KEY "
            "(id)"
        ),
        ("CREATE TABLE {schema}.run_done PARTITION OF {schema}.run FOR VALUES IN (false) PARTITION BY RANGE (id)"),
        (
            "ALTER TABLE {schema}.run_done ADD CONSTRAINT ck_run_done_part CHECK (state = ANY "
            "('{cancelled, failed, skipped, success}')), ADD CONSTRAINT "
            "ck_run_only_suspended_wakes CHECK (wake_at IS NULL OR state = 'suspended'), ADD "
            "CONSTRAINT ck_run_priority CHECK (priority = ANY ('{high, low}')), ADD CONSTRAINT "
            "ck_run_skip_reason CHECK (skip_reason IS NULL OR finished_at IS NOT NULL AND "
            "skip_reason = ANY ('{coalesced, expired, missed, no_job, overlap, paused, "
            "predecessor, queue_full, tolerance, unique_key, window}')), ADD CONSTRAINT "
            "ck_run_suspended_iff_awaits CHECK ((awaits IS NOT NULL) = (state = 'suspended')), "
            "ADD CONSTRAINT ck_run_trigger CHECK (trigger = ANY ('{api, hook, manual, retry, "
            "schedule}')), ADD CONSTRAINT pk_run_done PRIMARY KEY (id)"
        ),
        ("CREATE TABLE {schema}.run_done_1 PARTITION OF {schema}.run_done FOR VALUES FROM (MINVALUE) TO (10000000)"),
        ("CREATE TABLE {schema}.run_done_2 PARTITION OF {schema}.run_done FOR VALUES FROM (10000000) TO (MAXVALUE)"),
        (
            "CREATE INDEX ix_run_available ON {schema}.run_open (coalesce(due_at, available_at)) "
            "WHERE state IN ('stuck', 'waiting') AND attempt >= 0"
        ),
        (
            "CREATE INDEX ix_run_cap ON {schema}.run_open (job_name, cap_key, id) WHERE cap_key "
            "IS NOT NULL AND attempt = 0 AND finished_at IS NULL"
        ),
        (
            "CREATE INDEX ix_run_claimable ON {schema}.run_open (group_name, state, priority, "
            "available_at, id) WHERE state IN ('stuck', 'waiting')"
        ),
        (
            "CREATE INDEX ix_run_claimable_job ON {schema}.run_open (job_name, group_name, state, "
            "priority, available_at, id) WHERE state IN ('stuck', 'waiting') AND failures >= 0"
        ),
        (
            "CREATE INDEX ix_run_concurrent ON {schema}.run_open (concurrency_key) WHERE "
            "concurrency_key IS NOT NULL AND (state IN ('running', 'scheduled') OR keeps_place "
            "AND attempt > 0 AND finished_at IS NULL)"
        ),
        (
            "CREATE INDEX ix_run_deadline ON {schema}.run_open (deadline_at, id) WHERE "
            "deadline_at IS NOT NULL AND finished_at IS NULL"
        ),
        (
            "CREATE INDEX ix_run_expires ON {schema}.run_open (expires_at, id) WHERE expires_at "
            "IS NOT NULL AND attempt = 0 AND finished_at IS NULL"
        ),
        ("CREATE INDEX ix_run_finished_done_1 ON {schema}.run_done_1 (finished_at) WHERE finished_at IS NOT NULL"),
        ("CREATE INDEX ix_run_finished_done_2 ON {schema}.run_done_2 (finished_at) WHERE finished_at IS NOT NULL"),
        ("CREATE INDEX ix_run_flow ON {schema}.run_open (flow_id, id) WHERE flow_id IS NOT NULL"),
        ("CREATE INDEX ix_run_flow_done_1 ON {schema}.run_done_1 (flow_id, id) WHERE flow_id IS NOT NULL"),
        ("CREATE INDEX ix_run_flow_done_2 ON {schema}.run_done_2 (flow_id, id) WHERE flow_id IS NOT NULL"),
        (
            "CREATE INDEX ix_run_held_concurrency ON {schema}.run_open (concurrency_key, state, "
            "priority, due_at, id) WHERE due_at IS NOT NULL AND concurrency_key IS NOT NULL AND "
            "state IN ('stuck', 'waiting')"
        ),
        (
            "CREATE INDEX ix_run_held_rate ON {schema}.run_open (job_name, rate_key, state, "
            "priority, due_at, id) WHERE due_at IS NOT NULL AND rate_key IS NOT NULL AND state IN "
            "('stuck', 'waiting')"
        ),
        ("CREATE INDEX ix_run_job ON {schema}.run_open (job_name, id)"),
        ("CREATE INDEX ix_run_job_done_1 ON {schema}.run_done_1 (job_name, id)"),
        ("CREATE INDEX ix_run_job_done_2 ON {schema}.run_done_2 (job_name, id)"),
        ("CREATE INDEX ix_run_key_until ON {schema}.run_open (unique_key, id) WHERE key_until IS NOT NULL"),
        ("CREATE INDEX ix_run_key_until_done_1 ON {schema}.run_done_1 (unique_key, id) WHERE key_until IS NOT NULL"),
        ("CREATE INDEX ix_run_key_until_done_2 ON {schema}.run_done_2 (unique_key, id) WHERE key_until IS NOT NULL"),
        ("CREATE INDEX ix_run_occupying ON {schema}.run_open (node_id) WHERE state IN ('running', 'scheduled')"),
        ("CREATE INDEX ix_run_retried ON {schema}.run_open (retried_from) WHERE retried_from IS NOT NULL"),
        ("CREATE INDEX ix_run_retried_done_1 ON {schema}.run_done_1 (retried_from) WHERE retried_from IS NOT NULL"),
        ("CREATE INDEX ix_run_retried_done_2 ON {schema}.run_done_2 (retried_from) WHERE retried_from IS NOT NULL"),
        ("CREATE INDEX ix_run_stuck ON {schema}.run_open (group_name, available_at, id) WHERE state = 'stuck'"),
        ("CREATE INDEX ix_run_suspended ON {schema}.run_open (group_name, id) WHERE state = 'suspended'"),
        ("CREATE INDEX ix_run_task ON {schema}.run_open (task_id, id) WHERE task_id IS NOT NULL"),
        ("CREATE INDEX ix_run_task_done_1 ON {schema}.run_done_1 (task_id, id) WHERE task_id IS NOT NULL"),
        ("CREATE INDEX ix_run_task_done_2 ON {schema}.run_done_2 (task_id, id) WHERE task_id IS NOT NULL"),
        (
            "CREATE INDEX ix_run_unread ON {schema}.run_open (job_name, id) WHERE unread_by IS "
            "NOT NULL AND finished_at IS NULL"
        ),
        (
            "CREATE INDEX ix_run_unusual_done_1 ON {schema}.run_done_1 (state, id) WHERE state IN "
            "('cancelled', 'failed', 'skipped')"
        ),
        (
            "CREATE INDEX ix_run_unusual_done_2 ON {schema}.run_done_2 (state, id) WHERE state IN "
            "('cancelled', 'failed', 'skipped')"
        ),
        ("CREATE INDEX ix_run_wake ON {schema}.run_open (wake_at, id) WHERE wake_at IS NOT NULL"),
        (
            "CREATE UNIQUE INDEX uq_run_exclusive ON {schema}.run_open (task_id) WHERE exclusive "
            "AND state IN ('running', 'scheduled')"
        ),
        (
            "CREATE UNIQUE INDEX uq_run_occurrence ON {schema}.run_open (task_id, scheduled_for) "
            "WHERE trigger = 'schedule'"
        ),
        (
            "CREATE UNIQUE INDEX uq_run_occurrence_done_1 ON {schema}.run_done_1 (task_id, "
            "scheduled_for) WHERE trigger = 'schedule'"
        ),
        (
            "CREATE UNIQUE INDEX uq_run_occurrence_done_2 ON {schema}.run_done_2 (task_id, "
            "scheduled_for) WHERE trigger = 'schedule'"
        ),
        (
            "CREATE UNIQUE INDEX uq_run_unique_key ON {schema}.run_open (unique_key) WHERE "
            "unique_key IS NOT NULL AND state IN ('running', 'scheduled', 'stuck', 'suspended', "
            "'waiting') AND (key_until_start IS NULL OR attempt = 0)"
        ),
    ],
}
