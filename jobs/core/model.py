"""The nouns of the engine as values: tasks, runs and executions, independent of any table."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias

from .admission.caps import Cap, Rate
from .admission.holding import Hold, OnConflict
from .schedule import Syntax
from .states import RunState

Json: TypeAlias = Any
"""Anything ``json.dumps`` accepts."""

DEFAULT_GROUP = "default"
DEFAULT_RETRIES = 2
DEFAULT_RETRY_DELAY = 60.0
DEFAULT_MISFIRE_GRACE = 60.0
DEFAULT_CATCH_UP_LIMIT = 100
MAX_QUEUED_PER_TASK = 10  # unfinished runs under overlap policy QUEUE; further occurrences are skipped


class Priority(StrEnum):
    """Two classes within a group; the counting scheme says how many of each are taken in turn."""

    HIGH = "high"
    LOW = "low"


class Trigger(StrEnum):
    """Name a run's origin: a schedule, a person (triggerJob, triggerTask), the API (enqueueRuns), a retry, a hook."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    API = "api"
    RETRY = "retry"
    HOOK = "hook"


class TaskSource(StrEnum):
    """Name the place where a task is defined: in code, through the API, or in a file."""

    CODE = "code"
    API = "api"
    FILE = "file"


class OverlapPolicy(StrEnum):
    """Decide about an occurrence while another run of the task is unfinished.

    ``SKIP``: it is skipped. ``QUEUE``: it waits; no two start at once, at most ten are unfinished.
    ``ALLOW``: both run. ``REPLACE``: the older is cancelled.
    """

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"
    REPLACE = "replace"


class MisfirePolicy(StrEnum):
    """Decide about due occurrences when a task is late by more than the misfire grace.

    ``LAST``: the newest becomes a run, the others are folded into one skipped row.
    ``ALL``: the newest ``catch_up_limit`` become runs, no two of which execute at once. ``NONE``: none does
    that is late by more than the grace.
    """

    LAST = "last"
    ALL = "all"
    NONE = "none"


class SkipReason(StrEnum):
    """Name the reason for which an occurrence did not become a run, or a run was dropped before its start."""

    OVERLAP = "overlap"
    TOLERANCE = "tolerance"
    MISSED = "missed"
    COALESCED = "coalesced"
    PAUSED = "paused"
    WINDOW = "window"
    NO_JOB = "no_job"
    UNIQUE_KEY = "unique_key"
    EXPIRED = "expired"
    QUEUE_FULL = "queue_full"
    PREDECESSOR = "predecessor"


class Outcome(StrEnum):
    """Name the end of one execution; ``success`` in the log is true for SUCCESS, SNOOZED and SUSPENDED only."""

    SUCCESS = "success"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"
    SNOOZED = "snoozed"
    HANDED_BACK = "handed_back"
    SUSPENDED = "suspended"

    @property
    def is_success(self) -> bool:
        """Return the value of the log's column ``success`` for this outcome."""
        return self in (Outcome.SUCCESS, Outcome.SNOOZED, Outcome.SUSPENDED)


FAILURES = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST})
"""The outcomes that ``onlyFailures`` means."""


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """A schedule as it is stored: syntax, the string, and the IANA zone its wall times are read in."""

    syntax: Syntax
    value: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Hold a user's decisions about a task; every field has the product's default.

    Durations are seconds. ``overlap`` None = SKIP, for INTERVAL schedules QUEUE. ``tolerance`` None = 5 s, at most a
    tenth of the interval (INTERVAL only). ``timeout`` None = half the interval (INTERVAL), else no timeout.
    ``max_duration``: of a whole run, from its first start, sleeping and waiting included.
    ``resources``: those that its runs ask for at an engine over those of the job; None = as the job says.
    ``rate``: how many of its runs start in how long, instead of the job's rate; None = as the job says.
    ``inherits`` names the fields that follow the job (see ``core.defaults``): nobody has set them for this task.
    """

    name: str
    job_name: str
    schedule: ScheduleSpec
    args: dict[str, Json] = field(default_factory=dict[str, Json])
    description: str = ""
    enabled: bool = True
    group: str = DEFAULT_GROUP
    priority: Priority = Priority.LOW
    owner: str | None = None
    overlap: OverlapPolicy | None = None
    misfire: MisfirePolicy = MisfirePolicy.LAST
    misfire_grace: float = DEFAULT_MISFIRE_GRACE
    catch_up_limit: int = DEFAULT_CATCH_UP_LIMIT
    tolerance: float | None = None
    timeout: float | None = None
    max_duration: float | None = None
    retries: int = DEFAULT_RETRIES
    retry_delay: float = DEFAULT_RETRY_DELAY
    jitter: float = 0.0
    start_at: datetime | None = None
    end_at: datetime | None = None
    labels: dict[str, str] = field(default_factory=dict[str, str])
    resources: dict[str, Json] | None = None
    rate: Rate | None = None
    inherits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Task:
    """A stored task. ``next_nominal`` is nominal, ``next_execution`` includes the jitter; both None = finished.

    ``signature`` is that of the version of its job that its arguments were checked against; None = they were not.
    ``put_off``: the ``reason`` why no run could be made when it was due the last time that this failed, and ``until``
    when it was put off.
    """

    id: int
    spec: TaskSpec
    source: TaskSource
    declared: ScheduleSpec | None
    declared_args: dict[str, Json] | None
    overridden: bool
    submitter: str | None
    submitter_id: int | None
    checkpoint: Json
    anchor_at: datetime
    next_nominal: datetime | None
    next_execution: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    resume_at: datetime | None
    last_due_at: datetime | None
    last_started_at: datetime | None
    counter: int
    version: int
    created_at: datetime
    updated_at: datetime
    signature: str | None
    set_name: str | None = None
    put_off: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The unique, immutable name."""
        return self.spec.name

    @property
    def paused(self) -> bool:
        """Return whether occurrences are recorded as skipped instead of becoming runs."""
        return not self.spec.enabled

    @property
    def finished(self) -> bool:
        """Return whether no occurrence is left."""
        return self.next_nominal is None


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run about to be put into the queue. Times are UTC; ``available_at`` None = at once; durations in seconds.

    ``inherits`` names the fields that it takes from its job (see ``core.defaults``), because nobody has set them.
    ``suspended``: it waits for other runs of the flow ``flow_id``.
    ``parent_labels``: of the run that makes it, which it inherits as far as it has none of its own. ``ttl``: seconds
    from when it is available in which it has to start, unless ``expires_at`` says until when. ``cap``: how many
    with its job and ``cap_key`` may wait.
    """

    job_name: str
    trigger: Trigger
    args: dict[str, Json] = field(default_factory=dict[str, Json])
    group: str = DEFAULT_GROUP
    priority: Priority = Priority.LOW
    task_id: int | None = None
    task_name: str | None = None
    scheduled_for: datetime | None = None
    available_at: datetime | None = None
    retries: int = DEFAULT_RETRIES
    retry_delay: float = DEFAULT_RETRY_DELAY
    timeout: float | None = None
    exclusive: bool = False
    unique_key: str | None = None
    retried_from: int | None = None
    submitter: str | None = None
    submitter_id: int | None = None
    description: str = ""
    signature: str | None = None
    inherits: frozenset[str] = frozenset()
    carried: dict[str, Json] | None = None
    flow_id: int | None = None
    suspended: bool = False
    labels: dict[str, str] | None = None
    parent_labels: dict[str, str] | None = None
    expires_at: datetime | None = None
    ttl: float | None = None
    hold: Hold | None = None
    concurrency_key: str | None = None
    max_concurrent: int | None = None
    rate_key: str | None = None
    max_duration: float | None = None
    cap_key: str | None = None
    keeps_place: bool | None = None
    cap: Cap | None = None
    on_conflict: OnConflict = OnConflict.KEEP


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run. ``attempt`` counts starts and only grows; ``failures`` counts failures and losses.

    ``checkpoint``: the value that its job saved, if no task keeps it. ``signature``: of the version of its job that
    its arguments were checked against; None = they were not. ``carried``: the values that ``@carries`` gave it.
    ``concurrency_key``, ``max_concurrent``, ``rate_key``, ``cap_key``, ``keeps_place``: see ``limits.Keys``.
    ``due_at``: when it was due; set while it waits for a slot or a token of its key. ``awaits``: the awaited things of
    a suspended run (see ``core.waits``); ``wake_at``: when it is woken at the latest, None = not by time.
    ``deadline_at``: ``max_duration`` seconds after its first start. ``unread_by``: which versions of its job could not
    read its arguments (``core.base.signature``). ``lost_follow_ups``: runs that were to follow its end and were refused
    or failed, each with its ``kind``, ``job``, ``code`` and ``reason``.
    """

    id: int
    job_name: str
    state: RunState
    trigger: Trigger
    args: dict[str, Json]
    group: str
    priority: Priority
    task_id: int | None
    task_name: str | None
    scheduled_for: datetime | None
    submitted_at: datetime
    available_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempt: int
    failures: int
    retries: int
    retry_delay: float
    timeout: float | None
    exclusive: bool
    node_id: int | None
    node: str | None
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    unique_key: str | None
    retried_from: int | None
    progress: Json
    checkpoint: Json
    result: Json
    error: str | None
    submitter: str | None
    submitter_id: int | None
    description: str
    signature: str | None
    carried: dict[str, Json] | None
    labels: dict[str, str] | None = None
    expires_at: datetime | None = None
    skip_reason: SkipReason | None = None
    concurrency_key: str | None = None
    max_concurrent: int | None = None
    rate_key: str | None = None
    cap_key: str | None = None
    keeps_place: bool | None = None
    due_at: datetime | None = None
    awaits: dict[str, Json] | None = None
    wake_at: datetime | None = None
    flow_id: int | None = None
    max_duration: float | None = None
    deadline_at: datetime | None = None
    unread_by: dict[str, Json] | None = None
    lost_follow_ups: list[dict[str, Json]] | None = None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Answer a request for a run; ``deduplicated``: ``run`` is the existing run that holds its unique key."""

    run: Run
    deduplicated: bool


@dataclass(frozen=True, slots=True)
class Execution:
    """One attempt at a run, a row of the execution log. ``completed_at`` and ``outcome`` are None while it runs.

    ``trace_id``: the trace in which it appears, once it has ended; None = in none.
    """

    id: int
    job_name: str
    started_at: datetime
    completed_at: datetime | None
    success: bool | None
    error_message: str | None
    records_processed: int | None
    outcome: Outcome | None
    run_id: int
    task_id: int | None
    task_name: str | None
    attempt: int
    node_id: int
    node: str
    trigger: Trigger
    scheduled_for: datetime | None
    submitted_at: datetime
    error_type: str | None
    traceback: str | None
    value: Json
    progress: Json
    log_lines: int
    log_cut: int
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedOccurrence:
    """A stretch of occurrences skipped for the same reason: first, last, how many, and the values that decided it."""

    id: int
    task_id: int
    task_name: str
    reason: SkipReason
    first_scheduled_for: datetime
    last_scheduled_for: datetime
    count: int
    policy: dict[str, Json]
    node: str | None
    run_id: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """A queue group: the unit of fairness and of limits; None = no limit. ``rate_full_at``: see ``rates.Bucket``.

    ``max_wait_low``: seconds after which a due run of low priority goes before those of high priority. ``cap``: how
    many runs may wait. ``keep``: seconds that the history of its finished runs is kept; None = as their job says.
    """

    name: str
    paused_at: datetime | None = None
    paused_by: str | None = None
    pause_reason: str | None = None
    resume_at: datetime | None = None
    max_running: int | None = None
    rate: Rate | None = None
    rate_full_at: datetime | None = None
    max_wait_low: float | None = None
    cap: Cap | None = None
    keep: float | None = None


class Isolation(StrEnum):
    """Name the place where a job runs.

    The event loop, a thread, a child process, or an engine outside of the node, to which an executor hands the job.
    """

    ASYNC = "async"
    THREAD = "thread"
    PROCESS = "process"
    REMOTE = "remote"


KEPT_LINES: Final = 10_000
"""Number of log lines that are kept of one execution: the newest."""


class LogLevel(StrEnum):
    """The levels of ``logging``; a line of a level between two counts as the lower one."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"
