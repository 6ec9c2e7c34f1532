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
    ExplanationCode,
    FlowState,
    Isolation,
    LogLevel,
    MisfirePolicy,
    NodeState,
    Outcome,
    OverlapPolicy,
    PlaceHold,
    PreviewOutcome,
    Priority,
    Role,
    RunState,
    ScheduleSyntax,
    SkipReason,
    StepState,
    TaskSource,
    Trigger,
    WebhookState,
    WebhookStopReason,
    WhenFull,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueKey(Record):
    """A rule by which the unique key of a run follows from its arguments."""

    arguments: tuple[str, ...]
    template: str | None
    is_in_code: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Record):
    """A limit on the number of starts in a period: a token bucket, from which each start takes a token."""

    limit: int
    per: float
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources(Record):
    """The resources that a run needs at the engine of its job. Null = nothing is said of it."""

    cpus: float | None
    memory: int | None
    gpus: int | None
    image: str | None
    queue: str | None
    options: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap(Record):
    """A limit on waiting runs: runs that have never begun count, except runs of flows."""

    limit: int
    when_full: WhenFull


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits(Record):
    """The limits of a job: on starts, on runs at the same time, and on waiting runs."""

    rate: Rate | None
    rate_key: UniqueKey | None
    max_concurrent: int | None
    concurrency_key: UniqueKey | None
    hold: PlaceHold
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
    slots: int
    code_version: str | None
    tags: tuple[str, ...]
    labels: dict[str, str]
    ttl: float | None
    on_expired: str | None
    labels_from: dict[str, str]
    unique_key: UniqueKey | None
    declared_rate: Rate | None
    limits: JobLimits | None
    is_known: bool
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Record):
    """A schedule of a task."""

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
    """The verdict on a schedule, with its next times."""

    is_valid: bool
    humanized: str | None
    next_executions: tuple[datetime, ...]
    error: ScheduleFault | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Record):
    """The progress that a job reports of itself."""

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
    fingerprint: str | None
    value: Any
    trace_id: str | None
    progress: Progress | None
    is_recovered: bool
    args: dict[str, Any] | None
    labels: dict[str, str] | None
    group: str | None
    run: RunKey | None
    trace_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Record):
    """A stored schedule: which job, with which arguments, when, under which policies."""

    id: int
    name: str
    description: str
    is_enabled: bool
    source: TaskSource
    job_name: str
    args: dict[str, Any]
    group: str
    priority: Priority
    owner: str | None
    set_name: str | None
    submitter: str | None
    schedule: Schedule
    next_execution_at: datetime | None
    next_nominal_at: datetime | None
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
    labels: dict[str, str]
    resources: Resources | None
    rate: Rate | None
    start_at: datetime | None
    end_at: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    resume_at: datetime | None
    is_finished: bool
    is_overridden: bool
    last_due_at: datetime | None
    last_started_at: datetime | None
    counter: int
    version: int
    checkpoint: Any
    definition: Any
    created_at: datetime
    updated_at: datetime
    is_job_known: bool
    is_deletable: bool
    is_stalled: bool
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
    is_place_kept: bool
    rate_key: str | None
    cap_key: str | None
    submitter: str | None
    description: str
    labels: dict[str, str]
    resources: Resources | None
    expires_at: datetime | None
    skip_reason: SkipReason | None
    progress: Progress | None
    result: Any
    error: str | None
    is_deduplicated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowProgress(Record):
    """The number of runs of a flow in each state."""

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
    deadline_at: datetime | None
    submitter: str | None
    labels: dict[str, str]
    progress: FlowProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Record):
    """An answer to the question why something runs or does not."""

    code: ExplanationCode
    sentence: str
    details: tuple[str, ...]
    changes_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPreview(Record):
    """The fate that a run would have if it were enqueued now."""

    outcome: PreviewOutcome
    job_name: str
    sentence: str
    group: str | None
    stands_for_id: int | None
    explanation: Explanation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Record):
    """The effect of an enqueue without the enqueue.

    The server tries it and takes it back, so that it is judged as the real one.
    """

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
    is_paused: bool
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    resume_at: datetime | None
    max_running: int | None
    max_wait_low: float | None
    rate: Rate | None
    cap: Cap | None
    keep: float | None
    version: int
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
    remote_slots: int | None
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
    """New lines of an execution's log; the last message has ``hasEnded: true``."""

    lines: tuple[LogLine, ...]
    cut: int
    has_ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    """A published change of one object, e.g.

    a ``RunEvent``. Select the fields of a type with ``... on RunEvent { … }``. A field of the same name has the
    same type in all of them, so one document can select it of each.
    """

    cursor: str
    at: datetime
    kind: EventKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent(Event):
    """A task was created, changed or deleted."""

    task_id: int | None
    task_name: str | None
    job_name: str | None
    group: str | None
    task: Task | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent(Event):
    """A run was put into the queue, or changed its state, priority, progress or due time."""

    task_id: int | None
    task_name: str | None
    job_name: str | None
    group: str | None
    task: Task | None = None
    run_id: int
    node: str | None
    run: Run | None = None
    flow_id: int | None
    run_state: RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionEvent(Event):
    """An attempt at a run began or ended."""

    task_id: int | None
    task_name: str | None
    job_name: str | None
    group: str | None
    task: Task | None = None
    run_id: int
    node: str | None
    run: Run | None = None
    flow_id: int | None
    execution_id: int
    outcome: Outcome | None
    execution: Execution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Event):
    """A durable step of a run ended."""

    task_id: int | None
    task_name: str | None
    job_name: str | None
    group: str | None
    run_id: int
    node: str | None
    run: Run | None = None
    step: str
    step_state: StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedEvent(Event):
    """Occurrences of a task were skipped, or a run of a task was dropped before it started."""

    task_id: int | None
    task_name: str | None
    job_name: str | None
    group: str | None
    task: Task | None = None
    reason: SkipReason
    skipped_run_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent(Event):
    """A node started, changed its state, stopped, or was declared dead."""

    node: str | None
    node_state: NodeState
    changed_node: Node | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEvent(Event):
    """A group was paused, resumed or limited."""

    group: str | None
    changed_group: Group | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmEvent(Event):
    """An alarm fired or changed, or a firing was resolved or acknowledged."""

    alarm_name: str
    firing_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent(Event):
    """A webhook was created, changed, parked, stopped, resumed or deleted."""

    webhook_name: str
    webhook_state: WebhookState


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowEvent(Event):
    """A flow was enqueued, changed its state, or was closed."""

    flow_id: int | None
    flow: Flow | None = None
    flow_state: FlowState


@dataclass(frozen=True, slots=True, kw_only=True)
class ResyncEvent(Event):
    """Events are missing.

    They are older than the retention, this reader was too slow, or a restore or a failover set the database back.
    Query again, and go on behind the cursor of this event.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer(Record):
    """The person or program that sent the request."""

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
    is_shared: bool
    created_at: datetime
    created_by: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook(Record):
    """A subscription whose results are posted to another program."""

    name: str
    url: str
    secrets: tuple[str, ...]
    document: str
    variables: dict[str, Any]
    description: str
    is_ordered: bool
    is_enabled: bool
    state: WebhookState
    failures: int
    first_failed_at: datetime | None
    next_try_at: datetime | None
    last_delivered_at: datetime | None
    stop_reason: WebhookStopReason | None
    stop_message: str | None
    stopped_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime
    owner: str
    set_name: str | None
    definition: Any
    cursor: str | None
    waiting_count: int
