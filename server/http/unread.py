"""Reads the rest of a request's body once it is answered, so that a client that still sends it sees the answer.

A connection that is closed while something of it is unread is reset, and a reset takes away an answer that has not been
read yet (RFC 9112, 9.6). So a refusal of a large body would look like a broken server.
"""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHORT: Final = 64 * 1024
"""Bytes of a body that are read before the answer is sent, so that the connection can be used again."""
LONGEST: Final = 30.0
"""Seconds for which the rest of a body is read."""
IDLE: Final = 5.0
"""Seconds between two parts of it."""


class ReadToTheEnd:
    """Reads what its application leaves of request bodies, and keeps nothing of it.

    Args:
        app: Answers.
        longest: Seconds for which the rest of a body is read after the answer.
        idle: Seconds after which nothing more is expected.
    """

    def __init__(self, app: ASGIApp, longest: float = LONGEST, idle: float = IDLE) -> None:
        self._app = app
        self._longest = longest
        self._idle = idle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        body = _Body(receive, Headers(scope=scope), self._longest, self._idle)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                if not body.read and body.is_short:
                    await body.read_rest()
                if not body.read:
                    MutableHeaders(scope=message)["connection"] = "close"
                await send(message)
            elif body.read or message.get("more_body", False):
                await send(message)
            else:
                # The client has the whole answer by its length, and the connection stays open for it.
                await send({**message, "more_body": True})
                await body.read_rest()
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, body.receive, answer)


class _Body:
    """The body of one request.

    Attributes:
        read: Whether nothing of it is left.
        is_short: Whether its rest comes at once.
    """

    def __init__(self, receive: Receive, headers: Headers, longest: float, idle: float) -> None:
        self._receive = receive
        self._longest = longest
        self._idle = idle
        length = headers.get("content-length", "")
        chunked = "transfer-encoding" in headers
        self.read = not chunked and length in ("", "0")
        # Who waits for "100 Continue" sends nothing unless asked.
        self.is_short = not chunked and "expect" not in headers and length.isdecimal() and int(length[:9]) <= SHORT

    async def receive(self) -> Message:
        """Return the next part."""
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.read = True
        return message

    async def read_rest(self) -> None:
        """Read what is left, within bounds."""
        clock = asyncio.get_running_loop().time
        end = clock() + self._longest
        with suppress(TimeoutError):
            while not self.read and clock() < end:
                async with asyncio.timeout(self._idle):
                    await self.receive()
