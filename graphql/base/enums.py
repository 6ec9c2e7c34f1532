"""The engine's enumerations and codes as GraphQL enums: the same classes, with a description of each value."""

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Any, Self, TypeVar, cast

import strawberry
from strawberry.types.enum import StrawberryEnumDefinition

from ...jobs.core.actor import Role
from ...jobs.core.admission.caps import WhenFull
from ...jobs.core.alarms import Condition, Severity, SubjectKind
from ...jobs.core.base.errors import ErrorCode
from ...jobs.core.events import EventKind
from ...jobs.core.explain import ExplanationCode, PreviewOutcome
from ...jobs.core.flows import FlowState, When
from ...jobs.core.limits import PlaceHold
from ...jobs.core.model import (
    Isolation,
    LogLevel,
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
from ...jobs.core.steps import StepKind, StepState
from ...jobs.core.task_sets import TaskAction
from ...jobs.delivery.addresses import AddressKind
from ...jobs.delivery.inbound import HookKind
from ...jobs.delivery.rules import AlarmSource, ChannelKind, DeliveryEvent, DeliveryState
from ...jobs.delivery.webhooks import StopReason, WebhookState

__all__ = [
    "Described",
    "Direction",
    "ErrorCode",
    "ExplanationCode",
    "NullsPosition",
    "PreviewOutcome",
    "Role",
    "StatisticsBucket",
    "describe",
    "described",
]

D = TypeVar("D", bound="Described")
E = TypeVar("E", bound=Enum)


def describe(enumeration: type[E], description: str, values: Mapping[E, str], *, name: str | None = None) -> type[E]:
    """Make an enumeration usable in the schema.

    Args:
        enumeration: The class; its member names become the GraphQL values.
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
        """Return a value and its description for clients."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member


def described(description: str) -> Callable[[type[D]], type[D]]:
    """Make an enumeration of described values usable in the schema."""
    return lambda enumeration: describe(enumeration, description, {one: one.description for one in enumeration})


@described("Which end of an order comes first.")
class Direction(Described):
    """The end of an order that comes first."""

    ASC = "asc", "Smallest, oldest or first in the alphabet first; rows without a value last."
    DESC = "desc", "Largest, newest or last in the alphabet first; rows without a value first."


@described("Where rows without a value stand in an order.")
class NullsPosition(Described):
    """The place of rows without a value in an order."""

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
    "The rights of an account; each role includes those before it.",
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
    "The rule for an occurrence while another run of the task is unfinished.",
    {
        OverlapPolicy.SKIP: "It is skipped and recorded. The default except for INTERVAL.",
        OverlapPolicy.QUEUE: "It waits; no two start at once, at most ten are unfinished. The default for INTERVAL.",
        OverlapPolicy.ALLOW: "Both run at the same time.",
        OverlapPolicy.REPLACE: "The older run is cancelled.",
    },
)
describe(
    MisfirePolicy,
    "The rule for due occurrences when a task is late by more than the misfire grace.",
    {
        MisfirePolicy.LAST: "The newest becomes a run, the others one recorded skip.",
        MisfirePolicy.ALL: (
            "The newest `catchUpLimit` become runs, no two of which execute at once. Those on time follow `overlap`."
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
    name="FlowCondition",
)
describe(
    Trigger,
    "The cause of a run.",
    {
        Trigger.SCHEDULE: "The schedule of its task made the run.",
        Trigger.MANUAL: "The mutation `triggerJob` or `triggerTask` made the run.",
        Trigger.API: "The mutation `enqueueRuns`, or code, put the run into the queue.",
        Trigger.RETRY: "The mutation `retryRun` or `retryRuns` made the run again.",
        Trigger.HOOK: "A request to a hook made the run.",
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
        SkipReason.PREDECESSOR: "Of a run of a flow: its predecessor ended so that it can never start.",
    },
)
describe(
    WhenFull,
    "The rule for a new run when as many wait as may.",
    {
        WhenFull.REFUSE: "It is refused, with the code QUEUE_FULL. One that nobody waits for, such as an occurrence "
        "of a task, is skipped.",
        WhenFull.DROP_OLDEST: "The waiting run that was enqueued first is skipped, with the reason QUEUE_FULL.",
        WhenFull.DROP_NEWEST: "It is skipped, with the reason QUEUE_FULL.",
    },
)
describe(
    PlaceHold,
    "The time for which a run takes its place among those of its concurrency key.",
    {
        PlaceHold.RUNNING: "While a node executes it; others have the place while it waits for its retry, sleeps or "
        "waits.",
        PlaceHold.UNFINISHED: "From its first start until it is finished for good.",
    },
)
describe(
    Isolation,
    "Where a job runs.",
    {
        Isolation.ASYNC: "On the event loop of the jobs.",
        Isolation.THREAD: "In a thread, which cannot be killed.",
        Isolation.PROCESS: "In a child process of its own, which can be killed.",
        Isolation.REMOTE: "At an engine outside of the node, to which an executor hands each run.",
    },
)
describe(
    LogLevel,
    "How important a log line is.",
    {
        LogLevel.DEBUG: "For people who look for a fault.",
        LogLevel.INFO: "An expected event.",
        LogLevel.WARNING: "A possible problem.",
        LogLevel.ERROR: "A fault.",
        LogLevel.CRITICAL: "A fault that stops the whole.",
    },
)
describe(
    NodeState,
    "The life of a node.",
    {
        NodeState.STARTING: "It recovers and is about to serve.",
        NodeState.ACTIVE: "It takes runs.",
        NodeState.STALLED: "It is alive, but a part of it has made no progress for a whole lease, or others have "
        "missed two of its heartbeats; it keeps its runs, and becomes active again once that part gets on.",
        NodeState.DRAINING: "It was asked to drain: it takes nothing new, finishes its runs and ends then, unless "
        "`resumeNode` takes that back.",
        NodeState.STOPPING: "It ends: it takes nothing new, and its runs are finished or handed back.",
        NodeState.STOPPED: "It ended cleanly.",
        NodeState.EXPIRED: "It missed its heartbeats and was declared dead; its runs went elsewhere.",
    },
)
describe(
    EventKind,
    "The subject of an event.",
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
        EventKind.ALARM_FIRED: "An alarm fired.",
        EventKind.ALARM_RESOLVED: "A firing of an alarm was resolved.",
        EventKind.ALARM_UPDATED: "An alarm was made, changed or deleted, its silence changed, or a firing was seen.",
        EventKind.CHANNEL_UPDATED: "A channel was set or deleted.",
        EventKind.WEBHOOK_UPDATED: "A webhook was made, changed, stopped, resumed or deleted.",
        EventKind.DELIVERIES_UPDATED: "Messages were recorded, tried or given up. Webhooks do not get these events.",
        EventKind.FAILURES_UPDATED: "A group of failures was silenced, solved or reopened, or its silence was ended.",
        EventKind.RESYNC: "Events were missed: query again, and go on from this cursor.",
    },
)
describe(
    StepKind,
    "The kind of a durable step of a run.",
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
        StepState.DONE: "Its result is stored: no later attempt does it again. Of a wait: it is over.",
        StepState.FAILED: "It failed in this attempt, its retries included; the next attempt does it again.",
    },
)
describe(
    TaskAction,
    "The change of a task when its set is applied.",
    {
        TaskAction.CREATE: "It is made.",
        TaskAction.CHANGE: "Some of its fields are changed.",
        TaskAction.KEEP: "It is as it is wanted already.",
        TaskAction.ARCHIVE: "It is removed; its history stays, and its name can be taken again.",
        TaskAction.LEFT_OVER: "It is of the set, but no longer wanted; it stays, because `prune` was not asked for.",
    },
)
describe(
    ErrorCode,
    "Why an input was refused.",
    {
        ErrorCode.ACCOUNT_DISABLED: "Nobody may sign in with the account.",
        ErrorCode.ALREADY_EXISTS: "The thing that the input would make exists already.",
        ErrorCode.CODE_TASK: "A live node declares the task in its code: it can be paused, not deleted.",
        ErrorCode.FORBIDDEN: "Who asks may not do this, or not with these values.",
        ErrorCode.IDEMPOTENCY_CONFLICT: "The idempotency key was used for another request within 24 hours.",
        ErrorCode.INVALID_ARGS: "The arguments do not fit the job; `path` leads to the one.",
        ErrorCode.INVALID_INPUT: "A value of the input breaks a rule of its field.",
        ErrorCode.INVALID_LINK: "The link to set a password by is spent, too old or none.",
        ErrorCode.INVALID_SCHEDULE: "The text of the schedule does not follow its syntax.",
        ErrorCode.INVALID_STATE: "The thing exists, but in its present state this cannot be done to it.",
        ErrorCode.LAST_ADMINISTRATOR: "Nobody would be left who may manage accounts.",
        ErrorCode.LAST_WAY_IN: "The account would have nothing left to sign in with.",
        ErrorCode.NEVER_FIRES: "The schedule has no occurrence ahead.",
        ErrorCode.NO_ENCRYPTION_KEY: "The server has no key to encrypt secrets with.",
        ErrorCode.NOT_FOUND: "The thing that the input names does not exist.",
        ErrorCode.NO_ACCOUNT: "Nobody is known by this identity, and accounts are not made for new people.",
        ErrorCode.NO_CONDITION: "A filter, or the part of it that `path` leads to, has no condition: perhaps a "
        "variable has no value.",
        ErrorCode.OTHER_SET: "The task belongs to another set of tasks.",
        ErrorCode.OVERLAP: "The overlap policy of the task allows no further unfinished run.",
        ErrorCode.IN_USE: "Tasks refer to the secret.",
        ErrorCode.UNREADABLE: "A stored secret cannot be decrypted with the keys of this process.",
        ErrorCode.UNREADABLE_ROW: "A row in the database holds a wrong value: somebody changed it by hand. The "
        "message names table, row and column.",
        ErrorCode.QUEUE_FULL: "As many runs wait as the cap of the group or the job allows; nothing was enqueued.",
        ErrorCode.SIGN_IN_NEEDED: "This can be done only by somebody who has signed in, not by an API token.",
        ErrorCode.STEP_MISMATCH: "The stored value of a step or a signal does not fit the present code. Jobs get this, "
        "requests do not.",
        ErrorCode.TOO_MANY_ARCHIVED: "More than half of a set of tasks would be archived.",
        ErrorCode.TOO_MANY_DEVICES: "Too many devices of one address wait to be let in.",
        ErrorCode.UNKNOWN_JOB: "No node has published a job of this name.",
        ErrorCode.UNKNOWN_STEP: "The run has no step of this name.",
        ErrorCode.UNKNOWN_TIMEZONE: "The zone is not in the IANA database.",
        ErrorCode.VERSION_CONFLICT: "Somebody else edited the thing since it was read; read it again.",
    },
)
describe(
    ExplanationCode,
    "The kind of an explanation, of a task or of a run.",
    {
        ExplanationCode.BLOCKED: "Another run of the same task must end first.",
        ExplanationCode.BLOCKS_LOOP: "The code of the run keeps the event loop of its node from turning.",
        ExplanationCode.CANCELLED: "The run was cancelled.",
        ExplanationCode.CANCELLING: "The run was asked to stop, and is stopped hard after a grace.",
        ExplanationCode.CANNOT_STOP: "The run should stop, but it is in a thread, which cannot be killed.",
        ExplanationCode.DUE: "The task is due, and about to be dispatched.",
        ExplanationCode.FAILED: "The run failed for good.",
        ExplanationCode.FINISHED: "The task has no occurrence left.",
        ExplanationCode.FOLLOW_UP_LOST: (
            "The run ended, and a run that was to follow was refused or failed; the details name each."
        ),
        ExplanationCode.GROUP_LIMIT: "As many runs of its group are at work as the group may have.",
        ExplanationCode.GROUP_PAUSED: "Its group is paused.",
        ExplanationCode.IN_LINE: "Others of its group and priority were due before the run.",
        ExplanationCode.KEY_LIMIT: "As many runs with its concurrency key run as may.",
        ExplanationCode.LOOP_BLOCKED: "The event loop of its node, or of all that could take it, does not turn.",
        ExplanationCode.NEXT: "The run is next in line.",
        ExplanationCode.NOT_STARTED: "The window of the task has not begun.",
        ExplanationCode.NOT_YET: "The run was enqueued for a later time.",
        ExplanationCode.NODE_STALLED: "All nodes that can run it are alive, but make no progress.",
        ExplanationCode.TOO_FEW_SLOTS: "Its job takes more slots than any node that can run it has.",
        ExplanationCode.NO_CHILD_PROCESS: "No node that can run it can start the child process that it needs.",
        ExplanationCode.NO_JOB: "No node knows the job.",
        ExplanationCode.NO_NODE: "No live node can run the job.",
        ExplanationCode.NO_TAKER: "Live nodes know the job, but were started to take other runs than this.",
        ExplanationCode.NO_SLOT: "No node that can run it has a free slot.",
        ExplanationCode.PAUSED: "The task is paused.",
        ExplanationCode.PUT_OFF: "The task was due, or the run, and could not begin; it is tried again at `until`.",
        ExplanationCode.QUEUED: "A run of the task is in the queue and takes its turn.",
        ExplanationCode.RATE_LIMIT: "It waits for a token of its group's or its job's rate.",
        ExplanationCode.RETRYING: "A run of the task failed and will be tried again.",
        ExplanationCode.RETRY_LATER: "An attempt failed; the run is tried again at `until`.",
        ExplanationCode.RUNNING: "It is at work.",
        ExplanationCode.AT_ENGINE: "It was handed to an engine, where its code has not begun.",
        ExplanationCode.SCHEDULED: "The run is handed to a node and starts once that has a free slot.",
        ExplanationCode.SKIPPED: "The run was dropped before its start.",
        ExplanationCode.SLEEPING: "The run sleeps until `until`, without a slot.",
        ExplanationCode.SNOOZED: "The job asked to be tried again at `until`.",
        ExplanationCode.SUCCESS: "The run ended successfully.",
        ExplanationCode.TIMING_OUT: "The time box of the run is used up, and it is being stopped.",
        ExplanationCode.WAITING: "The task waits for its next time.",
        ExplanationCode.WAITS_FOR_RUNS: "The run is suspended until other runs have ended.",
        ExplanationCode.WAITS_FOR_SIGNAL: "The run is suspended until somebody sends it a signal.",
        ExplanationCode.WAITS_FOR_VERSION: "No version of its job that has tried can read its arguments. "
        "It waits for another one until `until`, then it fails.",
        ExplanationCode.WINDOW_ENDED: "The window of the task is over.",
    },
)
describe(
    PreviewOutcome,
    "The fate of a run that is asked for.",
    {
        PreviewOutcome.ENQUEUED: "It would wait in the queue.",
        PreviewOutcome.DEDUPLICATED: "Another run holds its unique key and would be answered.",
        PreviewOutcome.RENEWED: "The same, and that run, which still waits, would get its arguments.",
        PreviewOutcome.DROPPED: "The queue is full, and it would be skipped at once.",
        PreviewOutcome.REFUSED: "Nothing is enqueued: a full queue (`QUEUE_FULL`), or the overlap policy (`OVERLAP`).",
    },
)
describe(
    Condition,
    "The condition of an alarm.",
    {
        Condition.LATE: "An occurrence has not started by its grace, or was missed.",
        Condition.OVERDUE: "An occurrence is not done by a time of day, or some time after it was due.",
        Condition.SLOW: "An execution takes longer than a time, or than usual.",
        Condition.FAILING: "Runs fail one after the other.",
        Condition.EMPTY: "An execution succeeds and has processed too few records.",
        Condition.BACKLOG: "Runs of a group wait too long, or too many wait.",
        Condition.NODE: "A node is lost or silent.",
        Condition.NEW_ERROR: "Runs fail with an error that they have not had for a while.",
        Condition.SKEW: "The clock of a node differs from that of the database.",
        Condition.DATABASE: "The database has too little room, an old transaction, or a standby that is behind.",
        Condition.IDLE: "A node sends heartbeats and has free slots, and takes no runs although some are due.",
        Condition.WEBHOOK: "A webhook was switched off or parked.",
    },
    name="AlarmCondition",
)
describe(
    Severity,
    "The severity of an alarm, for its receivers.",
    {
        Severity.INFO: "Of interest only.",
        Severity.WARNING: "To be looked at soon. The default.",
        Severity.CRITICAL: "To be looked at now.",
    },
    name="AlarmSeverity",
)
describe(
    SubjectKind,
    "The kind of thing that an alarm watches.",
    {
        SubjectKind.TASK: "A task.",
        SubjectKind.JOB: "All runs of a job.",
        SubjectKind.GROUP: "All runs of a group.",
        SubjectKind.NODE: "A node, or every node.",
        SubjectKind.DATABASE: "The database.",
        SubjectKind.FLOW: "All flows of a name.",
        SubjectKind.WEBHOOK: "A webhook, or every webhook.",
    },
    name="AlarmSubjectKind",
)
describe(
    AddressKind,
    "The use of an address that nobody guesses.",
    {
        AddressKind.PING: "A program that another machine runs pings it, by the protocol of Healthchecks.",
        AddressKind.BADGE: "It answers a picture (SVG) of the state of a task.",
        AddressKind.CALENDAR: "It answers the coming occurrences as a calendar (iCalendar).",
    },
)
describe(
    HookKind,
    "The form in which the senders of a hook prove that they know its secret.",
    {
        HookKind.GITHUB: "The header `X-Hub-Signature-256`, as GitHub, Gitea and Forgejo sign.",
        HookKind.STRIPE: "The header `Stripe-Signature`, at most 300 seconds old.",
        HookKind.STANDARD: "The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard "
        "Webhooks, at most 300 seconds old.",
        HookKind.BEARER: "The header `Authorization: Bearer` and the secret itself.",
    },
)
describe(
    AlarmSource,
    "The place where an alarm is defined.",
    {
        AlarmSource.API: "Made through this API.",
        AlarmSource.CODE: "Declared with its job in code; it can be silenced and disabled, not changed or deleted.",
        AlarmSource.FILE: "Applied from a file.",
    },
)
describe(
    ChannelKind,
    "The kind of a channel.",
    {
        ChannelKind.CHAT: "A chat such as Slack or Teams.",
        ChannelKind.WEBHOOK: "Signed JSON, by the rules of Standard Webhooks.",
        ChannelKind.ALERTMANAGER: "Prometheus' Alertmanager.",
        ChannelKind.MAIL: "Mails by SMTP.",
        ChannelKind.APPRISE: "Any service that the library Apprise knows.",
    },
)
describe(
    DeliveryEvent,
    "The event that a delivery is about.",
    {
        DeliveryEvent.EVENTS: "A subscription of a webhook had results.",
        DeliveryEvent.FIRED: "Alarms fired.",
        DeliveryEvent.RESOLVED: "Firings were resolved.",
        DeliveryEvent.TEST: "Somebody tested the channel.",
    },
    name="AlarmDeliveryEvent",
)
describe(
    DeliveryState,
    "The state of a delivery.",
    {
        DeliveryState.PENDING: "It is sent at `nextAttemptAt`, or on its way.",
        DeliveryState.SENT: "The receiver accepted it.",
        DeliveryState.FAILED: "It was given up; `redeliverAlarm` sends it again.",
    },
    name="AlarmDeliveryState",
)
describe(
    WebhookState,
    "The state of a webhook.",
    {
        WebhookState.ACTIVE: "It sends.",
        WebhookState.FAILING: "The last try failed. One message is tried again at `nextTryAt`; the others wait.",
        WebhookState.PARKED: "It sends in order, and its oldest message was not accepted within 75 hours. "
        "`resumeWebhook` tries it again or skips it.",
        WebhookState.STOPPED: "It was switched off, see `stopReason`; `resumeWebhook` lets it go on where it was.",
        WebhookState.DISABLED: "Somebody disabled it; its place is kept.",
    },
)
describe(
    StopReason,
    "The reason why a webhook sends nothing until somebody resumes it.",
    {
        StopReason.FAILING: "The receiver has accepted nothing for five days.",
        StopReason.GONE: "The receiver answered 410: it wants nothing more.",
        StopReason.PARKED: "A message of an ordered webhook was not accepted within 75 hours.",
        StopReason.REFUSED: "The document can no longer be executed: its owner lacks rights, or the schema changed.",
    },
    name="WebhookStopReason",
)
