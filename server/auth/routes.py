"""The addresses of sign-in: pages with forms for browsers, and JSON for the dashboard."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ...graphql.errors import UserFacingError, error_answer, mask
from ...graphql.transport.site import SitePolicy
from ...jobs.actions.acting import acting
from ...jobs.actions.sessions import end_all_sessions, end_session
from ...jobs.core.accounts import CredentialKind, Identity
from ...jobs.core.errors import UserError
from ...jobs.store.db.database import Database
from ...jobs.store.read.links import Purpose
from .authenticator import Authenticator, unauthenticated
from .forms import form, json_object, local_path, text_member
from .pages import STYLE, STYLE_PATH, dead_link_page, login_page, recovery_page, setup_page, signed_in_page
from .signing import SignedIn, Signing, person_of, place_of

NO_STORE: Final = {"Cache-Control": "no-store"}
SEE_OTHER: Final = HTTPStatus.SEE_OTHER
Handler = Callable[[Request], Awaitable[Response]]


class SignInRoutes:
    """Answers what has to do with signing in."""

    def __init__(self, database: Database, authenticator: Authenticator, signing: Signing, site: SitePolicy) -> None:
        self._database = database
        self._authenticator = authenticator
        self._signing = signing
        self._site = site

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route(STYLE_PATH, self._style, methods=["GET"]),
            Route("/login", self._login, methods=["GET"]),
            Route("/login", self._posted(self._log_in), methods=["POST"]),
            Route("/setup", self._setup, methods=["GET"]),
            Route("/setup", self._posted(self._set_up), methods=["POST"]),
            Route("/recover", self._recovery, methods=["GET"]),
            Route("/recover", self._posted(self._recover), methods=["POST"]),
            Route("/auth/password", self._posted(self._password), methods=["POST"]),
            Route("/auth/sign-out", self._posted(self._sign_out), methods=["POST"]),
            Route("/auth/sign-out-everywhere", self._posted(self._sign_out_everywhere), methods=["POST"]),
        ]

    async def gate(self, request: Request) -> Response | None:
        """Sends whoever is not signed in to the page where one signs in; None lets pass."""
        if await self._identity(request) is not None:
            return None
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/login?next={quote(local_path(wanted), safe='/')}", SEE_OTHER, headers=NO_STORE)

    async def _identity(self, request: Request) -> Identity | None:
        try:
            return await self._authenticator.identity(request)
        except UserFacingError:
            # A page is asked for with a token that is not good: the same as without.
            return None

    def _posted(self, handler: Handler) -> Handler:
        """A handler that other sites cannot reach, and whose refusals are JSON with a code."""

        async def guarded(request: Request) -> Response:
            try:
                self._site.check(request)
                return await handler(request)
            except UserError as error:
                return _refused(UserFacingError(error.message, code=error.code, http_status=400))
            except UserFacingError as error:
                return _refused(error)
            except Exception as error:  # noqa: BLE001 - masked and logged
                return JSONResponse(error_answer([mask(error)]), 500, headers=NO_STORE)

        return guarded

    async def _style(self, _request: Request) -> Response:
        return Response(STYLE, media_type="text/css", headers={"Cache-Control": "no-cache"})

    async def _login(self, request: Request) -> Response:
        known = await self._identity(request)
        if known is not None and known.kind is CredentialKind.BROWSER and "next" not in request.query_params:
            return signed_in_page(known.name, known.role.value)
        return login_page(local_path(request.query_params.get("next")))

    async def _log_in(self, request: Request) -> Response:
        fields = await form(request)
        target, name = local_path(fields.get("next")), fields.get("name", "")
        try:
            signed_in = await self._signing.by_password(name, fields.get("password", ""), place_of(request))
        except UserFacingError as error:
            refusal = login_page(target, name[:100], error.message, error.http_status or 400)
            return _with_pause(refusal, error)
        return await self._welcome(request, signed_in, RedirectResponse(target, SEE_OTHER, headers=NO_STORE))

    async def _password(self, request: Request) -> Response:
        members = await json_object(request)
        name, password = text_member(members, "name"), text_member(members, "password")
        signed_in = await self._signing.by_password(name, password, place_of(request))
        account = signed_in.account
        answer = JSONResponse({"name": account.name, "role": account.role.name}, headers=NO_STORE)
        return await self._welcome(request, signed_in, answer)

    async def _setup(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        if not await self._signing.is_good(Purpose.SETUP, token):
            return dead_link_page("The link was used, is too old, or there is an administrator already.")
        return setup_page(token)

    async def _set_up(self, request: Request) -> Response:
        fields = await form(request)
        token, name = fields.get("token", ""), fields.get("name", "")
        try:
            signed_in = await self._signing.set_up(token, name, fields.get("password", ""), place_of(request))
        except UserError as error:
            if error.code == "INVALID_LINK":
                return dead_link_page(error.message)
            return setup_page(token, name[:100], error.message, 400)
        return await self._welcome(request, signed_in, RedirectResponse("/", SEE_OTHER, headers=NO_STORE))

    async def _recovery(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        if not await self._signing.is_good(Purpose.RECOVERY, token):
            return dead_link_page("The link was used or is too old.")
        return recovery_page(token)

    async def _recover(self, request: Request) -> Response:
        fields = await form(request)
        token = fields.get("token", "")
        try:
            signed_in = await self._signing.recover(token, fields.get("password", ""), place_of(request))
        except UserError as error:
            if error.code == "INVALID_LINK":
                return dead_link_page(error.message)
            return recovery_page(token, error.message, 400)
        return await self._welcome(request, signed_in, RedirectResponse("/", SEE_OTHER, headers=NO_STORE))

    async def _welcome(self, request: Request, signed_in: SignedIn, answer: Response) -> Response:
        """Give the browser its new session; the one it came with ends, so that nobody else's id lives on."""
        before = await self._identity(request)
        if before is not None and before.kind is CredentialKind.BROWSER:
            await self._end(request, before, everywhere=False)
        self._authenticator.cookie.write(answer, signed_in.secret)
        return answer

    async def _sign_out(self, request: Request) -> Response:
        return await self._leave(request, everywhere=False)

    async def _sign_out_everywhere(self, request: Request) -> Response:
        return await self._leave(request, everywhere=True)

    async def _leave(self, request: Request, *, everywhere: bool) -> Response:
        known = await self._identity(request)
        if known is None or known.kind is not CredentialKind.BROWSER:
            raise unauthenticated("Nobody is signed in here.")
        await self._end(request, known, everywhere=everywhere)
        answer = RedirectResponse("/login", SEE_OTHER, headers=NO_STORE)
        self._authenticator.cookie.clear(answer)
        return answer

    async def _end(self, request: Request, known: Identity, *, everywhere: bool) -> None:
        actor = person_of(request, known).actor
        if everywhere:
            await self._database.write(acting, actor, end_all_sessions, known.account_id)
            self._authenticator.forget_all()
            return
        await self._database.write(acting, actor, end_session, known.account_id, known.credential_id)
        self._authenticator.forget(self._authenticator.cookie.read(request) or "")


def _refused(error: UserFacingError) -> Response:
    return _with_pause(JSONResponse(error_answer([error]), error.http_status or 400, headers=NO_STORE), error)


def _with_pause(answer: Response, error: UserFacingError) -> Response:
    """Says by header, too, how long to wait."""
    seconds = (error.extensions or {}).get("retryAfter")
    if seconds is not None:
        answer.headers["Retry-After"] = str(seconds)
    return answer
