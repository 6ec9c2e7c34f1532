"""Documents: the cache of what has been parsed, and persisted documents by their hash."""

import pytest

from cronograph.graphql.guard.document import RequestRefused
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.transport.body import PersistedDocuments, TrustedDocuments, sha256_of
from cronograph.graphql.transport.engine import Engine
from cronograph.graphql.transport.request import GraphQLRequest
from tests.graphql_api.transport.sample import sample_schema
from tests.graphql_api.transport.serving import Served, served

HELLO = "{ hello }"


def persisted(text: str, sha256: str | None = None) -> dict[str, object]:
    """The `extensions` member for a document."""
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256 or sha256_of(text)}}


def request(text: str, sha256: str | None = None) -> GraphQLRequest:
    """A request without variables."""
    return GraphQLRequest(text, {}, None, sha256)


def test_a_document_is_parsed_and_validated_once() -> None:
    store = sample_schema().documents
    first, second = store.prepare(HELLO, {}, None), store.prepare(HELLO, {}, None)
    assert first.document is second.document
    assert first.measure is second.measure


def test_nonsense_is_not_kept_and_pushes_nothing_out() -> None:
    store = sample_schema(Limits(cached_nodes=100)).documents
    kept = store.prepare(HELLO, {}, None).document
    for number in range(200):
        with pytest.raises(RequestRefused):
            store.prepare(f"{{ unknown{number} }}", {}, None)
    assert store.prepare(HELLO, {}, None).document is kept


def test_the_cache_is_bounded_by_syntax_nodes_and_forgets_the_oldest() -> None:
    store = sample_schema(Limits(cached_nodes=30)).documents
    documents = [store.prepare(f"{{ a{number}: hello }}", {}, None).document for number in range(20)]
    assert store.prepare("{ a19: hello }", {}, None).document is documents[19]
    assert store.prepare("{ a0: hello }", {}, None).document is not documents[0]


def test_servers_of_one_schema_share_no_documents() -> None:
    schema = sample_schema()
    one, other = Engine(schema), Engine(schema)
    one.prepare(request(HELLO))
    assert one.knows(request(HELLO))
    assert not other.knows(request(HELLO))


async def test_a_document_is_registered_under_its_hash_and_then_found_by_it(server: Served) -> None:
    text = "query Registered { hello }"
    unknown = await server.post({"extensions": persisted(text)})
    assert unknown.json()["errors"][0]["message"] == "PersistedQueryNotFound"
    assert unknown.json()["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"
    assert (await server.query(text, extensions=persisted(text)))["data"] == {"hello": "Hello world"}
    found = await server.post({"extensions": persisted(text, sha256_of(text).upper())})
    assert found.json()["data"] == {"hello": "Hello world"}
    async with server.socket() as socket:
        await socket.send({"type": "subscribe", "id": "1", "payload": {"extensions": persisted(text)}})
        assert (await socket.receive())["payload"]["data"] == {"hello": "Hello world"}


async def test_a_hash_of_another_document_is_refused(server: Served) -> None:
    answer = await server.query(HELLO, extensions=persisted("{ other }"))
    assert answer["errors"][0]["extensions"]["code"] == "PERSISTED_HASH_MISMATCH"
    assert sha256_of(HELLO) in answer["errors"][0]["message"]


async def test_a_refused_document_is_not_registered(server: Served) -> None:
    text = "{ unknownField }"
    await server.query(text, extensions=persisted(text))
    again = await server.post({"extensions": persisted(text)})
    assert again.json()["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"


def test_registered_documents_are_bounded_in_number_and_bytes() -> None:
    few = PersistedDocuments(Limits(persisted_documents=3))
    small = PersistedDocuments(Limits(persisted_bytes=1_000))
    for number in range(10):
        text = f"{{ hello{number} }}" + " " * 50
        few.remember(request(text, sha256_of(text)))
        small.remember(request(text, sha256_of(text)))
    assert len(few) == 3
    assert 0 < len(small) < 5
    newest = "{ hello9 }" + " " * 50
    assert few.resolve(request("", sha256_of(newest))).query == newest


async def test_only_trusted_documents_run_if_the_server_says_so() -> None:
    async with served(trusted=TrustedDocuments({sha256_of(HELLO): HELLO}, only=True)) as server:
        schema = await server.client.get("/schema.graphql")
        assert (schema.status_code, schema.json()["errors"][0]["extensions"]["code"]) == (403, "DOCUMENT_NOT_ALLOWED")
        assert (await server.query(HELLO))["data"] == {"hello": "Hello world"}
        by_hash = await server.post({"extensions": persisted(HELLO)})
        assert by_hash.json()["data"] == {"hello": "Hello world"}
        for body in ({"query": "{ task { name } }"}, {"extensions": persisted("{ task { name } }")}):
            refused = await server.post(body)
            assert refused.json()["errors"][0]["extensions"]["code"] == "DOCUMENT_NOT_ALLOWED"


def test_a_list_with_a_wrong_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="The list names abc for a document whose SHA-256 is"):
        TrustedDocuments({"abc": HELLO})


def document_id(text: str) -> str:
    return f"sha256:{sha256_of(text)}"


TICKS = "subscription Ticks { ticks(count: 2) { value } }"
TRUSTED = TrustedDocuments({sha256_of(text): text for text in (HELLO, TICKS)})


async def test_trusted_documents_run_by_their_id_over_every_transport_and_others_as_before() -> None:
    async with served(trusted=TRUSTED) as server:
        assert (await server.post({"documentId": document_id(HELLO)})).json()["data"] == {"hello": "Hello world"}
        assert (await server.post({"extensions": persisted(HELLO)})).json()["data"] == {"hello": "Hello world"}
        stream = await server.post({"documentId": document_id(TICKS)}, accept="text/event-stream")
        assert stream.text.count("event: next") == 2
        async with server.socket() as socket:
            await socket.send({"type": "subscribe", "id": "1", "payload": {"documentId": document_id(TICKS)}})
            values = [(await socket.receive())["payload"]["data"]["ticks"]["value"] for _ in range(2)]
            assert values == [0, 1]
        assert (await server.query("{ hello number(value: 1) }"))["data"] == {"hello": "Hello world", "number": 1}


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(
    ("only", "code"), [(False, "PERSISTED_QUERY_NOT_FOUND"), (True, "DOCUMENT_NOT_ALLOWED")], ids=["prefer", "only"]
)
async def test_the_id_of_an_unknown_document_is_refused_with_a_code(accept: str, only: bool, code: str) -> None:
    async with served(trusted=TrustedDocuments(TRUSTED.by_hash, only)) as server:
        unknown = {"documentId": document_id("{ number(value: 1) }")}
        assert f'"code":"{code}"' in (await server.post(unknown, accept=accept)).text
        async with server.socket() as socket:
            await socket.send({"type": "subscribe", "id": "1", "payload": unknown})
            answer = await socket.receive()
            assert (answer["type"], answer["payload"][0]["extensions"]["code"]) == ("error", code)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"documentId": sha256_of(HELLO)}, "'documentId' must be \"sha256:\" and the SHA-256"),
        ({"documentId": "sha256:abc"}, "got 'sha256:abc'"),
        ({"documentId": 7}, "'documentId' must be a string or null, got a number"),
        ({"documentId": document_id(HELLO), "extensions": persisted(TICKS)}, "must name the same document"),
    ],
)
async def test_an_id_of_another_form_is_refused(server: Served, body: dict[str, object], message: str) -> None:
    (error,) = (await server.post(body)).json()["errors"]
    assert error["extensions"]["code"] == "INVALID_REQUEST"
    assert message in error["message"]


def test_trusted_documents_are_kept_for_ever_and_push_no_other_out() -> None:
    engine = Engine(sample_schema(Limits(cached_nodes=30)))
    engine.trust([HELLO])
    assert not engine.knows(request(HELLO))
    first = engine.prepare(request(HELLO)).document
    for number in range(20):
        engine.prepare(request(f"{{ a{number}: hello }}"))
    assert engine.knows(request(HELLO))
    assert engine.prepare(request(HELLO)).document is first
    assert engine.knows(request("{ a19: hello }"))
