"""Starting the process that forks child processes."""

import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Protocol, TypeAlias

LAUNCHER = "cronograph.jobs.runtime.process.launcher"


class LauncherProcess(Protocol):
    """What a spawner needs of its launcher's process; ``subprocess.Popen`` has it."""

    def wait(self, timeout: float | None = None) -> int:
        """Block until it has ended; raises ``subprocess.TimeoutExpired``."""
        ...

    def kill(self) -> None:
        """SIGKILL, unless it has ended."""
        ...


StartLauncher: TypeAlias = Callable[[socket.socket], LauncherProcess]
"""Starts a launcher that speaks through this socket, which the caller closes then."""


def start_launcher(control: socket.socket) -> LauncherProcess:
    """Start a launcher in an interpreter of its own."""
    return subprocess.Popen(  # noqa: S603 - this interpreter and a module of ours
        [sys.executable, "-P", "-m", LAUNCHER, str(control.fileno())],
        pass_fds=[control.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
