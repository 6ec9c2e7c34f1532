"""The cookies of a browser: of its session, and of a sign-in that it has begun."""

from dataclasses import dataclass
from typing import ClassVar, Self
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from ...jobs.core.auth.credentials import Prefix, prefix_of

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

    SUFFIX: ClassVar[str] = ""

    name: str
    secure: bool

    @classmethod
    def for_address(cls, url: str) -> Self:
        """The cookie of the server that people open under an address."""
        parts = urlsplit(url)
        if parts.scheme == "https":
            return cls(f"__Host-cronograph{cls.SUFFIX}", secure=True)
        return cls(f"cronograph-{parts.port or 80}{cls.SUFFIX}", secure=False)

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


class AttemptCookie(SessionCookie):
    """The cookie that binds a sign-in, which takes more than one request, to the browser that began it."""

    SUFFIX = "-attempt"

    def secret_of(self, connection: HTTPConnection) -> str | None:
        """The secret in the request's cookie; None without one that this server may have made."""
        secret = self.read(connection)
        return secret if secret is not None and prefix_of(secret) is Prefix.ATTEMPT else None
