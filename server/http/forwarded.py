"""Behind a proxy that ends TLS: scheme, host and client address come from its headers, and from nobody else's."""

from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .security import asks_for_health

Network: TypeAlias = IPv4Network | IPv6Network
ONE_HOP = 200
"""Characters of one value of a forwarded header; a longer one is ignored."""
MOST_HOPS = 20


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse addresses and networks.

    Raises:
        ValueError: one of them is neither.
    """
    return tuple(ip_network(text) for text in texts)


class ForwardedHeaders:
    """Takes over the headers of trusted proxies about a request; those of others are ignored."""

    def __init__(self, app: ASGIApp, proxies: Collection[Network]) -> None:
        """Serve ``app`` behind ``proxies``."""
        self._app = app
        self._proxies = tuple(proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as it reached the first proxy."""
        if scope["type"] in ("http", "websocket") and self._trusts(_peer(scope)):
            scope = self._as_forwarded(scope)
        await self._app(scope, receive, send)

    def _trusts(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in network for network in self._proxies)

    def _as_forwarded(self, scope: Scope) -> Scope:
        headers = Headers(scope=scope)
        changed: dict[str, Any] = {}
        client = self._client(_values(headers, "x-forwarded-for"))
        if client is not None:
            changed["client"] = (str(client), 0)
        # The last value is the one that the proxy before us has written.
        proto = _values(headers, "x-forwarded-proto")[-1:]
        if proto and proto[0].lower() in ("http", "https"):
            web = "s" if proto[0].lower() == "https" else ""
            changed["scheme"] = f"ws{web}" if scope["type"] == "websocket" else f"http{web}"
        host = _values(headers, "x-forwarded-host")[-1:]
        if host and host[0].isascii():
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            changed["headers"] = [*others, (b"host", host[0].encode())]
        return {**scope, **changed}

    def _client(self, hops: list[str]) -> IPv4Address | IPv6Address | None:
        """Return the last address in the chain that is no proxy of ours: anybody may have written those before it."""
        for hop in reversed(hops):
            address = _address(hop)
            if address is None or not self._trusts(address):
                return address
        return None


class OnlyOverTls:
    """Refuses requests from elsewhere that did not come over TLS: their credentials would be read on the way."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403."""
        if scope["type"] not in ("http", "websocket") or _is_safe(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "TLS is needed"})
        else:
            message = "This server is used over https only, through its proxy.\n"
            await PlainTextResponse(message, status_code=403)(scope, receive, send)


def _is_safe(scope: Scope) -> bool:
    peer = _peer(scope)
    near = peer is not None and peer.is_loopback
    return near or scope["scheme"] in ("https", "wss") or asks_for_health(scope)


def _peer(scope: Scope) -> IPv4Address | IPv6Address | None:
    client = scope.get("client")
    return _address(client[0]) if client else None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in one entry of ``X-Forwarded-For``, with or without a port; None if there is none."""
    bare = text.removeprefix("[").partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _values(headers: Headers, name: str) -> list[str]:
    text = ",".join(headers.getlist(name))
    return [part.strip() for part in text.split(",") if 0 < len(part.strip()) <= ONE_HOP][-MOST_HOPS:]
