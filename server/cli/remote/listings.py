"""The lists that commands show."""

from typing import Final

from ....graphql.client.command_line import EXECUTIONS, FLOWS, GROUPS, JOBS, NODES, RUNS, TASKS
from .lists import Listing
from .values import FLAG, INSIDE, NUMBER, TEXT, TIME, WORD

_TIMES: Final = ("startedAt", "finishedAt", "submittedAt", "availableAt", "scheduledFor", "cancelRequestedAt")
RUN_LIST: Final = Listing(
    "runs",
    RUNS,
    ("id", "state", "jobName", "group", "priority", "attempt", "submittedAt", "node", "error"),
    {
        **dict.fromkeys(("id", "jobName", "taskId", "taskName", "group", "node", "uniqueKey", "retriedFrom"), TEXT),
        **dict.fromkeys(("submitter", "description", "error"), TEXT),
        **dict.fromkeys(("state", "priority", "trigger"), WORD),
        **dict.fromkeys(("attempt", "failures"), NUMBER),
        **dict.fromkeys(_TIMES, TIME),
        "retried": FLAG,
        "waitsForSignal": FLAG,
        "labels": INSIDE,
        "args": INSIDE,
    },
    (
        "ID",
        "STATE",
        "JOB_NAME",
        "TASK_NAME",
        "GROUP",
        "PRIORITY",
        "SCHEDULED_FOR",
        "SUBMITTED_AT",
        "AVAILABLE_AT",
        "STARTED_AT",
        "FINISHED_AT",
    ),
)
TASK_LIST: Final = Listing(
    "tasks",
    TASKS,
    ("name", "jobName", "enabled", "schedule.humanized", "nextExecution", "lastStartedAt"),
    {
        **dict.fromkeys(("id", "name", "description", "jobName", "group", "owner", "submitter", "timezone"), TEXT),
        **dict.fromkeys(("source", "priority", "syntax", "overlap", "lastOutcome"), WORD),
        **dict.fromkeys(("enabled", "overridden", "finished", "stalled"), FLAG),
        **dict.fromkeys(("nextExecution", "pausedAt", "lastDueAt", "lastStartedAt", "createdAt", "updatedAt"), TIME),
        "counter": NUMBER,
        "labels": INSIDE,
    },
    (
        "ID",
        "NAME",
        "JOB_NAME",
        "GROUP",
        "OWNER",
        "NEXT_EXECUTION",
        "LAST_STARTED_AT",
        "COUNTER",
        "CREATED_AT",
        "UPDATED_AT",
    ),
)
EXECUTION_LIST: Final = Listing(
    "executions",
    EXECUTIONS,
    ("id", "jobName", "runId", "attempt", "outcome", "startedAt", "duration", "errorMessage"),
    {
        **dict.fromkeys(("id", "jobName", "taskId", "taskName", "runId", "group", "owner", "node"), TEXT),
        **dict.fromkeys(("errorMessage", "errorType"), TEXT),
        **dict.fromkeys(("outcome", "trigger"), WORD),
        **dict.fromkeys(("attempt", "recordsProcessed", "duration"), NUMBER),
        **dict.fromkeys(("startedAt", "completedAt", "scheduledFor"), TIME),
        "success": FLAG,
        "labels": INSIDE,
        "args": INSIDE,
    },
    ("ID", "JOB_NAME", "TASK_NAME", "NODE", "STARTED_AT", "COMPLETED_AT", "DURATION", "RECORDS_PROCESSED"),
)
GROUP_LIST: Final = Listing(
    "groups",
    GROUPS,
    ("name", "paused", "maxRunning", "waiting", "running", "stuck", "suspended", "oldestWait"),
    {"name": TEXT, "paused": FLAG, "maxRunning": NUMBER},
    ("NAME", "DEPTH", "WAIT"),
)
FLOW_LIST: Final = Listing(
    "flows",
    FLOWS,
    ("id", "name", "state", "progress.done", "progress.total", "progress.failed", "submittedAt", "finishedAt"),
    {
        **dict.fromkeys(("id", "name", "uniqueKey", "submitter"), TEXT),
        "state": WORD,
        "labels": INSIDE,
        **dict.fromkeys(("submittedAt", "finishedAt"), TIME),
    },
    ("ID", "NAME", "FINISHED_AT"),
)
JOB_LIST: Final = Listing(
    "jobs",
    JOBS,
    ("name", "isolation", "schedule", "limits.rate", "declaredRate"),
    {**dict.fromkeys(("name", "description", "schedule"), TEXT), "isolation": WORD},
    ("NAME",),
)
NODE_LIST: Final = Listing(
    "nodes",
    NODES,
    ("name", "state", "running", "slots", "version", "heartbeatAt"),
    {**dict.fromkeys(("id", "name", "version"), TEXT), "state": WORD, "startedAt": TIME},
    ("ID", "NAME", "STARTED_AT"),
)
