"""Answers that lead to other paths of this site, wherever an application has mounted it."""

from html import escape
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

BASE: Final = '<base href="/">'
"""Says in a page where its links, which are relative, begin."""


def root_path_of(scope: Scope) -> str:
    """The path that everything is served below, without a slash at its end; nothing for a server of its own."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def path_below_root(request: Request) -> str:
    """What was asked for, as a path below that root, with its query."""
    path = request.url.path.removeprefix(quote(root_path_of(request.scope))) or "/"
    return f"{path}?{request.url.query}" if request.url.query else path


class Page(HTMLResponse):
    """A page that holds ``BASE``."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, with its base where we are mounted."""
        root = root_path_of(scope)
        if root:
            base = f'<base href="{escape(quote(root))}/">'
            self.body = bytes(self.body).replace(BASE.encode(), base.encode(), 1)
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


class Redirect(RedirectResponse):
    """Leads to a path of this site, as it is below where we are mounted."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        self.headers["location"] = f"{quote(root_path_of(scope))}{self.headers['location']}"
        await super().__call__(scope, receive, send)
