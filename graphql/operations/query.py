"""The root of queries."""

from typing import Annotated

import strawberry

from ...jobs.core.model import FAILURES, JobInfo
from ...jobs.store.read import jobs
from ...jobs.store.read.criteria import AllOf, Condition, Criteria, Operator, equal
from ...jobs.store.read.keyset import PageRequest
from ...jobs.store.read.lists import EXECUTIONS, GROUPS, NODES, RUNS, SKIPPED, TASKS
from ..arguments import (
    AFTER,
    BEFORE,
    FIRST,
    ID_ARGUMENT,
    LAST,
    MAX_JOB_LOGS,
    checked_range,
    checked_text,
    parse_id,
    refused,
)
from ..context import Info
from ..enums import Role
from ..fields import listed, resolved
from ..guard.sizes import Size
from ..lists.arguments import (
    EXECUTION_FILTER,
    EXECUTION_ORDER,
    GROUP_FILTER,
    GROUP_ORDER,
    NODE_FILTER,
    NODE_ORDER,
    RUN_FILTER,
    RUN_ORDER,
    SKIPPED_FILTER,
    SKIPPED_ORDER,
    TASK_FILTER,
    TASK_ORDER,
    list_of,
)
from ..lists.connections import Connection, PageArguments
from ..lists.criteria import to_criteria
from ..lists.ordering import to_keys
from ..types.entities import Job, JobExecution, Run, SkippedOccurrence, Task, load_execution, load_run, load_task
from ..types.operation import Group, Node
from .accounts import AccountQueries
from .reports import ReportQueries
from .selection import asked_of


@strawberry.type(description="Everything that can be read.")
class Query(ReportQueries, AccountQueries):
    """Queries."""

    @resolved(description="The jobs that nodes have published, by name.", requires=Role.VIEWER)
    async def available_jobs(self, info: Info) -> list[Job]:
        """All jobs."""
        return [Job.from_model(job) for job in await info.context.database.read(jobs.everything)]

    @resolved(description="One job; null if no node has published it.", requires=Role.VIEWER)
    async def job(self, info: Info, name: Annotated[str, strawberry.argument(description="Its name.")]) -> Job | None:
        """A job by name."""
        found: JobInfo | None = await info.context.loaders.jobs.load(checked_text(name, "name"))
        return None if found is None else Job.from_model(found)

    @resolved(
        description="The execution log, newest first. `executions` has more filters, and pages.",
        size=Size(("limit",), default=100, most=MAX_JOB_LOGS),
        requires=Role.VIEWER,
    )
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

    @listed(description="The execution log.", requires=Role.VIEWER)
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

    @resolved(description="One execution; null if there is none of this id.", requires=Role.VIEWER)
    async def execution(self, info: Info, id: ID_ARGUMENT) -> JobExecution | None:
        """An execution by key."""
        return await load_execution(info, parse_id(id, "id"))

    @listed(description="The tasks.", requires=Role.VIEWER)
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
        ahead = info.context.loaders.look_ahead if _asks_for_last_status(info) else None
        return list_of(info, TASKS, paging, to_criteria(filter), to_keys(order_by), Task.from_model, ahead=ahead)

    @resolved(description="One task, by its name or its id; null if there is none.", requires=Role.VIEWER)
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

    @listed(description="The runs: the queue, and what became of it.", requires=Role.VIEWER)
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

    @resolved(description="One run; null if there is none of this id.", requires=Role.VIEWER)
    async def run(self, info: Info, id: ID_ARGUMENT) -> Run | None:
        """A run by key."""
        return await load_run(info, parse_id(id, "id"))

    @listed(
        description="The queue's groups: `default`, those that a task or an unfinished run names, and those once "
        "paused or limited.",
        requires=Role.VIEWER,
    )
    def groups(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: GROUP_FILTER = None,
        order_by: GROUP_ORDER = None,
    ) -> Connection[Group]:
        """All groups."""
        paging = PageArguments(first, after, last, before)
        return list_of(info, GROUPS, paging, to_criteria(filter), to_keys(order_by), Group.from_model)

    @listed(description="The nodes; those that ended are kept for a while.", requires=Role.VIEWER)
    def nodes(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: NODE_FILTER = None,
        order_by: NODE_ORDER = None,
    ) -> Connection[Node]:
        """All nodes."""
        paging = PageArguments(first, after, last, before)
        return list_of(info, NODES, paging, to_criteria(filter), to_keys(order_by), Node.from_model)

    @listed(description="Occurrences that did not become runs, and why.", requires=Role.VIEWER)
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


def _asks_for_last_status(info: Info) -> bool:
    return not asked_of(info).isdisjoint(("nodes.lastStatus", "edges.node.lastStatus"))
