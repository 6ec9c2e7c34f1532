"""The HTTP server: uvicorn on sockets that listen already, stopped by us and not by its own signal handlers."""

import asyncio
import re
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

GATHERED_BYTES = 32 * 1024
"""Bytes that are sent without waiting for the end of the turn, so that the transport's own bound is soon noticed."""

CLOSE_SECONDS = 5.0
"""Seconds that a closed connection has to send what waits; a reader that stalls never takes it."""


class GatheringTransport:
    """Gather writes until the event loop's next turn; offers the part of a transport that uvicorn uses.

    A subscriber of a busy server gets many small messages at once. Each would be a system call of its own, which costs
    more than everything else that is done for it.

    Args:
        close_seconds: Seconds from ``close`` to the end of a connection whose reader takes nothing.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, close_seconds: float = CLOSE_SECONDS
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._close_seconds = close_seconds
        self._parts: list[bytes] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def write(self, data: bytes) -> None:
        """Send ``data``, at the latest when this turn of the event loop is over."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size >= GATHERED_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._parts:
            return
        data = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Send the waiting answers, then end; not later than ``close_seconds`` from now. May be called again."""
        self._flush()
        self._transport.close()
        if self._timer is None:
            self._timer = self._loop.call_later(self._close_seconds, self._transport.abort)

    def lost(self) -> None:
        """Forget the request when its connection has ended."""
        self._parts.clear()
        self._size = 0
        if self._timer is not None:
            self._timer.cancel()

    def is_closing(self) -> bool:
        """Return whether it is ending or has ended."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Stop reading until ``resume_reading`` is called."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as asyncio declares it
        """Return a fact about the connection."""
        return self._transport.get_extra_info(name, default)


class GatheringProtocol(WebSocketsSansIOProtocol):
    """One WebSocket; for uvicorn's setting ``ws``."""

    _gathering: GatheringTransport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, writing through a ``GatheringTransport``."""
        self._gathering = GatheringTransport(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(cast("asyncio.Transport", self._gathering))

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._gathering is not None:
            self._gathering.lost()


HEAD_SECONDS: Final = 10.0
"""A connection has so long to send the head of its first request, and each further head once it has begun."""

_ABSOLUTE: Final = re.compile(rb"[a-z][a-z0-9+.-]*://([^/?#]*)", re.IGNORECASE)


class BoundedHeadProtocol(HttpToolsProtocol):
    """One connection; for uvicorn's setting ``http``."""

    head_seconds = HEAD_SECONDS
    _head_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._await_head()

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    @override
    def on_headers_complete(self) -> None:
        self._cancel_timer()
        self._name_target()
        super().on_headers_complete()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _name_target(self) -> None:
        """Name the host by a target in absolute form, not by the header (RFC 9112, 3.2.2)."""
        found = _ABSOLUTE.match(self.url)
        if found is not None:
            self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"]
            self.headers.append((b"host", found[1]))

    def _await_head(self) -> None:
        self._cancel_timer()
        self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _cancel_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        # Nothing is said: a client that sends so slowly does not read either.
        self.transport.close()


CLOSE_TIMEOUT = 3
"""Seconds that open answers have to end once the server stops; event streams have been closed before."""

KEEP_ALIVE = 30
"""Seconds that an idle connection stays open."""

HANDSHAKE_SECONDS = 10.0
"""A connection has so long to complete its TLS handshake."""

TICK = 1.0
"""Seconds between two refreshes of the Date header."""


class HttpServer(Server):
    """uvicorn's server without its signal handlers and without its ten wake-ups a second.

    uvicorn ends its process by the signal that it caught and stops listening before jobs have drained; here the process
    drains first, answering as long, and then calls ``finish``.
    """

    handshake_seconds = HANDSHAKE_SECONDS

    def __init__(self, app: ASGIApp, *, message_bytes: int, tls: tuple[Path, Path] | None = None) -> None:
        """Serve ``app``; WebSocket messages may have ``message_bytes``; ``tls`` are certificate and key."""
        super().__init__(
            Config(
                app,
                http=BoundedHeadProtocol,
                ws=GatheringProtocol,
                # It costs more than all else that is done for a small message, and some 40 kB for each connection.
                ws_per_message_deflate=False,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                # `ForwardedHeaders` does it, for the host too.
                proxy_headers=False,
                ssl_certfile=tls[0] if tls else None,
                ssl_keyfile=tls[1] if tls else None,
                ws_max_size=message_bytes,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=CLOSE_TIMEOUT,
            )
        )
        self._finishing = asyncio.Event()
        self.servers = []

    def finish(self) -> None:
        """Stop listening, end the connections, and let ``serve`` return."""
        self.should_exit = True
        self._finishing.set()

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on sockets. As uvicorn does it, which leaves a connection a minute to say nothing at all."""
        config, loop = self.config, asyncio.get_running_loop()

        def connected() -> asyncio.Protocol:
            kind = cast("type[BoundedHeadProtocol]", config.http_protocol_class)
            return kind(config=config, server_state=self.server_state, app_state=self.lifespan.state)

        patience = None if config.ssl is None else self.handshake_seconds
        for one in sockets or ():
            listening = await loop.create_server(
                connected, sock=one, ssl=config.ssl, ssl_handshake_timeout=patience, backlog=config.backlog
            )
            self.servers.append(listening)
        self.started = True

    @override
    async def main_loop(self) -> None:
        """Keep the Date header fresh until ``finish``."""
        while not await self.on_tick(0):
            try:
                async with asyncio.timeout(TICK):
                    await self._finishing.wait()
            except TimeoutError:
                continue

    @contextmanager
    @override
    def capture_signals(self) -> Generator[None]:
        """Leave the signals alone: ``StopRequest`` handles them."""
        yield
