"""Words that programs test, as GraphQL enums: why an input was refused, what an explanation says, states of events."""

from cronograph.jobs.core.base.errors import ErrorCode

from ...jobs.core.events import EventState
from ...jobs.core.explain import ExplanationCode, PreviewOutcome
from .enums import describe

__all__ = ["ErrorCode", "EventState", "ExplanationCode", "PreviewOutcome"]

describe(
    ErrorCode,
    "Why an input was refused.",
    {
        ErrorCode.ACCOUNT_DISABLED: "Nobody may sign in with the account.",
        ErrorCode.ALREADY_EXISTS: "What the input would make exists already.",
        ErrorCode.CODE_TASK: "A live node declares the task in its code: it can be paused, not deleted.",
        ErrorCode.FORBIDDEN: "Who asks may not do this, or not with these values.",
        ErrorCode.IDEMPOTENCY_CONFLICT: "The idempotency key was used for another request within 24 hours.",
        ErrorCode.INVALID_ARGS: "The arguments do not fit the job; `path` leads to the one.",
        ErrorCode.INVALID_INPUT: "A value of the input is not what it must be.",
        ErrorCode.INVALID_LINK: "The link to set a password by is spent, too old or none.",
        ErrorCode.INVALID_SCHEDULE: "The text of the schedule does not follow its syntax.",
        ErrorCode.INVALID_STATE: "The thing exists, but in its present state this cannot be done to it.",
        ErrorCode.LAST_ADMINISTRATOR: "Nobody would be left who may manage accounts.",
        ErrorCode.LAST_WAY_IN: "The account would have nothing left to sign in with.",
        ErrorCode.NEVER_FIRES: "The schedule has no occurrence ahead.",
        ErrorCode.NO_ENCRYPTION_KEY: "The server has no key to encrypt secrets with.",
        ErrorCode.NOT_FOUND: "What the input names does not exist.",
        ErrorCode.NO_ACCOUNT: "Nobody is known by this identity, and accounts are not made for new people.",
        ErrorCode.NO_CONDITION: "A filter, or the part of it that `path` leads to, has no condition: perhaps a "
        "variable has no value.",
        ErrorCode.OTHER_SET: "The task belongs to another set of tasks.",
        ErrorCode.OVERLAP: "The overlap policy of the task allows no further unfinished run.",
        ErrorCode.IN_USE: "Tasks refer to the secret.",
        ErrorCode.UNREADABLE: "A stored secret cannot be decrypted with the keys of this process.",
        ErrorCode.UNREADABLE_ROW: "A row in the database holds what it must not: somebody changed it by hand. The "
        "message names table, row and column.",
        ErrorCode.QUEUE_FULL: "As many runs wait as the cap of the group or the job allows; nothing was enqueued.",
        ErrorCode.SIGN_IN_NEEDED: "This can be done only by somebody who has signed in, not by an API token.",
        ErrorCode.STEP_MISMATCH: "What is stored of a step is not what its function returns now. Jobs get this, "
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
    "What an explanation says, of a task or of a run.",
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
    "What would become of a run that is asked for.",
    {
        PreviewOutcome.ENQUEUED: "It would wait in the queue.",
        PreviewOutcome.DEDUPLICATED: "Another run holds its unique key and would be answered.",
        PreviewOutcome.RENEWED: "The same, and that run, which still waits, would get its arguments.",
        PreviewOutcome.DROPPED: "The queue is full, and it would be skipped at once.",
        PreviewOutcome.REFUSED: "The queue is full (`QUEUE_FULL`), or the overlap policy of its task is against it "
        "(`OVERLAP`): nothing at all would be enqueued.",
    },
)
describe(
    EventState,
    "What a thing was right after a change. Of a run its `RunState`, of an execution `RUNNING` or its `Outcome`, of a "
    "step its `StepState`, of a node its `NodeState`, of a skipped occurrence its `SkipReason`.",
    {
        EventState.WAITING: "Run: in the queue.",
        EventState.SCHEDULED: "Run: handed to a node ahead of a free slot.",
        EventState.RUNNING: "Run, execution: at work.",
        EventState.STUCK: "Run: failed or lost, to be tried again.",
        EventState.SUSPENDED: "Run: waits without a slot. Execution: ended so that its run waits.",
        EventState.SUCCESS: "Run, execution: ended well.",
        EventState.DONE: "Step: its result is stored, or what it waited for came.",
        EventState.REJECTED: "Step: what it waited for came, and says no.",
        EventState.FAILED: "Run, execution, step: failed.",
        EventState.CANCELLED: "Run, execution: cancelled.",
        EventState.SKIPPED: "Run: dropped before its start.",
        EventState.TIMED_OUT: "Execution: used up its time box. Step: what it waited for did not come in time.",
        EventState.LOST: "Execution: its node died or was cut off.",
        EventState.SNOOZED: "Execution: asked to be tried again later.",
        EventState.HANDED_BACK: "Execution: given back by a node that stopped, or that cannot read its arguments.",
        EventState.STARTING: "Node: about to serve.",
        EventState.ACTIVE: "Node: takes runs.",
        EventState.STALLED: "Node: alive, but a part of it makes no progress.",
        EventState.DRAINING: "Node: takes nothing new.",
        EventState.STOPPING: "Node: ends.",
        EventState.STOPPED: "Node: ended cleanly.",
        EventState.EXPIRED: "Node: declared dead. Occurrence: skipped, since its run had not started in time.",
        EventState.OVERLAP: "Occurrence: skipped, since a run of the task was unfinished.",
        EventState.TOLERANCE: "Occurrence: skipped, since it would have started too soon after the last one.",
        EventState.MISSED: "Occurrence: skipped, since it was missed.",
        EventState.COALESCED: "Occurrence: skipped, since a newer one stands for it.",
        EventState.PAUSED: "Occurrence: skipped, since the task was paused.",
        EventState.WINDOW: "Occurrence: skipped, since it lay outside the window of the task.",
        EventState.NO_JOB: "Occurrence: skipped, since no node knew the job.",
        EventState.QUEUE_FULL: "Occurrence: skipped, since as many runs waited as may.",
        EventState.PREDECESSOR: "Run of a flow: skipped, since what it comes after ended otherwise than it needs.",
        EventState.UNIQUE_KEY: "Occurrence: skipped, since a run with its unique key was unfinished.",
    },
)
