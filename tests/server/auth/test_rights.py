"""Who may do what: every root field has a rule, and it holds for every role on every way into the API."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.jobs.core.actor import Role
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationType,
    build_schema,
    is_abstract_type,
    is_leaf_type,
    is_required_argument,
    is_required_input_field,
)
from tests.server.auth.serving import Protected, protected

ROOTS = (OperationType.QUERY, OperationType.MUTATION, OperationType.SUBSCRIPTION)
SILENT = frozenset({"events", "executions"})
"""Subscriptions that say nothing until something happens."""
SCALARS = {
    "Int": "1",
    "Float": "1",
    "Boolean": "true",
    "ID": '"1"',
    "BigInt": "1",
    "Duration": "1",
    "JSON": "{}",
    "Labels": "{}",
}


def core(schema: GuardedSchema) -> GraphQLSchema:
    return build_schema(schema.as_str())


def root_fields(schema: GraphQLSchema) -> Iterator[tuple[OperationType, GraphQLObjectType, str, GraphQLField]]:
    for operation in ROOTS:
        kind = schema.get_root_type(operation)
        assert kind is not None
        for name, field in kind.fields.items():
            yield operation, kind, name, field


def document(operation: OperationType, name: str, field: Any) -> str:
    """The shortest document that asks for a field."""
    given = [
        f"{one}: {literal(argument.type)}" for one, argument in field.args.items() if is_required_argument(argument)
    ]
    arguments = f"({', '.join(given)})" if given else ""
    below = "" if is_leaf_type(named(field.type)) else " { __typename }"
    return f"{operation.value} {{ {name}{arguments}{below} }}"


def named(kind: Any) -> Any:
    """The type within lists and non-nulls."""
    while hasattr(kind, "of_type"):
        kind = kind.of_type
    return kind


def literal(wanted: Any) -> str:
    """A value that validation lets pass."""
    text = str(wanted).removesuffix("!")
    if text.startswith("["):
        return f"[{literal(named(wanted))}]"
    kind = named(wanted)
    if isinstance(kind, GraphQLEnumType):
        return str(next(iter(kind.values)))
    if isinstance(kind, GraphQLInputObjectType):
        needed = [(name, one.type) for name, one in kind.fields.items() if is_required_input_field(one)]
        if kind.is_one_of:
            needed = [(name, one.type) for name, one in kind.fields.items()][:1]
        return "{" + ", ".join(f"{name}: {literal(type_)}" for name, type_ in needed) + "}"
    return SCALARS.get(text, '"x"')


def test_every_root_field_says_which_role_it_needs(schema: GuardedSchema) -> None:
    named = {(kind.name, name) for _, kind, name, _ in root_fields(core(schema))}
    assert named - set(schema.rules) == set()


def test_every_mutation_needs_more_than_a_look(schema: GuardedSchema) -> None:
    weak = [name for (kind, name), role in schema.rules.items() if kind == "Mutation" and role is Role.VIEWER]
    assert set(weak) <= OF_ONESELF


def test_the_sdl_shows_the_rules(schema: GuardedSchema) -> None:
    text = schema.as_str()
    assert "directive @needsRole(role: Role!) on FIELD_DEFINITION" in text
    assert text.count("@needsRole(role: ") == len(schema.rules) + 1


def type_of(field: Any) -> str:
    """The name of what a field answers, within lists and non-nulls."""
    return str(named(field.type).name)


def reached(schema: GuardedSchema, role: Role) -> set[str]:
    """The types of which somebody with this role can ask for fields."""
    graph, found, wanted = core(schema), set[str](), [kind.name for _, kind, *_ in root_fields(core(schema))]
    while wanted:
        kind = graph.get_type(wanted.pop())
        if kind is None or kind.name in found:
            continue
        found.add(kind.name)
        if is_abstract_type(kind):
            wanted += [one.name for one in graph.get_possible_types(kind)]
        if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            rules = {name: schema.rules.get((kind.name, name), role) for name in kind.fields}
            wanted += [type_of(field) for name, field in kind.fields.items() if role.includes(rules[name])]
    return found


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_what_a_role_may_not_list_it_reaches_by_no_other_field(schema: GuardedSchema, role: Role) -> None:
    graph = core(schema)
    kept_back = {
        type_of(field).removesuffix("Connection")
        for _, kind, name, field in root_fields(graph)
        if kind is graph.query_type and not role.includes(schema.rules[kind.name, name])
    }
    assert {"Account", "AuditEntry"} <= kept_back
    assert kept_back <= set(graph.type_map)
    assert kept_back & reached(schema, role) == set()


OF_ONESELF = frozenset(
    {
        "createApiToken",
        "revokeApiToken",
        "endSessions",
        "renamePasskey",
        "deletePasskey",
        "deleteIdentity",
        "saveView",
        "updateView",
        "deleteView",
    }
)
"""Mutations that change nothing but what is one's own."""


@pytest.mark.costly
@pytest.mark.timeout(300)
async def test_each_root_field_is_refused_and_allowed_by_role_on_every_transport(
    schema: GuardedSchema, sqlite_url: str
) -> None:
    # The rules ask no database, so that one kind is enough.
    async with protected(sqlite_url, schema) as server:
        assert await faults(server, schema) == []


async def faults(server: Protected, schema: GuardedSchema) -> list[str]:
    """Return who may do what he may not, or may not do what he may."""
    await server.account("boss", Role.ADMIN)
    shown: dict[str, tuple[str, Role | None]] = {
        "nobody": ("", None),
        "expired": (await server.token("boss", lasts=timedelta(minutes=1)), None),
    }
    server.clock.pass_time(minutes=2)
    for one in Role:
        await server.account(one.value, one)
        shown[one.value] = (await server.token(one.value), one)
    shown["the boss's viewer token"] = (await server.token("boss", Role.VIEWER), Role.VIEWER)
    asked = [
        (document(op, name, field), schema.rules[kind.name, name], name, op)
        for op, kind, name, field in root_fields(core(schema))
    ]
    wrong: list[str] = []
    for who, (token, role) in shown.items():
        for text, rule, name, operation in asked:
            allowed = role is not None and role.includes(rule)
            if role is not None and allowed and operation is OperationType.SUBSCRIPTION and name in SILENT:
                continue
            expected = "ok" if allowed else "FORBIDDEN" if role else "UNAUTHENTICATED"
            wrong += [
                f"{who} {name} over SSE: {got}" for got in [await over_sse(server, text, token)] if got != expected
            ]
            if operation is not OperationType.SUBSCRIPTION:
                got = await over_http(server, text, token)
                wrong += [f"{who} {name} over HTTP: {got}"] if got != expected else []
        wrong += [f"{who} over WebSocket: {fault}" for fault in await over_websocket(server, asked, token, role)]
    return wrong


async def over_http(server: Protected, text: str, token: str) -> str:
    status, code = await server.code(text, token or None)
    if code == "UNAUTHENTICATED":
        assert status == 401
    if code == "FORBIDDEN":
        assert status == 403
    return judged(code)


async def over_sse(server: Protected, text: str, token: str) -> str:
    headers = {"accept": "text/event-stream", **({"authorization": f"Bearer {token}"} if token else {})}
    async with server.browser.stream("POST", "/graphql", json={"query": text}, headers=headers) as answer:
        if answer.status_code != 200:
            return judged(json.loads(await answer.aread())["errors"][0]["extensions"]["code"])
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                return judged(first_code(json.loads(line.removeprefix("data: ")).get("errors")))
    raise AssertionError(f"no answer to {text}")


Asked = tuple[str, Role, str, OperationType]


async def over_websocket(server: Protected, asked: list[Asked], token: str, role: Role | None) -> list[str]:
    """Return what is wrong on one socket, for all fields."""
    wrong: list[str] = []
    payload = {"authorization": f"Bearer {token}"} if token else None
    async with server.socket(payload) as socket:
        if role is None:
            code, _ = await socket.closed()
            return [] if code == 4401 else [f"closed with {code}"]
        assert await socket.receive() == {"type": "connection_ack"}
        for number, (text, rule, name, _) in enumerate(asked):
            allowed = role.includes(rule)
            if allowed and name in SILENT:
                continue
            message = await socket.first_of(text, str(number))
            errors = message["payload"] if message["type"] == "error" else message.get("payload", {}).get("errors")
            got = judged(first_code(errors))
            if got != ("ok" if allowed else "FORBIDDEN"):
                wrong.append(f"{name}: {got}")
            await socket.send({"type": "complete", "id": str(number)})
    return wrong


def first_code(errors: Any) -> str | None:
    """The code of the first error of an answer, if it has any."""
    found: str | None = errors[0]["extensions"]["code"] if errors else None
    return found


def judged(code: str | None) -> str:
    assert code not in {"VALIDATION_ERROR", "SYNTAX_ERROR", "INVALID_VARIABLES"}, "the document is wrong"
    return code if code in {"UNAUTHENTICATED", "FORBIDDEN"} else "ok"


WAYS_OF_WRITING = (
    'mutation { ...f } fragment f on Mutation { pauseTask(input: {name: "x"}) { __typename } }',
    'mutation { ... on Mutation { pauseTask(input: {name: "x"}) { __typename } } }',
    'mutation ($no: Boolean! = false) { pauseTask(input: {name: "x"}) @include(if: $no) { __typename } }',
    'mutation { viewer: pauseTask(input: {name: "x"}) { __typename } }',
)


async def test_no_way_of_writing_a_field_gets_around_its_rule(light: Protected) -> None:
    await light.account("eve", Role.VIEWER)
    token = await light.token("eve")
    assert {await light.code(text, token) for text in WAYS_OF_WRITING} == {(403, "FORBIDDEN")}


async def test_an_operation_that_may_not_do_one_thing_does_nothing(server: Protected) -> None:
    await server.account("otto", Role.OPERATOR)
    token = await server.token("otto")
    text = 'mutation { pauseGroup(input: {name: "g"}) { __typename } drainNode(input: {name: "n"}) { __typename } }'
    assert await server.code(text, token) == (403, "FORBIDDEN")
    groups = (await server.ask("{ groups { nodes { name isPaused } } }", token)).json()["data"]["groups"]["nodes"]
    assert [group for group in groups if group["isPaused"]] == []


async def test_the_schema_as_text_follows_the_rule_of_introspection(server: Protected) -> None:
    refused = await server.browser.get("/schema.graphql")
    assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")
    await server.account("ada")
    headers = {"authorization": f"Bearer {await server.token('ada')}"}
    assert "type Query" in (await server.browser.get("/schema.graphql", headers=headers)).text
