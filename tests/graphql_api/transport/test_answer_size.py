"""The size of answers: counted while they are made."""

import pytest

from cronograph.graphql.execution.executor import AnswerSize
from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.sample import SampleContext, sample_schema

SMALL = Limits(answer_bytes=100)


@pytest.mark.parametrize(
    ("value", "size"),
    [("x" * 7, 7), (5, 8), (None, 8), ({"ab": "cde"}, 5), ({"a": ["b", {"c": ["d"]}]}, 4), ([], 0), ([1, 2], 16)],
)
def test_what_a_value_counts(value: object, size: int) -> None:
    assert AnswerSize(size).add(value)
    assert size == 0 or not AnswerSize(size - 1).add(value)


async def test_an_answer_that_is_too_large_is_refused_and_names_the_limit() -> None:
    schema = sample_schema(SMALL)
    query = "query ($name: String!) { hello(name: $name) again: hello(name: $name) }"
    fits = await schema.execute(query, variable_values={"name": "x" * 30}, context_value=SampleContext())
    assert (fits.errors, len((fits.data or {})["again"])) == (None, 36)
    result = await schema.execute(query, variable_values={"name": "x" * 60}, context_value=SampleContext())
    assert result.data is None
    (error,) = result.errors or []
    assert (error.extensions or {})["code"] == "LIMIT_ANSWER_BYTES"
    assert "the limit is 100" in error.message


async def test_each_event_of_a_subscription_has_the_whole_size() -> None:
    schema = sample_schema(Limits(answer_bytes=40))
    source = await schema.subscribe("subscription { ticks(count: 30) { cursor text } }", context_value=SampleContext())
    results = [result async for result in source]
    assert len(results) == 30
    assert all(result.errors is None for result in results)
