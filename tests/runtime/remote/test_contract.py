"""The remote contract over HTTP, as any program may speak it: begun once, carried out once, over when it is over."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.support.remote import Engine
from tests.support.waiting import let_pass, wait_until
from tests.support.web import open_client

pytestmark = [pytest.mark.costly, pytest.mark.timeout(120)]

LAUNCH = "echo $CRONOGRAPH_ATTEMPT_TOKEN >token; echo 1"
"""A launcher that starts nothing: the test is the code at the engine."""


class Code:
    """The code at an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        wait_until(lambda: engine.lines("token"), message="the launcher to be called")
        (self.token,) = engine.lines("token")
        self.client = open_client(engine.server.url, {"Authorization": f"Bearer {self.token}"})

    def ask(self, verb: str, document: Any) -> httpx.Response:
        return self.client.post(f"/remote/{verb}", json=document)

    def start(self, starter: str = "one") -> httpx.Response:
        return self.ask("start", {"starter": starter})

    def say(self, sequence: int, kind: str, **fields: Any) -> httpx.Response:
        return self.ask("messages", {"sequence": sequence, "message": {"kind": kind, **fields}})

    def finish(self, sequence: int) -> httpx.Response:
        fields = {"records_processed": 1, "value": "done"}
        return self.say(sequence, "ended", outcome="Succeeded", fields=fields)


@pytest.fixture
def code(remote_engine: Callable[..., Engine]) -> Iterator[Code]:
    """The code of a run of the job `away`, which has not begun."""
    engine = remote_engine(launch=LAUNCH, find="echo 1 running 'node n7'", cancel="true", forget="true")
    engine.trigger("away", size=5)
    made = Code(engine)
    yield made
    made.client.close()


def line(message: str) -> dict[str, Any]:
    return {"lines": [[1_700_000_000.5, 20, message, None, None]]}


def count(engine: Engine, job: str) -> int:
    found = engine.query(
        "query($job: String!) { runs(first: 9, filter: { jobName: { eq: $job } }) { nodes { id } } }", job=job
    )
    return len(found["runs"]["nodes"])


def test_a_connection_that_ends_in_the_middle_of_a_message_is_no_fault(code: Code) -> None:
    said = f"Authorization: Bearer {code.token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
    with socket.create_connection(("127.0.0.1", code.engine.server.port)) as connection:
        connection.sendall(f"POST /remote/messages HTTP/1.1\r\nHost: localhost\r\n{said}\r\n{{".encode())
        let_pass(0.2)
    assert code.start().status_code == 200
    assert code.engine.server.stop() == 0
    assert "Internal error" not in code.engine.server.output()


def test_the_first_process_has_it_and_may_ask_again(code: Code) -> None:
    first = code.start()
    assert first.status_code == 200
    begun = first.json()
    assert (begun["sequence"], begun["heartbeat"]) == (0, 1.0)
    assert begun["begin"]["info"]["args"] == {"size": 5}
    assert (begun["begin"]["module"], begun["begin"]["qualname"]) == ("remote_jobs", "away")
    assert code.start().json() == begun
    assert code.start("another").status_code == 409
    assert code.finish(1).status_code == 200


def test_a_message_that_comes_again_is_answered_as_before_and_changes_nothing(code: Code) -> None:
    code.start()
    assert code.say(1, "lines", **line("once")).json() == {"answer": None, "stop": None}
    assert code.say(1, "lines", **line("once")).json() == {"answer": None, "stop": None}
    wish = {"number": 7, "runs": [{"job_name": "sleeper"}]}
    first = code.say(2, "enqueue", **wish)
    assert first.status_code == 200, first.text
    assert first.json()["answer"]["number"] == 7
    assert len(first.json()["answer"]["ids"]) == 1
    assert code.say(2, "enqueue", **wish).json() == first.json()
    assert count(code.engine, "sleeper") == 1
    # What was answered before, or is not next, is neither.
    assert code.say(1, "lines", **line("late")).status_code == 409
    assert code.say(4, "lines", **line("early")).status_code == 409
    assert code.finish(3).status_code == 200
    (end,) = code.engine.ended("away")
    assert [one["message"] for one in end["logLines"]["lines"]] == ["once"]
    assert (end["outcome"], end["value"], end["recordsProcessed"]) == ("SUCCESS", "done", 1)


def test_a_request_that_is_refused_says_why_and_the_next_message_follows_it(code: Code) -> None:
    code.start()
    refused = code.say(1, "enqueue", number=1, runs=[{"job_name": "sleeper"}, {"job_name": ""}])
    assert refused.json()["answer"]["ids"] == []
    assert "job_name" in refused.json()["answer"]["error"] or "name" in refused.json()["answer"]["error"]
    assert count(code.engine, "sleeper") == 0
    assert code.finish(2).status_code == 200


def test_what_is_over_is_heard_no_more(code: Code) -> None:
    code.start()
    assert code.ask("heartbeat", {}).json() == {"answer": None, "stop": None}
    assert code.finish(1).status_code == 200
    code.engine.ended("away")
    for answer in (code.ask("heartbeat", {}), code.start(), code.finish(1), code.say(2, "lines", **line("more"))):
        assert answer.status_code == 410, answer.text


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer nonsense", "Basic cge_x", "Bearer cge_" + "a" * 38])
def test_a_stranger_is_refused(code: Code, token: str) -> None:
    answer = code.client.post("/remote/start", json={"starter": "x"}, headers={"Authorization": token})
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{", b"\xff", b'{"sequence": 1}', b'{"sequence": true, "message": {}}',
        b'{"sequence": 1, "message": {"kind": "lines", "lines": 5}}', b'{"sequence": 1, "message": {"kind": "begin"}}',
        b'{"sequence": 1, "message": {"kind": "progress", "done": NaN, "total": null, "message": null}}',
        b'{"sequence": 1, "message": {"kind": "lines", "lines": [[1, 20, "a\\u0000b", null, null]], "dropped": -1}}',
        b'{"sequence": 1e400, "message": {"kind": "leave"}}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_body_that_is_no_message_is_refused_and_nothing_breaks(code: Code, body: bytes) -> None:
    code.start()
    headers = {"Content-Type": "application/json"}
    answer = code.client.post("/remote/messages", content=body, headers=headers)
    assert answer.status_code == 400, (body[:50], answer.text)
    assert code.finish(1).status_code == 200


@pytest.mark.parametrize(
    ("kind", "fields", "why"),
    [
        ("lines", {"lines": [[1e18, 20, "x", None, None]]}, "lines: 'at' must be seconds since 1970"),
        ("lines", {"lines": [[1e12, 20, "x", None, None]]}, "lines: 'at' must be seconds since 1970"),
        ("lines", {"lines": [[-1, 20, "x", None, None]]}, "lines: 'at' must be seconds since 1970"),
        ("lines", {**line("x"), "dropped": 2**62}, "lines: an attempt may have 2,147,483,647 lines"),
        ("lines", {**line("x"), "dropped": 2**31 - 1}, "lines: an attempt may have 2,147,483,647 lines"),
        ("progress", {"done": 10**400, "total": 1, "message": None}, "progress: done must be"),
        ("progress", {"done": True, "total": 1, "message": None}, "a message that cannot be read"),
        ("progress", {"done": "5", "total": 1, "message": None}, "a message that cannot be read"),
    ],
)
def test_a_value_that_is_none_is_refused_and_not_to_be_sent_again(
    code: Code, kind: str, fields: dict[str, Any], why: str
) -> None:
    assert code.start().status_code == 200
    refused = code.say(1, kind, **fields)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["message"].startswith(why)
    large = code.say(1, "save", number=1, value="x" * 1_000_001)
    assert "the checkpoint may have 1000000 characters" in large.json()["answer"]["error"]
    assert code.finish(2).status_code == 200


NOW = "2026-11-30T12:00:00Z"


def ended_step(**changed: Any) -> dict[str, Any]:
    return {"end": {"label": "charge", "started_at": NOW, "finished_at": NOW, **changed}}


def wait_for(**changed: Any) -> dict[str, Any]:
    return {"wait": {"label": "nap", "kind": "sleep", "seconds": 5, **changed}}


@pytest.mark.parametrize(
    ("kind", "fields", "why"),
    [
        ("keep_step", ended_step(label="x" * 5000), "step: name must have 1 to 200 characters"),
        ("keep_step", ended_step(label="charge#two"), "step: must be a name"),
        ("keep_step", ended_step(started_at="2026-11-30T12:00:00"), "startedAt: must have a time zone"),
        ("keep_step", ended_step(finished_at="9999-06-01T00:00:00Z"), "finishedAt: must be a time from 1970"),
        ("keep_step", ended_step(started_at="1969-12-31T00:00:00Z"), "startedAt: must be a time from 1970"),
        ("find_step", {"label": "charge#"}, "step: must be a name"),
        ("begin_wait", wait_for(label="nap["), "step: must be a name"),
        ("begin_wait", wait_for(seconds=1e300), "seconds: must be"),
        ("begin_wait", wait_for(seconds=None, until="9999-06-01T00:00:00Z"), "until: must be a time from 1970"),
        ("make_signal_url", {"label": "x" * 5000}, "step: name must have 1 to 200 characters"),
    ],
)
def test_a_step_that_no_job_of_a_node_could_have_is_refused(
    code: Code, kind: str, fields: dict[str, Any], why: str
) -> None:
    assert code.start().status_code == 200
    refused = code.say(1, kind, number=1, **fields)
    assert refused.status_code == 200, refused.text
    assert why in refused.json()["answer"]["error"]
    assert code.finish(2).status_code == 200


def test_no_error_tells_the_password_of_an_address(code: Code) -> None:
    assert code.start().status_code == 200
    why = "cannot reach redis://:hunter2@cache"
    assert code.say(1, "keep_step", number=1, **ended_step(error=why)).status_code == 200
    fields = {"error_type": "E", "message": why, "traceback": f"E: {why}"}
    assert code.say(2, "ended", outcome="Failed", fields=fields).status_code == 200
    (end,) = code.engine.ended("away")
    assert end["errorMessage"] == "cannot reach redis://***@cache"
    found = code.engine.query("{ executions(first: 1) { nodes { traceback run { steps { nodes { error } } } } } }")
    assert found["executions"]["nodes"] == [
        {
            "traceback": "E: cannot reach redis://***@cache",
            "run": {"steps": {"nodes": [{"error": "cannot reach redis://***@cache"}]}},
        }
    ]


def test_what_is_said_of_it_is_shown(code: Code) -> None:
    document = """{ executions(first: 1) { nodes { run { explain { code sentence details } }
      remoteAttempt { executor name handle engineState engineText startedAt heardAt endedAt } } } }"""

    def shown() -> dict[str, Any]:
        found: dict[str, Any] = code.engine.query(document)["executions"]["nodes"][0]
        return found

    wait_until(lambda: shown()["remoteAttempt"]["engineState"] == "RUNNING", message="the engine to be asked")
    before = shown()
    assert before["run"]["explain"]["code"] == "AT_ENGINE"
    assert "its code has not begun" in before["run"]["explain"]["sentence"]
    assert "There it is '1'; the engine says RUNNING: node n7." in before["run"]["explain"]["details"]
    code.start()
    after = shown()
    assert after["run"]["explain"]["code"] == "RUNNING"
    remote = after["remoteAttempt"]
    assert (remote["executor"], remote["handle"], remote["engineText"]) == ("command", "1", "node n7")
    assert remote["name"].startswith("cronograph-")
    assert remote["startedAt"] is not None
    assert remote["heardAt"] is not None
    assert remote["endedAt"] is None
    code.finish(1)
    code.engine.ended("away")
    assert shown()["remoteAttempt"]["endedAt"] is not None


@pytest.mark.parametrize(
    ("outcome", "fields", "why"),
    [
        ("Succeeded", {"records_processed": -1}, "records processed: must be from 0 to 2^63 - 1, got -1"),
        ("Succeeded", {"records_processed": 2**63}, "records processed: must be from 0 to 2^63 - 1"),
        ("Succeeded", {"records_processed": True}, "fields.records_processed: not of outcome Succeeded"),
        ("Succeeded", {"records_processed": "7"}, "fields.records_processed: not of outcome Succeeded"),
        ("Succeeded", {"records_processed": 1.5}, "fields.records_processed: not of outcome Succeeded"),
        ("Succeeded", {"value": "x" * 1_000_001}, "the value may have 1000000 characters of JSON"),
        ("Succeeded", {"colour": 1}, "fields: outcome Succeeded has no colour"),
        ("Failed", {}, "fields.error_type: not of outcome Failed"),
        ("Failed", {"error_type": "E", "message": "m", "retry_in": 1e300}, "retry_in: must be from 0 seconds"),
        ("Snoozed", {"seconds": 1e300}, "seconds: must be from 0 seconds to ten years"),
        ("Snoozed", {"seconds": -1}, "seconds: must be from 0 seconds to ten years"),
        ("Suspended", {"awaits": {"kind": "time", "names": []}}, "Suspend: what awaits a time needs seconds"),
    ],
)
def test_an_end_that_no_job_of_a_node_could_have_is_refused_and_another_taken(
    code: Code, outcome: str, fields: dict[str, Any], why: str
) -> None:
    assert code.start().status_code == 200
    refused = code.say(1, "ended", outcome=outcome, fields=fields)
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["extensions"]["code"]) == (400, "INVALID_REQUEST")
    assert error["message"].startswith(why)
    assert code.say(1, "ended", outcome="Failed", fields={"error_type": "E\0", "message": "m\0"}).status_code == 200
    (run,) = code.engine.ended("away")
    assert run["outcome"] == "FAILED"
