"""What takes the place of Strawberry's and graphql-core's own ways is still needed: the original has the fault.

A part whose original has become as good is to be taken out again, see docs/decisions/0022-execution.md. Work is counted
in calls of Python functions for each field, row, input or event more, so that no clock and no other part has a say.
"""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import httpx
import pytest
import strawberry
from graphql.execution.collect_fields import FieldDetails
from strawberry.asgi import GraphQL
from strawberry.extensions.query_depth_limiter import create_validator
from strawberry.scalars import JSON

from cronograph.graphql.execution.schema_factory import build_schema
from graphql import build_schema as schema_of
from graphql import parse, validate
from tests.support.processor import counting

FEW, MANY = 10, 60
TAKE_OUT: Final = "is as good as ours by now: take ours out, see docs/decisions/0022-execution.md"


@strawberry.type
class Deep:
    """As deep as one likes."""

    hello: str = "x"

    @strawberry.field
    def me(self) -> "Deep":
        """Once more."""
        return self


def plain_query() -> type:
    """Rows with attributes."""

    @strawberry.type
    class Row:
        one: str
        two: int
        three: bool
        four: float

    @strawberry.type
    class Query:
        @strawberry.field
        def rows(self, count: int) -> list[Row]:
            return [Row(one="a", two=1, three=True, four=0.5)] * count

    return Query


def computing_query() -> type:
    """Rows with values that are computed of them alone."""

    @strawberry.type
    class Row:
        @strawberry.field
        def one(self) -> str:
            return "a"

        @strawberry.field
        def two(self) -> str:
            return "b"

    @strawberry.type
    class Query:
        @strawberry.field
        def rows(self, count: int) -> list[Row]:
            return [Row()] * count

    return Query


def listening_query() -> type:
    """Takes many inputs."""

    @strawberry.input
    class Inner:
        some_name: str
        some_number: int | None = None
        anything: JSON | None = None

    @strawberry.input
    class Outer:
        many: list[Inner]

    @strawberry.type
    class Query:
        @strawberry.field
        def count(self, outer: Outer) -> int:
            return len(outer.many)

    return Query


@dataclass(frozen=True)
class Part:
    """A part of ours, and what is asked to see what it is good for.

    Attributes:
        query: Makes the root type, again for each schema.
        document: What is asked.
        variables: Of so many rows or inputs.
        least: How many times the calls of ours the original makes, at least, as long as ours is needed.
    """

    query: Callable[[], type]
    document: str
    variables: Callable[[int], dict[str, object]]
    least: float


PARTS: Final = {
    "plain_fields": Part(
        plain_query, "query ($n: Int!) { rows(count: $n) { one two three four } }", lambda n: {"n": n}, 4
    ),
    "direct_resolvers": Part(
        computing_query, "query ($n: Int!) { rows(count: $n) { one two } }", lambda n: {"n": n}, 1.3
    ),
    "plain_inputs": Part(
        listening_query,
        "query ($o: Outer!) { count(outer: $o) }",
        lambda n: {"o": {"many": [{"someName": "a", "someNumber": 1}] * n}},
        2,
    ),
}


def calls_for_one_more(schema: strawberry.Schema, part: Part) -> float:
    """Calls of Python functions that one row or input more costs."""
    counted = [calls_of(schema, part.document, part.variables(count)) for count in (FEW, FEW, MANY)]
    return (counted[2] - counted[1]) / (MANY - FEW)


def calls_of(schema: strawberry.Schema, document: str, variables: dict[str, object] | None = None) -> int:
    """Calls of Python functions until a document is answered."""

    async def run() -> int:
        with counting() as calls:
            result = await schema.execute(document, variable_values=variables)
        assert result.errors is None, result.errors
        return calls()

    return asyncio.run(run())


@pytest.mark.parametrize("name", PARTS)
def test_the_original_takes_many_times_the_steps(name: str) -> None:
    part = PARTS[name]
    original = calls_for_one_more(strawberry.Schema(part.query()), part)
    ours = calls_for_one_more(build_schema(part.query()), part)
    assert original >= part.least * ours, f"{name}: the original, with {original:g} calls to {ours:g}, {TAKE_OUT}"


def test_the_original_reads_a_known_document_again() -> None:
    document = "{ " + " ".join(f"a{number}: hello" for number in range(20)) + " }"

    @strawberry.type
    class Query:
        @strawberry.field
        def hello(self) -> str:
            return "x"

    def again(schema: strawberry.Schema) -> int:
        calls_of(schema, document)
        return calls_of(schema, document)

    original, ours = again(strawberry.Schema(Query)), again(build_schema(Query))
    assert original > 3 * ours, f"DocumentStore: the original, with {original} calls to {ours}, {TAKE_OUT}"


def test_the_original_logs_the_mistakes_of_clients_with_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    @strawberry.type
    class Query:
        hello: str = "x"

    def logged(schema: strawberry.Schema) -> bool:
        caplog.clear()
        with caplog.at_level(logging.INFO):
            asyncio.run(schema.execute("{ nothing }"))
        return bool(caplog.records)

    assert not logged(build_schema(Query))
    assert logged(strawberry.Schema(Query)), f"process_errors: the original {TAKE_OUT}"


@pytest.mark.costly
def test_the_original_keeps_what_it_collected_for_each_event() -> None:
    @strawberry.type
    class Event:
        number: int

    @strawberry.type
    class Query:
        hello: str = "x"

    @strawberry.type
    class Subscription:
        @strawberry.subscription
        async def events(self, count: int) -> AsyncIterator[Event]:
            for number in range(count):
                yield Event(number=number)

    async def left_behind(schema: strawberry.Schema) -> int:
        results: Any = await schema.subscribe("subscription { events(count: 10) { number } }")
        before, most = None, 0
        async for _ in results:
            gc.collect()
            kept = sum(issubclass(type(one), FieldDetails) for one in gc.get_objects())
            before = kept if before is None else before
            most = max(most, kept - before)
        return most

    # What the tests before this one have left is not looked at again after each event.
    gc.collect()
    gc.freeze()
    assert asyncio.run(left_behind(build_schema(Query, None, Subscription))) < 5
    original = asyncio.run(left_behind(strawberry.Schema(Query, None, Subscription)))
    assert original >= 9, f"root fields of events: the original {TAKE_OUT}"


@pytest.mark.parametrize("body", [b"null", b'"x"', b"1"])
async def test_the_view_of_the_original_fails_at_bodies_that_are_no_request(body: bytes) -> None:
    view: Any = GraphQL(strawberry.Schema(Deep))
    transport = httpx.ASGITransport(view, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.post("/", content=body, headers={"content-type": "application/json"})
    assert answer.status_code >= 500, f"graphql/transport: for such bodies the original {TAKE_OUT}"


def test_the_depth_limiter_of_the_original_walks_each_use_of_a_fragment() -> None:
    def document(levels: int) -> str:
        doubling = (
            f"fragment F{n} on Query {{ a: me {{ ...F{n + 1} }} b: me {{ ...F{n + 1} }} }}" for n in range(levels)
        )
        return " ".join(["{ ...F0 }", *doubling, f"fragment F{levels} on Query {{ hello }}"])

    def walked(levels: int) -> int:
        rule = create_validator(100, None, lambda _: None)
        with counting() as calls:
            validate(schema_of("type Query { hello: String me: Query }"), parse(document(levels)), [rule])
        return calls()

    steps = [walked(levels + 1) - walked(levels) for levels in (8, 9, 10)]
    assert all(later > 1.5 * earlier for earlier, later in pairwise(steps)), f"graphql/guard: the original {TAKE_OUT}"
