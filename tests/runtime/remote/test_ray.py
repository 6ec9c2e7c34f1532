"""Jobs at a Ray cluster under real servers; with a real cluster if `RAY_ADDRESS` has its address (`make test-ray`)."""

import os
import sys
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.support.processes import ProcessStarter
from tests.support.ray import RayCluster, ray_at
from tests.support.remote import Engine
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.costly, pytest.mark.timeout(120)]

StartEngine = Callable[..., Engine]
REAL = os.environ.get("RAY_ADDRESS")


@pytest.fixture
def cluster(processes: ProcessStarter) -> Iterator[RayCluster]:
    with ray_at(processes.folder) as found:
        yield found


@pytest.fixture(params=["recorded", "real"] if REAL else ["recorded"])
def address(request: pytest.FixtureRequest, cluster: RayCluster) -> str:
    return REAL if REAL and request.param == "real" else cluster.address


@pytest.fixture
def on_ray(processes: ProcessStarter, database_url: str, address: str) -> StartEngine:
    """Starts a server whose jobs with `isolation="command"` become jobs of a cluster."""
    settings = {
        "kind": "ray", "python": sys.executable, "address": address,
        "runtime_env": {"env_vars": {"PYTHONPATH": str(processes.folder)}},
    }  # fmt: skip
    return lambda **env: Engine(processes, database_url, settings, **{"CRONOGRAPH_REMOTE_LEASE": "30", **env})


def test_a_job_says_how_it_ended_is_tried_again_and_forgotten(on_ray: StartEngine, address: str) -> None:
    engine = on_ray()
    engine.trigger("flaky")
    ends = engine.ended("flaky", 2)
    assert [(one["attempt"], one["outcome"]) for one in ends] == [(2, "SUCCESS"), (1, "FAILED")]
    assert ends[0]["value"] == {"first": 1, "checkpoint": {"attempt": 2, "before": {"attempt": 1, "before": None}}}
    attempts = engine.query("{ executions(last: 2) { nodes { remoteAttempt { name } } } }")["executions"]["nodes"]
    names = {one["remoteAttempt"]["name"] for one in attempts}
    listed = f"{address}/api/jobs/"
    wait_until(
        lambda: not names & {one["submission_id"] for one in httpx.get(listed).json()},
        message="the cluster to forget them",
    )


def test_a_cancelled_run_is_stopped(on_ray: StartEngine) -> None:
    engine = on_ray(CRONOGRAPH_REMOTE_LEASE="6")
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
