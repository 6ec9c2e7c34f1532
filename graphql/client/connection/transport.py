"""Share between both clients the address, the headers, the time limits, and the names of faults on the way."""

import os
import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from ..base.errors import InvalidAddressError, TimedOutError, UnreachableError
from .credentials import Credentials, CredentialsError, StoredSignIn, origin_of

DEFAULT_URL: Final = "http://localhost:8000"
"""Address of ``cronograph serve`` by default."""

JSON_TYPES: Final = "application/graphql-response+json, application/json;q=0.9"
STREAM_TYPE: Final = "text/event-stream"


def chosen_url(url: str | None) -> str:
    """Return the address of the server: the given one, else ``CRONOGRAPH_URL``, else this machine."""
    return (os.environ.get("CRONOGRAPH_URL") or DEFAULT_URL) if url is None else url


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Hold the way to reach a server.

    Attributes:
        url: Its address, without ``/graphql``.
        token: An API token; sent as ``Authorization: Bearer``. Unless given ``CRONOGRAPH_TOKEN``, and unless that is
            set the sign-in of ``cronograph login``, which is renewed when it has to be.
        anonymous: Show none of them.
        headers: Further headers of every request.
        timeout: Seconds that an answer may take.
        silence: Seconds without a byte after which a stream counts as lost; the server sends one every 15 s.
    """

    url: str = DEFAULT_URL
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout: float = 30.0
    silence: float = 40.0
    anonymous: bool = False

    @property
    def address(self) -> str:
        """The address of the API.

        Raises:
            InvalidAddressError: ``url`` is none.
        """
        try:
            parsed = httpx.URL(self.url.rstrip("/"))
        except httpx.InvalidURL as error:
            raise self._no_address(str(error)) from None
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            raise self._no_address("it needs http:// or https:// and a host")
        return f"{parsed}/graphql"

    def _no_address(self, why: str) -> InvalidAddressError:
        return InvalidAddressError(f"url: must be an address such as {DEFAULT_URL}, got '{_shown(self.url)}': {why}")

    def options(self) -> dict[str, Any]:
        """Return the arguments of the HTTP client.

        Raises:
            CredentialsError: the token is none that a header can carry.
        """
        token = self.token or (None if self.anonymous else os.environ.get("CRONOGRAPH_TOKEN") or None)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise CredentialsError(
                "token (or CRONOGRAPH_TOKEN): must be printable ASCII, as `cronograph token create` shows it, got "
                f"{len(token)} characters of which some are not, perhaps the end of a line"
            )
        authorization = {} if token is None else {"authorization": f"Bearer {token}"}
        headers = {"accept": JSON_TYPES, "user-agent": "cronograph-client", **self.headers, **authorization}
        shows_one = self.anonymous or "authorization" in map(str.lower, headers)
        return {
            "headers": headers,
            "auth": None if shows_one else StoredSignIn(origin_of(self.address), Credentials()),
            "timeout": self.timeout,
            # No proxy from the environment: the server is on this machine, at the end of a tunnel, or named on purpose.
            "trust_env": False,
            # To load what this machine trusts takes 30 ms, which nobody needs where nothing is encrypted.
            "verify": _trusted() if self.address.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        }

    def stream_options(self) -> dict[str, Any]:
        """Return the arguments of a request that is answered by a stream."""
        return {"headers": {"accept": STREAM_TYPE}, "timeout": httpx.Timeout(self.timeout, read=self.silence)}

    @contextmanager
    def named_errors(self) -> Generator[None]:
        """Run HTTP, and raise its errors as errors of this package.

        Raises:
            TimedOutError: no answer in time.
            UnreachableError: no connection, or a broken one.
        """
        try:
            yield
        except httpx.TimeoutException as error:
            raise TimedOutError(f"the server at {_shown(self.url)} did not answer in time: {_words(error)}") from None
        except httpx.HTTPError as error:
            raise UnreachableError(f"no server answers at {_shown(self.url)}: {_words(error)}{_hint(error)}") from None


def _shown(url: str) -> str:
    """Return the address for messages, without user and password: these end at the last ``@``, however written."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _hint(error: httpx.HTTPError) -> str:
    known = "CERTIFICATE_VERIFY_FAILED" in str(error)
    return "; let this machine trust its certificate, or name it by SSL_CERT_FILE" if known else ""


def _trusted() -> ssl.SSLContext:
    """Trust this machine's authorities, too: a company's own, or those that ``SSL_CERT_FILE`` names."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _words(error: httpx.HTTPError) -> str:
    return str(error) or type(error).__name__
