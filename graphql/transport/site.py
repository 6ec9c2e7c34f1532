"""Guard calls from browsers: requests and WebSockets of other sites are refused.

A browser says where a request comes from in ``Sec-Fetch-Site`` and ``Origin``; programs send neither and are let
through. The ``Host`` header is compared with the allowed names when these are set, so that a foreign name which
resolves to this machine (DNS rebinding) opens nothing.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from ..base.errors import UserFacingError

_HOST: Final = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


def host_name(headers: Headers) -> str | None:
    """Return the name without its port, lower-case, IPv6 addresses in brackets.

    None when there is no such header, more than one, or one that is not a name with or without a port: the part
    behind a comma or a second colon might be read as the name by somebody else.
    """
    values = headers.getlist("host")
    if len(values) != 1:
        return None
    found = _HOST.fullmatch(values[0].lower())
    return None if found is None else found["name"]


DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True)
class SitePolicy:
    """Accept hosts and origins.

    Attributes:
        allowed_hosts: Names, without port, that the ``Host`` header may have; None = any.
        allowed_origins: Further origins (``https://ops.example.com``) whose pages may call.
    """

    allowed_hosts: Collection[str] | None = None
    allowed_origins: Collection[str] = ()

    def check(self, connection: HTTPConnection) -> None:
        """Refuse a request of another site.

        Raises:
            UserFacingError: ``HOST_NOT_ALLOWED`` or ``CROSS_SITE``, HTTP 403.
        """
        host = connection.headers.get("host", "")
        if self.allowed_hosts is not None and host_name(connection.headers) not in self.allowed_hosts:
            names = ", ".join(sorted(self.allowed_hosts))
            message = f"The Host header must be one of {names}, got '{host[:100]}'."
            raise UserFacingError(message, code="HOST_NOT_ALLOWED", http_status=403)
        origin = connection.headers.get("origin")
        if origin is not None and origin in self.allowed_origins:
            return
        site = connection.headers.get("sec-fetch-site")
        if site not in (None, "same-origin", "none"):
            message = f"Cross-site requests are refused: Sec-Fetch-Site is '{site[:100]}', it must be 'same-origin'."
            raise UserFacingError(message, code="CROSS_SITE", http_status=403)
        if origin is not None and _authority(origin) != _authority(f"{connection.url.scheme}://{host}"):
            message = f"Cross-site requests are refused: Origin is '{origin[:100]}', this server is '{host[:100]}'."
            raise UserFacingError(message, code="CROSS_SITE", http_status=403)


def _authority(origin: str) -> tuple[str, int] | None:
    """Host and port of an origin; None when it has none ("null"). The scheme differs behind a TLS proxy."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    return parts.hostname.lower(), port or DEFAULT_PORTS.get(parts.scheme, 0)
