"""Arguments for every root field of the schema: plausible ones, and each of their leaves replaced by something odd."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
    get_named_type,
    is_leaf_type,
)

PLAUSIBLE: Mapping[str, Any] = {
    "String": "work",
    "ID": "1",
    "Int": 1,
    "Float": 1.0,
    "Boolean": True,
    "BigInt": 1,
    "Duration": 60.0,
    "Labels": {},
    "DateTime": "2031-01-31T09:30:00Z",
    "JSON": {},
}
"""By scalar; by the name of an argument below."""
BY_NAME: Mapping[str, Any] = {
    "value": "0 0 0 1 1 *", "syntax": "CRON", "timezone": "UTC", "role": "VIEWER", "field": None, "after": None,
    "before": None, "first": 2, "last": None, "expectedVersion": None, "dryRun": False, "fromStep": None,
}  # fmt: skip
DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a root field.

    Attributes:
        document: With a variable for each argument.
        variables: Their values.
        where: What is odd in them.
    """

    document: str
    variables: Mapping[str, Any]
    where: str


def plausible(name: str, kind: GraphQLInputType) -> Any:
    """A value that an argument may have; of an object only what it must have."""
    if name in BY_NAME:
        return BY_NAME[name]
    if isinstance(kind, GraphQLNonNull):
        return plausible(name, kind.of_type)
    if isinstance(kind, GraphQLList):
        return [plausible(name, kind.of_type)]
    if isinstance(kind, GraphQLEnumType):
        return next(iter(kind.values))
    if isinstance(kind, GraphQLInputObjectType):
        needed = {one: field for one, field in kind.fields.items() if isinstance(field.type, GraphQLNonNull)}
        return {one: plausible(one, field.type) for one, field in needed.items()}
    return PLAUSIBLE[kind.name]


def leaves(kind: GraphQLInputType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], GraphQLNamedType]]:
    """Path of each leaf of an argument, and its type."""
    named = get_named_type(kind)
    if isinstance(named, GraphQLInputObjectType):
        if len(path) < DEEPEST:
            for name, field in named.fields.items():
                yield from leaves(field.type, (*path, name))
    elif is_leaf_type(named):
        yield path, named


def _set(value: Any, path: tuple[str, ...], odd: Any) -> Any:
    """A copy of a value with something else at a path; members of list are those of its first one."""
    if isinstance(value, list):
        return [_set(value[0] if value else {}, path, odd)]
    if not path:
        return odd
    members = value if isinstance(value, dict) else {}
    return {**members, path[0]: _set(members.get(path[0]), path[1:], odd)}


SHOWN = frozenset({"nodes", "errors", "error", "task", "run", "runs", "explain"})


def selection(kind: GraphQLNamedType, depth: int = 0) -> str:
    """Some fields of an answer, without arguments of their own."""
    if is_leaf_type(kind):
        return ""
    if not isinstance(kind, GraphQLObjectType) or depth > 2:
        return "{ __typename }"
    chosen = ["__typename"]
    for name, field in kind.fields.items():
        named = get_named_type(field.type)
        if is_leaf_type(named) and not field.args and len(chosen) < 7:
            chosen.append(name)
        elif name in SHOWN and not any(isinstance(one.type, GraphQLNonNull) for one in field.args.values()):
            chosen.append(f"{name} {selection(named, depth + 1)}")
    return "{ " + " ".join(chosen) + " }"


def _declared(argument: GraphQLArgument) -> str:
    """The widest type that a variable for an argument may have: one with a default takes one that may be null."""
    return str(argument.type).removesuffix("!") if argument.default_value is not Undefined else str(argument.type)


def calls(schema: GraphQLSchema, operation: str, odd: Mapping[str, list[Any]]) -> Iterator[Call]:
    """Each root field with each leaf of its arguments replaced by each odd value for its type."""
    root = schema.mutation_type if operation == "mutation" else schema.query_type
    assert root is not None
    for name, field in root.fields.items():
        if not field.args:
            continue
        declared = ", ".join(f"${one}: {_declared(argument)}" for one, argument in field.args.items())
        passed = ", ".join(f"{one}: ${one}" for one in field.args)
        shown = selection(get_named_type(field.type))
        document = f"{operation}({declared}) {{ {name}({passed}) {shown} }}"
        usual = {
            one: plausible(one, argument.type)
            for one, argument in field.args.items()
            if isinstance(argument.type, GraphQLNonNull)
        }
        for one, argument in field.args.items():
            for path, kind in leaves(argument.type, (one,)):
                for value in odd.get(kind.name, odd.get("enum", []) if isinstance(kind, GraphQLEnumType) else []):
                    yield Call(document, _set(usual, path, value), f"{name}({'.'.join(path)}: {value!r:.40})")
