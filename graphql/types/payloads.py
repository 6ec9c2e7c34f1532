"""Answer mutations: the changed object, or why nothing was changed; ``mutates`` makes them payloads."""

from typing import ClassVar

import strawberry

from ...jobs.core.explain.previews import PreviewOutcome
from ..base.fields import SHOWN, sized
from ..base.scalars import BigInt
from ..execution.shown import FromModel, Makers
from .common import MutationPayload
from .entities import Explanation, Job, JobExecution, Run, Task
from .flow import Flow
from .operation import Group, Node


@strawberry.type(description="The fate that a run would have if it were enqueued now.")
class RunPreview(FromModel):
    """A preview of one run."""

    outcome: PreviewOutcome = strawberry.field(description="The fate of the run, as a word for programs.")
    job_name: str = strawberry.field(description="The name of the job of the run.")
    sentence: str = strawberry.field(description="The fate of the run, as an English sentence.")
    group: str | None = strawberry.field(description="The group of the run; null if it would be refused.")
    stands_for_id: strawberry.ID | None = strawberry.field(
        description="The run that would be answered in its place; null if there is none."
    )
    explanation: Explanation | None = strawberry.field(
        description="The reason for which the run, or the run in its place, would wait; null if it would be "
        "skipped or refused, and if the run in its place is over."
    )

    MADE: ClassVar[Makers] = {
        "explanation": lambda one: None if one.explanation is None else Explanation.from_model(one.explanation)
    }


@strawberry.type(
    description="The effect of an enqueue without the enqueue. The server tries it and takes it back, so that it "
    "is judged as the real one."
)
class Preview(FromModel):
    """A preview of all that was asked for."""

    sentence: str = strawberry.field(description="All of it in one sentence, with figures.")
    runs: list[RunPreview] = strawberry.field(
        description="The fate of each run that is asked for, at most 200 of them.", metadata=sized(SHOWN)
    )
    dropped_ids: list[strawberry.ID] = strawberry.field(
        description="Waiting runs that would be skipped to make room (`DROP_OLDEST`), at most 200 of them."
    )

    MADE: ClassVar[Makers] = {
        "runs": lambda preview: [RunPreview.from_model(one) for one in preview.runs],
        "dropped_ids": lambda preview: [strawberry.ID(str(key)) for key in preview.dropped[: SHOWN.most]],
    }


END_CURSOR = "Pass it as `after` while `hasMore` is true, and all that match are done; null if none were selected."
PREVIEW = "On a dry run: the effect of the enqueue; null otherwise."
HAS_MORE = "Whether more match the filter than one call changes: call again with `after: endCursor`."


@strawberry.type
class TaskChanged(MutationPayload):
    """A task or errors."""

    task: Task | None = strawberry.field(
        description="The task as it is now (on a dry run as it would be); null if it was refused.", default=None
    )


@strawberry.type
class TaskTried(TaskChanged):
    """A task or errors; on a dry run also a preview."""

    preview: Preview | None = strawberry.field(
        description="On a dry run of `createTask` and `updateTask`: the fate of a run if it were triggered "
        "then; null otherwise.",
        default=None,
    )


@strawberry.type
class RunChanged(MutationPayload):
    """A run or errors."""

    run: Run | None = strawberry.field(
        description="The run as it is now (on a dry run as it would be); null if it was refused, or if it is a new run "
        "on a dry run.",
        default=None,
    )


@strawberry.type
class RunTried(RunChanged):
    """A new run or errors; on a dry run a preview."""

    preview: Preview | None = strawberry.field(description=PREVIEW, default=None)


@strawberry.type
class FlowChanged(MutationPayload):
    """A flow or errors."""

    flow: Flow | None = strawberry.field(
        description="The flow as it is now (on a dry run as it would be); null if it was refused.", default=None
    )


@strawberry.type
class GroupChanged(MutationPayload):
    """A group or errors."""

    group: Group | None = strawberry.field(
        description="The group as it is now (on a dry run as it would be); null if it was refused.", default=None
    )


@strawberry.type
class JobChanged(MutationPayload):
    """A job or errors."""

    job: Job | None = strawberry.field(
        description="The job as it is now (on a dry run as it would be); null if it was refused.", default=None
    )


@strawberry.type
class NodeChanged(MutationPayload):
    """A node or errors."""

    node: Node | None = strawberry.field(
        description="The node as it is now (on a dry run as it would be); null if it was refused.", default=None
    )


@strawberry.type
class ManyChanged(MutationPayload):
    """The number of changed rows, and whether there are more."""

    count: BigInt = strawberry.field(
        description="How many were changed; on a dry run how many would be, those beyond one call included.",
        default=BigInt(0),
    )
    has_more: bool = strawberry.field(description=HAS_MORE, default=False)
    end_cursor: str | None = strawberry.field(description=END_CURSOR, default=None)


@strawberry.type
class RunsChanged(ManyChanged):
    """Runs or errors."""

    runs: list[Run] = strawberry.field(
        description="The selected runs as they are now, and on a dry run as they would be, at most 200 of them. "
        "`retryRuns` answers the new runs, and on a dry run those that would be retried.",
        default_factory=list[Run],
        metadata=sized(SHOWN),
    )


@strawberry.type
class RunsRetried(RunsChanged):
    """New runs or errors; on a dry run a preview."""

    preview: Preview | None = strawberry.field(
        description="On a dry run of `retryRuns`: the fate of the new runs; null otherwise.", default=None
    )


@strawberry.type
class TasksChanged(ManyChanged):
    """Tasks or errors."""

    tasks: list[Task] = strawberry.field(
        description="The selected tasks as they are now (on a dry run as they would be), at most 200 of them.",
        default_factory=list[Task],
        metadata=sized(SHOWN),
    )


@strawberry.type
class TasksDeleted(ManyChanged):
    """Names or errors."""

    deleted_names: list[str] = strawberry.field(
        description="The names of the tasks that are gone (or would be), at most 200 of them.",
        default_factory=list[str],
    )


@strawberry.type
class TaskDeleted(MutationPayload):
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


@strawberry.type
class TasksOfOwnerDeleted(MutationPayload):
    """Names or errors."""

    deleted_names: list[str] = strawberry.field(
        description="The names of the tasks that are gone (or would be), at most 200 of them.",
        default_factory=list[str],
    )
    count: int = strawberry.field(description="How many there are.", default=0)


@strawberry.type
class JobTriggered(MutationPayload):
    """A run or errors, and the same in words."""

    success: bool = strawberry.field(description="Whether a run was made, or an unfinished one has its unique key.")
    message: str = strawberry.field(
        description="`Job X triggered successfully`, or which run has its unique key, or the error."
    )
    job_name: str = strawberry.field(description="The job that was asked for.")
    run: Run | None = strawberry.field(
        description="The new run; the one that has its unique key says `isDeduplicated`. Null on a dry run.",
        default=None,
    )
    preview: Preview | None = strawberry.field(description=PREVIEW, default=None)


@strawberry.type
class RunsEnqueued(MutationPayload):
    """Runs or errors."""

    runs: list[Run] = strawberry.field(
        description="The runs, in the order of the input; those that existed already say `isDeduplicated`. None on a "
        "dry run.",
        default_factory=list[Run],
    )
    preview: Preview | None = strawberry.field(description=PREVIEW, default=None)


@strawberry.type
class HistoryPruned(MutationPayload):
    """A run, or on a dry run the history to delete, or errors."""

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
