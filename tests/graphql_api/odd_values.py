"""Arguments for every root field of the schema: plausible ones, and each of their parts replaced by something odd."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

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
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_required_argument,
)


class Absent(Enum):
    """Stand for a value that is not sent."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
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
DEEPEST = 4


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
        if kind.is_one_of:
            needed = dict(list(kind.fields.items())[:1])
        return {one: plausible(one, field.type) for one, field in needed.items()}
    return PLAUSIBLE[kind.name]


def parts(kind: GraphQLInputType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path of each part of an argument, and its kind: a scalar's name, ``enum``, ``list`` or ``object``."""
    named = get_named_type(kind)
    if isinstance(get_nullable_type(kind), GraphQLList):
        yield path, "list"
    elif isinstance(named, GraphQLInputObjectType):
        yield path, "object"
    if isinstance(named, GraphQLEnumType):
        yield path, "enum"
    elif is_leaf_type(named):
        yield path, named.name
    elif isinstance(named, GraphQLInputObjectType) and len(path) < (2 if "and" in named.fields else DEEPEST):
        for name, field in named.fields.items():
            yield from parts(field.type, (*path, name))


def _set(kind: GraphQLInputType, value: Any, path: tuple[str, ...], odd: Any) -> Any:
    """A copy of a value with something else at a path; members of list are those of its first one."""
    if not path:
        return [odd] if isinstance(value, list) and not isinstance(odd, list) and odd is not None else odd
    if isinstance(value, list):
        return [_set(kind, value[0] if value else {}, path, odd)]
    named = get_named_type(kind)
    assert isinstance(named, GraphQLInputObjectType)
    given = value if isinstance(value, dict) else {}
    inner = _set(named.fields[path[0]].type, given.get(path[0]), path[1:], odd)
    kept = {} if named.is_one_of else {name: one for name, one in given.items() if name != path[0]}
    return kept if inner is ABSENT else {**kept, path[0]: inner}


SHOWN = frozenset({"nodes", "errors", "error", "task", "run", "runs", "explain"})


def selection(kind: GraphQLNamedType, depth: int = 0) -> str:
    """Some fields of an answer, without arguments of their own."""
    if is_leaf_type(kind):
        return ""
    if not isinstance(kind, GraphQLObjectType) or depth > 2:
        return "{ __typename code message }" if kind.name == "UserError" else "{ __typename }"
    chosen = ["__typename"]
    for name, field in kind.fields.items():
        named = get_named_type(field.type)
        if is_leaf_type(named) and not field.args and len(chosen) < 7:
            chosen.append(name)
        elif name in SHOWN and not any(isinstance(one.type, GraphQLNonNull) for one in field.args.values()):
            chosen.append(f"{name} {selection(named, depth + 1)}")
    return "{ " + " ".join(chosen) + " }"


def declared_type(argument: GraphQLArgument) -> str:
    """The widest type that a variable for an argument may have: one with a default takes one that may be null."""
    return str(argument.type) if is_required_argument(argument) else str(argument.type).removesuffix("!")


def calls(
    schema: GraphQLSchema, operation: str, odd: Mapping[str, list[Any]], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[Call]:
    """Yield calls of each root field, in each of which one part of the arguments is odd.

    Args:
        schema: Its root fields are called.
        operation: ``query`` or ``mutation``.
        odd: The odd values for each kind of ``parts``.
        known: Arguments that do something, by field; plausible ones for all others.
    """
    root = schema.mutation_type if operation == "mutation" else schema.query_type
    assert root is not None
    for name, field in root.fields.items():
        if not field.args:
            continue
        declared = ", ".join(f"${one}: {declared_type(argument)}" for one, argument in field.args.items())
        passed = ", ".join(f"{one}: ${one}" for one in field.args)
        shown = selection(get_named_type(field.type))
        document = f"{operation}({declared}) {{ {name}({passed}) {shown} }}"
        needed = {one: each for one, each in field.args.items() if isinstance(each.type, GraphQLNonNull)}
        usual = known.get(name) or {one: plausible(one, argument.type) for one, argument in needed.items()}
        for one, argument in field.args.items():
            for path, kind in parts(argument.type, (one,)):
                for value in odd.get(kind, []):
                    changed = _set(argument.type, usual.get(one), path[1:], value)
                    left = {key: each for key, each in usual.items() if key != one}
                    given = left if changed is ABSENT else {**left, one: changed}
                    yield Call(document, given, f"{name}({'.'.join(path)}: {value!r:.40})")
