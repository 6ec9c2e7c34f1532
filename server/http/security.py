"""Guard every request and answer: headers, and the name in ``Host``; and the routes of health."""

from collections.abc import Callable, Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graphql.transport.request import host_name
from ..auth.pages import root_path_of
from ..process.lifecycle import Lifecycle, Phase

NO_STORE = {"Cache-Control": "no-store"}


def asks_for_health(scope: Scope) -> bool:
    """Return whether a request is for one of the two, wherever an application has mounted us."""
    path: str = scope["path"]
    return path.removeprefix(root_path_of(scope)).startswith("/health/")


def health_routes(lifecycle: Lifecycle, dispatching: Callable[[], bool]) -> list[Route]:
    """Return the two routes."""

    async def live(_request: Request) -> JSONResponse:
        """Answer 200 while the event loop turns, even if something else is wrong: a restart would not help."""
        return JSONResponse({"status": "live", "phase": lifecycle.phase}, headers=NO_STORE)

    async def ready(_request: Request) -> JSONResponse:
        """Answer 200 only when the database is migrated, a dead process' runs are recovered, and runs are taken."""
        serving = lifecycle.phase is Phase.SERVING
        is_ready = serving and dispatching()
        status = "ready" if is_ready else "not dispatching" if serving else lifecycle.phase
        return JSONResponse({"ready": is_ready, "status": status}, 200 if is_ready else 503, headers=NO_STORE)

    return [Route("/health/live", live, methods=["GET"]), Route("/health/ready", ready, methods=["GET"])]


HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer" browsers send "Origin: null" along with forms, which is refused as another site's.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""On every answer, unless the route sets its own."""

OVER_TLS_ONLY = "max-age=31536000"
"""``Strict-Transport-Security`` for a year. Other names of the same domain may be anybody's, so not for these."""

NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The Content-Security-Policy of answers that are no page: JSON and text load nothing."""


class SecurityHeaders:
    """Adds the headers to every HTTP answer."""

    def __init__(self, app: ASGIApp, *, own_host: bool = True) -> None:
        """Guard ``app``; ``own_host`` is False where the name belongs to an application that has mounted us."""
        self._app = app
        self._own_host = own_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        over_tls = self._own_host and scope["scheme"] == "https" and not _is_local(Headers(scope=scope))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", NOTHING_ALLOWED)
                if over_tls:
                    headers.setdefault("Strict-Transport-Security", OVER_TLS_ONLY)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class KnownHost:
    """Refuses requests whose ``Host`` is not a name of this server.

    A page of a foreign site whose name was made to resolve to this machine (DNS rebinding) would otherwise be of the
    same origin as the dashboard. Ports are not compared: a tunnel may change them.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        """Guard ``app``; ``hosts`` are lower-case names without port, IPv6 addresses in brackets."""
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 421 (a WebSocket: 403)."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if host_name(headers) in self._hosts or _by_load_balancer(scope, headers):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            # Closing before accepting answers the handshake with 403.
            await send({"type": "websocket.close", "code": 1008, "reason": "unknown host"})
        else:
            names = ", ".join(sorted(self._hosts))
            got = ", ".join(headers.getlist("host"))[:100]
            refusal = PlainTextResponse(f"Host: must be one of {names}, got '{got}'.\n", status_code=421)
            await refusal(scope, receive, send)


def _is_local(headers: Headers) -> bool:
    """Return whether the name is that of every machine: its rules would hold for all that is developed there."""
    name = host_name(headers)
    return name is None or name == "localhost" or name.endswith(".localhost")


def _by_load_balancer(scope: Scope, headers: Headers) -> bool:
    """Return whether a load balancer asks for the health, by any name or address, or by none; it learns nothing else.

    Two names are refused here as well: who sends them wants to be understood in two ways.
    """
    return asks_for_health(scope) and ("host" not in headers or host_name(headers) is not None)
