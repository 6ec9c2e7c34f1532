"""The executor `kubernetes`: the Jobs that it makes, what their states mean, and what it does when in doubt."""

import json
import os
import signal
import sys
from typing import Any

import kubernetes_validate
import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.base.resources import Resources
from cronograph.jobs.core.remote import EngineState, Seen
from cronograph.jobs.executors.finding import engine_of
from cronograph.jobs.executors.kubernetes import KubernetesExecutor
from cronograph.jobs.executors.protocol import Place, Spec, SubmissionError
from tests.support.kubernetes import Cluster, RefusedError
from tests.support.ports import free_port
from tests.support.waiting import wait_until

SLEEPER = ["sleep", "60"]
ENVIRONMENT = {"CRONOGRAPH_ATTEMPT_TOKEN": "secret"}


def spec(number: int = 1, resources: Resources | None = None, timeout: float | None = None) -> Spec:
    return Spec(f"cronograph-{number}-1", ENVIRONMENT, resources or Resources(), "a job; rm", number, 1, timeout)


def place(number: int = 1) -> Place:
    return Place(f"cronograph-{number}-1", f"cronograph-{number}-1")


class Sleeping(KubernetesExecutor):
    """Whose pods execute something other than jobs."""

    command: list[str] = SLEEPER

    def manifest(self, spec: Spec) -> dict[str, Any]:
        made = super().manifest(spec)
        made["spec"]["template"]["spec"]["containers"][0]["command"] = self.command
        return made


@pytest.fixture
def executor(pods: Cluster) -> Sleeping:
    return made(pods)


def made(cluster: Cluster, **settings: Any) -> Sleeping:
    given: dict[str, Any] = {"image": "app:1", **settings}
    return Sleeping(name="kubernetes", kubeconfig=str(cluster.folder / "kubeconfig"), **given)


def state(executor: KubernetesExecutor, number: int = 1) -> Seen | None:
    return executor.find([place(number)]).get(f"cronograph-{number}-1")


def test_a_job_has_all_that_its_attempt_asks_for_and_is_valid() -> None:
    template = {
        "metadata": {"labels": {"team": "physics"}},
        "spec": {
            "nodeSelector": {"disk": "fast"},
            "containers": [{"name": "work", "env": [{"name": "LANG", "value": "C"}], "volumeMounts": []}],
        },
    }
    executor = KubernetesExecutor(
        name="kubernetes", templates={"gpu": template}, image="app:1", service_account="runner"
    )
    resources = Resources(1.5, 2**30, 2, "app:2", "night", {"template": "gpu"})
    job = executor.manifest(spec(7, resources, timeout=60.0))
    assert job["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "cronograph", "kueue.x-k8s.io/queue-name": "night",
    }  # fmt: skip
    assert job["spec"]["backoffLimit"] == 0
    pod = job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["activeDeadlineSeconds"] == 661
    assert pod["serviceAccountName"] == "runner"
    assert pod["nodeSelector"] == {"disk": "fast"}
    (container,) = pod["containers"]
    assert container["name"] == "work"
    assert container["image"] == "app:2"
    assert container["command"] == ["python", "-m", "cronograph.remote", "cronograph-7-1"]
    assert [one["name"] for one in container["env"]] == ["LANG", "CRONOGRAPH_ATTEMPT_TOKEN"]
    assert container["resources"] == {
        "requests": {"cpu": "1.5", "memory": "1073741824"}, "limits": {"memory": "1073741824", "nvidia.com/gpu": "2"},
    }  # fmt: skip
    assert job["spec"]["template"]["metadata"]["labels"] == {
        "team": "physics",
        "app.kubernetes.io/managed-by": "cronograph",
    }
    for one in (job, executor.manifest(spec())):
        kubernetes_validate.validate(one, "1.31", strict=True)
    assert "activeDeadlineSeconds" not in executor.manifest(spec())["spec"]["template"]["spec"]


def test_what_it_cannot_make_a_job_of_is_certainly_not_taken() -> None:
    bare = KubernetesExecutor(name="kubernetes")
    with pytest.raises(SubmissionError, match="no image"):
        bare.submit(spec())
    with pytest.raises(SubmissionError, match="option template: 'gpu' is not in the settings of the executor"):
        bare.submit(spec(resources=Resources(options={"template": "gpu"})))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"template": "x"}, "template must be a table like a pod template, got 'x'"),
        ({"templates": {"gpu": {"spec": []}}}, r"templates\.gpu must be a table like a pod template"),
        ({"imgae": "x"}, "unexpected keyword argument 'imgae'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        engine_of("kubernetes", {"kubernetes": settings})


def test_its_client_is_only_needed_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    # As the import system says of a package that is not installed.
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'cronograph\[kubernetes\]'"):
        engine_of("kubernetes", {})


@pytest.mark.costly
def test_a_job_that_is_there_already_was_submitted_before(pods: Cluster, executor: Sleeping) -> None:
    assert executor.submit(spec()) == executor.submit(spec()) == "cronograph-1-1"
    assert len(pods.processes()) == 1


@pytest.mark.costly
def test_a_lost_answer_leaves_open_whether_it_was_taken_and_a_look_says_it(pods: Cluster, executor: Sleeping) -> None:
    assert executor.look(place()) is None
    pods.loses_answers = True
    with pytest.raises(Exception, match="Connection") as caught:
        executor.submit(spec())
    assert not isinstance(caught.value, SubmissionError)
    assert executor.look(Place("cronograph-1-1", None)) == "cronograph-1-1"


@pytest.mark.costly
def test_a_cluster_that_refuses_it_has_certainly_not_taken_it(pods: Cluster, executor: Sleeping) -> None:
    pods.refuses = RefusedError(403, "Forbidden", "exceeded quota: count/jobs.batch=1")
    with pytest.raises(SubmissionError, match=r"exceeded quota: count/jobs\.batch=1"):
        executor.submit(spec())
    pods.refuses = RefusedError(429, "TooManyRequests", "later")
    with pytest.raises(Exception, match=r"TooManyRequests|429") as caught:
        executor.submit(spec())
    assert not isinstance(caught.value, SubmissionError)


@pytest.mark.costly
def test_states_are_followed_from_the_first_list_on(pods: Cluster, executor: Sleeping) -> None:
    assert state(executor) is None
    executor.submit(spec())
    assert state(executor) == Seen(EngineState.RUNNING)
    executor.submit(spec(2))
    assert executor.find([place(), place(2)]).keys() == {"cronograph-1-1", "cronograph-2-1"}
    lists = [one for one in pods.asked if "/jobs?" in one and "watch" not in one]
    assert len(lists) == 1
    executor.cancel(place())
    executor.cancel(place())
    assert state(executor) is None
    wait_until(lambda: len(pods.processes()) == 1)


@pytest.mark.costly
def test_a_cluster_that_has_forgotten_the_place_is_asked_for_all_again(pods: Cluster, executor: Sleeping) -> None:
    executor.submit(spec())
    pods.page_size = 1
    executor.submit(spec(2))
    executor.find([place()])
    pods.compact()
    executor.cancel(place())
    assert executor.find([place(), place(2)]) == {"cronograph-2-1": Seen(EngineState.RUNNING)}
    assert sum("continue=1" in one for one in pods.asked) == 1


@pytest.mark.costly
def test_what_waits_says_why(pods: Cluster, executor: Sleeping) -> None:
    pods.schedules = False
    executor.submit(spec())
    words = "Unschedulable 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    assert state(executor) == Seen(EngineState.PENDING, words)
    pods.schedule()
    assert state(executor) == Seen(EngineState.RUNNING)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("command", "end"),
    [
        (["true"], Seen(EngineState.ENDED, "Complete Completed (exit code 0)")),
        (
            ["sh", "-c", "exit 3"],
            Seen(
                EngineState.ENDED,
                "BackoffLimitExceeded Job has reached the specified backoff limit Error (exit code 3)",
            ),
        ),
    ],
)
def test_what_has_ended_says_how(executor: Sleeping, command: list[str], end: Seen) -> None:
    executor.command = command
    executor.submit(spec())
    wait_until(lambda: (state(executor) or Seen(EngineState.UNKNOWN)).state is EngineState.ENDED)
    assert state(executor) == end


@pytest.mark.costly
def test_a_pod_that_the_cluster_takes_away_is_evicted(pods: Cluster, executor: Sleeping) -> None:
    executor.submit(spec())
    pods.evict("cronograph-1-1")
    wait_until(lambda: (state(executor) or Seen(EngineState.UNKNOWN)).state is EngineState.EVICTED)
    found = state(executor)
    assert found is not None
    assert "DisruptionTarget" in found.text


@pytest.mark.costly
def test_a_pod_that_the_cluster_kills_has_ended(pods: Cluster, executor: Sleeping) -> None:
    executor.submit(spec())
    os.killpg(pods.processes()[0], signal.SIGKILL)
    wait_until(lambda: (state(executor) or Seen(EngineState.UNKNOWN)).state is EngineState.ENDED)
    assert "exit code 137" in (state(executor) or Seen(EngineState.UNKNOWN)).text


@pytest.mark.parametrize("raw", [b"<html>forbidden by the proxy</html>", b"[]", b'{"reason": "Forbidden"}', b""])
def test_a_refusal_that_is_no_document_of_the_cluster_is_said_by_its_status(
    pods: Cluster, executor: Sleeping, raw: bytes
) -> None:
    pods.refuses = RefusedError(403, "Forbidden", "no", raw)
    with pytest.raises(SubmissionError) as caught:
        executor.submit(spec())
    assert str(caught.value) == "Forbidden"


@pytest.mark.costly
@pytest.mark.parametrize("code", [403, 500])
def test_a_watch_that_fails_says_nothing_of_any_attempt_and_goes_on_later(
    pods: Cluster, executor: Sleeping, code: int
) -> None:
    executor.submit(spec())
    assert state(executor) == Seen(EngineState.RUNNING)
    executor.submit(spec(2))
    pods.refuses_watches = RefusedError(code, "Broken", "no watch today")
    with pytest.raises(Exception, match="no watch today"):
        state(executor, 2)
    pods.refuses_watches = None
    pods.watch_fault = RefusedError(code, "Broken", "it is over")
    with pytest.raises(ConnectionError, match="executor 'kubernetes': it is over"):
        state(executor, 2)
    pods.watch_fault = None
    assert state(executor, 2) == Seen(EngineState.RUNNING)
    assert len([one for one in pods.asked if "/jobs?" in one and "watch" not in one]) == 1


def test_a_cluster_that_does_not_answer_says_nothing_of_any_attempt(pods: Cluster) -> None:
    executor = made(pods, namespace="elsewhere")
    with pytest.raises(Exception, match="404"):
        executor.find([place()])
    # A namespace that is not there has no such Job.
    assert executor.look(place()) is None


def test_it_says_what_is_missing(pods: Cluster) -> None:
    assert made(pods).check() == []
    elsewhere = made(pods, namespace="elsewhere", image=None).check()
    assert elsewhere == [
        'the cluster: namespaces "elsewhere" not found',
        "image: is not set, so each job has to name its own",
    ]
    assert not [one for one in pods.objects if one[0] == "jobs"]
    config = json.loads((pods.folder / "kubeconfig").read_text())
    config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{free_port()}"
    (pods.folder / "kubeconfig").write_text(json.dumps(config))
    assert "refused" in made(pods, timeout=1.0).check()[0]
