"""WebSocket ``/graphql``: the protocol ``graphql-transport-ws``, and no other.

Own code rather than Strawberry's handler: that one fails with a traceback on deeply nested JSON, on messages that are
no objects and on ids that are no strings, and its sends have no bound.

Close codes: 4400 bad message, 4401 not signed in, not any more, or subscribed before ``connection_ack``, 4403 refused
at ``connection_init``, 4406 wrong sub-protocol, 4408 no ``connection_init`` in time, 4409 id in use, 4429 second
``connection_init`` or too many streams of one client, 1009 message too large, 1011 internal error, 1012 server
restarts, 1013 reader stalled or too many sockets. Clients retry after the last three.
"""

import asyncio
import logging
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from graphql import GraphQLError

from ...base.errors import UserFacingError, error_answer, mask
from ...guard.admission import address_of
from ..engine import encode_json
from ..gateway import Gateway
from ..request import as_object, parse_json
from ..sending import BoundedSender, CloseSocket, SlowReader
from ..streams import Place
from .operations import SocketOperations

logger = logging.getLogger("cronograph.graphql")

PROTOCOL: Final = "graphql-transport-ws"
FAREWELL_SECONDS: Final = 1.0
REASON_BYTES: Final = 123
"""The longest reason a close frame can hold (RFC 6455, 5.5)."""


class WebSocketEndpoint:
    """The ASGI application of the WebSocket route."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one socket from the handshake to its end."""
        websocket = WebSocket(scope, receive, send)
        try:
            self._gateway.site.check(websocket)
            self._gateway.streams.check()
        except UserFacingError as error:
            body = encode_json(error_answer([error])).encode()
            await websocket.send_denial_response(
                Response(body, error.http_status or 403, media_type="application/json")
            )
            return
        if PROTOCOL not in websocket.scope["subprotocols"]:
            await websocket.accept()
            await websocket.close(4406, f"Subprotocol not acceptable: it must be {PROTOCOL}")
            return
        session = Session(self._gateway, websocket)
        with self._gateway.streams.arrived(session.place):
            await websocket.accept(PROTOCOL)
            await session.run()


@dataclass(slots=True)
class Handshake:
    """How far ``connection_init`` has come."""

    received: bool = False
    acknowledged: bool = False


class Session:
    """One socket with its operations.

    Attributes:
        place: Its place among the open streams.
    """

    def __init__(self, gateway: Gateway, websocket: WebSocket) -> None:
        self._gateway = gateway
        self._limits = gateway.limits
        self._websocket = websocket
        self._sender = BoundedSender(websocket.send, gateway.limits.send_seconds)
        self._ended: asyncio.Future[CloseSocket] = asyncio.get_running_loop().create_future()
        self._operations = SocketOperations(gateway, websocket, self.send, self._end_with)
        self._handshake = Handshake()
        self._watch = ExitStack()
        self.place = Place(self.stop, address_of(None, websocket), self.make_room)

    def stop(self) -> None:
        """Ask the session to end because the server shuts down."""
        self._end(CloseSocket(1012, "The server is shutting down; connect again"))

    def make_room(self, error: UserFacingError) -> None:
        """Ask the session to end because others arrive and it has not said who it is."""
        self._end(_too_many(error))

    async def run(self) -> None:
        """Serve until either side ends it; leaves no task behind."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._limits.init_seconds, self._init_timed_out)
        reader = asyncio.create_task(self._read())
        try:
            end = await self._ended
        finally:
            timer.cancel()
            self._watch.close()
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await self._operations.cancel_all()
        if end.code is not None:
            await self._close(end.code, end.reason)

    async def send(self, message: str) -> None:
        """Send one message, already encoded.

        Raises:
            SlowReader: the reader has stalled.
            WebSocketDisconnect: the client has gone.
        """
        await self._sender.send({"type": "websocket.send", "text": message})

    async def _close(self, code: int, reason: str) -> None:
        if code != 1012:
            logger.debug("WebSocket closed with %d: %s", code, reason)
        # A reader that has stalled does not take the close frame either, and one that has gone needs none.
        with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._websocket.close(code, _cut(reason))

    def _end(self, end: CloseSocket) -> None:
        if not self._ended.done():
            self._ended.set_result(end)

    def _end_with(self, error: Exception) -> None:
        """End for the reason that a task met."""
        match error:
            case CloseSocket():
                self._end(error)
            case WebSocketDisconnect():
                self._end(CloseSocket(None))
            case SlowReader():
                # Every operation of the socket meets the same reader.
                if not self._ended.done():
                    logger.info("A WebSocket was cut off: its reader took nothing for %g s", self._limits.send_seconds)
                self._end(CloseSocket(1013, "The reader is too slow; connect again"))
            case _:
                self._end(CloseSocket(1011, mask(error).message))

    def _init_timed_out(self) -> None:
        if not self._handshake.received:
            seconds = self._limits.init_seconds
            self._end(CloseSocket(4408, f"Connection initialisation timeout: the limit is {seconds:g} s"))

    async def _read(self) -> None:
        try:
            while True:
                await self._handle(self._decode(await self._receive()))
        except Exception as error:  # noqa: BLE001 - each kind has its own close code
            self._end_with(error)

    async def _receive(self) -> str:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise CloseSocket(None)
        text = message.get("text")
        if not isinstance(text, str):
            raise CloseSocket(4400, "Messages must be text, got a binary one")
        return text

    def _decode(self, text: str) -> dict[str, Any]:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if size > self._limits.body_bytes:
            raise CloseSocket(1009, f"LIMIT_BODY_BYTES: the limit is {self._limits.body_bytes:,}, got {size:,}")
        try:
            message = as_object(parse_json(text, self._limits))
        except UserFacingError as error:
            raise CloseSocket(4400, error.message.replace("The body", "The message")) from None
        if message is None:
            raise CloseSocket(4400, "A message must be a JSON object with a 'type'")
        return message

    async def _handle(self, message: dict[str, Any]) -> None:
        match message.get("type"):
            case "connection_init":
                await self._connection_init(message.get("payload"))
            case "ping":
                await self.send('{"type":"pong"}')
            case "pong":
                pass  # an answer to nothing we wait for: the server's own pings are of the WebSocket layer
            case "subscribe":
                if not self._handshake.acknowledged:
                    raise CloseSocket(4401, "Unauthorized: send connection_init first and wait for connection_ack")
                await self._operations.start(_id_of(message), message.get("payload"))
            case "complete":
                self._operations.cancel(_id_of(message))
            case other:
                raise CloseSocket(4400, f"Unknown message type: {str(other)[:60]}")

    async def _connection_init(self, payload: object) -> None:
        if self._handshake.received:
            raise CloseSocket(4429, "Too many initialisation requests: connection_init may be sent once")
        params = as_object(payload)
        if payload is not None and params is None:
            raise CloseSocket(4400, "The payload of connection_init must be an object or null")
        self._handshake.received = True
        self._websocket.state.connection_params = params or {}
        try:
            context = await self._gateway.get_context(self._websocket)
        except GraphQLError as error:
            raise _refusal(error) from None
        try:
            self._gateway.streams.belongs(self.place, self._gateway.admission.client_of(context, self._websocket))
        except UserFacingError as error:
            raise _too_many(error) from None
        watched = self._gateway.watch(context, self._websocket, lambda error: self._end(_refusal(error)))
        self._watch.enter_context(watched)
        await self.send('{"type":"connection_ack"}')
        self._handshake.acknowledged = True


def _too_many(error: UserFacingError) -> CloseSocket:
    if error.code == "SHUTTING_DOWN":
        return CloseSocket(1012, error.message)
    return CloseSocket(4429 if error.http_status == 429 else 1013, f"{error.code}: {error.message}")


def _refusal(error: GraphQLError) -> CloseSocket:
    if isinstance(error, UserFacingError) and error.code == "UNAUTHENTICATED":
        return CloseSocket(4401, f"Unauthorized: {error.message}")
    return CloseSocket(4403, f"Forbidden: {mask(error).message}")


def _id_of(message: dict[str, Any]) -> str:
    operation_id = message.get("id")
    if not isinstance(operation_id, str) or not 0 < len(operation_id) <= 200:
        raise CloseSocket(4400, f"The 'id' of {message['type']} must be a string of 1 to 200 characters")
    return operation_id


def _cut(reason: str) -> str:
    return reason.encode("utf-8", "replace")[:REASON_BYTES].decode("utf-8", "ignore")
