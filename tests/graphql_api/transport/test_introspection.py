"""Answers about the schema: made once, and not while everybody else waits."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from cronograph.graphql.guard.document import Prepared
from cronograph.graphql.guard.metered import Meter
from cronograph.graphql.transport.engine import Engine
from cronograph.graphql.transport.gateway import KEPT, Introspections
from cronograph.graphql.transport.request import GraphQLRequest
from graphql import get_introspection_query
from tests.graphql_api.transport.sample import SampleContext, sample_schema

WHOLE = get_introspection_query()


def prepared(engine: Engine, document: str) -> Prepared:
    """An operation that may run."""
    return engine.prepare(GraphQLRequest(document, {}, None))


@pytest.mark.parametrize(
    ("document", "alone"),
    [
        (WHOLE, True),
        ('{ __type(name: "Task") { name } __schema { types { name } } }', True),
        ("{ __schema { types { name } } hello }", False),
        ("{ ...F } fragment F on Query { __schema { types { name } } }", False),
        ("query($deep: Boolean!) { __schema { types { name @include(if: $deep) } } }", False),
        ("{ __typename }", False),
    ],
)
def test_what_follows_from_the_document_alone_is_known(document: str, alone: bool) -> None:
    engine = Engine(sample_schema())
    operation = engine.schema.documents.prepare(document, {"deep": True}, None)
    assert operation.is_introspection is alone


class Held(Engine):
    """Sends no answer before its event loop has turned."""

    def __init__(self) -> None:
        super().__init__(sample_schema())
        self.turned = threading.Event()

    def encode(self, answer: Mapping[str, Any]) -> str:
        assert self.turned.wait(30), "the event loop stands still"
        return super().encode(answer)


async def test_the_loop_turns_while_the_schema_is_put_together_and_the_answer_is_kept() -> None:
    engine = Held()
    introspections, charged = Introspections(engine), list[float]()
    meter = Meter(lambda began, ended: charged.append(ended - began))
    whole = prepared(engine, WHOLE)
    task = asyncio.create_task(introspections.answer(whole, SampleContext(), meter))
    await asyncio.sleep(0)
    assert not task.done()
    engine.turned.set()
    await task
    assert task.result().content == await engine.execute(whole, SampleContext())
    assert len(charged) == 1
    assert await introspections.answer(whole, SampleContext(), meter) is task.result()
    assert len(charged) == 1


async def test_only_few_answers_are_kept() -> None:
    engine = Engine(sample_schema())
    introspections = Introspections(engine)
    meter = Meter(lambda _began, _ended: None)

    async def answer(document: str) -> object:
        return await introspections.answer(prepared(engine, document), SampleContext(), meter)

    first = await answer("{ __schema { queryType { name } } }")
    for number in range(KEPT):
        await answer(f'{{ __type(name: "T{number}") {{ name }} }}')
    again = await answer("{ __schema { queryType { name } } }")
    assert again == first
    assert again is not first
