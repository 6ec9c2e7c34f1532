"""Deliveries as clients see them: of one firing, or all."""

from datetime import datetime
from typing import Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.delivery import read
from ...jobs.delivery.rules import DeliveryEvent, DeliveryState
from ..base.enums import Described, described
from ..execution.shown import FromModel
from ..lists.declared import Kind, order_of
from ..lists.filters import DateTimeFilter, Filter, IdFilter, IntFilter, RowFilter, StringFilter, condition, filter_of


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


AlarmDeliveryOrder = order_of(
    "AlarmDeliveryOrder", AlarmDeliveryOrderField, "An order of deliveries; ties are broken by the key."
)
DELIVERY_LIST: Final = Kind(read.DELIVERIES, AlarmDeliveryFilter, AlarmDeliveryOrder, "A filter of deliveries.")
OF_FIRING: Final = Kind(read.OF_FIRING, AlarmDeliveryFilter, AlarmDeliveryOrder, "A filter of deliveries.")


@strawberry.type(description="One message to one channel, with the answer of the receiver.")
class AlarmDelivery(FromModel):
    """A delivery."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the delivery.")
    message_id: str = strawberry.field(
        name="messageId", description="The id that the receiver gets, the same over all tries."
    )
    channel: str = strawberry.field(description="The name of the channel.")
    event: DeliveryEvent = strawberry.field(description="The event that the message is about.")
    payload: JSON = strawberry.field(description="The content of the message, an object; webhooks get it as it is.")
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
