"""Every kind of nonsense gets a clear refusal, leaves the server answering, and writes next to nothing into the log."""

import logging

import pytest

from tests.graphql_api.transport.nonsense import NONSENSE, Nonsense
from tests.graphql_api.transport.serving import Served

LOG_CHARACTERS = 2_000
CLIENT_LOGGERS = ("httpx", "httpcore", "websockets.client")


def logged(caplog: pytest.LogCaptureFixture) -> int:
    """Characters that the server's log of level INFO got, tracebacks included."""
    formatter = logging.Formatter()
    records = [record for record in caplog.records if record.levelno >= logging.INFO]
    return sum(len(formatter.format(record)) for record in records if not record.name.startswith(CLIENT_LOGGERS))


@pytest.mark.costly
@pytest.mark.parametrize("nonsense", NONSENSE, ids=[one.name for one in NONSENSE])
async def test_nonsense_is_refused_and_the_server_answers_afterwards(
    server: Served, nonsense: Nonsense, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    response = await server.post(nonsense.body)
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    answer = response.json()
    error = answer["errors"][0]
    assert (error["extensions"]["code"], response.status_code) == (nonsense.code, nonsense.status), error["message"]
    assert nonsense.says in error["message"]
    assert "data" not in answer
    assert len(response.content) < 4_000
    assert logged(caplog) <= LOG_CHARACTERS
    assert (await server.query("{ hello }"))["data"] == {"hello": "Hello world"}


@pytest.mark.costly
@pytest.mark.parametrize("nonsense", NONSENSE, ids=[one.name for one in NONSENSE])
async def test_the_newer_media_type_distinguishes_refusals_by_the_status(server: Served, nonsense: Nonsense) -> None:
    response = await server.post(nonsense.body, accept="application/graphql-response+json")
    assert response.status_code == (nonsense.status if nonsense.status != 200 else 400)
    # What cannot be read is refused before the form of the answer matters; it is the asked one all the same.
    assert response.headers["content-type"] == "application/graphql-response+json; charset=utf-8"
