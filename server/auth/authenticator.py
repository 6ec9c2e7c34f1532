"""Find the identity behind a request by its credential, and end streams whose owner has lost the right to them."""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, cast
from urllib.parse import quote, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response
from typing_extensions import override

from ...graphql.base.errors import UserFacingError
from ...graphql.resolving.context import Context
from ...jobs.accounts.actions.sessions import is_use_due, note_use
from ...jobs.accounts.rules.credentials import Prefix, prefix_of, stored_form
from ...jobs.accounts.rules.sessions import Identity
from ...jobs.accounts.statements import sessions
from ...jobs.accounts.statements.sessions import Found
from ...jobs.runtime.base.service import Watch
from ...jobs.store.db.database import Database, SQLAlchemyError
from ...jobs.store.db.transaction import Wake
from .pages import root_path_of

MAX_HEADER = 8_192
"""Characters of a Cookie header that are read; a longer one is not ours alone."""


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """Name, read and write the cookie of a session.

    With TLS it has the prefix ``__Host-``: browsers take it from this very host only, and send it over TLS only. Such a
    cookie is sent to every port and path of the host, so both are part of its name: several servers of one host, and
    several of one application, each under a path of its own, do not sign people out of each other.

    Attributes:
        host: The name without that of the path; ends in the port, unless it is that of https or is not known.
        secure: Whether it travels over TLS only.
    """

    SUFFIX: ClassVar[str] = ""

    host: str
    secure: bool

    @classmethod
    def for_address(cls, url: str) -> Self:
        """Return the cookie of the server that people open under an address."""
        parts = urlsplit(url)
        port = parts.port if (parts.scheme, parts.port) != ("https", 443) else None
        return cls("cronograph" if port is None else f"cronograph-{port}", secure=parts.scheme == "https")

    def name(self, connection: HTTPConnection) -> str:
        """Return the name for a request: the path where an application has mounted us is known by nothing else."""
        host = self.host
        if not self.secure and host == "cronograph":
            # Nobody has said under which port people find the application that we are part of.
            port = connection.headers.get("host", "").rpartition(":")[2]
            host = f"{host}-{port if port.isdecimal() else 80}"
        path = quote(root_path_of(connection.scope).lstrip("/"), safe="")
        return f"{'__Host-' if self.secure else ''}{host}{self.SUFFIX}{path and f'.{path}'}"

    def read(self, connection: HTTPConnection) -> str | None:
        """Return the secret in the request's cookie; None without one. Two cookies of the name are none."""
        header, wanted = connection.headers.get("cookie", ""), self.name(connection)
        if wanted not in header or len(header) > MAX_HEADER:
            return None
        pairs = (part.strip().partition("=") for part in header.split(";"))
        found = [value for name, _, value in pairs if name == wanted]
        return found[0] if len(found) == 1 else None

    def write(self, connection: HTTPConnection, response: Response, secret: str) -> None:
        """Let the browser keep a secret until it is closed, or the session ends on the server."""
        name = self.name(connection)
        response.set_cookie(name, secret, path="/", secure=self.secure, httponly=True, samesite="lax")

    def clear(self, connection: HTTPConnection, response: Response) -> None:
        """Let the browser forget it."""
        name = self.name(connection)
        response.delete_cookie(name, path="/", secure=self.secure, httponly=True, samesite="lax")


class AttemptCookie(SessionCookie):
    """The cookie that binds a sign-in, which takes more than one request, to the browser that began it."""

    SUFFIX = "-attempt"

    def secret_of(self, connection: HTTPConnection) -> str | None:
        """Return the secret in the request's cookie; None without one that this server may have made."""
        secret = self.read(connection)
        return secret if secret is not None and prefix_of(secret) is Prefix.ATTEMPT else None


REMEMBERED: Final = 0.9
"""Seconds for which a credential that was good is taken for good, where nobody says that one may allow less."""

MOST_REMEMBERED: Final = 10_000
BEARER: Final = re.compile(r"bearer +(\S{1,200})", re.IGNORECASE)


_BEARERS: Final = (Prefix.SESSION, Prefix.ACCESS_TOKEN, Prefix.API_TOKEN)
_COOKIES: Final = (Prefix.SESSION,)
"""Credentials that may come by ``Authorization`` and by cookie."""


def _is_of(secret: str, accepted: Collection[Prefix]) -> bool:
    return secret.partition("_")[0] in accepted


class Authenticator:
    """Finds the identity behind a connection.

    Args:
        cookie: Of browser sessions.
    """

    def __init__(self, database: Database, cookie: SessionCookie) -> None:
        self.cookie = cookie
        self._database = database
        self._known: OrderedDict[str, tuple[Identity, float]] = OrderedDict()
        self._forgotten = 0

    async def identity(self, connection: HTTPConnection) -> Identity | None:
        """Return the identity whose credential the connection shows; None when it shows none.

        A token in ``Authorization`` (or, for a WebSocket, in the payload of ``connection_init``) comes before a cookie.

        Raises:
            UserFacingError: ``UNAUTHENTICATED``: a token is shown, and it is not good.
        """
        token = _token(connection)
        if token is not None:
            found = await self._look_up(token, _BEARERS)
            if found is None:
                raise unauthenticated("The token is none of this server, has expired or was revoked.")
            return found
        secret = self.cookie.read(connection)
        return None if secret is None else await self._look_up(secret, _COOKIES)

    async def required(self, connection: HTTPConnection) -> Identity:
        """Return the identity whose credential the connection shows.

        Raises:
            UserFacingError: ``UNAUTHENTICATED``: it shows none, or one that is not good.
        """
        found = await self.identity(connection)
        if found is None:
            raise unauthenticated("Sign in first: send an API token as 'Authorization: Bearer …', or use /login.")
        return found

    def forget(self, secret: str) -> None:
        """Look a credential up again at its next use."""
        self._known.pop(stored_form(secret), None)

    def forget_all(self) -> None:
        """Look everything up again; lookups now in progress are not remembered either."""
        self._known.clear()
        self._forgotten += 1

    def on_wake(self, wakes: Wake) -> None:
        """Forget all credentials if some node has committed a change that may take rights away."""
        if wakes & Wake.RIGHTS:
            self.forget_all()

    async def still_good(self, asked: Collection[Identity]) -> set[Identity]:
        """Return those identities whose credentials allow the same as before, and forget the others."""
        now = await self._database.server_time()
        good = await self._database.read(sessions.still_good, list(asked), now)
        if lost := set(asked) - good:
            for key in [key for key, (identity, _) in self._known.items() if identity in lost]:
                del self._known[key]
        return good

    async def _look_up(self, secret: str, accepted: Collection[Prefix]) -> Identity | None:
        key = stored_form(secret)
        known = self._known.get(key)
        # What is remembered was of the right form: its checksum need not be computed for each request.
        if known is not None and time.monotonic() < known[1] and _is_of(secret, accepted):
            return known[0]
        prefix = prefix_of(secret)
        if prefix not in accepted:
            return None
        asked, forgotten = time.monotonic(), self._forgotten
        now = await self._database.server_time()
        read = sessions.by_token if prefix is Prefix.API_TOKEN else sessions.by_session
        found = await self._database.read(read, key, now)
        if found is None:
            self._known.pop(key, None)
            return None
        if is_use_due(found, now):
            await self._database.write(note_use, found)
        if forgotten == self._forgotten:
            self._remember(key, found, asked)
        return found.identity

    def _remember(self, key: str, found: Found, asked: float) -> None:
        self._known[key] = (found.identity, asked + REMEMBERED)
        self._known.move_to_end(key)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)


def unauthenticated(message: str) -> UserFacingError:
    """Return the refusal of a request whose sender is not known."""
    return UserFacingError(message, code="UNAUTHENTICATED", http_status=401)


def _token(connection: HTTPConnection) -> str | None:
    """Return the text behind ``Bearer``; of another scheme or form an empty one, which is nobody's."""
    header: object = connection.headers.get("authorization")
    if header is None and connection.scope["type"] == "websocket":
        params = cast("dict[str, Any]", getattr(connection.state, "connection_params", None) or {})
        header = params.get("authorization", params.get("Authorization"))
    if header is None:
        return None
    match = BEARER.fullmatch(header.strip()) if isinstance(header, str) else None
    return match.group(1) if match else ""


log = logging.getLogger("cronograph.sign_in")

EVERY: Final = 0.5
"""Seconds between two looks while streams are open, where nobody says that a right may be lost."""

StillGood = Callable[[Collection[Identity]], Awaitable[set[Identity]]]
Lost = Callable[[UserFacingError], None]


class RightsWatch(Watch):
    """Knows the streams that are open, and looks whether their owners still may read: when notified, and now and then.

    One statement for all streams of this node: it costs the same however many dashboards are open.
    """

    def __init__(self, still_good: StillGood, every: float = EVERY) -> None:
        """Start without streams.

        Args:
            still_good: Which of some identities still have the rights they had.
            every: Seconds between two looks.
        """
        super().__init__("rights-watch", hints=Wake.RIGHTS, poll=every, should_poll=lambda: bool(self._open))
        self._still_good = still_good
        self._open: dict[object, tuple[Identity, Lost]] = {}

    @contextmanager
    def watching(self, context: object, _connection: object, lost: Lost) -> Generator[None]:
        """Watch a stream while the block runs.

        Args:
            context: Of the operation or the socket.
            _connection: The connection that shows the credential; the context knows whose it is.
            lost: Called once, when its owner has lost the right to it.
        """
        identity = context.person.identity if isinstance(context, Context) else None
        if identity is None:
            yield
            return
        key = object()
        self._open[key] = (identity, lost)
        try:
            yield
        finally:
            self._open.pop(key, None)

    @override
    async def look(self) -> None:
        """End the streams whose owners have lost their rights."""
        seen = list(self._open.items())
        if not seen:
            return
        try:
            good = await self._still_good({identity for _, (identity, _) in seen})
        except SQLAlchemyError as error:
            # Without a database no stream has anything to tell either.
            log.warning("cannot see whether the readers of open streams still may read: %s", error)
            return
        for key, (identity, lost) in seen:
            if identity not in good and self._open.pop(key, None) is not None:
                lost(unauthenticated("The sign-in has ended or its rights have changed; sign in and connect again."))
