"""Revisions of tasks, groups and jobs: the fields that a change set, and the way back to their earlier values."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final, NamedTuple, cast

from ..admission.caps import Cap, Rate, WhenFull
from ..base.errors import InvalidState
from ..defaults import TASK_POLICIES, JobInfo
from ..model import Group, Json, MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, Task, TaskSpec
from ..schedule import Syntax
from ..task_sets import LIMITS, shown
from .secrets import is_reference


class RevisedKind(StrEnum):
    """Name the things that have revisions."""

    TASK = "task"
    GROUP = "group"
    JOB = "job"


class Revised(NamedTuple):
    """Name the changed thing.

    Attributes:
        job_name: The job of a task, or the job itself; None for a group.
    """

    kind: RevisedKind
    name: str
    job_name: str | None = None


HIDDEN: Final = "$hidden"
"""The only member of an object that stands for a value which is not kept: it may be a secret."""
MOST_KEPT: Final = 20_000
"""Characters of arguments, as JSON, that a revision keeps; of longer ones it says only that they were changed."""
_SECRET: Final = re.compile(
    r"pass(word|wd|phrase)?$|secret|token|api_?key|private_?key|authorization|credential|cookie", re.IGNORECASE
)
_PAUSE: Final = ("paused_by", "pause_reason", "resume_at")
_UNREVISED: Final = frozenset({"name", "args"})


def hidden(args: Json) -> Json:
    """Return arguments without the values whose names say that they are secrets; references to secrets stay."""
    if len(json.dumps(args)) > MOST_KEPT:
        return {HIDDEN: True}
    return _hidden(args)


def _hidden(value: Json) -> Json:
    if is_reference(value):
        return value
    if isinstance(value, dict):
        members = cast("dict[str, Json]", value)
        return {name: _member(name, one) for name, one in members.items()}
    if isinstance(value, list):
        return [_hidden(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _member(name: str, value: Json) -> Json:
    may_be_one = isinstance(value, str | dict | list) and not is_reference(value)  # pyright: ignore[reportUnknownArgumentType]
    if may_be_one and _SECRET.search(name):
        return {HIDDEN: True}
    return _hidden(value)


def is_hidden(value: Json) -> bool:
    """Return whether a value was left out of a revision."""
    return isinstance(value, dict) and HIDDEN in value


def revealed(kept: Json, present: Json) -> Json:
    """Return kept arguments, with the present values in the places of hidden ones.

    Raises:
        InvalidState: there is no present value in such a place.
    """
    if is_hidden(kept):
        if present is None:
            raise InvalidState(
                "the arguments had a value then that is not kept, since it may be a secret, and have none now; set "
                "the arguments by hand",
                path=("id",),
            )
        return present
    if isinstance(kept, dict):
        members = cast("dict[str, Json]", kept)
        others = cast("dict[str, Json]", present) if isinstance(present, dict) else {}
        return {name: revealed(one, others.get(name)) for name, one in members.items()}
    if isinstance(kept, list):
        return [revealed(one, other) for one, other in _beside(cast("Json", kept), present)]
    return kept


def _beside(kept: Json, present: Json) -> Iterator[tuple[Json, Json]]:
    now: list[Json] = present[: len(kept)] if isinstance(present, list) else []  # pyright: ignore[reportUnknownVariableType]
    return zip_longest(kept, now)


def task_values(task: Task) -> dict[str, Json]:
    """Return the fields of a task that people decide about, in the words of the API, with no secrets."""
    spec = task.spec
    decided = {one.name: shown(getattr(spec, one.name)) for one in fields(TaskSpec) if one.name not in _UNREVISED}
    paused = {name: shown(getattr(task, name)) for name in _PAUSE}
    return {**decided, "args": hidden(spec.args), **paused, "set_name": task.set_name}


def group_values(group: Group) -> dict[str, Json]:
    """Return the fields of a group that people decide about, in the words of the API."""
    limits = {name: shown(getattr(group, name)) for name in LIMITS}
    return {"enabled": group.paused_at is None, **{name: shown(getattr(group, name)) for name in _PAUSE}, **limits}


def job_values(job: JobInfo) -> dict[str, Json]:
    """Return the values that the code of a job sets: version, arguments' schema as its signature, and rate."""
    defaults = {name: shown(getattr(job.defaults, name)) for name in TASK_POLICIES}
    said = {"description": job.description, "schedule": job.schedule, "isolation": shown(job.isolation)}
    rate = None if job.defaults.limits is None else shown(job.defaults.limits.rate)
    return {**said, "code_version": job.code_version, "args_schema": job.signature, **defaults, "rate": rate}


def differing(
    before: Mapping[str, Json] | None, after: Mapping[str, Json] | None
) -> tuple[dict[str, Json] | None, dict[str, Json] | None]:
    """Return the fields that differ, as they were and as they are; None stands for a thing that does not exist."""
    if before is None or after is None:
        return None if before is None else _set(before), None if after is None else _set(after)
    names = [name for name in after if before.get(name) != after[name]]
    return {name: before.get(name) for name in names}, {name: after[name] for name in names}


def _set(values: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value not in (None, "", {}, [])}


def _if_set(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "schedule": lambda value: ScheduleSpec(Syntax[value["syntax"]], value["value"], value["timezone"]),
    "priority": lambda value: Priority[value],
    "overlap": _if_set(lambda value: OverlapPolicy[value]),
    "misfire": lambda value: MisfirePolicy[value],
    "start_at": _if_set(datetime.fromisoformat),
    "end_at": _if_set(datetime.fromisoformat),
    "rate": _if_set(Rate.from_json),
    "cap": _if_set(lambda value: Cap(value["limit"], WhenFull[value["whenFull"]])),
}


def _read(name: str, value: Json) -> Any:  # noqa: ANN401 - any field
    read = _READ.get(name)
    return value if read is None else read(value)


def limits_back(values: Mapping[str, Json]) -> dict[str, Any]:
    """Return the limits of a group as they were, by their names in ``Group``; pauses are left alone."""
    return {name: _read(name, value) for name, value in values.items() if name in LIMITS}


def settings_back(spec: TaskSpec, values: Mapping[str, Json]) -> dict[str, Any]:
    """Return the settings of a task as they were, for an edit of it; pauses and its set are left alone.

    Args:
        values: The fields that were changed since, as they were.
    """
    known = {one.name for one in fields(TaskSpec)} - {"name", "enabled", "inherits", "args"}
    settings = {name: _read(name, value) for name, value in values.items() if name in known}
    if "args" in values:
        settings["args"] = revealed(values["args"], spec.args)
    inherited = spec.inherits if "inherits" not in values else frozenset(values["inherits"])
    for name in TASK_POLICIES:
        if name in inherited:
            settings.pop(name, None)
            if name not in spec.inherits:
                settings[name] = None
        elif name in spec.inherits:
            settings.setdefault(name, getattr(spec, name))
    return settings
