"""Jobs at an engine of real servers: what comes back, what stops them, and who looks after them when a node dies."""

import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tests.support.processes import ProcessStarter
from tests.support.remote import CHANNELS, KEY, LAUNCH, SHARED, Engine
from tests.support.waiting import wait_until

StartEngine = Callable[..., Engine]

pytestmark = [
    pytest.mark.costly, pytest.mark.timeout(120), pytest.mark.parametrize("channel", CHANNELS, indirect=True),
]  # fmt: skip


def messages(execution: dict[str, Any]) -> list[str]:
    return [one["message"] for one in execution["logLines"]["lines"]]


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_what_a_job_at_an_engine_says_and_returns_is_kept_like_that_of_any_job(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", size=900_000)
    (end,) = engine.ended("away")
    assert (end["outcome"], end["attempt"], end["recordsProcessed"]) == ("SUCCESS", 1, 7)
    assert end["value"] == "x" * 900_000
    assert end["progress"] == {"done": 1, "message": "a third"}
    assert messages(end) == ["begun"]
    # Once its end is stored the engine forgets it, and its folder is removed.
    wait_until(lambda: engine.lines("forgotten") == engine.lines("started"), message="the engine to forget it")
    shared = engine.folder / SHARED
    wait_until(lambda: not shared.exists() or not list(shared.iterdir()), message="its folder to be removed")
    assert engine.lines("cancelled") == []


@pytest.mark.parametrize(
    ("how", "outcome", "error_type", "words"),
    [
        ("raise", "FAILED", "ValueError", "no luck"),
        ("give up", "FAILED", "PermanentFailure", "never"),
        ("exit", "FAILED", "RemoteProcessError", "ended before its job ended: no longer listed"),
    ],
)
def test_a_failure_at_an_engine_says_what_it_was(
    remote_engine: StartEngine, how: str, outcome: str, error_type: str, words: str
) -> None:
    engine = remote_engine(env={"CRONOGRAPH_REMOTE_LEASE": "2"})
    engine.trigger("away", how=how)
    (end,) = engine.ended("away")
    assert (end["outcome"], end["errorType"]) == (outcome, error_type)
    assert words in end["errorMessage"]
    assert messages(end)[0] == "begun"


def test_a_retry_finds_the_steps_and_the_checkpoint_of_the_attempt_before(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("flaky")
    second, first = engine.ended("flaky", 2)
    assert (first["outcome"], first["errorMessage"]) == ("FAILED", "once")
    assert second["value"] == {"first": 1, "checkpoint": {"attempt": 2, "before": {"attempt": 1, "before": None}}}


def test_a_job_at_an_engine_enqueues_waits_for_runs_and_sleeps(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("parent")
    engine.trigger("sleeper")
    parent = engine.ended("parent", 2)
    assert [one["outcome"] for one in parent] == ["SUCCESS", "SUSPENDED"]
    assert parent[0]["value"]["value"] == "xxxx"
    # Each attempt enqueued one of its own, and the end of the last one another.
    sizes = sorted(len(one["value"]) for one in engine.ended("away", 4))
    assert sizes == [1, 1, 2, 4]
    slept = engine.ended("sleeper", 2)
    assert [(one["outcome"], one["value"]) for one in slept] == [("SUCCESS", 2), ("SUSPENDED", None)]


@pytest.mark.parametrize(("how", "said"), [("", True), ("deaf", False)])
def test_a_cancel_reaches_the_code_and_one_that_does_not_listen_is_ended_at_the_engine(
    remote_engine: StartEngine, how: str, said: bool
) -> None:
    engine = remote_engine()
    engine.trigger("away", until="never", how=how)
    (pid,) = engine.begun()
    run = engine.query('{ runs(first: 1, filter: { jobName: { eq: "away" } }) { nodes { id } } }')["runs"]["nodes"][0]
    cancel = "mutation($id: ID!) { cancelRun(input: { id: $id }) { errors { message } } }"
    assert engine.query(cancel, id=run["id"])["cancelRun"]["errors"] == []
    (end,) = engine.ended("away")
    assert end["outcome"] == "CANCELLED"
    assert ("asked to leave" in messages(end)) is said
    wait_until(lambda: gone(int(pid)), message="the process to end")
    assert bool(engine.lines("cancelled")) is not said


def test_the_node_is_killed_and_its_successor_goes_on_with_the_same_attempt(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", until="go")
    (pid,) = engine.begun()
    engine.server.kill()
    # Its code goes on, and has an end while there is no server at all.
    assert psutil.pid_exists(int(pid))
    engine.touch("go")
    again = engine.restart()
    (end,) = engine.ended("away", server=again)
    assert (end["outcome"], end["attempt"]) == ("SUCCESS", 1)
    assert messages(end) == ["begun"]
    assert len(engine.begun()) == len(engine.lines("started")) == 1


def test_a_node_that_stops_leaves_its_remote_work_alone(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", until="go")
    (pid,) = engine.begun()
    assert engine.server.stop() == 0
    assert not gone(int(pid))
    again = engine.restart()
    engine.touch("go")
    (end,) = engine.ended("away", server=again)
    assert (end["outcome"], end["attempt"], messages(end)) == ("SUCCESS", 1, ["begun"])
    assert "looks after run" in again.output()


def test_what_was_submitted_when_the_node_died_is_found_by_its_name_and_not_submitted_again(
    remote_engine: StartEngine,
) -> None:
    # The launcher has started it, and the node dies before it hears the handle.
    engine = remote_engine(launch="nohup {command} >>engine.log 2>&1 & echo $! >>started; touch launched; sleep 60")
    engine.trigger("away", until="go")
    wait_until((engine.folder / "launched").exists, message="the launcher to start it")
    engine.server.kill()
    again = engine.restart()
    (pid,) = engine.begun()
    wait_until(lambda: f": {pid}" in again.output(), message="the successor to find its handle")
    engine.touch("go")
    (end,) = engine.ended("away", server=again)
    assert (end["outcome"], end["attempt"]) == ("SUCCESS", 1)
    assert len(engine.begun()) == 1


def test_an_engine_that_starts_it_twice_has_it_executed_once(remote_engine: StartEngine) -> None:
    engine = remote_engine(launch=f"{LAUNCH} >/dev/null; {LAUNCH}")
    engine.trigger("away", until="go")
    engine.begun()
    wait_until(
        lambda: "nother process has begun this attempt" in (engine.folder / "engine.log").read_text(),
        message="the second process to leave",
    )
    engine.touch("go")
    (end,) = engine.ended("away")
    assert end["outcome"] == "SUCCESS"
    assert len(engine.begun()) == 1


def test_a_launcher_that_fails_fails_the_attempt_with_what_it_said(remote_engine: StartEngine) -> None:
    engine = remote_engine(launch="echo no quota left >&2; exit 3")
    engine.trigger("away")
    (end,) = engine.ended("away")
    assert end["errorType"] == "SubmissionFailed"
    assert end["errorMessage"] == "command has not taken it: 'sh' ended with status 3: no quota left"


def test_what_neither_speaks_nor_is_listed_for_a_lease_is_lost(remote_engine: StartEngine) -> None:
    engine = remote_engine(find="true", complete=False)
    engine.trigger("away", until="never")
    (pid,) = engine.begun()
    os.kill(int(pid), signal.SIGSTOP)
    (end,) = engine.ended("away")
    assert (end["outcome"], end["errorType"]) == ("LOST", "RemoteLost")
    assert f"command does not know {pid}, and its code was last heard at" in end["errorMessage"]
    # What was stopped and goes on later is heard no more: it leaves by itself, or was ended already.
    wait_until(lambda: engine.lines("cancelled") == [pid], message="the engine to be asked to end it")


def test_a_secret_comes_with_the_start_and_lies_nowhere_else(
    remote_engine: StartEngine, processes: ProcessStarter, channel: str
) -> None:
    allowed = {"secrets": True} if channel == "folder" else {}
    engine = remote_engine(launch=f"env >environment; {LAUNCH}", env={"CRONOGRAPH_SECRET_KEY": KEY}, **allowed)
    engine.set_secret("door", "open sesame")
    engine.trigger("spy", password={"$secret": "door"})
    (end,) = engine.ended("spy")
    names = ["CRONOGRAPH_ATTEMPT_NAME", "CRONOGRAPH_ATTEMPT_NUMBER", "CRONOGRAPH_ATTEMPT_RUN"]
    assert end["value"] == {"length": len("open sesame"), "environment": names}
    assert messages(end) == ["it is [secret door]"]
    assert "open sesame" not in (processes.folder / "environment").read_text()


def test_a_time_box_counts_from_the_start_of_the_code(remote_engine: StartEngine) -> None:
    engine = remote_engine(launch=f"sleep 1.5; {LAUNCH}")
    engine.trigger("boxed", until="never")
    (end,) = engine.ended("boxed")
    assert (end["outcome"], messages(end)[-1]) == ("TIMED_OUT", "asked to leave")


# SQLite has one process.
@pytest.mark.parametrize("database_url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_another_node_goes_on_with_what_a_killed_one_looked_after(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", until="go")
    engine.begun()
    other = engine.serve()
    engine.server.kill()
    wait_until(lambda: "looks after run" in other.output(), message="the other node to take over")
    engine.restart()
    engine.touch("go")
    (end,) = engine.ended("away", server=other)
    assert (end["outcome"], end["attempt"]) == ("SUCCESS", 1)
