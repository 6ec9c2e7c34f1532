"""The mutation of tasks that are defined together, as a file does."""

from dataclasses import asdict
from typing import Annotated, Any, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.actions.task_sets import apply_sets
from ...jobs.core.model import Json
from ...jobs.core.task_sets import (
    ApplyOptions,
    FieldChange,
    PlannedTask,
    TaskAction,
    WantedSet,
    WantedTask,
)
from ...jobs.store.db.transaction import Tx
from ..base.arguments import INPUT, MAX_TASKS, camel
from ..base.enums import Role
from ..base.fields import mutates, sized
from ..base.sizes import Size
from ..resolving.context import Info
from ..types.common import MutationPayload
from .base.changes import given, perform
from .base.inputs import DRY_RUN, KEY, ScheduleInput, TaskSettings, optional, settings_of

MAX_SETS: Final = 200
MOST_CHANGES: Final = 30

Done = list[PlannedTask]
PLANNED: Final[AnswerCodec[Done]] = AnswerCodec(
    dump=lambda done: [{**asdict(one), "action": one.action.value} for one in done],
    load=lambda _, stored: [_loaded(one) for one in stored],
)


def _loaded(stored: dict[str, Any]) -> PlannedTask:
    changes = tuple(FieldChange(**one) for one in stored["changes"])
    given: dict[str, Any] = {**stored, "action": TaskAction(stored["action"]), "changes": changes}
    return PlannedTask(**given)


@strawberry.input(description="A task of a set. What is absent is left alone, null sets the default.")
class TaskOfSetInput(TaskSettings):
    """A wanted task; ``enabled`` counts when it is made."""

    name: str = strawberry.field(description="Its name, unique among all tasks.")
    job_name: str | None = optional("The job it runs; needed for a task that is new.")
    schedule: ScheduleInput | None = optional("When it is due; needed for a task that is new.")

    def wanted(self) -> WantedTask:
        """The engine's form."""
        settings = settings_of(self)
        if given(self.job_name) is not None:
            settings["job_name"] = self.job_name
        schedule = given(self.schedule)
        if schedule is not None:
            settings["schedule"] = schedule.to_spec()
        return WantedTask(self.name, settings)


@strawberry.input(description="All tasks of a set.")
class TaskSetInput:
    """A wanted set."""

    name: str = strawberry.field(description="The set's name; it is stored at each of its tasks.")
    tasks: list[TaskOfSetInput] = strawberry.field(
        description="Its tasks, at most 1,000.", metadata=sized(Size(most=MAX_TASKS))
    )


@strawberry.input(description="The version of a task that a plan saw.")
class TaskVersionInput:
    """A name and a version."""

    name: str = strawberry.field(description="Which task.")
    version: int | None = optional("Its version; null = it did not exist.")


@strawberry.input(description="Sets of tasks to be brought about.")
class ApplyTasksInput:
    """The input of ``applyTasks``."""

    sets: list[TaskSetInput] = strawberry.field(
        description="The sets; tasks of other sets are left alone.", metadata=sized(Size(most=MAX_SETS))
    )
    prune: bool | None = optional("Archive tasks of these sets that are not named; false unless given.")
    allow_delete: int | None = optional(
        "So many tasks may be archived although they are more than half of their set; 0 unless given."
    )
    expected_versions: list[TaskVersionInput] | None = optional(
        "What a plan saw: refuse if any of these tasks has changed since.", Size(most=MAX_TASKS)
    )
    dry_run: bool | None = optional(DRY_RUN)
    idempotency_key: str | None = optional(KEY)

    def options(self) -> ApplyOptions:
        """The engine's form."""
        seen = given(self.expected_versions)
        return ApplyOptions(
            prune=bool(given(self.prune)),
            allow_delete=given(self.allow_delete) or 0,
            expected=None if seen is None else {one.name: given(one.version) for one in seen},
            dry_run=bool(given(self.dry_run)),
        )


@strawberry.type(name="TaskFieldChange", description="A field of a task that differs.")
class TaskFieldChange:
    """Before and after."""

    field: str = strawberry.field(description="Its name, as in `createTask`; or `setName`.")
    before: JSON | None = strawberry.field(description="As it is; null for a new task.")
    after: JSON | None = strawberry.field(description="As it is wanted.")


@strawberry.type(name="PlannedTask", description="What becomes of a task.")
class PlannedTaskShown:
    """One task of a set."""

    name: str = strawberry.field(description="The task.")
    set_name: str = strawberry.field(description="The set it was looked at for.")
    action: TaskAction = strawberry.field(description="What is done, or would be.")
    version: int | None = strawberry.field(description="Its version before that; null if it is made.")
    changes: list[TaskFieldChange] = strawberry.field(
        description="Of a task that is made or changed: the fields.",
        metadata=sized(Size(default=3, most=MOST_CHANGES)),
    )

    @classmethod
    def from_model(cls, planned: PlannedTask) -> "PlannedTaskShown":
        """The GraphQL object of a planned task."""
        changes = [
            TaskFieldChange(
                field=camel(one.field), before=_shown(one.field, one.before), after=_shown(one.field, one.after)
            )
            for one in planned.changes
        ]
        return cls(
            name=planned.name,
            set_name=planned.set_name,
            action=planned.action,
            version=planned.version,
            changes=changes,
        )


def _shown(field: str, value: Json) -> Json:
    """The value of a field; names of fields are those of the API."""
    return [camel(name) for name in value] if field == "inherits" else value


@strawberry.type
class TasksApplied(MutationPayload):
    """What was done, or errors."""

    planned: list[PlannedTaskShown] = strawberry.field(
        description="Every task of the sets, and what was done with it (of a dry run: what would be).",
        default_factory=list[PlannedTaskShown],
        metadata=sized(Size(default=200, most=MAX_TASKS)),
    )


@strawberry.type
class TaskSetMutations:
    """What changes many tasks as a file wants them."""

    @mutates(
        description="Makes, changes and archives tasks until the sets are as they are wanted, all in one transaction. "
        "`enabled` counts when a task is made; later, pauses belong to operators. Archived tasks keep their history, "
        "and their names can be taken again. With `dryRun` it is a plan.",
        requires=Role.OPERATOR,
    )
    async def apply_tasks(self, info: Info, input: Annotated[ApplyTasksInput, INPUT]) -> TasksApplied:
        """What was done with each task."""
        wanted = [WantedSet(one.name, tuple(task.wanted() for task in one.tasks)) for one in input.sets]
        options, actor = input.options(), info.context.person.name

        def action(tx: Tx) -> Done:
            return apply_sets(tx, wanted, options, actor=actor)

        done = await perform(info, input, action, PLANNED)
        return done.answer(TasksApplied, planned=lambda planned: [PlannedTaskShown.from_model(one) for one in planned])
