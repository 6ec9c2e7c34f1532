"""Sign-in of one process, put together."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.routing import Route

from ...graphql.base.errors import UserFacingError
from ...graphql.resolving.context import Person
from ...graphql.transport.site import SitePolicy
from ...jobs.accounts.read import accounts
from ...jobs.accounts.rules.accounts import LOCAL_ADMINISTRATOR_NAME
from ...jobs.accounts.rules.devices import POLL_EVERY
from ...jobs.core.actor import Role, Submitter
from ...jobs.core.base.lazy import LazyModule
from ...jobs.store.db.database import Database
from ...jobs.store.db.transaction import Wake
from ..configuration.provider_settings import ProviderSettings
from .authenticator import Authenticator
from .base.cookies import AttemptCookie, SessionCookie
from .browser_sessions import BrowserSessions
from .oauth import OAuthRoutes
from .oidc_routes import ProviderRoutes
from .passkey_routes import PasskeyRoutes
from .passkeys import RelyingParty
from .passwords import Passwords
from .routes import SignInRoutes
from .signing import Signing
from .watch import RightsWatch

if TYPE_CHECKING:
    from . import oidc
else:
    oidc = LazyModule(f"{__package__}.oidc")


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
            database: Where accounts are.
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
        """All addresses of sign-in."""
        return [*self.pages.routes(), *self._passkeys.routes(), *self._oauth.routes(), *self._providers.routes()]

    def on_wake(self, wakes: Wake) -> None:
        """Some node has committed something."""
        self.authenticator.on_wake(wakes)
        self.watch.on_wake(wakes)

    def close(self) -> None:
        """End the threads that hash passwords."""
        self._passwords.close()


async def person_behind(database: Database, submitter: Submitter | None) -> Person:
    """Who submitted a run, with the rights of now.

    Args:
        database: Where accounts are.
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
