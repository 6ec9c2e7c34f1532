"""A body that nobody wants is read to its end: a reset would take the refusal away before its sender could read it."""

import asyncio
import socket
from collections.abc import Callable

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Message

from cronograph.server.http.app import ReadToTheEnd
from tests.server.auth.serving import Protected

LARGE = 9 * 1024 * 1024
PART = b"x" * 65_536
HEAD = "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}\r\n"


def sent_with_length(connection: socket.socket, path: str) -> None:
    connection.sendall(HEAD.format(path=path, more=f"Content-Length: {LARGE}\r\n").encode())
    for _ in range(LARGE // len(PART)):
        connection.sendall(PART)


def sent_in_chunks(connection: socket.socket, path: str) -> None:
    connection.sendall(HEAD.format(path=path, more="Transfer-Encoding: chunked\r\n").encode())
    for _ in range(LARGE // len(PART)):
        connection.sendall(b"%x\r\n%s\r\n" % (len(PART), PART))
    connection.sendall(b"0\r\n\r\n")


def sent_as_expected(connection: socket.socket, path: str) -> None:
    """As those who wait for `100 Continue` do: the refusal comes in its place, and no body is sent."""
    more = f"Expect: 100-continue\r\nContent-Length: {LARGE}\r\n"
    connection.sendall(HEAD.format(path=path, more=more).encode())


def answered(port: int, path: str, send: Callable[[socket.socket, str], None]) -> str:
    """The answer to a client that sends all it has before it reads anything."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        send(connection, path)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65_536)
        head = answer.partition(b"\r\n\r\n")[0].lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        while len(answer) < len(head) + 4 + length:
            answer += connection.recv(65_536)
        return answer.decode()


@pytest.mark.costly
@pytest.mark.parametrize("send", [sent_with_length, sent_in_chunks, sent_as_expected])
@pytest.mark.parametrize(
    ("path", "status"), [("/graphql", 401), ("/auth/password", 413), ("/signal/x", 404), ("/nothing", 405)]
)
async def test_a_body_that_is_too_large_is_refused_and_not_reset(
    light: Protected, send: Callable[[socket.socket, str], None], path: str, status: int
) -> None:
    answer = await asyncio.to_thread(answered, light.port, path, send)
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert "\r\nconnection: close\r\n" in answer.lower()


async def test_the_sender_of_nine_megabytes_is_told_how_many_there_may_be(light: Protected) -> None:
    await light.account("ada")
    token = await light.token("ada")

    def send(connection: socket.socket, path: str) -> None:
        more = f"Authorization: Bearer {token}\r\nContent-Length: {LARGE}\r\n"
        connection.sendall(HEAD.format(path=path, more=more).encode())
        for _ in range(LARGE // len(PART)):
            connection.sendall(PART)

    answer = await asyncio.to_thread(answered, light.port, "/graphql", send)
    assert answer.startswith("HTTP/1.1 413 ")
    assert "The body is too large, in bytes: the limit is 524,288" in answer


async def test_a_connection_is_used_again_after_a_short_body_that_nobody_read(light: Protected) -> None:
    answers = [await light.browser.post("/nothing", content=b"x" * 1_000) for _ in range(2)]
    assert [(one.status_code, "connection" in one.headers) for one in answers] == [(405, False)] * 2


async def refuse(_request: object) -> PlainTextResponse:
    """The answer to a request whose body nobody reads."""
    return PlainTextResponse("no", 400)


async def test_what_never_comes_to_an_end_is_waited_for_no_longer_than_agreed() -> None:
    """By a part now and then for ever, and by silence."""
    app = Starlette(
        routes=[Route("/", refuse, methods=["POST"])],
        middleware=[Middleware(ReadToTheEnd, longest=0.05, idle=0.01)],
    )
    headers = [(b"host", b"localhost"), (b"content-length", b"900000000")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "query_string": b""}
    silent = asyncio.Event()

    async def trickle() -> Message:
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def silence() -> Message:
        await silent.wait()
        raise AssertionError("nothing ever comes")

    for receive in (trickle, silence):
        sent: list[Message] = []

        async def send(message: Message, sent: list[Message] = sent) -> None:
            await asyncio.sleep(0)
            sent.append(message)

        async with asyncio.timeout(60):
            await app(scope, receive, send)
        assert (b"connection", b"close") in sent[0]["headers"]
        assert [one.get("body") for one in sent[1:]] == [b"no", b""]
        assert not sent[-1]["more_body"]
