"""Flows as clients see them."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import flows
from ...jobs.core.flows import FlowState
from ...jobs.core.states import FINAL, RunState
from ...jobs.store.read.lists import FLOWS
from ..base.enums import Described, described
from ..base.fields import Size, resolved
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import Kind, listed, order_of
from ..lists.filters import DateTimeFilter, Filter, IdFilter, LabelFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info
from ..types.run import RUN_LIST
from .entities import Run, load_run


@filter_of("Which flows.")
class FlowFilter(RowFilter):
    """Conditions on flows."""

    OWN_LABELS: ClassVar = True

    id: IdFilter | None = condition("The key.")
    name: StringFilter | None = condition("The name.")
    state: Filter[FlowState] | None = condition("Its state.")
    unique_key: StringFilter | None = condition("Its unique key.")
    submitted_at: DateTimeFilter | None = condition("When it was enqueued.")
    finished_at: DateTimeFilter | None = condition("When it ended.")
    submitter: StringFilter | None = condition("Who asked for it.")
    labels: LabelFilter | None = condition("Its labels, which its runs inherit; several by `and`.")


@described("What flows can be ordered by; newest first unless asked otherwise.")
class FlowOrderField(Described):
    """Fields of flows to order by."""

    ID = "id", "The key, in the order in which they were enqueued."
    NAME = "name", "The name."
    FINISHED_AT = "finished_at", "When it ended."


FlowOrder = order_of("FlowOrder", FlowOrderField, "An order of flows; ties are broken by the key.")


FLOW_LIST: Final = Kind(FLOWS, FlowFilter, FlowOrder, "Which flows.")


COUNTED: Final = Size(own=20)
"""All runs of the flow are counted."""
FOLDED: Final = Size(own=100)
"""All runs of the flow are counted, and what comes after what is looked at."""


@strawberry.type(description="How many runs of a flow are in which state.")
class FlowProgress:
    """The states of the runs of a flow."""

    total: int = strawberry.field(description="How many runs it has.")
    done: int = strawberry.field(description="How many of them are over.")
    waiting: int = strawberry.field(description="Runs that wait for a node.")
    scheduled: int = strawberry.field(description="Runs handed to a node that have not begun.")
    running: int = strawberry.field(description="Runs being executed.")
    stuck: int = strawberry.field(description="Runs that failed and will be tried again.")
    suspended: int = strawberry.field(description="Runs that wait for others of the flow, for a time or for a signal.")
    success: int = strawberry.field(description="Runs that succeeded.")
    failed: int = strawberry.field(description="Runs that failed for good.")
    cancelled: int = strawberry.field(description="Runs that were cancelled.")
    skipped: int = strawberry.field(description="Runs that can never start, since others ended as they did.")


@strawberry.type(description="The runs of a flow that are of one job.")
class FlowJob:
    """The runs of one job, counted."""

    job_name: str = strawberry.field(description="The job.")
    after: list[str] = strawberry.field(description="The jobs of the runs that these come after.")
    progress: FlowProgress = strawberry.field(description="How many of them are in which state.")


@strawberry.type(description="Runs that were enqueued together, of which some start after others have ended.")
class Flow(FromModel):
    """A flow."""

    stored: strawberry.Private[flows.Flow]
    id: strawberry.ID = strawberry.field(description="The decimal key.")
    name: str = strawberry.field(description="What it is for; several flows may have one name.")
    state: flows.FlowState = strawberry.field(description="Its state.")
    is_open: bool = strawberry.field(description="Whether runs can be added to it, so that it does not end by itself.")
    unique_key: str | None = strawberry.field(description="No second unfinished flow can have it.")
    submitted_at: datetime = strawberry.field(description="When it was enqueued.")
    finished_at: datetime | None = strawberry.field(description="When its last run ended.")
    cancel_requested_at: datetime | None = strawberry.field(description="When it was asked to stop.")
    submitter: str | None = strawberry.field(description="Who asked for it.")
    labels: JSON = strawberry.field(description="The labels that its runs inherit, an object of texts.")

    MADE: ClassVar[Makers] = {"is_open": lambda flow: flow.closed_at is None, "labels": lambda flow: flow.labels or {}}

    runs: Connection[Run] = listed(
        RUN_LIST,
        lambda: Run,
        description="Its runs; also those in whose place `retryFlow` put others.",
        of=("flow_id", lambda self: int(self.id)),
    )

    @resolved()
    async def parent(self, info: Info) -> Run | None:
        """The run that began it by `ctx.run_all` and waits for its end; null for all others."""
        return await load_run(info, self.stored.parent_id)

    @resolved(size=COUNTED)
    async def progress(self, info: Info) -> FlowProgress:
        """Its progress."""
        return _progress(await info.context.loaders.flows.progress.load(int(self.id)))

    @resolved(size=FOLDED)
    async def jobs(self, info: Info) -> list[FlowJob]:
        """Its runs folded by job, for flows of thousands; in the order of first runs."""
        found = await info.context.loaders.flows.by_job.load(int(self.id))
        return [FlowJob(job_name=one.job_name, after=one.after, progress=_progress(one.states)) for one in found]


def _progress(states: Mapping[RunState, int]) -> FlowProgress:
    counts = {state.value: states.get(state, 0) for state in RunState}
    return FlowProgress(total=sum(states.values()), done=sum(states.get(one, 0) for one in FINAL), **counts)


async def load_flow(info: Info, key: int | None) -> Flow | None:
    """A flow by key; None if there is none."""
    found = None if key is None else await info.context.loaders.flows.by_id.load(key)
    return None if found is None else Flow.from_model(found)
