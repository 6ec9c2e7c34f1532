"""The cookie of a browser session."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

MAX_HEADER = 8_192
"""Characters of a Cookie header that are read; a longer one is not ours alone."""


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """How the cookie is called and sent.

    With TLS it has the prefix ``__Host-``: browsers take it from this very host only, and send it over TLS only. On
    loopback without TLS the port is part of the name, because the servers of one machine share their cookies.

    Attributes:
        name: Of the cookie.
        secure: Whether it travels over TLS only.
    """

    name: str
    secure: bool

    @classmethod
    def for_address(cls, url: str) -> "SessionCookie":
        """The cookie of the server that people open under an address."""
        parts = urlsplit(url)
        if parts.scheme == "https":
            return cls("__Host-cronograph", secure=True)
        return cls(f"cronograph-{parts.port or 80}", secure=False)

    def read(self, connection: HTTPConnection) -> str | None:
        """The secret in the request's cookie; None without one. Two cookies of the name are none."""
        header = connection.headers.get("cookie", "")
        if self.name not in header or len(header) > MAX_HEADER:
            return None
        pairs = (part.strip().partition("=") for part in header.split(";"))
        found = [value for name, _, value in pairs if name == self.name]
        return found[0] if len(found) == 1 else None

    def write(self, response: Response, secret: str) -> None:
        """Let the browser keep a secret until it is closed, or the session ends on the server."""
        response.set_cookie(self.name, secret, path="/", secure=self.secure, httponly=True, samesite="lax")

    def clear(self, response: Response) -> None:
        """Let the browser forget it."""
        response.delete_cookie(self.name, path="/", secure=self.secure, httponly=True, samesite="lax")
