"""What the API answers, as frozen dataclasses. Times are aware, in UTC; durations are seconds.

The fields of a record are the fields that its operations ask for; their meaning is described in the API's schema.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from .enums import (
    EventKind,
    MisfirePolicy,
    NodeState,
    Outcome,
    OverlapPolicy,
    Priority,
    RunState,
    ScheduleSyntax,
    SkipReason,
    TaskSource,
    Trigger,
)
from .shapes import Record

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """A page of a list; iterate over it.

    Attributes:
        items: the rows, in the order of the list.
        end_cursor: pass it as ``after`` to read on; None when the page is empty.
        has_next_page: whether there are rows behind it.
    """

    items: tuple[Item, ...]
    end_cursor: str | None
    has_next_page: bool

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Record):
    """Named code that a node can run."""

    name: str
    description: str
    schedule: str | None
    isolation: str
    args_schema: Any
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
    """What is wrong with a schedule."""

    code: str
    message: str
    field: str | None
    position: int | None
    suggestion: str | None
    corrected: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleValidation(Record):
    """Whether a schedule is valid, and when it fires next."""

    valid: bool
    humanized: str | None
    next_executions: tuple[datetime, ...]
    error: ScheduleFault | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Record):
    """How far an execution says it is."""

    done: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKey(Record):
    """A run by its key."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog(Record):
    """What is asked of an execution in ``job_logs``: little enough for a thousand at once."""

    id: str
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
    """One attempt at a run: an entry of the execution log."""

    run: RunKey | None
    scheduled_for: datetime | None
    duration: float | None
    error_type: str | None
    value: Any
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Record):
    """A stored schedule: which job, with which arguments, when, under which policies."""

    id: str
    name: str
    description: str
    enabled: bool
    source: TaskSource
    job_name: str
    args: dict[str, Any]
    group: str
    priority: Priority
    owner: str | None
    submitter: str | None
    schedule: Schedule
    next_execution: datetime | None
    overlap: OverlapPolicy
    misfire: MisfirePolicy
    misfire_grace: float
    catch_up_limit: int
    tolerance: float | None
    timeout: float | None
    retries: int
    retry_delay: float
    jitter: float
    start_at: datetime | None
    end_at: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    finished: bool
    overridden: bool
    job_known: bool
    stalled: bool
    last_due_at: datetime | None
    last_started_at: datetime | None
    counter: int
    version: int
    checkpoint: Any
    created_at: datetime
    updated_at: datetime
    last_status: Execution | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Record):
    """One entry of the durable queue."""

    id: str
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
    trigger: Trigger
    scheduled_for: datetime | None
    submitted_at: datetime
    available_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    node: str | None
    unique_key: str | None
    submitter: str | None
    description: str
    progress: Progress | None
    result: Any
    error: str | None
    deduplicated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggeredJob(Record):
    """What ``trigger_job`` did."""

    success: bool
    message: str
    job_name: str
    run: Run | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRuns:
    """What an action on many runs did, or with ``dry_run`` would do.

    Attributes:
        runs: the first of them, at most 200.
        count: how many there are.
    """

    runs: tuple[Run, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Record):
    """Why a task or a run is or is not running now."""

    code: str
    sentence: str
    details: tuple[str, ...]
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedOccurrence(Record):
    """A stretch of occurrences that did not become runs, for one reason."""

    id: str
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
    """The unit of fairness and of limits."""

    name: str
    paused: bool
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    max_running: int | None
    waiting: int
    scheduled: int
    running: int
    stuck: int
    oldest_wait: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Record):
    """One process that runs jobs, or did."""

    id: str
    name: str
    state: NodeState
    slots: int
    running: int
    version: str
    started_at: datetime
    heartbeat_at: datetime
    expires_at: datetime
    clock_skew: float
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(Record):
    """One line that a job wrote."""

    line: int
    at: datetime
    level: str
    message: str
    fields: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart(Record):
    """Some lines of the log of an execution.

    Attributes:
        lines: the lines; empty when only ``cut`` or ``ended`` is new.
        cut: how many lines of the execution were not kept, so far.
        ended: whether nothing follows.
    """

    lines: tuple[LogLine, ...]
    cut: int
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    """One change of one thing. ``cursor`` is its place in the one order of events."""

    cursor: str
    at: datetime
    kind: EventKind
    task_id: str | None
    task_name: str | None
    run_id: str | None
    execution_id: str | None
    node_name: str | None
    group_name: str | None
    job_name: str | None
    state: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailedEvent(Event):
    """A change together with the changed thing as it is at delivery; None if it is not about one, or that is gone."""

    task: Task | None
    run: Run | None
    execution: Execution | None
    node: Node | None
    group: Group | None
