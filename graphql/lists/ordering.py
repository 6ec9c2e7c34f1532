"""What the lists can be ordered by."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, Protocol

import strawberry

from ...jobs.store.read.keyset import OrderKey
from ..arguments import refused
from ..enums import Direction, describe

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


class NodeOrderField(StrEnum):
    """Fields of nodes to order by."""

    ID = "id"
    NAME = "name"
    STARTED_AT = "started_at"


describe(
    TaskOrderField,
    "What tasks can be ordered by.",
    {
        TaskOrderField.ID: "The key, in the order of creation.",
        TaskOrderField.NAME: "The name. The order unless another is asked for.",
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
    "What groups can be ordered by.",
    {GroupOrderField.NAME: "The name, which is the order in which nodes serve them."},
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

FIELD: Final = "What to order by."
DIRECTION: Final = "Which end comes first."


def _direction() -> Any:  # noqa: ANN401 - a field specifier
    return strawberry.field(description=DIRECTION, default=Direction.ASC)


@strawberry.input(description="An order of tasks; ties are broken by the key.")
class TaskOrder:
    """One key of an order."""

    field: TaskOrderField = strawberry.field(description=FIELD)
    direction: Direction = _direction()


@strawberry.input(description="An order of runs; ties are broken by the key.")
class RunOrder:
    """One key of an order."""

    field: RunOrderField = strawberry.field(description=FIELD)
    direction: Direction = _direction()


@strawberry.input(description="An order of executions; ties are broken by the key.")
class ExecutionOrder:
    """One key of an order."""

    field: ExecutionOrderField = strawberry.field(description=FIELD)
    direction: Direction = _direction()


@strawberry.input(description="An order of skipped occurrences; ties are broken by the key.")
class SkippedOccurrenceOrder:
    """One key of an order."""

    field: SkippedOccurrenceOrderField = strawberry.field(description=FIELD)
    direction: Direction = _direction()


@strawberry.input(description="An order of groups.")
class GroupOrder:
    """One key of an order."""

    field: GroupOrderField = strawberry.field(description=FIELD)
    direction: Direction = _direction()


@strawberry.input(description="An order of nodes; ties are broken by the key.")
class NodeOrder:
    """One key of an order."""

    field: NodeOrderField = strawberry.field(description=FIELD)
    direction: Direction = _direction()


class AnyOrder(Protocol):
    """What the order inputs have in common."""

    @property
    def field(self) -> StrEnum:
        """The store's name of the field."""
        ...

    @property
    def direction(self) -> Direction:
        """Which end comes first."""
        ...


def to_keys(order: Sequence[AnyOrder] | None) -> tuple[OrderKey, ...]:
    """The order keys behind the input; none = the list's own order.

    Raises:
        UserFacingError: too many keys.
    """
    if order is None:
        return ()
    if len(order) > MAX_KEYS:
        raise refused(f"orderBy: must have at most {MAX_KEYS} fields, got {len(order)}")
    return tuple(OrderKey(one.field.value, descending=one.direction is Direction.DESC) for one in order)
