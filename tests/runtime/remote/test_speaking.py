"""What code at an engine says over HTTP: again while nobody takes it, and no more once it is refused for good."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest

from cronograph.jobs.core.outcome import Succeeded
from cronograph.jobs.runtime.job.lines import RawLine
from cronograph.jobs.runtime.process.wire import Ended, Lines, Message, Progress, Save
from cronograph.jobs.runtime.remote.process import main
from cronograph.jobs.runtime.remote.speaking import TOKEN, URL, Server, Speaking
from tests.support.waiting import wait_until

HAPPY = {"answer": None, "stop": None}


class Answering(ThreadingHTTPServer):
    """A server that gives the answers of the test.

    Attributes:
        answers: The next statuses by the kind of the message, or by the verb; 200 once there are none.
        heard: The number and the message of each one that was taken; each verb of another request.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, list[int]] = {}
        self.heard: list[tuple[Any, Any]] = []
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def kinds(self) -> list[str]:
        return [message["kind"] for _, message in self.heard]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library
        """Say nothing."""

    def do_POST(self) -> None:
        server = cast("Answering", self.server)
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.rpartition("/")[2]
        kind = document["message"]["kind"] if verb == "messages" else verb
        server.asked.append(kind)
        left = server.answers.get(kind, [])
        status = left.pop(0) if left else 200
        if status == 200 and verb == "messages":
            server.heard.append((document["sequence"], document["message"]))
        body = json.dumps(HAPPY if status == 200 else {"errors": [{"message": "no"}]}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Answering]:
    made = Answering()
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


class Said:
    """The code's side, and the answers to it."""

    def __init__(self, server: Answering, heartbeat: float = 60.0) -> None:
        self.answers: list[Any] = []
        self.over: list[bool] = []
        self.speaking = Speaking(
            lambda: Server(server.url, "token"),
            sequence=0,
            heartbeat=heartbeat,
            on_answer=self.answers.append,
            on_stop=lambda _: None,
            on_over=lambda: self.over.append(True),
        )
        self.speaking.start()

    def all(self, *messages: Message) -> None:
        for one in messages:
            self.speaking.send(one)
        self.speaking.finish()


LINES = Lines(lines=[RawLine(1.0, 20, "one", None), RawLine(2.0, 20, "two", None)], dropped=3)
PROGRESS = Progress(done=1, total=2, message=None)
END = Ended.of(Succeeded(None, 1))


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_a_message_that_is_refused_is_given_up_and_the_next_one_has_its_number(
    server: Answering, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    server.answers = {"progress": [status], "lines": [status]}
    said = Said(server)
    said.all(PROGRESS, LINES, END)
    assert [number for number, _ in server.heard] == [1, 2]
    (_, lines), (_, end) = server.heard
    assert (end["kind"], end["outcome"]) == ("ended", "Succeeded")
    # Nobody is left to think that nothing was written.
    (line,) = lines["lines"]
    assert (lines["dropped"], line[1]) == (5, 30)
    assert line[2].startswith(f"2 lines could not be stored: the server answers {status}: ")
    assert said.over == []
    printed = capfd.readouterr().err
    assert f"a message (Progress) is given up: the server answers {status}" in printed


def test_a_request_that_is_refused_says_so_to_its_job(server: Answering) -> None:
    server.answers = {"save": [400]}
    said = Said(server)
    said.all(Save(number=7, value="x"), END)
    (answer,) = said.answers
    assert answer["number"] == 7
    assert "the server answers 400" in answer["error"]
    assert server.kinds() == ["ended"]


def test_an_end_that_is_refused_is_a_failure_that_says_why(server: Answering) -> None:
    server.answers = {"ended": [413]}
    Said(server).all(END)
    ((number, end),) = server.heard
    assert (number, end["outcome"], end["fields"]["error_type"]) == (1, "Failed", "RemoteProcessError")
    assert "its end could not be stored: the server answers 413" in json.dumps(end["fields"])


@pytest.mark.parametrize(("second", "over"), [(400, []), (410, [True])])
def test_what_is_not_taken_in_its_place_either_is_given_up_too(
    server: Answering, second: int, over: list[bool], capfd: pytest.CaptureFixture[str]
) -> None:
    server.answers = {"ended": [400, second]}
    said = Said(server)
    said.all(END)
    assert (server.heard, said.over) == ([], over)
    printed = capfd.readouterr().err
    assert ("nor is this one taken in its place" in printed) is (second == 400)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(server: Answering, status: int) -> None:
    server.answers = {"progress": [status]}
    Said(server).all(PROGRESS, END)
    assert [number for number, _ in server.heard] == [1, 2]
    assert server.asked.count("progress") == 2


def test_a_sign_of_life_that_is_refused_is_followed_by_the_next(server: Answering) -> None:
    server.answers = {"heartbeat": [400]}
    said = Said(server, heartbeat=0.01)
    wait_until(lambda: server.asked.count("heartbeat") >= 2, message="another sign of life")
    said.all(END)
    assert server.kinds() == ["ended"]


def test_an_attempt_whose_start_is_refused_does_not_begin(server: Answering, capfd: pytest.CaptureFixture[str]) -> None:
    server.answers = {"start": [400]}
    assert main({URL: server.url, TOKEN: "token"}) == 1
    assert "its attempt cannot begin: the server answers 400" in capfd.readouterr().err
