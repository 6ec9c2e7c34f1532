# Made from graphql/schema.graphql by `make schema`; do not edit it.
"""The enums of the API. A value that this version does not know yet becomes a member of its own."""

from .shapes import OpenEnum, StateOfRun


class EventKind(OpenEnum):
    """What an event is about."""

    TASK_CREATED = "TASK_CREATED"
    TASK_UPDATED = "TASK_UPDATED"
    TASK_DELETED = "TASK_DELETED"
    RUN_CREATED = "RUN_CREATED"
    RUN_UPDATED = "RUN_UPDATED"
    EXECUTION_STARTED = "EXECUTION_STARTED"
    EXECUTION_FINISHED = "EXECUTION_FINISHED"
    OCCURRENCE_SKIPPED = "OCCURRENCE_SKIPPED"
    NODE_STARTED = "NODE_STARTED"
    NODE_UPDATED = "NODE_UPDATED"
    NODE_STOPPED = "NODE_STOPPED"
    GROUP_UPDATED = "GROUP_UPDATED"
    RESYNC = "RESYNC"


class MisfirePolicy(OpenEnum):
    """What happens to what is due when a task is late by more than the misfire grace."""

    LAST = "LAST"
    ALL = "ALL"
    NONE = "NONE"


class NodeState(OpenEnum):
    """The life of a node."""

    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
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


class OverlapPolicy(OpenEnum):
    """What happens to an occurrence while another run of the task is unfinished."""

    SKIP = "SKIP"
    QUEUE = "QUEUE"
    ALLOW = "ALLOW"
    REPLACE = "REPLACE"


class Priority(OpenEnum):
    """The two classes within a group; the node's counting scheme says how many of each are taken in turn."""

    HIGH = "HIGH"
    LOW = "LOW"


class Role(OpenEnum):
    """What somebody may do; each role includes those before it."""

    VIEWER = "VIEWER"
    OPERATOR = "OPERATOR"
    ADMIN = "ADMIN"


class RunState(StateOfRun):
    """Where a run stands."""

    WAITING = "WAITING"
    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    STUCK = "STUCK"
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


class TaskSource(OpenEnum):
    """Where a task is defined."""

    CODE = "CODE"
    API = "API"
    FILE = "FILE"


class Trigger(OpenEnum):
    """What made a run."""

    SCHEDULE = "SCHEDULE"
    MANUAL = "MANUAL"
    API = "API"
    RETRY = "RETRY"
