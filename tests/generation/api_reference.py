"""Writes the reference of the API, `docs/api-reference.md`, from the schema's text.

`python -m tests.generation.api_reference` prints it; `make schema` writes it. Everything in it is a
description of the schema: to change a sentence there, change the schema.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    is_specified_scalar_type,
    print_ast,
)
from tests.support.sources import ROOT

SDL: Final = ROOT / "graphql" / "schema.graphql"
"""The text of the schema that is kept with the code."""

HEAD: Final = """# API reference

Made from `graphql/schema.graphql` by `make schema`; do not edit it. [api.md](api.md) shows how to call the API.
"""

LISTS: Final = """Lists are pages: `first` and `after` read forwards, `last` and `before` backwards, at most 200 rows at
a time, 50 unless asked otherwise. A cursor belongs to one list in one order. `totalCount` is counted only when asked
for, up to 10,000; 10,001 means more than that.
"""

PAGING: Final = frozenset({"first", "after", "last", "before"})
ROOTS: Final = (("Query", "Queries"), ("Mutation", "Mutations"), ("Subscription", "Subscriptions"))
BUILT_IN: Final = frozenset({"Boolean", "Float", "ID", "Int", "String"})
OWN_SCALARS: Final = frozenset({"BigInt", "DateTime", "Duration", "JSON", "Labels"})
CONNECTION: Final = re.compile(r"(Connection|Edge)$")


def reference(sdl: str) -> str:
    """The whole page as Markdown."""
    return "\n".join(_page(build_schema(sdl))).rstrip() + "\n"


def _page(schema: GraphQLSchema) -> Iterator[str]:
    yield HEAD
    for root, title in ROOTS:
        kind = schema.type_map[root]
        if isinstance(kind, GraphQLObjectType):
            yield from _operations(kind, title)
    types = [kind for name, kind in sorted(schema.type_map.items()) if not name.startswith("__")]
    objects = [kind for kind in types if isinstance(kind, GraphQLObjectType) and kind.name not in dict(ROOTS)]
    yield "## Objects\n"
    for kind in objects:
        if not CONNECTION.search(kind.name):
            yield from _object(kind)
    yield from _abstract(schema, types)
    yield "## Lists\n"
    yield LISTS
    yield from _rows("list", "rows", ((_anchored(kind), _node(schema, kind)) for kind in objects if _is_list(kind)))
    yield "## Inputs\n"
    for kind in types:
        if isinstance(kind, GraphQLInputObjectType):
            yield from _input(kind)
    yield "## Enums\n"
    for kind in types:
        if isinstance(kind, GraphQLEnumType):
            yield from _enum(kind)
    yield "## Scalars\n"
    scalars = (kind for kind in types if isinstance(kind, GraphQLScalarType) and not is_specified_scalar_type(kind))
    yield from _rows("scalar", "", ((_anchored(kind), _text(kind.description)) for kind in scalars))


def _operations(root: GraphQLObjectType, title: str) -> Iterator[str]:
    """One section for each field of a root, with a table of its arguments."""
    yield f"## {title}\n"
    yield f"{_text(root.description)}\n"
    for name, field in root.fields.items():
        yield f"### `{name}`\n"
        yield f"{_text(field.description)}\n"
        yield f"Answers {_type(field)}.{_pages(field)}\n"
        arguments = _without_paging(field.args)
        if arguments:
            yield from _inputs("argument", arguments)


def _object(kind: GraphQLObjectType) -> Iterator[str]:
    yield from _heading(kind)
    rows = ((_field(name, field), _type(field), _meaning(field)) for name, field in kind.fields.items())
    yield from _rows("field", "type", rows, "")


def _abstract(schema: GraphQLSchema, types: Iterable[GraphQLNamedType]) -> Iterator[str]:
    yield "## Unions and interfaces\n"
    for kind in types:
        if isinstance(kind, GraphQLUnionType):
            yield from _union(kind)
        elif isinstance(kind, GraphQLInterfaceType):
            yield from _interface(schema, kind)


def _union(kind: GraphQLUnionType) -> Iterator[str]:
    yield from _heading(kind)
    yield f"One of {', '.join(_linked(one.name) for one in kind.types)}.\n"


def _interface(schema: GraphQLSchema, kind: GraphQLInterfaceType) -> Iterator[str]:
    yield from _heading(kind)
    yield from _rows(
        "field", "type", ((f"`{name}`", _type(one), _meaning(one)) for name, one in kind.fields.items()), ""
    )
    yield f"Of {' · '.join(sorted(_linked(one.name) for one in schema.get_implementations(kind).objects))}.\n"


def _linked(name: str) -> str:
    return f"[{name}](#{_anchor(name)})"


def _input(kind: GraphQLInputObjectType) -> Iterator[str]:
    yield from _heading(kind)
    yield from _inputs("field", kind.fields)


def _enum(kind: GraphQLEnumType) -> Iterator[str]:
    yield from _heading(kind)
    yield from _rows("value", "", ((f"`{name}`", _text(value.description)) for name, value in kind.values.items()))


def _inputs(head: str, fields: Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField]) -> Iterator[str]:
    rows = ((f"`{name}`", _type(field) + _default(field), _meaning(field)) for name, field in fields.items())
    yield from _rows(head, "type", rows, "")


def _heading(kind: GraphQLNamedType) -> Iterator[str]:
    # Headings of queries and of types may differ in case only, which the page's own anchors do not tell apart.
    yield f'<a id="type-{kind.name.lower()}"></a>\n'
    yield f"### {kind.name}\n"
    yield f"{_text(kind.description)}\n"


def _rows(first: str, second: str, rows: Iterable[tuple[str, ...]], *more: str) -> Iterator[str]:
    """A table; a bar in a cell would end it."""
    heads = (first, second, *more)
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _field(name: str, field: GraphQLField) -> str:
    arguments = ", ".join(_without_paging(field.args))
    return f"`{name}({arguments})`" if arguments else f"`{name}`"


def _meaning(field: GraphQLField | GraphQLArgument | GraphQLInputField) -> str:
    details = ""
    if isinstance(field, GraphQLField):
        given = _without_paging(field.args).items()
        details = "".join(f"<br>`{name}`: {_text(argument.description)}" for name, argument in given)
    return f"{_text(field.description)}{details}"


def _without_paging(arguments: Mapping[str, GraphQLArgument]) -> dict[str, GraphQLArgument]:
    """The arguments that are not the four of every list: those are described once."""
    if not arguments.keys() >= PAGING:
        return dict(arguments)
    return {name: argument for name, argument in arguments.items() if name not in PAGING}


def _pages(field: GraphQLField) -> str:
    return " Takes `first`, `after`, `last` and `before` (see [Lists](#lists))." if field.args.keys() >= PAGING else ""


def _type(field: GraphQLField | GraphQLArgument | GraphQLInputField) -> str:
    """The type as it is written, with a link to where it is described."""
    text = print_ast(field.ast_node.type) if field.ast_node is not None else ""
    name = text.strip("[]!")
    return text.replace(name, f"[{name}](#{_anchor(name)})") if name not in BUILT_IN else f"`{text}`"


def _anchor(name: str) -> str:
    if CONNECTION.search(name):
        return "lists"
    return "scalars" if name in OWN_SCALARS else f"type-{name.lower()}"


def _default(field: GraphQLArgument | GraphQLInputField) -> str:
    value = field.ast_node.default_value if field.ast_node is not None else None
    text = "" if value is None else print_ast(value)
    return f" = `{text}`" if text not in {"", "null"} else ""


def _anchored(kind: GraphQLNamedType) -> str:
    return f"`{kind.name}`"


def _is_list(kind: GraphQLObjectType) -> bool:
    return kind.name.endswith("Connection")


def _node(schema: GraphQLSchema, kind: GraphQLObjectType) -> str:
    edge = schema.type_map[kind.name.replace("Connection", "Edge")]
    return _type(edge.fields["node"]) if isinstance(edge, GraphQLObjectType) else ""


def _text(description: str | None) -> str:
    return " ".join((description or "").split())


if __name__ == "__main__":
    sys.stdout.write(reference(SDL.read_text(encoding="utf-8")))
