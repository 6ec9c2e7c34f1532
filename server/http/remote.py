"""``/remote/…``: code at an engine begins its attempt, gives signs of life, and speaks, by the token of its attempt.

The token is all that is asked for. It is opaque, and valid exactly while the attempt is unfinished.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...graphql.app import masked_response
from ...graphql.base.errors import UserFacingError, error_answer
from ...jobs.accounts.rules.credentials import Prefix, prefix_of, stored_form
from ...jobs.base.services import Services
from ...jobs.core.base.lazy import LazyModule
from ...jobs.queue.remote import Refusal
from ...jobs.store.db.faults import ErrorKind, kind_of
from ..auth.forms import JSON_TYPE, media_type, read_body
from ..process.lifecycle import Lifecycle, Phase

if TYPE_CHECKING:
    from ...jobs.runtime.process import wire
    from ...jobs.runtime.remote import contract
    from ...jobs.runtime.remote.contract import RemoteContract, Said
else:
    # Only the first word of code at an engine loads it.
    wire = LazyModule("cronograph.jobs.runtime.process.wire")
    contract = LazyModule("cronograph.jobs.runtime.remote.contract")

MAX_BODY: Final = 16 * 1024 * 1024
"""Bytes of a message: as a child process may send."""
_HEADERS: Final = {"Cache-Control": "no-store"}
_RETRY: Final = "The server is not ready; try again in a moment."

Answer = dict[str, Any]
Handler = Callable[[Request, str], Awaitable["Answer | Said | Refusal | str"]]


def remote_routes(services: Services, lifecycle: Lifecycle, lease: float) -> list[Route]:
    """Return the routes of code at engines.

    Args:
        services: The database of the API, and the keys of secrets.
        lifecycle: Before it serves, the database may lack tables.
        lease: Seconds for which such code may be silent.
    """
    door = _Door(services, lifecycle, lease)
    return [
        Route("/remote/start", door.guarded(door.start), methods=["POST"]),
        Route("/remote/heartbeat", door.guarded(door.heartbeat), methods=["POST"]),
        Route("/remote/messages", door.guarded(door.messages), methods=["POST"]),
    ]


class _Door:
    def __init__(self, services: Services, lifecycle: Lifecycle, lease: float) -> None:
        self._services = services
        self._lifecycle = lifecycle
        self._lease = lease
        self._made: RemoteContract | None = None

    @property
    def _contract(self) -> "RemoteContract":
        if self._made is None:
            self._made = contract.RemoteContract(self._services, self._lease)
        return self._made

    def guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler for code that shows the token of an attempt; its refusals are JSON with a code."""

        async def guarded(request: Request) -> Response:
            if self._lifecycle.phase is not Phase.SERVING:
                return _refused(_problem(_RETRY, "UNAVAILABLE", 503))
            try:
                found = await handler(request, await self._token(request))
            except UserFacingError as error:
                return _refused(error)
            except wire.FrameError as error:
                return _refused(_problem(str(error), "INVALID_REQUEST", 400))
            except Exception as error:  # noqa: BLE001 - what is not refused on purpose is masked and logged
                if kind_of(error) is ErrorKind.UNAVAILABLE:
                    return _refused(_problem(_RETRY, "UNAVAILABLE", 503))
                return masked_response(error)
            return _answer(found)

        return guarded

    async def _token(self, request: Request) -> str:
        """Return the stored form of the token. Strangers do not have a body read."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and prefix_of(token) is Prefix.REMOTE:
            stored = stored_form(token)
            if await self._contract.knows(stored):
                return stored
        raise _problem("No attempt has this token.", "UNAUTHENTICATED", 401)

    async def start(self, request: Request, token: str) -> "Answer | Refusal | str":
        """Open the span of the attempt that begins."""
        starter = (await _document(request)).get("starter")
        if not isinstance(starter, str) or not 1 <= len(starter) <= 64:
            raise _problem("'starter' must be a text of 1 to 64 characters.", "INVALID_REQUEST", 400)
        return await self._contract.start(token, starter)

    async def heartbeat(self, request: Request, token: str) -> "Said | Refusal":
        """Note that its code is alive."""
        await _document(request)
        return await self._contract.heartbeat(token)

    async def messages(self, request: Request, token: str) -> "Said | Refusal":
        """Note that its code says something."""
        return await self._contract.say(token, await _body(request))


async def _body(request: Request) -> bytes:
    if media_type(request) != JSON_TYPE:
        raise _problem(f"The Content-Type must be {JSON_TYPE}.", "UNSUPPORTED_MEDIA_TYPE", 415)
    return await read_body(request, MAX_BODY)


async def _document(request: Request) -> dict[str, Any]:
    return contract.document_of(await _body(request))


def _answer(found: "Answer | Said | Refusal | str") -> Response:
    match found:
        case Refusal.TAKEN:
            return _refused(_problem("Another process has begun this attempt.", "CONFLICT", 409))
        case Refusal.OUT_OF_ORDER | Refusal.SAID_BEFORE:
            return _refused(_problem("Messages come one after the other; this one is not the next.", "CONFLICT", 409))
        case Refusal.OVER:
            return _refused(_problem("This attempt has ended.", "INVALID_STATE", 410))
        case Refusal():
            return _refused(_problem("No attempt has this token.", "UNAUTHENTICATED", 401))
        case str():
            return _refused(_problem(f"Its secrets cannot be had: {found}", "UNAVAILABLE", 503))
        case dict():
            return JSONResponse(found, headers=_HEADERS)
        case _:
            return JSONResponse(found.document(), headers=_HEADERS)


def _problem(message: str, code: str, status: int) -> UserFacingError:
    return UserFacingError(message, code=code, http_status=status)


def _refused(error: UserFacingError) -> Response:
    return JSONResponse(error_answer([error]), error.http_status or 400, headers=_HEADERS)
