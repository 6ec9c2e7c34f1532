"""What the lists can be ordered by."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import strawberry

from ...jobs.store.read.listing.keyset import OrderKey
from ..arguments import refused
from ..enums import Direction, Nulls, describe

MAX_KEYS: Final = 4


class TaskOrderField(StrEnum):
    """Fields of tasks to order by."""

    ID = "id"
    NAME = "name"
    JOB_NAME = "job_name"
    GROUP = "group"
    OWNER = "owner"
    NEXT_EXECUTION = "next_execution"
    LAST_STARTED_AT = "last_started_at"
    COUNTER = "counter"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"


class RunOrderField(StrEnum):
    """Fields of runs to order by."""

    ID = "id"
    STATE = "state"
    JOB_NAME = "job_name"
    TASK_NAME = "task_name"
    GROUP = "group"
    PRIORITY = "priority"
    SCHEDULED_FOR = "scheduled_for"
    SUBMITTED_AT = "submitted_at"
    AVAILABLE_AT = "available_at"
    STARTED_AT = "started_at"
    FINISHED_AT = "finished_at"


class ExecutionOrderField(StrEnum):
    """Fields of executions to order by."""

    ID = "id"
    JOB_NAME = "job_name"
    TASK_NAME = "task_name"
    NODE = "node"
    STARTED_AT = "started_at"
    COMPLETED_AT = "completed_at"
    DURATION = "duration"
    RECORDS_PROCESSED = "records_processed"


class SkippedOccurrenceOrderField(StrEnum):
    """Fields of skipped occurrences to order by."""

    ID = "id"
    TASK_NAME = "task_name"
    FIRST_SCHEDULED_FOR = "first_scheduled_for"
    LAST_SCHEDULED_FOR = "last_scheduled_for"
    COUNT = "count"
    AT = "at"


class GroupOrderField(StrEnum):
    """Fields of groups to order by."""

    NAME = "name"
    DEPTH = "depth"
    WAIT = "wait"


class NodeOrderField(StrEnum):
    """Fields of nodes to order by."""

    ID = "id"
    NAME = "name"
    STARTED_AT = "started_at"


class JobOrderField(StrEnum):
    """Fields of jobs to order by."""

    NAME = "name"


describe(
    TaskOrderField,
    "What tasks can be ordered by; newest first unless asked otherwise.",
    {
        TaskOrderField.ID: "The key, in the order of creation.",
        TaskOrderField.NAME: "The name.",
        TaskOrderField.JOB_NAME: "The name of the job.",
        TaskOrderField.GROUP: "The group.",
        TaskOrderField.OWNER: "The owner.",
        TaskOrderField.NEXT_EXECUTION: "When it is due next.",
        TaskOrderField.LAST_STARTED_AT: "When a run made by its schedule last started.",
        TaskOrderField.COUNTER: "How many runs its schedule has made.",
        TaskOrderField.CREATED_AT: "When it was made.",
        TaskOrderField.UPDATED_AT: "When it was last edited.",
    },
)
describe(
    RunOrderField,
    "What runs can be ordered by; newest first unless asked otherwise.",
    {
        RunOrderField.ID: "The key, in the order of submission.",
        RunOrderField.STATE: "The state, by its name.",
        RunOrderField.JOB_NAME: "The name of the job.",
        RunOrderField.TASK_NAME: "The name of the task.",
        RunOrderField.GROUP: "The group.",
        RunOrderField.PRIORITY: "The priority, by its name: HIGH before LOW.",
        RunOrderField.SCHEDULED_FOR: "The nominal time of the occurrence.",
        RunOrderField.SUBMITTED_AT: "When it was put into the queue.",
        RunOrderField.AVAILABLE_AT: "When it may start, or be tried again.",
        RunOrderField.STARTED_AT: "When its newest attempt began.",
        RunOrderField.FINISHED_AT: "When it reached a final state.",
    },
)
describe(
    ExecutionOrderField,
    "What executions can be ordered by; newest first unless asked otherwise.",
    {
        ExecutionOrderField.ID: "The key, in the order of start.",
        ExecutionOrderField.JOB_NAME: "The name of the job.",
        ExecutionOrderField.TASK_NAME: "The name of the task.",
        ExecutionOrderField.NODE: "The node.",
        ExecutionOrderField.STARTED_AT: "When it began.",
        ExecutionOrderField.COMPLETED_AT: "When it ended.",
        ExecutionOrderField.DURATION: "Seconds from start to end.",
        ExecutionOrderField.RECORDS_PROCESSED: "How many records the job says it processed.",
    },
)
describe(
    SkippedOccurrenceOrderField,
    "What skipped occurrences can be ordered by; newest first unless asked otherwise.",
    {
        SkippedOccurrenceOrderField.ID: "The key, in the order in which they were first recorded.",
        SkippedOccurrenceOrderField.TASK_NAME: "The name of the task.",
        SkippedOccurrenceOrderField.FIRST_SCHEDULED_FOR: "The first nominal time.",
        SkippedOccurrenceOrderField.LAST_SCHEDULED_FOR: "The last nominal time.",
        SkippedOccurrenceOrderField.COUNT: "How many occurrences the row stands for.",
        SkippedOccurrenceOrderField.AT: "When the row was last written.",
    },
)

describe(
    GroupOrderField,
    "What groups can be ordered by; by name unless asked otherwise.",
    {
        GroupOrderField.NAME: "The name, which is the order in which nodes serve them.",
        GroupOrderField.DEPTH: "How many of its runs wait or are stuck.",
        GroupOrderField.WAIT: "How long the run that is to start first has waited, or has still to wait for its time: "
        "DESC begins with the longest wait, and ends with the groups in which none waits.",
    },
)
describe(
    JobOrderField,
    "What jobs can be ordered by; by name unless asked otherwise.",
    {JobOrderField.NAME: "The name."},
)
describe(
    NodeOrderField,
    "What nodes can be ordered by; newest first unless asked otherwise.",
    {
        NodeOrderField.ID: "The key, in the order in which they joined.",
        NodeOrderField.NAME: "The name.",
        NodeOrderField.STARTED_AT: "When it started.",
    },
)


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
