"""Tasks, runs, executions, skipped occurrences and jobs with their relations to each other, all read in batches."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Self, TypeVar

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.store.reading.criteria import Criteria
from ...jobs.store.reading.keyset import OrderKey
from ...jobs.store.reading.lists import EXECUTIONS, RUNS, SKIPPED, TASKS, Listing
from ..arguments import AFTER, BEFORE, FIRST, LAST, MAX_LINES, checked_range
from ..connections import Connection, PageArguments, connect
from ..context import Info
from ..criteria import to_criteria
from ..fields import resolved
from ..filters import ExecutionFilter, RunFilter, SkippedOccurrenceFilter, TaskFilter
from ..loaders import Children, LinesKey
from ..ordering import ExecutionOrder, RunOrder, SkippedOccurrenceOrder, TaskOrder, to_keys
from ..scalars import BigInt
from .common import LogLine, LogPage
from .run import ExecutionFields, RunFields
from .task import TaskFields

M = TypeVar("M")
T = TypeVar("T")

TASK_FILTER = Annotated[TaskFilter | None, strawberry.argument(description="Which tasks.")]
TASK_ORDER = Annotated[list[TaskOrder] | None, strawberry.argument(description="By name unless given.")]
RUN_FILTER = Annotated[RunFilter | None, strawberry.argument(description="Which runs.")]
RUN_ORDER = Annotated[list[RunOrder] | None, strawberry.argument(description="Newest first unless given.")]
EXECUTION_FILTER = Annotated[ExecutionFilter | None, strawberry.argument(description="Which executions.")]
EXECUTION_ORDER = Annotated[list[ExecutionOrder] | None, strawberry.argument(description="Newest first unless given.")]
SKIPPED_FILTER = Annotated[
    SkippedOccurrenceFilter | None, strawberry.argument(description="Which skipped occurrences.")
]
SKIPPED_ORDER = Annotated[
    list[SkippedOccurrenceOrder] | None, strawberry.argument(description="Newest first unless given.")
]


def children_of(
    children: Children[M],
    listing: Listing[M],
    parent: int | str,
    *,
    paging: PageArguments,
    criteria: Criteria,
    order: tuple[OrderKey, ...],
    convert: Callable[[M], T],
) -> Connection[T]:
    """The connection over the rows of one parent; pages and counts of many parents are read together."""
    request = paging.request(listing, order, criteria)
    return connect(
        listing,
        request,
        read=lambda: children.page(parent, request),
        count=lambda: children.count(parent, criteria),
        convert=convert,
    )


@strawberry.type(description="Named code that a node can run.")
class Job:
    """A job as the nodes publish it."""

    name: str = strawberry.field(description="Its unique name.")
    description: str = strawberry.field(description="What it does.")
    schedule: str | None = strawberry.field(description="The cron expression that its code declares, if any.")
    isolation: str = strawberry.field(
        description="Where it runs: `async` on the event loop, in a `thread`, or in a `process` of its own, the only kind "
        "that can be killed."
    )
    args_schema: JSON | None = strawberry.field(description="The JSON Schema of its arguments.")
    known: bool = strawberry.field(description="Whether a live node can run it now.")
    nodes: list[str] = strawberry.field(description="The names of the live nodes that can run it.")

    @classmethod
    def from_model(cls, job: model.JobInfo) -> Self:
        """The GraphQL object of a published job."""
        return cls(
            name=job.name,
            description=job.description,
            schedule=job.schedule,
            isolation=job.isolation,
            args_schema=JSON(job.args_schema),
            known=bool(job.nodes),
            nodes=list(job.nodes),
        )

    @resolved(description="The tasks that use it.")
    def tasks(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: TASK_FILTER = None,
        order_by: TASK_ORDER = None,
    ) -> Connection["Task"]:
        """Its tasks."""
        return children_of(
            info.context.loaders.tasks_of_job,
            TASKS,
            self.name,
            paging=PageArguments(first, after, last, before),
            criteria=to_criteria(filter),
            order=to_keys(order_by),
            convert=Task.from_model,
        )

    @resolved(description="Its executions.")
    def executions(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: EXECUTION_FILTER = None,
        order_by: EXECUTION_ORDER = None,
    ) -> Connection["JobExecution"]:
        """Its part of the log."""
        return children_of(
            info.context.loaders.executions_of_job,
            EXECUTIONS,
            self.name,
            paging=PageArguments(first, after, last, before),
            criteria=to_criteria(filter),
            order=to_keys(order_by),
            convert=JobExecution.from_model,
        )


@strawberry.type(description="A stored schedule: which job, with which arguments, when, under which policies.")
class Task(TaskFields):
    """A task with its relations."""

    @resolved(description="The job it runs; null if no node has published one of that name.")
    async def job(self, info: Info) -> Job | None:
        """Its job."""
        found = await info.context.loaders.jobs.load(self.job_name)
        return None if found is None else Job.from_model(found)

    @resolved(description="Whether a node has published its job; otherwise it does not fire.")
    async def job_known(self, info: Info) -> bool:
        """Whether its job exists."""
        return await info.context.loaders.jobs.load(self.job_name) is not None

    @resolved(
        description="Whether it should have started and did not: enabled, and no start since the last due time and the "
        "misfire grace after it."
    )
    async def stalled(self, info: Info) -> bool:
        """Judged by the database's time."""
        due, started = self.last_due_at, self.last_started_at
        if not self.enabled or due is None or (started is not None and started >= due):
            return False
        return (await info.context.now() - due).total_seconds() > self.misfire_grace

    @resolved(description="Its newest finished execution.")
    async def last_status(self, info: Info) -> "JobExecution | None":
        """The newest finished execution, of any of its runs."""
        found = await info.context.loaders.last_finished(self.stored.id)
        return None if found is None else JobExecution.from_model(found)

    @resolved(description="Its executions.")
    def executions(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: EXECUTION_FILTER = None,
        order_by: EXECUTION_ORDER = None,
    ) -> Connection["JobExecution"]:
        """Its part of the log."""
        return children_of(
            info.context.loaders.executions_of_task,
            EXECUTIONS,
            self.stored.id,
            paging=PageArguments(first, after, last, before),
            criteria=to_criteria(filter),
            order=to_keys(order_by),
            convert=JobExecution.from_model,
        )

    @resolved(description="Its runs.")
    def runs(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: RUN_FILTER = None,
        order_by: RUN_ORDER = None,
    ) -> Connection["Run"]:
        """Its runs."""
        return children_of(
            info.context.loaders.runs_of_task,
            RUNS,
            self.stored.id,
            paging=PageArguments(first, after, last, before),
            criteria=to_criteria(filter),
            order=to_keys(order_by),
            convert=Run.from_model,
        )

    @resolved(description="Its occurrences that did not become runs, and why.")
    def skipped_occurrences(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: SKIPPED_FILTER = None,
        order_by: SKIPPED_ORDER = None,
    ) -> Connection["SkippedOccurrence"]:
        """Its skipped stretches."""
        return children_of(
            info.context.loaders.skipped_of_task,
            SKIPPED,
            self.stored.id,
            paging=PageArguments(first, after, last, before),
            criteria=to_criteria(filter),
            order=to_keys(order_by),
            convert=SkippedOccurrence.from_model,
        )


@strawberry.type(description="One entry of the durable queue.")
class Run(RunFields):
    """A run with its relations."""

    @resolved(description="The task that made it; null for others, and once the task is deleted.")
    async def task(self, info: Info) -> Task | None:
        """Its task."""
        return await load_task(info, self.stored.task_id)

    @resolved(description="The run that it retries.")
    async def retried_from(self, info: Info) -> "Run | None":
        """The older run."""
        return await load_run(info, self.stored.retried_from)

    @resolved(description="Its executions, one per attempt.")
    def executions(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: EXECUTION_FILTER = None,
        order_by: EXECUTION_ORDER = None,
    ) -> Connection["JobExecution"]:
        """Its attempts."""
        return children_of(
            info.context.loaders.executions_of_run,
            EXECUTIONS,
            self.stored.id,
            paging=PageArguments(first, after, last, before),
            criteria=to_criteria(filter),
            order=to_keys(order_by),
            convert=JobExecution.from_model,
        )


@strawberry.type(description="One attempt at a run, from start to end: an entry of the execution log.")
class JobExecution(ExecutionFields):
    """An execution with its relations."""

    @resolved(description="The run that it is an attempt at; null once that is pruned.")
    async def run(self, info: Info) -> Run | None:
        """Its run."""
        return await load_run(info, self.stored.run_id)

    @resolved(description="The task whose run it was; null for others, and once the task is deleted.")
    async def task(self, info: Info) -> Task | None:
        """Its task."""
        return await load_task(info, self.stored.task_id)

    @resolved(description="A page of its log.")
    async def log_lines(
        self,
        info: Info,
        first: Annotated[int, strawberry.argument(description="At most so many lines, 1 to 1000.")] = 200,
        after: Annotated[int, strawberry.argument(description="Only lines behind this number.")] = 0,
    ) -> LogPage:
        """Kept lines in their order."""
        checked_range(first, "first", 1, MAX_LINES)
        checked_range(after, "after", 0, 2**31 - 1)
        found = await info.context.loaders.lines.load(LinesKey(self.stored.id, after, first))
        return LogPage(
            lines=[LogLine.from_model(line) for line in found],
            last_line=found[-1].line if found else after,
            cut=BigInt(self.stored.log_cut),
            ended=self.completed_at is not None,
        )


@strawberry.type(
    description="A stretch of occurrences that did not become runs, or runs that were dropped, for one reason."
)
class SkippedOccurrence:
    """A skipped stretch with its relations."""

    stored: strawberry.Private[model.SkippedOccurrence]
    id: strawberry.ID = strawberry.field(description="The decimal key.")
    task_name: str = strawberry.field(description="The name of the task; kept when that is deleted.")
    reason: model.SkipReason = strawberry.field(description="Why.")
    first_scheduled_for: datetime = strawberry.field(description="The first nominal time of the stretch.")
    last_scheduled_for: datetime = strawberry.field(description="The last nominal time of the stretch.")
    count: BigInt = strawberry.field(description="How many occurrences it stands for.")
    policy: JSON = strawberry.field(description="The policy values that decided it, an object.")
    node: str | None = strawberry.field(description="The node that decided it.")
    at: datetime = strawberry.field(description="When the row was last written.")

    @classmethod
    def from_model(cls, skipped: model.SkippedOccurrence) -> Self:
        """The GraphQL object of a skipped stretch."""
        return cls(
            stored=skipped,
            id=strawberry.ID(str(skipped.id)),
            task_name=skipped.task_name,
            reason=skipped.reason,
            first_scheduled_for=skipped.first_scheduled_for,
            last_scheduled_for=skipped.last_scheduled_for,
            count=BigInt(skipped.count),
            policy=JSON(skipped.policy),
            node=skipped.node,
            at=skipped.at,
        )

    @resolved(description="Its task; null once that is deleted.")
    async def task(self, info: Info) -> Task | None:
        """Its task."""
        return await load_task(info, self.stored.task_id)

    @resolved(description="The run that was dropped, if one had been made.")
    async def run(self, info: Info) -> Run | None:
        """The dropped run."""
        return await load_run(info, self.stored.run_id)


async def load_task(info: Info, task_id: int | None) -> Task | None:
    """The task of a key, or None."""
    found = None if task_id is None else await info.context.loaders.tasks.load(task_id)
    return None if found is None else Task.from_model(found)


async def load_run(info: Info, run_id: int | None) -> Run | None:
    """The run of a key, or None."""
    found = None if run_id is None else await info.context.loaders.runs.load(run_id)
    return None if found is None else Run.from_model(found)


async def load_execution(info: Info, execution_id: int | None) -> JobExecution | None:
    """The execution of a key, or None."""
    found = None if execution_id is None else await info.context.loaders.executions.load(execution_id)
    return None if found is None else JobExecution.from_model(found)
