"""Readers of shared subscriptions of the real schema that fall behind: told what is there by then, and they go on."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.schema import create_schema
from cronograph.graphql.transport.engine import Engine
from cronograph.graphql.transport.gateway import cursor_of_answer
from cronograph.graphql.transport.sharing import SHARED, Encoded, SharedStreams
from tests.graphql_api.api import Api
from tests.support.storage import Worker
from tests.support.waiting import eventually


async def value_of(source: AsyncGenerator[Encoded, None]) -> dict[str, Any]:
    """Return what the only field of the next answer holds."""
    answer = json.loads((await anext(source)).text)
    assert "errors" not in answer
    (value,) = answer["data"].values()
    found: dict[str, Any] = value
    return found


async def gather(source: AsyncGenerator[Encoded, None], into: list[dict[str, Any]]) -> None:
    """Read for good."""
    while True:
        into.append(await value_of(source))


def work(api: Api, worker: Worker) -> str:
    """One execution from its start to its end; its key."""
    api.stored.enqueue()
    started = worker.start()
    worker.end(started)
    api.publish()
    return str(started.execution_id)


@pytest.mark.costly
@pytest.mark.parametrize(
    "document",
    [
        "subscription { executions { id success } }",
        "subscription { events { kind ... on ExecutionEvent { executionId } } }",
    ],
)
async def test_a_slow_reader_without_a_cursor_catches_up_and_goes_on(api: Api, document: str) -> None:
    engine = Engine(create_schema(Limits(queue_events=2)))
    streams = SharedStreams(engine, cursor_of_answer, SHARED)
    worker = api.stored.node("w")
    slow, quick = (streams.stream(engine.schema.documents.prepare(document, {}, None), api.context()) for _ in range(2))
    seen: list[dict[str, Any]] = []
    reading = asyncio.ensure_future(gather(quick, seen))
    first = asyncio.ensure_future(value_of(slow))
    keys: list[str] = []

    def begun() -> bool:
        # Without a cursor it begins with what comes next, once it has begun.
        keys.append(work(api, worker))
        return first.done()

    await eventually(begun)
    for _ in range(5):
        before = len(seen)
        keys.append(work(api, worker))
        await eventually(lambda before=before: len(seen) > before)  # type: ignore[misc]
    got = [await first]
    if "executions" in document:
        while {key for key in keys if {"id": key, "success": True} in got} != set(keys):
            got.append(await value_of(slow))
    else:
        while got[-1]["kind"] != "RESYNC":
            got.append(await value_of(slow))
    last = work(api, worker)
    while last not in (got[-1].get("id"), got[-1].get("executionId")):
        got.append(await value_of(slow))
    reading.cancel()
    await asyncio.wait({reading})
    for source in (slow, quick):
        await source.aclose()
    assert len(streams) == 0
