"""POST: methods, media types, sizes, other sites, contexts."""

import asyncio

import httpx
import pytest

from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.serving import Served, served

HELLO = {"query": "{ hello }"}
JSON = b'{"query": "{ hello }"}'


def code_of(response: httpx.Response) -> str:
    """The code of the first error."""
    code: str = response.json()["errors"][0]["extensions"]["code"]
    return code


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_only_post_is_served_and_others_are_informed(server: Served, method: str) -> None:
    response = await server.client.request(method, "/graphql", params={"query": "{ hello }"})
    assert (response.status_code, response.headers["allow"], code_of(response)) == (405, "POST", "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
     "application/json; charset=latin-1", "application/graphql", "application/json, text/plain"],
)  # fmt: skip
async def test_only_json_is_read(server: Served, content_type: str) -> None:
    headers = {"content-type": content_type} if content_type else {}
    response = await server.client.post("/graphql", content=JSON, headers=headers)
    assert (response.status_code, code_of(response)) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert "must be application/json" in response.text


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"]
)
async def test_json_is_read_with_or_without_its_charset(server: Served, content_type: str) -> None:
    response = await server.client.post("/graphql", content=JSON, headers={"content-type": content_type})
    assert response.json()["data"] == {"hello": "Hello world"}


async def test_a_compressed_body_is_refused(server: Served) -> None:
    response = await server.post(HELLO, content_encoding="gzip")
    assert (response.status_code, code_of(response)) == (415, "UNSUPPORTED_ENCODING")


async def raw_request(server: Served, body: bytes, *headers: str) -> bytes:
    """Send a request by hand and read until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = ["POST /graphql HTTP/1.1", "host: localhost", "content-type: application/json", *headers]
    try:
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        async with asyncio.timeout(60):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.costly
async def test_a_body_without_length_is_cut_off_at_the_limit(server: Served) -> None:
    # The chunks add up to 600,000 bytes and promise more; nothing ends the body.
    chunks = b"".join(b"ea60\r\n" + b" " * 60_000 + b"\r\n" for _ in range(10))
    answer = await raw_request(server, chunks, "transfer-encoding: chunked")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"LIMIT_BODY_BYTES" in answer


async def test_a_length_beyond_the_limit_is_refused_before_the_body_arrives(server: Served) -> None:
    answer = await raw_request(server, b"{", "content-length: 99999999999999999999999999")
    assert answer.startswith(b"HTTP/1.1 4")


@pytest.mark.costly
async def test_a_body_that_does_not_arrive_is_given_up() -> None:
    async with served(Limits(body_seconds=0.05)) as server:
        answer = await raw_request(server, b"{", "content-length: 100")
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"must arrive within 0.05 s, got" in answer


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/graphql-response+json, application/json;q=0.9", "application/graphql-response+json"),
        ("application/json;q=0.5, application/graphql-response+json;q=0.9", "application/graphql-response+json"),
        ("text/html, */*;q=0.1", "application/json"),
        ("application/json;q=much, application/graphql-response+json;q=0.1", "application/graphql-response+json"),
    ],
)
async def test_the_answer_has_the_form_that_the_client_prefers(server: Served, accept: str, expected: str) -> None:
    response = await server.post(HELLO, accept=accept)
    assert response.status_code == 200
    assert response.headers["content-type"] == f"{expected}; charset=utf-8"


async def test_an_answer_that_nobody_can_read_is_refused(server: Served) -> None:
    response = await server.post(HELLO, accept="text/html")
    assert (response.status_code, code_of(response)) == (406, "NOT_ACCEPTABLE")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://[::1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_requests_of_other_sites_are_refused(server: Served, headers: dict[str, str]) -> None:
    response = await server.client.post("/graphql", json=HELLO, headers=headers)
    assert (response.status_code, code_of(response)) == (403, "CROSS_SITE")


async def test_requests_of_the_own_pages_are_served(server: Served) -> None:
    headers = {"origin": f"http://127.0.0.1:{server.port}", "sec-fetch-site": "same-origin"}
    response = await server.client.post("/graphql", json=HELLO, headers=headers)
    assert response.json()["data"] == {"hello": "Hello world"}


async def test_a_foreign_host_name_is_refused_when_the_hosts_are_named() -> None:
    async with served(
        allowed_hosts={"localhost", "127.0.0.1", "[::1]"}, allowed_origins=["https://ops.example"]
    ) as server:
        refused = await server.client.post("/graphql", json=HELLO, headers={"host": "evil.example"})
        assert (refused.status_code, code_of(refused)) == (403, "HOST_NOT_ALLOWED")
        for headers in ({"host": "localhost:1"}, {"host": "[::1]:1"}, {"origin": "https://ops.example"}, {}):
            allowed = await server.client.post("/graphql", json=HELLO, headers=headers)
            assert allowed.status_code == 200


async def test_a_refused_context_answers_with_its_status(server: Served) -> None:
    response = await server.post(HELLO, authorization="wrong")
    assert (response.status_code, code_of(response)) == (401, "UNAUTHENTICATED")


async def test_a_slow_operation_is_stopped() -> None:
    async with served(Limits(operation_seconds=0.05)) as server:
        response = await server.post({"query": "{ blocked }"})
        assert (response.status_code, code_of(response)) == (504, "TIMEOUT")


async def test_the_cost_is_reported(server: Served) -> None:
    answer = await server.query("query P($n: Int = 7) { tasks(first: $n) { totalCount nodes { name } } }")
    assert answer["extensions"] == {"cost": {"requested": 1 + 1 + 1 + 7, "maximum": 20_000}}
    answer = await server.query("query P($n: Int = 7) { tasks(first: $n) { nodes { name } } }", variables={"n": 20})
    assert answer["extensions"]["cost"]["requested"] == 1 + 1 + 20


async def test_the_sdl_is_served(server: Served) -> None:
    response = await server.client.get("/schema.graphql")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert "type Query {" in response.text
