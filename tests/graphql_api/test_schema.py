"""The schema as a product: described throughout, named alike, and committed."""

import re
from pathlib import Path

import pytest

from cronograph.graphql.execution.schema_factory import GuardedSchema
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    is_introspection_type,
    is_specified_scalar_type,
)

COMMITTED = Path(__file__).parents[2] / "graphql" / "schema.graphql"


@pytest.fixture(scope="module")
def sdl(schema: GuardedSchema) -> GraphQLSchema:
    return build_schema(schema.as_str())


def own_types(sdl: GraphQLSchema) -> dict[str, object]:
    return {
        name: one
        for name, one in sdl.type_map.items()
        if not is_introspection_type(one) and not is_specified_scalar_type(one)
    }


def test_the_committed_text_is_what_the_code_says(schema: GuardedSchema) -> None:
    assert COMMITTED.read_text().rstrip("\n") == schema.as_str().rstrip("\n"), "write it with `make schema`"


def test_every_type_field_argument_and_value_is_described(sdl: GraphQLSchema) -> None:
    bare: list[str] = []
    for name, one in own_types(sdl).items():
        if not getattr(one, "description", None):
            bare.append(name)
        if isinstance(one, GraphQLObjectType | GraphQLInterfaceType):
            for field_name, field in one.fields.items():
                bare += [f"{name}.{field_name}"] if not field.description else []
                bare += [f"{name}.{field_name}({arg})" for arg, each in field.args.items() if not each.description]
        elif isinstance(one, GraphQLInputObjectType):
            bare += [f"{name}.{field}" for field, each in one.fields.items() if not each.description]
        elif isinstance(one, GraphQLEnumType):
            bare += [f"{name}.{value}" for value, each in one.values.items() if not each.description]
    assert bare == []


def test_names_follow_one_custom(sdl: GraphQLSchema) -> None:
    odd: list[str] = []
    for name, one in own_types(sdl).items():
        if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
            odd.append(name)
        if isinstance(one, GraphQLEnumType):
            odd += [f"{name}.{value}" for value in one.values if not re.fullmatch(r"[A-Z][A-Z0-9_]*", value)]
        elif isinstance(one, GraphQLObjectType | GraphQLInputObjectType):
            odd += [f"{name}.{field}" for field in one.fields if not re.fullmatch(r"[a-z][A-Za-z0-9]*", field)]
    assert odd == []


def test_every_mutation_has_an_input_and_a_payload_of_its_own(sdl: GraphQLSchema) -> None:
    assert sdl.mutation_type is not None
    for name, field in sdl.mutation_type.fields.items():
        payload = sdl.type_map[str(field.type).rstrip("!")]
        assert isinstance(payload, GraphQLObjectType)
        assert [one.name for one in payload.interfaces] == ["MutationPayload"], name
        assert payload.name == f"{name[0].upper()}{name[1:]}Payload", name
        if name != "triggerJob":
            assert list(field.args) == ["input"], name
            assert str(field.args["input"].type) == f"{name[0].upper()}{name[1:]}Input!", name


def test_the_fixed_names_are_there(sdl: GraphQLSchema) -> None:
    assert sdl.query_type is not None
    assert sdl.mutation_type is not None
    assert sdl.subscription_type is not None
    assert set(sdl.query_type.fields) >= {
        "availableJobs", "job", "jobLogs", "executions", "execution", "tasks", "task", "runs", "run", "groups", "nodes",
        "skippedOccurrences", "validateSchedule", "upcoming", "statistics", "overview", "viewer", "asOf",
    }  # fmt: skip
    assert set(sdl.mutation_type.fields) >= {
        "createTask", "updateTask", "deleteTask", "deleteTasksOfOwner", "pauseTask", "resumeTask", "resetTask",
        "triggerJob", "triggerTask", "enqueueRuns", "cancelRun", "cancelRuns", "retryRun", "retryRuns",
        "retryRunNow", "retryRunsNow", "setRunPriorities", "drainNode", "resumeNode", "pauseGroup", "resumeGroup",
        "updateGroup", "pruneHistory",
        "updateRun",
    }  # fmt: skip
    assert set(sdl.subscription_type.fields) == {
        "events", "executions", "run", "executionLog", "overview"
    }  # fmt: skip


def test_a_node_is_found_by_its_name_and_never_by_a_global_id(sdl: GraphQLSchema) -> None:
    assert sdl.query_type is not None
    assert set(sdl.query_type.fields["node"].args) == {"name"}
