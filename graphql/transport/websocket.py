"""WebSocket ``/graphql``: the protocol ``graphql-transport-ws``, and no other.

Own code rather than Strawberry's handler: that one fails with a traceback on deeply nested JSON, on messages that are
no objects and on ids that are no strings, and its sends have no bound.

Close codes: 4400 bad message, 4401 not signed in, not any more, or subscribed before ``connection_ack``, 4403 refused
at ``connection_init``, 4406 wrong sub-protocol, 4408 no ``connection_init`` in time, 4409 id in use, 4429 second
``connection_init`` or too many streams of one client, 1009 message too large, 1011 internal error, 1012 server
restarts, 1013 reader stalled, too many sockets or not ready yet. Clients retry after the last three.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from graphql import GraphQLError

from ..base.errors import UserFacingError, error_answer, mask
from ..guard.admission import address_of
from ..guard.document import Prepared, RequestRefused
from ..guard.limits import LimitExceeded
from .engine import encode_json
from .gateway import Gateway
from .request import GraphQLRequest, as_object, parse_json, parse_request
from .streams import Place


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


class SocketOperations:
    """Starts, counts and cancels the operations of one socket.

    An operation ends in exactly one of: ``complete`` from either side, ``error``, or the end of the socket.
    """

    def __init__(
        self,
        gateway: Gateway,
        websocket: WebSocket,
        send: Callable[[str], Awaitable[None]],
        end_socket: Callable[[Exception], None],
    ) -> None:
        """Start without operations.

        Args:
            gateway: The parts shared by all transports.
            websocket: The connection, for the context.
            send: Sends one encoded message; raises ``SlowReader`` or ``WebSocketDisconnect``.
            end_socket: Ends the socket for the reason an operation met.
        """
        self._gateway = gateway
        self._websocket = websocket
        self._send = send
        self._end_socket = end_socket
        self._open: dict[str, asyncio.Task[None]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def start(self, operation_id: str, payload: object) -> None:
        """Start an operation under a free id.

        Raises:
            CloseSocket: 4409 id in use, 4400 no request.
        """
        if operation_id in self._open:
            raise CloseSocket(4409, f"Subscriber for {operation_id[:60]} already exists")
        try:
            request = parse_request(payload)
        except UserFacingError as error:
            raise CloseSocket(4400, error.message.replace("The body", "The payload of subscribe")) from None
        maximum = self._gateway.limits.operations_per_socket
        if len(self._open) >= maximum:
            what = "This socket has too many open operations"
            refusal = LimitExceeded("operations_per_socket", maximum, maximum + 1, what)
            await self._send_errors(operation_id, [refusal.formatted])
            return
        if len(self._running) >= 2 * maximum:
            # Cancelled operations that are not done yet count too: a client must not pile them up.
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._run(operation_id, request))
        self._open[operation_id] = task
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel(self, operation_id: str) -> None:
        """Stop an operation on the client's wish; its id is free at once. Unknown ids have just completed."""
        task = self._open.pop(operation_id, None)
        if task is not None:
            task.cancel()

    async def cancel_all(self) -> None:
        """Stop all operations and wait until they are gone."""
        self._open.clear()
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run(self, operation_id: str, request: GraphQLRequest) -> None:
        try:
            if await self._answer(operation_id, request):
                self._release(operation_id)
                await self._send(_message(operation_id, "complete"))
        except (SlowReader, WebSocketDisconnect) as error:
            self._end_socket(error)
        except Exception as error:  # noqa: BLE001 - nothing is left but to end the socket; it is logged there
            self._end_socket(error)
        finally:
            self._release(operation_id)

    async def _answer(self, operation_id: str, request: GraphQLRequest) -> bool:
        """Send all results; False when the operation ended in an error message."""
        try:
            context = await self._gateway.get_context(self._websocket)
            prepared = await self._gateway.prepare(request, context, self._websocket)
            return await self._results(operation_id, prepared, context)
        except (SlowReader, WebSocketDisconnect):
            raise
        except RequestRefused as refused:
            await self._send_errors(operation_id, [error.formatted for error in refused.errors])
        except Exception as error:  # noqa: BLE001 - masked and logged
            await self._send_errors(operation_id, [mask(error).formatted])
        return False

    async def _results(self, operation_id: str, prepared: Prepared, context: Any) -> bool:  # noqa: ANN401
        if prepared.is_subscription:
            async with aclosing(self._gateway.stream(prepared, context, self._websocket)) as answers:
                async for answer in answers:
                    await self._send(_message(operation_id, "next", answer.text))
            return True
        whole = await self._gateway.execute(prepared, context, self._websocket)
        if "data" not in whole.content:
            # Nothing has been executed: the protocol has a message of its own for that.
            await self._send_errors(operation_id, whole.content["errors"])
            return False
        await self._send(_message(operation_id, "next", whole.text))
        return True

    async def _send_errors(self, operation_id: str, errors: Sequence[Any]) -> None:
        self._release(operation_id)
        await self._send(_message(operation_id, "error", encode_json(errors)))

    def _release(self, operation_id: str) -> None:
        """Free the id, unless the client has already given it to another operation."""
        if self._open.get(operation_id) is asyncio.current_task():
            del self._open[operation_id]


def _message(operation_id: str, kind: str, payload: str | None = None) -> str:
    head = f'{{"id":{encode_json(operation_id)},"type":"{kind}"'
    return f'{head},"payload":{payload}}}' if payload is not None else f"{head}}}"


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
    """Name the progress of ``connection_init``."""

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
        self._end(_refusal(error))

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
            self._gateway.streams.belongs(self.place, self._gateway.admission.client_of(context, self._websocket))
        except GraphQLError as error:
            raise _refusal(error) from None
        watched = self._gateway.watch(context, self._websocket, lambda error: self._end(_refusal(error)))
        self._watch.enter_context(watched)
        await self.send('{"type":"connection_ack"}')
        self._handshake.acknowledged = True


def _refusal(error: GraphQLError) -> CloseSocket:
    """Return the end of a socket for a refusal; one that passes says so, and clients connect again."""
    if isinstance(error, UserFacingError):
        if error.code == "SHUTTING_DOWN":
            return CloseSocket(1012, error.message)
        if error.http_status == 401:
            return CloseSocket(4401, f"Unauthorized: {error.message}")
        if error.http_status in _PASSING:
            return CloseSocket(_PASSING[error.http_status], f"{error.code}: {error.message}")
    return CloseSocket(4403, f"Forbidden: {mask(error).message}")


_PASSING: Final = {429: 4429, 503: 1013}
"""Close codes by the status that an answer over HTTP has."""


def _id_of(message: dict[str, Any]) -> str:
    operation_id = message.get("id")
    if not isinstance(operation_id, str) or not 0 < len(operation_id) <= 200:
        raise CloseSocket(4400, f"The 'id' of {message['type']} must be a string of 1 to 200 characters")
    return operation_id


def _cut(reason: str) -> str:
    return reason.encode("utf-8", "replace")[:REASON_BYTES].decode("utf-8", "ignore")
