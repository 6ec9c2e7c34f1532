"""Counts HTTP requests and GraphQL operations; in the event loop of the API alone, so without locks."""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graphql.app import PATH
from ...graphql.guard.document import Prepared
from ...jobs.core.counts import OTHER, Histogram
from ..auth.pages import root_path_of

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ROUTES: Final = frozenset({PATH, "/schema.graphql", "/graphiql", "/health/live", "/health/ready", "/metrics"})
_ROOMS: Final = frozenset({"auth", "oauth", "assets", "signal"})
"""First parts of paths with many pages below them."""


class RequestCounts:
    """What was asked of this process.

    Attributes:
        requests: By method, route and status.
        request_seconds: By route; streams are left out.
        operations: GraphQL operations by kind, first root field, and whether they had errors.
        operation_seconds: By kind and first root field.
    """

    def __init__(self) -> None:
        self.requests: dict[tuple[str, ...], int] = {}
        self.request_seconds: dict[tuple[str, ...], Histogram] = {}
        self.operations: dict[tuple[str, ...], int] = {}
        self.operation_seconds: dict[tuple[str, ...], Histogram] = {}

    def requested(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """A request was answered; ``seconds`` None: by a stream."""
        key = (method if method in _METHODS else OTHER, route, str(status))
        self.requests[key] = self.requests.get(key, 0) + 1
        if seconds is not None:
            self.request_seconds.setdefault((route,), Histogram()).observe(seconds)

    def executed(self, prepared: Prepared, seconds: float, *, failed: bool) -> None:
        """A query or mutation was executed. Its fields are those of the schema, so there are not many."""
        kind, field = prepared.operation.operation.value, prepared.root_field or OTHER
        key = (kind, field, "error" if failed else "ok")
        self.operations[key] = self.operations.get(key, 0) + 1
        self.operation_seconds.setdefault((kind, field), Histogram()).observe(seconds)


def route_of(path: str) -> str:
    """The label of a path: one of a few, no matter what clients ask for."""
    if path in _ROUTES:
        return path
    first = path.removeprefix("/").partition("/")[0]
    return f"/{first}" if first in _ROOMS else "page"


class CountRequests:
    """Middleware: counts every answer."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer and count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, is_stream = time.perf_counter(), 500, False

        async def noting(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                is_stream = any(
                    name == b"content-type" and value.startswith(b"text/event-stream")
                    for name, value in message.get("headers", ())
                )
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = route_of(scope["path"].removeprefix(root_path_of(scope)))
            seconds = None if is_stream else time.perf_counter() - began
            self._counts.requested(scope["method"], route, status, seconds)
