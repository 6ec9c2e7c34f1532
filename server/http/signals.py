"""``/signal/…``: somebody without an account answers a job that waits, by an address that works once.

The token in the address is all that is asked for, and nothing else is looked at: no cookie, so a page of another site
can do no more than anyone who knows the address. To look at it changes nothing, since mail scanners do.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ...graphql.app import masked_response
from ...graphql.base.errors import UserFacingError, error_answer
from ...graphql.guard.limits import Limits
from ...graphql.transport.request import decode, parse_json
from ...jobs.accounts.actions.accounts import count_try, take_back
from ...jobs.accounts.rules.credentials import ThrottlePolicy, address_subject
from ...jobs.actions.signals import PATH, Addressee, addressee, signal_by_link
from ...jobs.core.base.errors import ErrorCode, UserError
from ...jobs.core.model import Json
from ...jobs.core.waits import check_box
from ...jobs.store.db.database import Database
from ..auth.forms import FORM_TYPE, JSON_TYPE, fields_of, form, media_type, page_and_form, read_body
from ..auth.pages import PAGE_POLICY, STYLE_PATH, notice, page, style
from ..process.lifecycle import Lifecycle, Phase
from .answer_form import Form, form_of, html_of, payload_of, shown_html

MAX_BODY: Final = 65_536
_THROTTLE: Final = ThrottlePolicy(30, timedelta(minutes=15))
"""For one network address: so many requests in vain cost nothing. One that leads somewhere does not count."""
_LIMITS: Final = Limits()
_FIELDS: Final = ("payload", "answer", "reject")
_STATUS: Final = {ErrorCode.NOT_FOUND: 404, ErrorCode.INVALID_STATE: 410, ErrorCode.FORBIDDEN: 403}
_HEADERS: Final = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex"}


NOTHING_ENTERED: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer as it was sent: JSON, a reason to say no, or the fields of a form."""

    given: Json = None
    rejects: str | None = None
    form: Form | None = None
    entered: Mapping[str, str] | None = None

    def payload(self) -> Json:
        """Return the payload.

        Raises:
            InvalidInput: a field holds nothing of its kind.
        """
        return self.given if self.form is None or self.entered is None else payload_of(self.form, self.entered)


def signal_routes(database: Database, lifecycle: Lifecycle, brand: str) -> list[Route]:
    """Return the address, and the style of its page.

    Args:
        lifecycle: Before it serves, the database may lack tables.
        brand: The name at the head of its page.
    """
    addresses = _Addresses(database, lifecycle, brand)
    return [
        Route(STYLE_PATH, style, methods=["GET"]),
        page_and_form(f"{PATH}/{{token}}", addresses.guarded(addresses.show), addresses.guarded(addresses.send)),
    ]


class _Addresses:
    def __init__(self, database: Database, lifecycle: Lifecycle, brand: str) -> None:
        self._database = database
        self._brand = brand
        self._lifecycle = lifecycle

    def guarded(self, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler whose refusals are a page for browsers, and JSON with a code for programs."""

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
        """Ask whether to send the signal; that changes nothing."""
        return self._page(request, await self._addressee(request))

    def _page(
        self,
        request: Request,
        found: Addressee,
        entered: Mapping[str, str] = NOTHING_ENTERED,
        refusal: UserError | None = None,
    ) -> Response:
        """Return the page, with the values that were refused."""
        look, address = found.page, f"{PATH[1:]}/{escape(request.path_params['token'])}"
        text = "".join(f"<p>{escape(one)}</p>" for one in (look.text or "").split("\n\n") if one.strip())
        run = f"Run {found.run.id} of the job <strong>{escape(found.run.job_name)}</strong>"
        asks = f"{run} waits for <strong>{escape(found.name)}</strong>. The address works once."
        reject = (
            f'<form method="post" action="{address}"><label for="reject">Or say why not</label>'
            f'<input id="reject" name="reject" maxlength="1000" required><button>{escape(look.reject)}</button></form>'
            if look.reject is not None
            else ""
        )
        body = (
            f"{text}{shown_html(look.shows)}{notice(None if refusal is None else refusal.message)}"
            f'<form method="post" action="{address}">{html_of(form_of(found.form), found.form, entered)}'
            f'<button class="primary" name="answer" value="yes">{escape(look.confirm)}</button></form>{reject}'
            f'<p class="dim">{asks}</p>'
        )
        answer = page(look.title or found.name, body, 200 if refusal is None else 400, self._brand)
        if look.redirect is not None:
            # Browsers apply this to where a form leads in the end, too.
            to = urlsplit(look.redirect)
            allowed = f"form-action 'self' {to.scheme}://{to.netloc}"
            answer.headers["Content-Security-Policy"] = PAGE_POLICY.replace("form-action 'self'", allowed)
        return _with_headers(answer)

    async def send(self, request: Request) -> Response:
        """Send the signal."""
        # Strangers do not have a body read.
        found = await self._addressee(request)
        answer = await _answer_of(request, form_of(found.form))
        token, place = request.path_params["token"], _place(request)
        try:
            payload = answer.payload()
            run = await self._database.write(signal_by_link, token, payload, answer.rejects, address=place)
        except UserError as error:
            if answer.entered is None or error.code is not ErrorCode.INVALID_INPUT or not _is_browser(request):
                raise
            return self._page(request, found, answer.entered, error)
        if not _is_browser(request):
            return JSONResponse({"run": str(run.id), "state": run.state.name}, headers=_HEADERS)
        if found.page.redirect is not None:
            return RedirectResponse(found.page.redirect, 303, headers=_HEADERS)
        thanks = found.page.thanks or "Your answer has been passed on. You can close this page."
        return _with_headers(page("Thank you", f"<p>{escape(thanks)}</p>", brand=self._brand))

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


async def _answer_of(request: Request, asked: Form) -> _Answer:
    """Return the payload of the request. Only an empty body, or a form without a payload, is a bare yes.

    Args:
        asked: The form of its page.

    Raises:
        UserFacingError: it is too large, neither JSON nor this form, or says something that is not understood.
    """
    kind = media_type(request)
    rejects = fields_of(request.scope["query_string"].decode("latin-1"), ("reject",), "The address").get("reject")
    if kind == FORM_TYPE:
        fields = await form(request, {*_FIELDS, *asked.names}, MAX_BODY)
        if fields.get("answer", "yes") != "yes":
            raise _problem("'answer' must be yes; to say no, send 'reject' with the reason.", "INVALID_REQUEST", 400)
        if "reject" in fields and len(fields) > 1:
            raise _problem("'reject' says no, so no 'answer' or 'payload' may come with it.", "INVALID_REQUEST", 400)
        payload, rejects = fields.get("payload", ""), fields.get("reject", rejects)
        if rejects is None and asked.fields and "payload" not in fields:
            return _Answer(form=asked, entered=fields)
        given = parse_json(payload, _LIMITS) if payload.strip() else None
        return _Answer(given, rejects, entered=fields if asked.whole else None)
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
