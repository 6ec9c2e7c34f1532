"""Events as clients see them: an interface with a type for each kind of object that changes."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final

import strawberry

from ...jobs.core import events, model
from ...jobs.core.events import EventKind
from ...jobs.core.flows import FlowState
from ...jobs.core.nodes import NodeState
from ...jobs.core.states import RunState
from ...jobs.core.steps import StepState
from ...jobs.delivery.webhooks import WebhookState
from ..base.fields import resolved
from ..base.scalars import parse_id
from ..execution.shown import FromModel, Makers, key_text
from ..resolving.context import Info
from .alarm import AlarmFiring, load_firing
from .entities import JobExecution, Run, Task, load_execution, load_run, load_task
from .flow import Flow, load_flow
from .operation import Group, Node


@strawberry.interface(
    description="A published change of one object, e.g. a `RunEvent`. Select the fields of a type with `... on "
    "RunEvent { … }`. A field of the same name has the same type in all of them, so one document can select it of each."
)
class Event(FromModel):
    """A published change; the changed objects are read when the event is delivered."""

    stored: strawberry.Private[events.Event]
    cursor: str = strawberry.field(
        description="The place of the event in the one order of all events. Pass it to `events(after:)` to go on "
        "behind this event."
    )
    at: datetime = strawberry.field(description="The time of the transaction that made the change.")
    kind: EventKind = strawberry.field(description="The kind of the change, e.g. `RUN_CREATED`.")

    MADE: ClassVar[Makers] = {"cursor": lambda event: str(event.cursor)}
    PREFIX = "change"

    @classmethod
    def resolve_type(cls, event: object, *_asked: object) -> str:
        """Return the name of the type of an event, without a look at each type that there is."""
        return type(event).__name__


@strawberry.type
class _OfTask(Event):
    """Fields of the events that may concern a task."""

    task_id: strawberry.ID | None = strawberry.field(
        description="The `id` of the task; null if no task is concerned, e.g. for a run that was enqueued."
    )
    task_name: str | None = strawberry.field(
        description="The name of the task; null if no task is concerned, or if the event does not name it."
    )
    job_name: str | None = strawberry.field(description="The name of the job; null if the event does not name it.")
    group: str | None = strawberry.field(description="The name of the group; null if the event does not name it.")

    @resolved()
    async def task(self, info: Info) -> Task | None:
        """The task as it is when the event is delivered; null if no task is concerned, or if it was deleted."""
        return await load_task(info, self.stored.change.task_id)


@strawberry.type
class _OfRun(_OfTask):
    """Fields of the events that concern a run."""

    run_id: strawberry.ID = strawberry.field(description="The `id` of the run.")
    node: str | None = strawberry.field(
        description="The name of the node that holds or executes the run; null if none does, or if the event does not "
        "name it."
    )

    @resolved()
    async def run(self, info: Info) -> Run | None:
        """The run as it is when the event is delivered; null once it is pruned."""
        return await load_run(info, self.stored.change.run_id)


@strawberry.type
class _OfFlow(Event):
    """Fields of the events that may concern a flow."""

    flow_id: strawberry.ID | None = strawberry.field(
        description="The `id` of the flow; null for a run that belongs to none."
    )

    @resolved()
    async def flow(self, info: Info) -> Flow | None:
        """The flow as it is when the event is delivered; null if none is concerned, or once it is pruned."""
        return await load_flow(info, self.stored.change.flow_id)


@strawberry.type(description="A task was created, changed or deleted.")
class TaskEvent(_OfTask):
    """A change of a task."""


@strawberry.type(description="A run was put into the queue, or changed its state, priority, progress or due time.")
class RunEvent(_OfRun, _OfFlow):
    """A change of a run."""

    run_state: RunState = strawberry.field(description="The state of the run right after the change.")

    MADE: ClassVar[Makers] = {**Event.MADE, "run_state": lambda event: RunState(event.change.state)}


@strawberry.type(description="An attempt at a run began or ended.")
class ExecutionEvent(_OfRun, _OfFlow):
    """The start or the end of an execution."""

    execution_id: strawberry.ID = strawberry.field(description="The `id` of the execution.")
    outcome: model.Outcome | None = strawberry.field(
        description="The outcome of the execution; null in an event of kind `EXECUTION_STARTED`."
    )

    MADE: ClassVar[Makers] = {**Event.MADE, "outcome": lambda event: _outcome_of(event.change)}

    @resolved()
    async def execution(self, info: Info) -> JobExecution | None:
        """The execution as it is when the event is delivered; null once it is pruned."""
        return await load_execution(info, self.stored.change.execution_id)


@strawberry.type(description="A durable step of a run ended.")
class StepEvent(_OfRun):
    """The end of a step."""

    step: str = strawberry.field(description="The label of the step, e.g. `charge#2`.")
    step_state: StepState = strawberry.field(description="The state in which the step ended.")

    MADE: ClassVar[Makers] = {**Event.MADE, "step_state": lambda event: StepState(event.change.state)}


@strawberry.type(description="Occurrences of a task were skipped, or a run of a task was dropped before it started.")
class SkippedEvent(_OfTask):
    """Skipped occurrences."""

    reason: model.SkipReason = strawberry.field(description="The reason of the skip.")
    skipped_run_id: strawberry.ID | None = strawberry.field(
        description="With the reason `OVERLAP` the `id` of the run in the way, otherwise of the run that was dropped; "
        "null if there is none."
    )

    MADE: ClassVar[Makers] = {
        **Event.MADE,
        "reason": lambda event: model.SkipReason(event.change.state),
        "skipped_run_id": lambda event: key_text(event.change.run_id),
    }


@strawberry.type(description="A node started, changed its state, stopped, or was declared dead.")
class NodeEvent(Event):
    """A change of a node."""

    node: str | None = strawberry.field(description="The name of the node; never null in this type.")
    node_state: NodeState = strawberry.field(description="The state of the node right after the change.")

    MADE: ClassVar[Makers] = {**Event.MADE, "node_state": lambda event: NodeState(event.change.state)}

    @resolved()
    async def changed_node(self, info: Info) -> Node | None:
        """The node as it is when the event is delivered; null once it is deleted."""
        found = await info.context.loaders.nodes_by_name.load(self.stored.change.node or "")
        return None if found is None else Node.from_model(found)


@strawberry.type(description="A group was paused, resumed or limited.")
class GroupEvent(Event):
    """A change of a group."""

    group: str | None = strawberry.field(description="The name of the group; never null in this type.")

    @resolved()
    async def changed_group(self, info: Info) -> Group | None:
        """The group as it is when the event is delivered."""
        name = self.stored.change.group or ""
        return Group.from_model(await info.context.loaders.group_settings.load(name) or model.Group(name))


@strawberry.type(description="A flow was enqueued, changed its state, or was closed.")
class FlowEvent(_OfFlow):
    """A change of a flow."""

    flow_state: FlowState = strawberry.field(description="The state of the flow right after the change.")

    MADE: ClassVar[Makers] = {**Event.MADE, "flow_state": lambda event: FlowState(event.change.state)}


@strawberry.type(description="An alarm fired or changed, or a firing was resolved or acknowledged.")
class AlarmEvent(Event):
    """A change of a firing."""

    alarm_name: str = strawberry.field(description="The name of the alarm.")
    firing_id: strawberry.ID | None = strawberry.field(
        description="The `id` of the firing; null in an event about the alarm as a whole."
    )

    MADE: ClassVar[Makers] = {**Event.MADE, "alarm_name": lambda event: event.change.alarm}

    @resolved()
    async def firing(self, info: Info) -> AlarmFiring | None:
        """The firing as it is when the event is delivered; null if none is concerned, or once it is pruned."""
        return await load_firing(info, self.stored.change.firing_id)


@strawberry.type(description="A group of failures was silenced, solved or reopened.")
class FailuresEvent(Event):
    """A change of a group of failures."""

    job_name: str | None = strawberry.field(description="The name of the job.")
    fingerprint: str = strawberry.field(description="The `fingerprint` of the group.")

    MADE: ClassVar[Makers] = {
        **Event.MADE,
        "job_name": lambda event: event.change.job_name,
        "fingerprint": lambda event: event.change.fingerprint,
    }


@strawberry.type(description="A channel was set or deleted.")
class ChannelEvent(Event):
    """A change of a channel."""

    channel_name: str = strawberry.field(description="The name of the channel.")

    MADE: ClassVar[Makers] = {**Event.MADE, "channel_name": lambda event: event.change.channel}


@strawberry.type(description="A webhook was created, changed, parked, stopped, resumed or deleted.")
class WebhookEvent(Event):
    """A change of a webhook."""

    webhook_name: str = strawberry.field(description="The name of the webhook.")
    webhook_state: WebhookState = strawberry.field(
        description="The state of the webhook right after the change; DISABLED once it is deleted."
    )

    MADE: ClassVar[Makers] = {
        **Event.MADE,
        "webhook_name": lambda event: event.change.webhook,
        "webhook_state": lambda event: WebhookState(event.change.state),
    }


@strawberry.type(description="Messages to channels or webhooks were recorded, tried or given up.")
class DeliveriesEvent(Event):
    """A change of messages."""


@strawberry.type(
    description="Events are missing. They are older than the retention, this reader was too slow, or a restore or a "
    "failover set the database back. Query again, and go on behind the cursor of this event."
)
class ResyncEvent(Event):
    """A request to query again."""


TYPES: Final[Mapping[EventKind, type[Event]]] = {
    EventKind.TASK_CREATED: TaskEvent,
    EventKind.TASK_UPDATED: TaskEvent,
    EventKind.TASK_DELETED: TaskEvent,
    EventKind.RUN_CREATED: RunEvent,
    EventKind.RUN_UPDATED: RunEvent,
    EventKind.EXECUTION_STARTED: ExecutionEvent,
    EventKind.EXECUTION_FINISHED: ExecutionEvent,
    EventKind.STEP_FINISHED: StepEvent,
    EventKind.OCCURRENCE_SKIPPED: SkippedEvent,
    EventKind.NODE_STARTED: NodeEvent,
    EventKind.NODE_UPDATED: NodeEvent,
    EventKind.NODE_STOPPED: NodeEvent,
    EventKind.GROUP_UPDATED: GroupEvent,
    EventKind.FLOW_CREATED: FlowEvent,
    EventKind.FLOW_UPDATED: FlowEvent,
    EventKind.ALARM_FIRED: AlarmEvent,
    EventKind.ALARM_RESOLVED: AlarmEvent,
    EventKind.ALARM_UPDATED: AlarmEvent,
    EventKind.CHANNEL_UPDATED: ChannelEvent,
    EventKind.WEBHOOK_UPDATED: WebhookEvent,
    EventKind.DELIVERIES_UPDATED: DeliveriesEvent,
    EventKind.FAILURES_UPDATED: FailuresEvent,
    EventKind.RESYNC: ResyncEvent,
}
"""The type of each kind of event."""


def event_of(stored: events.Event) -> Event:
    """Return the object that shows a published change."""
    return TYPES[stored.change.kind].from_model(stored)


def _outcome_of(change: events.Change) -> model.Outcome | None:
    return model.Outcome(change.state or "") if change.kind is EventKind.EXECUTION_FINISHED else None


@strawberry.input(description="A filter of events; all conditions must hold. Events of kind `RESYNC` always pass.")
class EventFilter:
    """A filter of events."""

    kinds: list[EventKind] | None = strawberry.field(description="Only events of these kinds.", default=None)
    job_name: str | None = strawberry.field(description="Only events about this job.", default=None)
    task_name: str | None = strawberry.field(description="Only events about this task.", default=None)
    run_id: strawberry.ID | None = strawberry.field(
        description="Only events about the run with this `id`.", default=None
    )
    group: str | None = strawberry.field(description="Only events about this group.", default=None)
    flow_id: strawberry.ID | None = strawberry.field(
        description="Only events about the flow with this `id` and its runs.", default=None
    )

    def to_filter(self) -> events.EventFilter:
        """Return the engine's form.

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
