"""Jobs whose pods are local processes, under real servers: how they end, and who looks after them."""

import os
import signal
from collections.abc import Callable

import pytest

from tests.support.kubernetes import Cluster
from tests.support.remote import Engine
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.costly, pytest.mark.timeout(120), pytest.mark.parametrize("channel", ["kubernetes"], indirect=True),
]  # fmt: skip

StartEngine = Callable[..., Engine]


def test_a_pod_says_how_its_job_ended_and_its_job_is_deleted(remote_engine: StartEngine, pods: Cluster) -> None:
    engine = remote_engine()
    engine.trigger("away", size=900_000)
    engine.trigger("flaky")
    engine.trigger("away", how="raise")
    ends = engine.ended("away", 2)
    assert {(one["outcome"], one["errorType"]) for one in ends} == {("SUCCESS", None), ("FAILED", "ValueError")}
    assert {len(one["value"] or "") for one in ends} == {900_000, 0}
    assert [(one["attempt"], one["outcome"]) for one in engine.ended("flaky", 2)] == [(2, "SUCCESS"), (1, "FAILED")]
    wait_until(lambda: not pods.objects, message="the cluster to forget them")


def test_a_pod_that_dies_without_a_word_says_its_exit_code(remote_engine: StartEngine) -> None:
    engine = remote_engine(env={"CRONOGRAPH_REMOTE_LEASE": "2"})
    engine.trigger("away", how="exit")
    (end,) = engine.ended("away")
    assert (end["outcome"], end["errorType"]) == ("FAILED", "RemoteProcessError")
    assert "Error (exit code 3)" in end["errorMessage"]


def test_a_pod_that_is_taken_away_goes_back_to_the_queue(remote_engine: StartEngine, pods: Cluster) -> None:
    engine = remote_engine(env={"CRONOGRAPH_REMOTE_LEASE": "2"})
    engine.trigger("away", until="go", how="deaf")
    engine.begun()
    # It is killed at once, as a machine that is lost does it: its code says nothing any more.
    (job,) = [name for kind, _, name in pods.objects if kind == "jobs"]
    pid = pods.processes()[0]
    pods.evict(job)
    os.killpg(pid, signal.SIGKILL)
    engine.begun(2)
    engine.touch("go")
    ends = engine.ended("away", 2)
    assert ends[0]["outcome"] == "SUCCESS"
    assert "took cronograph-" in ends[1]["errorMessage"]
    # The job has no retries: this was no failure.
    assert (ends[1]["outcome"], ends[0]["attempt"]) == ("HANDED_BACK", 2)


def test_a_pod_outlives_its_node_and_is_looked_after_by_the_next(remote_engine: StartEngine, pods: Cluster) -> None:
    engine = remote_engine()
    engine.trigger("away", until="go")
    engine.begun()
    engine.server.process.kill()
    engine.server.process.wait()
    engine.touch("go")
    engine.restart()
    (end,) = engine.ended("away")
    assert (end["outcome"], end["attempt"]) == ("SUCCESS", 1)
    assert len(engine.begun()) == 1
    wait_until(lambda: not pods.objects, message="the cluster to forget it")


def test_an_answer_that_is_lost_starts_no_second_pod(remote_engine: StartEngine, pods: Cluster) -> None:
    pods.loses_answers = True
    engine = remote_engine()
    engine.trigger("away", until="go")
    engine.begun()
    pods.loses_answers = False
    handle = "{ executions(last: 1) { nodes { remoteAttempt { handle engineState } } } }"
    wait_until(
        lambda: engine.query(handle)["executions"]["nodes"][0]["remoteAttempt"]["handle"] is not None,
        message="the Job to be found by its name",
    )
    engine.touch("go")
    (end,) = engine.ended("away")
    assert (end["outcome"], end["attempt"]) == ("SUCCESS", 1)
    assert len(engine.begun()) == 1


def test_a_cancelled_run_ends_its_pod(remote_engine: StartEngine, pods: Cluster) -> None:
    engine = remote_engine(env={"CRONOGRAPH_REMOTE_LEASE": "3"})
    engine.trigger("away", until="never", how="deaf")
    engine.begun()
    run = engine.query("{ runs(last: 1) { nodes { id } } }")["runs"]["nodes"][0]["id"]
    engine.query("mutation($id: ID!) { cancelRun(input: { id: $id }) { errors { message } } }", id=run)
    (end,) = engine.ended("away")
    assert end["outcome"] == "CANCELLED"
    wait_until(lambda: not pods.processes(), message="the pod to end")
