"""Who stands behind a request: its credential, looked up and remembered for some seconds."""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Any, Final, cast

from starlette.requests import HTTPConnection

from ...graphql.base.errors import UserFacingError
from ...jobs.accounts.actions.sessions import is_use_due, note_use
from ...jobs.accounts.read import identities
from ...jobs.accounts.read.identities import Found
from ...jobs.accounts.rules.credentials import Prefix, prefix_of, stored_form
from ...jobs.accounts.rules.sessions import Identity
from ...jobs.store.db.database import Database
from ...jobs.store.db.transaction import Wake
from ...jobs.store.read.clock import server_time
from .base.cookies import SessionCookie

REMEMBERED: Final = 0.9
"""Seconds for which a credential that was good is taken for good, where nobody says that one may allow less."""

MOST_REMEMBERED: Final = 10_000
BEARER: Final = re.compile(r"bearer +(\S{1,200})", re.IGNORECASE)


_BEARERS: Final = (Prefix.SESSION, Prefix.ACCESS_TOKEN, Prefix.API_TOKEN)
_COOKIES: Final = (Prefix.SESSION,)
"""What may come by ``Authorization`` and by cookie."""


def _is_of(secret: str, accepted: Collection[Prefix]) -> bool:
    return secret.partition("_")[0] in accepted


class Authenticator:
    """Finds the identity behind a connection.

    Args:
        database: Where sessions and tokens are.
        cookie: Of browser sessions.
        clock: Monotonic seconds, for what is remembered.
    """

    def __init__(self, database: Database, cookie: SessionCookie, clock: Callable[[], float] = time.monotonic) -> None:
        self.cookie = cookie
        self._database = database
        self._clock = clock
        self._known: OrderedDict[str, tuple[Identity, float]] = OrderedDict()
        self._forgotten = 0

    async def identity(self, connection: HTTPConnection) -> Identity | None:
        """Whose credential the connection shows; None when it shows none.

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
        """Whose credential the connection shows.

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
        """Look everything up again; what is being read just now is not remembered either."""
        self._known.clear()
        self._forgotten += 1

    def on_wake(self, wakes: Wake) -> None:
        """Some node has committed what may make a credential allow less."""
        if wakes & Wake.RIGHTS:
            self.forget_all()

    async def still_good(self, asked: Collection[Identity]) -> set[Identity]:
        """Those of some identities whose credentials allow the same as before; the others are not remembered."""
        now = await server_time(self._database)
        good = await self._database.read(identities.still_good, list(asked), now)
        if lost := set(asked) - good:
            for key in [key for key, (identity, _) in self._known.items() if identity in lost]:
                del self._known[key]
        return good

    async def _look_up(self, secret: str, accepted: Collection[Prefix]) -> Identity | None:
        key = stored_form(secret)
        known = self._known.get(key)
        # What is remembered was of the right form: its checksum need not be computed for each request.
        if known is not None and self._clock() < known[1] and _is_of(secret, accepted):
            return known[0]
        prefix = prefix_of(secret)
        if prefix not in accepted:
            return None
        asked, forgotten = self._clock(), self._forgotten
        now = await server_time(self._database)
        read = identities.by_token if prefix is Prefix.API_TOKEN else identities.by_session
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
    """The refusal of a request whose sender is not known."""
    return UserFacingError(message, code="UNAUTHENTICATED", http_status=401)


def _token(connection: HTTPConnection) -> str | None:
    """The text behind ``Bearer``; of another scheme or form an empty one, which is nobody's."""
    header: object = connection.headers.get("authorization")
    if header is None and connection.scope["type"] == "websocket":
        params = cast("dict[str, Any]", getattr(connection.state, "connection_params", None) or {})
        header = params.get("authorization", params.get("Authorization"))
    if header is None:
        return None
    match = BEARER.fullmatch(header.strip()) if isinstance(header, str) else None
    return match.group(1) if match else ""
