"""The typed filters of lists: their form for clients, whether they say something, and the conditions of the store.

A noun declares its filter next to its type, by ``filter_of`` and ``condition``. All conditions within one filter must
hold, and a field has the name of the field of the store that it compares.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from itertools import chain
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar, cast, dataclass_transform

import strawberry
from strawberry.scalars import JSON

from graphql import FieldNode, ListValueNode, ObjectValueNode, ValueNode, VariableNode

from ...jobs.core.admission.labels import key_faults
from ...jobs.core.base.errors import ErrorCode, UserError
from ...jobs.store.statements.listing.criteria import (
    AllOf,
    AnyOf,
    Condition,
    Criteria,
    LabelMatch,
    MemberMatch,
    Not,
    Operator,
    PathMatch,
    equal,
)
from ..base.scalars import BigInt, Duration, camel, checked_text, parse_id, refused
from ..resolving.context import Info

K = TypeVar("K")
T = TypeVar("T")

EQ: Final = "Equal to this; null = has no value."
NE: Final = "Different from this, or without a value; null = has a value."
IN: Final = "Equal to one of these."
NOT_IN: Final = "Equal to none of these, or without a value."
GT: Final = "Greater or later than this."
GTE: Final = "At least this."
LT: Final = "Less or earlier than this."
LTE: Final = "At most this."
IS_NULL: Final = "Whether it has no value."
AND: Final = "All of these must hold as well."
OR: Final = "At least one of these must hold as well."
NOT: Final = "This must not hold."


def condition(description: str, name: str | None = None) -> Any:  # noqa: ANN401 - a field specifier
    """Return a field of a filter that may be absent."""
    return strawberry.field(description=description, name=name, default=strawberry.UNSET)


class RowFilter:
    """Base of the filters of rows.

    Attributes:
        OWN_LABELS: Whether the rows have their labels in a document of their own, as tasks and flows do.
        SHOWN_IF: Fields of which only rows show a value where another field is true.
    """

    OWN_LABELS: ClassVar[bool] = False
    SHOWN_IF: ClassVar[Mapping[str, str]] = {}


@dataclass_transform(kw_only_default=True, field_specifiers=(strawberry.field,))
def filter_of(which: str) -> Callable[[type[K]], type[K]]:
    """A filter of rows: its own conditions, and then those that put filters of its kind together."""

    def complete(kind: type[K]) -> type[K]:
        several, one = list[kind] | None, kind | None  # type: ignore[valid-type]
        for name, hint, words in (("and", several, AND), ("or", several, OR), ("not", one, NOT)):
            kind.__annotations__[f"{name}_"] = hint
            setattr(kind, f"{name}_", condition(words, name))
        return strawberry.input(kind, description=f"{which} All conditions must hold.")

    return complete


@strawberry.input(description="Conditions on a text.")
class StringFilter:
    """Texts."""

    eq: str | None = condition(EQ)
    ne: str | None = condition(NE)
    in_: list[str] | None = condition(IN, "in")
    not_in: list[str] | None = condition(NOT_IN)
    contains: str | None = condition("Contains this text, ignoring the case of letters.")
    starts_with: str | None = condition("Begins with this text, ignoring the case of letters.")
    is_null: bool | None = condition(IS_NULL)


@strawberry.input
class Ordered(Generic[T]):
    """Order values: they can be greater or less."""

    eq: T | None = condition(EQ)
    ne: T | None = condition(NE)
    in_: list[T] | None = condition(IN, "in")
    not_in: list[T] | None = condition(NOT_IN)
    gt: T | None = condition(GT)
    gte: T | None = condition(GTE)
    lt: T | None = condition(LT)
    lte: T | None = condition(LTE)
    is_null: bool | None = condition(IS_NULL)


@strawberry.input(description="Conditions on a time.")
class DateTimeFilter(Ordered[datetime]):
    """Times."""


@strawberry.input(description="Conditions on a whole number.")
class IntFilter(Ordered[int]):
    """Numbers of 32 bits."""


@strawberry.input(description="Conditions on a whole number of up to 64 bits.")
class BigIntFilter(Ordered[BigInt]):
    """Numbers of 64 bits."""


@strawberry.input(description="Conditions on a length of time in seconds.")
class DurationFilter(Ordered[Duration]):
    """Numbers of seconds."""


@strawberry.input(description="Conditions on a key.")
class IdFilter(Ordered[strawberry.ID]):
    """Decimal keys; they ascend in the order in which rows were made."""


@strawberry.input(description="Conditions on a truth value.")
class BooleanFilter:
    """True or false."""

    eq: bool | None = condition(EQ)
    ne: bool | None = condition(NE)
    is_null: bool | None = condition(IS_NULL)


@strawberry.input(description="Conditions on a value of an enum.")
class Filter(Generic[T]):
    """One class for all enums: ``Filter[RunState]`` is ``RunStateFilter`` in the schema."""

    eq: T | None = condition(EQ)
    ne: T | None = condition(NE)
    in_: list[T] | None = condition(IN, "in")
    not_in: list[T] | None = condition(NOT_IN)
    is_null: bool | None = condition(IS_NULL)


@strawberry.input(description="Conditions on a label: `key`, and one of `eq`, `in` and `exists`.")
class LabelFilter:
    """A label of a run, a task or a flow."""

    key: str = strawberry.field(description="The key of the label.")
    eq: str | None = condition("The label has this value.")
    in_: list[str] | None = condition("The label has one of these values.", "in")
    exists: bool | None = condition("Whether there is a label with this key.")


@strawberry.input(description="Conditions on an argument. No index finds rows by it.")
class ArgumentFilter:
    """A value inside of the arguments."""

    path: str = strawberry.field(
        description="The place of the value: names with dots between them, e.g. `customer.id`."
    )
    eq: JSON | None = condition("The value is this text, number or truth value; null = the value is null.")


Path: TypeAlias = tuple[str, ...]

MEANS_NO_VALUE: Final = frozenset({"eq", "ne"})
"""Operators whose null means "has no value"; in mutations this is said by ``isNull`` alone."""
PLACES: Final = frozenset({"key", "path"})
"""Fields that name the place of the value that operators compare."""
COMBINED: Final = frozenset({"and_", "or_", "not_"})


@dataclass(frozen=True, slots=True)
class Emptiness:
    """Name the values that count as empty.

    Attributes:
        changes: Whether rows are changed: then a null is never a value, and a list of values has at least one.
    """

    changes: bool

    def of(self, filter: RowFilter, path: Path) -> Iterator[UserError]:
        """Yield the empty places within a filter; whether all of it is empty is asked with ``is_empty``."""
        for field in fields(cast("Any", filter)):
            value = getattr(filter, field.name)
            if value is strawberry.UNSET:
                continue
            place = (*path, _name_of(field))
            if value is None:
                yield _fault(place, "must be a condition, got null; leave it out if it does not matter")
            elif field.name in COMBINED:
                yield from self._combined(value, place)
            else:
                yield from self._operators(value, place)

    def _combined(self, value: RowFilter | list[RowFilter], place: Path) -> Iterator[UserError]:
        several = value if isinstance(value, list) else None
        parts = [(place, cast("RowFilter", value))] if several is None else _numbered(several, place)
        if not parts:
            yield _fault(place, "must have at least one filter, got an empty list")
        for inner, part in parts:
            if is_empty(part):
                yield _fault(inner, "must have at least one condition, got none")
            yield from self.of(part, inner)

    def _operators(self, comparison: Any, place: Path) -> Iterator[UserError]:  # noqa: ANN401 - one of the field filters
        given = [(field.name, getattr(comparison, field.name)) for field in fields(comparison)]
        given = [(name, value) for name, value in given if name not in PLACES]
        present = [(name, value) for name, value in given if value is not strawberry.UNSET]
        if not present:
            yield _fault(place, "must have an operator with a value, e.g. `eq`, got none")
        for name, value in present:
            inner = (*place, camel(name))
            if value is None and (self.changes or name not in MEANS_NO_VALUE):
                yield _fault(inner, "must have a value, got null; rows without a value are found by `isNull: true`")
            elif self.changes and value == []:
                yield _fault(inner, "must have at least one value, got an empty list")


LISTS: Final = Emptiness(changes=False)
MUTATIONS: Final = Emptiness(changes=True)


def _name_of(field: Any) -> str:  # noqa: ANN401 - Strawberry's fields know more than those of dataclasses
    name: str | None = field.graphql_name
    return name or camel(field.name)


def is_empty(filter: RowFilter) -> bool:
    """Return whether nothing at all is written in a filter."""
    return all(getattr(filter, field.name) is strawberry.UNSET for field in fields(cast("Any", filter)))


def absent_variables(info: Info, argument: str, *members: str) -> Iterator[UserError]:
    """Yield the places of a filter, as the document has it, where a variable stands that has no value.

    Args:
        argument: Which argument of its field leads to the filter.
        *members: Which members of that do.
    """
    # Strawberry shows no arguments as they are written.
    written = cast("list[FieldNode]", cast("Any", info)._raw_info.field_nodes)  # noqa: SLF001
    node: ValueNode | None = next(
        (one.value for field in written for one in field.arguments or () if one.name.value == argument), None
    )
    for member in members:
        node = _member(node, member)
    if node is not None and not isinstance(node, VariableNode):
        yield from _absent(node, members or (argument,), info.variable_values)


def _member(node: ValueNode | None, name: str) -> ValueNode | None:
    found = node.fields if isinstance(node, ObjectValueNode) else ()
    return next((one.value for one in found if one.name.value == name), None)


def _absent(node: ValueNode, path: Path, known: Mapping[str, object]) -> Iterator[UserError]:
    if isinstance(node, VariableNode):
        if node.name.value not in known:
            yield _fault(path, f"must have a value, but the variable ${node.name.value} has none")
    elif isinstance(node, ListValueNode):
        for inner, one in _numbered(node.values, path):
            yield from _absent(one, inner, known)
    elif isinstance(node, ObjectValueNode):
        for one in node.fields:
            yield from _absent(one.value, (*path, one.name.value), known)


def _numbered(parts: Any, path: Path) -> list[tuple[Path, Any]]:  # noqa: ANN401 - a sequence of either kind
    return [((*path, str(place)), part) for place, part in enumerate(parts)]


def _fault(path: Path, problem: str) -> UserError:
    return UserError(f"{'.'.join(path)}: {problem}", path=path, code=ErrorCode.NO_CONDITION)


MAX_VALUES: Final = 1_000
"""Values that one whole filter compares with, those in lists included."""
MAX_TEXT: Final = 1_000
MAX_DEPTH: Final = 10
"""Names of the path of an argument."""
UNSPEAKABLE: Final = frozenset('"\\')
"""Characters that SQLite cannot have in a name of a path."""
OPERATORS: Final = {"in_": Operator.IN, **{one.value: one for one in Operator if one is not Operator.IN}}


def criteria_of_list(info: Info, filter: RowFilter | None) -> Criteria:
    """Return the condition behind the argument ``filter`` of a list; without a filter, and by ``{}``, everything.

    Raises:
        UserFacingError: a condition without a value, a wrong value, or too many.
    """
    if filter is not None:
        for fault in chain(absent_variables(info, "filter"), LISTS.of(filter, ("filter",))):
            raise refused(fault.message, fault.code)
    return to_criteria(filter)


def to_criteria(filter: RowFilter | None, *further: Criteria) -> Criteria:
    """Return the condition behind a filter, and the further ones.

    Raises:
        UserFacingError: a value is wrong, or there are too many.
    """
    if filter is None:
        return AllOf(further)
    criteria = _criteria(filter, "filter")
    values = sum(1 for _ in _values(criteria))
    if values > MAX_VALUES:
        raise refused(f"filter: must compare with at most {MAX_VALUES} values in all, got {values}")
    return AllOf((criteria, *further))


def _criteria(filter: RowFilter, path: str) -> Criteria:
    parts: list[Criteria] = []
    for field in fields(cast("Any", filter)):
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
            place = f"{path}.{_name_of(field)}"
            inside = isinstance(value, LabelFilter) and filter.OWN_LABELS
            found = _own_labels(value, place) if inside else _conditions(field.name, value, place)
            flag = filter.SHOWN_IF.get(field.name)
            parts += found if flag is None else (_of_shown(one, flag) for one in found)
    return AllOf(tuple(parts))


def _of_shown(criteria: Criteria, flag: str) -> Criteria:
    """Return a condition on a field that has no value in rows where ``flag`` is false."""
    assert isinstance(criteria, Condition), "such a field is compared"
    no_value = criteria.value is None
    holds = {Operator.EQ: no_value, Operator.NE: not no_value, Operator.NOT_IN: True, Operator.IS_NULL: criteria.value}
    if holds.get(criteria.operator, False):
        return AnyOf((equal(flag, False), criteria))
    return AllOf((equal(flag, True), criteria))


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
    """Yield ``_labels`` for tasks and flows, whose labels are in a document: there are far fewer of them than runs."""
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
