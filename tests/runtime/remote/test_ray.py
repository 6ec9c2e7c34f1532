"""Jobs at a Ray cluster under real servers; with a real cluster if `RAY_ADDRESS` has its address (`make test-ray`)."""

from collections.abc import Callable

import httpx
import pytest

from tests.support.remote import Engine
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.costly, pytest.mark.timeout(120), pytest.mark.parametrize("channel", ["ray"], indirect=True),
]  # fmt: skip

StartEngine = Callable[..., Engine]
LEASE = {"CRONOGRAPH_REMOTE_LEASE": "30"}


def test_a_job_says_how_it_ended_is_tried_again_and_forgotten(remote_engine: StartEngine, ray_address: str) -> None:
    engine = remote_engine(env=LEASE)
    engine.trigger("flaky")
    ends = engine.ended("flaky", 2)
    assert [(one["attempt"], one["outcome"]) for one in ends] == [(2, "SUCCESS"), (1, "FAILED")]
    assert ends[0]["value"] == {"first": 1, "checkpoint": {"attempt": 2, "before": {"attempt": 1, "before": None}}}
    attempts = engine.query("{ executions(last: 2) { nodes { remoteAttempt { name } } } }")["executions"]["nodes"]
    names = {one["remoteAttempt"]["name"] for one in attempts}
    listed = f"{ray_address}/api/jobs/"
    wait_until(
        lambda: not names & {one["submission_id"] for one in httpx.get(listed).json()},
        message="the cluster to forget them",
    )


def test_a_cancelled_run_is_stopped(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", until="/nowhere/at/all")
    begun = "{ executions(last: 1) { nodes { run { id } remoteAttempt { startedAt } } } }"

    def run() -> str | None:
        found = engine.query(begun)["executions"]["nodes"]
        return found[0]["run"]["id"] if found and (found[0]["remoteAttempt"] or {}).get("startedAt") else None

    run_id = wait_until(run, message="its code to begin")
    engine.query("mutation($id: ID!) { cancelRun(input: { id: $id }) { errors { message } } }", id=run_id)
    (end,) = engine.ended("away")
    assert end["outcome"] == "CANCELLED"
    assert "asked to leave" in str(end["logLines"])
