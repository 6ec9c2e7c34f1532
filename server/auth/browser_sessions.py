"""Browser sessions where people sign in: who has one, how one begins and ends, and the protection from other sites."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...graphql.app import masked_response
from ...graphql.base.errors import UserFacingError, error_answer
from ...graphql.transport.request import SitePolicy
from ...jobs.accounts.actions.sessions import end_all_sessions, sign_out
from ...jobs.accounts.rules.sessions import CredentialKind, Identity
from ...jobs.actions.idempotent import acting
from ...jobs.core.base.errors import UserError
from ...jobs.store.db.database import Database
from .authenticator import AttemptCookie, Authenticator, unauthenticated
from .pages import Redirect
from .signing import SignedIn, person_of

NO_STORE: Final = {"Cache-Control": "no-store"}
SEE_OTHER: Final = HTTPStatus.SEE_OTHER
Handler = Callable[[Request], Awaitable[Response]]


class BrowserSessions:
    """Begin and end the sessions of browsers, for all ways to sign in.

    Attributes:
        attempts: The cookie that binds a sign-in to the browser that began it.
        site: Which hosts and origins may call.
    """

    def __init__(
        self, database: Database, authenticator: Authenticator, attempts: AttemptCookie, site: SitePolicy
    ) -> None:
        self.attempts = attempts
        self.site = site
        self._database = database
        self._authenticator = authenticator

    def posted(self, handler: Handler, refused: Callable[[Exception], Response | None] | None = None) -> Handler:
        """Return a handler that other sites cannot reach, and whose refusals are JSON with a code.

        Args:
            refused: Answers errors in a form of its own; None = not this one.
        """
        respond = refused or _refused

        async def guarded(request: Request) -> Response:
            try:
                self.site.check(request)
                return await handler(request)
            except Exception as error:  # noqa: BLE001 - what is not refused on purpose is masked and logged
                return respond(error) or masked_response(error)

        return guarded

    async def identity(self, request: Request) -> Identity | None:
        """Return the identity of the caller; None when nobody is signed in."""
        try:
            return await self._authenticator.identity(request)
        except UserFacingError:
            # A page is asked for with a token that is not good: the same as without.
            return None

    async def required(self, request: Request) -> Identity:
        """Return the identity that has signed in with this browser.

        Raises:
            UserFacingError: ``UNAUTHENTICATED``: nobody has.
        """
        known = await self.identity(request)
        if known is None or known.kind is not CredentialKind.BROWSER:
            raise unauthenticated("Nobody is signed in here.")
        return known

    async def welcome(self, request: Request, signed_in: SignedIn, answer: Response) -> Response:
        """Give the browser its new session; the one it came with ends, so that nobody else's id lives on."""
        before = await self.identity(request)
        if before is not None and before.kind is CredentialKind.BROWSER:
            await self._end(request, before, everywhere=False)
        self._authenticator.cookie.write(request, answer, signed_in.secret)
        return answer

    def replace(self, request: Request, signed_in: SignedIn, answer: Response) -> Response:
        """Give the browser its new session in the place of one that has ended."""
        self._authenticator.forget_all()
        self._authenticator.cookie.write(request, answer, signed_in.secret)
        return answer

    async def leave(self, request: Request, *, everywhere: bool) -> Response:
        """End the session of a browser, or all of its account. One that has ended meanwhile is left all the same.

        Raises:
            UserFacingError: ``UNAUTHENTICATED``: all are to end, and nobody is signed in.
        """
        # A request without a session is refused with that reason; one revoked just now has nothing left to end.
        is_shown = bool(self.secret_of(request))
        known = await self.identity(request) if is_shown and not everywhere else await self.required(request)
        if known is not None and known.kind is CredentialKind.BROWSER:
            await self._end(request, known, everywhere=everywhere)
        answer = Redirect("/login", SEE_OTHER, headers=NO_STORE)
        self._authenticator.cookie.clear(request, answer)
        return answer

    def secret_of(self, request: Request) -> str:
        """Return the secret of the browser's session; empty without one."""
        return self._authenticator.cookie.read(request) or ""

    async def _end(self, request: Request, known: Identity, *, everywhere: bool) -> None:
        actor = person_of(request, known).actor
        if everywhere:
            await self._database.write(acting, actor, end_all_sessions, known.account_id)
            self._authenticator.forget_all()
            return
        await self._database.write(acting, actor, sign_out, known.account_id, known.credential_id)
        self._authenticator.forget(self.secret_of(request))


def with_pause(answer: Response, error: UserFacingError) -> Response:
    """Say also by a header how long to wait."""
    seconds = (error.extensions or {}).get("retryAfter")
    if seconds is not None:
        answer.headers["Retry-After"] = str(seconds)
    return answer


def _refused(error: Exception) -> Response | None:
    if isinstance(error, UserError):
        error = UserFacingError(error.message, code=error.code, http_status=400)
    if not isinstance(error, UserFacingError):
        return None
    return with_pause(JSONResponse(error_answer([error]), error.http_status or 400, headers=NO_STORE), error)
