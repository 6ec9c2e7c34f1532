"""What mutations answer: the changed object, or the reasons why nothing was changed. Each has a payload of its own."""

import strawberry

from ..fields import sized
from ..guard.sizes import SHOWN
from ..scalars import BigInt
from .common import MutationPayload
from .entities import JobExecution, Run, Task
from .operation import Group, Node

END_CURSOR = (
    "With `filter`: pass it as `after` while `hasMore`, and all that match are done; null if none were selected."
)
HAS_MORE = "Whether more match the filter than one call changes: call again with `after: endCursor`."


@strawberry.type
class TaskChanged(MutationPayload):
    """A task or errors."""

    task: Task | None = strawberry.field(description="The task as it is now; null if it was refused.", default=None)


@strawberry.type(description="The answer of `createTask`.")
class CreateTaskPayload(TaskChanged):
    """A task or errors."""


@strawberry.type(description="The answer of `updateTask`.")
class UpdateTaskPayload(TaskChanged):
    """A task or errors."""


@strawberry.type(description="The answer of `pauseTask`.")
class PauseTaskPayload(TaskChanged):
    """A task or errors."""


@strawberry.type(description="The answer of `resumeTask`.")
class ResumeTaskPayload(TaskChanged):
    """A task or errors."""


@strawberry.type(description="The answer of `resetTask`.")
class ResetTaskPayload(TaskChanged):
    """A task or errors."""


@strawberry.type
class RunChanged(MutationPayload):
    """A run or errors."""

    run: Run | None = strawberry.field(description="The run as it is now; null if it was refused.", default=None)


@strawberry.type(description="The answer of `triggerTask`.")
class TriggerTaskPayload(RunChanged):
    """A run or errors."""


@strawberry.type(description="The answer of `cancelRun`.")
class CancelRunPayload(RunChanged):
    """A run or errors."""


@strawberry.type(description="The answer of `updateRun`.")
class UpdateRunPayload(RunChanged):
    """A run or errors."""


@strawberry.type(description="The answer of `retryRun`.")
class RetryRunPayload(RunChanged):
    """A run or errors."""


@strawberry.type
class GroupChanged(MutationPayload):
    """A group or errors."""

    group: Group | None = strawberry.field(description="The group as it is now; null if it was refused.", default=None)


@strawberry.type(description="The answer of `pauseGroup`.")
class PauseGroupPayload(GroupChanged):
    """A group or errors."""


@strawberry.type(description="The answer of `resumeGroup`.")
class ResumeGroupPayload(GroupChanged):
    """A group or errors."""


@strawberry.type(description="The answer of `updateGroup`.")
class UpdateGroupPayload(GroupChanged):
    """A group or errors."""


@strawberry.type
class NodeChanged(MutationPayload):
    """A node or errors."""

    node: Node | None = strawberry.field(description="The node as it is now; null if it was refused.", default=None)


@strawberry.type(description="The answer of `drainNode`.")
class DrainNodePayload(NodeChanged):
    """A node or errors."""


@strawberry.type(description="The answer of `resumeNode`.")
class ResumeNodePayload(NodeChanged):
    """A node or errors."""


@strawberry.type
class ManyChanged(MutationPayload):
    """How many rows were changed, and whether there are more."""

    count: BigInt = strawberry.field(description="How many were changed (or would be).", default=BigInt(0))
    has_more: bool = strawberry.field(description=HAS_MORE, default=False)
    end_cursor: str | None = strawberry.field(description=END_CURSOR, default=None)


@strawberry.type
class RunsChanged(ManyChanged):
    """Runs or errors."""

    runs: list[Run] = strawberry.field(
        description="The selected runs as they are now (of `retryRuns` the new ones; of a dry run those that would "
        "change), at most 200 of them.",
        default_factory=list[Run],
        metadata=sized(SHOWN),
    )


@strawberry.type(description="The answer of `cancelRuns`.")
class CancelRunsPayload(RunsChanged):
    """Runs or errors."""


@strawberry.type(description="The answer of `retryRuns`.")
class RetryRunsPayload(RunsChanged):
    """Runs or errors."""


@strawberry.type(description="The answer of `setRunPriority`.")
class SetRunPriorityPayload(RunsChanged):
    """Runs or errors."""


@strawberry.type(description="The answer of `retryNow`.")
class RetryNowPayload(RunsChanged):
    """Runs or errors; also the only one, where one was asked for."""

    run: Run | None = strawberry.field(
        description="The run as it is now, if one was asked for by `id`; null if it was refused.", default=None
    )


@strawberry.type
class TasksChanged(ManyChanged):
    """Tasks or errors."""

    tasks: list[Task] = strawberry.field(
        description="The selected tasks as they are now (of a dry run those that would change), at most 200 of them.",
        default_factory=list[Task],
        metadata=sized(SHOWN),
    )


@strawberry.type(description="The answer of `pauseTasks`.")
class PauseTasksPayload(TasksChanged):
    """Tasks or errors."""


@strawberry.type(description="The answer of `resumeTasks`.")
class ResumeTasksPayload(TasksChanged):
    """Tasks or errors."""


@strawberry.type(description="The answer of `deleteTasks`.")
class DeleteTasksPayload(ManyChanged):
    """Names or errors."""

    deleted_names: list[str] = strawberry.field(
        description="The names of the tasks that are gone (or would be), at most 200 of them.",
        default_factory=list[str],
    )


@strawberry.type(description="The answer of `deleteTask`.")
class DeleteTaskPayload(MutationPayload):
    """A name and runs, or errors."""

    deleted_name: str | None = strawberry.field(
        description="The name of the task that is gone (or would be).", default=None
    )
    cancelled_runs: list[Run] = strawberry.field(
        description="Its unfinished runs, cancelled now or asked to stop (or still to be), at most 200 of them.",
        default_factory=list[Run],
        metadata=sized(SHOWN),
    )
    cancelled_count: BigInt = strawberry.field(description="How many unfinished runs it had.", default=BigInt(0))


@strawberry.type(description="The answer of `deleteTasksOfOwner`.")
class DeleteTasksOfOwnerPayload(MutationPayload):
    """Names or errors."""

    deleted_names: list[str] = strawberry.field(
        description="The names of the tasks that are gone (or would be), at most 200 of them.",
        default_factory=list[str],
    )
    count: int = strawberry.field(description="How many there are.", default=0)


@strawberry.type(description="The answer of `triggerJob`.")
class TriggerJobPayload(MutationPayload):
    """A run or errors, and the same in words."""

    success: bool = strawberry.field(description="Whether a run was made.")
    message: str = strawberry.field(description="`Job X triggered successfully`, or what is wrong.")
    job_name: str = strawberry.field(description="The job that was asked for.")
    run: Run | None = strawberry.field(description="The new run.", default=None)


@strawberry.type(description="The answer of `enqueueRuns`.")
class EnqueueRunsPayload(MutationPayload):
    """Runs or errors."""

    runs: list[Run] = strawberry.field(
        description="The runs, in the order of the input; those that existed already say `deduplicated`.",
        default_factory=list[Run],
    )


@strawberry.type(description="The answer of `pruneHistory`.")
class PruneHistoryPayload(MutationPayload):
    """A run, or on a dry run what would go, or errors."""

    run: Run | None = strawberry.field(
        description="The run that prunes; null if it was refused, and on a dry run.", default=None
    )
    executions: list[JobExecution] = strawberry.field(
        description="On a dry run: the executions that would be deleted with their runs and log lines, oldest first, "
        "at most 200 of them.",
        default_factory=list[JobExecution],
        metadata=sized(SHOWN),
    )
    count: BigInt = strawberry.field(description="On a dry run: how many executions there are.", default=BigInt(0))
    has_more: bool = strawberry.field(
        description="On a dry run: whether only the oldest 10,000 were looked at, so that more may be deleted.",
        default=False,
    )
