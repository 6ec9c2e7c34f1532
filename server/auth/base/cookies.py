"""The cookies of a browser: of its session, and of a sign-in that it has begun."""

from dataclasses import dataclass
from typing import ClassVar, Self
from urllib.parse import quote, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from ....jobs.accounts.rules.credentials import Prefix, prefix_of
from .root_path import root_path_of

MAX_HEADER = 8_192
"""Characters of a Cookie header that are read; a longer one is not ours alone."""


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """How the cookie is called and sent.

    With TLS it has the prefix ``__Host-``: browsers take it from this very host only, and send it over TLS only. Such a
    cookie is sent to every port and path of the host, so both are part of its name: several servers of one host, and
    several of one application, each under a path of its own, do not sign people out of each other.

    Attributes:
        host: The name without that of the path; ends in the port, unless it is that of https or is not known.
        secure: Whether it travels over TLS only.
    """

    SUFFIX: ClassVar[str] = ""

    host: str
    secure: bool

    @classmethod
    def for_address(cls, url: str) -> Self:
        """The cookie of the server that people open under an address."""
        parts = urlsplit(url)
        port = parts.port if (parts.scheme, parts.port) != ("https", 443) else None
        return cls("cronograph" if port is None else f"cronograph-{port}", secure=parts.scheme == "https")

    def name(self, connection: HTTPConnection) -> str:
        """The name for a request: the path where an application has mounted us is known by nothing else."""
        host = self.host
        if not self.secure and host == "cronograph":
            # Nobody has said under which port people find the application that we are part of.
            port = connection.headers.get("host", "").rpartition(":")[2]
            host = f"{host}-{port if port.isdecimal() else 80}"
        path = quote(root_path_of(connection.scope).lstrip("/"), safe="")
        return f"{'__Host-' if self.secure else ''}{host}{self.SUFFIX}{path and f'.{path}'}"

    def read(self, connection: HTTPConnection) -> str | None:
        """The secret in the request's cookie; None without one. Two cookies of the name are none."""
        header, wanted = connection.headers.get("cookie", ""), self.name(connection)
        if wanted not in header or len(header) > MAX_HEADER:
            return None
        pairs = (part.strip().partition("=") for part in header.split(";"))
        found = [value for name, _, value in pairs if name == wanted]
        return found[0] if len(found) == 1 else None

    def write(self, connection: HTTPConnection, response: Response, secret: str) -> None:
        """Let the browser keep a secret until it is closed, or the session ends on the server."""
        name = self.name(connection)
        response.set_cookie(name, secret, path="/", secure=self.secure, httponly=True, samesite="lax")

    def clear(self, connection: HTTPConnection, response: Response) -> None:
        """Let the browser forget it."""
        name = self.name(connection)
        response.delete_cookie(name, path="/", secure=self.secure, httponly=True, samesite="lax")


class AttemptCookie(SessionCookie):
    """The cookie that binds a sign-in, which takes more than one request, to the browser that began it."""

    SUFFIX = "-attempt"

    def secret_of(self, connection: HTTPConnection) -> str | None:
        """The secret in the request's cookie; None without one that this server may have made."""
        secret = self.read(connection)
        return secret if secret is not None and prefix_of(secret) is Prefix.ATTEMPT else None
