"""The addresses of sign-in by a provider: to it, and back from it."""

from collections.abc import Sequence
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ...graphql.base.errors import UserFacingError
from ...jobs.accounts.actions import providers as actions
from ...jobs.accounts.actions.accounts import fresh_secret
from ...jobs.accounts.rules.accounts import Profile, ProviderAttempt
from ...jobs.accounts.rules.credentials import Prefix, stored_form
from ...jobs.actions.idempotent import acting
from ...jobs.core.base.errors import UserError
from ...jobs.core.base.lazy import LazyModule
from ...jobs.store.db.database import Database
from .browser_sessions import NO_STORE, SEE_OTHER, BrowserSessions, with_pause
from .forms import local_path
from .pages import Redirect, refused_page
from .signing import SignedIn, client_info_of, person_of, too_many

if TYPE_CHECKING:
    from . import oidc
else:
    oidc = LazyModule(f"{__package__}.oidc")


class ProviderRoutes:
    """Answers the requests of a sign-in by a provider; refusals are pages, for a browser is led here by links."""

    def __init__(self, database: Database, sessions: BrowserSessions, providers: "Sequence[oidc.Provider]") -> None:
        self._database = database
        self._sessions = sessions
        self._providers = {one.key: one for one in providers}

    def routes(self) -> list[Route]:
        """Return all of them; none without a provider."""
        if not self._providers:
            return []
        return [
            Route("/auth/oidc/{key}", self._begin, methods=["GET"]),
            Route("/auth/oidc/{key}/callback", self._come_back, methods=["GET"]),
        ]

    async def _begin(self, request: Request) -> Response:
        """Send the browser to the provider. With ``connect`` its answer is for the account that is signed in."""
        try:
            self._sessions.site.check(request)
            provider = self._provider(request)
            account_id = None
            if "connect" in request.query_params:
                account_id = (await self._sessions.required(request)).account_id
            attempts = self._sessions.attempts
            binding = oidc.Binding(attempts.secret_of(request) or fresh_secret(Prefix.ATTEMPT), token_urlsafe(32))
            answer = RedirectResponse(await provider.address(binding), SEE_OTHER, headers=NO_STORE)
            attempt = ProviderAttempt(local_path(request.query_params.get("next")), account_id)
            hashes = stored_form(binding.state), stored_form(binding.secret)
            place = client_info_of(request)
            wait = await self._database.write(actions.begin, *hashes, provider.key, attempt, place=place)
            if wait > 0:
                raise too_many(wait)
        except UserFacingError as error:
            return _page(error)
        attempts.write(request, answer, binding.secret)
        return answer

    async def _come_back(self, request: Request) -> Response:
        """Take the provider's answer."""
        try:
            provider = self._provider(request)
            binding, attempt = await self._attempt(request, provider)
        except UserFacingError as error:
            return _page(error)
        try:
            return await self._finish(request, provider, binding, attempt)
        except UserFacingError as error:
            await self._database.write(actions.fail, provider.key, error.code, client_info_of(request))
            return _page(error)

    async def _attempt(self, request: Request, provider: "oidc.Provider") -> "tuple[oidc.Binding, ProviderAttempt]":
        """Return the sign-in that this browser has begun.

        Raises:
            UserFacingError: ``WRONG_STATE``: nothing, or it is over.
        """
        secret = self._sessions.attempts.secret_of(request) or ""
        binding = oidc.Binding(secret, request.query_params.get("state", ""))
        hashes = stored_form(binding.state), stored_form(binding.secret)
        attempt = await self._database.write(actions.come_back, *hashes, provider.key)
        if attempt is None:
            message = "This sign-in was not begun in this browser, took too long, or is over; begin it again."
            raise UserFacingError(message, code="WRONG_STATE", http_status=401)
        return binding, attempt

    async def _finish(
        self, request: Request, provider: "oidc.Provider", binding: "oidc.Binding", attempt: ProviderAttempt
    ) -> Response:
        """Sign in the identity that the provider has confirmed, or connect it to the account that is signed in."""
        now = await self._database.server_time()
        profile = await provider.profile(request.query_params, binding, now)
        answer = Redirect(attempt.next_path, SEE_OTHER, headers=NO_STORE)
        secret = fresh_secret(Prefix.SESSION)
        try:
            if attempt.account_id is not None:
                await self._connect(request, attempt.account_id, profile)
                return answer
            account = await self._database.write(actions.sign_in, profile, stored_form(secret), client_info_of(request))
        except UserError as error:
            sentence = error.message[:1].upper() + error.message[1:] + "."
            raise UserFacingError(sentence, code=error.code, http_status=403) from error
        return await self._sessions.welcome(request, SignedIn(account, secret), answer)

    async def _connect(self, request: Request, account_id: int, profile: Profile) -> None:
        known = await self._sessions.required(request)
        if known.account_id != account_id:
            message = "Somebody else has signed in here meanwhile; nothing was connected."
            raise UserFacingError(message, code="WRONG_STATE", http_status=401)
        await self._database.write(acting, person_of(request, known).actor, actions.connect, account_id, profile)

    def _provider(self, request: Request) -> "oidc.Provider":
        found = self._providers.get(request.path_params["key"])
        if found is None:
            raise UserFacingError("There is no such provider here.", code="NOT_FOUND", http_status=404)
        return found


def _page(error: UserFacingError) -> Response:
    return with_pause(refused_page(error.message, error.http_status or 400), error)
