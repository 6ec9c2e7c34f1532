"""Firings of alarms and deliveries as clients see them."""

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.alarms import Condition, Severity, SubjectKind
from ...jobs.delivery import read
from ...jobs.delivery.rules import MAX_CHANNELS, DeliveryEvent, DeliveryState
from ..base.enums import Described, Role, described
from ..base.fields import Size, sized
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import DateTimeFilter, Filter, IdFilter, IntFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info

_CHANNELS: Final = Size(default=MAX_CHANNELS, most=MAX_CHANNELS)


@filter_of("A filter of deliveries.")
class AlarmDeliveryFilter(RowFilter):
    """Conditions on deliveries."""

    id: IdFilter | None = condition("The key.")
    message_id: StringFilter | None = condition("The id that the receiver gets.")
    channel: StringFilter | None = condition("The name of the channel.")
    event: Filter[DeliveryEvent] | None = condition("The event.")
    state: Filter[DeliveryState] | None = condition("The state.")
    attempts: IntFilter | None = condition("The number of tries.")
    created_at: DateTimeFilter | None = condition("The time when the delivery was recorded.")
    ended_at: DateTimeFilter | None = condition("The time when the delivery was accepted or given up.")


@described("A field by which deliveries can be ordered; newest first unless given.")
class AlarmDeliveryOrderField(Described):
    """Fields of deliveries to order by."""

    ID = "id", "The key: the order in which they were recorded."
    CREATED_AT = "created_at", "The time when the delivery was recorded."


DELIVERY_LIST: Final = kind_of(read.DELIVERIES, AlarmDeliveryFilter, AlarmDeliveryOrderField, "deliveries")
OF_FIRING: Final = replace(DELIVERY_LIST, listing=read.OF_FIRING)


@strawberry.type(description="One message to one channel, with the answer of the receiver.")
class AlarmDelivery(FromModel):
    """A delivery."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the delivery.")
    message_id: str = strawberry.field(
        name="messageId", description="The id that the receiver gets, the same over all tries."
    )
    channel: str = strawberry.field(description="The name of the channel.")
    event: DeliveryEvent = strawberry.field(description="The event that the message is about.")
    payload: JSON = strawberry.field(
        description="The content of the message, an object; webhooks get it as it is. Before the first try "
        "its pages are paths."
    )
    state: DeliveryState = strawberry.field(description="The state of the delivery.")
    attempts: int = strawberry.field(description="The number of tries so far.")
    created_at: datetime = strawberry.field(description="The time when the delivery was recorded.")
    next_attempt_at: datetime | None = strawberry.field(
        description="The time of the next try; null once the delivery has ended."
    )
    ended_at: datetime | None = strawberry.field(
        description="The time when the receiver accepted the message or the delivery was given up; null before."
    )
    status: int | None = strawberry.field(
        description="The status of the last answer, of HTTP or of the mail server; null if there was none."
    )
    answer: str | None = strawberry.field(description="The beginning of the last answer; null if there was none.")
    error: str | None = strawberry.field(description="The reason why the last try failed; null if it did not.")


@strawberry.type(description="The thing that an alarm watches.")
class AlarmSubject:
    """A kind and a name."""

    kind: SubjectKind = strawberry.field(description="The kind of the thing.")
    name: str | None = strawberry.field(
        description="The name of the thing; null = every node, every webhook, or the database."
    )


@strawberry.type(description="One firing of an alarm: about one thing, from its begin to its end.")
class AlarmFiring(FromModel):
    """A firing."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the firing.")
    alarm_name: str = strawberry.field(description="The name of the alarm; kept when the alarm is deleted.")
    condition: Condition = strawberry.field(description="The condition of the alarm.")
    severity: Severity = strawberry.field(description="The severity of the alarm.")
    subject: AlarmSubject = strawberry.field(description="The thing that the alarm fired about.")
    run_id: strawberry.ID | None = strawberry.field(
        description="The id of the run that the firing is about; null if it is about no single run."
    )
    execution_id: strawberry.ID | None = strawberry.field(
        description="The id of the execution that the firing is about; null if it is about none."
    )
    flow_id: strawberry.ID | None = strawberry.field(
        description="The id of the flow that the firing is about; null if it is about none."
    )
    scheduled_for: datetime | None = strawberry.field(
        description="The nominal time of the occurrence that the firing is about; null if it is about none."
    )
    sentence: str = strawberry.field(description="The reason of the firing, as a sentence for people.")
    explanation: str | None = strawberry.field(
        description="The sentence of `explain` about the task at that time; null if the alarm watches no task."
    )
    policy: JSON = strawberry.field(description="The values that decided, an object.")
    last_success_at: datetime | None = strawberry.field(
        description="The end of the last successful execution of the task or job before the firing; null if none is "
        "known."
    )
    fired_at: datetime = strawberry.field(description="The time when the alarm fired.")
    resolved_at: datetime | None = strawberry.field(description="The time when the firing ended; null before.")
    acknowledged_at: datetime | None = strawberry.field(
        description="The time when somebody acknowledged the firing; null if nobody has."
    )
    acknowledged_by: str | None = strawberry.field(description="The person or program that acknowledged the firing.")
    channels: list[str] = strawberry.field(
        description="The names of the channels that are notified: those of the alarm, and those whose routes took it.",
        metadata=sized(_CHANNELS),
    )
    note: str | None = strawberry.field(description="The note of the acknowledgement.")
    notified: bool = strawberry.field(
        name="isNotified", description="Whether channels were notified; false while the alarm is silenced."
    )

    deliveries: Connection[AlarmDelivery] | None = listed(
        OF_FIRING,
        lambda: AlarmDelivery,
        description="The messages about the firing, with the answers of the receivers.",
        of=("firing_id", lambda self: int(self.id)),
        requires=Role.OPERATOR,
    )

    MADE: ClassVar[Makers] = {
        "subject": lambda one: AlarmSubject(kind=one.subject_kind, name=one.subject),
        "channels": lambda one: list(one.channels),
    }


async def load_firing(info: Info, firing_id: int | None) -> AlarmFiring | None:
    """Return the firing of this key; None if there is none, or no more."""
    found = None if firing_id is None else await info.context.loaders.alarm_firings.load(firing_id)
    return None if found is None else AlarmFiring.from_model(found)
