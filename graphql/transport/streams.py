"""The open WebSockets and event streams of this process: how many there are, and how they end at shutdown.

An open stream would keep the HTTP server from stopping; ``shutdown`` ends them all.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ..base.errors import UserFacingError


class OpenStreams:
    """Counts streams and ends them."""

    def __init__(self, maximum: int = 5_000) -> None:
        """Start empty.

        Args:
            maximum: Most streams open at once, see ``Limits.open_streams``.
        """
        self._maximum = maximum
        self._stops: dict[object, Callable[[], None]] = {}
        self._closing = False
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._stops)

    @property
    def closing(self) -> bool:
        """Whether ``shutdown`` has begun: no stream opens any more."""
        return self._closing

    def check(self) -> None:
        """Refuse one stream too many.

        Raises:
            UserFacingError: ``SHUTTING_DOWN`` or ``LIMIT_OPEN_STREAMS``, HTTP 503.
        """
        if self._closing:
            raise UserFacingError("The server is shutting down; connect again.", code="SHUTTING_DOWN", http_status=503)
        if len(self._stops) >= self._maximum:
            message = f"Too many open streams: the limit is {self._maximum:,}; try again later."
            extensions = {"limit": "open_streams", "maximum": self._maximum, "requested": len(self._stops) + 1}
            raise UserFacingError(message, code="LIMIT_OPEN_STREAMS", http_status=503, extensions=extensions)

    @contextmanager
    def opened(self, stop: Callable[[], None]) -> Generator[None]:
        """Count a stream while the block runs.

        Args:
            stop: Asks the stream to end; called at most once, on the event loop.

        Raises:
            UserFacingError: see ``check``.
        """
        self.check()
        key = object()
        self._stops[key] = stop
        self._empty.clear()
        try:
            yield
        finally:
            del self._stops[key]
            if not self._stops:
                self._empty.set()

    async def shutdown(self, seconds: float = 5.0) -> int:
        """End every stream and refuse new ones; may be called again.

        Args:
            seconds: How long to wait for the streams to be gone.

        Returns:
            How many streams were still there afterwards (readers that had stalled).
        """
        self._closing = True
        for stop in list(self._stops.values()):
            stop()
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return len(self._stops)
        return 0
