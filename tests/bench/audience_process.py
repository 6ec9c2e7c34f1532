"""The readers of ``bench_subscribers``, in a process of their own: many WebSockets, read as cheaply as Python can.

Frames are taken apart when they arrive, and noted with their time; what is in them is looked at when all is over, so
that the readers take little from the server whose machine they share.
"""

import asyncio
import base64
import json
import os
import socket
import struct
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any, cast

import uvloop

from tests.support.waiting import NeverHeldError, eventually, let_pass

TEXT, PONG = 0x1, 0xA
COMPRESSED = 0x40
NEXT = b'"type":"next"'
SMALL = 4096
"""Receive buffer of the reader that stalls, in bytes."""


@dataclass(frozen=True)
class SocketPlan:
    """One WebSocket: the payloads of its ``subscribe`` messages; ``stalled`` = it never reads an answer."""

    payloads: tuple[dict[str, Any], ...]
    stalled: bool = False


@dataclass(frozen=True)
class Received:
    """What one subscription got.

    Attributes:
        cursors: of its events, in the order in which they came.
        waits: seconds from the change's transaction to the arrival, for each.
        faults: what came and was no event.
    """

    cursors: list[str] = field(default_factory=list[str])
    waits: list[float] = field(default_factory=list[float])
    faults: list[str] = field(default_factory=list[str])


class Reader(asyncio.Protocol):
    """One WebSocket, sans everything but what is needed here."""

    def __init__(self, *, deflate: bool) -> None:
        self.messages: list[tuple[float, bytes]] = []
        self.events = 0
        self.fault = ""
        self.upgraded = False
        self._deflate = deflate
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the upgrade."""
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(upgrade(deflate=self._deflate))

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the server has gone, and why."""
        self.fault = "the server ended the connection" if exc is None else f"the connection broke: {exc}"

    def data_received(self, data: bytes) -> None:
        """Take the frames apart that have come."""
        now = time.time()
        self._buffer += data
        if not self.upgraded:
            head, found, rest = bytes(self._buffer).partition(b"\r\n\r\n")
            if not found:
                return
            assert head.startswith(b"HTTP/1.1 101"), head.decode()
            self.upgraded, self._buffer = True, bytearray(rest)
        self._take_frames(now)

    def _take_frames(self, now: float) -> None:
        buffer, place = self._buffer, 0
        while (frame := next_frame(buffer, place)) is not None:
            first, begin, place = frame
            self._take(first, bytes(buffer[begin:place]), now)
        del buffer[:place]

    def _take(self, first: int, payload: bytes, now: float) -> None:
        match first & 0x0F:
            case 0x1:  # text
                if first & COMPRESSED:
                    payload = self._inflater.decompress(payload + b"\x00\x00\xff\xff")
                self.events += NEXT in payload[:300]
                self.messages.append((now, payload))
            case 0x9:  # ping
                self.send(PONG, payload)
            case _:
                self.messages.append((now, payload))

    def send(self, opcode: int, payload: bytes) -> None:
        """Send one masked frame (the mask is 0)."""
        assert self._transport is not None
        self._transport.write(frame_of(opcode, payload))

    def send_json(self, message: object) -> None:
        """Send a message of the protocol."""
        self.send(TEXT, json.dumps(message).encode())

    def has(self, kind: str) -> bool:
        """Return whether a message of this type has come."""
        return any(f'"type":"{kind}"'.encode() in payload for _, payload in self.messages)

    def end(self) -> None:
        """Go without a goodbye."""
        if self._transport is not None:
            self._transport.abort()


def upgrade(*, deflate: bool) -> bytes:
    """The handshake, with compression as browsers offer it."""
    lines = [
        "GET /graphql HTTP/1.1",
        "host: localhost",
        "connection: upgrade",
        "upgrade: websocket",
        f"sec-websocket-key: {base64.b64encode(os.urandom(16)).decode()}",
        "sec-websocket-version: 13",
        "sec-websocket-protocol: graphql-transport-ws",
        *(["sec-websocket-extensions: permessage-deflate; client_max_window_bits"] if deflate else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def next_frame(buffer: bytearray, place: int) -> tuple[int, int, int] | None:
    """First byte, begin and end of the payload of the frame at ``place``; None while it is not whole."""
    if len(buffer) < place + 2:
        return None
    size, begin = buffer[place + 1] & 0x7F, place + 2
    if size >= 126:
        width, form = (2, ">H") if size == 126 else (8, ">Q")
        if len(buffer) < begin + width:
            return None
        (size,) = struct.unpack_from(form, buffer, begin)
        begin += width
    return (buffer[place], begin, begin + size) if len(buffer) >= begin + size else None


def frame_of(opcode: int, payload: bytes) -> bytes:
    """One whole frame of a client."""
    size = len(payload)
    head = bytes([0x80 | opcode, 0x80 | min(126, size)])
    return head + (b"" if size < 126 else struct.pack(">H", size)) + b"\x00" * 4 + payload


def opening(plan: SocketPlan) -> list[dict[str, Any]]:
    """All that a socket says: its subscriptions are numbered from 0."""
    subscribes = [{"type": "subscribe", "id": str(n), "payload": each} for n, each in enumerate(plan.payloads)]
    return [{"type": "connection_init"}, *subscribes]


async def open_reader(port: int, plan: SocketPlan, *, deflate: bool, kind: type[Reader] = Reader) -> Reader:
    """A connected socket with all of its subscriptions begun."""
    loop = asyncio.get_running_loop()
    _, reader = await loop.create_connection(lambda: kind(deflate=deflate), "127.0.0.1", port)
    init, *subscribes = opening(plan)
    await eventually(lambda: reader.upgraded, message="the answer to the handshake")
    reader.send_json(init)
    await eventually(lambda: reader.has("connection_ack"), message="connection_ack")
    for message in subscribes:
        reader.send_json(message)
    reader.send_json({"type": "ping"})
    await eventually(lambda: reader.has("pong"), message="the answer to a ping behind the subscriptions")
    return reader


async def open_stalled(port: int, plan: SocketPlan) -> socket.socket:
    """A socket that subscribes and then reads nothing at all; its small buffer fills soon."""
    loop = asyncio.get_running_loop()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    connection.setblocking(False)
    await loop.sock_connect(connection, ("127.0.0.1", port))
    await loop.sock_sendall(connection, upgrade(deflate=False))
    assert (await loop.sock_recv(connection, SMALL)).startswith(b"HTTP/1.1 101")
    await loop.sock_sendall(connection, b"".join(frame_of(TEXT, json.dumps(one).encode()) for one in opening(plan)))
    return connection


def received(reader: Reader, subscriptions: int) -> list[Received]:
    """Return what each subscription of a socket got, by their ids."""
    found = [Received() for _ in range(subscriptions)]
    for came, payload in reader.messages:
        message = decoded(payload)
        if message["type"] in ("connection_ack", "pong"):
            continue
        one = found[int(message.get("id", 0))]
        event = event_of(message)
        if event is None:
            one.faults.append(json.dumps(message)[:300])
            continue
        one.cursors.append(event["cursor"])
        one.waits.append(came - datetime.fromisoformat(event["at"]).timestamp())
    if reader.fault:
        found[0].faults.append(reader.fault)
    return found


def decoded(payload: bytes) -> dict[str, Any]:
    """A message of the protocol; anything else that came under a type that tells what."""
    try:
        message: dict[str, Any] = json.loads(payload)
    except ValueError:
        return {"type": f"a frame of {payload[:80]!r}"}
    return message


def event_of(message: dict[str, Any]) -> dict[str, Any] | None:
    """The event in a message; None when it carries anything else."""
    if message["type"] != "next" or "errors" in message["payload"]:
        return None
    event: dict[str, Any] | None = message["payload"]["data"].get("events")
    return event


async def attend(pipe: Connection, port: int, plans: Sequence[SocketPlan], *, deflate: bool) -> None:
    """Subscribe, say so, read until told how many events there are in all, and hand over what has come."""
    readers = [await open_reader(port, plan, deflate=deflate) for plan in plans if not plan.stalled]
    stalled = [await open_stalled(port, plan) for plan in plans if plan.stalled]
    pipe.send("subscribed")
    expected: int = await asyncio.to_thread(pipe.recv)
    with suppress(NeverHeldError):
        # Anyone who misses something is found by what it has got.
        await eventually(lambda: sum(reader.events for reader in readers) >= expected, interval=0.05)
    # What comes twice comes late.
    await asyncio.to_thread(let_pass, 0.5)
    listening = [plan for plan in plans if not plan.stalled]
    pipe.send([received(reader, len(plan.payloads)) for reader, plan in zip(readers, listening, strict=True)])
    pipe.send(time.process_time())
    await asyncio.to_thread(pipe.recv)
    for reader in readers:
        reader.end()
    for connection in stalled:
        connection.close()


def main(pipe: Connection, port: int, plans: Sequence[SocketPlan], deflate: bool) -> None:
    """The whole process."""
    uvloop.run(attend(pipe, port, plans, deflate=deflate))
