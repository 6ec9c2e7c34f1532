"""Tasks, runs, executions, skipped occurrences and jobs with their relations to each other, all read in batches."""

from datetime import datetime
from typing import Annotated, Final, Union, cast
from urllib.parse import quote

import strawberry
from strawberry.scalars import JSON

from graphql import Undefined

from ...jobs.core import model
from ...jobs.store.statements.figures.strips import Strip
from ...jobs.store.statements.lists import PRESENT_RUN, RUN_LABELS
from ..base.enums import ExplanationCode
from ..base.fields import PAGE, Size, resolved
from ..base.scalars import (
    AFTER,
    BEFORE,
    DEFAULT_PAGE,
    DEFAULT_STRIP,
    FIRST,
    LAST,
    MAX_LINES,
    MAX_PAGE,
    BigInt,
    Labels,
    checked_range,
)
from ..execution.shown import NO_FIELD, FromModel, Ready
from ..lists.connections import (
    KINDS,
    LIST,
    ORDER,
    Connection,
    OccurrenceRow,
    Occurrences,
    PageArguments,
    connect,
    connect_numbered,
)
from ..lists.declared import listed
from ..resolving.context import Info
from ..types.records import SKIPPED_LIST
from ..types.run import EXECUTION_LIST, RUN_LIST
from ..types.task import TASK_LIST
from .common import LogLine, LogPage
from .records import JobFields, SkippedFields
from .run import ExecutionFields, FlowPlace, RemoteAttempt, RunFields, RunStep, load_place
from .task import OccurrenceStrip, TaskFields

EXPLAINED: Final = Size(own=5)
"""An explanation looks at the queue and the nodes."""

STEPS: Final = Size(("first", "last"), default=DEFAULT_PAGE, most=MAX_LINES)
"""Steps of a run."""
STEPS_FIRST: Final = strawberry.argument(
    description="At most so many steps from the beginning, 0 to 1,000; 50 if neither this nor `last` is given."
)
STEPS_LAST: Final = strawberry.argument(
    description="At most so many steps from the end, in the order of the list, 0 to 1,000."
)

STRIP: Final = Size(("last",), default=DEFAULT_STRIP, most=MAX_PAGE)
"""Columns of so many values."""


Occurrence = Annotated[
    Union["Run", "SkippedOccurrence"],
    strawberry.union(
        "Occurrence",
        description="A run that a nominal time of a task became, or a stretch of nominal times that was skipped.",
    ),
]


@strawberry.type(description="Named code that a node can run.")
class Job(JobFields):
    """A job with its relations."""

    tasks: Connection["Task"] = listed(
        TASK_LIST,
        lambda: Task,
        description="The tasks that use the job.",
        of=("job_name", lambda self: self.name),
    )

    executions: Connection["JobExecution"] = listed(
        EXECUTION_LIST,
        lambda: JobExecution,
        description="The executions of the job.",
        of=("job_name", lambda self: self.name),
    )


@strawberry.type(description="A stored schedule: which job, with which arguments, when, under which policies.")
class Task(TaskFields):
    """A task with its relations."""

    @resolved()
    async def job(self, info: Info) -> Job | None:
        """The job that the task runs; null if no node has published a job of that name."""
        return await load_job(info, self.job_name)

    @resolved()
    async def is_job_known(self, info: Info) -> bool:
        """True if a node has published the job of the task. Otherwise the task does not fire."""
        return await info.context.loaders.jobs.load(self.job_name) is not None

    @resolved()
    async def is_deletable(self, info: Info) -> bool:
        """True if it can be deleted.

        A task of code can be once no live node declares it any more, e.g. after its job was renamed or removed.
        """
        return self.source is not model.TaskSource.CODE or not await info.context.loaders.declaring.load(self.name)

    @resolved(
        description="Whether the task should have started and did not: it is enabled, nothing has started since "
        "the last due time and the misfire grace after it, and a start is still owed because a run of "
        "it waits or no node knows its job. An occurrence that a policy skipped is not late."
    )
    async def is_stalled(self, info: Info) -> bool:
        """Judged by the database's time."""
        return await info.context.loaders.is_stalled.load(self.stored)

    @resolved(size=EXPLAINED)
    async def explain(self, info: Info) -> "Explanation":
        """An explanation why the task is or is not running now, and its next step."""
        return Explanation.from_model(await info.context.loaders.task_explanations.load(self.stored))

    @resolved()
    def last_status(self, info: Info) -> "JobExecution | None":
        """The newest finished execution of the task; null if there is none."""
        if "last_status" in vars(self):
            # It was read with the task; the executor takes it from there unless somebody wants to see every field.
            return cast("JobExecution | None", vars(self)["last_status"])
        # GraphQL waits for what a resolver returns.
        return cast("JobExecution | None", self._load_last_status(info))

    async def _load_last_status(self, info: Info) -> "JobExecution | None":
        return _execution_of(await info.context.loaders.last_finished.load(self.stored.id))

    executions: Connection["JobExecution"] = listed(
        EXECUTION_LIST,
        lambda: JobExecution,
        description="The executions of the task.",
        of=("task_id", lambda self: self.stored.id),
    )

    runs: Connection["Run"] = listed(
        RUN_LIST,
        lambda: Run,
        description="The runs of the task.",
        of=("task_id", lambda self: self.stored.id),
    )

    @resolved(size=PAGE)
    def occurrences(
        self, info: Info, *, first: FIRST = None, after: AFTER = None, last: LAST = None, before: BEFORE = None
    ) -> Connection[Occurrence]:
        """The occurrences of the task: runs and skips in one list, the newest nominal time first."""
        request = PageArguments(first, after, last, before).bounded(LIST, ORDER, KINDS)
        reader = Occurrences(info.context.loaders, self.stored.id, request)
        return connect(LIST, request, read=reader.page, count=reader.count, convert=occurrence_of)

    @resolved(size=STRIP, unstable=True)
    async def strip(
        self,
        info: Info,
        last: Annotated[
            int, strawberry.argument(description="The largest number of occurrences, 1 to 200.")
        ] = DEFAULT_STRIP,
    ) -> OccurrenceStrip:
        """The newest occurrences of the task as columns, for a chart; `occurrences` says more about each."""
        checked_range(last, "last", 1, MAX_PAGE)
        return OccurrenceStrip.from_strip(await info.context.loaders.strips.load((int(self.id), last)))

    skipped_occurrences: Connection["SkippedOccurrence"] = listed(
        SKIPPED_LIST,
        lambda: SkippedOccurrence,
        description="The occurrences of the task that did not become runs, with the reasons.",
        of=("task_id", lambda self: self.stored.id),
    )


# Its resolver, or the page that reads it, needs no more of the task than the key.
Task.FIELDS = TaskFields.FIELDS.with_ready(
    {"strip": Ready((), lambda: Undefined, below=frozenset({*Strip.__slots__, NO_FIELD}), needs=frozenset({"id"}))}
)


@strawberry.type(description="One entry of the durable queue.")
class Run(RunFields):
    """A run with its relations."""

    @resolved()
    async def job(self, info: Info) -> Job | None:
        """The job of the run; null if no node has published a job of that name."""
        return await load_job(info, self.job_name)

    @resolved()
    async def task(self, info: Info) -> Task | None:
        """The task that made the run; null for other runs, and once the task is deleted."""
        return await load_task(info, self.stored.task_id)

    @resolved(size=EXPLAINED)
    async def explain(self, info: Info) -> "Explanation":
        """An explanation of the state of the run: why it has not started yet, and its next step."""
        return Explanation.from_model(await info.context.loaders.run_explanations.load(self.stored))

    @resolved()
    async def retried_from(self, info: Info) -> "Run | None":
        """The run that this run retries; null if it retries none."""
        return await load_run(info, self.stored.retried_from)

    @resolved(
        description="The place of the run in its flow; null if it belongs to none, or if `retryFlow` has put "
        "another run in its place. A place has one run, whose `retriedFrom` is this run."
    )
    async def flow_place(self, info: Info) -> FlowPlace | None:
        """The key, the condition, and the predecessors."""
        return await load_place(info, self.stored)

    @resolved(size=STEPS)
    def steps(
        self,
        info: Info,
        *,
        first: Annotated[int | None, STEPS_FIRST] = None,
        after: AFTER = None,
        last: Annotated[int | None, STEPS_LAST] = None,
        before: BEFORE = None,
    ) -> Connection[RunStep]:
        """The durable steps of the run: attempts one after the other, each by the start of its steps."""
        key, loaders = self.stored.id, info.context.loaders
        return connect_numbered(
            "steps",
            PageArguments(first, after, last, before),
            read=lambda number, limit: loaders.steps.load((key, limit, number)),
            length=lambda: loaders.step_counts.load(key),
            convert=RunStep.from_model,
            most=MAX_LINES,
        )

    executions: Connection["JobExecution"] = listed(
        EXECUTION_LIST,
        lambda: JobExecution,
        description="The executions of the run, one per attempt.",
        of=("run_id", lambda self: self.stored.id),
    )


_KEY_OF_RUN: Final = Run.FIELDS.cut(Run, {"id"})
assert _KEY_OF_RUN is not None, "the key is a column"
_ONLY_KEY: Final = _KEY_OF_RUN


@strawberry.type(description="One attempt at a run, from start to end: an entry of the execution log.")
class JobExecution(ExecutionFields):
    """An execution with its relations."""

    @resolved()
    async def job(self, info: Info) -> Job | None:
        """The job of the execution; null if no node has published a job of that name."""
        return await load_job(info, self.job_name)

    @resolved(
        description="Whether the execution failed, and its run or a run that retries it succeeded later.",
    )
    async def is_recovered(self, info: Info) -> bool:
        """Return whether its run, or a retry of that, has succeeded after this failure."""
        return self.outcome in model.FAILURES and await info.context.loaders.recovered.load(int(self.run_id))

    @resolved()
    async def args(self, info: Info) -> JSON | None:
        """The arguments of the run, an object; null once the run is pruned."""
        run = await info.context.loaders.runs.load(self.stored.run_id)
        return None if run is None else JSON(run.args)

    @resolved()
    async def labels(self, info: Info) -> Labels | None:
        """The labels of the run; null once the run is pruned."""
        run = await info.context.loaders.runs.load(self.stored.run_id)
        return None if run is None else Labels(run.labels or {})

    @resolved()
    async def group(self, info: Info) -> str | None:
        """The group of the run; null once the run is pruned."""
        run = await info.context.loaders.runs.load(self.stored.run_id)
        return None if run is None else run.group

    @resolved()
    async def run(self, info: Info) -> Run | None:
        """The run of which the execution is an attempt; null once the run is pruned."""
        return await load_run(info, self.stored.run_id)

    @resolved()
    async def task(self, info: Info) -> Task | None:
        """The task whose run it was; null for other runs, and once the task is deleted."""
        return await load_task(info, self.stored.task_id)

    @resolved(
        description="The address of the trace, by the setting `trace_link`; null without that setting, or if the "
        "setting names a `{trace}` and there is no `traceId`."
    )
    async def trace_url(self, info: Info) -> str | None:
        """The address of its trace."""
        link = info.context.trace_link
        return None if link is None else _filled(link, self.stored)

    @resolved(description="The attempt at the engine to which it was handed; null if a node executes it itself.")
    async def remote_attempt(self, info: Info) -> RemoteAttempt | None:
        """Its place at an engine."""
        found = await info.context.loaders.remote_attempts.load(self.stored.id)
        return None if found is None else RemoteAttempt.from_model(found)

    @resolved(size=Size(("first",), default=DEFAULT_PAGE, most=MAX_LINES, each=2))
    async def log_lines(
        self,
        info: Info,
        first: Annotated[int, strawberry.argument(description="At most so many lines, 1 to 1000.")] = DEFAULT_PAGE,
        after: Annotated[int, strawberry.argument(description="Only lines behind this number.")] = 0,
    ) -> LogPage:
        """A page of the log of the execution."""
        checked_range(first, "first", 1, MAX_LINES)
        checked_range(after, "after", 0, 2**31 - 1)
        found = await info.context.loaders.lines.load((self.stored.id, after, first))
        return LogPage(
            lines=[LogLine.from_model(line) for line in found.lines],
            last_line=found.lines[-1].line if found.lines else after,
            cut=BigInt(max(found.cut, self.stored.log_cut)),
            ended=self.completed_at is not None,
        )


def _run_of_key(key: int | None) -> Run | None:
    return None if key is None else cast("Run", _ONLY_KEY.show((key, None)))


def _labels_of_run(key: int | None, labels: dict[str, str] | None) -> dict[str, str] | None:
    return None if key is None else labels or {}


def _is_recovered(outcome: model.Outcome | None) -> object:
    return Undefined if outcome in model.FAILURES else False


JobExecution.FIELDS = ExecutionFields.FIELDS.with_ready(
    {
        "run": Ready((PRESENT_RUN,), _run_of_key, below=frozenset({"id", NO_FIELD})),
        "labels": Ready((PRESENT_RUN, RUN_LABELS), _labels_of_run),
        "is_recovered": Ready(("outcome",), _is_recovered, needs=frozenset({"outcome", "runId"})),
    }
)


def _filled(link: str, execution: model.Execution) -> str | None:
    """Return the address of a trace: ``link`` filled in for the execution; None if that has no trace to name."""
    if execution.trace_id is None and "{trace}" in link:
        return None
    values = {
        "run": execution.run_id,
        "attempt": execution.attempt,
        "execution": execution.id,
        "job": execution.job_name,
        "trace": execution.trace_id,
    }
    for name, value in values.items():
        link = link.replace(f"{{{name}}}", quote(str(value), safe=""))
    return link


@strawberry.type(
    description="A stretch of occurrences that did not become runs, or runs that were dropped, for one reason."
)
class SkippedOccurrence(SkippedFields):
    """A skipped stretch with its relations."""

    @resolved()
    async def task(self, info: Info) -> Task | None:
        """The task of the occurrences; null once it is deleted."""
        return await load_task(info, self.stored.task_id)

    @resolved()
    async def run(self, info: Info) -> Run | None:
        """The run that was dropped, if any; with the reason OVERLAP the run in the way when the stretch began."""
        return await load_run(info, self.stored.run_id)


@strawberry.type(description="An answer to the question why something runs or does not.")
class Explanation(FromModel):
    """An explanation of the engine."""

    run_id: strawberry.Private[int | None]
    code: ExplanationCode = strawberry.field(description="The answer as a word for programs.")
    sentence: str = strawberry.field(description="The answer as a sentence.")
    details: list[str] = strawberry.field(description="Further sentences, most important first.")
    until: datetime | None = strawberry.field(
        name="changesAt", description="The time at which the answer changes by itself; null = not by time."
    )

    @resolved()
    async def run(self, info: Info) -> Run | None:
        """The run that is in the way, or that the answer is about."""
        return await load_run(info, self.run_id)


def occurrence_of(row: OccurrenceRow) -> Run | SkippedOccurrence:
    """Return the object of either kind."""
    if isinstance(row, model.SkippedOccurrence):
        return SkippedOccurrence.from_model(row)
    return Run.from_model(row)


@strawberry.type(description="A time at which a task will be due.")
class PlannedOccurrence:
    """A planned occurrence."""

    task: Task = strawberry.field(description="The task that will be due.")
    scheduled_for: datetime = strawberry.field(description="The nominal time of the occurrence.")
    effective_at: datetime = strawberry.field(
        description="The time at which the run will be made: the nominal time plus the jitter."
    )


async def load_job(info: Info, name: str) -> Job | None:
    """Return the job of a name, or None."""
    found = await info.context.loaders.jobs.load(name)
    return None if found is None else Job.from_model(found)


async def load_task(info: Info, task_id: int | None) -> Task | None:
    """Return the task of a key, or None."""
    found = None if task_id is None else await info.context.loaders.tasks.load(task_id)
    return None if found is None else Task.from_model(found)


async def load_run(info: Info, run_id: int | None) -> Run | None:
    """Return the run of a key, or None."""
    found = None if run_id is None else await info.context.loaders.runs.load(run_id)
    return None if found is None else Run.from_model(found)


def _execution_of(found: model.Execution | None) -> JobExecution | None:
    return None if found is None else JobExecution.from_model(found)


async def load_execution(info: Info, execution_id: int | None) -> JobExecution | None:
    """Return the execution of a key, or None."""
    found = None if execution_id is None else await info.context.loaders.executions.load(execution_id)
    return None if found is None else JobExecution.from_model(found)
