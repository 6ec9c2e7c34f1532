"""The executor ``ray``: an attempt is a job of a Ray cluster, by the HTTP interface of Ray Jobs.

Ray has peculiarities, seen with 2.60: a known ``submission_id`` is answered by 500 and a traceback that says so. A job
that runs or waits cannot be deleted, and one that is deleted as it ends is there again a moment later, and stays. Of a
fault, only the last line of a traceback says anything.
"""

import shlex
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ..core.base.errors import ConfigurationError
from ..core.base.lazy import LazyModule
from ..core.remote import EngineState, Seen
from .protocol import Place, Spec, SubmissionError

if TYPE_CHECKING:
    import httpx
else:
    httpx = LazyModule("httpx")

_JOBS: Final = "/api/jobs/"
_STATES: Final = {"PENDING": EngineState.PENDING, "RUNNING": EngineState.RUNNING}
_LOST: Final = "JOB_SUPERVISOR_ACTOR_DIED"
"""The error type of a job whose machine is gone."""
_SEEN_AFTER: Final = 5.0
"""Seconds after its end for which a job must not be deleted: Ray asks each second what has become of it."""
_LOG: Final = ", last available logs"
"""Behind this a message has what the job printed."""


@dataclass(kw_only=True, eq=False)
class RayExecutor:
    """Hands attempts to a cluster.

    Attributes:
        address: The address of the dashboard of the cluster.
        python: The interpreter there.
        runtime_env: The environment of the code, as Ray describes it (``working_dir``, ``pip``, ``env_vars`` …).
        headers: Headers of each request, for a cluster behind a proxy that asks who it is.
        timeout: Seconds that a call may take.
    """

    name: str
    address: str = "http://127.0.0.1:8265"
    python: str = "python"
    runtime_env: Mapping[str, Any] = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float = 30.0
    _trusted: ssl.SSLContext | bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Judge the settings.

        Raises:
            ConfigurationError: the address is none.
        """
        try:
            url = httpx.URL(self.address)
        except (httpx.InvalidURL, TypeError):
            url = httpx.URL()
        if url.scheme == "https":
            self._trusted = ssl.create_default_context()
        if url.scheme not in ("http", "https") or not url.host:
            raise ConfigurationError(
                f"executor '{self.name}': address must be that of the cluster's dashboard, e.g. "
                f"http://ray-head:8265, got {self.address!r:.60}"
            )

    @property
    def page(self) -> str:
        """Return the address of an attempt's page in the dashboard."""
        return f"{self.address.rstrip('/')}/#/jobs/{{name}}"

    def submit(self, spec: Spec) -> str:
        """Submit a job under the name of the attempt, which is its handle."""
        answer = self._ask("POST", _JOBS, json=self.job(spec))
        # An earlier request was carried out, and its answer was lost.
        if answer.is_success or f"submission_id {spec.name} already exists" in answer.text:
            return spec.name
        if answer.is_client_error and answer.status_code != HTTPStatus.TOO_MANY_REQUESTS:
            raise SubmissionError(_fault(answer))
        raise ConnectionError(_fault(answer))

    def job(self, spec: Spec) -> dict[str, Any]:
        """Return the job of an attempt.

        Raises:
            SubmissionError: an option is no amount of a resource.
        """
        resources = spec.resources
        given: dict[str, Any] = {**self.runtime_env, **({"image_uri": resources.image} if resources.image else {})}
        asked = {
            "entrypoint_num_cpus": resources.cpus,
            "entrypoint_num_gpus": resources.gpus,
            "entrypoint_memory": resources.memory,
            "entrypoint_resources": dict(_amounts(resources.options)) or None,
        }
        return {
            "entrypoint": shlex.join(spec.command(self.python)),
            "submission_id": spec.name,
            "runtime_env": {**given, "env_vars": {**given.get("env_vars", {}), **spec.environment}},
            "metadata": {"job": spec.job_name, "run": str(spec.run_id)},
            **{key: value for key, value in asked.items() if value is not None},
        }

    def find(self, places: Sequence[Place]) -> Mapping[str, Seen]:
        """List all jobs of the cluster."""
        wanted = {one.name for one in places}
        jobs = self._told(self._ask("GET", _JOBS)).json()
        return {one["submission_id"]: _seen(one) for one in jobs if one.get("submission_id") in wanted}

    def look(self, place: Place) -> str | None:
        """Ask for the job of a name."""
        return place.name if self._about("GET", place) is not None else None

    def cancel(self, place: Place) -> None:
        """Stop the job: it gets a SIGTERM, and three seconds later a SIGKILL; one that waits gets it as it begins."""
        self._about("POST", place, "/stop")

    def forget(self, place: Place) -> bool:
        """Delete the job once it has ended and its watcher in Ray has seen that."""
        answer = self._about("GET", place)
        if answer is None:
            return True
        job = answer.json()
        if job["status"] in _STATES:
            self.cancel(place)
            return False
        # By the clocks of the cluster alone.
        now = parsedate_to_datetime(answer.headers["date"]).timestamp()
        if now - (job.get("end_time") or 0) / 1_000 < _SEEN_AFTER:
            return False
        self._about("DELETE", place)
        return True

    def check(self) -> Sequence[str]:
        """Say whether the cluster answers."""
        try:
            self._told(self._ask("GET", "/api/version"))
        except (httpx.HTTPError, ConnectionError) as error:
            return [f"the cluster at {self.address} does not answer: {error}"]
        return []

    def _about(self, method: str, place: Place, action: str = "") -> "httpx.Response | None":
        answer = self._ask(method, f"{_JOBS}{place.name}{action}")
        return None if answer.status_code == HTTPStatus.NOT_FOUND else self._told(answer)

    def _ask(self, method: str, path: str, **options: Any) -> "httpx.Response":  # noqa: ANN401 - of httpx
        address = self.address.rstrip("/") + path
        given: dict[str, Any] = {"headers": dict(self.headers), "timeout": self.timeout, "verify": self._trusted}
        return httpx.request(method, address, **given, **options)

    def _told(self, answer: "httpx.Response") -> "httpx.Response":
        if not answer.is_success:
            raise ConnectionError(_fault(answer))
        return answer


def _amounts(options: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    for name, amount in options.items():
        try:
            yield name, float(amount)
        except ValueError:
            raise SubmissionError(
                f"option {name}: must be an amount of a resource of the cluster, e.g. '1', got {amount!r:.60}"
            ) from None


def _seen(job: Mapping[str, Any]) -> Seen:
    text = str(job.get("message") or "").partition(_LOG)[0].partition("\n")[0]
    if job.get("error_type") == _LOST:
        return Seen(EngineState.GONE, text)
    state = _STATES.get(job["status"], EngineState.ENDED)
    return Seen(state, "" if state is EngineState.RUNNING else text)


def _fault(answer: "httpx.Response") -> str:
    """Return the last words of the traceback with which Ray reports a fault."""
    lines = [line for line in answer.text.splitlines() if line.strip(" .")]
    return f"{answer.status_code}: {lines[-1][:1_000] if lines else answer.reason_phrase}"
