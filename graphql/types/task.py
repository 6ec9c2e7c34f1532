"""Show the parts of a task without its relations, which are in ``entities``."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, Final, Self

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.core.admission import caps
from ...jobs.core.model import Outcome, OverlapPolicy, Priority, SkipReason, TaskSource
from ...jobs.core.occurrences import effective_overlap, effective_timeout, effective_tolerance
from ...jobs.core.schedule import Syntax
from ...jobs.core.states import RunState
from ...jobs.core.task_sets import definition_of
from ...jobs.store.read.lists import TASKS
from ...jobs.store.read.strips import Strip
from ..base.arguments import camel
from ..base.enums import Described, described
from ..base.scalars import BigInt
from ..execution.shown import ByField, Fields, Made
from ..lists.declared import Kind, order_of
from ..lists.filters import (
    BigIntFilter,
    BooleanFilter,
    DateTimeFilter,
    Filter,
    IdFilter,
    LabelFilter,
    RowFilter,
    StringFilter,
    condition,
    filter_of,
)
from .common import Rate
from .schedule import Schedule


@strawberry.type(
    description="The newest occurrences of a task as columns of equal length: one value of each column per occurrence, "
    "the newest nominal time first. The same as `occurrences`, for charts of many tasks, at a tenth of the cost."
)
class OccurrenceStrip:
    """Columns."""

    ids: list[strawberry.ID] = strawberry.field(description="The key of the run, or of the skipped stretch.")
    states: list[RunState] = strawberry.field(description="The state of the run; `SKIPPED` for a skipped stretch.")
    at: list[datetime] = strawberry.field(description="The nominal time; of a skipped stretch the last one.")
    seconds: list[float | None] = strawberry.field(
        description="Seconds from the start of the newest attempt to the end of the run; null until it has ended, and "
        "for a skipped stretch."
    )
    reasons: list[SkipReason | None] = strawberry.field(description="Why a stretch was skipped; null for a run.")
    counts: list[BigInt] = strawberry.field(description="For how many occurrences it stands: 1 for a run.")

    @classmethod
    def from_strip(cls, strip: Strip) -> Self:
        """The GraphQL object of a strip."""
        shown = cls.__new__(cls)
        vars(shown).update({name: getattr(strip, name) for name in Strip.__slots__})
        return shown


@filter_of("Which tasks.")
class TaskFilter(RowFilter):
    """Conditions on tasks."""

    OWN_LABELS: ClassVar = True

    id: IdFilter | None = condition("The key.")
    name: StringFilter | None = condition("The name.")
    description: StringFilter | None = condition("The description.")
    enabled: BooleanFilter | None = condition("Whether it makes runs; false = paused.")
    source: Filter[TaskSource] | None = condition("Where it is defined.")
    job_name: StringFilter | None = condition("The name of its job.")
    group: StringFilter | None = condition("The group of its runs.")
    priority: Filter[Priority] | None = condition("The priority of its runs.")
    owner: StringFilter | None = condition("Its owner.")
    submitter: StringFilter | None = condition("Who made it.")
    labels: LabelFilter | None = condition("Its own labels, without those of its job; several by `and`.")
    syntax: Filter[Syntax] | None = condition("The syntax of its schedule.")
    timezone: StringFilter | None = condition("The zone of its schedule.")
    overlap: Filter[OverlapPolicy] | None = condition("Its overlap policy, as set; null = left to the default.")
    overridden: BooleanFilter | None = condition("Whether an operator replaced the schedule that its code declares.")
    next_execution: DateTimeFilter | None = condition("When it is due next; no value = finished.")
    paused_at: DateTimeFilter | None = condition("Since when it is paused.")
    last_due_at: DateTimeFilter | None = condition("When it was last due.")
    last_started_at: DateTimeFilter | None = condition("When a run made by its schedule last started.")
    counter: BigIntFilter | None = condition("How many runs its schedule has made.")
    finished: BooleanFilter | None = condition("Whether no occurrence is left.")
    stalled: BooleanFilter | None = condition("Whether it should have started and did not.")
    last_outcome: Filter[Outcome] | None = condition(
        "How its newest finished execution ended; no value = none has finished."
    )
    created_at: DateTimeFilter | None = condition("When it was made.")
    updated_at: DateTimeFilter | None = condition("When it was last edited.")


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


TaskOrder = order_of("TaskOrder", TaskOrderField, "An order of tasks; ties are broken by the key.")


TASK_LIST: Final = Kind(TASKS, TaskFilter, TaskOrder, "Which tasks.")


@strawberry.type
class TaskFields(ByField):
    """The columns of a task."""

    stored: strawberry.Private[model.Task]
    id: strawberry.ID = strawberry.field(description="The decimal key.")
    name: str = strawberry.field(description="The unique, immutable name.")
    description: str = strawberry.field(description="What it is for; copied to its runs.")
    enabled: bool = strawberry.field(description="Whether its occurrences become runs; false = paused.")
    source: model.TaskSource = strawberry.field(description="Where it is defined.")
    job_name: str = strawberry.field(description="The name of the job it runs.")
    args: JSON = strawberry.field(description="The arguments of its runs, an object.")
    group: str = strawberry.field(description="The group of its runs.")
    priority: model.Priority = strawberry.field(description="The priority of its runs.")
    owner: str | None = strawberry.field(description="The outside thing on whose behalf it exists, e.g. `channel:42`.")
    set_name: str | None = strawberry.field(description="The set of a file that it belongs to.")
    submitter: str | None = strawberry.field(description="Who made it.")
    schedule: Schedule = strawberry.field(description="When it is due.")
    declared_schedule: Schedule | None = strawberry.field(description="The schedule that its code declares.")
    next_execution: datetime | None = strawberry.field(
        description="When its next run will be made, jitter included; null when paused or finished."
    )
    next_nominal: datetime | None = strawberry.field(
        description="The next nominal time of its schedule, whether or not it is paused; null when finished."
    )
    overlap: model.OverlapPolicy = strawberry.field(description="The overlap policy in force.")
    misfire: model.MisfirePolicy = strawberry.field(description="The misfire policy.")
    misfire_grace: float = strawberry.field(description="Seconds by which an occurrence may be late without a misfire.")
    catch_up_limit: int = strawberry.field(description="How many missed occurrences misfire policy ALL makes up for.")
    tolerance: float | None = strawberry.field(
        description="INTERVAL only: seconds by which a run may start earlier than one interval after the last."
    )
    timeout: float | None = strawberry.field(description="The time box of each attempt in seconds; null = none.")
    max_duration: float | None = strawberry.field(
        description="Seconds that a run may take from its first start, sleeping and waiting included; null = any."
    )
    retries: int = strawberry.field(description="How many failures a run survives.")
    retry_delay: float = strawberry.field(description="Seconds before the first retry; doubled with each further one.")
    inherits: list[str] = strawberry.field(
        description="Which of its settings follow its job, because nobody has set them for this task; by name, sorted."
    )
    jitter: float = strawberry.field(description="Most seconds by which the task is delayed, by one fixed offset.")
    labels: JSON = strawberry.field(description="Labels of its runs, added to those of their job: an object of texts.")
    rate: Rate | None = strawberry.field(
        description="How many of its runs start in how long, instead of what its job says; null = as the job says."
    )
    start_at: datetime | None = strawberry.field(description="No occurrence before this time.")
    end_at: datetime | None = strawberry.field(description="No occurrence after this time.")
    paused_at: datetime | None = strawberry.field(description="Since when it is paused.")
    paused_by: str | None = strawberry.field(description="Who paused it.")
    pause_reason: str | None = strawberry.field(description="Why it is paused.")
    finished: bool = strawberry.field(description="Whether no occurrence is left.")
    overridden: bool = strawberry.field(description="Whether an operator replaced the schedule that its code declares.")
    last_due_at: datetime | None = strawberry.field(description="The newest nominal time that was looked at.")
    last_started_at: datetime | None = strawberry.field(description="When a run made by its schedule last started.")
    counter: BigInt = strawberry.field(description="How many runs its schedule has made.")
    version: int = strawberry.field(description="Counts edits; pass it as `expectedVersion` to `updateTask`.")
    checkpoint: JSON | None = strawberry.field(description="What its job last saved to go on from.")
    definition: JSON = strawberry.field(
        description="What was decided about it, as `createTask` takes it: without what follows its job or is as usual."
    )
    created_at: datetime = strawberry.field(description="When it was made.")
    updated_at: datetime = strawberry.field(description="When it was last edited.")


def _due(next_execution: datetime | None, enabled: bool) -> datetime | None:
    return next_execution if enabled else None


def _inherits(names: Iterable[str]) -> list[str]:
    return sorted(map(camel, names))


def _rate(stored: caps.Rate | dict[str, Any] | None) -> Rate | None:
    if stored is None:
        return None
    return Rate.from_model(caps.Rate.from_json(stored) if isinstance(stored, dict) else stored)


def _finished(next_nominal: datetime | None) -> bool:
    return next_nominal is None


TaskFields.FIELDS = Fields(
    TaskFields,
    model.Task,
    prefix="spec",
    columns={"group": "group_name"},
    made={
        "schedule": lambda task: Schedule.from_model(task.spec.schedule, task),
        "declared_schedule": lambda task: None if task.declared is None else Schedule.from_model(task.declared, task),
        "next_execution": Made(("next_execution", "enabled"), _due),
        "overlap": lambda task: effective_overlap(task.spec),
        "tolerance": lambda task: effective_tolerance(task.spec),
        "timeout": lambda task: effective_timeout(task.spec),
        "definition": lambda task: {camel(name): value for name, value in definition_of(task.spec).items()},
        "inherits": Made(("inherits",), _inherits),
        "rate": Made(("rate",), _rate),
        "finished": Made(("next_nominal",), _finished),
    },
)
