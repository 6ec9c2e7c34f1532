"""The heads of requests: one host with one name, targets that name it, and heads that never end."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from cronograph.graphql.transport.request import host_name
from cronograph.server.http.bind import listen
from cronograph.server.http.security import KnownHost, SecurityHeaders
from cronograph.server.http.server import BoundedHeadProtocol, HttpServer
from tests.support.certificates import make_certificate

SECONDS = 0.3


class QuickProtocol(BoundedHeadProtocol):
    """A connection with little patience."""

    head_seconds = SECONDS


class QuickServer(HttpServer):
    """A server with as little."""

    handshake_seconds = SECONDS


async def hello(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


@asynccontextmanager
async def serving(tls: tuple[Path, Path] | None = None) -> AsyncGenerator[int]:
    """The port of a server that knows the host ``localhost``."""
    routes = [Route("/", hello), Route("/health/ready", hello)]
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(KnownHost, hosts={"localhost", "[::1]", "cron.example.com"}),
        ],
    )
    server = QuickServer(app, message_bytes=1_000, tls=tls)
    server.config.http = QuickProtocol
    with closing(listen("localhost", 0)) as listener:
        running = asyncio.create_task(server.serve(list(listener.sockets)))
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            server.finish()
            await running


async def exchange(port: int, *parts: str) -> bytes:
    """Return what the server says until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write("".join(parts).encode())
        async with asyncio.timeout(60):
            return await reader.read()
    finally:
        writer.close()


CLOSE = "Connection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET / HTTP/1.1\r\nHost: localhost\r\n", b"200"),
        ("GET / HTTP/1.1\r\nHost: LOCALHOST:8000\r\n", b"200"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", b"421"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", b"421"),
        ("GET / HTTP/1.1\r\nHost: localhost, evil.example\r\n", b"421"),
        ("GET / HTTP/1.1\r\nHost: localhost:80:evil.example\r\n", b"421"),
        ("GET / HTTP/1.1\r\nHost: localhost@evil.example\r\n", b"421"),
        ("GET / HTTP/1.1\r\n", b"421"),
        ("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n", b"200"),
        ("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n", b"421"),
        ("GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\n", b"200"),
        ("GET http://localhost@evil.example/ HTTP/1.1\r\nHost: localhost\r\n", b"421"),
        # Anyone who looks after the server asks for its health by any one name, or by none.
        ("GET /health/ready HTTP/1.1\r\nHost: 192.0.2.7:8000\r\n", b"200"),
        ("GET /health/ready HTTP/1.0\r\n", b"200"),
        ("GET /health/ready HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", b"421"),
        ("GET /health/ready HTTP/1.1\r\nHost: a b\r\n", b"421"),
    ],
)
async def test_only_one_known_name_is_served(head: str, status: bytes) -> None:
    async with serving() as port:
        answer = await exchange(port, head, CLOSE)
    assert answer.split(b" ", 2)[1] == status, answer


@pytest.mark.parametrize("begun", ["", "GET / HT", "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: a"])
async def test_a_head_that_never_ends_is_cut_off(begun: str) -> None:
    async with serving() as port:
        assert await exchange(port, begun) == b""


async def test_a_second_head_that_never_ends_is_cut_off_as_well() -> None:
    async with serving() as port:
        answer = await exchange(port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: loc")
    assert answer.count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize(
    ("values", "name"),
    [(["[::1]:80"], "[::1]"), (["a.b-c_d:1"], "a.b-c_d"), (["[::1"], None), (["a:b"], None), (["a b"], None)],
)
def test_a_name_is_taken_only_from_what_is_one(values: list[str], name: str | None) -> None:
    assert host_name(Headers(raw=[(b"host", value.encode()) for value in values])) == name


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["nothing", "half a greeting"])
async def test_a_connection_that_never_completes_its_tls_handshake_is_closed(tmp_path: Path, said: bytes) -> None:
    made = make_certificate(tmp_path)
    async with serving((made.certificate, made.key)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        async with asyncio.timeout(30):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    ("name", "expected"), [("cron.example.com", "max-age=31536000"), ("localhost", None)], ids=["a name", "localhost"]
)
async def test_over_tls_browsers_are_asked_to_come_by_tls_only(tmp_path: Path, name: str, expected: str | None) -> None:
    made = make_certificate(tmp_path)
    async with serving((made.certificate, made.key)) as port:
        trusting = ssl.create_default_context(cafile=str(made.certificate))
        async with httpx.AsyncClient(base_url=f"https://localhost:{port}", verify=trusting, trust_env=False) as client:
            answer = await client.get("/", headers={"host": name})
    assert (answer.status_code, answer.headers.get("strict-transport-security")) == (200, expected)


async def test_without_tls_they_are_not() -> None:
    async with serving() as port:
        answer = await exchange(port, f"GET / HTTP/1.1\r\nHost: cron.example.com\r\n{CLOSE}")
    assert b"200" in answer
    assert b"strict-transport-security" not in answer.lower()
