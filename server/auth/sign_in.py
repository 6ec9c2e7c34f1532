"""Sign-in of one process, put together."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.routing import Route

from ...graphql.base.errors import UserFacingError
from ...graphql.resolving.context import Person
from ...graphql.transport.request import SitePolicy
from ...jobs.accounts.rules.accounts import LOCAL_ADMINISTRATOR_NAME
from ...jobs.accounts.rules.sessions import POLL_EVERY
from ...jobs.accounts.statements import accounts
from ...jobs.core.actor import Role, Submitter
from ...jobs.core.base.lazy import LazyModule
from ...jobs.store.db.database import Database
from ...jobs.store.db.transaction import Wake
from ..configuration.settings import ProviderSettings
from .authenticator import AttemptCookie, Authenticator, RightsWatch, SessionCookie
from .browser_sessions import BrowserSessions
from .oauth import OAuthRoutes
from .oidc_routes import ProviderRoutes
from .passkeys import PasskeyRoutes, RelyingParty
from .passwords import Passwords
from .signing import Signing

if TYPE_CHECKING:
    from . import oidc
else:
    oidc = LazyModule(f"{__package__}.oidc")
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...jobs.accounts.rules.sessions import CredentialKind
from ...jobs.accounts.statements.accounts import Purpose
from ...jobs.core.base.errors import UserError
from .browser_sessions import NO_STORE, SEE_OTHER, with_pause
from .forms import form, json_object, local_path, page_and_form, text_member
from .pages import (
    STYLE_PATH,
    OtherWays,
    Redirect,
    dead_link_page,
    login_page,
    path_below_root,
    recovery_page,
    setup_page,
    signed_in_page,
    style,
)
from .signing import client_info_of

if TYPE_CHECKING:
    from .oidc import Provider


class SignInRoutes:
    """Answers the requests of the sign-in."""

    def __init__(self, sessions: BrowserSessions, signing: Signing, providers: "Sequence[Provider]") -> None:
        self._sessions = sessions
        self._signing = signing
        self._ways = OtherWays([(one.key, one.settings.name) for one in providers])

    def routes(self) -> list[Route]:
        """Return all of them."""
        posted = self._sessions.posted
        return [
            Route(STYLE_PATH, style, methods=["GET"]),
            page_and_form("/login", self._login, posted(self._log_in)),
            page_and_form("/setup", self._setup, posted(self._set_up)),
            page_and_form("/recover", self._recovery, posted(self._recover)),
            Route("/auth/providers", self._providers, methods=["GET"]),
            Route("/auth/password", posted(self._password), methods=["POST"]),
            Route("/auth/change-password", posted(self._change_password), methods=["POST"]),
            Route("/auth/sign-out", posted(self._sign_out), methods=["POST"]),
            Route("/auth/sign-out-everywhere", posted(self._sign_out_everywhere), methods=["POST"]),
        ]

    async def gate(self, request: Request) -> Response | None:
        """Redirect visitors that are not signed in to the page for it; None lets them pass."""
        if await self._sessions.identity(request) is not None:
            return None
        wanted = local_path(path_below_root(request))
        return Redirect(f"/login?next={quote(wanted, safe='/')}", SEE_OTHER, headers=NO_STORE)

    async def _providers(self, _request: Request) -> Response:
        listed = [{"key": key, "name": name} for key, name in self._ways.providers]
        return JSONResponse(listed, headers={"Cache-Control": "no-cache"})

    async def _login(self, request: Request) -> Response:
        known = await self._sessions.identity(request)
        target = local_path(request.query_params.get("next"))
        if known is None or known.kind is not CredentialKind.BROWSER:
            reason = _why_here(target, ended="ended" in request.query_params)
            return login_page(target, self._ways, reason=reason, unset=not await self._signing.has_administrator())
        if "next" in request.query_params:
            # Its connection was that of an older session, such as before a new password.
            return Redirect(target, SEE_OTHER, headers=NO_STORE)
        return signed_in_page(known.name, known.role.value)

    async def _log_in(self, request: Request) -> Response:
        fields = await form(request, ("next", "name", "password"))
        target, name = local_path(fields.get("next")), fields.get("name", "")
        try:
            signed_in = await self._signing.by_password(name, fields.get("password", ""), client_info_of(request))
        except UserFacingError as error:
            refusal = login_page(target, self._ways, name[:100], error.message, error.http_status or 400)
            return with_pause(refusal, error)
        return await self._sessions.welcome(request, signed_in, Redirect(target, SEE_OTHER, headers=NO_STORE))

    async def _password(self, request: Request) -> Response:
        members = await json_object(request, ("name", "password"))
        name, password = text_member(members, "name"), text_member(members, "password")
        signed_in = await self._signing.by_password(name, password, client_info_of(request))
        account = signed_in.account
        answer = JSONResponse({"name": account.name, "role": account.role.name}, headers=NO_STORE)
        return await self._sessions.welcome(request, signed_in, answer)

    async def _change_password(self, request: Request) -> Response:
        members = await json_object(request, ("current", "password"))
        current, password = text_member(members, "current"), text_member(members, "password")
        known = await self._sessions.required(request)
        changed = await self._signing.change_password(known, current, password, client_info_of(request))
        account = changed.account
        answer = JSONResponse({"name": account.name, "role": account.role.name}, headers=NO_STORE)
        return self._sessions.replace(request, changed, answer)

    async def _setup(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        if not await self._signing.is_good(Purpose.SETUP, token):
            return dead_link_page("The link was used, is too old, or there is an administrator already.")
        return setup_page(token)

    async def _set_up(self, request: Request) -> Response:
        fields = await form(request, ("token", "name", "password"))
        token, name = fields.get("token", ""), fields.get("name", "")
        try:
            signed_in = await self._signing.set_up(token, name, fields.get("password", ""), client_info_of(request))
        except UserError as error:
            if error.code == "INVALID_LINK":
                return dead_link_page(error.message)
            return setup_page(token, name[:100], error.message, 400)
        return await self._sessions.welcome(request, signed_in, Redirect("/", SEE_OTHER, headers=NO_STORE))

    async def _recovery(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        if not await self._signing.is_good(Purpose.RECOVERY, token):
            return dead_link_page("The link was used or is too old.")
        return recovery_page(token)

    async def _recover(self, request: Request) -> Response:
        fields = await form(request, ("token", "password"))
        token = fields.get("token", "")
        try:
            signed_in = await self._signing.recover(token, fields.get("password", ""), client_info_of(request))
        except UserError as error:
            if error.code == "INVALID_LINK":
                return dead_link_page(error.message)
            return recovery_page(token, error.message, 400)
        return await self._sessions.welcome(request, signed_in, Redirect("/", SEE_OTHER, headers=NO_STORE))

    async def _sign_out(self, request: Request) -> Response:
        return await self._sessions.leave(request, everywhere=False)

    async def _sign_out_everywhere(self, request: Request) -> Response:
        return await self._sessions.leave(request, everywhere=True)


def _why_here(target: str, *, ended: bool) -> str | None:
    if ended:
        return "Your sign-in has ended. Sign in again to go on where you were."
    return None if target == "/" else f"Sign in to open {target.partition('?')[0][:80]}."


class SignIn:
    """The parts that know who asks.

    Attributes:
        authenticator: Finds the identity behind a request.
        watch: Ends streams of those who lost their rights.
        pages: Those with forms, and who may see the others.
    """

    def __init__(
        self,
        database: Database,
        url: str,
        hosts: Collection[str],
        providers: Mapping[str, ProviderSettings] | None = None,
        poll_every: int = POLL_EVERY,
    ) -> None:
        """Put together.

        Args:
            url: The address under which people open the server, with the path where it is mounted.
            hosts: The names that the ``Host`` header may have.
            providers: By whom people may sign in, by their keys.
            poll_every: Seconds between two questions of a device that waits to be let in.
        """
        parts = urlsplit(url)
        self._database = database
        self._passwords = Passwords()
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.authenticator = Authenticator(database, SessionCookie.for_address(url))
        self.watch = RightsWatch(self.authenticator.still_good)
        site = SitePolicy(hosts, {self.origin})
        sessions = BrowserSessions(database, self.authenticator, AttemptCookie.for_address(url), site)
        address = url.rstrip("/")
        known = [oidc.Provider(key, one, address) for key, one in (providers or {}).items()]
        self._providers = ProviderRoutes(database, sessions, known)
        self.pages = SignInRoutes(sessions, Signing(database, self._passwords), known)
        self._oauth = OAuthRoutes(database, self.authenticator, sessions, address, poll_every)
        self._passkeys = PasskeyRoutes(database, sessions, RelyingParty(url))

    def routes(self) -> list[Route]:
        """Return all addresses of sign-in."""
        return [*self.pages.routes(), *self._passkeys.routes(), *self._oauth.routes(), *self._providers.routes()]

    def on_wake(self, wakes: Wake) -> None:
        """Pass on that some node has committed something."""
        self.authenticator.on_wake(wakes)
        self.watch.on_wake(wakes)

    def close(self) -> None:
        """End the threads that hash passwords."""
        self._passwords.close()


async def person_behind(database: Database, submitter: Submitter | None) -> Person:
    """Return the person who submitted a run, with their present rights.

    Args:
        submitter: Whose account; None = the code of a job.

    Raises:
        UserFacingError: ``FORBIDDEN``: there is no such account, or it is disabled.
    """
    if submitter is None:
        return Person("job code", Role.ADMIN)
    known = submitter.account_id
    account = None if known is None else await database.read(accounts.by_id, known)
    if account is None or account.disabled_at is not None:
        why = "is disabled" if account else "has no account"
        if submitter.name == LOCAL_ADMINISTRATOR_NAME:
            why = "acts only where there is no sign-in (--no-auth)"
        message = f"This was submitted by '{submitter.name}', who {why} now; let somebody else submit it again."
        raise UserFacingError(message, code="FORBIDDEN", http_status=403)
    return Person(account.name, account.role, account.id)
