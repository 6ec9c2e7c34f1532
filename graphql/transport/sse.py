"""Server-Sent Events: one operation per request, in the "distinct connections mode" of graphql-sse.

Results are ``next`` events, the end is a ``complete`` event, and an idle stream sends comments. An event has the cursor
of its payload as ``id:``; a client that comes back with ``Last-Event-ID`` goes on from there. At shutdown and for a
reader that stalls the stream ends without ``complete``, so that clients connect again.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, Final

from starlette.requests import HTTPConnection, Request
from starlette.types import Receive, Scope, Send

from ..base.errors import UserFacingError, error_answer, mask
from ..guard.document import Prepared, RequestRefused
from .engine import encode_json
from .gateway import Gateway
from .sharing import Encoded
from .websocket import BoundedSender, SlowReader

logger = logging.getLogger("cronograph.graphql")

HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
KEEP_ALIVE: Final = ":\n\n"
COMPLETE: Final = "event: complete\ndata:\n\n"
FAREWELL_SECONDS: Final = 1.0
EVENT_ID_CHARACTERS: Final = 500


def last_event_id(request: Request) -> str | None:
    """Return the ``Last-Event-ID`` header, None when absent or empty.

    Raises:
        UserFacingError: longer than any cursor of ours.
    """
    value = request.headers.get("last-event-id")
    if value and len(value) > EVENT_ID_CHARACTERS:
        message = f"Last-Event-ID must have at most {EVENT_ID_CHARACTERS} characters, got {len(value):,}."
        raise UserFacingError(message, code="INVALID_LAST_EVENT_ID", http_status=400)
    return value or None


class EventStream:
    """The response that runs an operation, or reports its refusal, as a stream of events."""

    def __init__(
        self,
        gateway: Gateway,
        operation: Prepared | RequestRefused,
        context: Any,  # noqa: ANN401 - the schema's own type
        connection: HTTPConnection,
    ) -> None:
        self._connection = connection
        self._gateway = gateway
        self._operation = operation
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        """Stream until the operation ends, the client leaves or stalls, or the server shuts down."""
        stopped = asyncio.Event()
        lost: asyncio.Future[UserFacingError] = asyncio.get_running_loop().create_future()
        sender = BoundedSender(send, self._gateway.limits.send_seconds)
        watched = self._gateway.watch(self._context, self._connection, lost.set_result)
        client = self._gateway.admission.client_of(self._context, self._connection)
        with self._gateway.streams.opened(client, stopped.set), watched:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            pump = asyncio.create_task(self._pump(sender))
            keep_alive = asyncio.create_task(self._keep_alive(sender))
            gone = asyncio.create_task(_disconnected(receive))
            tasks: list[asyncio.Task[None]] = [pump, keep_alive, gone]
            stopping = asyncio.create_task(stopped.wait())
            ends: list[asyncio.Future[Any]] = [*tasks, stopping, lost]
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopping.cancel()
                for task in tasks:
                    task.cancel()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            if lost.done():
                await _say_lost(sender, lost.result())
            if any(isinstance(outcome, SlowReader) for outcome in outcomes):
                logger.info(
                    "An event stream was cut off: its reader took nothing for %g s", self._gateway.limits.send_seconds
                )
                return
            # A reader that stalls just now must not hold up the shutdown.
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL_SECONDS):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, sender: BoundedSender) -> None:
        await _send_text(sender, KEEP_ALIVE)
        try:
            async with aclosing(self._answers()) as answers:
                async for answer in answers:
                    await _send_text(sender, _event(answer))
        except SlowReader:
            raise
        except RequestRefused as refused:
            await _send_text(sender, _event(Encoded(encode_json(error_answer(refused.errors)), None)))
        except Exception as error:  # noqa: BLE001 - masked and logged
            await _send_text(sender, _event(Encoded(encode_json(error_answer([mask(error)])), None)))
        await _send_text(sender, COMPLETE)

    async def _answers(self) -> AsyncGenerator[Encoded, None]:
        operation = self._operation
        if isinstance(operation, RequestRefused):
            raise operation
        if not operation.is_subscription:
            whole = await self._gateway.execute(operation, self._context, self._connection)
            yield Encoded(whole.text, None)
            return
        async with aclosing(self._gateway.stream(operation, self._context, self._connection)) as answers:
            async for answer in answers:
                yield answer

    async def _keep_alive(self, sender: BoundedSender) -> None:
        while True:
            await asyncio.sleep(self._gateway.limits.keepalive_seconds)
            await _send_text(sender, KEEP_ALIVE)


async def _say_lost(sender: BoundedSender, error: UserFacingError) -> None:
    """Send the reader why its stream ends for good; one that has gone or stalled gets nothing."""
    with suppress(SlowReader, OSError):
        await _send_text(sender, _event(Encoded(encode_json(error_answer([error])), None)))
        await _send_text(sender, COMPLETE)


def _event(answer: Encoded) -> str:
    # JSON of ours has no line breaks, so that one data line holds it.
    if answer.cursor is None or any(character in answer.cursor for character in "\r\n\0"):
        return f"event: next\ndata: {answer.text}\n\n"
    return f"event: next\nid: {answer.cursor}\ndata: {answer.text}\n\n"


async def _send_text(sender: BoundedSender, text: str) -> None:
    await sender.send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        # The body has been read; anything else that arrives is none of ours.
        continue
