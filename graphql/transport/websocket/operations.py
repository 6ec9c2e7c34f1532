"""The operations that run on one WebSocket."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from ...base.errors import UserFacingError, mask
from ...guard.document import Prepared, RequestRefused
from ...guard.limits import LimitExceeded
from ..engine import encode_json
from ..gateway import Gateway
from ..request import GraphQLRequest, parse_request
from ..sending import CloseSocket, SlowReader


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
