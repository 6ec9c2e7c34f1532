"""How the filters of clients become conditions of the store, within bounds."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from enum import Enum
from itertools import chain
from typing import Any, Final, cast

import strawberry

from cronograph.jobs.core.base.errors import ErrorCode

from ...jobs.core.admission.labels import key_faults
from ...jobs.store.read.listing.criteria import (
    AllOf,
    AnyOf,
    Condition,
    Criteria,
    LabelMatch,
    MemberMatch,
    Not,
    Operator,
    PathMatch,
)
from ..base.arguments import camel, checked_text, parse_id, refused
from ..resolving.context import Info
from .conditions import LISTS, absent_variables
from .filters import AnyFilter, ArgumentFilter, FlowFilter, IdFilter, LabelFilter, TaskFilter

MAX_VALUES: Final = 1_000
"""Values that one whole filter compares with, those in lists included."""
MAX_TEXT: Final = 1_000
MAX_DEPTH: Final = 10
"""Names of the path of an argument."""
UNSPEAKABLE: Final = frozenset('"\\')
"""What SQLite cannot have in a name of a path."""
OPERATORS: Final = {"in_": Operator.IN, **{one.value: one for one in Operator if one is not Operator.IN}}


def criteria_of_list(info: Info, filter: AnyFilter | None) -> Criteria:
    """The condition behind the argument ``filter`` of a list; without a filter, and by ``{}``, everything.

    Raises:
        UserFacingError: a condition without a value, a value that is not what it must be, or too many.
    """
    if filter is not None:
        for fault in chain(absent_variables(info, "filter"), LISTS.of(filter, ("filter",))):
            raise refused(fault.message, fault.code)
    return to_criteria(filter)


def to_criteria(filter: AnyFilter | None, *further: Criteria) -> Criteria:
    """The condition behind a filter, and the further ones.

    Raises:
        UserFacingError: a value is not what it must be, or there are too many.
    """
    if filter is None:
        return AllOf(further)
    criteria = _criteria(filter, "filter")
    values = sum(1 for _ in _values(criteria))
    if values > MAX_VALUES:
        raise refused(f"filter: must compare with at most {MAX_VALUES} values in all, got {values}")
    return AllOf((criteria, *further))


def _criteria(filter: AnyFilter, path: str) -> Criteria:
    parts: list[Criteria] = []
    for field in fields(filter):
        value = getattr(filter, field.name)
        if value is None or value is strawberry.UNSET:
            continue
        if field.name == "and_":
            parts += [_criteria(one, f"{path}.and") for one in value]
        elif field.name == "or_":
            parts.append(AnyOf(tuple(_criteria(one, f"{path}.or") for one in value)))
        elif field.name == "not_":
            parts.append(Not(_criteria(value, f"{path}.not")))
        else:
            place = f"{path}.{camel(field.name)}"
            inside = isinstance(value, LabelFilter) and isinstance(filter, TaskFilter | FlowFilter)
            parts += _own_labels(value, place) if inside else _conditions(field.name, value, place)
    return AllOf(tuple(parts))


def _conditions(name: str, comparison: Any, path: str) -> Iterable[Criteria]:  # noqa: ANN401 - one of the field filters
    if isinstance(comparison, LabelFilter):
        yield from _labels(name, comparison, path)
        return
    if isinstance(comparison, ArgumentFilter):
        yield Condition(name, Operator.HAS_VALUE, _at_path(comparison, path))
        return
    convert: Callable[[Any, str], object] = parse_id if isinstance(comparison, IdFilter) else _checked
    for field in fields(comparison):
        value: Any = getattr(comparison, field.name)
        operator = OPERATORS[field.name]
        if value is strawberry.UNSET:
            continue
        if value is None:
            if operator in (Operator.EQ, Operator.NE):
                yield Condition(name, operator, None)
        elif operator in (Operator.IN, Operator.NOT_IN):
            yield Condition(name, operator, tuple(convert(one, path) for one in value))
        else:
            yield Condition(name, operator, value if operator is Operator.IS_NULL else convert(value, path))


def _labels(name: str, asked: LabelFilter, path: str) -> Iterable[Criteria]:
    for fault in key_faults(asked.key, f"{path}.key"):
        raise refused(str(fault))
    if asked.eq is not strawberry.UNSET:
        yield Condition(name, Operator.LABELLED, LabelMatch(asked.key, (_word(asked.eq, f"{path}.eq"),)))
    if asked.in_ is not strawberry.UNSET:
        values = tuple(dict.fromkeys(_word(one, f"{path}.in") for one in asked.in_ or ()))
        yield Condition(name, Operator.LABELLED, LabelMatch(asked.key, values))
    if asked.exists is not strawberry.UNSET:
        there = Condition(name, Operator.LABELLED, LabelMatch(asked.key, None))
        yield there if asked.exists else Not(there)


def _own_labels(asked: LabelFilter, path: str) -> Iterable[Criteria]:
    """``_labels`` of tasks and flows, which have theirs in a document: there are far fewer of them than runs."""
    for one in _labels("labels", asked, path):
        yield _in_document(one)


def _in_document(criteria: Criteria) -> Criteria:
    match criteria:
        case Not(part):
            return Not(_in_document(part))
        case Condition(name, Operator.LABELLED, LabelMatch(key, None)):
            return Condition(name, Operator.HAS_VALUE, MemberMatch((key,)))
        case Condition(name, Operator.LABELLED, LabelMatch(key, tuple(values))):
            return AnyOf(tuple(Condition(name, Operator.HAS_VALUE, PathMatch((key,), value)) for value in values))
        case _:
            raise AssertionError(f"{criteria} is no condition on a label")


def _word(value: str | None, path: str) -> str:
    if value is None:
        raise refused(f"{path}: must have a value, got null; runs without the label are found by `exists: false`")
    return str(_checked(value, path))


def _at_path(asked: ArgumentFilter, path: str) -> PathMatch:
    names = tuple(asked.path.split("."))
    if not all(names) or len(names) > MAX_DEPTH or set(asked.path) & UNSPEAKABLE:
        wanted = f"1 to {MAX_DEPTH} names with dots between them, without quotes and backslashes"
        raise refused(f"{path}.path: must be {wanted}, got {asked.path!r:.60}")
    if asked.eq is strawberry.UNSET:
        raise refused(f"{path}: must have an operator with a value, e.g. `eq`, got none", ErrorCode.NO_CONDITION)
    value: object = asked.eq
    if not isinstance(value, str | int | float | bool | None):
        raise refused(f"{path}.eq: must be a text, a number, a truth value or null, got {value!r:.60}")
    return PathMatch(tuple(checked_text(one, f"{path}.path") for one in names), _plain(value, path))


def _plain(value: str | float | bool | None, path: str) -> str | float | bool | None:
    return None if value is None else cast("str | float | bool", _checked(value, f"{path}.eq"))


def _checked(value: Any, path: str) -> object:  # noqa: ANN401 - any scalar
    if isinstance(value, Enum):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise refused(f"{path}: must be a finite number, got {value}")
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise refused(f"{path}: must have at most {MAX_TEXT} characters, got {len(value)}")
        return checked_text(value, path)
    return value


def _values(criteria: Criteria) -> Iterator[object]:
    match criteria:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _values(part)
        case Not(part):
            yield from _values(part)
        case Condition(_, Operator.IN | Operator.NOT_IN, values):
            yield from values
        case Condition(_, Operator.LABELLED, label):
            yield from label.values or (None,)
        case Condition():
            yield criteria.value
