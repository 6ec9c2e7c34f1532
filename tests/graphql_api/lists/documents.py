"""Documents that ask for everything there is, made from the schema: one for each field of the query."""

from collections.abc import Iterator, Mapping

from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)

DEEP = 2
"""So many levels of objects."""
ROWS = 100
INNER_ROWS = 3


def documents(schema: GraphQLSchema, arguments: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """By field of the query, a document that asks for all that it leads to.

    Args:
        schema: The schema.
        arguments: What required arguments are given, by field.
    """
    query = schema.query_type
    assert query is not None
    for name, field in query.fields.items():
        given = arguments.get(name, "")
        required = [f"{key}: {one.type}" for key, one in field.args.items() if is_required_argument(one)]
        assert given or not required, (
            f"Query.{name} has required arguments ({', '.join(required)}): say in `arguments` what it is given here"
        )
        selected = _selected(schema, field, DEEP, (), given)
        yield name, f"{{ {name}{selected} }}"


def _selected(schema: GraphQLSchema, field: GraphQLField, depth: int, above: tuple[str, ...], given: str = "") -> str:
    rows = INNER_ROWS if above else ROWS
    sized = [f"{size}: {rows}" for size in ("first", "limit") if size in field.args and not given]
    arguments = f"({given or ', '.join(sized)})" if given or sized else ""
    kind = get_named_type(field.type)
    if is_leaf_type(kind):
        return arguments
    if isinstance(kind, GraphQLUnionType | GraphQLInterfaceType):
        return f"{arguments} {{ __typename }}"
    assert isinstance(kind, GraphQLObjectType)
    return f"{arguments} {{ {' '.join(_fields(schema, kind, depth, above))} }}"


def _fields(schema: GraphQLSchema, kind: GraphQLObjectType, depth: int, above: tuple[str, ...]) -> Iterator[str]:
    connection = kind.name.endswith("Connection")
    yield "__typename"
    for name, field in kind.fields.items():
        inner = get_named_type(field.type)
        if any(map(is_required_argument, field.args.values())):
            continue
        if is_leaf_type(inner):
            yield name + _selected(schema, field, depth, above)
        elif depth > 0 and inner.name not in above and not (connection and name == "edges"):
            yield name + _selected(schema, field, depth - (not connection), (*above, kind.name))
