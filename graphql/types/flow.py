"""Flows as clients see them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Final

import strawberry

from ...jobs.core import flows
from ...jobs.core.flows import FlowState
from ...jobs.core.states import FINAL, RunState
from ...jobs.store.statements.flows import OfJob
from ...jobs.store.statements.lists import FLOWS
from ..base.enums import Described, described
from ..base.fields import Size, resolved
from ..base.scalars import AFTER, BEFORE, DEFAULT_PAGE, FIRST, LAST, MAX_PAGE, Labels
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection, PageArguments, connect_numbered
from ..lists.declared import kind_of, listed
from ..lists.filters import DateTimeFilter, Filter, IdFilter, LabelFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info
from ..types.run import RUN_LIST
from .entities import Run, Task, load_run, load_task


@filter_of("A filter of flows.")
class FlowFilter(RowFilter):
    """Conditions on flows."""

    OWN_LABELS: ClassVar = True

    id: IdFilter | None = condition("The key of the flow.")
    name: StringFilter | None = condition("The name of the flow.")
    state: Filter[FlowState] | None = condition("The state of the flow.")
    unique_key: StringFilter | None = condition("The unique key of the flow.")
    submitted_at: DateTimeFilter | None = condition("The time when the flow was enqueued.")
    finished_at: DateTimeFilter | None = condition("The time when the flow ended.")
    deadline_at: DateTimeFilter | None = condition("The time by which the runs of the flow must have ended.")
    submitter: StringFilter | None = condition("The person or program that enqueued the flow.")
    started_by_run_id: IdFilter | None = condition("The key of the run whose job enqueued the flow.")
    started_by_task_id: IdFilter | None = condition("The key of the task whose run enqueued the flow.")
    labels: LabelFilter | None = condition(
        "The labels of the flow, which its runs inherit. For several labels use `and`."
    )


@described("A field by which flows can be ordered; newest first unless given.")
class FlowOrderField(Described):
    """Fields of flows to order by."""

    ID = "id", "The key, in the order in which they were enqueued."
    NAME = "name", "The name."
    FINISHED_AT = "finished_at", "The time when the flow ended."


FLOW_LIST: Final = kind_of(FLOWS, FlowFilter, FlowOrderField, "flows")


COUNTED: Final = Size(own=20)
"""All runs of the flow are counted."""
FOLDED: Final = Size(("first", "last"), default=DEFAULT_PAGE, most=MAX_PAGE, own=100)
"""All runs of the flow are counted, and what comes after what is looked at."""


@strawberry.type(description="The number of runs of a flow in each state.")
class FlowProgress:
    """The states of the runs of a flow."""

    total: int = strawberry.field(description="The number of all runs.")
    done: int = strawberry.field(description="The number of runs that are over.")
    waiting: int = strawberry.field(description="The number of runs that wait for a node.")
    scheduled: int = strawberry.field(description="The number of runs that were handed to a node and have not begun.")
    running: int = strawberry.field(description="The number of runs that are being executed.")
    stuck: int = strawberry.field(description="The number of runs that failed and will be tried again.")
    suspended: int = strawberry.field(
        description="The number of runs that wait for other runs of the flow, for a time or for a signal."
    )
    success: int = strawberry.field(description="The number of runs that succeeded.")
    failed: int = strawberry.field(description="The number of runs that failed for good.")
    cancelled: int = strawberry.field(description="The number of runs that were cancelled.")
    skipped: int = strawberry.field(
        description="The number of runs that can never start because of the ends of other runs."
    )


@strawberry.type(description="The runs of a flow that are of one job.")
class FlowJob:
    """The runs of one job, counted."""

    job_name: str = strawberry.field(description="The name of the job.")
    after: list[str] = strawberry.field(description="The names of the jobs whose runs come before these runs.")
    progress: FlowProgress = strawberry.field(description="The number of these runs in each state.")


@strawberry.type(description="Runs that were enqueued together, of which some start after others have ended.")
class Flow(FromModel):
    """A flow."""

    stored: strawberry.Private[flows.Flow]
    id: strawberry.ID = strawberry.field(description="The decimal key of the flow.")
    name: str = strawberry.field(description="The purpose of the flow, in words; several flows may have the same name.")
    state: flows.FlowState = strawberry.field(description="The state of the flow.")
    is_open: bool = strawberry.field(
        description="Whether runs can still be added to the flow, so that it does not end by itself."
    )
    unique_key: str | None = strawberry.field(
        description="The unique key of the flow: no second unfinished flow can have it. Null = it has none."
    )
    submitted_at: datetime = strawberry.field(description="The time when the flow was enqueued.")
    finished_at: datetime | None = strawberry.field(
        description="The time when its last run ended; null while it is not over."
    )
    cancel_requested_at: datetime | None = strawberry.field(
        description="The time when the flow was asked to stop; null if it was not."
    )
    deadline_at: datetime | None = strawberry.field(
        description="The time at which the unfinished runs of the flow are cancelled; null = never."
    )
    submitter: str | None = strawberry.field(description="The person or program that enqueued the flow.")
    labels: Labels = strawberry.field(description="The labels that the runs of the flow inherit.")

    MADE: ClassVar[Makers] = {"is_open": lambda flow: flow.closed_at is None, "labels": lambda flow: flow.labels or {}}

    runs: Connection[Run] = listed(
        RUN_LIST,
        lambda: Run,
        description="The runs of the flow, including runs that `retryFlow` has replaced.",
        of=("flow_id", lambda self: int(self.id)),
    )

    @resolved()
    async def parent(self, info: Info) -> Run | None:
        """The run that began the flow by `ctx.run_all` and waits for its end; null for all other flows."""
        return await load_run(info, self.stored.parent_id)

    @resolved()
    async def started_by_run(self, info: Info) -> Run | None:
        """The run whose job enqueued the flow; null for all other flows, and once the run is pruned."""
        return await load_run(info, self.stored.started_by_run_id)

    @resolved()
    async def started_by_task(self, info: Info) -> Task | None:
        """The task whose run enqueued the flow; null for all other flows, and once the task is deleted."""
        return await load_task(info, self.stored.started_by_task_id)

    @resolved(size=COUNTED)
    async def progress(self, info: Info) -> FlowProgress:
        """The number of runs of the flow in each state."""
        return _progress(await info.context.loaders.flows.progress.load(int(self.id)))

    @resolved(size=FOLDED)
    def jobs(
        self, info: Info, *, first: FIRST = None, after: AFTER = None, last: LAST = None, before: BEFORE = None
    ) -> Connection[FlowJob]:
        """The runs of the flow folded by job, for flows of thousands of runs; in the order of first runs."""
        loader, key = info.context.loaders.flows.by_job, int(self.id)

        async def read(number: int, limit: int) -> Sequence[OfJob]:
            return (await loader.load(key))[number : number + limit]

        async def length() -> int:
            return len(await loader.load(key))

        paging = PageArguments(first, after, last, before)
        return connect_numbered("flow_jobs", paging, read=read, length=length, convert=_of_job)


def _of_job(one: OfJob) -> FlowJob:
    return FlowJob(job_name=one.job_name, after=one.after, progress=_progress(one.states))


def _progress(states: Mapping[RunState, int]) -> FlowProgress:
    counts = {state.value: states.get(state, 0) for state in RunState}
    return FlowProgress(total=sum(states.values()), done=sum(states.get(one, 0) for one in FINAL), **counts)


async def load_flow(info: Info, key: int | None) -> Flow | None:
    """Return a flow by key; None if there is none."""
    found = None if key is None else await info.context.loaders.flows.by_id.load(key)
    return None if found is None else Flow.from_model(found)
