"""Small messages of one turn leave together, and a closed connection ends even when nobody reads it."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override
from websockets.asyncio.client import connect

from cronograph.server.http.server import GATHERED_BYTES, GatheringTransport, HttpServer
from tests.support.waiting import eventually

MESSAGES = 200
UPGRADE = (
    b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)


class Recording(asyncio.Transport):
    """A transport that notes what reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.ends: list[str] = []

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    @override
    def close(self) -> None:
        self.ends.append("close")

    @override
    def abort(self) -> None:
        self.ends.append("abort")

    @override
    def is_closing(self) -> bool:
        return bool(self.ends)


@dataclass
class Gathered:
    """A gathering transport and what it leads to."""

    below: Recording
    above: GatheringTransport


@pytest.fixture
async def gathered() -> Gathered:
    below = Recording()
    return Gathered(below, GatheringTransport(below, asyncio.get_running_loop(), close_seconds=0.01))


async def test_what_is_written_in_one_turn_is_sent_together(gathered: Gathered) -> None:
    for part in (b"a", b"b", b"c"):
        gathered.above.write(part)
    assert gathered.below.written == []
    await asyncio.sleep(0)
    gathered.above.write(b"d")
    await asyncio.sleep(0)
    assert gathered.below.written == [b"abc", b"d"]


async def test_much_is_sent_at_once_so_that_the_bound_of_the_transport_is_noticed(gathered: Gathered) -> None:
    gathered.above.write(b"a")
    gathered.above.write(b"b" * GATHERED_BYTES)
    assert [len(data) for data in gathered.below.written] == [GATHERED_BYTES + 1]
    await asyncio.sleep(0)
    assert len(gathered.below.written) == 1


async def test_what_waits_is_sent_before_the_end(gathered: Gathered) -> None:
    gathered.above.write(b"goodbye")
    gathered.above.close()
    assert gathered.below.written == [b"goodbye"]
    assert gathered.below.ends == ["close"]


async def test_nothing_is_written_to_a_connection_that_ends(gathered: Gathered) -> None:
    gathered.above.close()
    gathered.above.write(b"too late")
    await asyncio.sleep(0)
    assert gathered.below.written == []


async def test_a_closed_connection_is_ended_when_its_reader_takes_nothing(gathered: Gathered) -> None:
    gathered.above.close()
    gathered.above.close()
    await eventually(lambda: "abort" in gathered.below.ends)
    assert gathered.below.ends.count("abort") == 1


async def test_a_connection_that_has_ended_is_left_alone(gathered: Gathered) -> None:
    gathered.above.close()
    gathered.above.lost()
    later = Recording()
    GatheringTransport(later, asyncio.get_running_loop(), close_seconds=0.02).close()
    await eventually(lambda: "abort" in later.ends, message="time to pass")
    assert "abort" not in gathered.below.ends


async def flooding(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that sends until its reader stalls, and then gives up."""
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(0.2):
                await send({"type": "websocket.send", "text": "x" * 10_000})


async def counting(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that greets with many messages, then sends back what it gets."""
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    for number in range(MESSAGES):
        await send({"type": "websocket.send", "text": str(number)})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[tuple[HttpServer, int]]:
    """A server with an application, and where it listens."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(app, message_bytes=1024)
    running = asyncio.create_task(server.serve([listening]))
    await eventually(lambda: server.started)
    port: int = listening.getsockname()[1]
    try:
        yield server, port
    finally:
        server.finish()
        await running


async def test_a_client_gets_every_message_in_order_and_the_close_frame() -> None:
    async with serving(counting) as (_, port), connect(f"ws://127.0.0.1:{port}") as client:
        assert [await client.recv() for _ in range(MESSAGES)] == [str(number) for number in range(MESSAGES)]
        await client.send("and one more")
        assert await client.recv() == "and one more"
        assert client.protocol.extensions == [], "small messages are not compressed"
        await client.close()
        assert client.close_code == 1000


@pytest.mark.costly
async def test_a_reader_that_stalls_does_not_keep_its_connection() -> None:
    async with serving(flooding) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(UPGRADE)
        await eventually(lambda: len(server.server_state.connections) == 1, message="the connection stands")
        await eventually(lambda: not server.server_state.connections, message="the connection has been ended")
        assert not reader.at_eof(), "it has not even read what came"
        writer.transport.abort()
