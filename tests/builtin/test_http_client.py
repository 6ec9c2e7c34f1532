"""Outgoing requests go to the checked address under the right name, and nothing they meet is unbounded."""

import ssl
from collections.abc import Sequence

import httpx
import pytest

from cronograph.jobs.base.outcomes import PermanentFailure
from cronograph.jobs.builtin.address_guard import AddressGuard, AddressRefused, AllowList
from cronograph.jobs.builtin.http_client import (
    MAX_ANSWER,
    MAX_REDIRECTS,
    HttpAnswer,
    HttpFailedError,
    HttpRequest,
    default_tls,
    parse_url,
    send,
)
from tests.builtin.http_server import CERTIFICATES, Asked, answering, reply
from tests.support.ports import free_port


class Names:
    """A name server: every name is loopback, unless `addresses` says otherwise; counts how often it was asked."""

    def __init__(self, **addresses: Sequence[str]) -> None:
        self.addresses = addresses
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.addresses.get(host.replace(".", "_"), ["127.0.0.1"])


def guard(*allowed: str, names: Names | None = None) -> AddressGuard:
    """Allows `site.test`, `other.test` and `secure.test`, and what else is named."""
    entries = ["site.test", "other.test", "secure.test", *allowed]
    return AddressGuard(AllowList.parse(entries), names or Names())


def request(url: str, method: str = "GET", **more: object) -> HttpRequest:
    return HttpRequest(method, parse_url(url), **more)  # type: ignore[arg-type]


async def test_the_request_arrives_under_the_name_of_the_host() -> None:
    names = Names()
    async with answering(lambda _: reply(201, b"made", content_type="text/plain")) as server:
        url = f"http://site.test:{server.port}/hook?key=1"
        answer = await send(request(url, "POST", headers={"X-Key": "k"}, body=b"body"), guard(names=names))
    assert (answer.status, answer.text, answer.cut) == (201, "made", False)
    [asked] = server.asked
    assert (asked.method, asked.target, asked.body) == ("POST", "/hook?key=1", b"body")
    assert asked.headers["host"] == f"site.test:{server.port}"
    assert asked.headers["x-key"] == "k"
    assert asked.headers["user-agent"] == "cronograph"
    assert asked.headers["accept-encoding"] == "identity"
    assert names.asked == ["site.test"]


async def test_no_line_of_a_log_holds_the_address(caplog: pytest.LogCaptureFixture) -> None:
    async with answering(lambda _: reply()) as server:
        with caplog.at_level("DEBUG"):
            await send(request(f"http://site.test:{server.port}/hook/s3cr3t?key=s3cr3t"), guard())
    assert "s3cr3t" not in caplog.text


async def test_a_refused_host_gets_no_connection() -> None:
    async with answering(lambda _: reply()) as server:
        with pytest.raises(AddressRefused, match=r"host '127.0.0.1': must have public addresses only"):
            await send(request(f"http://127.0.0.1:{server.port}/"), guard())
    assert server.asked == []


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    async with answering(lambda _: reply()) as server:
        assert (await send(request(f"http://site.test:{server.port}/"), guard())).status == 200


async def test_tls_is_verified_against_the_name_of_the_host_and_not_its_address() -> None:
    tls = ssl.create_default_context(cafile=CERTIFICATES / "certificate.pem")
    async with answering(lambda _: reply(200, b"safe"), tls=True) as server:
        answer = await send(request(f"https://secure.test:{server.port}/"), guard(), tls)
        assert answer.text == "safe"
        assert server.names == ["secure.test"]
        with pytest.raises(HttpFailedError, match=r"GET https://site.test:\d+/: no connection: .*CERTIFICATE_VERIFY"):
            await send(request(f"https://site.test:{server.port}/"), guard(), tls)
        with pytest.raises(HttpFailedError, match="CERTIFICATE_VERIFY"):
            await send(request(f"https://secure.test:{server.port}/"), guard())


async def test_the_next_address_is_tried_when_one_takes_no_connection() -> None:
    names = Names(site_test=["::1", "127.0.0.1"])
    async with answering(lambda _: reply(200, b"second")) as server:
        answer = await send(request(f"http://site.test:{server.port}/"), guard(names=names))
    assert answer.text == "second"


async def test_no_connection_at_all_is_named_without_the_query() -> None:
    port = free_port()
    with pytest.raises(HttpFailedError) as caught:
        await send(request(f"http://site.test:{port}/hook?token=secret"), guard())
    assert str(caught.value).startswith(f"GET http://site.test:{port}/hook: no connection: ")
    assert "secret" not in str(caught.value)


async def test_a_host_that_cannot_be_resolved_is_named() -> None:
    with pytest.raises(HttpFailedError, match=r"host 'site.test' cannot be resolved: host 'site.test' has no address"):
        await send(request("http://site.test/"), guard(names=Names(site_test=[])))


@pytest.mark.parametrize(
    ("status", "method", "following", "body"),
    [
        (301, "POST", "GET", b""),
        (302, "POST", "GET", b""),
        (303, "PUT", "GET", b""),
        (303, "HEAD", "HEAD", b""),
        (301, "PUT", "PUT", b"body"),
        (307, "POST", "POST", b"body"),
        (308, "PATCH", "PATCH", b"body"),
    ],
)
async def test_redirects_keep_or_change_the_method_as_browsers_do(
    status: int, method: str, following: str, body: bytes
) -> None:
    def answer(asked: Asked) -> bytes:
        return reply(status, location="/there?x=1") if asked.target == "/" else reply()

    async with answering(answer) as server:
        sent = request(f"http://site.test:{server.port}/", method, body=b"body" if method != "HEAD" else None)
        result = await send(sent, guard())
    assert (server.asked[1].method, server.asked[1].target, server.asked[1].body) == (following, "/there?x=1", body)
    assert result.url.path == "/there"


async def test_a_redirect_to_another_host_takes_no_credentials_along() -> None:
    def answer(asked: Asked) -> bytes:
        there = f"http://other.test:{server.port}/there"
        return reply(307, location=there) if asked.headers["host"].startswith("site") else reply()

    headers = {"Authorization": "Bearer t", "X-Api-Key": "k", "Cookie": "c=1", "Content-Type": "text/plain"}
    async with answering(answer) as server:
        await send(request(f"http://site.test:{server.port}/", "POST", headers=headers, body=b"body"), guard())
    first, second = server.asked
    assert {"authorization", "x-api-key", "cookie"} <= set(first.headers)
    assert not {"authorization", "x-api-key", "cookie"} & set(second.headers)
    assert second.headers["host"] == f"other.test:{server.port}"
    assert second.headers["content-type"] == "text/plain"


async def test_a_redirect_within_the_host_keeps_the_credentials() -> None:
    async with answering(lambda asked: reply(302, location="/b") if asked.target == "/a" else reply()) as server:
        await send(request(f"http://site.test:{server.port}/a", headers={"Authorization": "Bearer t"}), guard())
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer t", "Bearer t"]


@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/", "//localhost:{port}/", "http://[::1]:{port}/"])
async def test_a_redirect_to_a_refused_address_is_not_followed(target: str) -> None:
    names = Names(**{"127_0_0_1": ["127.0.0.1"], "localhost": ["127.0.0.1"], "::1": ["::1"]})
    async with answering(lambda _: reply(302, location=target.format(port=server.port))) as server:
        with pytest.raises(AddressRefused, match="must have public addresses only"):
            await send(request(f"http://site.test:{server.port}/"), guard(names=names))
    assert len(server.asked) == 1


async def test_a_name_that_moves_to_a_private_address_between_two_requests_is_refused() -> None:
    class Moving(Names):
        async def __call__(self, host: str, port: int) -> Sequence[str]:
            await super().__call__(host, port)
            return ["127.0.0.1"] if len(self.asked) == 1 else ["10.0.0.1"]

    moving = AddressGuard(AllowList.parse(["127.0.0.1"]), Moving())
    async with answering(lambda _: reply(302, location="/again")) as server:
        with pytest.raises(AddressRefused, match=r"got 10\.0\.0\.1"):
            await send(request(f"http://site.test:{server.port}/"), moving)


@pytest.mark.parametrize(
    "target", ["ftp://site.test/", "file:///etc/passwd", "http://user:pass@site.test/", "http://a b/"]
)
async def test_a_redirect_that_no_request_can_follow_fails_at_once(target: str) -> None:
    async with answering(lambda _: reply(302, location=target)) as server:
        with pytest.raises(PermanentFailure, match="redirected to an address that cannot be used"):
            await send(request(f"http://site.test:{server.port}/"), guard())


async def test_a_redirect_from_https_to_http_is_refused() -> None:
    tls = ssl.create_default_context(cafile=CERTIFICATES / "certificate.pem")
    async with answering(lambda _: reply(302, location="http://secure.test/plain?t=1"), tls=True) as server:
        with pytest.raises(PermanentFailure, match=r"redirected from https to http, to http://secure.test/plain; this"):
            await send(request(f"https://secure.test:{server.port}/"), guard(), tls)


async def test_redirects_in_a_circle_end() -> None:
    async with answering(lambda _: reply(302, location="/")) as server:
        with pytest.raises(HttpFailedError, match="more than 5 redirects"):
            await send(request(f"http://site.test:{server.port}/"), guard())
    assert len(server.asked) == MAX_REDIRECTS + 1


async def test_a_redirect_is_the_answer_when_none_are_to_be_followed() -> None:
    async with answering(lambda _: reply(302, location="/b")) as server:
        answer = await send(request(f"http://site.test:{server.port}/", follow_redirects=False), guard())
    assert answer.status == 302


async def test_an_endless_answer_is_cut() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    async with answering(lambda _: head + 3 * chunk) as server:
        answer = await send(request(f"http://site.test:{server.port}/"), guard())
    assert (len(answer.body), answer.cut) == (MAX_ANSWER, True)


@pytest.mark.parametrize(
    "answer",
    [
        b"garbage\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000,
    ],
)
async def test_a_broken_answer_is_a_failure_that_names_the_request(answer: bytes) -> None:
    async with answering(lambda _: answer) as server:
        with pytest.raises(HttpFailedError, match=r"GET http://site\.test:\d+/: \w+Error: ."):
            await send(request(f"http://site.test:{server.port}/?t=1"), guard())


async def test_a_silent_server_is_a_timeout() -> None:
    async with answering(lambda _: None) as server:
        with pytest.raises(HttpFailedError, match="ReadTimeout"):
            await send(request(f"http://site.test:{server.port}/", timeout=0.05), guard())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ftp://a.test/", "must be an absolute http or https address"),
        ("/path", "must be an absolute http or https address"),
        ("http://", "must be an absolute http or https address"),
        ("http://a.test:99999999/", "must have a port from 1 to 65535, got 99999999"),
        ("http://a.test:0/", "must have a port"),
        ("mailto:me:secret@a.test", "must be an absolute http or https address"),
        ("http://a b/", "must be an absolute http or https address"),
        ("http://a.test:b/", "must be an absolute http or https address: Invalid port: 'b'"),
        ("http://me:secret@a.test/", "must not hold a user name or password"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        parse_url(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=latin-1", b"gr\xfcn", "gr\u00fcn"),
        ("application/json", '{"a": "\u00fc"}'.encode(), '{"a": "\u00fc"}'),
        ("text/plain; charset=nonsense", b"plain", "plain"),
        (None, b"a\xffb", "a\ufffdb"),
        (None, b"a\0b", "a\ufffdb"),
        ("text/plain; charset=unicode_escape", b"\\ud800", "?"),
    ],
)
def test_a_body_is_text_whatever_its_bytes(kind: str | None, body: bytes, text: str) -> None:
    headers = httpx.Headers({"content-type": kind, "content-encoding": "gzip"} if kind else {})
    assert HttpAnswer(200, httpx.URL("http://a.test/"), headers, body, cut=False).text == text


CHARSETS = ["zlib", "zip", "rot13", "undefined", "idna", "punycode", "nothing", "a\\0b", "x" * 999]


@pytest.mark.parametrize("charset", CHARSETS)
async def test_an_encoding_that_makes_no_text_is_read_as_utf_8(charset: str) -> None:
    kind = f'text/plain; charset="{charset}"'
    async with answering(lambda _: reply(200, "zählt".encode() + b"\xff", content_type=kind)) as server:
        answer = await send(request(f"http://site.test:{server.port}/"), guard())
    assert answer.text == "zählt\ufffd"


async def test_the_encoding_that_the_server_names_is_used() -> None:
    kind = "text/plain; charset=latin-1"
    async with answering(lambda _: reply(200, "zählt".encode("latin-1"), content_type=kind)) as server:
        answer = await send(request(f"http://site.test:{server.port}/"), guard())
    assert answer.text == "zählt"


HEAD = b"HTTP/1.1 200 OK\r\n"
STRANGE = {
    "no HTTP": b"\x15\x03\x01\x00\x02\x02\x0a",
    "huge header": HEAD + b"X-Big: " + b"x" * 200_000 + b"\r\n\r\n",
    "many headers": HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(20_000)) + b"\r\n",
    "two lengths": HEAD + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
    "a length that is none": HEAD + b"Content-Length: x\r\n\r\n",
    "a length that is not met": HEAD + b"Content-Length: 30\r\n\r\nabc",
    "chunks that are none": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "an unknown transfer encoding": HEAD + b"Transfer-Encoding: gzip, identity\r\n\r\nabc",
    "a status that is none": b"HTTP/1.1 9999 Odd\r\n\r\n",
    "a status line that is none": b"HTTP/1.1\r\n\r\n",
    "a header with a NUL": HEAD + b"X: \x00\r\n\r\n",
    "a header without a name": HEAD + b": y\r\n\r\n",
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nX-",
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE)
async def test_whatever_a_server_sends_a_failure_is_a_sentence(answer: bytes) -> None:
    async with answering(lambda _: answer) as server:
        url = f"http://site.test:{server.port}/"
        with pytest.raises(HttpFailedError, match=rf"^GET {url}: \w+"):
            await send(request(url), guard())


async def test_an_answer_that_is_compressed_all_the_same_fails_nothing() -> None:
    answer = HEAD + b"Content-Encoding: gzip, br, nonsense\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x00\x00"
    async with answering(lambda _: answer) as server:
        found = await send(request(f"http://site.test:{server.port}/"), guard())
    assert (found.status, found.body) == (200, b"\x1f\x8b\x00\x00")


TARGETS = {
    "a host that is none": b"http://[::1",
    "a port that is none": b"http://site.test:port/",
    "another scheme": b"gopher://site.test/",
    "a user": b"http://user:secret@site.test/",
    "spaces": b"http://a b/",
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
async def test_a_redirect_that_leads_nowhere_is_a_sentence(target: bytes) -> None:
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + target + b"\r\n\r\n"
    async with answering(lambda _: head) as server:
        with pytest.raises((PermanentFailure, HttpFailedError), match=r"redirected to an address|in location header"):
            await send(request(f"http://site.test:{server.port}/"), guard())


@pytest.mark.parametrize("host", [f"{'x' * 64}.test", "a..test", "xn--xt_.test"])
async def test_a_name_that_cannot_be_asked_for_is_a_sentence(host: str) -> None:
    with pytest.raises(HttpFailedError, match="cannot be resolved"):
        await send(request(f"http://{host}/"), AddressGuard(AllowList.parse(["*"])))


async def test_a_fault_of_the_libraries_is_a_sentence() -> None:
    # A name that TLS refuses to ask for, which is not one of the errors that the library knows.
    async with answering(lambda _: reply(200, b"")) as server:
        with pytest.raises(HttpFailedError, match=r"^GET https://.*: \w+"):
            await send(request(f"https://.site.test:{server.port}/"), guard("*"))


async def test_certificates_that_cannot_be_loaded_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at/all.pem")
    default_tls.cache_clear()
    with pytest.raises(HttpFailedError, match="SSL_CERT_FILE"):
        await send(request("http://site.test/"), guard())
    monkeypatch.undo()
    default_tls.cache_clear()
