"""The tables of alarms: conditions, their timers and firings, and the channels and deliveries that notify people."""

from sqlalchemy import Boolean, CheckConstraint, Column, ForeignKey, Index, Integer, String, Table, Text

from .types import NO_REUSE, JsonDocument, Key, Name, UtcDateTime, key, metadata, partial_index

alarm = Table(
    "alarm",
    metadata,
    key(),
    Column("name", Name, nullable=False, unique=True),
    Column("description", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("severity", String(8), nullable=False),
    Column("condition", String(12), nullable=False),
    Column("subject_kind", String(8), nullable=False),
    # No value: every node, every webhook, or the database.
    Column("subject", Name),
    Column("settings", JsonDocument, nullable=False),
    Column("channels", JsonDocument, nullable=False),
    Column("source", String(4), nullable=False),
    # The job whose code defines it, or the set of its file.
    Column("owner", Name),
    # Failed runs since the last success; of a share the outcomes of the last runs as bits, behind a leading 1.
    Column("streak", Key, nullable=False),
    Column("silenced_until", UtcDateTime),
    Column("silenced_by", Name),
    Column("silence_reason", Text),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    CheckConstraint(
        "condition IN ('backlog', 'database', 'empty', 'failing', 'idle', 'late', 'new_error', 'node', 'overdue', "
        "'skew', 'slow', 'webhook')",
        name="condition",
    ),
    CheckConstraint("severity IN ('critical', 'info', 'warning')", name="severity"),
    CheckConstraint("source IN ('api', 'code', 'file')", name="source"),
    CheckConstraint("(source = 'api') = (owner IS NULL)", name="owned_iff_defined"),
    CheckConstraint(
        "subject_kind IN ('database', 'flow', 'group', 'job', 'node', 'task', 'webhook')", name="subject_kind"
    ),
    **NO_REUSE,
)

alarm_timer = Table(
    "alarm_timer",
    metadata,
    Column("alarm_id", Key, ForeignKey("alarm.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kind", String(8), primary_key=True),
    # The execution or the flow that is watched; 0 = the timer is about the alarm as a whole.
    Column("about", Key, primary_key=True, autoincrement=False),
    Column("due_at", UtcDateTime, nullable=False, index=True),
    CheckConstraint("kind IN ('look', 'running', 'silence')", name="kind"),
)

alarm_firing = Table(
    "alarm_firing",
    metadata,
    key(),
    # Without a foreign key: the history outlives its alarm.
    Column("alarm_id", Key, nullable=False),
    Column("alarm_name", Name, nullable=False),
    Column("condition", String(12), nullable=False),
    Column("severity", String(8), nullable=False),
    Column("subject_kind", String(8), nullable=False),
    Column("subject", Name, nullable=False),
    Column("run_id", Key),
    Column("execution_id", Key),
    Column("flow_id", Key),
    Column("scheduled_for", UtcDateTime),
    Column("sentence", Text, nullable=False),
    Column("explanation", Text),
    Column("policy", JsonDocument, nullable=False),
    # Those that the alarm named, and those whose routes took it.
    Column("channels", JsonDocument, nullable=False),
    Column("last_success_at", UtcDateTime),
    Column("fired_at", UtcDateTime, nullable=False),
    Column("resolved_at", UtcDateTime),
    Column("acknowledged_at", UtcDateTime),
    Column("acknowledged_by", Name),
    Column("note", Text),
    # False while its alarm is silenced: nobody was notified of it.
    Column("notified", Boolean, nullable=False),
    partial_index("uq_alarm_firing_open", "resolved_at IS NULL", "alarm_id", "subject", unique=True),
    Index("ix_alarm_firing_alarm", "alarm_id", "id"),
    Index("ix_alarm_firing_fired_at", "fired_at"),
    **NO_REUSE,
)

channel = Table(
    "channel",
    metadata,
    Column("name", Name, primary_key=True),
    Column("kind", String(12), nullable=False),
    Column("settings", JsonDocument, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("updated_by", Name, nullable=False),
    # The set of the file that defines it.
    Column("set_name", Name),
    Column("version", Integer, nullable=False),
    # Of webhooks, which are channels with a document: the subscription whose results they get, and its settings.
    Column("document", Text),
    Column("variables", JsonDocument),
    Column("description", Text),
    Column("ordered", Boolean),
    Column("enabled", Boolean),
    # The account with whose rights the document is executed; no value: the local administrator, or job code.
    Column("account_id", Key),
    # How the receiver does: failed tries in a row, since when, until when it is left alone, and the last success.
    Column("failures", Integer),
    Column("failing_since", UtcDateTime),
    Column("blocked_until", UtcDateTime),
    Column("delivered_at", UtcDateTime),
    # Why nothing is sent until somebody resumes it.
    Column("stop_reason", String(8)),
    Column("stop_message", Text),
    Column("stopped_at", UtcDateTime),
    CheckConstraint("kind IN ('alertmanager', 'apprise', 'chat', 'mail', 'webhook')", name="kind"),
    CheckConstraint("document IS NULL OR kind = 'webhook'", name="documents_of_webhooks"),
    CheckConstraint(
        "(document IS NULL) = (enabled IS NULL) AND (document IS NULL) = (ordered IS NULL) "
        "AND (document IS NULL) = (failures IS NULL)",
        name="whole_webhooks",
    ),
    CheckConstraint("stop_reason IN ('failing', 'gone', 'parked', 'refused')", name="stop_reason"),
    CheckConstraint("(stop_reason IS NULL) = (stopped_at IS NULL)", name="stopped_has_reason"),
)

delivery = Table(
    "delivery",
    metadata,
    key(),
    # The same over all tries, so that a receiver can drop a repetition.
    Column("message_id", String(40), nullable=False, unique=True),
    Column("channel", Name, nullable=False),
    Column("event", String(8), nullable=False),
    Column("payload", JsonDocument, nullable=False),
    # Of webhooks: everything up to it is in this message or in an earlier one.
    Column("cursor", String(60)),
    Column("state", String(8), nullable=False),
    Column("attempts", Integer, nullable=False),
    # The node that sends it; if that is gone, another one sends it at once.
    Column("node_id", Key),
    Column("created_at", UtcDateTime, nullable=False),
    Column("next_attempt_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("status", Integer),
    Column("answer", Text),
    Column("error", Text),
    CheckConstraint("event IN ('events', 'fired', 'resolved', 'test')", name="event"),
    CheckConstraint("state IN ('failed', 'pending', 'sent')", name="state"),
    CheckConstraint("(state = 'pending') = (next_attempt_at IS NOT NULL)", name="pending_has_time"),
    partial_index("ix_delivery_pending", "state = 'pending'", "next_attempt_at", "id"),
    partial_index("ix_delivery_waiting", "state = 'pending'", "channel", "id"),
    Index("ix_delivery_channel", "channel", "id"),
    Index("ix_delivery_created_at", "created_at"),
    **NO_REUSE,
)

delivery_firing = Table(
    "delivery_firing",
    metadata,
    # Without a foreign key to the firing: either is pruned by its own age.
    Column("firing_id", Key, primary_key=True, autoincrement=False),
    Column("delivery_id", Key, ForeignKey("delivery.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Index("ix_delivery_firing_delivery", "delivery_id"),
)

hook = Table(
    "hook",
    metadata,
    Column("name", Name, primary_key=True),
    Column("job_name", Name, nullable=False),
    Column("kind", String(8), nullable=False),
    # The names of secrets.
    Column("secrets", JsonDocument, nullable=False),
    # No value: the members of a payload are the arguments.
    Column("argument", Name),
    Column("description", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    # The set of the file that defines it.
    Column("set_name", Name),
    CheckConstraint("kind IN ('bearer', 'github', 'standard', 'stripe')", name="kind"),
)

public_address = Table(
    "public_address",
    metadata,
    key(),
    Column("kind", String(8), nullable=False),
    # SHA-256 of the part that nobody guesses.
    Column("token_hash", String(64), nullable=False, unique=True),
    # No value: every task.
    Column("task_name", Name),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", Name, nullable=False),
    CheckConstraint("kind IN ('badge', 'calendar', 'ping')", name="kind"),
    **NO_REUSE,
)

consumer = Table(
    "consumer",
    metadata,
    Column("name", Name, primary_key=True),
    # Its place in the order of events.
    Column("cursor", String(60), nullable=False),
    # Counts the changes of what it looks for.
    Column("version", Key, nullable=False),
    # The node that reads now, and until when the others leave it that.
    Column("holder", Key),
    Column("held_until", UtcDateTime),
)

failure_mark = Table(
    "failure_mark",
    metadata,
    Column("fingerprint", String(16), primary_key=True),
    Column("job_name", Name, nullable=False),
    Column("silenced_until", UtcDateTime),
    Column("silenced_by", Name),
    Column("silence_reason", Text),
    Column("solved_at", UtcDateTime),
    Column("solved_by", Name),
    # No value: the present version of the code is the one that solves it.
    Column("solved_in", Name),
    # The signatures of versions that had it. No value: none of them may fail so any more.
    Column("old_versions", JsonDocument),
    Column("updated_at", UtcDateTime, nullable=False),
)
