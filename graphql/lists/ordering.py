"""What the lists can be ordered by."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import strawberry

from ...jobs.store.read.listing.keyset import OrderKey
from ..base.arguments import refused
from ..base.enums import Described, Direction, Nulls, described

MAX_KEYS: Final = 4


@described("What tasks can be ordered by; newest first unless asked otherwise.")
class TaskOrderField(Described):
    """Fields of tasks to order by."""

    ID = "id", "The key, in the order of creation."
    NAME = "name", "The name."
    JOB_NAME = "job_name", "The name of the job."
    GROUP = "group", "The group."
    OWNER = "owner", "The owner."
    NEXT_EXECUTION = "next_execution", "When it is due next."
    LAST_STARTED_AT = "last_started_at", "When a run made by its schedule last started."
    COUNTER = "counter", "How many runs its schedule has made."
    CREATED_AT = "created_at", "When it was made."
    UPDATED_AT = "updated_at", "When it was last edited."


@described("What runs can be ordered by; newest first unless asked otherwise.")
class RunOrderField(Described):
    """Fields of runs to order by."""

    ID = "id", "The key, in the order of submission."
    STATE = "state", "The state, by its name."
    JOB_NAME = "job_name", "The name of the job."
    TASK_NAME = "task_name", "The name of the task."
    GROUP = "group", "The group."
    PRIORITY = "priority", "The priority, by its name: HIGH before LOW."
    SCHEDULED_FOR = "scheduled_for", "The nominal time of the occurrence."
    SUBMITTED_AT = "submitted_at", "When it was put into the queue."
    AVAILABLE_AT = "available_at", "When it may start, or be tried again."
    STARTED_AT = "started_at", "When its newest attempt began."
    FINISHED_AT = "finished_at", "When it reached a final state."


@described("What executions can be ordered by; newest first unless asked otherwise.")
class ExecutionOrderField(Described):
    """Fields of executions to order by."""

    ID = "id", "The key, in the order of start."
    JOB_NAME = "job_name", "The name of the job."
    TASK_NAME = "task_name", "The name of the task."
    NODE = "node", "The node."
    STARTED_AT = "started_at", "When it began."
    COMPLETED_AT = "completed_at", "When it ended."
    DURATION = "duration", "Seconds from start to end."
    RECORDS_PROCESSED = "records_processed", "How many records the job says it processed."


@described("What skipped occurrences can be ordered by; newest first unless asked otherwise.")
class SkippedOccurrenceOrderField(Described):
    """Fields of skipped occurrences to order by."""

    ID = "id", "The key, in the order in which they were first recorded."
    TASK_NAME = "task_name", "The name of the task."
    FIRST_SCHEDULED_FOR = "first_scheduled_for", "The first nominal time."
    LAST_SCHEDULED_FOR = "last_scheduled_for", "The last nominal time."
    COUNT = "count", "How many occurrences the row stands for."
    AT = "at", "When the row was last written."


@described("What groups can be ordered by; by name unless asked otherwise.")
class GroupOrderField(Described):
    """Fields of groups to order by."""

    NAME = "name", "The name, which is the order in which nodes serve them."
    DEPTH = "depth", "How many of its runs wait or are stuck."
    WAIT = (
        "wait",
        (
            "How long the run that is to start first has waited, or has still to wait for its time: "
            "DESC begins with the longest wait, and ends with the groups in which none waits."
        ),
    )


@described("What nodes can be ordered by; newest first unless asked otherwise.")
class NodeOrderField(Described):
    """Fields of nodes to order by."""

    ID = "id", "The key, in the order in which they joined."
    NAME = "name", "The name."
    STARTED_AT = "started_at", "When it started."


@described("What flows can be ordered by; newest first unless asked otherwise.")
class FlowOrderField(Described):
    """Fields of flows to order by."""

    ID = "id", "The key, in the order in which they were enqueued."
    NAME = "name", "The name."
    FINISHED_AT = "finished_at", "When it ended."


@described("What jobs can be ordered by; by name unless asked otherwise.")
class JobOrderField(Described):
    """Fields of jobs to order by."""

    NAME = "name", "The name."


class Order:
    """One key of an order; the input of each list has its own enum as the type of ``field``."""

    field: StrEnum
    direction: Direction
    nulls: Nulls | None


def order_of(name: str, fields: type[StrEnum], description: str) -> type[Order]:
    """The input that orders a list by ``fields``.

    Args:
        name: Of the input in the schema, e.g. ``TaskOrder``.
        fields: What the list can be ordered by.
        description: What clients read about it.
    """
    members: list[tuple[str, Any, Any]] = [
        ("field", fields, strawberry.field(description="What to order by.")),
        ("direction", Direction, strawberry.field(description="Which end comes first.", default=Direction.ASC)),
        (
            "nulls",
            Nulls | None,
            strawberry.field(
                description="Where rows without a value stand; last, and first with DESC, unless given.", default=None
            ),
        ),
    ]
    made = type(name, (Order,), {"__annotations__": {one: kind for one, kind, _ in members}, "__doc__": description})
    for one, _, field in members:
        setattr(made, one, field)
    return strawberry.input(made, name=name, description=description)


TaskOrder = order_of("TaskOrder", TaskOrderField, "An order of tasks; ties are broken by the key.")
RunOrder = order_of("RunOrder", RunOrderField, "An order of runs; ties are broken by the key.")
ExecutionOrder = order_of("ExecutionOrder", ExecutionOrderField, "An order of executions; ties are broken by the key.")
SkippedOccurrenceOrder = order_of(
    "SkippedOccurrenceOrder",
    SkippedOccurrenceOrderField,
    "An order of skipped occurrences; ties are broken by the key.",
)
GroupOrder = order_of("GroupOrder", GroupOrderField, "An order of groups; ties are broken by the name.")
NodeOrder = order_of("NodeOrder", NodeOrderField, "An order of nodes; ties are broken by the key.")
FlowOrder = order_of("FlowOrder", FlowOrderField, "An order of flows; ties are broken by the key.")
JobOrder = order_of("JobOrder", JobOrderField, "An order of jobs; ties are broken by the name.")


def to_keys(order: Sequence[Order] | None) -> tuple[OrderKey, ...]:
    """The order keys behind the input; none = the list's own order.

    Raises:
        UserFacingError: too many keys.
    """
    if order is None:
        return ()
    if len(order) > MAX_KEYS:
        raise refused(f"orderBy: must have at most {MAX_KEYS} fields, got {len(order)}")
    return tuple(_key(one) for one in order)


def _key(order: Order) -> OrderKey:
    nulls_first = None if order.nulls is None else order.nulls is Nulls.FIRST
    return OrderKey(order.field.value, descending=order.direction is Direction.DESC, nulls_first=nulls_first)
