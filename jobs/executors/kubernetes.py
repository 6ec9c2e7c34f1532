"""The executor ``kubernetes``: a Job with one pod for each attempt, by the official client.

A cluster is asked once for all Jobs of this executor. After that only for their changes, by a watch that is over after
a second: so the cost of a look does not grow with the number of Jobs at work. When the cluster has forgotten where the
last look ended (410), it is asked for all of them again.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

from ..core.base.errors import ConfigurationError
from ..core.base.resources import Resources
from ..core.remote import EngineState, Seen
from .protocol import Place, Spec, SubmissionError

LABEL: Final = "app.kubernetes.io/managed-by"
LABELED: Final = "cronograph"
_SELECTOR: Final = f"{LABEL}={LABELED}"
_OF_JOB: Final = "batch.kubernetes.io/job-name"
_QUEUE: Final = "kueue.x-k8s.io/queue-name"
_TAKEN_AWAY: Final = {
    "rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}
"""The policy by which a Job says that its pod was taken away, even if that is gone."""
PAGE: Final = 500
"""Jobs in one answer."""
_WATCH_SECONDS: Final = 1
"""The shortest time for which a cluster watches."""
_ASKED_ABOUT: Final = 50
"""Pods of Jobs that do not run that are asked for with one call."""
_NOT_FOUND, _CONFLICT, _GONE, _TOO_MANY = 404, 409, 410, 429
_WAITING: Final = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons of containers that will begin by themselves."""


@dataclass(kw_only=True, eq=False)
class KubernetesExecutor:
    """Hands attempts to a cluster.

    Attributes:
        namespace: The namespace of its Jobs.
        image: The image of jobs that name none.
        service_account: The account of the pods.
        template: The pod template into which the container of the attempt is put, as in a manifest (``metadata``,
            ``spec``); its first container has the code.
        templates: Further ones by name, for jobs with the option ``template``.
        python: The interpreter in the image.
        gpu: The name of the resource that a GPU is.
        grace: Seconds beyond the time box after which the cluster itself ends a pod.
        ttl: Seconds after which the cluster deletes an ended Job that nobody has deleted.
        kubeconfig: The file with the address of the cluster; that of ``kubectl`` unless given, within a pod the cluster
            around it.
        context: The context of that file.
        timeout: Seconds that a call may take.
    """

    name: str
    namespace: str = "default"
    image: str | None = None
    service_account: str | None = None
    template: Mapping[str, Any] = field(default_factory=dict[str, Any])
    templates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    python: str = "python"
    gpu: str = "nvidia.com/gpu"
    grace: float = 600.0
    ttl: int = 86_400
    kubeconfig: str | None = None
    context: str | None = None
    timeout: float = 30.0
    _looking: threading.Lock = field(init=False, default_factory=threading.Lock)
    _jobs: dict[str, Any] = field(init=False, default_factory=dict[str, Any])
    _version: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Judge the settings.

        Raises:
            ConfigurationError: a template is none, or the client is not installed.
        """
        templates: dict[str, Any] = {f"templates.{key}": one for key, one in self.templates.items()}
        for key, one in {"template": self.template, **templates}.items():
            if not isinstance(one, Mapping) or not isinstance(cast("Any", one).get("spec", {}), Mapping):
                raise ConfigurationError(
                    f"executor '{self.name}': {key} must be a table like a pod template, got {one!r:.60}"
                )
        if find_spec("kubernetes") is None:
            raise ConfigurationError(
                f"executor '{self.name}': needs the client of Kubernetes; install it by "
                "pip install 'cronograph[kubernetes]'"
            )

    def submit(self, spec: Spec) -> str:
        """Create the Job of an attempt; return its name."""
        body = self.manifest(spec)
        try:
            self._api.create_namespaced_job(self.namespace, body, _request_timeout=self.timeout)
        except self._refused as error:
            status = cast("Any", error).status or 0
            if status == _CONFLICT:
                # An earlier request was carried out, and its answer was lost.
                return spec.name
            if _TOO_MANY > status >= 400:
                raise SubmissionError(_reason(error)) from error
            raise
        return spec.name

    def manifest(self, spec: Spec) -> dict[str, Any]:
        """Return the Job of an attempt.

        Raises:
            SubmissionError: there is no image for it, or no template of the name that it asks for.
        """
        resources = spec.resources
        chosen = resources.options.get("template")
        if chosen is not None and chosen not in self.templates:
            known = ", ".join(sorted(self.templates)) or "none"
            raise SubmissionError(
                f"option template: '{chosen}' is not in the settings of the executor, which has: {known}"
            )
        template: Any = self.template if chosen is None else self.templates[str(chosen)]
        metadata: dict[str, Any] = dict(template.get("metadata", {}))
        metadata["labels"] = {**metadata.get("labels", {}), LABEL: LABELED}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": spec.name,
                "labels": {LABEL: LABELED, **({_QUEUE: resources.queue} if resources.queue else {})},
                "annotations": {"cronograph/job": spec.job_name, "cronograph/run": str(spec.run_id)},
            },
            "spec": {
                "backoffLimit": 0,
                "podReplacementPolicy": "Failed",
                "podFailurePolicy": _TAKEN_AWAY,
                "ttlSecondsAfterFinished": self.ttl,
                "template": {"metadata": metadata, "spec": self._pod(spec, dict(template.get("spec", {})))},
            },
        }

    def _pod(self, spec: Spec, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the pod of an attempt, by the ``spec`` of its template."""
        resources = spec.resources
        containers: list[dict[str, Any]] = given.get("containers") or [{}]
        first, *others = containers
        image = resources.image or first.get("image") or self.image
        if image is None:
            raise SubmissionError(
                "no image: set it at the job by Resources(image=…), or in the settings of the executor"
            )
        environment = [{"name": name, "value": value} for name, value in spec.environment.items()]
        container: dict[str, Any] = {
            "name": "job",
            **first,
            "image": image,
            "command": spec.command(self.python),
            "env": [*first.get("env", []), *environment],
            "resources": self._requests(resources, first.get("resources", {})),
        }
        pod = {**given, "restartPolicy": "Never", "containers": [container, *others]}
        account = resources.options.get("service_account") or self.service_account
        if account is not None:
            pod["serviceAccountName"] = account
        if spec.timeout is not None:
            # A net for the case that no node is there to end it; the box itself counts from the start of the code.
            pod["activeDeadlineSeconds"] = int(spec.timeout + self.grace) + 1
        return pod

    def _requests(self, resources: Resources, given: Mapping[str, Any]) -> dict[str, Any]:
        requests: dict[str, Any] = dict(given.get("requests", {}))
        limits: dict[str, Any] = dict(given.get("limits", {}))
        if resources.cpus is not None:
            requests["cpu"] = f"{resources.cpus:g}"
        if resources.memory is not None:
            requests["memory"] = limits["memory"] = str(resources.memory)
        if resources.gpus is not None:
            limits[self.gpu] = str(resources.gpus)
        return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}

    def find(self, places: Sequence[Place]) -> Mapping[str, Seen]:
        """Follow the changes since the last look; the pods of Jobs that do not run say why."""
        with self._looking:
            if self._version is None or not self._follow():
                self._list()
            found = {one.name: self._jobs[one.name] for one in places if one.name in self._jobs}
        seen = {name: _seen(job) for name, job in found.items()}
        unclear = [name for name, one in seen.items() if one.state in (EngineState.PENDING, EngineState.ENDED)]
        pods = dict(self._pods(unclear[:_ASKED_ABOUT]))
        return {name: _explained(one, pods.get(name)) for name, one in seen.items()}

    def _list(self) -> None:
        jobs: dict[str, Any] = {}
        following: str | None = None
        while True:
            page = self._read(self._api.list_namespaced_job, limit=PAGE, _continue=following)
            jobs |= {one["metadata"]["name"]: _kept(one) for one in page["items"]}
            following = page["metadata"].get("continue")
            if not following:
                break
        self._jobs, self._version = jobs, page["metadata"]["resourceVersion"]

    def _follow(self) -> bool:
        """Take in the changes since the last look; False: the cluster does not know that any more."""
        try:
            changes = self._lines(resource_version=self._version, timeout_seconds=_WATCH_SECONDS, watch=True)
            for change in changes:
                job = change["object"]
                if change["type"] == "ERROR":
                    if job.get("code") == _GONE:
                        return False
                    raise ConnectionError(f"executor '{self.name}': {job.get('message')}")
                self._version = job["metadata"]["resourceVersion"]
                if change["type"] == "DELETED":
                    self._jobs.pop(job["metadata"]["name"], None)
                elif change["type"] != "BOOKMARK":
                    self._jobs[job["metadata"]["name"]] = _kept(job)
        except self._refused as error:
            if cast("Any", error).status == _GONE:
                return False
            raise
        return True

    def _pods(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        if names:
            only = f"{_SELECTOR},{_OF_JOB} in ({','.join(names)})"
            for one in self._read(self._core.list_namespaced_pod, label_selector=only)["items"]:
                yield one["metadata"]["labels"].get(_OF_JOB, ""), one

    def _read(self, call: Any, **options: Any) -> Any:  # noqa: ANN401 - of a library without types
        """Return the document of an answer; the client's own objects of ten thousand Jobs would take seconds."""
        return json.loads(self._ask(call, **options).data)

    def _lines(self, **options: Any) -> Iterator[Any]:  # noqa: ANN401 - of a library without types
        data: bytes = self._ask(self._api.list_namespaced_job, allow_watch_bookmarks=True, **options).data
        return map(json.loads, data.splitlines())

    def _ask(self, call: Any, **options: Any) -> Any:  # noqa: ANN401 - of a library without types
        given: dict[str, Any] = {
            "label_selector": _SELECTOR,
            **{key: value for key, value in options.items() if value is not None},
        }
        return call(self.namespace, _preload_content=False, _request_timeout=self.timeout, **given)

    def look(self, place: Place) -> str | None:
        """Ask for the Job of a name."""
        try:
            self._api.read_namespaced_job(
                place.name, self.namespace, _preload_content=False, _request_timeout=self.timeout
            )
        except self._refused as error:
            if cast("Any", error).status == _NOT_FOUND:
                return None
            raise
        return place.name

    def cancel(self, place: Place) -> None:
        """Delete the Job; its pod gets a SIGTERM, and a SIGKILL after the grace of its template."""
        try:
            self._api.delete_namespaced_job(
                place.name, self.namespace, propagation_policy="Background", _request_timeout=self.timeout
            )
        except self._refused as error:
            if cast("Any", error).status != _NOT_FOUND:
                raise

    def forget(self, place: Place) -> bool:
        """Delete the Job."""
        self.cancel(place)
        return True

    def check(self) -> Sequence[str]:
        """Say whether the cluster answers, and whether it lets Jobs be created."""
        missing: list[str] = []
        try:
            self._ask(self._api.list_namespaced_job, limit=1)
            self._ask(self._core.list_namespaced_pod, limit=1)
            self._api.create_namespaced_job(
                self.namespace, _PROBE, dry_run="All", _request_timeout=self.timeout, _preload_content=False
            )
        except self._faults as error:
            missing.append(f"the cluster: {_reason(error)}")
        if self.image is None:
            missing.append("image: is not set, so each job has to name its own")
        return missing

    @property
    def _refused(self) -> type[Exception]:
        found: type[Exception] = self._client.ApiException
        return found

    @property
    def _faults(self) -> tuple[type[Exception], ...]:
        unconfigured: type[Exception] = import_module("kubernetes.config").ConfigException
        unreachable: type[Exception] = import_module("urllib3.exceptions").HTTPError
        return self._refused, unconfigured, unreachable, OSError

    @property
    def _client(self) -> Any:  # noqa: ANN401 - a library without types
        return import_module("kubernetes.client")

    @cached_property
    def _api(self) -> Any:  # noqa: ANN401 - a library without types
        return self._client.BatchV1Api(self._connection)

    @cached_property
    def _core(self) -> Any:  # noqa: ANN401 - a library without types
        return self._client.CoreV1Api(self._connection)

    @cached_property
    def _connection(self) -> Any:  # noqa: ANN401 - a library without types
        config: Any = import_module("kubernetes.config")
        made: Any = self._client.Configuration()
        if self.kubeconfig is None and Path(config.incluster_config.SERVICE_CERT_FILENAME).exists():
            config.load_incluster_config(client_configuration=made)
        else:
            config.load_kube_config(self.kubeconfig, context=self.context, client_configuration=made)
        return self._client.ApiClient(made)


_PROBE: Final[Mapping[str, Any]] = {
    "metadata": {"generateName": "cronograph-check-", "labels": {LABEL: LABELED}},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "job", "image": "none"}]}}},
}
"""A Job that is never made."""


def _kept(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a Job on which its state depends."""
    status, metadata = job.get("status", {}), job["metadata"]
    return {
        "conditions": {one["type"]: one for one in status.get("conditions", ()) if one.get("status") == "True"},
        "ready": status.get("ready") or 0,
        "deleted": metadata.get("deletionTimestamp"),
    }


def _seen(job: Mapping[str, Any]) -> Seen:
    conditions: Mapping[str, Any] = job["conditions"]
    failed = conditions.get("Failed") or conditions.get("FailureTarget")
    if failed is not None:
        words = " ".join(filter(None, (failed.get("reason"), failed.get("message"))))
        # The only rule of its policy is about pods that the cluster takes away.
        evicted = failed.get("reason") == "PodFailurePolicy"
        return Seen(EngineState.EVICTED if evicted else EngineState.ENDED, words)
    if "Complete" in conditions or "SuccessCriteriaMet" in conditions:
        return Seen(EngineState.ENDED, "Complete")
    if job["deleted"]:
        return Seen(EngineState.GONE, "is being deleted")
    if job["ready"]:
        return Seen(EngineState.RUNNING)
    return Seen(EngineState.PENDING, "suspended" if "Suspended" in conditions else "")


def _explained(seen: Seen, pod: Mapping[str, Any] | None) -> Seen:
    """Return a state with the pod's explanation."""
    if pod is None:
        return seen
    status: Mapping[str, Any] = pod.get("status", {})
    conditions = {one["type"]: one for one in status.get("conditions", ())}
    taken = conditions.get("DisruptionTarget")
    if seen.state is EngineState.ENDED and taken is not None and taken.get("status") == "True":
        return Seen(EngineState.EVICTED, " ".join(filter(None, (taken.get("reason"), taken.get("message")))))
    words = [seen.text, *_of_containers(status), status.get("reason"), status.get("message")]
    scheduled = conditions.get("PodScheduled", {})
    if seen.state is EngineState.PENDING and scheduled.get("status") == "False":
        words += [scheduled.get("reason"), scheduled.get("message")]
    return Seen(seen.state, " ".join(dict.fromkeys(filter(None, words))))


def _of_containers(status: Mapping[str, Any]) -> Iterator[str]:
    for one in status.get("containerStatuses", ()):
        state: Mapping[str, Any] = one.get("state", {})
        waiting, ended = state.get("waiting", {}), state.get("terminated", {})
        if waiting and waiting.get("reason") not in _WAITING:
            yield " ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
        if ended:
            yield f"{ended.get('reason', 'Error')} (exit code {ended.get('exitCode')})"


def _reason(error: Exception) -> str:
    """Return the reason with which a cluster refused a request."""
    body: Any = getattr(error, "body", None)
    try:
        said = json.loads(body)["message"] if body else None
    except (ValueError, KeyError, TypeError):
        said = None
    return str(said or getattr(error, "reason", None) or error)[:1_000]
