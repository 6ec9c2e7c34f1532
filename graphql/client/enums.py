"""The enums of the API. A value that this version does not know yet becomes a member of its own."""

from .shapes import OpenEnum


class ScheduleSyntax(OpenEnum):
    """How the value of a schedule is written."""

    CRON = "CRON"
    CALENDAR = "CALENDAR"
    INTERVAL = "INTERVAL"
    TIMESTAMP = "TIMESTAMP"


class TaskSource(OpenEnum):
    """Where a task is defined."""

    CODE = "CODE"
    API = "API"
    FILE = "FILE"


class OverlapPolicy(OpenEnum):
    """What happens to an occurrence while another run of the task is unfinished."""

    SKIP = "SKIP"
    QUEUE = "QUEUE"
    ALLOW = "ALLOW"
    REPLACE = "REPLACE"


class MisfirePolicy(OpenEnum):
    """What happens to what is due when a task is late by more than the misfire grace."""

    LAST = "LAST"
    ALL = "ALL"
    NONE = "NONE"


class Priority(OpenEnum):
    """The two classes within a group."""

    HIGH = "HIGH"
    LOW = "LOW"


class RunState(OpenEnum):
    """Where a run is."""

    WAITING = "WAITING"
    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    STUCK = "STUCK"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"

    @property
    def final(self) -> bool:
        """Whether the run will not change any more."""
        return self in {RunState.SUCCESS, RunState.FAILED, RunState.CANCELLED, RunState.SKIPPED}


class Trigger(OpenEnum):
    """What made a run."""

    SCHEDULE = "SCHEDULE"
    MANUAL = "MANUAL"
    API = "API"
    RETRY = "RETRY"


class Outcome(OpenEnum):
    """How an execution ended."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    LOST = "LOST"
    CANCELLED = "CANCELLED"
    SNOOZED = "SNOOZED"
    HANDED_BACK = "HANDED_BACK"


class SkipReason(OpenEnum):
    """Why an occurrence did not become a run, or a run was dropped before its start."""

    OVERLAP = "OVERLAP"
    TOLERANCE = "TOLERANCE"
    MISSED = "MISSED"
    COALESCED = "COALESCED"
    PAUSED = "PAUSED"
    WINDOW = "WINDOW"
    NO_JOB = "NO_JOB"


class NodeState(OpenEnum):
    """How far a node is."""

    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
    DRAINING = "DRAINING"
    STOPPED = "STOPPED"
    EXPIRED = "EXPIRED"


class EventKind(OpenEnum):
    """What an event is about; ``RESYNC`` = events were missed: query again, then go on."""

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
