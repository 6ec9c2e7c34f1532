"""The folder through which code speaks that reaches no server: nothing is lost, half read, or begun twice."""

import errno
import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.executors.finding import engine_of
from cronograph.jobs.runtime.remote.folder import Box, FolderChannel, News
from cronograph.jobs.runtime.remote.speaking import OverError, TakenError
from tests.support.remote import CHANNELS, KEY, LAUNCH, Engine
from tests.support.waiting import wait_until

START = {"begin": {"info": {"deadline": None}, "remaining": None}, "sequence": 0, "timeout": None, "deadline": None}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of an attempt that has not begun."""
    Box(tmp_path / "one").place(START)
    return tmp_path / "one"


def read(box: Box) -> list[Any]:
    """All that is in a box, taken."""
    found: list[Any] = []
    while lines := box.lines():
        for line in lines:
            found.append(json.loads(line) if line else None)
            box.taken(line)
    return found


def message(number: int, size: int = 0) -> dict[str, Any]:
    return {"sequence": number, "message": {"kind": "lines", "lines": ["x" * size]}}


def asked(number: int) -> dict[str, Any]:
    return {"sequence": number, "message": {"kind": "save", "number": 7, "value": 1}}


def test_only_the_first_process_begins_and_the_start_is_gone(place: Path) -> None:
    assert (place.stat().st_mode & 0o777, (place / "start").stat().st_mode & 0o777) == (0o700, 0o600)
    assert FolderChannel(place).ask("start", {"starter": "a"}) == START
    with pytest.raises(TakenError, match="another process has begun this attempt"):
        FolderChannel(place).ask("start", {"starter": "b"})
    assert sorted(one.name for one in place.iterdir()) == ["out.1"]
    assert read(Box(place)) == [{"starter": "a"}]


def test_many_processes_at_once_begin_once(place: Path) -> None:
    begun: list[str] = []
    ready = threading.Barrier(20)

    def begin(starter: str) -> None:
        ready.wait()
        try:
            FolderChannel(place).ask("start", {"starter": starter})
        except TakenError:
            return
        begun.append(starter)

    threads = [threading.Thread(target=begin, args=(str(number),)) for number in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert read(Box(place)) == [{"starter": begun[0]}]
    assert len(begun) == 1


def test_a_rename_whose_answer_was_lost_is_the_own_one(place: Path) -> None:
    (place / "start").rename(place / "start.a")
    assert FolderChannel(place).ask("start", {"starter": "a"}) == START


def test_the_time_box_counts_from_the_start(tmp_path: Path) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=50)).isoformat()
    for timeout, deadline, most in ((100.0, None, 100), (100.0, soon, 50), (20.0, soon, 20)):
        Box(tmp_path / str(most)).place({**START, "timeout": timeout, "deadline": deadline})
        begun = FolderChannel(tmp_path / str(most)).ask("start", {"starter": "a"})
        assert most - 5 < begun["begin"]["remaining"] <= most
        assert begun["begin"]["info"]["deadline"] is not None


def test_a_line_counts_once_its_end_is_there(place: Path) -> None:
    channel, box = FolderChannel(place), Box(place)
    channel.ask("messages", message(1))
    with (place / "out.1").open("ab") as file:
        file.write(b'{"sequence": 2, ')
    assert [one["sequence"] for one in read(box)] == [1]
    assert box.lines() == []
    with (place / "out.1").open("ab") as file:
        file.write(b'"message": {}}\n\n')
    assert read(box) == [{"sequence": 2, "message": {}}, None]


def test_messages_that_were_read_are_removed_and_unread_ones_are_bounded(place: Path) -> None:
    channel, box = FolderChannel(place, piece=1_000, pieces=3), Box(place, piece=1_000)
    for number in range(1, 4):
        channel.ask("messages", message(number, 2_000))
    assert sorted(one.name for one in place.glob("out.*")) == ["out.1", "out.2", "out.3"]
    # The fourth has to wait until somebody reads, as a job waits for a node that does not.
    waiting = threading.Thread(target=channel.ask, args=("messages", message(4, 2_000)))
    waiting.start()
    assert not (place / "out.4").exists()
    assert [one["sequence"] for one in read(box)] == [1, 2, 3]
    waiting.join()
    assert [one["sequence"] for one in read(box)] == [4]
    assert sorted(one.name for one in place.glob("out.*")) == ["out.4"]
    # Another node begins with what is left; what it knows already it passes over by the numbers.
    assert [one["sequence"] for one in read(Box(place, piece=1_000))] == [4]


def test_a_disk_that_is_full_in_the_middle_of_a_line_is_waited_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = os.write, [0]

    def limited(file: int, data: bytes) -> int:
        calls[0] += 1
        if calls[0] == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:10])

    monkeypatch.setattr(os, "write", limited)
    FolderChannel(place).ask("messages", message(1))
    assert read(Box(place)) == [message(1)]


def test_a_disk_that_stays_full_keeps_nobody_whose_attempt_is_over(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [0]

    def once(file: int, data: bytes) -> int:
        calls[0] += 1
        if calls[0] > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return 1

    monkeypatch.setattr(os, "write", once)
    with pytest.raises(OverError, match="No space left"):
        FolderChannel(place).ask("messages", message(1), lambda: True)


def test_an_answer_and_a_stop_come_back(place: Path) -> None:
    channel, box = FolderChannel(place), Box(place)
    assert channel.ask("heartbeat", {}) == {"answer": None, "stop": None}
    box.answer(0, None, "cancel")
    assert channel.ask("heartbeat", {}) == {"answer": None, "stop": "cancel"}
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(channel.ask("messages", asked(1))))
    waiting.start()
    wait_until(lambda: asked(1) in read(Box(place)), message="the request")
    box.answer(1, {"number": 7}, None)
    waiting.join()
    assert answers == [{"answer": {"number": 7}, "stop": None}]


def test_a_request_that_nobody_answers_is_said_again(place: Path) -> None:
    channel = FolderChannel(place, patience=0.0)
    waiting = threading.Thread(target=channel.ask, args=("messages", asked(1)))
    waiting.start()
    wait_until(lambda: read(Box(place)).count(asked(1)) >= 2, message="it to be said again")
    Box(place).answer(1, {"number": 7}, None)
    waiting.join()


@pytest.mark.parametrize(
    "do",
    [
        lambda channel: channel.ask("start", {"starter": "a"}),
        lambda channel: channel.ask("heartbeat", {}),
        lambda channel: channel.ask("messages", message(1)),
        lambda channel: channel.ask("messages", asked(1)),
    ],
)
def test_code_whose_folder_is_removed_is_over(place: Path, do: Callable[[FolderChannel], object]) -> None:
    Box(place).remove()
    Box(place).remove()
    with pytest.raises(OverError, match="there is no folder"):
        do(FolderChannel(place))


def test_code_that_waits_for_an_answer_learns_that_its_folder_is_removed(place: Path) -> None:
    found: list[Exception] = []

    def ask() -> None:
        try:
            FolderChannel(place).ask("messages", asked(1))
        except OverError as error:
            found.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    wait_until((place / "out.1").exists, message="the request")
    Box(place).remove()
    waiting.join()
    assert "there is no folder" in str(found[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folder": "here"}, "folder must be an absolute path that nodes and engine share, got 'here'"),
        ({"folder": 5}, "folder must be an absolute path"),
        ({"secrets": True}, "secrets must be true or false, and is for executors with a folder, got True"),
        ({"folder": "/shared", "secrets": "yes"}, "secrets must be true or false"),
    ],
)
def test_a_folder_that_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        engine_of("command", {"command": {"launch": "true", **options}})


def test_a_folder_that_cannot_work_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faults() -> list[str]:
        found = engine_of("command", {"command": {"launch": "true", "folder": str(tmp_path / "shared")}}).check()
        return [one for one in found if one.startswith("folder")]

    assert faults() == [f"folder: there is no folder {tmp_path}/shared; make it where nodes and engine share it"]
    (tmp_path / "shared").mkdir()
    assert faults() == []
    (tmp_path / "shared").chmod(0o777)
    assert faults() == [
        f"folder: others may write to {tmp_path}/shared, and so replace what code gets; chmod go-w {tmp_path}/shared"
    ]
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert faults() == [f"folder: this user may not write to {tmp_path}/shared"]


def test_a_folder_that_was_never_made_or_is_removed_holds_nothing(tmp_path: Path, place: Path) -> None:
    never, removed = Box(tmp_path / "two"), Box(place)
    FolderChannel(place).ask("messages", message(1))
    assert len(read(removed)) == 1
    removed.remove()
    for box in (never, removed):
        assert box.skim() is News.NONE
        assert box.lines() == []
    # Without the file system nobody knows what is there.
    with pytest.raises(FileNotFoundError):
        Box(tmp_path / "absent" / "three").lines()


def test_a_file_of_messages_that_is_missing_is_a_fault(place: Path) -> None:
    box = Box(place)
    FolderChannel(place).ask("messages", message(1))
    assert len(box.lines()) == 1
    (place / "out.1").unlink()
    with pytest.raises(FileNotFoundError):
        box.lines()


folder_only = pytest.mark.parametrize("channel", CHANNELS[1:], indirect=True)
StartEngine = Callable[..., Engine]


@pytest.mark.costly
@pytest.mark.timeout(120)
@folder_only
def test_secrets_do_not_lie_in_a_folder_unless_that_is_allowed(remote_engine: StartEngine) -> None:
    engine = remote_engine(env={"CRONOGRAPH_SECRET_KEY": KEY})
    engine.set_secret("door", "open sesame")
    engine.trigger("spy", password={"$secret": "door"})
    (end,) = engine.ended("spy")
    assert (end["outcome"], end["errorType"]) == ("FAILED", "SubmissionFailed")
    assert "its arguments have the secret 'door', which would be kept in" in end["errorMessage"]
    assert "allow that by 'secrets = true' in [executors.command]" in end["errorMessage"]
    assert not list((engine.folder / "shared").iterdir())


@pytest.mark.costly
@pytest.mark.timeout(120)
@folder_only
def test_what_nobody_can_read_in_a_folder_fails_its_attempt(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", until="never")
    engine.begun()
    (out,) = (engine.folder / "shared").glob("*/out.1")
    with out.open("ab") as file:
        file.write(b"nonsense\n")
    (end,) = engine.ended("away")
    assert (end["outcome"], end["errorType"]) == ("FAILED", "RemoteProcessError")
    assert "its messages cannot be read: the body must be JSON" in end["errorMessage"]


@pytest.mark.costly
@pytest.mark.timeout(120)
@folder_only
def test_a_folder_that_cannot_be_made_fails_the_submission(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    (engine.folder / "shared").rmdir()
    engine.trigger("away")
    (end,) = engine.ended("away")
    assert (end["outcome"], end["errorType"]) == ("FAILED", "SubmissionFailed")
    assert "its folder cannot be made" in end["errorMessage"]


@pytest.mark.costly
@pytest.mark.timeout(120)
@folder_only
def test_a_request_and_an_end_wait_in_the_folder_for_a_node(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("saver", until="go")
    wait_until(lambda: engine.lines("begun"), message="the beginning")
    engine.server.kill()
    engine.touch("go")
    # It asks for an answer while there is no node, and for another one after a second node was killed.
    again = engine.restart()
    (end,) = engine.ended("saver", server=again)
    assert (end["outcome"], end["attempt"], end["value"]) == ("SUCCESS", 1, [1, 2, 3])
    wait_until(lambda: not list((engine.folder / "shared").iterdir()), message="its folder to be removed")


@pytest.mark.costly
@pytest.mark.timeout(120)
@folder_only
def test_messages_that_cannot_be_read_for_a_while_are_read_later(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", until="go")
    engine.begun()
    (out,) = (engine.folder / "shared").glob("*/out.1")
    aside = out.with_name("aside")
    # As a file system does that is not there for a moment.
    out.rename(aside)
    out.mkdir()
    wait_until(lambda: "cannot be read, again soon" in engine.server.output(), message="the box to be missed")
    out.rmdir()
    aside.rename(out)
    engine.touch("go")
    (end,) = engine.ended("away")
    assert (end["outcome"], end["attempt"], end["value"]) == ("SUCCESS", 1, "xxx")
    assert [one["message"] for one in end["logLines"]["lines"]] == ["begun"]


@pytest.mark.costly
@pytest.mark.timeout(120)
@folder_only
def test_an_attempt_whose_folder_is_gone_is_lost_and_has_its_next_one(remote_engine: StartEngine) -> None:
    """As after the death of a node between the note of a submission and the making of the folder."""
    hangs = "test -e noted || { rm -r shared/{name}; echo $$ >>started; touch noted; exec sleep 60; }; "
    engine = remote_engine(launch=hangs + LAUNCH, env={"CRONOGRAPH_REMOTE_LEASE": "2"})
    engine.trigger("flaky")
    wait_until((engine.folder / "noted").exists, message="the submission")
    engine.server.kill()
    again = engine.restart()
    ends = engine.ended("flaky", 2, server=again)
    assert [(one["attempt"], one["outcome"]) for one in ends] == [(2, "SUCCESS"), (1, "LOST")]
