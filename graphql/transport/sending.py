"""Sending to a reader that may stall: one message at a time, each within a bounded time.

The HTTP server holds back the next message while the reader's buffers are full, so that a reader that stalls costs one
message of memory per operation, and after ``Limits.send_seconds`` its connection.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message


class CloseSocket(Exception):  # noqa: N818 - a decision, not a fault
    """Ends the socket with a code and a reason; a code of None means that the client has gone."""

    def __init__(self, code: int | None, reason: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class SlowReader(Exception):  # noqa: N818 - a fact about the reader, not a fault of ours
    """The reader took nothing for ``Limits.send_seconds``; its connection has to go."""


class BoundedSender:
    """Serialises the messages of many tasks to one connection.

    One timer watches all of them: a time-out of its own cost each message more than its sending (``asyncio.timeout``).
    """

    def __init__(self, send: Callable[[Message], Awaitable[None]], seconds: float) -> None:
        """Wrap a send function; on the event loop.

        Args:
            send: Sends one ASGI message.
            seconds: Longest wait for one message, the wait for earlier ones included.
        """
        self._send = send
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[asyncio.Task[object], float] = {}
        self._overdue: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, message: Message) -> None:
        """Send one message; a task sends one at a time.

        Raises:
            SlowReader: it could not be handed over in time.
        """
        task = asyncio.current_task(self._loop)
        assert task is not None, "a coroutine runs in a task"
        self._waiting[task] = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look)
        try:
            async with self._lock:
                await self._send(message)
        except asyncio.CancelledError:
            # Cancelled by somebody else as well: then that is what it ends by.
            if task in self._overdue and task.uncancel() == 0:
                raise SlowReader from None
            raise
        finally:
            del self._waiting[task]
            self._overdue.discard(task)

    def _look(self) -> None:
        """End tasks that wait for too long, and look again when the next one may."""
        self._timer = None
        now = self._loop.time()
        for task, since in self._waiting.items():
            # They are in the order in which they began.
            if since + self._seconds > now:
                self._timer = self._loop.call_at(since + self._seconds, self._look)
                return
            if task not in self._overdue:
                self._overdue.add(task)
                task.cancel()
