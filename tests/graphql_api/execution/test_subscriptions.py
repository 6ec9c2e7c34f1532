"""What a subscription leaves behind with each event: nothing."""

import gc
from contextlib import aclosing

from graphql.execution.collect_fields import FieldDetails

from cronograph.graphql.transport.engine import Engine
from cronograph.graphql.transport.request import GraphQLRequest
from tests.graphql_api.transport.sample import SampleContext, sample_schema

DOCUMENT = """
subscription ($all: Boolean!) { ticks(count: 300) { ...Place number: value text @include(if: $all) } }
fragment Place on Tick { cursor }
"""


def collected_fields() -> int:
    """Return how many fields executions have collected and still hold, beside what was there before the test."""
    gc.collect()
    return sum(issubclass(type(one), FieldDetails) for one in gc.get_objects())


async def test_events_leave_no_memory_behind() -> None:
    engine = Engine(sample_schema())
    request = GraphQLRequest(DOCUMENT, {"all": False}, None)
    held: list[int] = []
    # What is frozen is not looked at again: everything that other tests have imported and made.
    gc.freeze()
    async with aclosing(engine.stream(engine.prepare(request), SampleContext())) as answers:
        place = 0
        async for answer in answers:
            assert answer["data"] == {"ticks": {"cursor": f"c{place}", "number": place}}
            place += 1
            if place in (10, 290):
                held.append(collected_fields())
    assert held[0] == held[1]
