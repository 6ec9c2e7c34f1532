"""Tasks, runs, executions, skipped occurrences and jobs with their relations to each other, all read in batches."""

from datetime import datetime
from typing import Annotated, Final, Self, cast

import strawberry

from ...jobs.core import model
from ...jobs.core.explain import Explanation as Explained
from ...jobs.core.explain import RunFacts, explain_run, explain_task
from ...jobs.core.occurrence import is_stalled
from ...jobs.store.read.lists import EXECUTIONS, RUNS, SKIPPED, TASKS
from ..arguments import AFTER, BEFORE, DEFAULT_PAGE, FIRST, LAST, MAX_LINES, checked_range
from ..context import Info
from ..fields import listed, resolved
from ..guard.sizes import Size
from ..lists.arguments import (
    EXECUTION_FILTER,
    EXECUTION_ORDER,
    RUN_FILTER,
    RUN_ORDER,
    SKIPPED_FILTER,
    SKIPPED_ORDER,
    TASK_FILTER,
    TASK_ORDER,
    children_of,
)
from ..lists.connections import Connection, PageArguments, connect
from ..lists.criteria import to_criteria
from ..lists.occurrences import KINDS, LIST, ORDER, OccurrenceRow, Occurrences
from ..lists.ordering import to_keys
from ..loaders import LinesKey
from ..scalars import BigInt
from .common import LogLine, LogPage
from .records import JobFields, SkippedFields
from .run import ExecutionFields, RunFields
from .task import TaskFields

EXPLAINED: Final = Size(own=5)
"""An explanation looks at the queue and the nodes."""


@strawberry.type(description="Named code that a node can run.")
class Job(JobFields):
    """A job with its relations."""

    @listed(description="The tasks that use it.")
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

    @listed(description="Its executions.")
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
        return is_stalled(self.stored, await info.context.now())

    @resolved(description="Why it is or is not running now, and what happens next.", size=EXPLAINED)
    async def explain(self, info: Info) -> "Explanation":
        """The engine's explanation."""
        facts = await info.context.loaders.task_facts.load(self.stored)
        return Explanation.from_model(explain_task(self.stored, facts, await info.context.now()))

    @resolved(description="Its newest finished execution.")
    def last_status(self, info: Info) -> "JobExecution | None":
        """The newest finished execution, of any of its runs."""
        ahead = info.context.loaders.ahead
        if self.stored.id in ahead:
            return _execution_of(ahead[self.stored.id])
        # GraphQL waits for what a resolver returns; one that always had to be waited for would cost each row a task.
        return cast("JobExecution | None", self._load_last_status(info))

    async def _load_last_status(self, info: Info) -> "JobExecution | None":
        return _execution_of(await info.context.loaders.last_finished.load(self.stored.id))

    @listed(description="Its executions.")
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

    @listed(description="Its runs.")
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

    @listed(description="What became of its occurrences: runs and skips in one list, the newest nominal time first.")
    def occurrences(
        self, info: Info, *, first: FIRST = None, after: AFTER = None, last: LAST = None, before: BEFORE = None
    ) -> Connection["Occurrence"]:
        """Its occurrences."""
        request = PageArguments(first, after, last, before).bounded(LIST, ORDER, KINDS)
        reader = Occurrences(info.context.loaders, self.stored.id, request)
        return connect(LIST, request, read=reader.page, count=reader.count, convert=Occurrence.from_row)

    @listed(description="Its occurrences that did not become runs, and why.")
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

    @resolved(description="Why it is in its state, why it has not started yet, and what happens next.", size=EXPLAINED)
    async def explain(self, info: Info) -> "Explanation":
        """The engine's explanation."""
        found = await info.context.loaders.run_facts.load(self.stored)
        facts = found or RunFacts(job_known=False, isolation=None, nodes=(), group=model.Group(self.group))
        return Explanation.from_model(explain_run(self.stored, facts, await info.context.now()))

    @resolved(description="The run that it retries.")
    async def retried_from(self, info: Info) -> "Run | None":
        """The older run."""
        return await load_run(info, self.stored.retried_from)

    @listed(description="Its executions, one per attempt.")
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

    @resolved(description="A page of its log.", size=Size(("first",), default=DEFAULT_PAGE, most=MAX_LINES))
    async def log_lines(
        self,
        info: Info,
        first: Annotated[int, strawberry.argument(description="At most so many lines, 1 to 1000.")] = DEFAULT_PAGE,
        after: Annotated[int, strawberry.argument(description="Only lines behind this number.")] = 0,
    ) -> LogPage:
        """Kept lines in their order."""
        checked_range(first, "first", 1, MAX_LINES)
        checked_range(after, "after", 0, 2**31 - 1)
        found = await info.context.loaders.lines.load(LinesKey(self.stored.id, after, first))
        return LogPage(
            lines=[LogLine.from_model(line) for line in found.lines],
            last_line=found.lines[-1].line if found.lines else after,
            cut=BigInt(max(found.cut, self.stored.log_cut)),
            ended=self.completed_at is not None,
        )


@strawberry.type(
    description="A stretch of occurrences that did not become runs, or runs that were dropped, for one reason."
)
class SkippedOccurrence(SkippedFields):
    """A skipped stretch with its relations."""

    @resolved(description="Its task; null once that is deleted.")
    async def task(self, info: Info) -> Task | None:
        """Its task."""
        return await load_task(info, self.stored.task_id)

    @resolved(description="OVERLAP: the run in the way when the stretch began; else the run that was dropped, if any.")
    async def run(self, info: Info) -> Run | None:
        """The run that has to do with it."""
        return await load_run(info, self.stored.run_id)


@strawberry.type(description="An answer to the question why something runs or does not.")
class Explanation:
    """An explanation of the engine."""

    run_id: strawberry.Private[int | None]
    code: str = strawberry.field(
        description="A stable word for programs, e.g. `PAUSED`, `WAITING`, `BLOCKED`, `GROUP_LIMIT`, `NO_NODE`."
    )
    sentence: str = strawberry.field(description="The answer.")
    details: list[str] = strawberry.field(description="Further sentences, most important first.")
    until: datetime | None = strawberry.field(description="When this changes by time alone; null = not by time.")

    @classmethod
    def from_model(cls, found: Explained) -> Self:
        """The GraphQL object of an explanation."""
        return cls(
            run_id=found.run_id,
            code=found.code,
            sentence=found.sentence,
            details=list(found.details),
            until=found.until,
        )

    @resolved(description="The run that is in the way, or that the answer is about.")
    async def run(self, info: Info) -> Run | None:
        """The run."""
        return await load_run(info, self.run_id)


@strawberry.type(description="What became of one nominal time of a task: a run, or a skip.")
class Occurrence:
    """A run made by a schedule, or a skipped stretch."""

    row: strawberry.Private[OccurrenceRow]
    scheduled_for: datetime = strawberry.field(description="The nominal time; of a skipped stretch the last one.")

    @classmethod
    def from_row(cls, row: OccurrenceRow) -> Self:
        """The GraphQL object of either kind."""
        if isinstance(row, model.SkippedOccurrence):
            return cls(row=row, scheduled_for=row.last_scheduled_for)
        return cls(row=row, scheduled_for=row.scheduled_for or row.submitted_at)

    @resolved(description="The run it became, also if that was dropped before its start; null if there never was one.")
    async def run(self, info: Info) -> Run | None:
        """The run."""
        if isinstance(self.row, model.SkippedOccurrence):
            dropped = None if self.row.reason is model.SkipReason.OVERLAP else self.row.run_id
            return await load_run(info, dropped)
        return Run.from_model(self.row)

    @resolved(description="Why it did not run, if it did not.")
    def skipped(self) -> SkippedOccurrence | None:
        """The skipped stretch."""
        return SkippedOccurrence.from_model(self.row) if isinstance(self.row, model.SkippedOccurrence) else None


@strawberry.type(description="A time at which a task will be due.")
class PlannedOccurrence:
    """A planned occurrence."""

    task: Task = strawberry.field(description="Whose.")
    scheduled_for: datetime = strawberry.field(description="The nominal time.")
    effective_at: datetime = strawberry.field(description="When the run will be made: the nominal time and the jitter.")


async def load_task(info: Info, task_id: int | None) -> Task | None:
    """The task of a key, or None."""
    found = None if task_id is None else await info.context.loaders.tasks.load(task_id)
    return None if found is None else Task.from_model(found)


async def load_run(info: Info, run_id: int | None) -> Run | None:
    """The run of a key, or None."""
    found = None if run_id is None else await info.context.loaders.runs.load(run_id)
    return None if found is None else Run.from_model(found)


def _execution_of(found: model.Execution | None) -> JobExecution | None:
    return None if found is None else JobExecution.from_model(found)


async def load_execution(info: Info, execution_id: int | None) -> JobExecution | None:
    """The execution of a key, or None."""
    found = None if execution_id is None else await info.context.loaders.executions.load(execution_id)
    return None if found is None else JobExecution.from_model(found)
