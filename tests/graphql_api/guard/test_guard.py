"""The limit guard: exact counts, linear work, and the arithmetic of cost."""

import pytest
from graphql.language import Visitor
from hypothesis import given
from hypothesis import strategies as st

from cronograph.graphql.guard.cost import Measure
from cronograph.graphql.guard.document import DocumentStore, RequestRefused
from cronograph.graphql.guard.limits import LimitExceeded, Limits
from cronograph.graphql.guard.walk import Walk
from graphql import Node, OperationDefinitionNode, get_introspection_query, parse, visit
from tests.graphql_api.transport.nonsense import doubling
from tests.graphql_api.transport.sample import sample_schema

SCHEMA = sample_schema()
STORE: DocumentStore = SCHEMA.documents


def operation_of(text: str) -> OperationDefinitionNode:
    """The first operation of a document."""
    return next(node for node in parse(text).definitions if isinstance(node, OperationDefinitionNode))


def walked(text: str) -> Walk:
    """The pass over a document, done."""
    document = parse(text)
    operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    walk = STORE.guard.walk(document, operation, {})
    walk.operation(operation)
    return walk


def measure(text: str, **variables: object) -> Measure:
    """The measure of a document that passes."""
    return STORE.prepare(text, variables, None).measure


class NodeCounter(Visitor):
    """Counts all nodes of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def enter(self, _node: Node, *_: object) -> None:
        """Count one."""
        self.count += 1


@pytest.mark.parametrize("count", [1, 5, 20, 30])
def test_each_fragment_is_walked_once_however_often_it_is_spread(count: int) -> None:
    text = doubling(count)
    counter = NodeCounter()
    visit(parse(text), counter)
    walk = walked(text)
    # Two spreads in each fragment, one field at the end, and the field and the spread of the operation.
    assert walk.visits == 2 * count + 3
    assert walk.visits <= counter.count


def test_a_refusal_for_nesting_stops_on_the_way_down() -> None:
    document = parse(doubling(140))
    operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    walk = STORE.guard.walk(document, operation, {})
    with pytest.raises(LimitExceeded, match="the limit is 64, got 65"):
        walk.operation(operation)
    assert walk.visits <= 64


def test_fragments_that_no_operation_uses_are_held_to_the_limits_too() -> None:
    with pytest.raises(RequestRefused, match="has too many fields: the limit is 1,500"):
        STORE.prepare("{ hello } " + doubling(20).replace("{ task { ...f0 } }", ""), {}, None)


def test_cycles_end_and_are_left_to_validation() -> None:
    assert (
        walked("{ task { ...a } } fragment a on Task { name parent { ...b } } fragment b on Task { ...a }").visits == 6
    )


@pytest.mark.parametrize(
    ("text", "variables", "cost"),
    [
        ("{ hello }", {}, 1),
        ("{ task { name } }", {}, 2),
        ("{ tasks { nodes { name } } }", {}, 1 + 1 + 50),
        ("{ tasks(first: 10) { totalCount nodes { name } } }", {}, 1 + 1 + 1 + 10),
        ("{ tasks(first: 10) { edges { cursor node { name } } } }", {}, 1 + 1 + 10 * 3),
        ("{ tasks(first: 0) { nodes { name } } }", {}, 2),
        ("{ tasks(first: -5) { nodes { name } } }", {}, 2),
        ("{ tasks(first: 1000000) { nodes { name } } }", {}, 2 + 200),
        ("{ tasks(first: 3) { nodes { followers(first: 4) { nodes { name } } } } }", {}, 2 + 3 * (2 + 4)),
        ("{ logs { name } }", {}, 1 + 100),
        ("{ logs(limit: 1000) { name } }", {}, 1 + 1_000),
        ("{ logs(limit: 5000) { name } }", {}, 1 + 1_000),
        ("query($n: Int!) { tasks(first: $n) { nodes { name } } }", {"n": 20}, 2 + 20),
        ("query($n: Int!) { tasks(first: $n) { nodes { name } } }", {"n": "many"}, 2 + 50),
        ("query($n: Int = 7) { tasks(first: $n) { nodes { name } } }", {}, 2 + 7),
        ("{ tasks(first: 9) { ...page } } fragment page on TaskConnection { nodes { name } }", {}, 2 + 9),
        ("{ tasks(first: 9) { ... on TaskConnection { nodes { name } } } }", {}, 2 + 9),
        ("{ ...root } fragment root on Query { tasks(first: 9) { nodes { name } } }", {}, 2 + 9),
        ("{ __typename }", {}, 1),
        ("{ __type(name: \"Task\") { name } hello }", {}, 1),
    ],
)  # fmt: skip
def test_cost_multiplies_the_rows_of_pages(text: str, variables: dict[str, object], cost: int) -> None:
    assert measure(text, **variables).cost == cost


def test_only_documents_with_page_sizes_in_variables_are_measured_again() -> None:
    assert measure("{ tasks(first: 10) { nodes { name } } }").reusable
    assert not measure("query($n: Int) { tasks(first: $n) { nodes { name } } }", n=3).reusable
    big = {"n": 200}
    small = {"n": 2}
    text = "query($n: Int) { tasks(first: $n) { nodes { followers(first: $n) { nodes { name } } } } }"
    STORE.prepare(text, small, None)
    with pytest.raises(RequestRefused, match="estimated cost"):
        STORE.prepare(text, big, None)
    STORE.prepare(text, small, None)


def test_the_fullest_introspection_query_passes() -> None:
    text = get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, schema_description=True, input_value_deprecation=True
    )
    introspection = measure(text)
    assert introspection.cost == 0
    assert introspection.introspection_cost * 2 == STORE.guard.introspection_cost


def test_introspection_has_a_depth_of_its_own() -> None:
    def chain(depth: int) -> str:
        types = "ofType { " * (depth - 4) + "name" + " }" * (depth - 4)
        return "{ __schema { types { fields { type { " + types + " } } } } }"

    assert STORE.guard.check(parse(chain(15)), operation_of(chain(15)), {}).visits == 16
    document = parse(chain(20))
    operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    with pytest.raises(LimitExceeded, match="the limit is 20, got 21"):
        STORE.guard.check(document, operation, {})


@pytest.mark.parametrize(
    ("limits", "text", "code"),
    [
        (Limits(depth=2), "{ task { parent { name } } }", "LIMIT_DEPTH"),
        (Limits(fields=2), "{ task { name parent { name } } }", "LIMIT_FIELDS"),
        (Limits(aliases=1), "{ a: hello b: hello }", "LIMIT_ALIASES"),
        (Limits(root_fields=1), "{ hello task { name } }", "LIMIT_ROOT_FIELDS"),
        (Limits(cost=10), "{ tasks(first: 9) { nodes { name } } }", "LIMIT_COST"),
        (Limits(tokens=4), "{ hello hello hello }", "LIMIT_TOKENS"),
        (Limits(document_bytes=4), "{ hello }", "LIMIT_DOCUMENT_BYTES"),
        (Limits(document_bytes=12), '{ hello(name: "é") }', "LIMIT_DOCUMENT_BYTES"),
        (Limits(nesting=1), "{ task { name } }", "LIMIT_NESTING"),
        (Limits(number_digits=3), "{ number(value: 1234) }", "LIMIT_NUMBER_DIGITS"),
    ],
)
def test_each_limit_can_be_set_and_is_named_by_its_refusal(limits: Limits, text: str, code: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        sample_schema(limits).documents.prepare(text, {}, None)
    error = refused.value.errors[0]
    assert error.extensions is not None
    limit = error.extensions["limit"]
    assert error.extensions["code"] == code
    assert code == f"LIMIT_{limit.upper()}"
    assert error.extensions["maximum"] == getattr(limits, limit)
    assert error.extensions["requested"] > error.extensions["maximum"]
    assert f"the limit is {error.extensions['maximum']:,}, got " in error.message


def test_brackets_and_digits_in_strings_comments_and_names_do_not_count() -> None:
    text = '{ hello(name: "[[[[ 123456 \\" {{{{") # (((( 123456\n name123456: hello(name: """{{{{ \\""" 123456""") }'
    sample_schema(Limits(nesting=2, number_digits=3)).documents.prepare(text, {}, None)


def test_limits_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"Limits\.depth must be greater than 0, got 0"):
        Limits(depth=0)


@given(st.text(alphabet='{}[]()"#\\ \nabc:$!.1é', max_size=200))
def test_any_text_is_either_refused_with_a_code_or_prepared(text: str) -> None:
    try:
        STORE.prepare(text, {}, None)
    except RequestRefused as refused:
        errors = refused.errors
    else:
        errors = []
    assert all(error.extensions and error.extensions["code"] for error in errors)
