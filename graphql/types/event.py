"""Events as clients see them."""

from datetime import datetime
from typing import ClassVar

import strawberry

from ...jobs.core import events, model
from ..base.arguments import parse_id
from ..base.enums import EventState
from ..base.fields import resolved
from ..execution.shown import FromModel, Makers
from ..resolving.context import Info
from .entities import JobExecution, Run, Task, load_execution, load_run, load_task
from .flow import Flow, load_flow
from .operation import Group, Node


@strawberry.type(description="One change of one thing.")
class Event(FromModel):
    """A published change; the things themselves are read when the event is delivered."""

    stored: strawberry.Private[events.Event]
    cursor: str = strawberry.field(description="Its place in the one order of events: go on with `events(after:)`.")
    at: datetime = strawberry.field(description="The time of the transaction that made the change.")
    kind: events.EventKind = strawberry.field(description="What it is about.")
    task_id: strawberry.ID | None = strawberry.field(description="The key of the task it is about.")
    task_name: str | None = strawberry.field(description="The name of that task.")
    run_id: strawberry.ID | None = strawberry.field(description="The key of the run it is about.")
    execution_id: strawberry.ID | None = strawberry.field(description="The key of the execution it is about.")
    node: str | None = strawberry.field(description="The name of the node it is about, or that made the change.")
    group: str | None = strawberry.field(description="The name of the group it is about.")
    job_name: str | None = strawberry.field(description="The name of the job it is about.")
    flow_id: strawberry.ID | None = strawberry.field(
        description="The key of the flow it is about, or that its run belongs to."
    )
    state: EventState | None = strawberry.field(description="The state right after the change of what it is about.")
    step: str | None = strawberry.field(description="The step of the run that it is about, e.g. `charge#2`.")

    MADE: ClassVar[Makers] = {
        "cursor": lambda event: str(event.cursor),
        "state": lambda event: None if event.change.state is None else EventState(event.change.state),
    }
    PREFIX = "change"

    @resolved()
    async def task(self, info: Info) -> Task | None:
        """The task as it is now; null if it is not about one, or that is deleted."""
        return await load_task(info, self.stored.change.task_id)

    @resolved()
    async def run(self, info: Info) -> Run | None:
        """The run as it is now; null if it is not about one, or that is pruned."""
        return await load_run(info, self.stored.change.run_id)

    @resolved()
    async def flow(self, info: Info) -> Flow | None:
        """The flow as it is now; null if it is not about one, or that is pruned."""
        return await load_flow(info, self.stored.change.flow_id)

    @resolved()
    async def execution(self, info: Info) -> JobExecution | None:
        """The execution as it is now; null if it is not about one, or that is pruned."""
        return await load_execution(info, self.stored.change.execution_id)

    @resolved()
    async def changed_node(self, info: Info) -> Node | None:
        """The node as it is now; null if the change names none."""
        if self.stored.change.node is None:
            return None
        found = await info.context.loaders.nodes_by_name.load(self.stored.change.node)
        return None if found is None else Node.from_model(found)

    @resolved()
    async def changed_group(self, info: Info) -> Group | None:
        """The group as it is now; null if the change names none."""
        if self.stored.change.group is None:
            return None
        found = await info.context.loaders.group_settings.load(self.stored.change.group)
        return Group.from_model(found or model.Group(self.stored.change.group))


@strawberry.input(description="Which events; all conditions must hold. `RESYNC` always passes.")
class EventFilter:
    """A filter of events."""

    kinds: list[events.EventKind] | None = strawberry.field(description="One of these kinds.", default=None)
    job_name: str | None = strawberry.field(description="About this job.", default=None)
    task_name: str | None = strawberry.field(description="About this task.", default=None)
    run_id: strawberry.ID | None = strawberry.field(description="About this run.", default=None)
    group: str | None = strawberry.field(description="About this group.", default=None)
    flow_id: strawberry.ID | None = strawberry.field(description="About this flow.", default=None)

    def to_filter(self) -> events.EventFilter:
        """The engine's form.

        Raises:
            UserFacingError: an id is none.
        """
        return events.EventFilter(
            kinds=frozenset(self.kinds or ()),
            job_name=self.job_name,
            task_name=self.task_name,
            run_id=None if self.run_id is None else parse_id(self.run_id, "filter.runId"),
            group=self.group,
            flow_id=None if self.flow_id is None else parse_id(self.flow_id, "filter.flowId"),
        )
