"""Firings of alarms as clients see them."""

from datetime import datetime
from typing import ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.alarms import Condition, Severity, SubjectKind
from ...jobs.delivery.rules import MAX_CHANNELS
from ..base.enums import Role
from ..base.fields import Size, sized
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import listed
from ..resolving.context import Info
from .delivery import OF_FIRING, AlarmDelivery

_CHANNELS: Final = Size(default=MAX_CHANNELS, most=MAX_CHANNELS)


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
