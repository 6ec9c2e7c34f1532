"""uvicorn's WebSocket connections, with what is written in one turn of the event loop sent together.

A subscriber of a busy server gets many small messages at once. Each would be a system call of its own, which costs more
than everything else that is done for it.
"""

import asyncio
from typing import Any, cast

from typing_extensions import override
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

GATHERED_BYTES = 32 * 1024
"""Bytes that are sent without waiting for the end of the turn, so that the transport's own bound is soon noticed."""

CLOSE_SECONDS = 5.0
"""Seconds that a closed connection has to send what waits; a reader that stalls never takes it."""


class GatheringTransport:
    """Gather writes until the event loop's next turn; offers the part of a transport that uvicorn uses.

    Args:
        transport: The connection.
        loop: Its event loop.
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
        """Send what waits, then end; not later than ``close_seconds`` from now. May be called again."""
        self._flush()
        self._transport.close()
        if self._timer is None:
            self._timer = self._loop.call_later(self._close_seconds, self._transport.abort)

    def lost(self) -> None:
        """The connection has ended."""
        self._parts.clear()
        self._size = 0
        if self._timer is not None:
            self._timer.cancel()

    def is_closing(self) -> bool:
        """Return whether it is ending or has ended."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Let what arrives wait."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take what arrives."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as asyncio declares it
        """Return what is known of the connection."""
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
        """End."""
        super().connection_lost(exc)
        if self._gathering is not None:
            self._gathering.lost()
