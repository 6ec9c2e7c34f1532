"""The root of queries."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, TypeVar

import strawberry

from ..jobs.core.model import FAILURES, JobInfo
from ..jobs.core.schedule import validate
from ..jobs.store import jobs, nodes
from ..jobs.store.reading import queue
from ..jobs.store.reading.criteria import AllOf, Condition, Criteria, Operator, equal
from ..jobs.store.reading.keyset import OrderKey, PageRequest
from ..jobs.store.reading.lists import EXECUTIONS, RUNS, SKIPPED, TASKS, Listing
from .arguments import (
    AFTER,
    BEFORE,
    COUNT,
    FIRST,
    ID_ARGUMENT,
    LAST,
    MAX_JOB_LOGS,
    checked_count,
    checked_range,
    checked_text,
    parse_id,
    refused,
)
from .connections import Connection, PageArguments, connect
from .context import Info
from .criteria import to_criteria
from .fields import resolved
from .inputs import ScheduleInput
from .ordering import to_keys
from .types.entities import (
    EXECUTION_FILTER,
    EXECUTION_ORDER,
    RUN_FILTER,
    RUN_ORDER,
    SKIPPED_FILTER,
    SKIPPED_ORDER,
    TASK_FILTER,
    TASK_ORDER,
    Job,
    JobExecution,
    Run,
    SkippedOccurrence,
    Task,
    load_execution,
    load_run,
    load_task,
)
from .types.operation import Group, Node, Viewer
from .types.schedule import ScheduleValidation

M = TypeVar("M")
T = TypeVar("T")


def list_of(
    info: Info,
    listing: Listing[M],
    paging: PageArguments,
    criteria: Criteria,
    order: tuple[OrderKey, ...],
    convert: Callable[[M], T],
) -> Connection[T]:
    """The connection over a whole list."""
    loaders = info.context.loaders
    request = paging.request(listing, order, criteria)
    return connect(
        listing,
        request,
        read=lambda: loaders.page(listing, request),
        count=lambda: loaders.count(listing, criteria),
        convert=convert,
    )


@strawberry.type(description="Everything that can be read.")
class Query:
    """Queries."""

    @resolved(description="The jobs that nodes have published, by name.")
    async def available_jobs(self, info: Info) -> list[Job]:
        """All jobs."""
        return [Job.from_model(job) for job in await info.context.database.read(jobs.everything)]

    @resolved(description="One job; null if no node has published it.")
    async def job(self, info: Info, name: Annotated[str, strawberry.argument(description="Its name.")]) -> Job | None:
        """A job by name."""
        found: JobInfo | None = await info.context.loaders.jobs.load(checked_text(name, "name"))
        return None if found is None else Job.from_model(found)

    @resolved(description="The execution log, newest first. `executions` has more filters, and pages.")
    async def job_logs(
        self,
        info: Info,
        limit: Annotated[int, strawberry.argument(description="At most so many, 1 to 1000.")] = 100,
        job_name: Annotated[str | None, strawberry.argument(description="Only of this job.")] = None,
        only_failures: Annotated[
            bool, strawberry.argument(description="Only those that FAILED, TIMED_OUT or were LOST.")
        ] = False,
    ) -> list[JobExecution]:
        """The newest executions."""
        checked_range(limit, "limit", 1, MAX_JOB_LOGS)
        conditions: list[Criteria] = []
        if job_name is not None:
            conditions.append(equal("job_name", checked_text(job_name, "jobName")))
        if only_failures:
            # Says nothing new, but the index over failures is made for it.
            conditions.append(equal("success", value=False))
            conditions.append(Condition("outcome", Operator.IN, tuple(sorted(FAILURES))))
        request = PageRequest(EXECUTIONS.order, limit, AllOf(tuple(conditions)))
        page = await info.context.loaders.page(EXECUTIONS, request)
        return [JobExecution.from_model(execution) for execution in page.items]

    @resolved(description="The execution log.")
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
    ) -> Connection[JobExecution]:
        """All executions."""
        paging = PageArguments(first, after, last, before)
        return list_of(info, EXECUTIONS, paging, to_criteria(filter), to_keys(order_by), JobExecution.from_model)

    @resolved(description="One execution; null if there is none of this id.")
    async def execution(self, info: Info, id: ID_ARGUMENT) -> JobExecution | None:
        """An execution by key."""
        return await load_execution(info, parse_id(id, "id"))

    @resolved(description="The tasks.")
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
    ) -> Connection[Task]:
        """All tasks."""
        paging = PageArguments(first, after, last, before)
        return list_of(info, TASKS, paging, to_criteria(filter), to_keys(order_by), Task.from_model)

    @resolved(description="One task, by its name or its id; null if there is none.")
    async def task(
        self,
        info: Info,
        name: Annotated[str | None, strawberry.argument(description="Its name; or else `id`.")] = None,
        id: Annotated[strawberry.ID | None, strawberry.argument(description="Its decimal key; or else `name`.")] = None,
    ) -> Task | None:
        """A task by name or key."""
        if (name is None) == (id is None):
            raise refused("task: give either name or id" + ("" if name is None else ", not both"))
        if id is not None:
            return await load_task(info, parse_id(id, "id"))
        found = await info.context.loaders.tasks_by_name.load(checked_text(name or "", "name"))
        return None if found is None else Task.from_model(found)

    @resolved(description="The runs: the queue, and what became of it.")
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
    ) -> Connection[Run]:
        """All runs."""
        paging = PageArguments(first, after, last, before)
        return list_of(info, RUNS, paging, to_criteria(filter), to_keys(order_by), Run.from_model)

    @resolved(description="One run; null if there is none of this id.")
    async def run(self, info: Info, id: ID_ARGUMENT) -> Run | None:
        """A run by key."""
        return await load_run(info, parse_id(id, "id"))

    @resolved(
        description="The queue's groups by name: `default`, and all that have unfinished runs, a pause or a limit."
    )
    async def groups(self, info: Info) -> list[Group]:
        """All groups."""
        now = await info.context.now()
        return [Group.from_model(group) for group in await info.context.database.read(queue.groups, now)]

    @resolved(description="The nodes, newest first, at most 200; those that ended are kept for a while.")
    async def nodes(self, info: Info) -> list[Node]:
        """The newest nodes."""
        return [Node.from_model(node) for node in await info.context.database.read(nodes.everyone)]

    @resolved(description="Occurrences that did not become runs, and why.")
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
    ) -> Connection[SkippedOccurrence]:
        """All skipped stretches."""
        paging = PageArguments(first, after, last, before)
        return list_of(info, SKIPPED, paging, to_criteria(filter), to_keys(order_by), SkippedOccurrence.from_model)

    @resolved(description="Judges a schedule: whether it is valid, what is wrong with it, and when it fires next.")
    async def validate_schedule(
        self,
        info: Info,
        schedule: Annotated[ScheduleInput, strawberry.argument(description="The schedule.")],
        count: COUNT = 5,
        from_: Annotated[
            datetime | None,
            strawberry.argument(name="from", description="Times strictly after this; now unless given."),
        ] = None,
    ) -> ScheduleValidation:
        """The judgement; bad input is an answer and not an error."""
        wanted = checked_count(count)
        after = from_ or await info.context.now()
        judged = validate(schedule.syntax, schedule.value, schedule.timezone, count=wanted, after=after)
        return ScheduleValidation.from_validation(judged)

    @resolved(description="Who asks.")
    def viewer(self, info: Info) -> Viewer:
        """The person of the context."""
        return Viewer.from_person(info.context.person)

    @resolved(
        description="An event cursor from before anything of this answer was read: subscribe to `events(after:)` with "
        "it, and nothing falls between."
    )
    async def as_of(self, info: Info) -> str:
        """The cursor taken by ``EventCursor`` before the operation began."""
        return info.context.as_of or str(await info.context.bus.cursor())

    @resolved(description="The server's time, by which everything is due.")
    async def server_time(self, info: Info) -> datetime:
        """The database's time."""
        return await info.context.now()
