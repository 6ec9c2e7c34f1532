"""Sending to a reader that may stall: one message at a time, each within a bounded time.

The HTTP server holds back the next message while the reader's buffers are full, so that a reader that stalls costs one
message of memory per operation, and after `Limits.send_seconds` its connection.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message


class SlowReader(Exception):  # noqa: N818 - a fact about the reader, not a fault of ours
    """The reader took nothing for `Limits.send_seconds`; its connection has to go."""


class BoundedSender:
    """Serialises the messages of many tasks to one connection."""

    def __init__(self, send: Callable[[Message], Awaitable[None]], seconds: float) -> None:
        """Wrap a send function.

        Args:
            send: sends one ASGI message.
            seconds: longest wait for one message, the wait for earlier ones included.
        """
        self._send = send
        self._seconds = seconds
        self._lock = asyncio.Lock()

    async def send(self, message: Message) -> None:
        """Send one message.

        Raises:
            SlowReader: it could not be handed over in time.
        """
        try:
            async with asyncio.timeout(self._seconds), self._lock:
                await self._send(message)
        except TimeoutError:
            raise SlowReader from None
