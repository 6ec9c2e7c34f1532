"""How the filters of clients become conditions of the store, within bounds."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from enum import Enum
from itertools import chain
from typing import Any, Final

import strawberry

from ...jobs.store.read.listing.criteria import AllOf, AnyOf, Condition, Criteria, Not, Operator
from ..base.arguments import camel, checked_text, parse_id, refused
from ..resolving.context import Info
from .conditions import LISTS, absent_variables
from .filters import AnyFilter, IdFilter

MAX_VALUES: Final = 1_000
"""Values that one whole filter compares with, those in lists included."""
MAX_TEXT: Final = 1_000
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
            parts += _conditions(field.name, value, f"{path}.{camel(field.name)}")
    return AllOf(tuple(parts))


def _conditions(name: str, comparison: Any, path: str) -> Iterable[Condition]:  # noqa: ANN401 - one of the field filters
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
        case Condition():
            yield criteria.value
