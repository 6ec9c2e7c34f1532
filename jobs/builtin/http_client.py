"""Outgoing HTTP for jobs: only to checked addresses, redirects by the same rules, and an answer of bounded size.

The host is resolved once and the connection goes to the very address that was checked, with the host's own name in
``Host`` and in the TLS handshake, so a second answer of the name server (DNS rebinding) changes nothing. No proxy and
no credentials are taken from the environment.
"""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from functools import cache

import httpx

from ..base.outcomes import PermanentFailure
from ..core.base.tracing import TRACED
from ..core.base.unwritable import storable_text
from .address_guard import Address, AddressGuard

MAX_ANSWER = 64 * 1024
"""Bytes of an answer that are read; the rest is cut."""

MAX_REDIRECTS = 5
USER_AGENT = "cronograph"
DEFAULT_PORTS = {"http": 80, "https": 443}

# A name, an IPv4 address, or (with colons) an IPv6 address.
_HOST = re.compile(r"[0-9A-Za-z_.:-]+")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# All other headers of the job may be credentials and stay with the host that they were meant for.
_HARMLESS_HEADERS = frozenset({"accept", "accept-language", "content-type", "user-agent"})


class HttpFailedError(Exception):
    """A request got no usable answer; names the request without its query, which may hold secrets."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as a job asks for it. ``timeout`` is in seconds and covers each step of the connection."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    follow_redirects: bool = True
    timeout: float = 30.0

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: whom the request speaks to."""
        return self.url.scheme, self.url.raw_host.decode("ascii"), port_of(self.url)

    @property
    def shown(self) -> str:
        """The request for messages: method, and address without query."""
        return f"{self.method} {shown(self.url)}"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Hold an answer. ``body`` has at most ``MAX_ANSWER`` bytes; ``cut`` says whether there was more."""

    status: int
    url: httpx.URL
    headers: httpx.Headers
    body: bytes
    cut: bool

    @property
    def text(self) -> str:
        """The body as text; bytes that cannot be decoded, and characters that cannot be stored, are replaced."""
        try:
            return storable_text(self.body.decode(_charset(self.headers), "replace"))
        except (LookupError, ValueError):
            # A name of no encoding, of one that makes no text (``zlib``), or of one that knows no replacement.
            return storable_text(self.body.decode("utf-8", "replace"))


def _charset(headers: httpx.Headers) -> str:
    """Return the encoding that a server names for its answer; UTF-8 where it names none."""
    kind = Message()
    kind["Content-Type"] = headers.get("content-type", "")
    named = str(kind.get_param("charset", "")).lower()
    # It is for names of hosts, and makes nothing of other bytes.
    return "utf-8" if named in {"", "punycode"} else named


def shown(url: httpx.URL) -> str:
    """Return an address without its possibly secret parts: query, fragment and user."""
    return str(url.copy_with(query=None, fragment=None, userinfo=b""))


def port_of(url: httpx.URL) -> int:
    """Return the port that an ``http`` or ``https`` address leads to."""
    return DEFAULT_PORTS[url.scheme] if url.port is None else url.port


@cache
def default_tls() -> ssl.SSLContext:
    """Verify certificates; ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` add authorities. Made once, as it is slow to make."""
    return httpx.create_ssl_context()


async def send(request: HttpRequest, guard: AddressGuard, tls: ssl.SSLContext | None = None) -> HttpAnswer:
    """Send ``request``, follow up to ``MAX_REDIRECTS`` redirects, and return the last answer.

    Args:
        request: The request; its URL has been checked by ``parse_url``.
        guard: Decides which addresses may be reached, again at each redirect.
        tls: Replaces the usual verification of certificates.

    Raises:
        AddressRefused: the host, or one of a redirect, must not be reached.
        PermanentFailure: a redirect leads where no request can go.
        HttpFailedError: no connection, no answer, or too many redirects.
    """
    verifying = tls or _usual_tls(request)
    for _ in range(MAX_REDIRECTS + 1):
        answer = await _traced(request, guard, verifying)
        target = answer.headers.get("location")
        if not request.follow_redirects or answer.status not in _REDIRECTS or target is None:
            return answer
        request = _redirected(request, answer.status, target)
    raise HttpFailedError(f"{request.shown}: more than {MAX_REDIRECTS} redirects")


def _usual_tls(request: HttpRequest) -> ssl.SSLContext:
    try:
        return default_tls()
    except OSError as error:
        raise HttpFailedError(
            f"{request.shown}: the certificates of this machine (SSL_CERT_FILE, SSL_CERT_DIR) cannot be loaded: {error}"
        ) from error


def parse_url(text: str) -> httpx.URL:
    """Return the address of a request.

    Raises:
        ValueError: it is not an absolute ``http`` or ``https`` address, or holds a user name.
    """
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ValueError(f"must be an absolute http or https address: {error}") from error
    host = url.raw_host.decode("ascii")
    if url.scheme not in DEFAULT_PORTS or not _HOST.fullmatch(host):
        raise ValueError(
            "must be an absolute http or https address such as https://example.com/hook, "
            f"got the scheme '{url.scheme[:20]}' and the host '{host[:80]}'"
        )
    if not 0 < port_of(url) < 65536:
        raise ValueError(f"must have a port from 1 to 65535, got {url.port}")
    if url.userinfo:
        raise ValueError("must not hold a user name or password; send them in the header 'Authorization'")
    return url


def _redirected(request: HttpRequest, status: int, target: str) -> HttpRequest:
    """Return the request to send next, as browsers do it, but never from https to http."""
    try:
        url = parse_url(str(request.url.join(target)))
    except (ValueError, httpx.InvalidURL) as error:
        raise PermanentFailure(f"{request.shown}: redirected to an address that cannot be used: {error}") from error
    if request.url.scheme == "https" and url.scheme == "http":
        raise PermanentFailure(f"{request.shown}: redirected from https to http, to {shown(url)}; this is refused")
    following = replace(request, url=url)
    if status == 303 or (status in (301, 302) and request.method == "POST"):
        method = "HEAD" if request.method == "HEAD" else "GET"
        headers = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
        following = replace(following, method=method, body=None, headers=headers)
    if following.origin != request.origin:
        harmless = {name: value for name, value in following.headers.items() if name.lower() in _HARMLESS_HEADERS}
        following = replace(following, headers=harmless)
    return following


async def _traced(request: HttpRequest, guard: AddressGuard, tls: ssl.SSLContext) -> HttpAnswer:
    """Send one request and return its answer; anyone who answers may continue the trace, if there is one."""
    if TRACED.by is None:
        return await _exchange(request, guard, tls)
    _, host, port = request.origin
    with TRACED.by.request(request.method, shown(request.url), host, port) as span:
        # What the job itself sends goes first.
        answer = await _exchange(replace(request, headers={**span.headers, **request.headers}), guard, tls)
        span.answered(answer.status)
        return answer


async def _exchange(request: HttpRequest, guard: AddressGuard, tls: ssl.SSLContext) -> HttpAnswer:
    """Send one request, and return its answer, over the first of the host's addresses that takes the connection."""
    _, host, port = request.origin
    try:
        addresses = await guard.addresses(host, port)
    except (OSError, UnicodeError) as error:
        # Python refuses a name with an empty or too long part before anybody is asked.
        raise HttpFailedError(f"{request.shown}: host '{host}' cannot be resolved: {error}") from error
    failure: httpx.ConnectError | None = None
    # No client of httpx: it logs the whole address, which may hold a token.
    async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
        for address in addresses:
            try:
                return await _over(transport, request, address)
            except httpx.ConnectError as error:
                failure = error
            except Exception as error:
                # Not ``HTTPError`` alone: what a server sends can make the libraries raise anything.
                raise HttpFailedError(f"{request.shown}: {_reason(error)}") from error
    raise HttpFailedError(f"{request.shown}: no connection: {failure}") from failure


async def _over(transport: httpx.AsyncHTTPTransport, request: HttpRequest, address: Address) -> HttpAnswer:
    """Return the exchange with one address."""
    # Identity: what is read is bounded, and a small compressed answer could unpack to any size.
    headers = httpx.Headers({"User-Agent": USER_AGENT, "Accept": "*/*"})
    headers.update(dict(request.headers))
    headers.update({"Host": request.url.netloc.decode("ascii"), "Accept-Encoding": "identity"})
    sent = httpx.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=headers,
        content=request.body,
        extensions={
            "sni_hostname": request.url.raw_host.decode("ascii").rstrip("."),
            "timeout": httpx.Timeout(request.timeout).as_dict(),
        },
    )
    response = await transport.handle_async_request(sent)
    response.request = sent
    try:
        body, cut = await _bounded_body(response)
    finally:
        await response.aclose()
    return HttpAnswer(response.status_code, request.url, response.headers, body, cut)


async def _bounded_body(response: httpx.Response) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_ANSWER:
            return bytes(body[:MAX_ANSWER]), True
    return bytes(body), False


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
