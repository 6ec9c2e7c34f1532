"""Real servers whose jobs run at an engine: a launcher of the test's own, and short ways to see how a run ended."""

import base64
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import pytest

from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.sources import ROOT
from tests.support.waiting import DEFAULT_WAIT, wait_until
from tests.support.web import post

LAUNCH = "nohup {command} >>engine.log 2>&1 & echo $! | tee -a started"
"""Starts a process, and notes its id."""
FIND = "for one in {handles}; do kill -0 $one 2>/dev/null && echo $one running on foot; done; true"
LOOK = "pgrep -f '^[^ ]*python[^ ]* -m cronograph.remote {name}' | head -1"
CANCEL = "kill -9 {handle} 2>/dev/null; echo {handle} >>cancelled"
FORGET = "echo {handle} >>forgotten"
EXECUTOR: Mapping[str, Any] = {
    "launch": LAUNCH,
    "find": FIND,
    "look": LOOK,
    "cancel": CANCEL,
    "forget": FORGET,
    "complete": True,
}
KEY: Final = base64.b64encode(bytes(range(32))).decode()
"""A key of secrets."""
SHARED: Final = "shared"
"""The folder by which code speaks that reaches no server."""

MODULE = """
import os, sys, time
from pathlib import Path
from typing import Any
sys.path.insert(0, "ROOT")
from tests.runtime import sample_jobs
from cronograph.jobs import JobContext, PermanentFailure, Resources, Result, job


@job("away", isolation="command", resources=Resources(cpus=2), retries=0)
def away(ctx: JobContext, until: str = "", how: str = "", size: int = 3) -> Result:
    with Path("begun").open("a") as begun:
        begun.write(f"{os.getpid()} {ctx.run_id} {ctx.attempt}\\\\n")
    ctx.log.info("begun")
    ctx.progress(1, 3, "a third")
    while until and not Path(until).exists():
        if how != "deaf" and ctx.should_stop:
            ctx.log.info("asked to leave", reason=ctx.stop_reason)
            raise RuntimeError("left")
        time.sleep(0.01)
    if how == "raise":
        raise ValueError("no luck")
    if how == "give up":
        raise PermanentFailure("never")
    if how == "exit":
        # What is answered comes after what was said before.
        ctx.save_checkpoint(1)
        os._exit(3)
    return Result(records_processed=7, value="x" * size)


@job("boxed", isolation="command", retries=0, timeout=1)
def boxed(ctx: JobContext, until: str) -> None:
    away.definition.handler(ctx, until)


@job("flaky", isolation="command", retries=1, retry_delay=0.01)
def flaky(ctx: JobContext) -> Result:
    first = ctx.step_sync("first", lambda: ctx.attempt)
    ctx.save_checkpoint({"attempt": ctx.attempt, "before": ctx.checkpoint})
    if ctx.attempt == 1:
        raise RuntimeError("once")
    return Result(value={"first": first, "checkpoint": ctx.checkpoint})


@job("saver", isolation="command", retries=0)
def saver(ctx: JobContext, until: str) -> Result:
    Path("begun").write_text("begun\\n")
    while not Path(until).exists():
        time.sleep(0.01)
    return Result(value=[ctx.step_sync(f"step {number}", lambda number=number: number) for number in (1, 2, 3)])


@job("ends", isolation="command", retries=0)
def ends(how: str) -> Any:
    return sample_jobs.ends(how)


@job("parent", isolation="command", retries=0)
async def parent(ctx: JobContext) -> Result:
    other = await ctx.enqueue("away", size=1)
    ctx.enqueue_at_end("away", size=2)
    value = await ctx.run("away", size=4)
    return Result(value={"other": other, "value": value})


@job("sleeper", isolation="command", retries=0)
def sleeper(ctx: JobContext) -> Result:
    ctx.sleep_sync("nap", 0.3)
    return Result(value=ctx.attempt)


@job("spy", isolation="command", retries=0)
def spy(ctx: JobContext, password: str) -> Result:
    ctx.log.info(f"it is {password}")
    found = [name for name, value in os.environ.items() if password in value or name.startswith("CRONOGRAPH_")]
    return Result(value={"length": len(password), "environment": sorted(found)})
""".replace("\\\\n", "\\n").replace("ROOT", str(ROOT))


class Engine:
    """A server with jobs at an engine, and the traces that these leave in its folder."""

    def __init__(
        self,
        processes: ProcessStarter,
        database_url: str,
        executor: Mapping[str, Any],
        *,
        name: str = "command",
        jobs: str = "remote_jobs",
        module: str = MODULE,
        **env: str,
    ) -> None:
        self.folder = processes.folder
        (self.folder / "remote_jobs.py").write_text(module)
        self._processes = processes
        self._url = database_url
        self._jobs = jobs
        self._env = {
            "CRONOGRAPH_EXECUTORS": json.dumps({name: {**executor}}),
            "CRONOGRAPH_REMOTE_LEASE": "6",
            "CRONOGRAPH_REMOTE_POLL": "0.2",
            "CRONOGRAPH_HARD_STOP_GRACE": "0.5",
            "CRONOGRAPH_HEARTBEAT": "0.5",
            "CRONOGRAPH_LEASE": "2",
            **env,
        }
        self.server = self.serve()

    def serve(self, **env: str) -> CronographProcess:
        """Start a node; what runs at the engine finds the first one, or whoever comes to its address."""
        return self._processes.serve(self._url, "--jobs", self._jobs, env={**self._env, **env})

    def restart(self, **env: str) -> CronographProcess:
        """Start a node at the address of the first one, which has ended."""
        port = self.server.port
        where = ["--host", "127.0.0.1", "--port", str(port), "--database-url", self._url, "--no-auth"]
        again = self._processes.start(
            "serve", *where, "--jobs", self._jobs, env={**self._env, **env}, port=port
        ).wait_ready()
        self.server = again
        return again

    def query(self, document: str, server: CronographProcess | None = None, **variables: Any) -> Any:
        """Ask; the data."""
        asked = {"query": document, "variables": variables}
        answer = post(f"{(server or self.server).url}/graphql", asked, timeout=20).raise_for_status().json()
        assert "errors" not in answer, answer
        return answer["data"]

    def trigger(self, job: str, **args: Any) -> None:
        """Put a run into the queue."""
        document = "mutation($job: String!, $args: JSON) { triggerJob(jobName: $job, args: $args) { success message } }"
        found = self.query(document, job=job, args=args)["triggerJob"]
        assert found["success"], found

    def set_secret(self, name: str, value: str) -> None:
        """Store a secret; the server has to have ``KEY``."""
        document = "mutation($input: SetSecretInput!) { setSecret(input: $input) { errors { message } } }"
        assert self.query(document, input={"name": name, "value": value})["setSecret"]["errors"] == []

    def logs(self, job: str, server: CronographProcess | None = None) -> list[dict[str, Any]]:
        """The executions of a job that have ended, the newest first."""
        rows = f"executions(first: 20, filter: {{ jobName: {{ eq: $job }} }}) {{ nodes {EXECUTION} }}"
        document = f"query($job: String!) {{ {rows} }}"
        found = self.query(document, server, job=job)["executions"]["nodes"]
        return [one for one in found if one["outcome"] is not None]

    def ended(
        self, job: str, count: int = 1, server: CronographProcess | None = None, within: float = DEFAULT_WAIT
    ) -> list[dict[str, Any]]:
        """Wait until so many executions of a job have ended."""
        found: list[dict[str, Any]] = []

        def are_there() -> bool:
            found[:] = self.logs(job, server)
            return len(found) >= count

        wait_until(are_there, within=within, message=f"{count} ends of {job}")
        return found

    def lines(self, name: str) -> list[str]:
        """The lines of a file of the folder."""
        path = self.folder / name
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def begun(self, count: int = 1) -> list[str]:
        """Wait until the job `away` has begun so often; the id of each process."""
        wait_until(lambda: len(self.lines("begun")) >= count, message=f"{count} beginnings")
        return [one.split()[0] for one in self.lines("begun")]

    def touch(self, name: str) -> None:
        """Let a job that waits for a file go on."""
        (self.folder / name).touch()


EXECUTION = """{
  id attempt outcome errorType errorMessage value recordsProcessed node progress { done message }
  logLines(first: 20) { lines { message } }
}"""


CHANNELS: Final = ("http", "folder")
"""How code at an engine may speak with its node."""
BY_SLURM: Final = ("slurm", "slurm folder")
"""The same at Slurm."""
KINDS: Final = (*CHANNELS, *BY_SLURM, "kubernetes", "ray")
"""The engines, and how their code speaks."""
KIND_NAMES: Final = tuple(f"command {one}" if one in CHANNELS else one for one in KINDS)
"""Their names in the ids of tests."""


@pytest.fixture
def channel(request: pytest.FixtureRequest) -> str:
    """Of `KINDS`: the engine, and how the code there speaks with its node."""
    return str(getattr(request, "param", "http"))


@pytest.fixture
def remote_engine(
    request: pytest.FixtureRequest, processes: ProcessStarter, database_url: str, channel: str
) -> Iterator[Callable[..., Engine]]:
    """Starts a server with jobs at an engine; nothing of it outlives the test."""
    folder = processes.folder
    env: dict[str, str] = {}
    executor = dict(EXECUTOR)
    match channel.partition(" ")[0]:
        case "slurm":
            env |= request.getfixturevalue("slurm").environment
            executor = {"kind": "slurm", "directory": str(folder), "output": f"{folder}/engine.log"}
        case "kubernetes":
            request.getfixturevalue("pods")
            executor = {
                "kind": "kubernetes", "kubeconfig": str(folder / "kubeconfig"), "image": "app:1",
                "python": sys.executable,
            }  # fmt: skip
        case "ray":
            executor = {
                "kind": "ray", "address": request.getfixturevalue("ray_address"), "python": sys.executable,
                "runtime_env": {"env_vars": {"PYTHONPATH": str(folder)}},
            }  # fmt: skip
        case _:
            pass
    if channel.endswith("folder"):
        (folder / SHARED).mkdir(mode=0o700)
        executor["folder"] = str(folder / SHARED)
        # No code reaches a server there.
        env["CRONOGRAPH_REMOTE_URL"] = "http://127.0.0.1:9"

    def start(**changes: Any) -> Engine:
        env.update(changes.pop("env", {}))
        named = {name: changes.pop(name) for name in ("name", "jobs", "module") if name in changes}
        return Engine(processes, database_url, {**executor, **changes}, **named, **env)

    yield start
    for line in (folder / "started").read_text().split() if (folder / "started").exists() else []:
        with suppress(ProcessLookupError):
            os.kill(int(line), signal.SIGKILL)
