"""What goes wrong between a client and its operation: a client that is gone, an answer that is no JSON, a socket."""

import asyncio
import logging
from collections.abc import Mapping, MutableMapping
from contextlib import aclosing
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket
from strawberry.extensions import SchemaExtension

from cronograph.graphql.execution.schema_factory import build_schema
from cronograph.graphql.guard.admission import Admission
from cronograph.graphql.guard.document import RequestRefused
from cronograph.graphql.transport.body import BodyReader, PersistedDocuments
from cronograph.graphql.transport.engine import Engine, encode_json
from cronograph.graphql.transport.gateway import Gateway, Introspections, cursor_of_answer
from cronograph.graphql.transport.request import SitePolicy
from cronograph.graphql.transport.sharing import SharedField, SharedStreams, SharePolicy
from cronograph.graphql.transport.streams import OpenStreams
from cronograph.graphql.transport.websocket import SocketOperations
from tests.graphql_api.transport.sample import Query, SampleContext, sample_app, sample_schema

HEADERS = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"100")]


async def test_a_client_that_goes_away_while_it_sends_is_told_so_where_it_still_listens() -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/graphql", "headers": HEADERS, "query_string": b"", "root_path": "",
        "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1), "http_version": "1.1",
    }  # fmt: skip
    await sample_app().app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert b"The connection ended before the end of the body." in sent[1]["body"]


@pytest.mark.parametrize("value", [object(), float("nan")], ids=["no JSON", "no number"])
def test_an_answer_that_json_cannot_express_is_masked(value: object, caplog: pytest.LogCaptureFixture) -> None:
    text = Engine(sample_schema()).encode({"data": {"value": value}})
    assert '"code":"INTERNAL_ERROR"' in text
    assert "Internal error, id " in caplog.text


def test_half_a_surrogate_pair_is_sent_as_a_question_mark() -> None:
    assert encode_json({"text": "a\ud800b"}) == '{"text":"a?b"}'


class Broken(SchemaExtension):
    """An extension with a fault of its own."""

    def get_results(self) -> dict[str, Any]:
        """Return what it adds to answers."""
        raise RuntimeError("the password is hunter2")


async def test_a_fault_beside_the_resolvers_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(build_schema(Query, extensions=[Broken]))
    prepared = engine.schema.documents.prepare("query Hello { hello }", {}, "Hello")
    answer = await engine.execute(prepared, SampleContext())
    assert answer["errors"][0]["extensions"]["code"] == "INTERNAL_ERROR"
    assert "operation Hello" in caplog.text
    assert "hunter2" in caplog.text


def no_cursor(_answer: Mapping[str, Any]) -> str | None:
    raise KeyError("the password is hunter2")


async def test_a_fault_of_a_shared_execution_is_masked_for_all_its_members(caplog: pytest.LogCaptureFixture) -> None:
    engine, context = Engine(sample_schema()), SampleContext()
    policy = SharePolicy(fields={"queue": SharedField()}, rights=lambda shown: shown.rights)
    shared = SharedStreams(engine, no_cursor, policy)
    prepared = engine.schema.documents.prepare("subscription { queue { value } }", {}, None)

    async def read() -> RequestRefused:
        with pytest.raises(RequestRefused) as caught:
            async with aclosing(shared.stream(prepared, context)) as answers:
                await anext(answers)
        return caught.value

    context.source.put_nowait(1)
    refusals = await asyncio.gather(read(), read())
    assert {error.message for refused in refusals for error in refused.errors} == {refusals[0].errors[0].message}
    assert refusals[0].errors[0].message.startswith("Internal error, id ")
    assert len([one for one in caplog.records if one.levelno == logging.ERROR]) == 1


def gateway() -> Gateway:
    """Return what all transports share, around the sample."""
    engine = Engine(sample_schema())

    async def get_context(_connection: HTTPConnection) -> SampleContext:
        return SampleContext()

    return Gateway(
        engine=engine,
        introspections=Introspections(engine),
        get_context=get_context,
        site=SitePolicy(None, ()),
        persisted=PersistedDocuments(engine.limits, None),
        streams=OpenStreams(),
        shared=SharedStreams(engine, cursor_of_answer, None),
        admission=Admission(engine.limits),
        bodies=BodyReader(engine.limits),
    )


async def test_an_operation_that_cannot_be_answered_ends_its_socket() -> None:
    ended: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    fault = RuntimeError("the transport is broken")

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.disconnect", "code": 1006}

    async def send(_message: object) -> None:
        raise fault

    socket = WebSocket({"type": "websocket", "path": "/graphql", "headers": []}, receive, send)
    operations = SocketOperations(gateway(), socket, send, ended.set_result)
    await operations.start("1", {"query": "{ hello }"})
    assert await asyncio.wait_for(ended, 30) is fault
    await operations.cancel_all()
