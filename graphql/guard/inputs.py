"""Weigh the variables of a request before graphql-core and Strawberry turn them into objects.

An empty input object is three bytes of JSON and takes some 0.1 ms to become an object of ours.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLSchema,
    ListTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    TypeNode,
    VariableDefinitionNode,
    get_named_type,
)

from ..base.fields import size_of

OBJECT: Final = 20
"""Weight of an input object, in values of an answer: as many take as long to make."""

ELEMENT: Final = 5
"""Weight of a value in a list, such as an id of `notIn`: it is converted several times, and becomes a parameter."""

FREE: Final = 500
"""Variables that weigh no more than this count nothing, so that what a document costs need not be counted again."""


def bulk_types(schema: GraphQLSchema) -> dict[str, int]:
    """Return the input objects of which a list may have many, by name: how many, as declared where the list is."""
    found: dict[str, int] = {}
    for kind in schema.type_map.values():
        if isinstance(kind, GraphQLInputObjectType):
            fields: Mapping[str, Any] = kind.fields
            for field in fields.values():
                size, element = size_of(field), _named(field.type)
                if size is not None and isinstance(element, GraphQLInputObjectType):
                    found[element.name] = size.most
    return found


def weigh(
    schema: GraphQLSchema,
    bulk: Mapping[str, int],
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
    most: int,
) -> dict[str, int]:
    """Return the weights of those variables that weigh more than nothing, in values of an answer.

    A list whose size is declared at its input field weighs nothing up to that size. What is in a scalar, such as
    ``JSON``, is taken as it is and weighs nothing.

    Args:
        schema: Knows the input types.
        bulk: See ``bulk_types``.
        operation: Declares the variables.
        variables: As they came.
        most: Counting stops beyond it.
    """
    found = {
        node.variable.name.value: _Weighing(schema, bulk, most).of(node, variables[node.variable.name.value])
        for node in operation.variable_definitions or ()
        if isinstance(variables.get(node.variable.name.value), dict | list)
    }
    return {name: weight for name, weight in found.items() if weight > FREE}


class _Weighing:
    """The weight of one variable."""

    def __init__(self, schema: GraphQLSchema, bulk: Mapping[str, int], most: int) -> None:
        self._schema = schema
        self._bulk = bulk
        self._most = most
        self._pending: list[tuple[object, object]] = []

    def of(self, node: VariableDefinitionNode, value: object) -> int:
        """Return the weight of a value, counted no further than a little beyond the most."""
        weight = 0
        kind = self._kind(node.type)
        if (
            isinstance(kind, GraphQLList)
            and isinstance(value, list)
            and not isinstance(_named(cast("object", kind)), GraphQLInputObjectType)
        ):
            # Such as the ids of a bulk action, which are judged and counted there.
            return len(cast("list[object]", value))
        self._pending = [(kind, value)]
        while self._pending and weight <= self._most:
            weight += self._take(*self._pending.pop())
        return weight

    def _kind(self, node: TypeNode) -> object:
        """Return the type of a variable, non-null left away; None if there is no such input type."""
        if isinstance(node, NonNullTypeNode):
            return self._kind(node.type)
        if isinstance(node, ListTypeNode):
            inner: Any = self._kind(node.type)
            return None if inner is None else GraphQLList(inner)
        return self._schema.get_type(cast("Any", node).name.value)

    def _take(self, kind: object, value: object) -> int:
        if isinstance(kind, GraphQLNonNull):
            return self._take(cast("Any", kind).of_type, value)
        if isinstance(kind, GraphQLList):
            inner: object = cast("Any", kind).of_type
            rows = cast("list[object]", value) if isinstance(value, list) else [value]
            if len(rows) <= self._bulk.get(_named(cast("object", kind)).name, 0):
                return 0
            if isinstance(_named(inner), GraphQLScalarType | GraphQLEnumType):
                return ELEMENT * len(rows)
            self._pending += [(inner, row) for row in rows[: self._most + 1]]
            return len(rows)
        if isinstance(kind, GraphQLInputObjectType) and isinstance(value, dict):
            return OBJECT + self._fields(kind, cast("dict[str, object]", value))
        return 0

    def _fields(self, kind: GraphQLInputObjectType, value: dict[str, object]) -> int:
        weight = 0
        fields: Mapping[str, Any] = kind.fields
        for name, field in fields.items():
            given = value.get(name)
            if not isinstance(given, dict | list):
                continue
            inner = cast("dict[str, object] | list[object]", given)
            size = size_of(field)
            if size is None:
                self._pending.append((field.type, inner))
            elif isinstance(inner, list) and len(inner) > size.most:
                weight += OBJECT * len(inner)
        return weight


def _named(kind: object) -> GraphQLNamedType:
    return cast("GraphQLNamedType", get_named_type(cast("Any", kind)))
