"""Make the model behind a row by the places of its columns; store policies and defaults of jobs as documents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from enum import Enum, EnumType
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from sqlalchemy import Row

from ...core.admission.caps import Rate
from ...core.admission.holding import Hold
from ...core.admission.labels import LabelRule
from ...core.defaults import PER_RUN, JobDefaults
from ...core.limits import Limits, UniqueKey
from ...core.model import Json, MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, TaskSpec
from ...core.schedule import Syntax

M = TypeVar("M")

Meaning: TypeAlias = Callable[[Any], Any]
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class UnreadableValueError(ValueError):
    """A stored value that is none of its column.

    Attributes:
        column: The name of that.
    """

    def __init__(self, column: str, fault: Exception) -> None:
        super().__init__(f"column {column}: {type(fault).__name__}: {fault}")
        self.column = column


class RowReader(Generic[M]):
    """Makes a model of the columns of a row, wherever they stand among others.

    Looking up each by its name would take half a microsecond a column.

    Args:
        make: Makes the model of the values, in the order of the columns.
        columns: Their names, at least two.
        meanings: The maker of a column's value that is not stored as it is: an enumeration of its word, a function.
    """

    def __init__(self, make: Callable[..., M], columns: Iterable[str], meanings: Mapping[str, Meaning]) -> None:
        self._make = make
        self._columns = tuple(columns)
        self._named = meanings
        self._meanings = [
            (place, _reading(meanings[name])) for place, name in enumerate(self._columns) if name in meanings
        ]

    def only(self, columns: Sequence[str]) -> "RowReader[tuple[Any, ...]]":
        """Return a reader of rows that have no more than these columns, at least two: their values, in this order."""
        return RowReader(_together, columns, {name: self._named[name] for name in columns if name in self._named})

    def prefixed(self, prefix: str) -> "RowReader[M]":
        """Return a reader of rows in which the names of the columns begin with ``prefix``."""
        meanings = {prefix + name: meaning for name, meaning in self._named.items()}
        return RowReader(self._make, [prefix + name for name in self._columns], meanings)

    def __call__(self, row: Row[Any]) -> M:
        """Return the model.

        Raises:
            UnreadableValueError: a column holds an invalid value.
        """
        # Rows of one statement share this object; ``_fields`` would list the names for each row.
        statement: Any = row._parent  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        values = list(_picker(statement, self._columns)(row))
        place = 0
        try:
            for place, read in self._meanings:
                values[place] = read(values[place])
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise UnreadableValueError(self._columns[place], error) from error
        return self._make(*values)


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def reader_of(
    model: type[M], meanings: Mapping[str, Meaning] = NOTHING, columns: Mapping[str, str] = NOTHING
) -> RowReader[M]:
    """Return a reader for a dataclass; ``columns`` has those fields whose columns have another name."""
    described: Any = model
    return RowReader(model, [columns.get(field.name, field.name) for field in fields(described)], meanings)


def _reading(meaning: Meaning) -> Callable[[Any], Any]:
    if not isinstance(meaning, EnumType):
        return meaning
    return members(meaning).__getitem__


def members(words: EnumType) -> Mapping[object, Any]:
    """Return the members of an enumeration by their words; None is None.

    Looking a member up takes a third of the time of asking the enumeration.
    """
    listed: Any = words
    return {None: None, **{member.value: member for member in listed}}


@lru_cache(maxsize=256)
def _picker(statement: Any, columns: tuple[str, ...]) -> Callable[[Row[Any]], tuple[Any, ...]]:
    names = list(statement.keys)
    return itemgetter(*map(names.index, columns))


NOT_PAUSED: Final[Mapping[str, None]] = dict.fromkeys(("paused_at", "paused_by", "pause_reason", "resume_at"))
"""Values of a task, or a group, that is not paused."""
_SPEC: Final[Mapping[str, str]] = {
    **{one.name: one.name for one in fields(TaskSpec) if one.name != "schedule"},
    "group": "group_name",
}
"""Column by attribute of a ``TaskSpec``; a column has the name of its attribute unless that is a word of SQL."""

_IN_FORCE: Final[Mapping[str, str]] = {"syntax": "schedule_syntax", "value": "schedule_value", "timezone": "timezone"}
_DECLARED: Final[Mapping[str, str]] = {one.name: f"declared_{one.name}" for one in fields(ScheduleSpec)}
COLUMNS: Final = (*_SPEC.values(), *_IN_FORCE.values(), *_DECLARED.values())
"""Columns that ``spec_of`` and ``declared_of`` read."""

WORDS: Final[Mapping[str, type[Enum]]] = {
    "priority": Priority,
    "overlap": OverlapPolicy,
    "misfire": MisfirePolicy,
    "schedule_syntax": Syntax,
    "declared_syntax": Syntax,
}
"""The columns that hold a word of an enumeration."""

_OWN, _SCHEDULE = len(_SPEC), len(_IN_FORCE)
_BEFORE: Final = [one.name for one in fields(TaskSpec)].index("schedule")
"""Number of fields of a ``TaskSpec`` before its schedule; ``rate`` and ``inherits`` are the last ones."""


def spec_of(values: Sequence[Any]) -> TaskSpec:
    """Return a user's decisions, of the values of ``COLUMNS``."""
    schedule = ScheduleSpec(*values[_OWN : _OWN + _SCHEDULE])
    # By place, as each task that comes due or is listed is read in this way; a test reads back all of them.
    rate, inherits = values[_OWN - 2 : _OWN]
    limited = None if rate is None else Rate.from_json(rate)
    decided: list[Any] = [*values[:_BEFORE], schedule, *values[_BEFORE : _OWN - 2], limited, frozenset(inherits)]
    return TaskSpec(*decided)


def spec_values(spec: TaskSpec) -> dict[str, Any]:
    """Return the columns that hold a user's decisions."""
    return {**_written(spec, _SPEC), **_written(spec.schedule, _IN_FORCE)}


def declared_of(values: Sequence[Any]) -> ScheduleSpec | None:
    """Return the schedule declared in code, of the values of ``COLUMNS``; None if there is none."""
    declared = values[_OWN + _SCHEDULE :]
    return None if declared[0] is None else ScheduleSpec(*declared)


def declared_values(declared: ScheduleSpec | None) -> dict[str, Any]:
    """Return the columns that hold the schedule declared in code."""
    return dict.fromkeys(_DECLARED.values()) if declared is None else _written(declared, _DECLARED)


_STORED: Final = frozenset({PER_RUN, *(one.name for one in fields(JobDefaults))})


def defaults_from(document: Mapping[str, Json]) -> JobDefaults:
    """Return a job's declared defaults, read back from the column ``defaults``.

    Names that this version does not know are ignored: a node of a newer one has published them.
    """
    values: dict[str, Any] = {
        name: WORDS[name](value) if name in WORDS else value for name, value in document.items() if name in _STORED
    }
    if "unique_key" in values:
        values["unique_key"] = UniqueKey.from_json(values["unique_key"])
    per_run: Mapping[str, Any] | None = values.pop(PER_RUN, None)
    if per_run is not None:
        values["ttl"] = per_run.get("ttl")
        values["hold"] = Hold.from_json(per_run["hold"]) if "hold" in per_run else None
        values["labels"] = LabelRule.from_json(per_run["labels"]) if "labels" in per_run else None
    if "limits" in values:
        values["limits"] = Limits.from_json(values["limits"])
    return JobDefaults(**values)


def defaults_document(defaults: JobDefaults) -> dict[str, Json]:
    """Return the column ``defaults``: a job's declared defaults, without unset ones."""
    values = {one.name: getattr(defaults, one.name) for one in fields(JobDefaults)}
    if defaults.unique_key is not None:
        values["unique_key"] = defaults.unique_key.to_json()
    ttl, labels, hold = values.pop("ttl"), values.pop("labels"), values.pop("hold")
    per_run = {"ttl": ttl, "labels": labels and labels.to_json(), "hold": hold and hold.to_json()}
    if any(value is not None for value in per_run.values()):
        values[PER_RUN] = {name: value for name, value in per_run.items() if value is not None}
    if defaults.limits is not None:
        values["limits"] = defaults.limits.to_json()
    return {
        name: value.value if isinstance(value, Enum) else value for name, value in values.items() if value is not None
    }


def _written(of: TaskSpec | ScheduleSpec, columns: Mapping[str, str]) -> dict[str, Any]:
    return {column: _stored(getattr(of, name)) for name, column in columns.items()}


def _stored(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    if isinstance(value, Rate):
        return value.to_json()
    return value.value if isinstance(value, Enum) else value
