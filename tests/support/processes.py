"""Real `cronograph` processes: started on a free port, watched, stopped, paused and killed like an operator would."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.forking import Nursery, Running, start_fresh
from tests.support.ports import free_port
from tests.support.waiting import DEFAULT_WAIT, wait_until
from tests.support.web import get

COMMAND = Path(sys.executable).with_name("cronograph")
"""The console script that the installation put beside this interpreter."""

START_TIMEOUT = 50.0
"""Seconds from the start of a process to `/health/ready`, on a machine that runs the whole suite."""


@dataclass
class CronographProcess:
    """One started process. Its standard output and error go to one file, so that no pipe fills up."""

    process: Running
    output_file: Path
    port: int
    arguments: list[str]
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """The address of the server, without a trailing slash."""
        return f"http://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Return whether the process has not ended (a paused one has not)."""
        return self.process.poll() is None

    def output(self) -> str:
        """All that it has printed so far."""
        return self.output_file.read_text(errors="replace")

    def is_ready(self) -> bool:
        """Return whether `/health/ready` answers 200; raises when the process has ended, with its output."""
        if not self.running:
            words = " ".join(self.arguments)
            status = self.process.returncode
            raise RuntimeError(f"`cronograph {words}` ended with status {status} before it was ready:\n{self.output()}")
        try:
            return get(f"{self.url}/health/ready", timeout=5).is_success
        except httpx.TransportError:
            return False

    def wait_ready(self, within: float = START_TIMEOUT) -> "CronographProcess":
        """Block until the server is ready; return itself."""
        wait_until(self.is_ready, within=within, interval=0.05, message=f"{self.url}/health/ready to answer 200")
        return self

    def wait(self, timeout: float = DEFAULT_WAIT) -> int:
        """Block until the process ends; return its exit status (negative: the signal that ended it)."""
        return self.process.wait(timeout=timeout)

    def terminate(self) -> None:
        """Ask it to stop, as a service manager does (SIGTERM)."""
        self.process.send_signal(signal.SIGTERM)

    def hang_up(self) -> None:
        """Ask it to read its files again (SIGHUP)."""
        self.process.send_signal(signal.SIGHUP)

    def stop(self, timeout: float = DEFAULT_WAIT) -> int:
        """SIGTERM, then wait for the end; return the exit status."""
        self.terminate()
        return self.wait(timeout)

    def kill(self) -> None:
        """End it at once, without a chance to clean up (SIGKILL), and its children too; wait until it is gone."""
        self._signal_group(signal.SIGKILL)
        self.process.wait()

    def kill_alone(self) -> None:
        """SIGKILL to the process only: its children stay, to see that they notice."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Freeze it, children included (SIGSTOP): it lives, but does nothing, like a stalled virtual machine."""
        self._signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        """Thaw it (SIGCONT)."""
        self._signal_group(signal.SIGCONT)

    def _signal_group(self, number: signal.Signals) -> None:
        """Signal the process group; one that has ended altogether is left in peace."""
        if self.running:
            os.killpg(self.process.pid, number)


@dataclass
class ProcessStarter:
    """Starts processes in `folder`; the fixture ends those of them that are left when the test is over.

    Attributes:
        folder: Their working directory.
        nursery: Where they are forked; None = every one is started as a shell would start it.
        command: The installed command, for those that are started that way.
        afterwards: Closed when all of them have ended.
    """

    folder: Path
    nursery: Nursery | None
    command: Path = COMMAND
    started: list[CronographProcess] = field(default_factory=list[CronographProcess])
    afterwards: ExitStack = field(default_factory=ExitStack)

    def start(
        self, *arguments: str, env: Mapping[str, str] | None = None, port: int = 0, fresh: bool = False
    ) -> CronographProcess:
        """Start `cronograph *arguments` as it is, without waiting.

        Args:
            arguments: Of the command line.
            env: Further variables of the environment; one of `PYTHON…` needs `fresh`.
            port: Only noted.
            fresh: Start the installed command in an interpreter of its own instead of forking one: what a user does,
                and two seconds of a processor.
        """
        output_file = self.folder / f"process-{len(self.started) + 1}.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRONOGRAPH_")}
        environment |= {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "160", **(env or {})}
        words = [str(self.command), *arguments]
        with output_file.open("wb") as output:
            if fresh or self.nursery is None:
                process = start_fresh(words, self.folder, environment, output.fileno())
            else:
                process = self.nursery.start(words, self.folder, environment, output.fileno())
        started = CronographProcess(process, output_file, port, list(arguments))
        self.started.append(started)
        return started

    def serve(
        self, database_url: str, *arguments: str, env: Mapping[str, str] | None = None, auth: bool = False
    ) -> CronographProcess:
        """Start `cronograph serve` on a free port and wait until it is ready; without sign-in unless `auth`."""
        return self.begin_serve(database_url, *arguments, env=env, auth=auth).wait_ready()

    def begin_serve(
        self, database_url: str, *arguments: str, env: Mapping[str, str] | None = None, auth: bool = False
    ) -> CronographProcess:
        """The same as `serve`, without waiting: for nodes that start together."""
        port = free_port()
        where = ["--host", "127.0.0.1", "--port", str(port), "--database-url", database_url]
        open_doors = [] if auth else ["--no-auth"]
        return self.start("serve", *where, *open_doors, *arguments, env=env, port=port)

    def run(
        self, *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 60, fresh: bool = False
    ) -> tuple[int, str]:
        """Run a command to its end; return its exit status and all that it printed."""
        started = self.start(*arguments, env=env, fresh=fresh)
        return started.wait(timeout), started.output()

    def end_all(self) -> None:
        """Kill what is left."""
        for process in self.started:
            process.kill()
        self.afterwards.close()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Forks the processes of this session; it is started when the first test asks for it."""
    nursery = Nursery("commands")
    yield nursery
    nursery.close()


@pytest.fixture
def processes(tmp_path: Path, nursery: Nursery) -> Iterator[ProcessStarter]:
    """Starts real `cronograph` processes in the test's own folder; none of them outlives the test."""
    starter = ProcessStarter(tmp_path, nursery)
    yield starter
    starter.end_all()
