"""Answers as gzip: for whom, from which size on."""

import gzip
import json

import pytest

from tests.graphql_api.transport.serving import Served

NAME = "long " * 1_000
LONG = {"query": "query ($name: String!) { hello(name: $name) }", "variables": {"name": NAME}}
SHORT = {"query": "{ hello }"}


async def raw(server: Served, body: object, accepted: str) -> tuple[dict[str, str], bytes]:
    """The headers and the body of an answer as they came over the wire."""
    headers = {"content-type": "application/json", "accept-encoding": accepted}
    async with server.client.stream("POST", "/graphql", content=json.dumps(body), headers=headers) as answer:
        sent = b"".join([chunk async for chunk in answer.aiter_raw()])
    return dict(answer.headers), sent


@pytest.mark.parametrize("accepted", ["gzip", "br, gzip;q=0.5", "GZIP"])
async def test_a_long_answer_is_sent_as_gzip_to_who_takes_it(server: Served, accepted: str) -> None:
    headers, sent = await raw(server, LONG, accepted)
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert int(headers["content-length"]) == len(sent) < 1_000
    assert json.loads(gzip.decompress(sent))["data"] == {"hello": f"Hello {NAME}"}


@pytest.mark.parametrize("accepted", ["identity", "br", "gzip;q=0", ""])
async def test_who_does_not_take_gzip_gets_the_answer_as_it_is(server: Served, accepted: str) -> None:
    headers, sent = await raw(server, LONG, accepted)
    assert "content-encoding" not in headers
    assert headers["vary"] == "Accept-Encoding"
    assert json.loads(sent)["data"] == {"hello": f"Hello {NAME}"}


async def test_a_short_answer_is_sent_as_it_is(server: Served) -> None:
    headers, sent = await raw(server, SHORT, "gzip")
    assert "content-encoding" not in headers
    assert json.loads(sent)["data"] == {"hello": "Hello world"}
