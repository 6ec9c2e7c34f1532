"""Ways to start a process: as a shell does, or forked from one that has imported everything already."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from cronograph.jobs.runtime.process.kernel import PR_SET_PDEATHSIG, control_process

NURSERY = Path(__file__).with_name("nursery.py")


class Running(Protocol):
    """What `subprocess.Popen` offers of a started process, as far as the tests need it."""

    @property
    def pid(self) -> int:
        """The process id, which is also that of its session and group."""
        ...

    @property
    def returncode(self) -> int | None:
        """The exit status as far as it is known; negative: the signal that ended it."""
        ...

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Block until it has ended; raises `subprocess.TimeoutExpired`."""
        ...

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        ...

    def kill(self) -> None:
        """SIGKILL, unless it has ended."""
        ...


def start_fresh(words: Sequence[str], folder: Path, environment: Mapping[str, str], output: int) -> Running:
    """Start a command as a shell does; standard output and error go to the file `output`."""
    return subprocess.Popen(
        list(words),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_die_with_starter,  # noqa: PLW1509 - one system call, which takes no lock
    )


def _die_with_starter() -> None:
    """Have the kernel kill this process when the thread that started it ends, however it ends (Linux)."""
    control_process(PR_SET_PDEATHSIG, signal.SIGKILL)


class Forked:
    """A process that a nursery has forked; its exit status comes through the pipe `status`."""

    def __init__(self, pid: int, words: Sequence[str], status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._words = list(words)
        self._status = status

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Block until it has ended; raises `subprocess.TimeoutExpired`."""
        status = self._look(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self._words, timeout or 0)
        return status

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(os.read(self._status, 16) or -signal.SIGKILL)
            os.close(self._status)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """SIGKILL, unless it has ended."""
        self.send_signal(signal.SIGKILL)


class Nursery:
    """Forks processes from one that has imported everything; started with the first of them.

    Args:
        kind: What they run: `commands` of `cronograph`, `launchers` of child processes, or any `programs`.
    """

    def __init__(self, kind: Literal["commands", "launchers", "programs"]) -> None:
        self._kind = kind
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], output: int, *handed_over: int
    ) -> Running:
        """Fork a process that runs the command line `words`, as `start_fresh` would start it.

        Files that are handed over have other numbers there, which are added to its words.
        """
        control = self._control = self._control or self._begin()
        order = {"arguments": list(words), "folder": str(folder), "environment": dict(environment)}
        status, report = os.pipe()
        try:
            line = json.dumps(order).encode() + b"\n"
            sent = socket.send_fds(control, [line], [output, report, *handed_over])
            control.sendall(line[sent:])
            pid = int(control.recv(32))
        finally:
            os.close(report)
        return Forked(pid, words, status)

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(NURSERY), str(theirs.fileno()), self._kind],
                env={**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "160"},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        return ours

    def close(self) -> None:
        """End the nursery, and all that it has forked."""
        if self._control is not None and self._process is not None:
            self._control.close()
            self._process.wait(60)
