"""The HTTP interface of Ray Jobs as it was recorded from Ray 2.60.0, with local processes in the place of a cluster.

The same is tried with a real cluster if the variable `RAY_ADDRESS` has its address: see `make test-ray`.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, cast

import pytest

from tests.support.waiting import wait_until

_PATH: Final = re.compile(r"/api/jobs/([^/]*)(/stop)?")
_TRACEBACK: Final = """Traceback (most recent call last):
  File "ray/dashboard/modules/job/job_head.py", line 134, in _raise_error
    raise RuntimeError(f"Request failed with status code {{status}}: {{error_text}}.")
RuntimeError: Request failed with status code {status}: Traceback (most recent call last):
  File "ray/dashboard/modules/job/job_agent.py", line 45, in submit_job
{words}
.
"""
_WAITS: Final = (
    "Job has not started yet. It may be waiting for resources (CPUs, GPUs, memory, custom resources) to become "
    "available. It may be waiting for the runtime environment to be set up."
)
REAL: Final = os.environ.get("RAY_ADDRESS")
"""The address of a real cluster, if there is one."""
STOP_GRACE: Final = 3.0
STOP_SEEN: Final = 0.3
SEEN_AFTER: Final = 2.0


class RayCluster:
    """The jobs of a cluster.

    Args:
        folder: Where jobs run.

    Attributes:
        address: Where it is asked.
        loses_answers: Whether a submission is carried out and not answered.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self.address = address
        self.loses_answers = False
        self._jobs: dict[str, dict[str, Any]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def submit(self, body: dict[str, Any]) -> tuple[int, str]:
        """Keep a job and begin it, unless it wants more than there is."""
        if not isinstance(body.get("entrypoint"), str):
            words = f"TypeError: entrypoint must be a string, got {type(body.get('entrypoint'))}"
            return 400, f"Traceback (most recent call last):\n{words}\n"
        name = body["submission_id"]
        if name in self._jobs:
            words = f"ValueError: Job with submission_id {name} already exists. Please use a different submission_id."
            return 500, _TRACEBACK.format(status=400, words=words)
        job = {
            "type": "SUBMISSION", "job_id": None, "submission_id": name, "status": "PENDING", "message": _WAITS,
            "entrypoint": body["entrypoint"], "error_type": None, "metadata": body.get("metadata"),
            "runtime_env": body.get("runtime_env"), "driver_exit_code": None, "end_time": None,
        }  # fmt: skip
        self._jobs[name] = job
        if body.get("entrypoint_num_gpus") is None:
            self._begin(name, job)
        return 200, json.dumps({"job_id": name, "submission_id": name})

    def _begin(self, name: str, job: dict[str, Any]) -> None:
        environment = (job["runtime_env"] or {}).get("env_vars", {})
        with (self.folder / "engine.log").open("ab") as log:
            process = subprocess.Popen(
                shlex.split(job["entrypoint"]),
                cwd=self.folder, env={**os.environ, **environment}, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._processes[name] = process
        job |= {"status": "RUNNING", "message": "Job is currently running."}
        threading.Thread(target=self._await_end, args=(job, process), daemon=True).start()

    def _await_end(self, job: dict[str, Any], process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        job["end_time"] = int(time.time() * 1e3)
        if job.get("is_stopped"):
            # The supervisor of a job looks at it now and then.
            threading.Event().wait(STOP_SEEN)
            job |= {"status": "STOPPED", "message": "Job was intentionally stopped."}
        elif code == 0:
            job |= {"status": "SUCCEEDED", "message": "Job finished successfully.", "driver_exit_code": 0}
        else:
            words = (
                f"Job entrypoint command failed with exit code {code}, last available logs (truncated to 20,000 chars):"
            )
            job |= {"status": "FAILED", "message": f"{words}\nboom\n", "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR"}

    def lose_machine(self, name: str) -> None:
        """Have the machine of a job die."""
        job = self._jobs[name]
        self._processes[name].kill()
        self._processes[name].wait()
        # After the thread that awaits it has said how it ended.
        wait_until(lambda: job["status"] != "RUNNING")
        job |= {
            "status": "FAILED", "error_type": "JOB_SUPERVISOR_ACTOR_DIED",
            "message": "Unexpected error occurred: The actor died unexpectedly before finishing this task.\n\tclass: x",
        }  # fmt: skip

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, str]:
        """Answer a request."""
        if path == "/api/version":
            return 200, json.dumps({"version": "4", "ray_version": "2.60.0"})
        place = _PATH.fullmatch(path)
        assert place is not None, path
        name, stop = place[1], place[2]
        if not name:
            return self.submit(body) if method == "POST" else (200, json.dumps(list(self._jobs.values())))
        job = self._jobs.get(name)
        if job is None:
            return 404, f"Job {name} does not exist"
        if stop:
            return 200, json.dumps({"stopped": self._stop(name, job)})
        if method == "DELETE":
            if job["status"] in ("PENDING", "RUNNING"):
                state = f"it is in a non-terminal state {job['status']}."
                words = f"RuntimeError: Attempted to delete job '{name}', but {state}"
                return 500, _TRACEBACK.format(status=500, words=words)
            del self._jobs[name]
            if time.time() - job["end_time"] / 1e3 < SEEN_AFTER and not job.get("is_back"):
                # What watches over a job that has just ended stores it once more.
                said = "Job supervisor actor died: The actor died unexpectedly before finishing this task."
                died = {"status": "FAILED", "error_type": "JOB_SUPERVISOR_ACTOR_DIED", "message": said, "is_back": True}
                self._jobs[name] = {**job, **died, "entrypoint": "Entrypoint not found."}
            return 200, json.dumps({"deleted": True})
        return 200, json.dumps(job)

    def _stop(self, name: str, job: dict[str, Any]) -> bool:
        process = self._processes.get(name)
        if process is None:
            # It is stopped as it begins, and stays as it is until then.
            return True
        if process.poll() is not None:
            return False
        job["is_stopped"] = True
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)

        def kill() -> None:
            try:
                process.wait(STOP_GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()
        return True

    def close(self) -> None:
        """Kill all jobs."""
        for one in self._processes.values():
            with suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


class _Server(ThreadingHTTPServer):
    cluster: RayCluster


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        cluster = cast("_Server", self.server).cluster
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        code, text = cluster.answer(self.command, self.path, body)
        if cluster.loses_answers and self.path == "/api/jobs/" and self.command == "POST":
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(code)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(text.encode())


@pytest.fixture
def ray_cluster(tmp_path: Path) -> Iterator[RayCluster]:
    """The recorded cluster, whose jobs run in the folder of the test."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.cluster = cluster = RayCluster(tmp_path, f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()
        cluster.close()


@pytest.fixture
def ray_address(request: pytest.FixtureRequest) -> str:
    """The address of the real cluster, or else of the recorded one."""
    if REAL:
        return REAL
    cluster: RayCluster = request.getfixturevalue("ray_cluster")
    return cluster.address
