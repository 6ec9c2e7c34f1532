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
from ...jobs.store.statements.figures.strips import Strip
from ...jobs.store.statements.lists import TASKS
from ..base.enums import Described, described
from ..base.fields import UNSTABLE
from ..base.scalars import BigInt, Duration, Labels, camel
from ..execution.shown import ByField, Fields, Made
from ..lists.declared import kind_of
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
from .common import Rate, Resources
from .schedule import Schedule


@strawberry.type(
    description="The newest occurrences of a task as columns of equal length: one value of each column per occurrence, "
    "the newest nominal time first. The same as `occurrences`, for charts of many tasks, at a tenth of the cost.",
    directives=UNSTABLE,
)
class OccurrenceStrip:
    """Columns."""

    ids: list[strawberry.ID] = strawberry.field(description="The `id` of the run, or of the skipped stretch.")
    states: list[RunState] = strawberry.field(description="The state of the run; `SKIPPED` for a skipped stretch.")
    at: list[datetime] = strawberry.field(description="The nominal time; of a skipped stretch the last one.")
    seconds: list[Duration | None] = strawberry.field(
        description="The time from the start of the newest attempt to the end of the run; null until it has ended, "
        "and for a skipped stretch."
    )
    reasons: list[SkipReason | None] = strawberry.field(
        description="The reason why a stretch was skipped; null for a run."
    )
    counts: list[BigInt] = strawberry.field(
        description="The number of occurrences that the value stands for: 1 for a run."
    )

    @classmethod
    def from_strip(cls, strip: Strip) -> Self:
        """Return the GraphQL object of a strip."""
        shown = cls.__new__(cls)
        vars(shown).update({name: getattr(strip, name) for name in Strip.__slots__})
        return shown


@filter_of("A filter of tasks.")
class TaskFilter(RowFilter):
    """Conditions on tasks."""

    OWN_LABELS: ClassVar = True
    SHOWN_IF: ClassVar = {"next_execution": "enabled"}

    id: IdFilter | None = condition("The key of the task.")
    name: StringFilter | None = condition("The name.")
    description: StringFilter | None = condition("The description.")
    enabled: BooleanFilter | None = condition("Whether the task makes runs; false = paused.", "isEnabled")
    source: Filter[TaskSource] | None = condition("The source of the task: where it is defined.")
    job_name: StringFilter | None = condition("The name of its job.")
    group: StringFilter | None = condition("The group of its runs.")
    priority: Filter[Priority] | None = condition("The priority of its runs.")
    owner: StringFilter | None = condition("The owner of the task.")
    submitter: StringFilter | None = condition("The person or program that made the task.")
    labels: LabelFilter | None = condition(
        "The labels of the task itself, without the labels of its job. For several labels use `and`."
    )
    syntax: Filter[Syntax] | None = condition("The syntax of its schedule.")
    timezone: StringFilter | None = condition("The zone of its schedule.")
    overlap: Filter[OverlapPolicy] | None = condition("The overlap policy as set; no value = left to the default.")
    overridden: BooleanFilter | None = condition(
        "Whether an operator replaced the schedule that its code declares.", "isOverridden"
    )
    next_execution: DateTimeFilter | None = condition(
        "The time of the next run; no value = paused or finished.", "nextExecutionAt"
    )
    paused_at: DateTimeFilter | None = condition("The time since which the task is paused.")
    last_due_at: DateTimeFilter | None = condition("The time when the task was last due.")
    last_started_at: DateTimeFilter | None = condition("The time when a run made by the schedule last started.")
    counter: BigIntFilter | None = condition("The number of runs that the schedule has made.")
    finished: BooleanFilter | None = condition("Whether no occurrence is left.", "isFinished")
    stalled: BooleanFilter | None = condition("Whether the task should have started and did not.", "isStalled")
    failing: BooleanFilter | None = condition(
        "Whether the newest finished execution failed, with an error that is neither silenced nor solved.", "isFailing"
    )
    last_outcome: Filter[Outcome] | None = condition(
        "The outcome of the newest finished execution; no value = none has finished."
    )
    created_at: DateTimeFilter | None = condition("The time when the task was made.")
    updated_at: DateTimeFilter | None = condition("The time when the task was last edited.")


@described("A field by which tasks can be ordered; newest first unless given.")
class TaskOrderField(Described):
    """Fields of tasks to order by."""

    ID = "id", "The key, in the order of creation."
    NAME = "name", "The name."
    JOB_NAME = "job_name", "The name of the job."
    GROUP = "group", "The group."
    OWNER = "owner", "The owner."
    NEXT_EXECUTION_AT = "next_execution", "The time of the next run."
    LAST_STARTED_AT = "last_started_at", "The time when a run made by the schedule last started."
    COUNTER = "counter", "The number of runs that the schedule has made."
    CREATED_AT = "created_at", "The time when the task was made."
    UPDATED_AT = "updated_at", "The time when the task was last edited."


TASK_LIST: Final = kind_of(TASKS, TaskFilter, TaskOrderField, "tasks")


@strawberry.type
class TaskFields(ByField):
    """The columns of a task."""

    stored: strawberry.Private[model.Task]
    id: strawberry.ID = strawberry.field(description="The decimal key of the task.")
    name: str = strawberry.field(description="The unique, immutable name of the task.")
    description: str = strawberry.field(description="The purpose of the task, in words; it is copied to the runs.")
    enabled: bool = strawberry.field(
        name="isEnabled", description="Whether occurrences of the task become runs; false = paused."
    )
    source: model.TaskSource = strawberry.field(description="The source of the task: code, a file, or the API.")
    job_name: str = strawberry.field(description="The name of the job that the task runs.")
    args: JSON = strawberry.field(description="The arguments of the runs, an object.")
    group: str = strawberry.field(description="The group of the runs.")
    priority: model.Priority = strawberry.field(description="The priority of the runs.")
    owner: str | None = strawberry.field(
        description="The object outside of Cronograph for which the task exists, e.g. `channel:42`; null = none."
    )
    set_name: str | None = strawberry.field(
        description="The name of the set of a task file to which the task belongs; null = none."
    )
    submitter: str | None = strawberry.field(description="The person or program that made the task.")
    schedule: Schedule = strawberry.field(description="The schedule of the task.")
    declared_schedule: Schedule | None = strawberry.field(
        description="The schedule that the code declares; null if it declares none."
    )
    next_execution: datetime | None = strawberry.field(
        name="nextExecutionAt",
        description="The time at which the next run will be made, jitter included; null when the task is paused or "
        "finished.",
    )
    next_nominal: datetime | None = strawberry.field(
        name="nextNominalAt",
        description="The next nominal time of the schedule, even if the task is paused; null when it is finished.",
    )
    overlap: model.OverlapPolicy = strawberry.field(description="The overlap policy in force.")
    misfire: model.MisfirePolicy = strawberry.field(description="The misfire policy.")
    misfire_grace: Duration = strawberry.field(
        description="The time by which an occurrence may be late without a misfire."
    )
    catch_up_limit: int = strawberry.field(
        description="The largest number of missed occurrences that the misfire policy ALL makes up for."
    )
    tolerance: Duration | None = strawberry.field(
        description="The time by which a run of an INTERVAL schedule may start earlier than one interval after the "
        "last run."
    )
    timeout: Duration | None = strawberry.field(
        description="The longest time that an attempt may take; null = no limit."
    )
    max_duration: Duration | None = strawberry.field(
        description="The longest time that a run may take from its first start, sleeping and waiting included; "
        "null = no limit."
    )
    retries: int = strawberry.field(description="The number of failures that a run survives.")
    retry_delay: Duration = strawberry.field(
        description="The pause before the first retry; each further one is twice as long."
    )
    inherits: list[str] = strawberry.field(
        description="The names of the settings that follow the job because nobody has set them for this task, sorted."
    )
    jitter: Duration = strawberry.field(description="The longest delay of the task; the delay is one fixed offset.")
    labels: Labels = strawberry.field(description="The labels of the runs, in addition to the labels of the job.")
    resources: Resources | None = strawberry.field(
        description="The resources that the runs ask for at the engine of the job, over those of the job; null = the "
        "job decides."
    )
    rate: Rate | None = strawberry.field(
        description="The limit on starts of the runs, instead of the rate of the job; null = the job decides."
    )
    start_at: datetime | None = strawberry.field(
        description="The time before which the task has no occurrence; null = no limit."
    )
    end_at: datetime | None = strawberry.field(
        description="The time after which the task has no occurrence; null = no limit."
    )
    paused_at: datetime | None = strawberry.field(
        description="The time since which the task is paused; null if it is not."
    )
    paused_by: str | None = strawberry.field(description="The person or program that paused the task.")
    pause_reason: str | None = strawberry.field(description="The reason that was given for the pause.")
    resume_at: datetime | None = strawberry.field(
        description="The time at which the pause ends by itself; null if it ends when somebody resumes it."
    )
    finished: bool = strawberry.field(name="isFinished", description="Whether the schedule has no occurrence left.")
    overridden: bool = strawberry.field(
        name="isOverridden", description="Whether an operator replaced the schedule that its code declares."
    )
    last_due_at: datetime | None = strawberry.field(description="The newest nominal time that was looked at.")
    last_started_at: datetime | None = strawberry.field(
        description="The time when a run made by the schedule last started."
    )
    counter: BigInt = strawberry.field(description="The number of runs that the schedule has made.")
    version: int = strawberry.field(
        description="The number of edits of the task; pass it as `expectedVersion` to `updateTask`."
    )
    checkpoint: JSON | None = strawberry.field(description="The checkpoint that the job last saved to continue from.")
    definition: JSON = strawberry.field(
        description="The settings that were decided for the task, in the form of the input of `createTask`. "
        "Settings that follow the job or are the default are left out."
    )
    created_at: datetime = strawberry.field(description="The time when the task was made.")
    updated_at: datetime = strawberry.field(description="The time when the task was last edited.")


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
        "resources": Made(("resources",), Resources.from_document),
        "rate": Made(("rate",), _rate),
        "finished": Made(("next_nominal",), _finished),
    },
)
