# Made from graphql/schema.graphql by `make schema`; do not edit it.
"""What the API answers, as frozen dataclasses. Times are aware, in UTC; durations are seconds.

The fields of a record are the fields that its operations ask for; the API's schema describes them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .base.shapes import Record
from .enums import (
    ErrorCode,
    EventKind,
    EventState,
    ExplanationCode,
    FlowState,
    Isolation,
    LogLevel,
    MisfirePolicy,
    NodeState,
    Outcome,
    OverlapPolicy,
    PreviewOutcome,
    Priority,
    Role,
    RunState,
    ScheduleSyntax,
    SkipReason,
    TaskSource,
    Trigger,
    WhenFull,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueKey(Record):
    """How the unique key of a job's runs follows from their arguments."""

    arguments: tuple[str, ...]
    template: str | None
    in_code: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Record):
    """How many runs start in how long: a token bucket, of which each start takes a token."""

    limit: int
    per: float
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap(Record):
    """How many runs wait at most: those that have never begun, apart from those of flows."""

    limit: int
    when_full: WhenFull


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits(Record):
    """How many runs of a job start, how many run at once, and how many wait."""

    rate: Rate | None
    rate_key: UniqueKey | None
    max_concurrent: int | None
    concurrency_key: UniqueKey | None
    cap: Cap | None
    cap_key: UniqueKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Record):
    """Named code that a node can run."""

    name: str
    description: str
    schedule: str | None
    isolation: Isolation
    args_schema: Any
    tags: tuple[str, ...]
    labels: Any
    ttl: float | None
    on_expired: str | None
    labels_from: Any
    unique_key: UniqueKey | None
    declared_rate: Rate | None
    limits: JobLimits | None
    known: bool
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Record):
    """When a task is due."""

    syntax: ScheduleSyntax
    value: str
    timezone: str
    humanized: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFault(Record):
    """A schedule that cannot be used; code ``INVALID_SCHEDULE``, ``NEVER_FIRES`` or ``UNKNOWN_TIMEZONE``."""

    code: ErrorCode
    message: str
    path: tuple[str, ...]
    field: str | None
    position: int | None
    suggestion: str | None
    corrected: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleValidation(Record):
    """Whether a schedule can be used, and when it fires."""

    valid: bool
    humanized: str | None
    next_executions: tuple[datetime, ...]
    error: ScheduleFault | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Record):
    """How far a running job says it is."""

    done: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKey(Record):
    """A run by its key."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog(Record):
    """What is asked of an execution in ``jobLogs``."""

    id: int
    job_name: str
    started_at: datetime
    completed_at: datetime | None
    success: bool | None
    error_message: str | None
    records_processed: int | None
    outcome: Outcome | None
    task_name: str | None
    attempt: int
    node: str
    trigger: Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution(JobLog):
    """One attempt at a run, from start to end: an entry of the execution log."""

    run_id: int
    task_id: int | None
    scheduled_for: datetime | None
    submitted_at: datetime
    duration: float | None
    wait: float
    error_type: str | None
    value: Any
    trace_id: str | None
    progress: Progress | None
    args: dict[str, Any] | None
    labels: Any
    group: str | None
    run: RunKey | None
    trace_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Record):
    """A stored schedule: which job, with which arguments, when, under which policies."""

    id: int
    name: str
    description: str
    enabled: bool
    source: TaskSource
    job_name: str
    args: dict[str, Any]
    group: str
    priority: Priority
    owner: str | None
    set_name: str | None
    submitter: str | None
    schedule: Schedule
    next_execution: datetime | None
    next_nominal: datetime | None
    overlap: OverlapPolicy
    misfire: MisfirePolicy
    misfire_grace: float
    catch_up_limit: int
    tolerance: float | None
    timeout: float | None
    max_duration: float | None
    retries: int
    retry_delay: float
    inherits: tuple[str, ...]
    jitter: float
    labels: Any
    rate: Rate | None
    start_at: datetime | None
    end_at: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    finished: bool
    overridden: bool
    last_due_at: datetime | None
    last_started_at: datetime | None
    counter: int
    version: int
    checkpoint: Any
    definition: Any
    created_at: datetime
    updated_at: datetime
    job_known: bool
    deletable: bool
    stalled: bool
    last_status: Execution | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Record):
    """One entry of the durable queue."""

    id: int
    state: RunState
    job_name: str
    task_name: str | None
    group: str
    priority: Priority
    args: dict[str, Any]
    attempt: int
    failures: int
    retries: int
    retry_delay: float
    timeout: float | None
    max_duration: float | None
    deadline_at: datetime | None
    trigger: Trigger
    scheduled_for: datetime | None
    submitted_at: datetime
    available_at: datetime
    wake_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    node: str | None
    unique_key: str | None
    concurrency_key: str | None
    max_concurrent: int | None
    rate_key: str | None
    cap_key: str | None
    submitter: str | None
    description: str
    labels: Any
    expires_at: datetime | None
    skip_reason: SkipReason | None
    progress: Progress | None
    result: Any
    error: str | None
    deduplicated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowProgress(Record):
    """How many runs of a flow are in which state."""

    total: int
    done: int
    waiting: int
    scheduled: int
    running: int
    stuck: int
    suspended: int
    success: int
    failed: int
    cancelled: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow(Record):
    """Runs that were enqueued together, of which some start after others have ended."""

    id: int
    name: str
    state: FlowState
    is_open: bool
    unique_key: str | None
    submitted_at: datetime
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    submitter: str | None
    labels: Any
    progress: FlowProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Record):
    """An answer to the question why something runs or does not."""

    code: ExplanationCode
    sentence: str
    details: tuple[str, ...]
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPreview(Record):
    """What would become of a run if it were enqueued now."""

    outcome: PreviewOutcome
    job_name: str
    sentence: str
    group: str | None
    stands_for_id: int | None
    explanation: Explanation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Record):
    """What an enqueue would do. It is tried and taken back, so it is judged as the real one."""

    sentence: str
    runs: tuple[RunPreview, ...]
    dropped_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggeredJob(Record):
    """The answer of ``triggerJob``."""

    success: bool
    message: str
    job_name: str
    run: Run | None
    preview: Preview | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedOccurrence(Record):
    """A stretch of occurrences that did not become runs, or runs that were dropped, for one reason."""

    id: int
    task_name: str
    reason: SkipReason
    first_scheduled_for: datetime
    last_scheduled_for: datetime
    count: int
    policy: Any
    node: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Record):
    """A queue group: the unit of fairness and of limits. It exists once it is named."""

    name: str
    paused: bool
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    max_running: int | None
    max_wait_low: float | None
    rate: Rate | None
    cap: Cap | None
    keep: float | None
    tokens: int | None
    next_token_at: datetime | None
    waiting: int
    scheduled: int
    running: int
    stuck: int
    suspended: int
    oldest_wait: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Record):
    """One running process, or one that was."""

    id: int
    name: str
    state: NodeState
    slots: int
    thread_slots: int | None
    process_slots: int | None
    version: str
    started_at: datetime
    heartbeat_at: datetime
    expires_at: datetime
    clock_skew: float
    jobs: tuple[str, ...]
    job_count: int
    groups: tuple[str, ...]
    only_jobs: tuple[str, ...]
    tags: tuple[str, ...]
    without_tags: tuple[str, ...]
    stall: str | None
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(Record):
    """One line that a job logged."""

    line: int
    at: datetime
    level: LogLevel
    message: str
    fields: Any
    step: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart(Record):
    """New lines of an execution's log; the last one has ``ended: true``."""

    lines: tuple[LogLine, ...]
    cut: int
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    """One change of one thing."""

    cursor: str
    at: datetime
    kind: EventKind
    task_id: int | None
    task_name: str | None
    run_id: int | None
    execution_id: int | None
    node: str | None
    group: str | None
    job_name: str | None
    flow_id: int | None
    state: EventState | None
    step: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailedEvent(Event):
    """A change with the changed thing as it is at delivery; None if it is not about one, or that is gone."""

    task: Task | None
    run: Run | None
    execution: Execution | None
    changed_node: Node | None
    changed_group: Group | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer(Record):
    """Who asks."""

    name: str
    role: Role
    has_password: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView(Record):
    """An address of the dashboard under a name, for one person or for the team."""

    id: int
    page: str
    name: str
    search: str
    shared: bool
    created_at: datetime
    created_by: str
    updated_at: datetime
