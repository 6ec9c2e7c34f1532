"""A typed client of the GraphQL API: ``Client`` for plain code, ``AsyncClient`` for an event loop.

::

    from . import Client, cron

    with Client("http://localhost:8000") as client:
        client.create_task("nightly", "report", cron("0 0 3 * * *", "Europe/Berlin"), args={"days": 7})
        run = client.trigger_task("nightly")
        for event in client.events(filter=EventFilter(run_id=run.id)):
            print(event.kind, event.state)

It needs neither the server nor the engine. Both clients make lost connections of subscriptions again: of events and of
logs nothing is missed and nothing comes twice. ``queries``, ``mutations`` and ``subscriptions`` hold the ready-made
operations as values.
"""

from . import mutations, queries, subscriptions
from .awaiting import AsyncClient
from .base.errors import (
    ClientError,
    Fault,
    HttpError,
    InvalidAddressError,
    InvalidAnswerError,
    OperationError,
    Refusal,
    RefusedError,
    TimedOutError,
    UnreachableError,
)
from .blocking import Client
from .connection.credentials import Credentials, CredentialsError
from .connection.sign_in import Invitation, SignInRefusedError, sign_in, sign_out
from .enums import (
    EventKind,
    MisfirePolicy,
    NodeState,
    Outcome,
    OverlapPolicy,
    Priority,
    Role,
    RunState,
    ScheduleSyntax,
    SkipReason,
    TaskSource,
    Trigger,
    WhenFull,
)
from .inputs import (
    DebounceInput,
    EventFilter,
    NewFlowRun,
    NewRun,
    RateInput,
    ScheduleInput,
    TaskChanges,
    TaskSettings,
    ThrottleInput,
)
from .operation import Operation
from .records import (
    DetailedEvent,
    Event,
    Execution,
    Explanation,
    Flow,
    FlowProgress,
    Group,
    Job,
    JobLimits,
    JobLog,
    LogLine,
    LogPart,
    Node,
    Progress,
    Rate,
    Run,
    SavedView,
    Schedule,
    ScheduleFault,
    ScheduleValidation,
    SkippedOccurrence,
    Task,
    TriggeredJob,
    UniqueKey,
    Viewer,
)
from .results import ChangedRuns, ChangedTasks, DeletedTasks, Page, Pruning
from .schedules import calendar, cron, interval, once
from .subscription import Reconnect, Subscription

__all__ = [
    "AsyncClient",
    "ChangedRuns",
    "ChangedTasks",
    "Client",
    "ClientError",
    "Credentials",
    "CredentialsError",
    "DebounceInput",
    "DeletedTasks",
    "DetailedEvent",
    "Event",
    "EventFilter",
    "EventKind",
    "Execution",
    "Explanation",
    "Fault",
    "Flow",
    "FlowProgress",
    "Group",
    "HttpError",
    "InvalidAddressError",
    "InvalidAnswerError",
    "Invitation",
    "Job",
    "JobLimits",
    "JobLog",
    "LogLine",
    "LogPart",
    "MisfirePolicy",
    "NewFlowRun",
    "NewRun",
    "Node",
    "NodeState",
    "Operation",
    "OperationError",
    "Outcome",
    "OverlapPolicy",
    "Page",
    "Priority",
    "Progress",
    "Pruning",
    "Rate",
    "RateInput",
    "Reconnect",
    "Refusal",
    "RefusedError",
    "Role",
    "Run",
    "RunState",
    "SavedView",
    "Schedule",
    "ScheduleFault",
    "ScheduleInput",
    "ScheduleSyntax",
    "ScheduleValidation",
    "SignInRefusedError",
    "SkipReason",
    "SkippedOccurrence",
    "Subscription",
    "Task",
    "TaskChanges",
    "TaskSettings",
    "TaskSource",
    "ThrottleInput",
    "TimedOutError",
    "Trigger",
    "TriggeredJob",
    "UniqueKey",
    "UnreachableError",
    "Viewer",
    "WhenFull",
    "calendar",
    "cron",
    "interval",
    "mutations",
    "once",
    "queries",
    "sign_in",
    "sign_out",
    "subscriptions",
]
