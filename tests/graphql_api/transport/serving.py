"""A real HTTP server on loopback around the sample application, and clients for it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.sample import Sample, sample_app
from tests.support.waiting import eventually
from tests.support.web import open_async_client

PROTOCOL = Subprotocol("graphql-transport-ws")


@dataclass
class Served:
    """A running server."""

    sample: Sample
    client: httpx.AsyncClient
    port: int
    server: uvicorn.Server

    async def post(self, body: object, **headers: str) -> httpx.Response:
        """POST a JSON body, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(
            "/graphql", content=content, headers={"content-type": "application/json", **named}
        )

    async def query(self, document: str, **members: object) -> Any:
        """The answer to one document."""
        return (await self.post({"query": document, **members})).json()

    @asynccontextmanager
    async def socket(self, *, init: bool = True, protocol: Subprotocol = PROTOCOL) -> AsyncGenerator["Socket"]:
        """An open WebSocket, acknowledged unless `init` is false."""
        uri = f"ws://127.0.0.1:{self.port}/graphql"
        async with connect(uri, subprotocols=[protocol], ping_interval=None, max_size=None) as connection:
            socket = Socket(connection)
            if init:
                await socket.send({"type": "connection_init"})
                assert await socket.receive() == {"type": "connection_ack"}
            yield socket


@dataclass
class Socket:
    """A WebSocket that speaks JSON."""

    connection: ClientConnection

    async def send(self, message: object) -> None:
        """Send a JSON message, or text and bytes as they are."""
        await self.connection.send(message if isinstance(message, str | bytes) else json.dumps(message))

    async def receive(self) -> Any:
        """The next message."""
        async with asyncio.timeout(60):
            return json.loads(await self.connection.recv())

    async def subscribe(self, operation_id: str, document: str, **members: object) -> None:
        """Start an operation."""
        await self.send({"type": "subscribe", "id": operation_id, "payload": {"query": document, **members}})

    async def closed(self) -> tuple[int, str]:
        """Code and reason with which the server closes; messages before that are dropped."""
        frame = None
        try:
            async with asyncio.timeout(60):
                while True:
                    await self.connection.recv()
        except ConnectionClosed as error:
            frame = error.rcvd
        assert frame is not None, "the server went without a close frame"
        return frame.code, frame.reason


@asynccontextmanager
async def served(limits: Limits | None = None, **options: Any) -> AsyncGenerator[Served]:
    """A server of the sample application; `options` are those of `graphql_routes`."""
    sample = sample_app(limits, **options)
    config = uvicorn.Config(sample.app, port=0, log_level="info", access_log=False, lifespan="off")
    config.ws_max_size = 4 * sample.schema.limits.body_bytes
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    await eventually(lambda: server.started, message="the server listens")
    port: int = server.servers[0].sockets[0].getsockname()[1]
    async with open_async_client(f"http://127.0.0.1:{port}") as client:
        try:
            yield Served(sample, client, port, server)
        finally:
            await sample.streams.shutdown()
            server.should_exit = True
            await running
