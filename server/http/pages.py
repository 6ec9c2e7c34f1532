"""The built dashboard and GraphiQL: files, pages, their Content-Security-Policy and how long browsers may keep them."""

import gzip
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha256
from html import escape
from mimetypes import guess_type
from pathlib import Path
from typing import Final, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from ...graphql.transport.endpoint import accepted_codings

Gate: TypeAlias = Callable[[Request], Awaitable[Response | None]]

FOLDER = Path(__file__).parents[1] / "static"
"""Folder into which the build of the package puts the dashboard."""

PAGES: Final = frozenset(
    {"", "tasks", "jobs", "runs", "log", "groups", "nodes", "settings", "account", "secrets", "users", "audit"}
    | {"alarms", "deliveries", "errors", "flows", "hooks", "inbox", "lines", "schedule", "webhooks"}
)
"""First parts of the paths that the dashboard itself routes; all of them are one HTML file."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the explorer and of all files: nothing from elsewhere, nothing inline."""

INLINE: Final = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
"""A script or a style that the build has written into a page: without attributes."""

FOR_EVER = "public, max-age=31536000, immutable"
"""For files whose name holds a hash of their content."""

ASK_AGAIN = "no-cache"
"""For the others: kept, but compared with the server's before each use."""

BASE = '<base href="/"'
"""Place in a page at which its paths begin; the build leaves it as it is."""

NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Cronograph: the dashboard is not built</title></head>
<body>
<h1>The dashboard is not built</h1>
<p>This Cronograph was installed without it (<code>CRONOGRAPH_SKIP_WEB</code> was set, or the build was interrupted).
Everything else works: the API is at <code>/graphql</code>, its schema at <a href="/schema.graphql">/schema.graphql</a>,
and <code>cronograph --help</code> lists the commands.</p>
<p>To build it, install again from the source folder, without that variable:</p>
<pre>pip install --force-reinstall --no-deps .</pre>
<p>or run <code>make run</code> there. A wheel from the package index contains the dashboard.</p>
</body></html>
"""


FORMS: Final = (("br", ".br"), ("gzip", ".gz"))
"""Content codings, the smallest first, and the suffix of the file that the build has made in that form."""


def policy_of(page: str) -> str:
    """Content-Security-Policy of a page of the build: its inline parts are allowed by their hashes.

    The source of the form: CSP level 3, "hash-source".
    """
    policy = POLICY
    for kind, text in INLINE.findall(page):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        policy = policy.replace(f"{kind}-src 'self'", f"{kind}-src 'self' 'sha256-{digest}'", 1)
    return policy


def is_page(path: str) -> bool:
    """Return whether the dashboard routes a path itself."""
    return path.strip("/").partition("/")[0] in PAGES


class Site:
    """Answers GET requests for pages and files under ``folder``, which may be missing."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files = StaticFiles(directory=folder, check_dir=False)

    @property
    def built(self) -> bool:
        """Return whether there is a dashboard to serve."""
        return (self._folder / "index.html").is_file()

    async def page(self, request: Request) -> Response:
        """Return the dashboard's page for every path that it routes, else the file of that name."""
        path = request.path_params["path"].strip("/")
        if is_page(path):
            return await self._html("index.html", request)
        return await self._file(path, request)

    async def explorer(self, request: Request) -> Response:
        """Return the page of GraphiQL."""
        return await self._html("graphiql.html", request)

    async def _html(self, name: str, request: Request) -> Response:
        if not self.built:
            return HTMLResponse(NOT_BUILT, 503, headers={"Cache-Control": "no-store"})
        root = request.scope.get("root_path", "")
        page = (self._folder / name).read_text(encoding="utf-8")
        response = await self._smallest(name, request) if not root else self._within(page, root)
        response.headers["Content-Security-Policy"] = policy_of(page)
        response.headers["Cache-Control"] = ASK_AGAIN
        return response

    def _within(self, page: str, root: str) -> Response:
        """Return the page, which looks for everything below the path where an application has mounted it."""
        return HTMLResponse(page.replace(BASE, f'<base href="{escape(root.rstrip("/"))}/"', 1))

    async def _smallest(self, path: str, request: Request) -> Response:
        """Return the file in the smallest form that the client takes, of those that the build has made.

        Raises:
            HTTPException: 404 when there is no such file, and for the forms by their own names.
        """
        if path.endswith(tuple(suffix for _, suffix in FORMS)):
            raise HTTPException(404)
        accepted = accepted_codings(request.headers.get("accept-encoding", ""))
        fitting = [(coding, suffix) for coding, suffix in FORMS if coding in accepted]
        for coding, suffix in fitting:
            if (self._folder / f"{path}{suffix}").is_file():
                response = await self._files.get_response(f"{path}{suffix}", request.scope)
                response.headers["Content-Encoding"] = coding
                break
        else:
            response = self._unpacked(path) or await self._files.get_response(path, request.scope)
        response.headers["Vary"] = "Accept-Encoding"
        return response

    def _unpacked(self, path: str) -> Response | None:
        """Return the file as it is where the build kept only smaller forms: for clients that are not browsers."""
        if (self._folder / path).is_file() or not (self._folder / f"{path}.gz").is_file():
            return None
        packed, found = self._files.lookup_path(f"{path}.gz")
        if found is None:
            return None
        return Response(gzip.decompress(Path(packed).read_bytes()), media_type=guess_type(path)[0])

    async def _file(self, path: str, request: Request) -> Response:
        if path.endswith(".html"):
            # A page has an address of its own, and with it a policy.
            return await self._missing(path, request)
        try:
            response = await self._smallest(path, request)
        except HTTPException as error:
            if error.status_code != 404:
                raise
            return await self._missing(path, request)
        response.headers["Cache-Control"] = FOR_EVER if path.startswith("assets/") else ASK_AGAIN
        # A worker obeys the policy of its own script, not that of the page.
        response.headers["Content-Security-Policy"] = POLICY
        return response

    async def _missing(self, path: str, request: Request) -> Response:
        if self.built and "text/html" in request.headers.get("accept", "") and "." not in path:
            # Somebody has typed an address: the dashboard says that there is no such page, and has its menu there.
            page = await self._html("index.html", request)
            page.status_code = 404
            return page
        # What follows the host is the client's text: it must not be longer than a line.
        message = f"Nothing is at '/{path[:100]}'. The dashboard is at '/', the API at '/graphql'.\n"
        return PlainTextResponse(message, 404, headers={"Cache-Control": "no-store"})


async def everybody(_request: Request) -> Response | None:
    """Return the gate of a server without sign-in."""
    return None


def static_routes(site: Site, gate: Gate = everybody) -> list[Route]:
    """Return the routes of pages and files. They match every path, so they come last.

    Args:
        gate: Answers in the place of a page that somebody may not see; None lets pass. Files are for everybody.
    """

    async def page(request: Request) -> Response:
        shut = await gate(request) if is_page(request.path_params["path"]) else None
        return shut or await site.page(request)

    async def explorer(request: Request) -> Response:
        return await gate(request) or await site.explorer(request)

    return [
        Route("/graphiql", explorer, methods=["GET"]),
        Route("/{path:path}", page, methods=["GET"]),
    ]
