"""What mutations answer: the changed object, or the reasons why nothing was changed."""

from typing import Any

import strawberry

from ..fields import sized
from ..guard.sizes import FEW, SHOWN
from ..scalars import BigInt
from .common import UserError
from .entities import JobExecution, Run, Task
from .operation import Group, Node

ERRORS = "Why nothing was changed; empty if it was done."


def _errors() -> Any:  # noqa: ANN401 - a field specifier
    return strawberry.field(description=ERRORS, default_factory=list[UserError], metadata=sized(FEW))


@strawberry.type(description="The answer of a mutation of one task.")
class TaskPayload:
    """A task or errors."""

    task: Task | None = strawberry.field(description="The task as it is now; null if it was refused.", default=None)
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of `deleteTask`.")
class DeleteTaskPayload:
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
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of `deleteTasksOfOwner`.")
class DeleteTasksPayload:
    """Names or errors."""

    deleted_names: list[str] = strawberry.field(
        description="The names of the tasks that are gone (or would be), at most 200 of them.",
        default_factory=list[str],
    )
    count: int = strawberry.field(description="How many there are.", default=0)
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of `triggerJob`.")
class TriggerJobPayload:
    """A run or errors, and the same in words."""

    success: bool = strawberry.field(description="Whether a run was made.")
    message: str = strawberry.field(description="`Job X triggered successfully`, or what is wrong.")
    job_name: str = strawberry.field(description="The job that was asked for.")
    run: Run | None = strawberry.field(description="The new run.", default=None)
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of a mutation of one run.")
class RunPayload:
    """A run or errors."""

    run: Run | None = strawberry.field(description="The run as it is now; null if it was refused.", default=None)
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of `enqueueRuns`.")
class EnqueueRunsPayload:
    """Runs or errors."""

    runs: list[Run] = strawberry.field(
        description="The runs, in the order of the input; those that existed already say `deduplicated`.",
        default_factory=list[Run],
    )
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of a mutation of many runs.")
class RunsPayload:
    """Runs or errors."""

    runs: list[Run] = strawberry.field(
        description="The selected runs as they are now (of `retryRuns` the new ones; of a dry run those that would "
        "change), at most 200 of them.",
        default_factory=list[Run],
        metadata=sized(SHOWN),
    )
    count: BigInt = strawberry.field(description="How many were changed (or would be).", default=BigInt(0))
    has_more: bool = strawberry.field(
        description="Whether more runs match the filter than one call changes: call again.", default=False
    )
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of `pruneHistory`.")
class PruneHistoryPayload:
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
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of a mutation of one group.")
class GroupPayload:
    """A group or errors."""

    group: Group | None = strawberry.field(description="The group as it is now; null if it was refused.", default=None)
    errors: list[UserError] = _errors()


@strawberry.type(description="The answer of `drainNode` and `resumeNode`.")
class NodePayload:
    """A node or errors."""

    node: Node | None = strawberry.field(description="The node as it is now; null if it was refused.", default=None)
    errors: list[UserError] = _errors()
