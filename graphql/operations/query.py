"""The root of queries."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final

import strawberry

from ...jobs.core.model import FAILURES
from ...jobs.store.statements import archive
from ...jobs.store.statements import jobs as stored_jobs
from ...jobs.store.statements.listing.criteria import AllOf, Condition, Criteria, Operator, equal
from ...jobs.store.statements.listing.keyset import PageRequest
from ...jobs.store.statements.lists import EXECUTIONS, GROUPS
from ..base.enums import Role
from ..base.fields import Size, resolved
from ..base.scalars import ID_ARGUMENT, MAX_JOB_LOGS, Duration, checked_range, checked_text, parse_id, refused
from ..lists.connections import Connection
from ..lists.declared import Newest, asked_of, listed, reading_of
from ..resolving.context import Info
from ..resolving.loaders import retained
from ..types.entities import (
    Job,
    JobExecution,
    Run,
    SkippedOccurrence,
    Task,
    load_execution,
    load_job,
    load_run,
    load_task,
)
from ..types.flow import FLOW_LIST, Flow, load_flow
from ..types.operation import GROUP_LIST, NODE_LIST, Group, Node
from ..types.records import JOB_LIST, SKIPPED_LIST
from ..types.run import EXECUTION_LIST, RUN_LIST
from ..types.task import TASK_LIST, OccurrenceStrip
from .accounts.accounts import AccountQueries
from .accounts.secrets import SecretQueries
from .accounts.views import ViewQueries
from .addresses import AddressQueries
from .alarms import AlarmQueries
from .channels import ChannelQueries
from .failures import FailureQueries
from .hooks import HookQueries
from .log_search import HistoryQueries, LogSearchQueries
from .reports import LabelQueries, ReportQueries, TimelineQueries
from .revisions import RevisionQueries
from .webhooks import WebhookQueries

MAX_NAMES: Final = 200


@strawberry.type(description="The time for which the history of one job, or of one group, is kept.")
class KeptHistory:
    """A name and a time."""

    name: str = strawberry.field(description="The name of the job or of the group.")
    seconds: Duration = strawberry.field(description="The time after its end from which a run may be pruned.")


@strawberry.type(
    description="The folder or the bucket that history is written to before it is deleted, as Parquet files by day."
)
class HistoryArchive:
    """A folder or a bucket."""

    location: str = strawberry.field(description="The folder, or the bucket with its prefix.")
    complete_until_at: datetime = strawberry.field(
        description="The time before which history has ended that is there, as far as it was not deleted before there "
        "was an archive. Runs that ended at this time or later are not deleted."
    )


@strawberry.type(
    description="The time for which the history of finished runs is kept. The group of a run decides first, then "
    "its job, then the task `prune_history`."
)
class Retention:
    """The present limits of history."""

    seconds: Duration = strawberry.field(description="The time that holds if neither the group nor the job has one.")
    max_per_task: int | None = strawberry.field(
        description="The largest number of executions that are kept of each task; null = no limit."
    )
    groups: list[KeptHistory] = strawberry.field(
        description="The groups with a time of their own; the first 200 by name."
    )
    jobs: list[KeptHistory] = strawberry.field(description="The jobs with a time of their own; the first 200 by name.")
    archive: HistoryArchive | None = strawberry.field(description="Null = deleted history is gone.")


@strawberry.type(
    description="A standby of the database (`read_database_url`) that answers queries in its place, as the node sees "
    "it that answers. A query never shows an older state than the database had when it was sent: where the standby has "
    "not caught up within a moment, or cannot be asked, the database answers."
)
class ReadReplica:
    """A standby that answers queries."""

    is_in_use: bool = strawberry.field(description="Whether it answers queries at present.")
    lag: Duration | None = strawberry.field(
        description="The time by which it was behind the database at the last look, which is at most a few seconds "
        "ago; null while it cannot be asked."
    )
    reason: str | None = strawberry.field(
        description="The reason why the database answers in its place, for administrators with the message of the "
        "driver, which may name the address; null while it is in use."
    )


@strawberry.type
class RetentionQueries:
    """Queries of the limits of history, and of the standby that answers queries."""

    @resolved(requires=Role.VIEWER)
    async def read_replica(self, info: Info) -> ReadReplica | None:
        """The standby that answers queries; null if the node that answers has none."""
        replica = info.context.replica
        if replica is None:
            return None
        state = replica.state
        lag = None if state.lag is None else Duration(state.lag)
        has_more = state.said is not None and info.context.person.role.includes(Role.ADMIN)
        reason = f"{state.reason}: {state.said}" if has_more else state.reason
        return ReadReplica(is_in_use=state.in_use, lag=lag, reason=reason)

    @resolved(size=Size(own=2 * MAX_NAMES), requires=Role.VIEWER)
    async def retention(self, info: Info) -> Retention | None:
        """The time for which history is kept, by the present arguments of the task `prune_history`."""
        now = await info.context.now()
        found, archived = await info.context.database.read(lambda conn: (retained(conn, now), archive.of(conn)))
        return Retention(
            seconds=Duration(found.kept.age.total_seconds()),
            max_per_task=found.max_per_task,
            groups=_named(found.kept.groups),
            jobs=_named(found.kept.jobs),
            archive=None
            if archived is None
            else HistoryArchive(location=archived.location, complete_until_at=archived.through),
        )


def _named(seconds: Mapping[str, float]) -> list[KeptHistory]:
    return [KeptHistory(name=name, seconds=Duration(age)) for name, age in sorted(seconds.items())[:MAX_NAMES]]


@strawberry.type(description="Everything that can be read.")
class Query(
    ReportQueries,
    FailureQueries,
    TimelineQueries,
    HistoryQueries,
    LabelQueries,
    LogSearchQueries,
    RetentionQueries,
    AccountQueries,
    SecretQueries,
    ViewQueries,
    AlarmQueries,
    ChannelQueries,
    HookQueries,
    WebhookQueries,
    AddressQueries,
    RevisionQueries,
):
    """Queries."""

    @resolved(requires=Role.VIEWER)
    async def available_jobs(self, info: Info) -> list[Job] | None:
        """The jobs that nodes have published, by name."""
        return [Job.from_model(job) for job in await info.context.database.read(stored_jobs.everything)]

    jobs: Connection[Job] | None = listed(
        JOB_LIST, lambda: Job, description="The jobs that nodes have published.", requires=Role.VIEWER
    )

    @resolved(requires=Role.VIEWER)
    async def job(self, info: Info, name: Annotated[str, strawberry.argument(description="The name.")]) -> Job | None:
        """One job; null if no node has published it."""
        return await load_job(info, checked_text(name, "name"))

    @resolved(size=Size(("limit",), default=100, most=MAX_JOB_LOGS), requires=Role.VIEWER)
    async def job_logs(
        self,
        info: Info,
        limit: Annotated[int, strawberry.argument(description="At most so many, 1 to 1000.")] = 100,
        job_name: Annotated[str | None, strawberry.argument(description="Only of this job.")] = None,
        only_failures: Annotated[
            bool, strawberry.argument(description="Only those that FAILED, TIMED_OUT or were LOST.")
        ] = False,
    ) -> list[JobExecution] | None:
        """The execution log, newest first. `executions` has more filters, and pages."""
        checked_range(limit, "limit", 1, MAX_JOB_LOGS)
        conditions: list[Criteria] = []
        if job_name is not None:
            conditions.append(equal("job_name", checked_text(job_name, "jobName")))
        if only_failures:
            conditions.append(Condition("outcome", Operator.IN, tuple(sorted(FAILURES))))
        request = PageRequest(EXECUTIONS.order, limit, AllOf(tuple(conditions)))
        reading = reading_of(EXECUTIONS, JobExecution, asked_of(info))
        return list(map(reading.show, (await info.context.loaders.page(reading.rows, request)).items))

    executions: Connection[JobExecution] | None = listed(
        EXECUTION_LIST,
        lambda: JobExecution,
        description="The execution log.",
        requires=Role.VIEWER,
    )

    @resolved(requires=Role.VIEWER)
    async def execution(self, info: Info, id: ID_ARGUMENT) -> JobExecution | None:
        """One execution; null if there is none of this id."""
        return await load_execution(info, parse_id(id, "id"))

    tasks: Connection[Task] | None = listed(
        TASK_LIST,
        lambda: Task,
        description="The tasks.",
        requires=Role.VIEWER,
        newest=Newest("lastStatus", "last_status", lambda: JobExecution),
        strip=OccurrenceStrip.from_strip,
    )

    @resolved(requires=Role.VIEWER)
    async def task(
        self,
        info: Info,
        name: Annotated[str | None, strawberry.argument(description="The name of the task; or else `id`.")] = None,
        id: Annotated[
            strawberry.ID | None, strawberry.argument(description="The decimal key of the task; or else `name`.")
        ] = None,
    ) -> Task | None:
        """One task, by its name or its id; null if there is none."""
        if (name is None) == (id is None):
            raise refused("task: give either name or id" + ("" if name is None else ", not both"))
        if id is not None:
            return await load_task(info, parse_id(id, "id"))
        found = await info.context.loaders.tasks_by_name.load(checked_text(name or "", "name"))
        return None if found is None else Task.from_model(found)

    runs: Connection[Run] | None = listed(
        RUN_LIST,
        lambda: Run,
        description="The runs: waiting, executing and finished ones.",
        requires=Role.VIEWER,
    )

    @resolved(requires=Role.VIEWER)
    async def run(self, info: Info, id: ID_ARGUMENT) -> Run | None:
        """One run; null if there is none of this id."""
        return await load_run(info, parse_id(id, "id"))

    flows: Connection[Flow] | None = listed(
        FLOW_LIST,
        lambda: Flow,
        description="The flows.",
        requires=Role.VIEWER,
    )

    @resolved(requires=Role.VIEWER)
    async def flow(self, info: Info, id: ID_ARGUMENT) -> Flow | None:
        """One flow; null if there is none of this id."""
        return await load_flow(info, parse_id(id, "id"))

    groups: Connection[Group] | None = listed(
        GROUP_LIST,
        lambda: Group,
        description="The queue's groups: `default`, those that a task or an unfinished run names, and those once "
        "paused or limited.",
        requires=Role.VIEWER,
    )

    nodes: Connection[Node] | None = listed(
        NODE_LIST,
        lambda: Node,
        description="The nodes; those that ended are kept for a while.",
        requires=Role.VIEWER,
    )

    skipped_occurrences: Connection[SkippedOccurrence] | None = listed(
        SKIPPED_LIST,
        lambda: SkippedOccurrence,
        description="Occurrences that did not become runs, and why.",
        requires=Role.VIEWER,
    )

    @resolved(requires=Role.VIEWER)
    async def group(
        self, info: Info, name: Annotated[str, strawberry.argument(description="The name.")]
    ) -> Group | None:
        """One group; null if no task or unfinished run names it and it was never paused or limited."""
        request = PageRequest(GROUPS.order, 1, equal("name", checked_text(name, "name")))
        found = (await info.context.loaders.page(GROUPS, request)).items
        return Group.from_model(found[0]) if found else None

    @resolved(requires=Role.VIEWER)
    async def node(self, info: Info, name: Annotated[str, strawberry.argument(description="The name.")]) -> Node | None:
        """One node; of several that had the name, one after another, the newest. Null if there is none."""
        found = await info.context.loaders.nodes_by_name.load(checked_text(name, "name"))
        return None if found is None else Node.from_model(found)
