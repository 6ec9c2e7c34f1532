"""Whether a filter says something: every condition that is written in it needs a value.

A variable that the client forgot leaves its place empty, and an empty place is met by every row. Lists show too much
then, and mutations of many rows change too much, so neither takes such a filter.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias, cast

import strawberry

from cronograph.jobs.core.base.errors import ErrorCode
from graphql import FieldNode, ListValueNode, ObjectValueNode, ValueNode, VariableNode

from ...jobs.core.base.errors import UserError
from ..base.arguments import camel
from ..resolving.context import Info
from .filters import AnyFilter

Path: TypeAlias = tuple[str, ...]

MEANS_NO_VALUE: Final = frozenset({"eq", "ne"})
"""Operators whose null means "has no value"; in mutations this is said by ``isNull`` alone."""
PLACES: Final = frozenset({"key", "path"})
"""What says where a value is that operators compare."""
COMBINED: Final = frozenset({"and_", "or_", "not_"})


@dataclass(frozen=True, slots=True)
class Emptiness:
    """What counts as empty.

    Attributes:
        changes: Whether rows are changed: then a null is never a value, and a list of values has at least one.
    """

    changes: bool

    def of(self, filter: AnyFilter, path: Path) -> Iterator[UserError]:
        """The empty places within a filter; whether all of it is empty is asked with ``is_empty``."""
        for field in fields(filter):
            value = getattr(filter, field.name)
            if value is strawberry.UNSET:
                continue
            place = (*path, camel(field.name))
            if value is None:
                yield _fault(place, "must be a condition, got null; leave it out if it does not matter")
            elif field.name in COMBINED:
                yield from self._combined(value, place)
            else:
                yield from self._operators(value, place)

    def _combined(self, value: AnyFilter | list[AnyFilter], place: Path) -> Iterator[UserError]:
        several = value if isinstance(value, list) else None
        parts = [(place, cast("AnyFilter", value))] if several is None else _numbered(several, place)
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


def is_empty(filter: AnyFilter) -> bool:
    """Whether nothing at all is written in a filter."""
    return all(getattr(filter, field.name) is strawberry.UNSET for field in fields(filter))


def absent_variables(info: Info, argument: str, *members: str) -> Iterator[UserError]:
    """The places of a filter, as the document has it, where a variable stands that has no value.

    Args:
        info: Of the resolver.
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
        yield from _absent(node, (members or (argument,))[-1:], info.variable_values)


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
