"""The shape of what a GraphQL document answers: from the schema, so that both cannot differ."""
# graphql-core does not say what its lists and what may not be null hold.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from functools import cache
from typing import Any, Final

from graphql import (
    FieldNode,
    GraphQLEnumType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    build_schema,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
    parse,
)

from ..schema import KEPT
from .shapes import ANY, FLAG, INTEGER, NUMBER, TEXT, TIME, Shape, many, maybe, one_of, thing

_SCALARS: Final[dict[str, Shape]] = {
    "ID": TEXT,
    "String": TEXT,
    "Int": INTEGER,
    "BigInt": INTEGER,
    "Float": NUMBER,
    "Boolean": FLAG,
    "DateTime": TIME,
    "JSON": ANY,
}


def answered(document: str, path: str) -> Shape:
    """The shape of what a document answers at a path, without null.

    Args:
        document: With one operation.
        path: The fields that lead there, with dots, e.g. ``runs.nodes``; those of a list are those of its members.
    """
    (operation,) = parse(document).definitions
    assert isinstance(operation, OperationDefinitionNode)
    parent: GraphQLNamedType | None = committed_schema().get_root_type(operation.operation)
    selections: SelectionSetNode | None = operation.selection_set
    kind: Any = None
    for name in path.split("."):
        assert isinstance(parent, GraphQLObjectType)
        assert selections is not None
        node = _selected(selections, name)
        kind = parent.fields[node.name.value].type
        parent, selections = get_named_type(kind), node.selection_set
    return _shape(get_nullable_type(kind), selections, nullable=False)


def scalars_of(name: str, left_out: frozenset[str]) -> dict[str, Shape]:
    """The fields of a type that have no fields of their own, with their shapes."""
    kind = committed_schema().type_map[name]
    assert isinstance(kind, GraphQLObjectType)
    return {
        field_name: _shape(field.type, None)
        for field_name, field in kind.fields.items()
        if not isinstance(get_named_type(field.type), GraphQLObjectType) and field_name not in left_out
    }


@cache
def committed_schema() -> GraphQLSchema:
    """The API's schema as its file has it, parsed once in a process; nobody changes it."""
    return build_schema(KEPT.read_text(encoding="utf-8"))


def _selected(selections: SelectionSetNode, name: str) -> FieldNode:
    return next(one for one in _fields(selections) if _answer_name(one) == name)


def _fields(selections: SelectionSetNode) -> list[FieldNode]:
    return [one for one in selections.selections if isinstance(one, FieldNode)]


def _answer_name(node: FieldNode) -> str:
    return node.alias.value if node.alias else node.name.value


def _shape(
    kind: Any,  # noqa: ANN401 - a type of the API in any wrapping
    selections: SelectionSetNode | None,
    *,
    nullable: bool = True,
) -> Shape:
    if is_non_null_type(kind):
        return _shape(kind.of_type, selections, nullable=False)
    if is_list_type(kind):
        found = many(_shape(kind.of_type, selections))
    elif isinstance(kind, GraphQLEnumType):
        found = one_of(*kind.values)
    elif isinstance(kind, GraphQLObjectType):
        assert selections is not None
        fields = {
            _answer_name(node): _shape(kind.fields[node.name.value].type, node.selection_set)
            for node in _fields(selections)
        }
        found = thing(fields, kind.name)
    else:
        found = _SCALARS[get_named_type(kind).name]
    return maybe(found) if nullable else found
