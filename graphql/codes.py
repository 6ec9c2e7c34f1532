"""Words that programs test, as GraphQL enums: why an input was refused, what an explanation says, states of events."""

from ..jobs.core.codes import ErrorCode
from ..jobs.core.events import EventState
from ..jobs.core.explain import ExplanationCode
from .enums import describe

__all__ = ["ErrorCode", "EventState", "ExplanationCode"]

describe(
    ErrorCode,
    "Why an input was refused.",
    {
        ErrorCode.ALREADY_EXISTS: "What the input would make exists already.",
        ErrorCode.CODE_TASK: "The task is declared in code: it can be paused, not deleted.",
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
        ErrorCode.OVERLAP: "The overlap policy of the task allows no further unfinished run.",
        ErrorCode.IN_USE: "Tasks refer to the secret.",
        ErrorCode.UNREADABLE: "A stored secret cannot be decrypted with the keys of this process.",
        ErrorCode.SIGN_IN_NEEDED: "This can be done only by somebody who has signed in, not by an API token.",
        ErrorCode.TOO_MANY_DEVICES: "Too many devices of one address wait to be let in.",
        ErrorCode.UNKNOWN_JOB: "No node has published a job of this name.",
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
        ExplanationCode.GROUP_LIMIT: "As many runs of its group are at work as the group may have.",
        ExplanationCode.GROUP_PAUSED: "Its group is paused.",
        ExplanationCode.IN_LINE: "Others of its group and priority were due before the run.",
        ExplanationCode.LOOP_BLOCKED: "The event loop of its node, or of all that could take it, does not turn.",
        ExplanationCode.NEXT: "The run is next in line.",
        ExplanationCode.NOT_STARTED: "The window of the task has not begun.",
        ExplanationCode.NOT_YET: "The run was enqueued for a later time.",
        ExplanationCode.NO_CHILD_PROCESS: "No node that can run it can start the child process that it needs.",
        ExplanationCode.NO_JOB: "No node knows the job.",
        ExplanationCode.NO_NODE: "No live node can run the job.",
        ExplanationCode.NO_SLOT: "No node that can run it has a free slot.",
        ExplanationCode.PAUSED: "The task is paused.",
        ExplanationCode.QUEUED: "A run of the task is in the queue and takes its turn.",
        ExplanationCode.RETRYING: "A run of the task failed and will be tried again.",
        ExplanationCode.RETRY_LATER: "An attempt failed; the run is tried again at `until`.",
        ExplanationCode.RUNNING: "It is at work.",
        ExplanationCode.SCHEDULED: "The run is handed to a node and starts once that has a free slot.",
        ExplanationCode.SKIPPED: "The run was dropped before its start.",
        ExplanationCode.SNOOZED: "The job asked to be tried again at `until`.",
        ExplanationCode.SUCCESS: "The run ended successfully.",
        ExplanationCode.TIMING_OUT: "The time box of the run is used up, and it is being stopped.",
        ExplanationCode.WAITING: "The task waits for its next time.",
        ExplanationCode.WINDOW_ENDED: "The window of the task is over.",
    },
)
describe(
    EventState,
    "What a thing was right after a change. Of a run its `RunState`, of an execution `RUNNING` or its `Outcome`, of a "
    "node its `NodeState`.",
    {
        EventState.WAITING: "Run: in the queue.",
        EventState.SCHEDULED: "Run: handed to a node ahead of a free slot.",
        EventState.RUNNING: "Run, execution: at work.",
        EventState.STUCK: "Run: failed or lost, to be tried again.",
        EventState.SUCCESS: "Run, execution: ended well.",
        EventState.FAILED: "Run, execution: failed.",
        EventState.CANCELLED: "Run, execution: cancelled.",
        EventState.SKIPPED: "Run: dropped before its start.",
        EventState.TIMED_OUT: "Execution: used up its time box.",
        EventState.LOST: "Execution: its node died or was cut off.",
        EventState.SNOOZED: "Execution: asked to be tried again later.",
        EventState.HANDED_BACK: "Execution: given back to the queue by a node that stopped.",
        EventState.STARTING: "Node: about to serve.",
        EventState.ACTIVE: "Node: takes runs.",
        EventState.DRAINING: "Node: takes nothing new.",
        EventState.STOPPING: "Node: ends.",
        EventState.STOPPED: "Node: ended cleanly.",
        EventState.EXPIRED: "Node: declared dead.",
    },
)
