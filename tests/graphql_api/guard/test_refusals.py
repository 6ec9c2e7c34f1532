"""Refused documents are remembered, with the same errors and without their syntax trees."""

import pytest

from cronograph.graphql.guard.document import CHARACTERS, DOCUMENTS, DocumentStore, Refusals, RequestRefused
from graphql import GraphQLError
from tests.graphql_api.transport.sample import sample_schema

NONSENSE = {
    "no GraphQL": "{ hello",
    "unknown fields": "{ unknown other }",
    "a variable of another type": "query ($name: Int) { hello(name: $name) }",
    "too deep": "{ a " + "{ a " * 100 + "}" * 101,
    "too long": "{ hello } #" + "x" * 70_000,
}


def refusal(store: DocumentStore, text: str, variables: dict[str, object] | None = None) -> list[GraphQLError]:
    with pytest.raises(RequestRefused) as refused:
        store.prepare(text, variables, None)
    return refused.value.errors


@pytest.mark.parametrize("text", NONSENSE.values(), ids=list(NONSENSE))
def test_a_refused_document_gets_the_same_errors_again_whatever_its_variables_are(text: str) -> None:
    store = sample_schema().documents
    assert not store.knows(text)
    first = refusal(store, text)
    assert store.knows(text)
    again = refusal(store, text, {"name": 5})
    assert [error.formatted for error in again] == [error.formatted for error in first]
    assert all(error.nodes is None and error.source is None for error in again)


def test_what_only_some_variables_make_too_costly_is_not_remembered() -> None:
    store = sample_schema().documents
    text = "query ($first: Int!) { tasks(first: $first) { nodes { followers(first: $first) { nodes { name } } } } }"
    assert refusal(store, text, {"first": 200})[0].extensions["code"] == "LIMIT_COST"  # type: ignore[index] # coded
    assert store.prepare(text, {"first": 2}, None).measure.cost > 0


def test_the_oldest_are_forgotten() -> None:
    refusals, error = Refusals(), GraphQLError("no")
    for number in range(DOCUMENTS + 5):
        refusals.remember(f"{number}", [error])
        refusals.remember(f"{number}", [error])
    assert [f"{number}" in refusals for number in (4, 5, DOCUMENTS + 4)] == [False, True, True]
    long = "x" * (CHARACTERS // 2)
    for name in ("a", "b", "c"):
        refusals.remember(name + long, [error])
    assert [name + long in refusals for name in ("a", "b", "c")] == [False, False, True]
    assert refusals.find("4") == []
