"""The typed filters of lists, as clients write them; ``criteria`` turns them into conditions.

All conditions within one filter must hold. A field of a filter has the name of the store's field it compares.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Generic, TypeAlias, TypeVar, dataclass_transform

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.flows import FlowState
from ...jobs.core.model import Isolation, Outcome, OverlapPolicy, Priority, SkipReason, TaskSource, Trigger
from ...jobs.core.nodes import NodeState
from ...jobs.core.schedule import Syntax
from ...jobs.core.states import RunState
from ..base.enums import Role
from ..base.scalars import BigInt

K = TypeVar("K")
T = TypeVar("T")

EQ: Final = "Equal to this; null = has no value."
NE: Final = "Different from this, or without a value; null = has a value."
IN: Final = "Equal to one of these."
NOT_IN: Final = "Equal to none of these, or without a value."
GT: Final = "Greater or later than this."
GTE: Final = "At least this."
LT: Final = "Less or earlier than this."
LTE: Final = "At most this."
IS_NULL: Final = "Whether it has no value."
AND: Final = "All of these must hold as well."
OR: Final = "At least one of these must hold as well."
NOT: Final = "This must not hold."


def _condition(description: str, name: str | None = None) -> Any:  # noqa: ANN401 - a field specifier
    return strawberry.field(description=description, name=name, default=strawberry.UNSET)


@dataclass_transform(kw_only_default=True, field_specifiers=(strawberry.field,))
def _filter(which: str) -> Callable[[type[K]], type[K]]:
    """A filter of rows: its own conditions, and then those that put filters of its kind together."""

    def complete(kind: type[K]) -> type[K]:
        several, one = list[kind] | None, kind | None  # type: ignore[valid-type]
        for name, hint, words in (("and", several, AND), ("or", several, OR), ("not", one, NOT)):
            kind.__annotations__[f"{name}_"] = hint
            setattr(kind, f"{name}_", _condition(words, name))
        return strawberry.input(kind, description=f"{which} All conditions must hold.")

    return complete


@strawberry.input(description="Conditions on a text.")
class StringFilter:
    """Texts."""

    eq: str | None = _condition(EQ)
    ne: str | None = _condition(NE)
    in_: list[str] | None = _condition(IN, "in")
    not_in: list[str] | None = _condition(NOT_IN)
    contains: str | None = _condition("Contains this text, ignoring the case of letters.")
    starts_with: str | None = _condition("Begins with this text, ignoring the case of letters.")
    is_null: bool | None = _condition(IS_NULL)


@strawberry.input
class Ordered(Generic[T]):
    """What can be greater or less."""

    eq: T | None = _condition(EQ)
    ne: T | None = _condition(NE)
    in_: list[T] | None = _condition(IN, "in")
    not_in: list[T] | None = _condition(NOT_IN)
    gt: T | None = _condition(GT)
    gte: T | None = _condition(GTE)
    lt: T | None = _condition(LT)
    lte: T | None = _condition(LTE)
    is_null: bool | None = _condition(IS_NULL)


@strawberry.input(description="Conditions on a time.")
class DateTimeFilter(Ordered[datetime]):
    """Times."""


@strawberry.input(description="Conditions on a whole number.")
class IntFilter(Ordered[int]):
    """Numbers of 32 bits."""


@strawberry.input(description="Conditions on a whole number of up to 64 bits.")
class BigIntFilter(Ordered[BigInt]):
    """Numbers of 64 bits."""


@strawberry.input(description="Conditions on a number.")
class FloatFilter(Ordered[float]):
    """Numbers with decimals."""


@strawberry.input(description="Conditions on a key.")
class IdFilter(Ordered[strawberry.ID]):
    """Decimal keys; they ascend in the order in which rows were made."""


@strawberry.input(description="Conditions on a truth value.")
class BooleanFilter:
    """True or false."""

    eq: bool | None = _condition(EQ)
    ne: bool | None = _condition(NE)
    is_null: bool | None = _condition(IS_NULL)


@strawberry.input(description="Conditions on a value of an enum.")
class Filter(Generic[T]):
    """One class for all enums: ``Filter[RunState]`` is ``RunStateFilter`` in the schema."""

    eq: T | None = _condition(EQ)
    ne: T | None = _condition(NE)
    in_: list[T] | None = _condition(IN, "in")
    not_in: list[T] | None = _condition(NOT_IN)
    is_null: bool | None = _condition(IS_NULL)


@strawberry.input(description="Conditions on a label: `key`, and one of `eq`, `in` and `exists`.")
class LabelFilter:
    """A label of a run, a task or a flow."""

    key: str = strawberry.field(description="Its key.")
    eq: str | None = _condition("It has this value.")
    in_: list[str] | None = _condition("It has one of these values.", "in")
    exists: bool | None = _condition("Whether there is a label with this key.")


@strawberry.input(description="Conditions on an argument. No index finds rows by it.")
class ArgumentFilter:
    """A value inside of the arguments."""

    path: str = strawberry.field(description="Where it is, names with dots between them, e.g. `customer.id`.")
    eq: JSON | None = _condition("It is this text, number or truth value; null = it is null.")


@_filter("Which tasks.")
class TaskFilter:
    """Conditions on tasks."""

    id: IdFilter | None = _condition("The key.")
    name: StringFilter | None = _condition("The name.")
    description: StringFilter | None = _condition("The description.")
    enabled: BooleanFilter | None = _condition("Whether it makes runs; false = paused.")
    source: Filter[TaskSource] | None = _condition("Where it is defined.")
    job_name: StringFilter | None = _condition("The name of its job.")
    group: StringFilter | None = _condition("The group of its runs.")
    priority: Filter[Priority] | None = _condition("The priority of its runs.")
    owner: StringFilter | None = _condition("Its owner.")
    submitter: StringFilter | None = _condition("Who made it.")
    labels: LabelFilter | None = _condition("Its own labels, without those of its job; several by `and`.")
    syntax: Filter[Syntax] | None = _condition("The syntax of its schedule.")
    timezone: StringFilter | None = _condition("The zone of its schedule.")
    overlap: Filter[OverlapPolicy] | None = _condition("Its overlap policy, as set; null = left to the default.")
    overridden: BooleanFilter | None = _condition("Whether an operator replaced the schedule that its code declares.")
    next_execution: DateTimeFilter | None = _condition("When it is due next; no value = finished.")
    paused_at: DateTimeFilter | None = _condition("Since when it is paused.")
    last_due_at: DateTimeFilter | None = _condition("When it was last due.")
    last_started_at: DateTimeFilter | None = _condition("When a run made by its schedule last started.")
    counter: BigIntFilter | None = _condition("How many runs its schedule has made.")
    finished: BooleanFilter | None = _condition("Whether no occurrence is left.")
    stalled: BooleanFilter | None = _condition("Whether it should have started and did not.")
    last_outcome: Filter[Outcome] | None = _condition(
        "How its newest finished execution ended; no value = none has finished."
    )
    created_at: DateTimeFilter | None = _condition("When it was made.")
    updated_at: DateTimeFilter | None = _condition("When it was last edited.")


@_filter("Which runs.")
class RunFilter:
    """Conditions on runs."""

    id: IdFilter | None = _condition("The key.")
    state: Filter[RunState] | None = _condition("Its state.")
    job_name: StringFilter | None = _condition("The name of its job.")
    task_id: IdFilter | None = _condition("The key of its task.")
    task_name: StringFilter | None = _condition("The name of its task.")
    group: StringFilter | None = _condition("Its group.")
    priority: Filter[Priority] | None = _condition("Its priority.")
    trigger: Filter[Trigger] | None = _condition("What made it.")
    node: StringFilter | None = _condition("The name of the node that holds or held it.")
    scheduled_for: DateTimeFilter | None = _condition("The nominal time of its occurrence.")
    submitted_at: DateTimeFilter | None = _condition("When it was put into the queue.")
    available_at: DateTimeFilter | None = _condition("When it may start, or be tried again.")
    started_at: DateTimeFilter | None = _condition("When its newest attempt began.")
    finished_at: DateTimeFilter | None = _condition("When it reached a final state.")
    cancel_requested_at: DateTimeFilter | None = _condition("When it was asked to stop.")
    attempt: IntFilter | None = _condition("How many attempts have begun.")
    failures: IntFilter | None = _condition("How many attempts failed or were lost.")
    unique_key: StringFilter | None = _condition("Its unique key.")
    concurrency_key: StringFilter | None = _condition("Its concurrency key.")
    retried_from: IdFilter | None = _condition("The key of the run that it retries.")
    retried: BooleanFilter | None = _condition("Whether another run retries it.")
    waits_for_signal: BooleanFilter | None = _condition("Whether it is suspended, and a step of it waits for a signal.")
    submitter: StringFilter | None = _condition("Who asked for it.")
    description: StringFilter | None = _condition("Its description.")
    labels: LabelFilter | None = _condition("Its labels; several by `and`.")
    args: ArgumentFilter | None = _condition("Its arguments; several by `and`.")
    error: StringFilter | None = _condition("Its last error.")
    flow_id: IdFilter | None = _condition("The key of the flow that it belongs to.")


@_filter("Which flows.")
class FlowFilter:
    """Conditions on flows."""

    id: IdFilter | None = _condition("The key.")
    name: StringFilter | None = _condition("The name.")
    state: Filter[FlowState] | None = _condition("Its state.")
    unique_key: StringFilter | None = _condition("Its unique key.")
    submitted_at: DateTimeFilter | None = _condition("When it was enqueued.")
    finished_at: DateTimeFilter | None = _condition("When it ended.")
    submitter: StringFilter | None = _condition("Who asked for it.")
    labels: LabelFilter | None = _condition("Its labels, which its runs inherit; several by `and`.")


@_filter("Which executions.")
class ExecutionFilter:
    """Conditions on executions."""

    id: IdFilter | None = _condition("The key.")
    job_name: StringFilter | None = _condition("The name of the job.")
    task_id: IdFilter | None = _condition("The key of the task.")
    task_name: StringFilter | None = _condition("The name of the task.")
    run_id: IdFilter | None = _condition("The key of the run.")
    group: StringFilter | None = _condition("The group of the run; no value once that is pruned.")
    owner: StringFilter | None = _condition(
        "The outside thing that the task exists for; no value once that is deleted."
    )
    outcome: Filter[Outcome] | None = _condition("How it ended; no value = still running.")
    success: BooleanFilter | None = _condition("Whether it went well; no value = still running.")
    node: StringFilter | None = _condition("The node that executed it.")
    trigger: Filter[Trigger] | None = _condition("What made its run.")
    attempt: IntFilter | None = _condition("Which attempt at the run it was, from 1.")
    started_at: DateTimeFilter | None = _condition("When it began.")
    completed_at: DateTimeFilter | None = _condition("When it ended; no value = still running.")
    scheduled_for: DateTimeFilter | None = _condition("The nominal time of the occurrence.")
    records_processed: BigIntFilter | None = _condition("How many records the job says it processed.")
    duration: FloatFilter | None = _condition("Seconds from start to end.")
    labels: LabelFilter | None = _condition("The labels of the run; several by `and`.")
    args: ArgumentFilter | None = _condition("The arguments of the run; several by `and`.")
    error_message: StringFilter | None = _condition("The error's message.")
    error_type: StringFilter | None = _condition("The error's type.")


@_filter("Which skipped occurrences.")
class SkippedOccurrenceFilter:
    """Conditions on skipped occurrences."""

    id: IdFilter | None = _condition("The key.")
    task_id: IdFilter | None = _condition("The key of the task.")
    task_name: StringFilter | None = _condition("The name of the task.")
    reason: Filter[SkipReason] | None = _condition("Why they were skipped.")
    node: StringFilter | None = _condition("The node that decided it.")
    count: BigIntFilter | None = _condition("How many occurrences the row stands for.")
    first_scheduled_for: DateTimeFilter | None = _condition("The first nominal time.")
    last_scheduled_for: DateTimeFilter | None = _condition("The last nominal time.")
    at: DateTimeFilter | None = _condition("When the row was last written.")


@_filter("Which groups.")
class GroupFilter:
    """Conditions on groups."""

    name: StringFilter | None = _condition("The name.")
    paused: BooleanFilter | None = _condition("Whether none of its runs may start.")
    max_running: IntFilter | None = _condition("How many of its runs may run together; no value = no limit.")
    limited: BooleanFilter | None = _condition(
        "Whether it has any limit: on what runs together (`maxRunning`), what starts (`rate`), or what waits (`cap`)."
    )


@_filter("Which nodes.")
class NodeFilter:
    """Conditions on nodes."""

    id: IdFilter | None = _condition("The key.")
    name: StringFilter | None = _condition("The name.")
    state: Filter[NodeState] | None = _condition("Where it is in its life.")
    version: StringFilter | None = _condition("The version of Cronograph it runs.")
    started_at: DateTimeFilter | None = _condition("When it started.")


@_filter("Which entries of the audit log.")
class AuditFilter:
    """Conditions on entries of the audit log."""

    id: IdFilter | None = _condition("The number.")
    at: DateTimeFilter | None = _condition("When it was done.")
    actor: StringFilter | None = _condition("Who did it.")
    address: StringFilter | None = _condition("Where the request came from.")
    action: StringFilter | None = _condition("What was done.")
    subject: StringFilter | None = _condition("What it was done to.")


@_filter("Which jobs.")
class JobFilter:
    """Conditions on jobs."""

    name: StringFilter | None = _condition("The name.")
    description: StringFilter | None = _condition("The description.")
    schedule: StringFilter | None = _condition("The cron expression that its code declares; no value = none.")
    isolation: Filter[Isolation] | None = _condition("Where it runs.")


@_filter("Which accounts.")
class AccountFilter:
    """Conditions on accounts."""

    id: IdFilter | None = _condition("The key.")
    name: StringFilter | None = _condition("The name.")
    role: Filter[Role] | None = _condition("What its owner may do.")
    disabled_at: DateTimeFilter | None = _condition("Since when nobody may sign in with it; no value = one may.")
    created_at: DateTimeFilter | None = _condition("When it was made.")


@_filter("Which secrets.")
class SecretFilter:
    """Conditions on secrets."""

    name: StringFilter | None = _condition("What arguments call it.")
    key_id: StringFilter | None = _condition("The key that it is encrypted with.")
    created_at: DateTimeFilter | None = _condition("When it was first set.")
    created_by: StringFilter | None = _condition("Who first set it.")
    updated_at: DateTimeFilter | None = _condition("When it was last set.")
    updated_by: StringFilter | None = _condition("Who last set it.")


AnyFilter: TypeAlias = (
    TaskFilter
    | RunFilter
    | ExecutionFilter
    | SkippedOccurrenceFilter
    | GroupFilter
    | NodeFilter
    | JobFilter
    | AuditFilter
    | AccountFilter
    | SecretFilter
)
