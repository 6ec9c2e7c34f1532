"""uvicorn's HTTP connections, with what it leaves open: heads that never end, and targets that name another host."""

import asyncio
import re
from typing import Final, cast

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
"""A connection has so long to send the head of its first request, and each further head once it has begun."""

_ABSOLUTE: Final = re.compile(rb"[a-z][a-z0-9+.-]*://([^/?#]*)", re.IGNORECASE)


class BoundedHeadProtocol(HttpToolsProtocol):
    """One connection; for uvicorn's setting ``http``."""

    head_seconds = HEAD_SECONDS
    _head_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; a head is to come."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._await_head()

    @override
    def on_message_begin(self) -> None:
        """A head has begun."""
        super().on_message_begin()
        self._await_head()

    @override
    def on_headers_complete(self) -> None:
        """The head is there."""
        self._cancel_timer()
        self._name_target()
        super().on_headers_complete()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._cancel_timer()
        super().connection_lost(exc)

    def _name_target(self) -> None:
        """A target in absolute form names the host, no matter what the header says (RFC 9112, 3.2.2)."""
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
