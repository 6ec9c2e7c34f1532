"""An HTTP server on loopback that answers what the test says, byte by byte, and keeps what it was asked."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

CERTIFICATES = Path(__file__).parent / "certificates"
"""A certificate for `secure.test` that signs itself, and its key; for tests only."""


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; the names of headers are lower-case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


ACCEPTED_WITHIN = 5
"""Turns of the event loop from a connection's arrival to the task that serves it, and one more."""


@dataclass
class AnsweringServer:
    """Answers by `answer(asked)`, raw bytes; None keeps the client waiting."""

    answer: Callable[[Asked], bytes | None]
    port: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])
    names: list[str | None] = field(default_factory=list[str | None])
    """The host names asked for in TLS handshakes."""
    _open: set[asyncio.Event] = field(default_factory=set[asyncio.Event])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        self._open.add(over := asyncio.Event())
        try:
            request = await read_request(reader)
            self.asked.append(request)
            answer = self.answer(request)
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # The client left early, as a client with limits does.
        finally:
            writer.close()
            # Anyone who left early has been told of already.
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self._open.discard(over)
            over.set()

    async def end(self) -> None:
        """Return when no connection is open: before Python 3.12 a server's `wait_closed` does not wait for them."""
        for _ in range(ACCEPTED_WITHIN):
            await asyncio.sleep(0)
        for over in list(self._open):
            await over.wait()

    def note_name(self, _socket: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        """Keep the name of a TLS handshake."""
        self.names.append(name)


async def read_request(reader: asyncio.StreamReader) -> Asked:
    """A whole request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    method, target, _ = first.split(" ")
    return Asked(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def reply(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer; underscores in the names of headers are dashes."""
    fields = {"Content-Length": str(len(body)), "Connection": "close"}
    fields |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Word\r\n{lines}\r\n".encode() + body


@asynccontextmanager
async def answering(
    answer: Callable[[Asked], bytes | None], *, tls: bool = False
) -> AsyncGenerator[AnsweringServer, None]:
    """A server on a free port of 127.0.0.1, gone at the end of the block."""
    served = AnsweringServer(answer)
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / "certificate.pem", CERTIFICATES / "key.pem")
        context.sni_callback = served.note_name
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=context)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()
        await served.end()
