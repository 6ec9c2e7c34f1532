"""Sign-in by the application that has mounted us: the page for unknown visitors, and the end of their streams."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from html import escape
from typing import Final, TypeAlias
from urllib.parse import quote

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route

from ...graphql.base.errors import UserFacingError
from ...graphql.resolving.context import Context, Person
from .authenticator import unauthenticated
from .browser_sessions import NO_STORE, SEE_OTHER
from .forms import local_path
from .pages import STYLE_PATH, Redirect, page, path_below_root, style

Who: TypeAlias = Callable[[HTTPConnection], Awaitable[Person | None]]
"""Returns who asks; None = access denied."""


UNKNOWN: Final = "The application that this is part of does not let you see it; sign in there."


ENDED: Final = "The application does not let you see this any more; sign in there and connect again."
EVERY: Final = 2.0
"""Seconds between two questions whether the reader of an open stream may still read."""
log = logging.getLogger("cronograph.sign_in")


class HostSignIn:
    """Sign-in by the application.

    Args:
        who: Says who asks.
    """

    def __init__(self, who: Who) -> None:
        self._who = who

    @contextmanager
    def watching(
        self, context: Context, connection: HTTPConnection, lost: Callable[[UserFacingError], None]
    ) -> Generator[None]:
        """Watch a stream while the block runs: the application is asked again and again whose connection it is.

        Args:
            context: Of the operation or the socket.
            connection: The request by which the application knows its reader.
            lost: Called once, when that is nobody any more, somebody else, or somebody with another role.
        """
        asking = asyncio.create_task(self._follow(context.person, connection, lost))
        try:
            yield
        finally:
            asking.cancel()

    async def _follow(
        self, person: Person, connection: HTTPConnection, lost: Callable[[UserFacingError], None]
    ) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                found = await self._who(connection)
            except Exception as error:  # noqa: BLE001 - code of the application, whose database may be unavailable
                log.warning("cannot ask who reads an open stream: %s: %s", type(error).__name__, error)
                continue
            if found is None or (found.name, found.role) != (person.name, person.role):
                lost(unauthenticated(ENDED))
                return

    def routes(self) -> list[Route]:
        """Return the routes to which the dashboard sends visitors that are not known any more."""
        return [
            Route("/login", self._login, methods=["GET"]),
            Route(STYLE_PATH, style, methods=["GET"]),
        ]

    async def gate(self, request: Request) -> Response | None:
        """Return a page for visitors that the application does not know; None lets pass."""
        return None if await self._who(request) is not None else _unknown(local_path(path_below_root(request)))

    async def _login(self, request: Request) -> Response:
        target = local_path(request.query_params.get("next"))
        if await self._who(request) is not None:
            return Redirect(target, SEE_OTHER, headers=NO_STORE)
        return _unknown(target)


def _unknown(target: str) -> Response:
    again = f"login?next={quote(target, safe='/')}"
    return page("Not signed in", f'<p>{UNKNOWN}</p><p><a class="way" href="{escape(again)}">Try again</a></p>', 401)
