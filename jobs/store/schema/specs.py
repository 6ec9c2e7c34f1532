"""What a user decides about a task, and the columns of ``periodic_task`` that hold it: one map, used both ways."""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, Final

from sqlalchemy import Row

from ...core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, TaskSpec
from ...core.schedule import Syntax

_SPEC: Final[Mapping[str, str]] = {
    **{one.name: one.name for one in fields(TaskSpec) if one.name != "schedule"},
    "group": "group_name",
}
"""Column by attribute of a ``TaskSpec``; a column has the name of its attribute unless that is a word of SQL."""

_IN_FORCE: Final[Mapping[str, str]] = {"syntax": "schedule_syntax", "value": "schedule_value", "timezone": "timezone"}
_DECLARED: Final[Mapping[str, str]] = {one.name: f"declared_{one.name}" for one in fields(ScheduleSpec)}
_WORDS: Final[Mapping[str, type[Enum]]] = {
    "priority": Priority,
    "overlap": OverlapPolicy,
    "misfire": MisfirePolicy,
    "syntax": Syntax,
}
"""The attributes that are stored as a word of an enumeration."""


def spec_from(row: Row[Any]) -> TaskSpec:
    """What a user decided, read back from a whole row."""
    return TaskSpec(schedule=ScheduleSpec(**_read(row, _IN_FORCE)), **_read(row, _SPEC))


def spec_values(spec: TaskSpec) -> dict[str, Any]:
    """The columns that hold what a user decides."""
    return {**_written(spec, _SPEC), **_written(spec.schedule, _IN_FORCE)}


def declared_from(row: Row[Any]) -> ScheduleSpec | None:
    """The schedule declared in code, read back from a whole row; None if there is none."""
    return None if row.declared_syntax is None else ScheduleSpec(**_read(row, _DECLARED))


def declared_values(declared: ScheduleSpec | None) -> dict[str, Any]:
    """The columns that hold the schedule declared in code."""
    return dict.fromkeys(_DECLARED.values()) if declared is None else _written(declared, _DECLARED)


def _read(row: Row[Any], columns: Mapping[str, str]) -> dict[str, Any]:
    values = {name: getattr(row, column) for name, column in columns.items()}
    for name in _WORDS.keys() & values.keys():
        if values[name] is not None:
            values[name] = _WORDS[name](values[name])
    return values


def _written(of: TaskSpec | ScheduleSpec, columns: Mapping[str, str]) -> dict[str, Any]:
    values = {column: getattr(of, name) for name, column in columns.items()}
    return {column: value.value if isinstance(value, Enum) else value for column, value in values.items()}
