"""Readers that stall: cut off alone, in bounded memory, while others go on."""

import asyncio
import base64
import json
import logging
import os
import socket

import pytest

from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.serving import Served, served
from tests.graphql_api.transport.test_nonsense import LOG_CHARACTERS, logged
from tests.support.waiting import eventually

FLOOD = "subscription { flood(size: 300000) { text } }"


async def stalled_connection(server: Served, request: bytes) -> socket.socket:
    """A connection that sends `request` and then never reads; its small buffer fills soon."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", server.port))
    await loop.sock_sendall(connection, request)
    return connection


def frame(message: object) -> bytes:
    """A masked text frame of a WebSocket client."""
    payload = json.dumps(message).encode()
    assert len(payload) < 126
    return bytes([0x81, 0x80 | len(payload), 0, 0, 0, 0]) + payload


def upgrade() -> bytes:
    """The handshake of a WebSocket without compression."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        "GET /graphql HTTP/1.1",
        "host: localhost",
        "connection: upgrade",
        "upgrade: websocket",
        f"sec-websocket-key: {key}",
        "sec-websocket-version: 13",
        "sec-websocket-protocol: graphql-transport-ws",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def event_stream() -> bytes:
    """The request for an endless event stream."""
    body = json.dumps({"query": FLOOD}).encode()
    lines = ["POST /graphql HTTP/1.1", "host: localhost", "content-type: application/json",
             f"content-length: {len(body)}", "accept: text/event-stream"]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode() + body


async def stalled_websocket(server: Served) -> socket.socket:
    """A WebSocket that reads the answer to its handshake and nothing else."""
    connection = await stalled_connection(server, upgrade())
    answer = await asyncio.get_running_loop().sock_recv(connection, 4_096)
    assert answer.startswith(b"HTTP/1.1 101")
    return connection


async def websocket_flood(server: Served, subscriptions: int = 1) -> socket.socket:
    """A stalled WebSocket with endless subscriptions."""
    connection = await stalled_websocket(server)
    loop = asyncio.get_running_loop()
    subscribes = [{"type": "subscribe", "id": f"{n}", "payload": {"query": FLOOD}} for n in range(subscriptions)]
    await loop.sock_sendall(connection, b"".join(map(frame, [{"type": "connection_init"}, *subscribes])))
    return connection


@pytest.mark.parametrize("transport", ["websocket", "events"])
async def test_a_reader_that_stalls_is_cut_off_alone(transport: str, caplog: pytest.LogCaptureFixture) -> None:
    async with served(Limits(send_seconds=0.2)) as server:
        caplog.set_level(logging.INFO)
        context = server.sample.context
        async with server.socket() as healthy:
            await healthy.subscribe("q", "subscription { queue { value } }")
            await eventually(lambda: context.opened == 1)
            flood = websocket_flood(server) if transport == "websocket" else stalled_connection(server, event_stream())
            connection = await flood
            await eventually(lambda: context.opened == 2, message="the flood has begun")
            await eventually(lambda: context.closed == 1, message="the flood has been ended")
            await eventually(lambda: len(server.sample.streams) == 1, message="only the healthy reader is left")
            context.source.put_nowait(7)
            assert (await healthy.receive())["payload"]["data"] == {"queue": {"value": 7}}
        connection.close()
        assert "was cut off: its reader took nothing for 0.2 s" in caplog.text
        assert logged(caplog) <= LOG_CHARACTERS


async def test_a_socket_of_many_operations_is_cut_off_once(caplog: pytest.LogCaptureFixture) -> None:
    async with served(Limits(send_seconds=0.2)) as server:
        caplog.set_level(logging.INFO)
        connection = await websocket_flood(server, subscriptions=5)
        await eventually(lambda: server.sample.context.opened == 5, message="the floods have begun")
        await eventually(lambda: not server.sample.streams, message="the socket has been cut off")
        connection.close()
        assert caplog.text.count("was cut off: its reader took nothing for 0.2 s") == 1


@pytest.mark.costly
async def test_a_reader_that_only_pings_is_cut_off_too() -> None:
    async with served(Limits(send_seconds=0.2)) as server:
        connection = await stalled_websocket(server)
        loop = asyncio.get_running_loop()
        pings = frame({"type": "ping"}) * 1_000

        async def flood() -> None:
            while True:
                await loop.sock_sendall(connection, pings)

        flooding = asyncio.create_task(flood())
        await eventually(lambda: not server.sample.streams, message="the socket has been cut off")
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)
        connection.close()
