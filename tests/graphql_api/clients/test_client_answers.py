"""What the Python client makes of answers and of failures, without a network."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from typing_extensions import TypedDict

from cronograph.graphql.base.errors import classify
from cronograph.graphql.client import (
    AsyncClient,
    Client,
    ClientError,
    EventKind,
    HttpError,
    InvalidAddressError,
    InvalidAnswerError,
    OperationError,
    Reconnect,
    RefusedError,
    RunState,
    TimedOutError,
    UnreachableError,
    mutations,
    once,
    subscriptions,
)
from cronograph.graphql.client.subscription import Follower, Message, MessageParser

Handler = Callable[[httpx.Request], httpx.Response]
EVENT: dict[str, Any] = {
    "at": "2026-03-01T12:00:00.5Z",
    "kind": "RUN_UPDATED",
    "__typename": "RunEvent",
    "runId": "1",
    "runState": "RUNNING",
    **dict.fromkeys(["taskId", "taskName", "node", "group", "jobName", "flowId"], None),
}
AT_ONCE = Reconnect(first_pause=0, longest_pause=0)


def client_of(handler: Handler, reconnect: Reconnect = AT_ONCE) -> Client:
    return Client("http://example.test", transport=httpx.MockTransport(handler), reconnect=reconnect)


def answering(status: int = 200, **answer: Any) -> Client:
    return client_of(lambda _: httpx.Response(status, json=answer))


def stream(*messages: str) -> httpx.Response:
    text = "".join(f"event: next\ndata: {message}\n\n" for message in messages)
    return httpx.Response(200, headers={"content-type": "text/event-stream; charset=utf-8"}, text=f":\n\n{text}")


def event(cursor: str, **fields: Any) -> str:
    return json.dumps({"data": {"events": {**EVENT, "cursor": cursor, **fields}}})


def failure(code: str) -> str:
    extensions = {"code": code, "classification": classify(code)}
    return json.dumps({"data": None, "errors": [{"message": "no", "extensions": extensions}]})


class Server:
    """Answers one request after the other as the test says, and keeps what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers: Iterator[httpx.Response | Exception] = iter(answers)
        self.bodies: list[dict[str, Any]] = []

    @property
    def variables(self) -> list[dict[str, Any]]:
        return [body["variables"] for body in self.bodies]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize("url", ["", "localhost:8000", "http://", "ftp://x", "http://x:y"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidAddressError, match="url: must be an address such as"):
        Client(url)


@pytest.mark.parametrize("url", ["http://x", "http://x/", "http://x//"])
def test_the_path_of_the_api_is_added_to_the_address(url: str) -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"data": {"asOf": "1.0"}})

    with Client(url, transport=httpx.MockTransport(handler)) as client:
        assert client.as_of() == "1.0"
    assert asked == ["http://x/graphql"]


def test_the_token_and_further_headers_are_sent_with_every_request() -> None:
    seen: list[httpx.Headers] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(200, json={"data": {"asOf": "1.0"}})

    transport = httpx.MockTransport(handler)
    with Client("http://x", token="t0k", headers={"x-a": "b"}, transport=transport) as client:
        client.as_of()
    assert (seen[0]["authorization"], seen[0]["x-a"]) == ("Bearer t0k", "b")


def test_nobody_there_is_an_error_that_names_the_address() -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with client_of(handler) as client, pytest.raises(UnreachableError, match=r"at http://example\.test: refused"):
        client.as_of()


def test_no_answer_in_time_is_an_error_of_its_own() -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("")

    with client_of(handler) as client, pytest.raises(TimedOutError, match="in time: ReadTimeout"):
        client.as_of()


def test_errors_have_message_code_path_and_what_was_answered_besides() -> None:
    errors = [
        {"message": "deep", "path": ["runs", 0], "extensions": {"code": "LIMIT_DEPTH", "maximum": 12}},
        {"message": "bare"},
        "strange",
    ]
    with answering(data={"x": 1}, errors=errors) as client, pytest.raises(OperationError) as caught:
        client.execute("{ x }")
    error = caught.value
    assert str(error) == "deep; bare; strange"
    assert error.codes == {"LIMIT_DEPTH"}
    assert (error.data, error.retryable) == ({"x": 1}, False)
    assert (error.faults[0].path, error.faults[0].extensions["maximum"]) == (("runs", 0), 12)


def test_refusals_of_http_that_are_graphql_answers_are_read_as_such() -> None:
    errors = [{"message": "too large", "extensions": {"code": "LIMIT_BODY_BYTES"}}]
    with answering(413, errors=errors) as client, pytest.raises(OperationError, match="too large"):
        client.as_of()


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (502, True), (503, True)])
def test_a_strange_answer_with_an_error_status_is_an_http_error(status: int, retryable: bool) -> None:
    handler: Handler = lambda _: httpx.Response(status, text="<html>\n gone")  # noqa: E731
    with client_of(handler) as client, pytest.raises(HttpError, match=f"{status}: <html> gone") as caught:
        client.as_of()
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


@pytest.mark.parametrize("body", ["", "null", "[]", '"x"', "{}", "<html>", '{"data": null}', "[" * 100_000])
def test_an_answer_that_is_none_is_no_cronograph_server(body: str) -> None:
    handler: Handler = lambda _: httpx.Response(200, text=body)  # noqa: E731
    with client_of(handler) as client, pytest.raises(InvalidAnswerError, match="no Cronograph server"):
        client.as_of()


def test_an_answer_of_another_form_names_the_field() -> None:
    expected = pytest.raises(InvalidAnswerError, match=r"availableJobs\.0\.description: cannot be read as")
    with answering(data={"availableJobs": [{"name": "x"}]}) as client, expected:
        client.available_jobs()


def test_a_refused_mutation_reports_code_and_path() -> None:
    refusal = {"code": "NOT_FOUND", "message": "name: there is no task 'x'", "path": ["name"]}
    answer = {"pauseTask": {"task": None, "errors": [refusal]}}
    with answering(data=answer) as client, pytest.raises(RefusedError, match="no task 'x'") as caught:
        client.pause_task("x")
    assert [(refusal.code, refusal.path) for refusal in caught.value.refusals] == [("NOT_FOUND", ("name",))]


def test_a_job_that_nobody_knows_is_refused_also_without_a_list_of_errors() -> None:
    answer = {"triggerJob": {"success": False, "message": "Unknown job: x", "jobName": "x", "run": None}}
    answer["triggerJob"]["preview"] = None
    with answering(data=answer) as client, pytest.raises(RefusedError, match="Unknown job: x"):
        client.trigger_job("x")


def test_values_of_enums_that_a_newer_server_knows_are_no_errors() -> None:
    server = Server(stream(event("1.0", kind="MOON_ROSE")))
    with client_of(server) as client:
        events = client.events(after="0.0")
        kind = next(events).kind
        events.close()
    assert isinstance(kind, EventKind)
    assert (kind, kind.name) == ("MOON_ROSE", "MOON_ROSE")
    assert RunState("SUCCESS") is RunState.SUCCESS


def test_own_documents_are_read_into_own_types() -> None:
    class Answer(TypedDict):
        serverTime: datetime

    with answering(data={"serverTime": "2026-03-01T12:00:00Z"}) as client:
        assert client.execute("{ serverTime }") == {"serverTime": "2026-03-01T12:00:00Z"}
        answer = client.execute("{ serverTime }", result=Answer)
    assert answer["serverTime"] == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_times_without_a_zone_are_refused_before_anything_is_sent() -> None:
    naive = datetime(2026, 3, 1)  # noqa: DTZ001 - that is the point
    with pytest.raises(ValueError, match="must have a zone"):
        once(naive)
    with pytest.raises(ValueError, match="must have a zone"):
        mutations.update_task("x", start_at=naive)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_messages_are_the_same_however_the_bytes_are_cut(size: int) -> None:
    text = (
        ":\n\nevent: next\r\nid: 1\r\ndata: ä\r\ndata:  b\r\n\r\ndata\rdata:x\r\rretry: 5\n\nevent: complete\ndata:\n\n"
    )
    data = ("\ufeff" + text).encode()
    parser = MessageParser()
    messages = [message for at in range(0, len(data), size) for message in parser.feed(data[at : at + size])]
    assert messages == [Message("next", "ä\n b"), Message("message", "\nx"), Message("complete", "")]


def test_a_message_that_is_cut_off_is_not_delivered() -> None:
    assert MessageParser().feed(b"event: next\ndata: {}\n") == []


def test_events_begin_at_the_present_and_go_on_behind_the_last_one() -> None:
    begin = httpx.Response(200, json={"data": {"asOf": "7.9"}})
    server = Server(begin, stream(event("8.0"), event("8.1")), httpx.ConnectError("x"), stream(event("9.0")))
    with client_of(server) as client:
        events = client.events()
        assert [next(events).cursor for _ in range(3)] == ["8.0", "8.1", "9.0"]
        events.close()
    assert [variables.get("after") for variables in server.variables] == [None, "7.9", "8.1", "8.1"]


async def test_the_same_on_an_event_loop() -> None:
    begin = httpx.Response(200, json={"data": {"asOf": "7.9"}})
    server = Server(begin, stream(event("8.0"), event("8.1")), httpx.ConnectError("x"), stream(event("9.0")))
    async with AsyncClient("http://x", transport=httpx.MockTransport(server), reconnect=AT_ONCE) as client:
        events = client.events()
        assert [(await anext(events)).cursor for _ in range(3)] == ["8.0", "8.1", "9.0"]
        await events.aclose()
    assert [variables.get("after") for variables in server.variables] == [None, "7.9", "8.1", "8.1"]


def test_a_resync_is_an_event_and_the_subscription_goes_on_behind_it() -> None:
    server = Server(stream(event("5.0", kind="RESYNC")), stream(event("6.0")))
    with client_of(server) as client:
        events = client.events(after="1.0")
        assert next(events).kind is EventKind.RESYNC
        assert next(events).cursor == "6.0"
        events.close()
    assert [variables["after"] for variables in server.variables] == ["1.0", "5.0"]


def test_the_first_connection_is_not_retried() -> None:
    server = Server(httpx.ConnectError("refused"))
    with client_of(server) as client, pytest.raises(UnreachableError):
        next(client.events(after="1.0"))
    assert len(server.variables) == 1


@pytest.mark.parametrize("code", ["INTERNAL_ERROR", "TIMEOUT", "UNAVAILABLE", "LIMIT_QUEUE_SECONDS", "SLOW_READER"])
def test_faults_of_the_server_are_retried(code: str) -> None:
    server = Server(stream(event("1.0"), failure(code)), stream(failure(code)), stream(event("2.0")))
    with client_of(server) as client:
        events = client.events(after="0.0")
        assert [next(events).cursor, next(events).cursor] == ["1.0", "2.0"]
        events.close()


@pytest.mark.parametrize("code", ["STARTING", "UNAVAILABLE"])
def test_a_server_that_is_not_ready_is_waited_for_however_long_it_takes(code: str) -> None:
    server = Server(stream(event("1.0")), *[httpx.Response(503, text=failure(code))] * 20, stream(event("2.0")))
    with client_of(server) as client, closing(client.events(after="0.0")) as events:
        assert [next(events).cursor, next(events).cursor] == ["1.0", "2.0"]


@pytest.mark.parametrize("code", ["INTERNAL_ERROR", "TIMEOUT"])
def test_faults_of_the_server_that_do_not_end_are_reported(code: str) -> None:
    server = Server(*[stream(failure(code)) for _ in range(20)])
    with client_of(server) as client, pytest.raises(OperationError):
        next(client.events(after="0.0"))
    assert len(server.variables) == 6


@pytest.mark.parametrize("code", ["INVALID_CURSOR", "VALIDATION_ERROR"])
def test_mistakes_of_the_client_are_reported_at_once(code: str) -> None:
    server = Server(stream(event("1.0"), failure(code)))
    with client_of(server) as client:
        events = client.events(after="0.0")
        assert next(events).cursor == "1.0"
        with pytest.raises(OperationError) as caught:
            next(events)
    assert caught.value.codes == {code}


def test_a_slow_reader_that_cannot_resume_is_informed() -> None:
    server = Server(stream(failure("SLOW_READER")))
    with client_of(server) as client, pytest.raises(OperationError):
        next(client.subscribe("subscription { executions { id } }"))


def test_lost_connections_are_given_up_after_as_many_tries_as_allowed() -> None:
    lost = [httpx.ConnectError("x") for _ in range(9)]
    server = Server(stream(event("1.0")), *lost)
    with client_of(server, Reconnect(first_pause=0, attempts=3)) as client:
        events = client.events(after="0.0")
        next(events)
        with pytest.raises(UnreachableError):
            next(events)
    assert len(server.variables) == 4


def test_answers_that_are_no_stream_are_errors() -> None:
    plain = httpx.Response(200, json={"data": {"events": None}})
    for answer, kind in [
        (httpx.Response(503, text="proxy"), HttpError),
        (httpx.Response(400, json={"errors": [{"message": "no"}]}), OperationError),
        (plain, InvalidAnswerError),
    ]:
        with client_of(Server(answer)) as client, pytest.raises(kind):
            next(client.events(after="0.0"))


def test_a_log_goes_on_behind_its_last_line_and_ends_at_its_end() -> None:
    def part(*lines: int, ended: bool = False) -> str:
        rows = [
            {"line": n, "at": EVENT["at"], "level": "INFO", "message": "m", "fields": None, "step": None} for n in lines
        ]
        return json.dumps({"data": {"executionLog": {"lines": rows, "cut": 0, "hasEnded": ended}}})

    server = Server(stream(part(1, 2), part(), part(3)), stream(part(4), part(ended=True)))
    with client_of(server) as client:
        parts = list(client.execution_log(1))
    assert [line.line for part in parts for line in part.lines] == [1, 2, 3, 4]
    assert [part.has_ended for part in parts] == [False, False, False, False, True]
    assert [variables["afterLine"] for variables in server.variables] == [0, 3]


def test_own_subscriptions_resume_by_the_field_that_they_name() -> None:
    server = Server(stream(event("1.0")), stream(event("2.0")))
    with client_of(server) as client:
        document = "subscription ($after: String) { events(after: $after) { cursor } }"
        answers = client.subscribe(document, resume=("after", "events.cursor"))
        assert [next(answers)["events"]["cursor"] for _ in range(2)] == ["1.0", "2.0"]
        answers.close()
    assert server.variables == [{}, {"after": "1.0"}]


def test_pauses_double_up_to_the_longest() -> None:
    reconnect = Reconnect(first_pause=1, longest_pause=5)
    for failures, longest in [(1, 1), (2, 2), (3, 4), (4, 5), (10_000, 5)]:
        assert longest / 2 <= reconnect.pause(failures) <= longest


def test_a_place_that_is_known_needs_no_question() -> None:
    assert Follower(subscriptions.events(), AT_ONCE).question() is not None
    assert Follower(subscriptions.events(after="1.0"), AT_ONCE).question() is None
    assert Follower(subscriptions.run_updates(1), AT_ONCE).question() is None


def test_all_errors_have_one_root() -> None:
    kinds = (InvalidAddressError, UnreachableError, HttpError, InvalidAnswerError, OperationError, RefusedError)
    assert all(issubclass(kind, ClientError) for kind in kinds)


AS_OF = {"documentId": f"sha256:{hashlib.sha256(b'query AsOf { asOf }').hexdigest()}", "variables": {}}


def test_a_ready_made_document_is_sent_by_its_hash_and_as_text_to_a_server_that_does_not_know_it() -> None:
    refused = {"errors": json.loads(failure("PERSISTED_QUERY_NOT_FOUND"))["errors"]}
    server = Server(httpx.Response(400, json=refused), httpx.Response(200, json={"data": {"asOf": "1.0"}}))
    with client_of(server) as client:
        assert client.as_of() == "1.0"
    assert server.bodies == [AS_OF, {"query": "query AsOf { asOf }", "variables": {}}]


def test_a_mutation_that_was_executed_is_not_sent_again_whatever_its_answer_holds() -> None:
    answer = json.loads(failure("PERSISTED_QUERY_NOT_FOUND"))
    server = Server(httpx.Response(200, json=answer))
    with client_of(server) as client, pytest.raises(OperationError):
        client.delete_view(1)
    assert len(server.bodies) == 1


def test_documents_of_the_caller_are_sent_as_they_are() -> None:
    server = Server(httpx.Response(200, json={"data": {"asOf": "1.0"}}))
    with client_of(server) as client:
        client.execute("{ asOf }")
    assert server.bodies == [{"query": "{ asOf }", "variables": {}}]


@pytest.mark.parametrize("within_the_stream", [True, False])
def test_a_subscription_is_sent_as_text_to_a_server_that_does_not_know_its_hash(within_the_stream: bool) -> None:
    unknown = failure("PERSISTED_QUERY_NOT_FOUND")
    refused = stream(unknown) if within_the_stream else httpx.Response(400, text=unknown)
    server = Server(refused, stream(event("1.0")))
    with client_of(server, Reconnect(attempts=0)) as client, closing(client.events(after="0.0")) as events:
        assert next(events).cursor == "1.0"
    assert ["query" in body for body in server.bodies] == [False, True]
