"""Sets of tasks that a file defines together: the wanted tasks, the existing ones, and the changes between them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, Final, Protocol, cast

from .admission.caps import Cap, Rate
from .base.errors import ErrorCode, InvalidState, UserError, VersionConflict
from .base.times import time_text
from .defaults import TASK_POLICIES
from .model import Group, Json, ScheduleSpec, Task, TaskSource, TaskSpec

MOST_WANTED: Final = 10_000
"""Tasks and other definitions of all sets together that one request brings about at most."""

AT_CREATION: Final = "enabled"
"""Setting that a file decides at the task's creation alone: later, pauses belong to operators."""


class TaskAction(StrEnum):
    """Name the change of a task.

    ``CREATE``: it is made. ``CHANGE``: some of its fields. ``KEEP``: it is as it should be. ``ARCHIVE``: it is removed,
    its history stays and its name can be taken again. ``LEFT_OVER``: it is of the set, is not wanted any more, and
    stays, because pruning was not asked for.
    """

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    ARCHIVE = "archive"
    LEFT_OVER = "left_over"


@dataclass(frozen=True, slots=True)
class WantedTask:
    """A task as a file wants it.

    Attributes:
        settings: Fields of ``TaskSpec`` to values; None = the default; absent settings are not the file's business.
    """

    name: str
    settings: Mapping[str, Any]


class DefinitionKind(StrEnum):
    """The kind of a definition that a set has besides its tasks, in the order in which they are brought about."""

    CHANNEL = "channel"
    WEBHOOK = "webhook"
    HOOK = "hook"
    ALARM = "alarm"


class Named(Protocol):
    """A definition."""

    @property
    def name(self) -> str:
        """Return its name, unique among those of its kind."""
        ...


Definitions = Mapping[DefinitionKind, Sequence[Named]]
"""Definitions by their kinds; those of absent kinds are not the file's business."""


@dataclass(frozen=True, slots=True)
class WantedSet:
    """All tasks of a set, and its other definitions."""

    name: str
    tasks: tuple[WantedTask, ...]
    definitions: Definitions = field(default_factory=dict[DefinitionKind, Sequence[Named]])


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs.

    Attributes:
        field: Its name in ``TaskSpec``, or ``set_name``.
        before: As it is; JSON.
        after: As it is wanted; JSON.
    """

    field: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """Plan the change of one task.

    Attributes:
        set_name: The set it was looked at for.
        version: Its version before that; None if it is made.
        changes: Of a task that is made or changed: the fields.
    """

    name: str
    set_name: str
    action: TaskAction
    version: int | None
    changes: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedDefinition(PlannedTask):
    """Plan the change of one alarm, channel, webhook or hook, with the facts of a task's."""

    kind: DefinitionKind = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Choose the way in which sets are applied.

    Attributes:
        prune: Archive the tasks of the sets that are not wanted any more.
        allow_delete: So many of them may go even if they are more than half of their set.
        expected: The versions that a plan saw, by name, None = no such task; None: any.
        expected_groups: Likewise the versions of the limits of groups.
        expected_definitions: Likewise the versions of alarms, channels, webhooks and hooks, by kind and name.
    """

    prune: bool = False
    allow_delete: int = 0
    expected: Mapping[str, int | None] | None = None
    expected_groups: Mapping[str, int] | None = None
    expected_definitions: Mapping[tuple[str, str], int | None] | None = None


def changes_between(before: TaskSpec | None, after: TaskSpec) -> tuple[FieldChange, ...]:
    """Return the fields that differ; of a new task those that are not as a task has them that says nothing."""
    bare = before or TaskSpec(after.name, "", ScheduleSpec(after.schedule.syntax, ""))
    left_out = {"name", "inherits"} if before is None else {"name", AT_CREATION}
    return tuple(
        FieldChange(name, None if before is None else shown(getattr(bare, name)), shown(getattr(after, name)))
        for name in (one.name for one in fields(TaskSpec) if one.name not in left_out)
        if getattr(bare, name) != getattr(after, name)
    )


def definition_of(spec: TaskSpec) -> dict[str, Json]:
    """Return a task's settings as a file has them, without those that follow the job or have their default.

    Of a paused task it has ``enabled``, so that one that is made of it begins paused.
    """
    usual = TaskSpec(spec.name, spec.job_name, spec.schedule)
    decided = {
        name: shown(getattr(spec, name))
        for name in (one.name for one in fields(TaskSpec))
        if name not in {"name", "job_name", "schedule", "inherits"}
        and name not in spec.inherits
        and (name in TASK_POLICIES or getattr(spec, name) != getattr(usual, name))
    }
    return {"job_name": spec.job_name, "schedule": shown(spec.schedule), **decided}


def shown(value: Any) -> Json:  # noqa: ANN401 - any field of a task or group
    """Return a field's value as JSON, in the words of the API."""
    if isinstance(value, Cap):
        return {"limit": value.limit, "whenFull": value.when_full.name}
    if isinstance(value, ScheduleSpec | Rate):
        return {name: shown(one) for name, one in asdict(value).items()}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    return time_text(value) if isinstance(value, datetime) else value


def conflict_of(task: Task, set_name: str) -> UserError | None:
    """Return why an existing task cannot belong to this set; None if it can."""
    if task.source is TaskSource.CODE:
        return InvalidState(
            f"task '{task.name}' is declared in code; take it out of the file, or its schedule out of the code",
            path=("name",),
            code=ErrorCode.CODE_TASK,
        )
    if task.set_name is not None and task.set_name != set_name:
        return InvalidState(
            f"task '{task.name}' is of set '{task.set_name}'; take it out of that one first, or choose another name",
            path=("name",),
            code=ErrorCode.OTHER_SET,
        )
    return None


def check_archive(set_name: str, doomed: Sequence[str], members: int, allowed: int) -> None:
    """Refuse to archive more than half of a set by mistake.

    Raises:
        InvalidState: so many tasks would go, and nobody said that so many may.
    """
    if 2 * len(doomed) > members and len(doomed) > allowed:
        few = ", ".join(f"'{name}'" for name in doomed[:3])
        more = f" and {len(doomed) - 3} more" if len(doomed) > 3 else ""
        raise InvalidState(
            f"{len(doomed)} of the {members} tasks of set '{set_name}' would be archived: {few}{more}; if that is "
            f"meant, say --allow-delete {len(doomed)} (allowDelete)",
            path=("allowDelete",),
            code=ErrorCode.TOO_MANY_ARCHIVED,
        )


def check_version(planned: PlannedTask, options: ApplyOptions) -> None:
    """Refuse a task or a definition that is not as the plan saw it.

    Raises:
        VersionConflict: it was made, edited or removed since, or the plan did not know it.
    """
    thing = planned.kind.value if isinstance(planned, PlannedDefinition) else "task"
    key, seen = (thing, planned.name), options.expected_definitions
    if thing == "task":
        seen = None if options.expected is None else {(thing, name): one for name, one in options.expected.items()}
    if seen is None or planned.action is TaskAction.LEFT_OVER:
        return
    if seen.get(key, -1) != planned.version:
        saw = seen.get(key)
        was = "it was not there" if saw is None else f"it was at version {saw}"
        now = "it is not there" if planned.version is None else f"it is at version {planned.version}"
        raise VersionConflict(
            f"{thing} '{planned.name}' has changed since the plan was made: {was}, now {now}; plan again",
            path=("name",),
        )


LIMITS: Final = ("max_running", "rate", "cap", "max_wait_low", "keep")
"""Settings of a group that a file may set. Pauses belong to operators."""


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """A group as a file wants it.

    Attributes:
        limits: Some of ``LIMITS`` to values; None = no limit; absent settings are not the file's business.
    """

    name: str
    limits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Plan the change of one group.

    Attributes:
        version: Of its limits before that; see ``version_of``.
        changes: The limits that are set.
    """

    name: str
    version: int
    changes: tuple[FieldChange, ...] = ()


def version_of(group: Group) -> int:
    """Return a number of 31 bits that is the same as long as the limits of a group are."""
    limits = json.dumps([shown(getattr(group, limit)) for limit in LIMITS])
    return int.from_bytes(hashlib.sha256(limits.encode()).digest()[:4]) >> 1


def limits_that_differ(group: Group, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wanted limits that a group does not have."""
    return {limit: value for limit, value in wanted.items() if getattr(group, limit) != value}


def changes_of(group: Group, differing: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Return the same for people: before and after."""
    return tuple(FieldChange(limit, shown(getattr(group, limit)), shown(value)) for limit, value in differing.items())


def check_group_version(planned: PlannedGroup, expected: Mapping[str, int] | None) -> None:
    """Refuse a group that is not as the plan saw it.

    Raises:
        VersionConflict: its limits were changed since, or the plan did not know it.
    """
    if expected is not None and expected.get(planned.name) != planned.version:
        raise VersionConflict(
            f"the limits of group '{planned.name}' have changed since the plan was made; plan again", path=("name",)
        )
