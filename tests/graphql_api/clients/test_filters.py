"""Every condition and every order that the schema offers, asked of a real server, one by one."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cronograph.graphql.client import Client
from graphql import (
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    print_ast,
)
from tests.generation.cli_answers import committed_schema
from tests.support.processes import CronographProcess

SCHEMA = committed_schema()
LISTS = {
    "tasks": "Task",
    "runs": "Run",
    "executions": "Execution",
    "skippedOccurrences": "SkippedOccurrence",
    "groups": "Group",
    "nodes": "Node",
}
VALUES = {
    "ID": "7",
    "String": "x",
    "Int": 3,
    "BigInt": 2**40,
    "Float": 1.5,
    "Duration": 1.5,
    "Boolean": True,
    "DateTime": "2026-03-01T12:00:00Z",
    "JSON": 7,
}
PER_REQUEST = 10


def type_text(field: GraphQLInputField) -> str:
    """The type of a field as it is written, e.g. `[RunState!]`."""
    assert field.ast_node is not None
    return print_ast(field.ast_node.type)


def named_type(field: GraphQLInputField) -> GraphQLNamedType:
    """The type of a field without its wrappers."""
    return SCHEMA.type_map[type_text(field).strip("[]!")]


def value_of(field: GraphQLInputField) -> Any:
    """Some value of the type of a field."""
    named = named_type(field)
    single = next(iter(named.values)) if isinstance(named, GraphQLEnumType) else VALUES[named.name]
    return [single] if type_text(field).startswith("[") else single


def fields_of(thing: str) -> dict[str, GraphQLInputField]:
    """The fields of the filter of a list."""
    kind = SCHEMA.type_map[f"{thing}Filter"]
    assert isinstance(kind, GraphQLInputObjectType)
    return {name: field for name, field in kind.fields.items() if named_type(field) is not kind}


def conditions(thing: str, name: str) -> Iterator[dict[str, Any]]:
    """One filter for each operator of a field."""
    operators = named_type(fields_of(thing)[name])
    assert isinstance(operators, GraphQLInputObjectType)
    # What says of which label or argument something is asked.
    key = {one: value_of(field) for one, field in operators.fields.items() if type_text(field).endswith("!")}
    for operator, operand in operators.fields.items():
        if operator not in key:
            yield {name: {**key, operator: value_of(operand)}}
        if operator in {"eq", "ne"} and not key:
            yield {name: {operator: None}}


def orders(thing: str) -> list[list[dict[str, str]]]:
    """Each field in both directions."""
    kind = SCHEMA.type_map[f"{thing}OrderField"]
    assert isinstance(kind, GraphQLEnumType)
    return [[{"field": name, "direction": direction}] for name in kind.values for direction in ("ASC", "DESC")]


def ask_all(server: CronographProcess, field: str, argument: str, kind: str, values: Sequence[object]) -> None:
    """Ask for a list with each of these values of an argument, some of them in one request."""
    with Client(server.url) as client:
        for start in range(0, len(values), PER_REQUEST):
            part = {f"v{number}": value for number, value in enumerate(values[start : start + PER_REQUEST])}
            declared = ", ".join(f"${name}: {kind}" for name in part)
            lists = " ".join(
                f"{name}: {field}(first: 2, {argument}: ${name}) {{ nodes {{ __typename }} totalCount }}"
                for name in part
            )
            assert client.execute(f"query({declared}) {{ {lists} }}", part).keys() == part.keys()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("field", "thing", "name"),
    [(field, thing, name) for field, thing in LISTS.items() for name in fields_of(thing)],
)
def test_every_condition_is_answered(server: CronographProcess, field: str, thing: str, name: str) -> None:
    ask_all(server, field, "filter", f"{thing}Filter", list(conditions(thing, name)))


@pytest.mark.parametrize(("field", "thing"), LISTS.items())
def test_conditions_are_combined(server: CronographProcess, field: str, thing: str) -> None:
    key = "id" if "id" in fields_of(thing) else "name"
    combined: dict[str, object] = {"and": [{key: {"ne": "1"}}], "or": [{key: {"eq": "2"}}], "not": {key: {"in": []}}}
    ask_all(server, field, "filter", f"{thing}Filter", [combined])


@pytest.mark.parametrize(("field", "thing"), LISTS.items())
def test_every_order_is_answered(server: CronographProcess, field: str, thing: str) -> None:
    ask_all(server, field, "orderBy", f"[{thing}Order!]", orders(thing))
