"""A small API server of Kubernetes whose pods are local processes: Jobs, their pods, lists, watches and refusals.

It does what the documentation of Kubernetes 1.31 and later says of the few things that are used: names that are taken
(409), label and field selectors, pages, resource versions, watches from one of them, versions that are compacted (410),
conditions of Jobs, pod failure policies, deletion of what still runs, time limits of pods, and the time after which
ended Jobs are deleted. The command of a container is executed on this machine, with its environment.
"""

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from typing_extensions import override

from tests.support.forking import Running, start_fresh

KEPT: Final = 1_000
"""Changes that a watch can go back."""
_PATH: Final = re.compile(r"/(?:apis/batch/v1|api/v1)/namespaces/([^/]+)/(jobs|pods)(?:/([^/]+))?")
_JOB_NAME: Final = "batch.kubernetes.io/job-name"


class RefusedError(Exception):
    """A request that is answered by a status; ``raw`` is the body instead of its document."""

    def __init__(self, code: int, reason: str, message: str, raw: bytes | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.raw = code, reason, message, raw

    @property
    def status(self) -> dict[str, Any]:
        """The document of the answer."""
        return {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": self.message, "reason": self.reason,
            "code": self.code,
        }  # fmt: skip


class Cluster:
    """The objects of a cluster and what happens to them.

    Args:
        folder: Where pods run.

    Attributes:
        namespaces: Those that there are.
        schedules: Whether there is a machine for new pods.
        refuses: The answer to requests that create something, if it is not to be taken.
        refuses_watches: The answer to requests that watch, if there is to be one.
        watch_fault: The fault by which a watch ends, if there is to be one.
        loses_answers: Whether what was created is not answered.
        is_absent: Whether nobody answers at all.
        page_size: Objects in one answer at most.
        asked: Each request as method and path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.namespaces = {"default"}
        self.schedules = True
        self.refuses: RefusedError | None = None
        self.refuses_watches: RefusedError | None = None
        self.watch_fault: RefusedError | None = None
        self.loses_answers = False
        self.is_absent = False
        self.page_size = 10_000
        self.asked: list[str] = []
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.changed = threading.Condition()
        self.changes: list[tuple[int, str, str, dict[str, Any]]] = []
        self.oldest = 0
        self._version = 0
        self._processes: dict[str, Running] = {}
        self._starter = ThreadPoolExecutor(1)

    # What the API offers.

    def create(self, namespace: str, body: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        """Keep a Job and begin its pod."""
        with self.changed:
            self._check_namespace(namespace)
            if self.refuses is not None:
                raise self.refuses
            metadata = body.setdefault("metadata", {})
            name = metadata.setdefault("name", f"{metadata.pop('generateName', 'x')}{uuid4().hex[:5]}")
            if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
                raise RefusedError(422, "Invalid", f'Job.batch "{name}" is invalid: metadata.name: Invalid value')
            if ("jobs", namespace, name) in self.objects:
                raise RefusedError(409, "AlreadyExists", f'jobs.batch "{name}" already exists')
            metadata |= {"namespace": namespace, "uid": str(uuid4()), "creationTimestamp": _now()}
            job: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", **body, "status": {}}
            if not dry_run:
                self._put("ADDED", "jobs", job)
                if self.schedules:
                    self._begin(job)
                else:
                    self._put("ADDED", "pods", self._pod(job, "Pending", _unschedulable()))
            return job

    def read(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        """Return one object."""
        with self.changed:
            return self._one(kind, namespace, name)

    def page(self, kind: str, namespace: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of objects."""
        with self.changed:
            self._check_namespace(namespace)
            found = [one for (k, n, _), one in sorted(self.objects.items()) if (k, n) == (kind, namespace)]
            found = [one for one in found if _selected(one, query)]
            first = int(query.get("continue", 0))
            size = min(int(query.get("limit") or self.page_size), self.page_size)
            metadata = {"resourceVersion": str(self._version)}
            if len(found) > first + size:
                metadata["continue"] = str(first + size)
            return {"kind": f"{kind.title()}List", "metadata": metadata, "items": found[first : first + size]}

    def watch(self, kind: str, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the changes behind a version until the time is over."""
        if self.refuses_watches is not None:
            raise self.refuses_watches
        if self.watch_fault is not None:
            yield {"type": "ERROR", "object": self.watch_fault.status}
            return
        until = time.monotonic() + float(query.get("timeoutSeconds", 1))
        after = int(query["resourceVersion"])
        with self.changed:
            if after < self.oldest:
                yield {"type": "ERROR", "object": RefusedError(410, "Expired", "too old resource version").status}
                return
        while True:
            with self.changed:
                new = [one for one in self.changes if one[0] > after and one[2] == kind]
                if not new and (left := until - time.monotonic()) > 0:
                    self.changed.wait(left)
                    continue
            for version, change, _, one in new:
                after = version
                if _selected(one, query):
                    yield {"type": change, "object": one}
            if time.monotonic() >= until:
                yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self._version)}}}
                return

    def delete(self, namespace: str, name: str) -> dict[str, Any]:
        """Delete a Job at once, and its pod in the background."""
        with self.changed:
            job = self._one("jobs", namespace, name)
            self._put("DELETED", "jobs", job)
            for pod in self._pods_of(job):
                self._remove_pod(pod)
            return job

    # What happens by itself.

    def evict(self, name: str, reason: str = "PreemptionByScheduler") -> None:
        """Take the pod of a Job off its machine, as a machine that is emptied does."""
        with self.changed:
            for pod in self._pods_of(self._one("jobs", "default", name)):
                pod["status"]["conditions"].append(
                    {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "it makes room"}
                )
                self._remove_pod(pod)

    def schedule(self) -> None:
        """Have a machine for the pods that wait."""
        with self.changed:
            self.schedules = True
            for (kind, _, _), job in list(self.objects.items()):
                if kind == "jobs":
                    for pod in self._pods_of(job):
                        if pod["status"]["phase"] == "Pending":
                            self._put("DELETED", "pods", pod)
                            self._begin(job)

    def compact(self) -> None:
        """Forget all changes, so that no watch can go on."""
        with self.changed:
            self.oldest = self._version = self._version + 1

    def processes(self) -> list[int]:
        """The ids of the processes that run."""
        return [one.pid for one in self._processes.values() if one.poll() is None]

    def close(self) -> None:
        """Kill all pods."""
        for one in self._processes.values():
            with suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
        self._starter.shutdown()

    def _begin(self, job: dict[str, Any]) -> None:
        pod = self._pod(job, "Running", [{"type": "PodScheduled", "status": "True"}])
        container = job["spec"]["template"]["spec"]["containers"][0]
        environment = {one["name"]: one["value"] for one in container.get("env", [])}
        with (self.folder / "engine.log").open("ab") as log:
            words = [*container["command"], *container.get("args", [])]
            # By a thread that lives as long as this process: pods die with it.
            started = self._starter.submit(start_fresh, words, self.folder, {**os.environ, **environment}, log.fileno())
            process = started.result()
        self._processes[pod["metadata"]["uid"]] = process
        self._put("ADDED", "pods", pod)
        job["status"] |= {"active": 1, "ready": 1, "startTime": _now()}
        self._put("MODIFIED", "jobs", job)
        threading.Thread(target=self._await_end, args=(job, pod, process), daemon=True).start()

    def _await_end(self, job: dict[str, Any], pod: dict[str, Any], process: Running) -> None:
        limit = pod["spec"].get("activeDeadlineSeconds")
        reason = None
        try:
            ended = process.wait(limit)
        except subprocess.TimeoutExpired:
            reason = "DeadlineExceeded"
            os.killpg(process.pid, signal.SIGKILL)
            ended = process.wait()
        with self.changed:
            code = ended if ended >= 0 else 128 - ended
            pod["status"] |= {
                "phase": "Failed" if code or reason else "Succeeded",
                **({"reason": reason} if reason else {}),
            }
            word = "Completed" if code == 0 else "OOMKilled" if pod["metadata"].get("oom") else "Error"
            pod["status"]["containerStatuses"] = [
                {"name": "job", "state": {"terminated": {"exitCode": code, "reason": word}}}
            ]
            if self.objects.get(("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])) is not None:
                self._put("DELETED" if pod["metadata"].get("deletionTimestamp") else "MODIFIED", "pods", pod)
            place = ("jobs", job["metadata"]["namespace"], job["metadata"]["name"])
            if self.objects.get(place) is job:
                self._end_job(job, pod, failed=bool(code or reason))
        if job["spec"].get("ttlSecondsAfterFinished") == 0:
            with self.changed, suppress(RefusedError):
                self.delete(job["metadata"]["namespace"], job["metadata"]["name"])

    def _end_job(self, job: dict[str, Any], pod: dict[str, Any], *, failed: bool) -> None:
        status: dict[str, Any] = {"failed" if failed else "succeeded": 1}
        job["status"] = status
        if not failed:
            condition = {"type": "Complete", "status": "True"}
        elif (
            any(one["type"] == "DisruptionTarget" for one in pod["status"]["conditions"])
            and "podFailurePolicy" in job["spec"]
        ):
            said = (
                f"Pod default/{pod['metadata']['name']} has condition DisruptionTarget matching FailJob rule at index 0"
            )
            condition = {"type": "Failed", "status": "True", "reason": "PodFailurePolicy", "message": said}
        else:
            said = "Job has reached the specified backoff limit"
            condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": said}
        status["conditions"] = [condition]
        self._put("MODIFIED", "jobs", job)

    def _pod(self, job: dict[str, Any], phase: str, conditions: list[dict[str, Any]]) -> dict[str, Any]:
        template = job["spec"]["template"]
        name = job["metadata"]["name"]
        return {
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{uuid4().hex[:5]}",
                "namespace": job["metadata"]["namespace"],
                "uid": str(uuid4()),
                "labels": {**template.get("metadata", {}).get("labels", {}), _JOB_NAME: name},
            },
            "spec": template["spec"],
            "status": {"phase": phase, "conditions": conditions},
        }

    def _pods_of(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        name = job["metadata"]["name"]
        return [
            one
            for (kind, _, _), one in self.objects.items()
            if kind == "pods" and one["metadata"]["labels"][_JOB_NAME] == name
        ]

    def _remove_pod(self, pod: dict[str, Any]) -> None:
        """Have a pod leave, as the grace of its template says."""
        pod["metadata"]["deletionTimestamp"] = _now()
        process = self._processes.get(pod["metadata"]["uid"])
        if process is None or process.poll() is not None:
            self._put("DELETED", "pods", pod)
            return
        self._put("MODIFIED", "pods", pod)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        grace = pod["spec"].get("terminationGracePeriodSeconds", 30)

        def kill() -> None:
            try:
                process.wait(grace)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()

    def _put(self, change: str, kind: str, one: dict[str, Any]) -> None:
        self._version += 1
        metadata = one["metadata"]
        metadata["resourceVersion"] = str(self._version)
        place = (kind, metadata["namespace"], metadata["name"])
        if change == "DELETED":
            self.objects.pop(place, None)
        else:
            self.objects[place] = one
        self.changes.append((self._version, change, kind, json.loads(json.dumps(one))))
        if len(self.changes) > KEPT:
            self.oldest = self.changes.pop(0)[0]
        self.changed.notify_all()

    def _one(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        self._check_namespace(namespace)
        found = self.objects.get((kind, namespace, name))
        if found is None:
            raise RefusedError(404, "NotFound", f'{kind} "{name}" not found')
        return found

    def _check_namespace(self, namespace: str) -> None:
        if namespace not in self.namespaces:
            raise RefusedError(404, "NotFound", f'namespaces "{namespace}" not found')


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _unschedulable() -> list[dict[str, Any]]:
    words = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    return [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}]


_IN: Final = re.compile(r"([^\s,!=()]+) in \(([^)]*)\)")


def _selected(one: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    """Whether an object has the labels and fields that are asked for."""
    labels, selector = one["metadata"].get("labels", {}), query.get("labelSelector", "")
    for key, values in _IN.findall(selector):
        if labels.get(key) not in values.split(","):
            return False
    for equal in filter(None, _IN.sub("", selector).split(",")):
        key, _, value = equal.partition("=")
        if labels.get(key) != value:
            return False
    for equal in filter(None, query.get("fieldSelector", "").split(",")):
        key, _, value = equal.partition("=")
        assert key == "metadata.name", f"no field selector {key}"
        if one["metadata"]["name"] != value:
            return False
    return True


class _Server(ThreadingHTTPServer):
    def __init__(self, cluster: Cluster) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cluster = cluster


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library
        """Say nothing."""

    @override
    def handle(self) -> None:
        """Serve a connection until it ends, in whatever way."""
        with suppress(ConnectionError):
            super().handle()

    @property
    def cluster(self) -> Cluster:
        """The cluster behind the server."""
        return cast("_Server", self.server).cluster

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        body: dict[str, Any] = json.loads(self.rfile.read(length)) if length else {}
        self.cluster.asked.append(f"{self.command} {self.path}")
        if self.cluster.is_absent:
            self.close_connection = True
            self.connection.close()
            return
        place = _PATH.fullmatch(parts.path)
        assert place is not None, f"no path {parts.path}"
        try:
            self._do(place[1], place[2], place[3], query, body)
        except RefusedError as refused:
            self._send_bytes(refused.code, json.dumps(refused.status).encode() if refused.raw is None else refused.raw)

    def _do(self, namespace: str, kind: str, name: str | None, query: dict[str, str], body: dict[str, Any]) -> None:
        if self.command == "POST":
            made = self.cluster.create(namespace, body, dry_run=query.get("dryRun") == "All")
            if self.cluster.loses_answers:
                self.close_connection = True
                self.connection.close()
                return
            self._send(HTTPStatus.CREATED, made)
        elif self.command == "DELETE":
            assert name is not None
            self._send(HTTPStatus.OK, self.cluster.delete(namespace, name))
        elif name is not None:
            self._send(HTTPStatus.OK, self.cluster.read(kind, namespace, name))
        elif "watch" in query:
            lines = [json.dumps(one).encode() + b"\n" for one in self.cluster.watch(kind, query)]
            self._send_bytes(HTTPStatus.OK, b"".join(lines))
        else:
            self._send(HTTPStatus.OK, self.cluster.page(kind, namespace, query))

    def _send(self, code: int, document: Mapping[str, Any]) -> None:
        self._send_bytes(code, json.dumps(document).encode())

    def _send_bytes(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # A client that was killed waits for no answer.
        with suppress(ConnectionError):
            self.wfile.write(body)


@contextmanager
def serving(cluster: Cluster) -> Generator[Cluster]:
    """Serve a cluster; clients find it by the file ``kubeconfig`` in its folder. Its pods end with the block."""
    server = _Server(cluster)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    where = {"server": f"http://127.0.0.1:{server.server_address[1]}"}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "users": [{"name": "test", "user": {}}],
        "clusters": [{"name": "test", "cluster": where}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }  # fmt: skip
    (cluster.folder / "kubeconfig").write_text(json.dumps(config))
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()
        cluster.close()


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster in the folder of the test."""
    with serving(Cluster(tmp_path)) as cluster:
        yield cluster
