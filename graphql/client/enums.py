# Made from graphql/schema.graphql by `make schema`; do not edit it.
"""The enums of the API. A value that this version does not know yet becomes a member of its own."""

from .base.shapes import OpenEnum, StateOfRun


class ErrorCode(OpenEnum):
    """Why an input was refused."""

    ACCOUNT_DISABLED = "ACCOUNT_DISABLED"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    CODE_TASK = "CODE_TASK"
    FORBIDDEN = "FORBIDDEN"
    IDEMPOTENCY_CONFLICT = "IDEMPOTENCY_CONFLICT"
    INVALID_ARGS = "INVALID_ARGS"
    INVALID_INPUT = "INVALID_INPUT"
    INVALID_LINK = "INVALID_LINK"
    INVALID_SCHEDULE = "INVALID_SCHEDULE"
    INVALID_STATE = "INVALID_STATE"
    IN_USE = "IN_USE"
    LAST_ADMINISTRATOR = "LAST_ADMINISTRATOR"
    LAST_WAY_IN = "LAST_WAY_IN"
    NEVER_FIRES = "NEVER_FIRES"
    NOT_FOUND = "NOT_FOUND"
    NO_ENCRYPTION_KEY = "NO_ENCRYPTION_KEY"
    NO_ACCOUNT = "NO_ACCOUNT"
    NO_CONDITION = "NO_CONDITION"
    OTHER_SET = "OTHER_SET"
    OVERLAP = "OVERLAP"
    QUEUE_FULL = "QUEUE_FULL"
    SIGN_IN_NEEDED = "SIGN_IN_NEEDED"
    STEP_MISMATCH = "STEP_MISMATCH"
    TOO_MANY_ARCHIVED = "TOO_MANY_ARCHIVED"
    TOO_MANY_DEVICES = "TOO_MANY_DEVICES"
    UNKNOWN_JOB = "UNKNOWN_JOB"
    UNKNOWN_STEP = "UNKNOWN_STEP"
    UNKNOWN_TIMEZONE = "UNKNOWN_TIMEZONE"
    UNREADABLE = "UNREADABLE"
    UNREADABLE_ROW = "UNREADABLE_ROW"
    VERSION_CONFLICT = "VERSION_CONFLICT"


class EventKind(OpenEnum):
    """The subject of an event."""

    TASK_CREATED = "TASK_CREATED"
    TASK_UPDATED = "TASK_UPDATED"
    TASK_DELETED = "TASK_DELETED"
    RUN_CREATED = "RUN_CREATED"
    RUN_UPDATED = "RUN_UPDATED"
    EXECUTION_STARTED = "EXECUTION_STARTED"
    EXECUTION_FINISHED = "EXECUTION_FINISHED"
    STEP_FINISHED = "STEP_FINISHED"
    OCCURRENCE_SKIPPED = "OCCURRENCE_SKIPPED"
    NODE_STARTED = "NODE_STARTED"
    NODE_UPDATED = "NODE_UPDATED"
    NODE_STOPPED = "NODE_STOPPED"
    GROUP_UPDATED = "GROUP_UPDATED"
    FLOW_CREATED = "FLOW_CREATED"
    FLOW_UPDATED = "FLOW_UPDATED"
    ALARM_FIRED = "ALARM_FIRED"
    ALARM_RESOLVED = "ALARM_RESOLVED"
    ALARM_UPDATED = "ALARM_UPDATED"
    CHANNEL_UPDATED = "CHANNEL_UPDATED"
    WEBHOOK_UPDATED = "WEBHOOK_UPDATED"
    DELIVERIES_UPDATED = "DELIVERIES_UPDATED"
    FAILURES_UPDATED = "FAILURES_UPDATED"
    RESYNC = "RESYNC"


class ExplanationCode(OpenEnum):
    """The kind of an explanation, of a task or of a run."""

    BLOCKED = "BLOCKED"
    BLOCKS_LOOP = "BLOCKS_LOOP"
    CANCELLED = "CANCELLED"
    CANCELLING = "CANCELLING"
    CANNOT_STOP = "CANNOT_STOP"
    DUE = "DUE"
    FAILED = "FAILED"
    FINISHED = "FINISHED"
    FOLLOW_UP_LOST = "FOLLOW_UP_LOST"
    GROUP_LIMIT = "GROUP_LIMIT"
    GROUP_PAUSED = "GROUP_PAUSED"
    IN_LINE = "IN_LINE"
    KEY_LIMIT = "KEY_LIMIT"
    LOOP_BLOCKED = "LOOP_BLOCKED"
    NEXT = "NEXT"
    NOT_STARTED = "NOT_STARTED"
    NOT_YET = "NOT_YET"
    NODE_STALLED = "NODE_STALLED"
    NO_CHILD_PROCESS = "NO_CHILD_PROCESS"
    NO_JOB = "NO_JOB"
    NO_NODE = "NO_NODE"
    NO_SLOT = "NO_SLOT"
    NO_TAKER = "NO_TAKER"
    PAUSED = "PAUSED"
    PUT_OFF = "PUT_OFF"
    QUEUED = "QUEUED"
    RATE_LIMIT = "RATE_LIMIT"
    RETRYING = "RETRYING"
    RETRY_LATER = "RETRY_LATER"
    RUNNING = "RUNNING"
    AT_ENGINE = "AT_ENGINE"
    SCHEDULED = "SCHEDULED"
    SKIPPED = "SKIPPED"
    SLEEPING = "SLEEPING"
    SNOOZED = "SNOOZED"
    SUCCESS = "SUCCESS"
    TIMING_OUT = "TIMING_OUT"
    WAITING = "WAITING"
    TOO_FEW_SLOTS = "TOO_FEW_SLOTS"
    WAITS_FOR_RUNS = "WAITS_FOR_RUNS"
    WAITS_FOR_SIGNAL = "WAITS_FOR_SIGNAL"
    WAITS_FOR_VERSION = "WAITS_FOR_VERSION"
    WINDOW_ENDED = "WINDOW_ENDED"


class FlowCondition(OpenEnum):
    """After which ends of the runs before it a run of a flow starts; it always waits until all of them are over."""

    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    ALWAYS = "ALWAYS"


class FlowState(OpenEnum):
    """The state of a flow."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class Isolation(OpenEnum):
    """Where a job runs."""

    ASYNC = "ASYNC"
    THREAD = "THREAD"
    PROCESS = "PROCESS"
    REMOTE = "REMOTE"


class LogLevel(OpenEnum):
    """How important a log line is."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


class MisfirePolicy(OpenEnum):
    """The rule for due occurrences when a task is late by more than the misfire grace."""

    LAST = "LAST"
    ALL = "ALL"
    NONE = "NONE"


class NodeState(OpenEnum):
    """The life of a node."""

    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
    STALLED = "STALLED"
    DRAINING = "DRAINING"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    EXPIRED = "EXPIRED"


class Outcome(OpenEnum):
    """How an execution ended."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    LOST = "LOST"
    CANCELLED = "CANCELLED"
    SNOOZED = "SNOOZED"
    HANDED_BACK = "HANDED_BACK"
    SUSPENDED = "SUSPENDED"


class OverlapPolicy(OpenEnum):
    """The rule for an occurrence while another run of the task is unfinished."""

    SKIP = "SKIP"
    QUEUE = "QUEUE"
    ALLOW = "ALLOW"
    REPLACE = "REPLACE"


class PlaceHold(OpenEnum):
    """The time for which a run takes its place among those of its concurrency key."""

    RUNNING = "RUNNING"
    UNFINISHED = "UNFINISHED"


class PreviewOutcome(OpenEnum):
    """The fate of a run that is asked for."""

    ENQUEUED = "ENQUEUED"
    DEDUPLICATED = "DEDUPLICATED"
    RENEWED = "RENEWED"
    DROPPED = "DROPPED"
    REFUSED = "REFUSED"


class Priority(OpenEnum):
    """The two classes within a group; the node's counting scheme says how many of each are taken in turn."""

    HIGH = "HIGH"
    LOW = "LOW"


class Role(OpenEnum):
    """The rights of an account; each role includes those before it."""

    VIEWER = "VIEWER"
    OPERATOR = "OPERATOR"
    ADMIN = "ADMIN"


class RunState(StateOfRun):
    """The state of a run."""

    WAITING = "WAITING"
    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    STUCK = "STUCK"
    SUSPENDED = "SUSPENDED"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"


class ScheduleSyntax(OpenEnum):
    """How a schedule is written."""

    CRON = "CRON"
    CALENDAR = "CALENDAR"
    INTERVAL = "INTERVAL"
    TIMESTAMP = "TIMESTAMP"


class SkipReason(OpenEnum):
    """Why an occurrence did not become a run, or a run was dropped before its start."""

    OVERLAP = "OVERLAP"
    TOLERANCE = "TOLERANCE"
    MISSED = "MISSED"
    COALESCED = "COALESCED"
    PAUSED = "PAUSED"
    WINDOW = "WINDOW"
    NO_JOB = "NO_JOB"
    UNIQUE_KEY = "UNIQUE_KEY"
    EXPIRED = "EXPIRED"
    QUEUE_FULL = "QUEUE_FULL"
    PREDECESSOR = "PREDECESSOR"


class StepState(OpenEnum):
    """The state of a durable step of a run."""

    DONE = "DONE"
    FAILED = "FAILED"
    WAITING = "WAITING"
    TIMED_OUT = "TIMED_OUT"
    REJECTED = "REJECTED"


class TaskSource(OpenEnum):
    """Where a task is defined."""

    CODE = "CODE"
    API = "API"
    FILE = "FILE"


class Trigger(OpenEnum):
    """The cause of a run."""

    SCHEDULE = "SCHEDULE"
    MANUAL = "MANUAL"
    API = "API"
    RETRY = "RETRY"
    HOOK = "HOOK"


class WebhookState(OpenEnum):
    """The state of a webhook."""

    ACTIVE = "ACTIVE"
    FAILING = "FAILING"
    PARKED = "PARKED"
    STOPPED = "STOPPED"
    DISABLED = "DISABLED"


class WebhookStopReason(OpenEnum):
    """The reason why a webhook sends nothing until somebody resumes it."""

    FAILING = "FAILING"
    GONE = "GONE"
    PARKED = "PARKED"
    REFUSED = "REFUSED"


class WhenFull(OpenEnum):
    """The rule for a new run when as many wait as may."""

    REFUSE = "REFUSE"
    DROP_OLDEST = "DROP_OLDEST"
    DROP_NEWEST = "DROP_NEWEST"
