"""``/signal/…``: somebody without an account answers a job that waits, by an address that works once.

The token in the address is all that is asked for, and nothing else is looked at: no cookie, so a page of another site
can do no more than anyone who knows the address. To look at it changes nothing, since mail scanners do.
"""

import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ...graphql.app import masked_response
from ...graphql.base.errors import UserFacingError, error_answer
from ...graphql.guard.limits import Limits
from ...graphql.transport.request import decode, parse_json
from ...jobs.accounts.actions.throttling import count_try, take_back
from ...jobs.accounts.rules.credentials import ThrottlePolicy, address_subject
from ...jobs.actions.signal_links import PATH, Addressee, addressee, signal_by_link
from ...jobs.core.base.errors import ErrorCode, UserError
from ...jobs.core.model import Json
from ...jobs.core.waits import check_box
from ...jobs.store.db.database import Database
from ..auth.forms import FORM_TYPE, JSON_TYPE, fields_of, form, media_type, page_and_form, read_body
from ..auth.pages import STYLE_PATH, page, style
from ..process.lifecycle import Lifecycle, Phase

MAX_BODY: Final = 65_536
_THROTTLE: Final = ThrottlePolicy(30, timedelta(minutes=15))
"""For one network address: so many requests in vain cost nothing. One that leads somewhere does not count."""
_LIMITS: Final = Limits()
_FIELDS: Final = ("payload", "answer", "reject")
_STATUS: Final = {ErrorCode.NOT_FOUND: 404, ErrorCode.INVALID_STATE: 410, ErrorCode.FORBIDDEN: 403}
_HEADERS: Final = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex"}


@dataclass(frozen=True, slots=True)
class _Answer:
    payload: Json = None
    rejects: str | None = None


def signal_routes(database: Database, lifecycle: Lifecycle) -> list[Route]:
    """The address, and the style of its page.

    Args:
        database: Where runs are.
        lifecycle: Before it serves, the database may lack tables.
    """
    addresses = _Addresses(database, lifecycle)
    return [
        Route(STYLE_PATH, style, methods=["GET"]),
        page_and_form(f"{PATH}/{{token}}", addresses.guarded(addresses.show), addresses.guarded(addresses.send)),
    ]


class _Addresses:
    def __init__(self, database: Database, lifecycle: Lifecycle) -> None:
        self._database = database
        self._lifecycle = lifecycle

    def guarded(self, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """A handler whose refusals are a page for browsers, and JSON with a code for programs."""

        async def guarded(request: Request) -> Response:
            try:
                self._check_serving()
                return await handler(request)
            except (UserError, UserFacingError) as error:
                return _refused(request, error)
            except Exception as error:  # noqa: BLE001 - what is not refused on purpose is masked and logged
                return masked_response(error)

        return guarded

    def _check_serving(self) -> None:
        if self._lifecycle.phase is not Phase.SERVING:
            raise _problem("The server is not ready; try again in a moment.", "UNAVAILABLE", 503)

    async def show(self, request: Request) -> Response:
        """Asks whether the signal shall be sent; that changes nothing."""
        found = await self._addressee(request)
        token = request.path_params["token"]
        field = ""
        if found.form is not None:
            shown = escape(json.dumps(found.form, indent=2, ensure_ascii=False))
            field = (
                '<label for="payload">Answer, as JSON</label><input id="payload" name="payload" required>'
                f"<details><summary>What it has to be</summary><pre>{shown}</pre></details>"
            )
        body = (
            f"<p>Run {found.run.id} of the job <strong>{escape(found.run.job_name)}</strong> waits for "
            f"<strong>{escape(found.name)}</strong>. The address works once.</p>"
            f'<form method="post" action="{PATH[1:]}/{escape(token)}">{field}'
            '<button class="primary" name="answer" value="yes">Confirm</button></form>'
            f'<form method="post" action="{PATH[1:]}/{escape(token)}"><label for="reject">Or say why not</label>'
            '<input id="reject" name="reject" maxlength="1000" required><button>Reject</button></form>'
        )
        return _with_headers(page(found.name, body))

    async def send(self, request: Request) -> Response:
        """Sends the signal."""
        # Strangers do not have a body read.
        await self._addressee(request)
        answer = await _answer_of(request)
        token, place = request.path_params["token"], _place(request)
        run = await self._database.write(signal_by_link, token, answer.payload, answer.rejects, address=place)
        if _is_browser(request):
            return _with_headers(page("Thank you", "<p>Your answer has been passed on. You can close this page.</p>"))
        return JSONResponse({"run": str(run.id), "state": run.state.name}, headers=_HEADERS)

    async def _addressee(self, request: Request) -> Addressee:
        subject = f"signal-{address_subject(_place(request))}"
        wait = await self._database.write(count_try, [(subject, _THROTTLE)])
        if wait > 0:
            seconds = math.ceil(wait)
            message = f"Too many requests that lead nowhere came from your network; try again in {seconds} s."
            raise _problem(message, "TOO_MANY_ATTEMPTS", 429, retryAfter=seconds)
        found = await self._database.read(addressee, request.path_params["token"])
        check_box(found.name)
        await self._database.write(take_back, subject, _THROTTLE)
        return found


def _place(request: Request) -> str:
    return request.client.host if request.client else "unknown"


async def _answer_of(request: Request) -> _Answer:
    """Return what is sent along. Only an empty body, or a form without a payload, is a bare yes.

    Raises:
        UserFacingError: it is too large, neither JSON nor this form, or says something that is not understood.
    """
    kind = media_type(request)
    rejects = fields_of(request.scope["query_string"].decode("latin-1"), ("reject",), "The address").get("reject")
    if kind == FORM_TYPE:
        fields = await form(request, _FIELDS, MAX_BODY)
        if fields.get("answer", "yes") != "yes":
            raise _problem("'answer' must be yes; to say no, send 'reject' with the reason.", "INVALID_REQUEST", 400)
        if len({"answer", "payload"} & fields.keys()) and "reject" in fields:
            raise _problem("'reject' says no, so no 'answer' or 'payload' may come with it.", "INVALID_REQUEST", 400)
        payload = fields.get("payload", "")
        return _Answer(parse_json(payload, _LIMITS) if payload.strip() else None, fields.get("reject", rejects))
    text = decode(await read_body(request, MAX_BODY))
    if text.strip() and kind != JSON_TYPE:
        raise _problem(f"The Content-Type must be {JSON_TYPE}, got '{kind[:100]}'.", "UNSUPPORTED_MEDIA_TYPE", 415)
    return _Answer(parse_json(text, _LIMITS) if text.strip() else None, rejects)


def _problem(message: str, code: str, status: int, **extensions: object) -> UserFacingError:
    return UserFacingError(message, code=code, http_status=status, extensions=extensions)


def _is_browser(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


def _refused(request: Request, error: UserError | UserFacingError) -> Response:
    if isinstance(error, UserError):
        status = _STATUS.get(error.code, 400)
        error = _problem(error.message, error.code, status, **({"path": list(error.path)} if error.path else {}))
    status = error.http_status or 400
    body = f'<p class="bad" role="alert">{escape(error.message)}</p>'
    answer: Response = (
        page("This did not work", body, status) if _is_browser(request) else JSONResponse(error_answer([error]), status)
    )
    seconds = (error.extensions or {}).get("retryAfter")
    if seconds is not None:
        answer.headers["Retry-After"] = str(seconds)
    return _with_headers(answer)


def _with_headers(answer: HTMLResponse | Response) -> Response:
    answer.headers.update(_HEADERS)
    return answer
