"""Requests of this process to its own application, without a socket; event streams come as they are written."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final

import httpx
from starlette.types import ASGIApp, Message
from typing_extensions import override

ADDRESS: Final = "http://localhost"
"""Server that requests name."""


class InProcess(httpx.AsyncBaseTransport):
    """Carries the requests of a client to an ASGI application in the same event loop.

    Args:
        app: The application.
        headers: Sent with each request; of ``authorization`` nothing else is: no token of the environment is shown.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str] | None = None) -> None:
        self._app = app
        self._headers = httpx.Headers(headers)

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Headers(request.headers)
        sent.pop("authorization", None)
        sent.update(self._headers)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in sent.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.partition(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": None,
            "root_path": "",
        }
        exchange = Exchange(await request.aread())
        exchange.task = asyncio.create_task(exchange.run(self._app, scope), name="cronograph-in-process")
        try:
            start = await exchange.next()
        except BaseException:
            await exchange.aclose()
            raise
        return httpx.Response(start["status"], headers=start.get("headers", []), stream=exchange, request=request)


class Exchange(httpx.AsyncByteStream):
    """One request and its answer, piece by piece."""

    def __init__(self, body: bytes) -> None:
        self.task: asyncio.Task[None] | None = None
        self._body: bytes | None = body
        self._left = asyncio.Event()
        # One piece at a time: who reads slowly is not sent more than that.
        self._pieces: asyncio.Queue[Message | None] = asyncio.Queue(maxsize=1)
        self._failure: BaseException | None = None

    async def run(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        """Let the application answer."""
        try:
            await app(scope, self._receive, self._pieces.put)
        except Exception as error:  # noqa: BLE001 - any fault reaches who asked
            self._failure = error
        await self._pieces.put(None)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def next(self) -> Message:
        """The next message of the application.

        Raises:
            ReadError: it ended without an answer.
            Exception: what it raised.
        """
        message = await self._pieces.get()
        if message is not None:
            return message
        if self._failure is not None:
            raise self._failure
        raise httpx.ReadError("the application ended without an answer")

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self.next()
            more = bool(message.get("more_body", False))
            yield message.get("body", b"")

    @override
    async def aclose(self) -> None:
        """Leave: the application learns that nobody reads any more."""
        self._left.set()
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
