"""``/hooks/NAME``: a program without an account starts a run, and proves by its signature that it may."""

import logging
import math
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...graphql.app import masked_response
from ...graphql.base.errors import UserFacingError, error_answer
from ...graphql.guard.admission import Admission, address_of
from ...graphql.guard.limits import Limits
from ...graphql.transport.request import decode, parse_json
from ...jobs.accounts.rules.secrets import KeySource
from ...jobs.core.base.errors import ErrorCode, UserError
from ...jobs.core.model import Json
from ...jobs.delivery.hooks import Addressed, addressed, receive
from ...jobs.delivery.inbound import refusal, request_key
from ...jobs.store.db.database import Database
from ..auth.forms import FORM_TYPE, media_type, read_body
from ..process.lifecycle import Lifecycle, Phase

log = logging.getLogger(__name__)

_LIMITS: Final = Limits()
MAX_BODY: Final = _LIMITS.body_bytes
_STATUS: Final = {ErrorCode.NOT_FOUND: 404, ErrorCode.QUEUE_FULL: 429}
"""Every other refusal of a payload is a 422."""
_RETRY_AFTER: Final = 30
_HEADERS: Final = {"Cache-Control": "no-store"}


def hook_routes(database: Database, lifecycle: Lifecycle, keys: KeySource, admission: Admission) -> list[Route]:
    """Return the route of hooks.

    Args:
        lifecycle: Before it serves, the database may lack tables.
        keys: The keys of secrets.
        admission: Gives requests their turns, fairly among addresses.
    """

    async def receive_one(request: Request) -> Response:
        if lifecycle.phase is not Phase.SERVING:
            return _refused(_problem("The server is not ready; try again in a moment.", "UNAVAILABLE", 503))
        try:
            async with admission.loop.turn(address_of(None, request)):
                return await _received(request, database, keys)
        except (UserError, UserFacingError) as error:
            return _refused(error)
        except Exception as error:  # noqa: BLE001 - what is not refused on purpose is masked and logged
            return masked_response(error)

    return [Route("/hooks/{name}", receive_one, methods=["POST"])]


async def _received(request: Request, database: Database, keys: KeySource) -> Response:
    found = await database.read(addressed, request.path_params["name"], keys(), database.clock)
    # Strangers do not have a body read.
    body = await read_body(request, MAX_BODY)
    _check_proof(found, request, body)
    payload = _payload(request, body)
    key = request_key(found.hook.kind, request.headers, payload)
    place = request.client.host if request.client else None
    run_id, run = await database.write(receive, found.hook, payload, body, key, address=place)
    answer = {"run": str(run_id), "state": None if run is None else run.state.name}
    return JSONResponse(answer, 202, headers=_HEADERS)


def _check_proof(found: Addressed, request: Request, body: bytes) -> None:
    if found.secrets is None:
        log.warning("hook '%s' cannot judge requests: %s", found.hook.name, found.fault)
        raise _problem("The secret of this hook cannot be used; its administrator has to set it.", "UNAVAILABLE", 503)
    reason = refusal(found.hook.kind, found.secrets, request.headers, body, found.now)
    if reason is not None:
        raise _problem(reason, "UNAUTHENTICATED", 401)


def _payload(request: Request, body: bytes) -> Json:
    if media_type(request) == FORM_TYPE:
        raise _problem("The payload must be JSON: let the sender use application/json.", "UNSUPPORTED_MEDIA_TYPE", 415)
    try:
        text = decode(body)
        return parse_json(text, _LIMITS) if text.strip() else None
    except UserFacingError as error:
        error.http_status = 422
        raise


def _problem(message: str, code: str, status: int) -> UserFacingError:
    return UserFacingError(message, code=code, http_status=status)


def _refused(error: UserError | UserFacingError) -> Response:
    shown = [_typed(one) for one in error.faults] if isinstance(error, UserError) else [error]
    status = shown[0].http_status or 400
    headers = dict(_HEADERS)
    after = _RETRY_AFTER if status == 429 else (shown[0].extensions or {}).get("retryAfter")
    if after is not None:
        headers["Retry-After"] = str(math.ceil(after))
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="hooks"'
    return JSONResponse(error_answer(shown), status, headers=headers)


def _typed(fault: UserError) -> UserFacingError:
    place = {"path": list(fault.path)} if fault.path else None
    return UserFacingError(fault.message, code=fault.code, http_status=_STATUS.get(fault.code, 422), extensions=place)
