"""The executor `ray`: the jobs that it submits, what their states mean, and what it does when in doubt.

What needs no interference with the cluster is tried with a real one as well, if `RAY_ADDRESS` has its address: see
`make test-ray`.
"""

from typing import Any
from uuid import uuid4

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.base.resources import Resources
from cronograph.jobs.core.remote import EngineState, Seen
from cronograph.jobs.executors.finding import engine_of
from cronograph.jobs.executors.protocol import Place, Spec, SubmissionError
from cronograph.jobs.executors.ray import RayExecutor
from tests.support.ray import REAL, RayCluster
from tests.support.waiting import wait_until

CLUSTERS = ("recorded", "real") if REAL else ("recorded",)


class Speaking(RayExecutor):
    """Whose jobs execute something other than an attempt."""

    entrypoint = "sleep 60"

    def job(self, spec: Spec) -> dict[str, Any]:
        return {**super().job(spec), "entrypoint": self.entrypoint}


def spec(resources: Resources | None = None) -> Spec:
    name = f"cronograph-{uuid4().hex[:8]}-1-1"
    return Spec(name, {"CRONOGRAPH_ATTEMPT_TOKEN": "secret"}, resources or Resources(), "a job; rm", 1, 1)


def place(spec: Spec) -> Place:
    return Place(spec.name, spec.name)


@pytest.fixture(params=CLUSTERS)
def executor(request: pytest.FixtureRequest, ray_cluster: RayCluster) -> Speaking:
    return Speaking(name="ray", address=REAL if REAL and request.param == "real" else ray_cluster.address)


def state(executor: RayExecutor, of: Spec) -> Seen:
    return executor.find([place(of)]).get(of.name, Seen(EngineState.UNKNOWN))


def comes_to(executor: RayExecutor, of: Spec, wanted: EngineState) -> Seen:
    wait_until(lambda: state(executor, of).state is wanted, message=f"the state {wanted.value}")
    return state(executor, of)


def forgotten(executor: RayExecutor, of: Spec) -> None:
    assert not executor.forget(place(of))
    wait_until(lambda: executor.forget(place(of)), message="it to stay deleted")


def test_a_job_has_all_that_its_attempt_asks_for() -> None:
    environment = {"working_dir": "/shop", "env_vars": {"LANG": "C"}}
    executor = RayExecutor(name="ray", python="/opt/python", runtime_env=environment)
    one = spec(Resources(1.5, 2**30, 2, "shop:1", "night", {"tpu": "4"}))
    assert executor.job(one) == {
        "entrypoint": f"/opt/python -m cronograph.remote {one.name}",
        "submission_id": one.name,
        "runtime_env": {
            "working_dir": "/shop",
            "image_uri": "shop:1",
            "env_vars": {"LANG": "C", "CRONOGRAPH_ATTEMPT_TOKEN": "secret"},
        },
        "metadata": {"job": "a job; rm", "run": "1"},
        "entrypoint_num_cpus": 1.5,
        "entrypoint_num_gpus": 2,
        "entrypoint_memory": 2**30,
        "entrypoint_resources": {"tpu": 4.0},
    }
    with pytest.raises(SubmissionError, match="option tpu: must be an amount of a resource of the cluster"):
        executor.submit(spec(Resources(options={"tpu": "many"})))


@pytest.mark.parametrize("address", ["ray-head", "ftp://ray-head", 5, ""])
def test_an_address_that_is_none_is_refused(address: Any) -> None:
    with pytest.raises(ConfigurationError, match="executor 'ray': address must be that of the cluster's dashboard"):
        engine_of("ray", {"ray": {"address": address}})


@pytest.mark.costly
def test_a_job_runs_ends_and_is_forgotten(executor: Speaking) -> None:
    executor.entrypoint = "sh -c 'exit 3'"
    one = spec()
    assert state(executor, one) == Seen(EngineState.UNKNOWN)
    assert executor.look(place(one)) is None
    assert executor.submit(one) == one.name
    assert executor.look(Place(one.name, None)) == one.name
    ended = comes_to(executor, one, EngineState.ENDED)
    assert ended.text == "Job entrypoint command failed with exit code 3"
    forgotten(executor, one)
    assert state(executor, one) == Seen(EngineState.UNKNOWN)
    executor.entrypoint = "true"
    other = spec()
    executor.submit(other)
    assert comes_to(executor, other, EngineState.ENDED).text == "Job finished successfully."


@pytest.mark.costly
def test_a_job_that_is_there_already_was_submitted_before(executor: Speaking) -> None:
    one = spec()
    assert executor.submit(one) == executor.submit(one) == one.name
    assert comes_to(executor, one, EngineState.RUNNING) == Seen(EngineState.RUNNING)
    # What runs cannot be deleted: it is stopped, and deleted later.
    assert not executor.forget(place(one))
    assert comes_to(executor, one, EngineState.ENDED).text == "Job was intentionally stopped."
    executor.cancel(place(one))
    forgotten(executor, one)
    assert executor.look(place(one)) is None
    executor.cancel(place(one))


@pytest.mark.costly
def test_what_waits_for_a_machine_is_pending(executor: Speaking) -> None:
    one = spec(Resources(gpus=3))
    executor.submit(one)
    assert "may be waiting for resources" in comes_to(executor, one, EngineState.PENDING).text
    executor.cancel(place(one))
    # It is stopped once it has a machine, and deleted after that.
    assert not executor.forget(place(one))
    assert state(executor, one).state is EngineState.PENDING


def test_a_request_that_is_no_job_has_certainly_not_been_taken(executor: Speaking) -> None:
    executor.entrypoint = 5  # type: ignore[assignment]
    with pytest.raises(SubmissionError, match="400: TypeError: entrypoint must be a string, got <class 'int'>"):
        executor.submit(spec())


def test_a_lost_answer_leaves_open_whether_it_was_taken_and_a_look_says_it(ray_cluster: RayCluster) -> None:
    executor = Speaking(name="ray", address=ray_cluster.address)
    ray_cluster.loses_answers = True
    one = spec()
    with pytest.raises(Exception, match="disconnected") as caught:
        executor.submit(one)
    assert not isinstance(caught.value, SubmissionError)
    assert executor.look(Place(one.name, None)) == one.name


def test_a_job_whose_machine_is_gone_is_lost(ray_cluster: RayCluster) -> None:
    executor = Speaking(name="ray", address=ray_cluster.address)
    one = spec()
    executor.submit(one)
    ray_cluster.lose_machine(one.name)
    seen = state(executor, one)
    assert seen.state is EngineState.GONE
    assert seen.text.startswith("Unexpected error occurred: The actor died unexpectedly")


def test_it_says_whether_the_cluster_answers(executor: Speaking) -> None:
    assert executor.check() == []
    (fault,) = RayExecutor(name="ray", address="http://127.0.0.1:1").check()
    assert fault.startswith("the cluster at http://127.0.0.1:1 does not answer: ")
