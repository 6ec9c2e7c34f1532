"""The mutation of tasks that are defined together, and of limits of groups, as a file does."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import Any, ClassVar, Final

import strawberry

from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.actions.task_sets import Applied
from ...jobs.core.base.errors import UserError
from ...jobs.core.task_sets import (
    LIMITS,
    MOST_WANTED,
    ApplyOptions,
    DefinitionKind,
    FieldChange,
    PlannedDefinition,
    PlannedGroup,
    PlannedTask,
    TaskAction,
    WantedGroup,
    WantedSet,
    WantedTask,
)
from ...jobs.delivery.declared import apply_files
from ...jobs.delivery.inbound import MAX_HOOKS
from ...jobs.delivery.rules import MAX_CHANNELS
from ...jobs.store.db.transaction import Tx
from ..base.enums import Role, describe
from ..base.fields import Size, mutates, sized
from ..execution.shown import FromModel, Makers
from ..resolving.context import Info
from ..types.common import MutationPayload
from .alarms import AlarmOfSetInput
from .base.changes import given, input_faults, perform
from .base.inputs import GroupLimits, MutationInput, ScheduleInput, TaskSettings, optional, settings_of
from .channels import ChannelOfSetInput
from .hooks import HookOfSetInput
from .revisions import MOST_CHANGES, TaskFieldChange, changes_shown
from .webhooks import WebhookOfSetInput, document_faults

describe(
    DefinitionKind,
    "The kind of a definition that a set has besides its tasks.",
    {
        DefinitionKind.CHANNEL: "A channel, which notifies people or programs of alarms.",
        DefinitionKind.WEBHOOK: "A webhook, which posts the results of a subscription.",
        DefinitionKind.HOOK: "A hook, at which requests start runs.",
        DefinitionKind.ALARM: "An alarm.",
    },
)
MAX_SETS: Final = 200

MAX_GROUPS: Final = 1_000
PLANNED: Final[AnswerCodec[Applied]] = AnswerCodec(
    dump=lambda done: {
        "tasks": [{**asdict(one), "action": one.action.value} for one in done.tasks],
        "groups": [asdict(one) for one in done.groups],
        "definitions": [
            {**asdict(one), "action": one.action.value, "kind": one.kind.value} for one in done.definitions
        ],
    },
    load=lambda _, stored: Applied(
        [PlannedTask(**_loaded(one)) for one in stored["tasks"]],
        [PlannedGroup(one["name"], one["version"], _changes(one)) for one in stored["groups"]],
        [PlannedDefinition(**_loaded(one)) for one in stored["definitions"]],
    ),
)


def _loaded(stored: dict[str, Any]) -> dict[str, Any]:
    known = {"kind": DefinitionKind(stored["kind"])} if "kind" in stored else {}
    return {**stored, **known, "action": TaskAction(stored["action"]), "changes": _changes(stored)}


def _changes(stored: dict[str, Any]) -> tuple[FieldChange, ...]:
    return tuple(FieldChange(**one) for one in stored["changes"])


@strawberry.input(description="A task of a set. Absent fields stay as they are, null sets the default.")
class TaskOfSetInput(TaskSettings):
    """A wanted task; ``enabled`` counts when it is made."""

    name: str = strawberry.field(description="The name of the task, unique among all tasks: 1 to 200 characters.")
    job_name: str | None = optional(
        "The name of the job that the task runs. A new task needs it; unchanged unless given."
    )
    schedule: ScheduleInput | None = optional("The schedule of the task. A new task needs it; unchanged unless given.")

    def wanted(self) -> WantedTask:
        """Return the engine's form."""
        settings = settings_of(self)
        if given(self.job_name) is not None:
            settings["job_name"] = self.job_name
        schedule = given(self.schedule)
        if schedule is not None:
            settings["schedule"] = schedule.to_spec()
        return WantedTask(self.name, settings)


@strawberry.input(description="A set: all the tasks that one file defines.")
class TaskSetInput:
    """A wanted set."""

    name: str = strawberry.field(description="The name of the set, which is stored at each of its tasks.")
    tasks: list[TaskOfSetInput] = strawberry.field(
        description="The tasks of the set; with all that the sets have, at most 10,000.",
        metadata=sized(Size(most=MOST_WANTED)),
    )
    alarms: list[AlarmOfSetInput] | None = optional(
        "The alarms of the set; its other alarms are left over. Unchanged unless given.",
        Size(most=MOST_WANTED),
    )
    channels: list[ChannelOfSetInput] | None = optional(
        "The channels of the set, at most 200; its other channels are left over. Unchanged unless given.",
        Size(most=MAX_CHANNELS),
    )
    webhooks: list[WebhookOfSetInput] | None = optional(
        "The webhooks of the set, at most 200; its other webhooks are left over. Unchanged unless given.",
        Size(most=MAX_CHANNELS),
    )
    hooks: list[HookOfSetInput] | None = optional(
        "The hooks of the set, at most 1,000; its other hooks are left over. Unchanged unless given.",
        Size(most=MAX_HOOKS),
    )

    def faults(self) -> Iterator[UserError]:
        """Yield the faults that no action sees."""
        yield from chain.from_iterable(one.faults() for one in given(self.alarms) or ())
        yield from chain.from_iterable(one.faults() for one in given(self.channels) or ())

    def wanted(self) -> WantedSet:
        """Return the engine's form."""
        chosen = {kind: given(getattr(self, f"{kind.value}s")) for kind in DefinitionKind}
        definitions = {
            kind: [one.wanted() for one in several] for kind, several in chosen.items() if several is not None
        }
        return WantedSet(self.name, tuple(task.wanted() for task in self.tasks), definitions)


@strawberry.input(description="The version of a task that a dry run saw.")
class TaskVersionInput:
    """A name and a version."""

    name: str = strawberry.field(description="The name of the task.")
    version: int | None = optional("The version of the task. The task did not exist unless given.")


@strawberry.input(description="The version of a definition that a dry run saw.")
class DefinitionVersionInput(TaskVersionInput):
    """A kind, a name and a version."""

    kind: DefinitionKind = strawberry.field(description="The kind of the definition.")


@strawberry.input(description="The limits of a group. Absent ones stay as they are, null removes a limit.")
class GroupOfFileInput(GroupLimits):
    """A wanted group."""

    name: str = strawberry.field(description="The name of the group; a group exists once it is named.")


@strawberry.input(description="The version of the limits of a group that a dry run saw.")
class GroupVersionInput:
    """A name and a version."""

    name: str = strawberry.field(description="The name of the group.")
    version: int = strawberry.field(description="The `version` of the planned group.")


@strawberry.input(description="The sets of tasks and limits of groups that `applyTasks` brings about.")
class ApplyTasksInput(MutationInput):
    """The input of ``applyTasks``."""

    sets: list[TaskSetInput] = strawberry.field(
        description="The sets to apply, at most 200; tasks of other sets are left alone.",
        metadata=sized(Size(most=MAX_SETS)),
    )
    groups: list[GroupOfFileInput] | None = optional(
        "The groups whose limits are set, at most 1,000; other groups are left alone. None unless given.",
        Size(most=MAX_GROUPS),
    )
    prune: bool | None = optional("True archives the tasks of these sets that are not named. False unless given.")
    allow_delete: int | None = optional(
        "The number of tasks that may be archived although they are more than half of their set. 0 unless given."
    )
    expected_versions: list[TaskVersionInput] | None = optional(
        "The versions of tasks that a dry run saw: refused if any task has another one by now. Any versions unless "
        "given.",
        Size(most=MOST_WANTED),
    )
    expected_groups: list[GroupVersionInput] | None = optional(
        "The versions of limits that a dry run saw: refused if any group has another one by now. Any versions unless "
        "given.",
        Size(most=MAX_GROUPS),
    )

    expected_definitions: list[DefinitionVersionInput] | None = optional(
        "The versions of channels, webhooks, hooks and alarms that a dry run saw: refused if any has another one by "
        "now. Any versions unless given.",
        Size(most=MOST_WANTED),
    )

    def options(self) -> ApplyOptions:
        """Return the engine's form."""
        seen, groups = given(self.expected_versions), given(self.expected_groups)
        others = given(self.expected_definitions)
        return ApplyOptions(
            prune=bool(given(self.prune)),
            allow_delete=given(self.allow_delete) or 0,
            expected=None if seen is None else {one.name: given(one.version) for one in seen},
            expected_definitions=None
            if others is None
            else {(one.kind.value, one.name): given(one.version) for one in others},
            expected_groups=None if groups is None else {one.name: one.version for one in groups},
        )


@strawberry.type(name="PlannedTask", description="The effect of a task file on a task.")
class PlannedTaskShown(FromModel):
    """One task of a set."""

    name: str = strawberry.field(description="The task.")
    set_name: str = strawberry.field(description="The set it was looked at for.")
    action: TaskAction = strawberry.field(description="The action that is taken, or would be.")
    version: int | None = strawberry.field(
        description="The version of the task before the change; null if the task is made."
    )
    changes: list[TaskFieldChange] = strawberry.field(
        description="The fields of a task that is made or changed.",
        metadata=sized(Size(default=3, most=MOST_CHANGES)),
    )

    MADE: ClassVar[Makers] = {"changes": lambda planned: changes_shown(planned.changes)}


@strawberry.type(name="PlannedGroup", description="The effect of a task file on the limits of a group.")
class PlannedGroupShown(FromModel):
    """One group."""

    name: str = strawberry.field(description="The group.")
    version: int = strawberry.field(
        description="The version of its limits before that: it differs once one of them has changed."
    )
    changes: list[TaskFieldChange] = strawberry.field(
        description="The limits that are set; none if all are as they are wanted.",
        metadata=sized(Size(default=1, most=len(LIMITS))),
    )

    MADE: ClassVar[Makers] = {"changes": lambda planned: changes_shown(planned.changes)}


@strawberry.type(
    name="PlannedDefinition", description="The effect of a task file on a channel, webhook, hook or alarm."
)
class PlannedDefinitionShown(FromModel):
    """One definition of a set."""

    kind: DefinitionKind = strawberry.field(description="The kind of the definition.")
    name: str = strawberry.field(description="The name of the definition.")
    set_name: str = strawberry.field(description="The set that has the definition.")
    action: TaskAction = strawberry.field(description="The action that is taken, or would be.")
    version: int | None = strawberry.field(
        description="The version of the definition before the change; null if the definition is made."
    )
    changes: list[TaskFieldChange] = strawberry.field(
        description="The fields of a definition that is made or changed, in the words of task files.",
        metadata=sized(Size(default=3, most=MOST_CHANGES)),
    )

    MADE: ClassVar[Makers] = {"changes": lambda planned: changes_shown(planned.changes)}


@strawberry.type
class TasksApplied(MutationPayload):
    """The changes of the tasks, or errors."""

    planned: list[PlannedTaskShown] = strawberry.field(
        description="Every task of the sets, and its change (of a dry run: the one it would make).",
        default_factory=list[PlannedTaskShown],
        metadata=sized(Size(default=200, most=MOST_WANTED)),
    )
    groups: list[PlannedGroupShown] = strawberry.field(
        description="Every group that was named, and the change of its limits (of a dry run: the one it would make).",
        default_factory=list[PlannedGroupShown],
        metadata=sized(Size(default=20, most=MAX_GROUPS)),
    )
    definitions: list[PlannedDefinitionShown] = strawberry.field(
        description="Every channel, webhook, hook and alarm of the sets, and its change (of a dry run: the one it "
        "would make).",
        default_factory=list[PlannedDefinitionShown],
        metadata=sized(Size(default=50, most=MOST_WANTED)),
    )


@strawberry.type
class TaskSetMutations:
    """Mutations of many tasks by files."""

    @mutates(
        description="Makes, changes and archives tasks until the sets are as they are wanted, and sets limits of "
        "groups, all in one transaction. Channels and hooks need the role ADMIN to be changed. `enabled` counts when a "
        "task is made; later, pauses belong to operators. "
        "Archived tasks keep their history, and their names can be taken again. With `dryRun` it is a plan.",
        requires=Role.OPERATOR,
    )
    async def apply_tasks(self, info: Info, input: ApplyTasksInput) -> TasksApplied:
        """The change of each task."""
        wanted = [one.wanted() for one in input.sets]
        groups = [WantedGroup(one.name, one.limits()) for one in given(input.groups) or ()]
        options, actor, keys = input.options(), info.context.person.name, info.context.keys

        def action(tx: Tx) -> Applied:
            return apply_files(tx, wanted, options, groups=groups, actor=actor, keys=keys)

        faults = [fault for one in input.sets for fault in one.faults()]
        for place, one in enumerate(input.sets if not any(input_faults(input)) else ()):
            for number, webhook in enumerate(given(one.webhooks) or ()):
                found = await document_faults(info, webhook.document, webhook.wanted().variables)
                faults += [fault.with_prefix("sets", str(place), "webhooks", str(number)) for fault in found]
        done = await perform(info, input, action, PLANNED, faults=faults)
        return done.answer(
            TasksApplied,
            planned=lambda applied: [PlannedTaskShown.from_model(one) for one in applied.tasks],
            groups=lambda applied: [PlannedGroupShown.from_model(one) for one in applied.groups],
            definitions=lambda applied: [PlannedDefinitionShown.from_model(one) for one in applied.definitions],
        )
