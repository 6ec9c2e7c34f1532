"""The engine's enumerations as GraphQL enums: the same classes, with a description of each value."""

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Any, Self, TypeVar, cast

import strawberry
from strawberry.types.enum import StrawberryEnumDefinition

from cronograph.jobs.core.flows import FlowState, When
from cronograph.jobs.core.model import LogLevel
from cronograph.jobs.core.steps import StepKind, StepState

from ...jobs.core.actor import Role
from ...jobs.core.admission.caps import WhenFull
from ...jobs.core.events import EventKind
from ...jobs.core.model import (
    Isolation,
    MisfirePolicy,
    Outcome,
    OverlapPolicy,
    Priority,
    SkipReason,
    TaskSource,
    Trigger,
)
from ...jobs.core.nodes import NodeState
from ...jobs.core.schedule import Syntax
from ...jobs.core.states import RunState
from ...jobs.core.task_sets import TaskAction

__all__ = ["Described", "Direction", "Nulls", "Role", "StatisticsBucket", "describe", "described"]

D = TypeVar("D", bound="Described")
E = TypeVar("E", bound=Enum)


def describe(enumeration: type[E], description: str, values: Mapping[E, str], *, name: str | None = None) -> type[E]:
    """Make an enumeration usable in the schema.

    Args:
        enumeration: The class; its member names become the GraphQL values.
        description: Of the enum.
        values: The description of every member.
        name: Of the enum in the schema, the class's unless given.

    Raises:
        ValueError: a member has no description.
    """
    missing = [member.name for member in enumeration if member not in values]
    if missing:
        raise ValueError(f"{enumeration.__name__}: every value needs a description, {', '.join(missing)} has none")
    described = strawberry.enum(enumeration, name=name, description=description)
    definition = cast("Any", described).__strawberry_definition__
    assert isinstance(definition, StrawberryEnumDefinition), "strawberry.enum gives every class a definition"
    for value in definition.values:
        value.description = values[enumeration[value.name]]
    return enumeration


class Described(StrEnum):
    """An enumeration of the schema's own: each value is written with its description."""

    _value_: str
    description: str

    def __new__(cls, value: str, description: str) -> Self:
        """A value and what clients read about it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member


def described(description: str) -> Callable[[type[D]], type[D]]:
    """Make an enumeration of described values usable in the schema."""
    return lambda enumeration: describe(enumeration, description, {one: one.description for one in enumeration})


@described("Which end of an order comes first.")
class Direction(Described):
    """Which end of an order comes first."""

    ASC = "asc", "Smallest, oldest or first in the alphabet first; rows without a value last."
    DESC = "desc", "Largest, newest or last in the alphabet first; rows without a value first."


@described("Where rows without a value stand in an order.")
class Nulls(Described):
    """Where rows without a value stand in an order."""

    FIRST = "first", "In front of all others."
    LAST = "last", "Behind all others."


@described("The width of one point of statistics, aligned to UTC.")
class StatisticsBucket(Described):
    """The width of one point of statistics."""

    MINUTE = "minute", "One minute."
    HOUR = "hour", "One hour."
    DAY = "day", "One day."


describe(
    Role,
    "What somebody may do; each role includes those before it.",
    {
        Role.VIEWER: "May look at everything.",
        Role.OPERATOR: "May also change tasks and runs.",
        Role.ADMIN: "May also manage nodes, retention and accounts.",
    },
)
describe(
    Syntax,
    "How a schedule is written.",
    {
        Syntax.CRON: "Six fields: second minute hour day-of-month month day-of-week, e.g. `0 30 9 * * MON-FRI`.",
        Syntax.CALENDAR: "A systemd calendar event, e.g. `Mon..Fri 09:30`.",
        Syntax.INTERVAL: "A fixed grid: seconds, `1h30m` or ISO 8601 `PT1H30M`; at least one second.",
        Syntax.TIMESTAMP: "Once, at an RFC 3339 time or at epoch milliseconds.",
    },
    name="ScheduleSyntax",
)
describe(
    TaskSource,
    "Where a task is defined.",
    {
        TaskSource.CODE: "Declared with the job in code; while a live node declares it, it can be paused, not deleted.",
        TaskSource.API: "Made through this API.",
        TaskSource.FILE: "Applied from a file.",
    },
)
describe(
    OverlapPolicy,
    "What happens to an occurrence while another run of the task is unfinished.",
    {
        OverlapPolicy.SKIP: "It is skipped and recorded. The default except for INTERVAL.",
        OverlapPolicy.QUEUE: "It waits; no two start at once, at most ten are unfinished. The default for INTERVAL.",
        OverlapPolicy.ALLOW: "Both run at the same time.",
        OverlapPolicy.REPLACE: "The older run is cancelled.",
    },
)
describe(
    MisfirePolicy,
    "What happens to what is due when a task is late by more than the misfire grace.",
    {
        MisfirePolicy.LAST: "The newest becomes a run, the others one recorded skip.",
        MisfirePolicy.ALL: (
            "The newest `catchUpLimit` become runs, no two of which execute at once. What is on time follows `overlap`."
        ),
        MisfirePolicy.NONE: "None that is late by more than the grace becomes a run; they are recorded as missed.",
    },
)
describe(
    Priority,
    "The two classes within a group; the node's counting scheme says how many of each are taken in turn.",
    {Priority.HIGH: "Taken more often.", Priority.LOW: "The default."},
)
describe(
    RunState,
    "The state of a run.",
    {
        RunState.WAITING: "In the queue; a node may take it once `availableAt` has come.",
        RunState.SCHEDULED: "Handed to a node ahead of a free slot; no attempt has begun.",
        RunState.RUNNING: "A node executes it.",
        RunState.STUCK: "Failed or lost; it is tried again after `availableAt`.",
        RunState.SUSPENDED: "Sleeps, or waits for a signal or for other runs; it holds no slot meanwhile.",
        RunState.SUCCESS: "Final: an attempt succeeded.",
        RunState.FAILED: "Final: failures exceeded `retries`, or the failure was permanent.",
        RunState.CANCELLED: "Final: somebody, or the job itself, cancelled it.",
        RunState.SKIPPED: "Final: dropped before its start; a skipped occurrence says why.",
    },
)
describe(
    FlowState,
    "The state of a flow.",
    {
        FlowState.RUNNING: "A run of it is unfinished, or it is open for more.",
        FlowState.SUCCESS: "Over: no run failed or was cancelled.",
        FlowState.FAILED: "Over: at least one run failed for good.",
        FlowState.CANCELLED: "Over: no run failed, and at least one was cancelled.",
    },
)
describe(
    When,
    "After which ends of the runs before it a run of a flow starts; it always waits until all of them are over.",
    {
        When.SUCCESS: "All of them succeeded.",
        When.FAILURE: "At least one of them failed for good.",
        When.ALWAYS: "However they ended.",
    },
)
describe(
    Trigger,
    "What made a run.",
    {
        Trigger.SCHEDULE: "The schedule of its task.",
        Trigger.MANUAL: "`triggerJob` or `triggerTask`.",
        Trigger.API: "`enqueueRuns`, or code that put it into the queue.",
        Trigger.RETRY: "`retryRun` or `retryRuns`.",
    },
)
describe(
    Outcome,
    "How an execution ended.",
    {
        Outcome.SUCCESS: "The job returned.",
        Outcome.FAILED: "The job raised.",
        Outcome.TIMED_OUT: "The job used up its time box.",
        Outcome.LOST: "The node died or was cut off.",
        Outcome.CANCELLED: "It was cancelled.",
        Outcome.SNOOZED: "The job asked to be tried again later; not a failure.",
        Outcome.SUSPENDED: "The run waits without a slot for a time, a signal or other runs; not a failure.",
        Outcome.HANDED_BACK: "The node stopped, or cannot read the arguments, and gave the run back; not a failure.",
    },
)
describe(
    SkipReason,
    "Why an occurrence did not become a run, or a run was dropped before its start.",
    {
        SkipReason.OVERLAP: "The overlap policy: an older run of the task was unfinished.",
        SkipReason.TOLERANCE: "It would have started too soon after the last start of its INTERVAL task.",
        SkipReason.MISSED: "The task was late by more than the misfire grace, and this occurrence is not made up for.",
        SkipReason.COALESCED: "A newer late occurrence became a run in its place.",
        SkipReason.PAUSED: "The task was paused.",
        SkipReason.WINDOW: "It lay outside `startAt` and `endAt`.",
        SkipReason.NO_JOB: "No node knew the task's job.",
        SkipReason.UNIQUE_KEY: "A run with the same unique key was unfinished.",
        SkipReason.EXPIRED: "It had to start by a time, and had not.",
        SkipReason.QUEUE_FULL: "As many runs waited as may.",
        SkipReason.PREDECESSOR: "Of a run of a flow: what it comes after ended so that it can never start.",
    },
)
describe(
    WhenFull,
    "What becomes of a run that comes when as many wait as may.",
    {
        WhenFull.REFUSE: "It is refused, with the code QUEUE_FULL. One that nobody waits for, such as an occurrence "
        "of a task, is skipped.",
        WhenFull.DROP_OLDEST: "The waiting run that was enqueued first is skipped, with the reason QUEUE_FULL.",
        WhenFull.DROP_NEWEST: "It is skipped, with the reason QUEUE_FULL.",
    },
)
describe(
    Isolation,
    "Where a job runs.",
    {
        Isolation.ASYNC: "On the event loop of the jobs.",
        Isolation.THREAD: "In a thread, which cannot be killed.",
        Isolation.PROCESS: "In a child process of its own, the only kind that can be killed.",
    },
)
describe(
    LogLevel,
    "How important a log line is.",
    {
        LogLevel.DEBUG: "For people who look for a fault.",
        LogLevel.INFO: "What happens as it should.",
        LogLevel.WARNING: "What may go wrong.",
        LogLevel.ERROR: "What went wrong.",
        LogLevel.CRITICAL: "What stops the whole.",
    },
)
describe(
    NodeState,
    "The life of a node.",
    {
        NodeState.STARTING: "It recovers and is about to serve.",
        NodeState.ACTIVE: "It takes runs.",
        NodeState.STALLED: "It is alive, but a part of it has made no progress for a whole lease; it keeps its runs, "
        "and becomes active again once that part gets on.",
        NodeState.DRAINING: "It was asked to drain: it takes nothing new, finishes what it runs and ends then, unless "
        "`resumeNode` takes that back.",
        NodeState.STOPPING: "It ends: it takes nothing new, and what it runs is finished or handed back.",
        NodeState.STOPPED: "It ended cleanly.",
        NodeState.EXPIRED: "It missed its heartbeats and was declared dead; its runs went elsewhere.",
    },
)
describe(
    EventKind,
    "What an event is about.",
    {
        EventKind.TASK_CREATED: "A task was created.",
        EventKind.TASK_UPDATED: "A task was edited, paused, resumed or moved on.",
        EventKind.TASK_DELETED: "A task was deleted.",
        EventKind.RUN_CREATED: "A run was put into the queue.",
        EventKind.RUN_UPDATED: "A run changed its state, priority, progress or due time.",
        EventKind.EXECUTION_STARTED: "An attempt began.",
        EventKind.EXECUTION_FINISHED: "An attempt ended.",
        EventKind.STEP_FINISHED: "A durable step of a run ended.",
        EventKind.OCCURRENCE_SKIPPED: "An occurrence was skipped.",
        EventKind.NODE_STARTED: "A node started.",
        EventKind.NODE_UPDATED: "A node changed its state.",
        EventKind.NODE_STOPPED: "A node stopped or was declared dead.",
        EventKind.GROUP_UPDATED: "A group was paused, resumed or limited.",
        EventKind.FLOW_CREATED: "A flow was enqueued.",
        EventKind.FLOW_UPDATED: "A flow changed its state, or was closed.",
        EventKind.RESYNC: "Events were missed (older than the retention, this reader was too slow, or the database was "
        "set back): query again, and go on from this cursor.",
    },
)
describe(
    StepKind,
    "What a durable step of a run is.",
    {
        StepKind.FUNCTION: "A function that is called.",
        StepKind.SLEEP: "A sleep.",
        StepKind.SIGNAL: "The wait for a signal.",
        StepKind.RUNS: "Other runs that it began, and the wait for their end.",
    },
)
describe(
    StepState,
    "The state of a durable step of a run.",
    {
        StepState.WAITING: "It waits for a time or for a signal.",
        StepState.TIMED_OUT: "The signal that it waited for did not come in time.",
        StepState.REJECTED: "The signal that it waited for came, and says no.",
        StepState.DONE: "What it returned is stored: no later attempt does it again. Of a wait: it is over.",
        StepState.FAILED: "It failed in this attempt, its retries included; the next attempt does it again.",
    },
)
describe(
    TaskAction,
    "What becomes of a task when its set is applied.",
    {
        TaskAction.CREATE: "It is made.",
        TaskAction.CHANGE: "Some of its fields are changed.",
        TaskAction.KEEP: "It is as it is wanted already.",
        TaskAction.ARCHIVE: "It is removed; its history stays, and its name can be taken again.",
        TaskAction.LEFT: "It is of the set, but no longer wanted; it stays, because `prune` was not asked for.",
    },
)
