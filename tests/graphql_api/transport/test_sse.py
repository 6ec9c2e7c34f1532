"""Server-Sent Events: the protocol of graphql-sse, cursors, resumption, and the end of streams."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.requests import HTTPConnection

from cronograph.graphql.guard.admission import Admission
from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.nonsense import NONSENSE, Nonsense
from tests.graphql_api.transport.serving import Served, served
from tests.support.waiting import eventually

TICKS = "subscription T($after: String) { ticks(after: $after, count: 2) { cursor value } }"
QUEUE = "subscription { queue { cursor value } }"


@dataclass
class Event:
    """One event; a comment has the type ':'."""

    type: str
    data: Any = None
    id: str | None = None


def parsed(block: str) -> Event:
    """An event from its lines."""
    fields = dict(line.split(":", 1) for line in block.splitlines() if not line.startswith(":"))
    if not fields:
        return Event(":")
    data = fields["data"].strip()
    return Event(
        fields["event"].strip(), json.loads(data) if data else None, fields["id"].strip() if "id" in fields else None
    )


async def events_of(response: httpx.Response) -> AsyncIterator[Event]:
    """The events of an open stream."""
    buffer = ""
    async for text in response.aiter_text():
        buffer += text
        while "\n\n" in buffer:
            block, buffer = buffer.split("\n\n", 1)
            yield parsed(block)


@asynccontextmanager
async def stream(
    server: Served, query: str, headers: dict[str, str] | None = None
) -> AsyncGenerator[AsyncIterator[Event]]:
    """An open event stream."""
    named = {"accept": "text/event-stream", **(headers or {})}
    async with server.client.stream("POST", "/graphql", json={"query": query}, headers=named) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        events = events_of(response)
        assert await anext(events) == Event(":"), "a comment comes first, so that the client knows the stream is open"
        yield events


async def test_a_subscription_streams_next_events_with_cursors_and_a_complete(server: Served) -> None:
    async with stream(server, TICKS) as events:
        received = [event async for event in events]
    assert [(event.type, event.id) for event in received] == [("next", "c0"), ("next", "c1"), ("complete", None)]
    assert received[1].data == {"data": {"ticks": {"cursor": "c1", "value": 1}}}


async def test_last_event_id_goes_on_after_that_event(server: Served) -> None:
    async with stream(server, TICKS, {"last-event-id": "c7"}) as events:
        received = [event.id async for event in events if event.type == "next"]
    assert received == ["c8", "c9"]


async def test_last_event_id_does_not_disturb_an_operation_without_that_variable(server: Served) -> None:
    async with stream(server, "subscription { ticks(count: 1) { cursor } }", {"last-event-id": "c7"}) as events:
        assert [event.id async for event in events if event.type == "next"] == ["c0"]


async def test_an_endless_last_event_id_is_refused(server: Served) -> None:
    headers = {"accept": "text/event-stream", "last-event-id": "c" * 501}
    response = await server.client.post("/graphql", json={"query": TICKS}, headers=headers)
    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["code"] == "INVALID_LAST_EVENT_ID"


async def test_queries_stream_their_one_answer(server: Served) -> None:
    async with stream(server, "{ hello }") as events:
        received = [event async for event in events]
    assert [event.type for event in received] == ["next", "complete"]
    assert received[0].data["data"] == {"hello": "Hello world"}


@pytest.mark.costly
@pytest.mark.parametrize("nonsense", NONSENSE, ids=[one.name for one in NONSENSE])
async def test_nonsense_is_refused_inside_of_the_stream_or_before_it(server: Served, nonsense: Nonsense) -> None:
    response = await server.post(nonsense.body, accept="text/event-stream")
    if response.status_code == 200:
        received = [parsed(block) for block in response.text.split("\n\n") if block]
        if nonsense.code == "SUBSCRIPTION_NEEDS_STREAM":
            assert len([event for event in received if event.type == "next"]) == 3
            return
        assert [event.type for event in received] == [":", "next", "complete"]
        error = received[1].data["errors"][0]
    else:
        error = response.json()["errors"][0]
    assert error["extensions"]["code"] == nonsense.code


async def test_an_idle_stream_sends_comments() -> None:
    async with served(Limits(keepalive_seconds=0.02)) as server, stream(server, QUEUE) as events:
        assert [await anext(events) for _ in range(3)] == [Event(":")] * 3
        server.sample.context.source.put_nowait(5)
        received = [await anext(events)]
        while received[-1].type == ":":
            received.append(await anext(events))
        assert received[-1].id == "c5"


async def test_a_client_that_goes_away_ends_the_source(server: Served) -> None:
    context = server.sample.context
    closed = context.closed
    async with stream(server, QUEUE):
        assert len(server.sample.streams) == 1
    await eventually(lambda: context.closed == closed + 1 and not server.sample.streams)


async def test_a_fault_is_masked_and_ends_the_stream(server: Served) -> None:
    async with stream(server, "subscription { broken { value } }") as events:
        received = [event async for event in events]
    assert [event.type for event in received] == ["next", "next", "complete"]
    assert received[1].data["errors"][0]["message"].startswith("Internal error, id ")


def no_cursor(_answer: Mapping[str, Any]) -> str | None:
    raise KeyError("the password is hunter2")


async def test_a_fault_beside_the_resolvers_is_masked_and_ends_the_stream() -> None:
    async with served(event_id=no_cursor) as server, stream(server, TICKS) as events:
        received = [event async for event in events]
    assert [event.type for event in received] == ["next", "complete"]
    assert received[0].data["errors"][0]["message"].startswith("Internal error, id ")


async def test_shutdown_ends_streams_without_complete_so_that_clients_come_back() -> None:
    async with served() as server, stream(server, QUEUE) as events:
        server.sample.context.source.put_nowait(1)
        assert (await anext(events)).id == "c1"
        assert await server.sample.streams.shutdown() == 0
        assert [event async for event in events] == []
        assert server.sample.context.closed == 1
        response = await server.post({"query": QUEUE}, accept="text/event-stream")
        assert (response.status_code, response.json()["errors"][0]["extensions"]["code"]) == (503, "SHUTTING_DOWN")


async def test_one_stream_too_many_is_refused() -> None:
    async with served(Limits(open_streams=1)) as server, stream(server, QUEUE):
        response = await server.post({"query": QUEUE}, accept="text/event-stream")
        assert response.status_code == 503
        assert response.json()["errors"][0]["message"] == "Too many open streams: the limit is 1; try again later."
        assert (await server.query("{ hello }"))["data"] == {"hello": "Hello world"}


def by_header(_context: object, connection: HTTPConnection) -> str:
    """Whose a request is, as its header says."""
    return connection.headers.get("x-who", "nobody")


async def test_one_client_with_all_its_streams_takes_none_of_anothers() -> None:
    """One kind of stream counts as well as the other."""
    limits = Limits(client_streams=2)
    async with (
        served(limits, admission=Admission(limits, client_of=by_header)) as server,
        stream(server, QUEUE),
        server.socket(),
    ):
        response = await server.post({"query": QUEUE}, accept="text/event-stream")
        assert (response.status_code, response.headers["retry-after"]) == (429, "5")
        error = response.json()["errors"][0]
        assert error["message"] == "You have too many open streams: the limit is 2; end others first."
        assert error["extensions"]["limit"] == "client_streams"
        async with server.socket(init=False) as socket:
            await socket.send({"type": "connection_init"})
            assert await socket.closed() == (4429, f"LIMIT_CLIENT_STREAMS: {error['message']}")
        async with stream(server, QUEUE, {"x-who": "eve"}):
            assert len(server.sample.streams) == 3
