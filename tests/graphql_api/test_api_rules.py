"""The schema keeps the rules of docs/decisions/0035-rules-of-the-api.md."""

import pytest

from cronograph.graphql.execution.schema_factory import GuardedSchema
from graphql import GraphQLSchema, build_schema
from tests.graphql_api.api_rules import EXCEPTIONS, RULES, Rule


@pytest.fixture(scope="module")
def sdl(schema: GuardedSchema) -> GraphQLSchema:
    return build_schema(schema.as_str())


@pytest.mark.costly
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_schema_keeps_the_rule(rule: Rule, sdl: GraphQLSchema) -> None:
    allowed = set(EXCEPTIONS.get(rule.__name__, ()))
    broken = set(rule(sdl))
    assert broken - allowed == set(), f"{rule.__doc__}"
    assert allowed - broken == set(), "delete these exceptions: they keep the rule by now"


def test_every_exception_names_a_rule_and_a_reason() -> None:
    names = {rule.__name__ for rule in RULES}
    assert EXCEPTIONS.keys() <= names
    assert all(reason.endswith(".") for places in EXCEPTIONS.values() for reason in places.values())
