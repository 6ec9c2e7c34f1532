"""The documents that the commands of ``cronograph`` send; servers know them by their hashes."""

from collections.abc import Mapping
from typing import Any, Final

from .operation import Operation, custom

APPLY_TASKS: Final = """mutation ApplyTasks($input: ApplyTasksInput!) {
  applyTasks(input: $input) {
    planned { name setName action version changes { field before after } }
    groups { name version changes { field before after } }
    definitions { kind name setName action version changes { field before after } }
    errors { code message path }
  }
}"""
_RUN: Final = """id state jobName task { name } group priority attempt retries trigger scheduledFor submittedAt
    availableAt startedAt finishedAt node progress { done total message } error args labels expiresAt skipReason
    result"""
_TASK: Final = """id name jobName isEnabled source setName description group priority owner args labels
    rate { limit per burst } schedule { syntax value timezone humanized } nextExecutionAt lastStartedAt isFinished
    pausedAt pausedBy pauseReason version"""
_EXECUTION: Final = """id jobName taskName runId attempt outcome success startedAt completedAt duration wait node
    trigger recordsProcessed errorType errorMessage labels traceId"""
_FLOW: Final = """id name state isOpen uniqueKey labels submittedAt finishedAt deadlineAt submitter
    startedByRun { id } startedByTask { id name } progress { total done running failed skipped }"""
_GROUP: Final = """name isPaused pausedBy pauseReason maxRunning maxWaitLow keep cap { limit whenFull }
    rate { limit per burst } tokens nextTokenAt waiting scheduled running stuck suspended oldestWait"""
_JOB: Final = "name declaredRate { limit per burst } limits { rate { limit per burst } maxConcurrent }"
_NODE: Final = "name state running slots version startedAt heartbeatAt clockSkew stall"


_PREVIEW: Final = """preview { sentence droppedIds runs { outcome jobName sentence group standsForId
    explanation { code sentence details changesAt } } }"""


def _listed(field: str, kind: str, fields: str) -> str:
    name = field[0].upper() + field[1:]
    declared = f"$first: Int, $after: String, $filter: {kind}Filter, $orderBy: [{kind}Order!]"
    given = "first: $first, after: $after, filter: $filter, orderBy: $orderBy"
    shown = f"nodes {{ {fields} }} pageInfo {{ hasNextPage endCursor }}"
    return f"query {name}({declared}) {{ {field}({given}) {{ {shown} }} }}"


def _exported(field: str, fields: str) -> str:
    """Return the query of all there is of a noun, by name."""
    name = field[0].upper() + field[1:]
    given = "first: $first, after: $after, orderBy: [{ field: NAME }]"
    shown = f"nodes {{ name {fields} }} pageInfo {{ hasNextPage endCursor }}"
    return f"query Exported{name}($first: Int, $after: String) {{ {field}({given}) {{ {shown} }} }}"


def _changing(field: str, fields: str) -> str:
    name = field[0].upper() + field[1:]
    shown = f"{fields} errors {{ code message path }}"
    return f"mutation {name}($input: {name}Input!) {{ {field}(input: $input) {{ {shown} }} }}"


EXPORTED_TASKS: Final = _exported("tasks", "source setName definition")
EXPORTED_ALARMS: Final = _exported("alarms", "source owner definition")
EXPORTED_CHANNELS: Final = _exported("channels", "setName definition")
EXPORTED_WEBHOOKS: Final = _exported("webhooks", "setName definition")
EXPORTED_HOOKS: Final = _exported("hooks", "setName definition")
EXPORTED_GROUPS: Final = _exported(
    "groups", "maxRunning maxWaitLow keep cap { limit whenFull } rate { limit per burst }"
)
RUNS: Final = _listed("runs", "Run", _RUN)
TASKS: Final = _listed("tasks", "Task", _TASK)
EXECUTIONS: Final = _listed("executions", "Execution", _EXECUTION)
ARCHIVE: Final = "query HistoryArchive { retention { archive { location completeUntilAt } } }"
GROUPS: Final = _listed("groups", "Group", _GROUP)
FLOWS: Final = _listed("flows", "Flow", _FLOW)
JOBS: Final = _listed("jobs", "Job", f"{_JOB} description schedule isolation")
NODES: Final = _listed("nodes", "Node", _NODE)
ONE_RUN: Final = f"""query OneRun($id: ID!) {{ run(id: $id) {{ {_RUN} explain {{ code sentence details }}
    executions(last: 5) {{ nodes {{ {_EXECUTION} }} }} }} }}"""
ONE_TASK: Final = f"""query OneTask($name: String!, $count: Int!) {{ task(name: $name) {{ {_TASK}
    explain {{ code sentence details }} next: schedule {{ nextExecutions(count: $count) }} }} }}"""
ONE_FLOW: Final = f"""query OneFlow($id: ID!, $first: Int!) {{ flow(id: $id) {{ {_FLOW}
    runs(first: $first, orderBy: [{{ field: ID }}]) {{ nodes {{ {_RUN}
    flowPlace {{ key when after skippedAfter }} }} }} }} }}"""
_ALARM: Final = """name isEnabled severity condition sentence source owner description channels silenceEndsAt silencedBy
    silenceReason version createdAt createdBy updatedAt"""
_FIRING: Final = """id alarmName severity condition runId executionId flowId scheduledFor sentence explanation
    policy channels lastSuccessAt firedAt resolvedAt acknowledgedAt acknowledgedBy note isNotified"""
_CHANNEL: Final = "name kind address route { severities groups labels } version createdAt updatedAt updatedBy"
_DELIVERY: Final = """id messageId channel event state attempts createdAt nextAttemptAt endedAt status answer error"""
ALARMS: Final = _listed("alarms", "Alarm", _ALARM)
ALARM_FIRINGS: Final = _listed("alarmFirings", "AlarmFiring", _FIRING)
CHANNELS: Final = _listed("channels", "Channel", _CHANNEL)
ALARM_DELIVERIES: Final = _listed("alarmDeliveries", "AlarmDelivery", _DELIVERY)
FIRING_DELIVERIES: Final = f"""query FiringDeliveries($id: ID!) {{
  alarmFirings(first: 1, filter: {{ id: {{ eq: $id }} }}) {{
    nodes {{ id deliveries(first: 200) {{ nodes {{ {_DELIVERY} }} }} }}
  }}
}}"""
CREATE_ALARM: Final = _changing("createAlarm", f"alarm {{ {_ALARM} }}")
UPDATE_ALARM: Final = _changing("updateAlarm", f"alarm {{ {_ALARM} }}")
DELETE_ALARM: Final = _changing("deleteAlarm", f"alarm {{ {_ALARM} }}")
SILENCE_ALARM: Final = _changing("silenceAlarm", f"alarm {{ {_ALARM} }}")
ACKNOWLEDGE_ALARMS: Final = _changing("acknowledgeAlarms", f"count firings {{ {_FIRING} }}")
SET_CHANNEL: Final = _changing("setChannel", f"channel {{ {_CHANNEL} }}")
DELETE_CHANNEL: Final = _changing("deleteChannel", f"channel {{ {_CHANNEL} }}")
TEST_CHANNEL: Final = _changing("testChannel", f"delivery {{ {_DELIVERY} }}")
REDELIVER_ALARM: Final = _changing("redeliverAlarm", f"delivery {{ {_DELIVERY} }}")
_MARK: Final = "fingerprint jobName silenceEndsAt silencedBy silenceReason solvedAt solvedBy solvedIn updatedAt"
FAILURE_GROUPS: Final = f"""query FailureGroups($job: String, $from: DateTime, $first: Int!) {{
  failureGroups(jobName: $job, from: $from, first: $first) {{
    fingerprint state jobName errorType message count firstAt lastAt mark {{ {_MARK} }}
  }}
}}"""
SILENCE_FAILURES: Final = _changing("silenceFailures", f"mark {{ {_MARK} }}")
SOLVE_FAILURES: Final = _changing("solveFailures", f"mark {{ {_MARK} }}")
REOPEN_FAILURES: Final = _changing("reopenFailures", f"mark {{ {_MARK} }}")
_HOOK: Final = "name path jobName kind secrets argument description isEnabled version createdAt createdBy updatedAt"
HOOKS: Final = _listed("hooks", "Hook", _HOOK)
CREATE_HOOK: Final = _changing("createHook", f"hook {{ {_HOOK} }}")
UPDATE_HOOK: Final = _changing("updateHook", f"hook {{ {_HOOK} }}")
DELETE_HOOK: Final = _changing("deleteHook", f"hook {{ {_HOOK} }}")
_WEBHOOK: Final = """name state url secrets document variables description isOrdered isEnabled failures firstFailedAt
    nextTryAt lastDeliveredAt stopReason stopMessage stoppedAt cursor waitingCount owner version createdAt updatedAt"""
_SENT: Final = "preview { eventCount hasMore messages }"
WEBHOOKS: Final = _listed("webhooks", "Webhook", _WEBHOOK)
CREATE_WEBHOOK: Final = _changing("createWebhook", f"webhook {{ {_WEBHOOK} }} {_SENT}")
UPDATE_WEBHOOK: Final = _changing("updateWebhook", f"webhook {{ {_WEBHOOK} }} {_SENT}")
DELETE_WEBHOOK: Final = _changing("deleteWebhook", f"webhook {{ {_WEBHOOK} }}")
RESUME_WEBHOOK: Final = _changing("resumeWebhook", f"webhook {{ {_WEBHOOK} }}")
REDELIVER_WEBHOOK: Final = _changing("redeliverWebhook", f"webhook {{ {_WEBHOOK} }} count")
_ADDRESS: Final = "id kind taskName createdAt createdBy"
ADDRESSES: Final = _listed("addresses", "Address", _ADDRESS)
CREATE_ADDRESS: Final = _changing("createAddress", f"address {{ {_ADDRESS} }} path")
DELETE_ADDRESS: Final = _changing("deleteAddress", f"address {{ {_ADDRESS} }}")
CANCEL_FLOW: Final = _changing("cancelFlow", f"flow {{ {_FLOW} }}")
RETRY_FLOW: Final = _changing("retryFlow", f"flow {{ {_FLOW} }}")
SEARCH_LOGS: Final = """query SearchLogs(
  $text: String!, $job: String, $task: String, $execution: ID, $from: DateTime, $first: Int!
) {
  logSearch(text: $text, jobName: $job, taskName: $task, executionId: $execution, from: $from, first: $first) {
    nodes { executionId line { line at level message fields } }
    executions lines sentence pageInfo { hasNextPage }
  }
}"""
STATS: Final = """query Stats { overview { at running waiting scheduled stuck suspended failedLast24h succeededLast24h
    successRate
    runsPerMinute stalledTasks liveNodes drainingNodes slots } }"""
TOP: Final = f"""query Top($runs: Int!, $groups: Int!, $failures: Int!) {{
  overview {{ at running waiting scheduled stuck suspended failedLast24h succeededLast24h runsPerMinute stalledTasks
    liveNodes slots }}
  running: runs(first: $runs, filter: {{ state: {{ eq: RUNNING }} }}, orderBy: [{{ field: ID }}]) {{
    nodes {{ id jobName task {{ name }} node startedAt attempt progress {{ done total message }} }} }}
  groups(first: $groups, orderBy: [{{ field: DEPTH, direction: DESC }}, {{ field: RUNNING, direction: DESC }}]) {{
    nodes {{ {_GROUP} }} }}
  nodes(first: 100, filter: {{ state: {{ in: [STARTING, ACTIVE, STALLED, DRAINING, STOPPING] }} }}) {{
    nodes {{ {_NODE} }} }}
  failures: executions(first: $failures, filter: {{ outcome: {{ in: [FAILED, TIMED_OUT, LOST] }} }}) {{
    nodes {{ id runId jobName taskName outcome completedAt errorMessage }} }}
}}"""
CREATE_TASK: Final = _changing("createTask", f"task {{ {_TASK} }}")
UPDATE_TASK: Final = _changing("updateTask", f"task {{ {_TASK} }}")
PAUSE_TASK: Final = _changing("pauseTask", f"task {{ {_TASK} }}")
RESUME_TASK: Final = _changing("resumeTask", f"task {{ {_TASK} }}")
DELETE_TASK: Final = _changing("deleteTask", "deletedName cancelledCount")
ENQUEUE: Final = _changing("enqueueRuns", "runs { id state jobName isDeduplicated }")
TRY_ENQUEUE: Final = _changing("enqueueRuns", _PREVIEW)
CANCEL_RUNS: Final = _changing("cancelRuns", "count hasMore endCursor")
RETRY_RUNS: Final = _changing("retryRuns", "count hasMore endCursor")
TRY_RETRY_RUNS: Final = _changing("retryRuns", f"count hasMore {_PREVIEW}")
TRY_TRIGGER_TASK: Final = _changing("triggerTask", _PREVIEW)
TRY_CREATE_TASK: Final = _changing("createTask", f"task {{ {_TASK} }} {_PREVIEW}")
TRY_UPDATE_TASK: Final = _changing("updateTask", f"task {{ {_TASK} }} {_PREVIEW}")
RETRY_RUN: Final = _changing("retryRun", "run { id state jobName }")
PRIORITIES: Final = _changing("setRunPriorities", "count hasMore endCursor")
PAUSE_GROUP: Final = _changing("pauseGroup", f"group {{ {_GROUP} }}")
RESUME_GROUP: Final = _changing("resumeGroup", f"group {{ {_GROUP} }}")
UPDATE_GROUP: Final = _changing("updateGroup", f"group {{ {_GROUP} }}")
UPDATE_JOB: Final = _changing("updateJob", f"job {{ {_JOB} }}")
DRAIN_NODE: Final = _changing("drainNode", f"node {{ {_NODE} }}")
RESUME_NODE: Final = _changing("resumeNode", f"node {{ {_NODE} }}")

NAMES: Final = {
    field: f"""query {kind}Names($first: Int!, $filter: {kind}Filter) {{
  {field}(first: $first, filter: $filter) {{ nodes {{ name }} pageInfo {{ hasNextPage }} }} }}"""
    for field, kind in (("tasks", "Task"), ("jobs", "Job"), ("groups", "Group"), ("nodes", "Node"))
}
"""Names that begin somehow, for shells that complete them."""

_CONSTANTS: Final = {name: value for name, value in vars().items() if name.isupper() and not name.startswith("_")}
DOCUMENTS: Final = (*(one for one in _CONSTANTS.values() if isinstance(one, str)), *NAMES.values())
"""All of them: each constant of this module that others import."""


def sent(document: str, variables: Mapping[str, object]) -> Operation[dict[str, Any]]:
    """Return the operation of one of these documents; its result is ``data`` of the answer."""
    return custom(document, variables, None, dict[str, Any], ready_made=True)
