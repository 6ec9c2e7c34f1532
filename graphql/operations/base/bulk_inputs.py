"""The inputs of mutations of many rows: rows by name or by filter, and where the answer before left off."""

from typing import ClassVar

import strawberry

from ....jobs.core.model import Priority
from ...base.arguments import MAX_RUNS, MAX_TASKS
from ...base.sizes import Size
from ...lists.filters import RunFilter, TaskFilter
from .inputs import KEY, REASON, optional

AFTER = "With `filter`: go on behind this `endCursor` of the answer before, with the same filter."
ALL = (
    "Chooses all to which this can be done, where `filter` is empty or absent; unless it is true, that is refused "
    "(error `NO_CONDITION`)."
)
DRY_RUN = "Change nothing; answer how many would change, and the first of them."


@strawberry.input
class Selection:
    """What a mutation of many rows takes besides the rows."""

    all: bool | None = optional(ALL)
    after: str | None = optional(AFTER)
    dry_run: bool | None = optional(DRY_RUN)
    idempotency_key: str | None = optional(KEY)


@strawberry.input
class RunSelection(Selection):
    """Runs by key, by filter, or all, one of them."""

    NAMED: ClassVar = "ids"

    ids: list[strawberry.ID] | None = optional("Which runs, at most 10,000; or else `filter`.", Size(most=MAX_RUNS))
    filter: RunFilter | None = optional(
        "All runs that match and to which this can be done, at most 10,000 per call; or else `ids`. Every condition in "
        "it needs a value."
    )


@strawberry.input
class TaskSelection(Selection):
    """Tasks by name, by filter, or all, one of them."""

    NAMED: ClassVar = "names"

    names: list[str] | None = optional("Which tasks, at most 1,000; or else `filter`.", Size(most=MAX_TASKS))
    filter: TaskFilter | None = optional(
        "All tasks that match and to which this can be done, at most 1,000 per call; or else `names`. Every condition "
        "in it needs a value."
    )


@strawberry.input(description="Runs to be cancelled. Finished ones are left as they are.")
class CancelRunsInput(RunSelection):
    """The input of ``cancelRuns``."""

    reason: str | None = optional(REASON)


@strawberry.input(description="Finished runs to be made again.")
class RetryRunsInput(RunSelection):
    """The input of ``retryRuns``."""

    exclude_retried: bool = strawberry.field(
        description="With `filter`: leave out runs that another run retries already.", default=True
    )


@strawberry.input(description="Waiting and stuck runs to be made due now: one, or many by key or by filter.")
class RetryNowInput(RunSelection):
    """The input of ``retryNow``."""

    id: strawberry.ID | None = optional("Which run; or else `ids` or `filter`.")


@strawberry.input(
    description="Runs whose priority is to change. Those that neither wait nor are stuck stay as they are."
)
class SetRunPriorityInput(RunSelection):
    """The input of ``setRunPriority``."""

    priority: Priority = strawberry.field(description="The new priority.")


@strawberry.input(description="Tasks to be paused. Of those that match a filter paused ones stay as they are.")
class PauseTasksInput(TaskSelection):
    """The input of ``pauseTasks``."""

    reason: str | None = optional(REASON)


@strawberry.input(description="Paused tasks to be resumed.")
class ResumeTasksInput(TaskSelection):
    """The input of ``resumeTasks``."""


@strawberry.input(description="Tasks to be deleted. A filter finds none that a live node declares in its code.")
class DeleteTasksInput(TaskSelection):
    """The input of ``deleteTasks``."""
