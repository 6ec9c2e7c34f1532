"""Where an application has mounted us and says who asks: the page for those whom it does not know."""

from html import escape
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..base.people import Who
from .base.forms import local_path
from .base.pages import STYLE_PATH, page, style
from .base.root_path import Redirect, path_below_root
from .browser_sessions import NO_STORE, SEE_OTHER

UNKNOWN: Final = "The application that this is part of does not let you see it; sign in there."


class HostSignIn:
    """Sign-in by the application."""

    def __init__(self, who: Who) -> None:
        self._who = who

    def routes(self) -> list[Route]:
        """What the dashboard leads to when somebody is not known any more."""
        return [
            Route("/login", self._login, methods=["GET"]),
            Route(STYLE_PATH, style, methods=["GET"]),
        ]

    async def gate(self, request: Request) -> Response | None:
        """A page for visitors that the application does not know; None lets pass."""
        return None if await self._who(request) is not None else _unknown(local_path(path_below_root(request)))

    async def _login(self, request: Request) -> Response:
        target = local_path(request.query_params.get("next"))
        if await self._who(request) is not None:
            return Redirect(target, SEE_OTHER, headers=NO_STORE)
        return _unknown(target)


def _unknown(target: str) -> Response:
    """Says where one signs in, and leads back."""
    again = f"login?next={quote(target, safe='/')}"
    return page("Not signed in", f'<p>{UNKNOWN}</p><p><a class="way" href="{escape(again)}">Try again</a></p>', 401)
