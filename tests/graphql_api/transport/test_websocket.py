"""The WebSocket: the protocol's close codes, nonsense in frames, limits, and the end of operations."""

import json
import logging
from contextlib import AsyncExitStack

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.nonsense import DOCUMENTS, Nonsense
from tests.graphql_api.transport.serving import Served, served
from tests.graphql_api.transport.test_nonsense import LOG_CHARACTERS, logged
from tests.support.waiting import eventually

INIT = {"type": "connection_init"}
HELLO: dict[str, object] = {"type": "subscribe", "id": "1", "payload": {"query": "{ hello }"}}
QUEUE: dict[str, object] = {"type": "subscribe", "id": "1", "payload": {"query": "subscription { queue { value } }"}}

CLOSED: list[tuple[str, list[object], int, str, bool]] = [
    ("subscribe without init", [HELLO], 4401, "send connection_init first", False),
    ("a second init", [INIT], 4429, "may be sent once", True),
    ("an init with a list", [{"type": "connection_init", "payload": []}], 4400, "must be an object or null", False),
    ("a binary frame", [b"\x00\x01"], 4400, "must be text", True),
    ("a binary frame first", [b"{}"], 4400, "must be text", False),
    ("no JSON", ["hello"], 4400, "not valid JSON", True),
    ("an empty frame", [""], 4400, "not valid JSON", True),
    ("null", ["null"], 4400, "must be a JSON object", True),
    ("a list", ["[]"], 4400, "must be a JSON object", True),
    ("JSON nested 5,000 deep", ["[" * 5_000], 4400, "nested too deeply: the limit is 64", True),
    ("an integer of 5,000 digits", ['{"type":' + "9" * 5_000 + "}"], 4400, "the limit is 40", True),
    ("an oversized frame", [" " * 600_000], 1009, "LIMIT_BODY_BYTES: the limit is 524,288", True),
    ("a frame beyond the server's own bound", [" " * 3_000_000], 1009, "", True),
    ("no type", ["{}"], 4400, "Unknown message type: None", True),
    ("an unknown type", [{"type": "start", "id": "1"}], 4400, "Unknown message type: start", True),
    ("a type that is no string", [{"type": {"a": 1}}], 4400, "Unknown message type", True),
    ("an id that is no string", [{**HELLO, "id": ["x"]}], 4400, "'id' of subscribe must be a string", True),
    ("an empty id", [{**HELLO, "id": ""}], 4400, "'id' of subscribe must be a string", True),
    ("complete without an id", [{"type": "complete"}], 4400, "'id' of complete must be a string", True),
    ("no payload", [{"type": "subscribe", "id": "1"}], 4400, "The payload of subscribe must be an object", True),
    ("a payload without query", [{**HELLO, "payload": {}}], 4400, "'query' must hold", True),
    (
        "variables of the wrong type",
        [{**HELLO, "payload": {"query": "{a}", "variables": 1}}],
        4400,
        "'variables'",
        True,
    ),
    ("an id in use", [QUEUE, QUEUE], 4409, "Subscriber for 1 already exists", True),
]


@pytest.mark.parametrize(
    ("messages", "code", "reason", "init"), [case[1:] for case in CLOSED], ids=[case[0] for case in CLOSED]
)
async def test_a_broken_protocol_closes_the_socket_with_its_code(
    server: Served, messages: list[object], code: int, reason: str, init: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with server.socket(init=init) as socket:
        for message in messages:
            await socket.send(message)
        closed_with, said = await socket.closed()
    assert closed_with == code
    assert reason in said
    assert logged(caplog) <= LOG_CHARACTERS
    async with server.socket() as another:
        await another.send(HELLO)
        assert (await another.receive())["payload"]["data"] == {"hello": "Hello world"}
    await eventually(lambda: not server.sample.streams, message="no stream is left")


# A subscription is welcome here.
REFUSED = [one for one in DOCUMENTS if one.code != "SUBSCRIPTION_NEEDS_STREAM"]


@pytest.mark.costly
@pytest.mark.parametrize("nonsense", REFUSED, ids=[one.name for one in REFUSED])
async def test_a_refused_document_ends_its_operation_and_nothing_else(
    server: Served, nonsense: Nonsense, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with server.socket() as socket:
        await socket.send({"type": "subscribe", "id": "x", "payload": json.loads(nonsense.body)})
        answer = await socket.receive()
        assert (answer["id"], answer["type"]) == ("x", "error")
        assert answer["payload"][0]["extensions"]["code"] == nonsense.code
        assert nonsense.says in answer["payload"][0]["message"]
        await socket.subscribe("x", "{ hello }")
        assert (await socket.receive())["payload"]["data"] == {"hello": "Hello world"}
    assert logged(caplog) <= LOG_CHARACTERS


async def test_queries_mutations_and_subscriptions_run_over_a_socket(server: Served) -> None:
    async with server.socket() as socket:
        await socket.subscribe("m", "mutation { bump }")
        assert (await socket.receive())["payload"]["data"] == {"bump": 1}
        assert await socket.receive() == {"id": "m", "type": "complete"}
        await socket.subscribe("s", "subscription { ticks(count: 2) { cursor } }")
        first, second, end = [await socket.receive() for _ in range(3)]
        assert first["payload"]["data"] == {"ticks": {"cursor": "c0"}}
        assert "cost" in first["payload"]["extensions"]
        assert second == {"id": "s", "type": "next", "payload": {"data": {"ticks": {"cursor": "c1"}}}}
        assert end == {"id": "s", "type": "complete"}


async def test_a_ping_is_answered_before_and_after_init(server: Served) -> None:
    async with server.socket(init=False) as socket:
        await socket.send({"type": "ping", "payload": {"x": 1}})
        assert await socket.receive() == {"type": "pong"}
        await socket.send({"type": "pong"})
        await socket.send(INIT)
        assert await socket.receive() == {"type": "connection_ack"}


async def test_complete_from_the_client_ends_the_source_and_frees_the_id(server: Served) -> None:
    context = server.sample.context
    async with server.socket() as socket:
        opened, closed = context.opened, context.closed
        await socket.send(QUEUE)
        await eventually(lambda: context.opened == opened + 1)
        await socket.send({"type": "complete", "id": "1"})
        await socket.send({"type": "complete", "id": "unknown"})
        await socket.send(HELLO)
        assert (await socket.receive())["payload"]["data"] == {"hello": "Hello world"}
        await eventually(lambda: context.closed == closed + 1)


async def test_a_client_that_goes_away_leaves_nothing_behind(server: Served) -> None:
    context = server.sample.context
    opened, closed = context.opened, context.closed
    async with server.socket() as socket:
        await socket.send(QUEUE)
        await eventually(lambda: context.opened == opened + 1)
    await eventually(lambda: context.closed == closed + 1 and not server.sample.streams)


async def test_the_twenty_first_operation_of_a_socket_is_refused_alone(server: Served) -> None:
    async with server.socket() as socket:
        for number in range(21):
            await socket.send({**QUEUE, "id": str(number)})
        refused = await socket.receive()
        assert (refused["id"], refused["type"]) == ("20", "error")
        error = refused["payload"][0]
        assert error["extensions"]["code"] == "LIMIT_OPERATIONS_PER_SOCKET"
        assert "the limit is 20, got 21" in error["message"]
        await socket.send({"type": "complete", "id": "7"})
        await socket.subscribe("again", "{ hello }")
        assert (await socket.receive())["id"] == "again"


async def test_a_socket_without_init_is_closed_in_time() -> None:
    async with served(Limits(init_seconds=0.05)) as server, server.socket(init=False) as socket:
        assert await socket.closed() == (4408, "Connection initialisation timeout: the limit is 0.05 s")


async def test_sockets_without_init_make_room_for_others_and_are_never_many() -> None:
    async with served(Limits(unready_sockets=3, open_streams=4)) as server, AsyncExitStack() as opened:
        ready = await opened.enter_async_context(server.socket())
        silent = [await opened.enter_async_context(server.socket(init=False)) for _ in range(10)]
        assert server.sample.streams.unready == 3
        code, reason = await silent[0].closed()
        assert (code, reason.split(":")[0]) == (1013, "LIMIT_UNREADY_SOCKETS")
        await eventually(lambda: len(server.sample.streams) == 4, message="those that made room are gone")
        for socket in silent[-3:]:
            await socket.send(INIT)
            assert await socket.receive() == {"type": "connection_ack"}
        assert server.sample.streams.unready == 0
        with pytest.raises(InvalidStatus) as refused:
            async with server.socket():
                pytest.fail("the socket opened")
        assert refused.value.response.status_code == 503
        await ready.send({"type": "ping"})
        assert await ready.receive() == {"type": "pong"}


async def test_another_subprotocol_is_refused(server: Served) -> None:
    uri = f"ws://127.0.0.1:{server.port}/graphql"
    async with connect(uri, subprotocols=[Subprotocol("graphql-ws"), Subprotocol("graphql-transport-ws")]) as both:
        assert both.subprotocol == "graphql-transport-ws"
    async with connect(uri) as none:
        await none.wait_closed()
        assert none.close_code == 4406


async def test_a_socket_of_another_site_is_refused_at_the_handshake(server: Served) -> None:
    uri = f"ws://127.0.0.1:{server.port}/graphql"
    with pytest.raises(InvalidStatus) as refused:
        async with connect(uri, origin=Origin("https://evil.example")):
            pytest.fail("the socket opened")
    assert refused.value.response.status_code == 403
    assert b"CROSS_SITE" in refused.value.response.body


async def test_a_context_that_is_refused_closes_the_socket_at_init(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    uri = f"ws://127.0.0.1:{server.port}/graphql"
    for authorization, code, said in (
        ("wrong", 4401, "The token is unknown"),
        ("early", 1013, "STARTING: The server is starting"),
        ("crash", 1011, "Internal error, id "),
    ):
        async with connect(
            uri, subprotocols=[Subprotocol("graphql-transport-ws")], additional_headers={"authorization": authorization}
        ) as connection:
            await connection.send(json.dumps(INIT))
            await connection.wait_closed()
            assert connection.close_code == code
            assert said in str(connection.close_reason)
    assert "hunter2" in caplog.text


async def test_a_fault_in_a_subscription_is_masked(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    async with server.socket() as socket:
        await socket.subscribe("b", "subscription { broken { value } }")
        messages = [await socket.receive() for _ in range(2)]
    assert messages[0]["payload"]["data"] == {"broken": {"value": 0}}
    assert messages[1]["type"] == "error"
    assert messages[1]["payload"][0]["message"].startswith("Internal error, id ")
    assert "hunter2" not in json.dumps(messages)
    assert caplog.text.count("hunter2") == 2, "once as the message, once in the source line of the traceback"


async def test_shutdown_closes_sockets_so_that_clients_come_back() -> None:
    async with served() as server, server.socket() as socket:
        await socket.send(QUEUE)
        await eventually(lambda: server.sample.context.opened == 1)
        assert await server.sample.streams.shutdown() == 0
        assert await socket.closed() == (1012, "The server is shutting down; connect again")
        assert server.sample.context.closed == 1
        with pytest.raises(InvalidStatus) as refused:
            async with server.socket():
                pytest.fail("the socket opened")
        assert refused.value.response.status_code == 503
