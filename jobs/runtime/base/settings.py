"""The settings and the clock of a node, and how it starts the launcher of its child processes."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

from ...core.base.errors import ConfigurationError
from ...core.nodes import EVERYTHING, NodeChoice
from ...queue.claims.fairness import CountingScheme


class Clock:
    """Made once, where a node is put together; tests make one that they can set."""

    def wall(self) -> datetime:
        """Return the time of day, in UTC. It may be set back or forward at any moment, so it measures nothing."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds since some moment; for distances in time."""
        return time.monotonic()

    def drift(self) -> float:
        """Return the time of day less the monotonic time, in seconds: it changes only when somebody sets the clock."""
        return self.wall().timestamp() - self.monotonic()


LAUNCHER = "cronograph.jobs.runtime.process.launcher"


class LauncherProcess(Protocol):
    """The methods of a launcher's process that a spawner needs; ``subprocess.Popen`` has them."""

    def wait(self, timeout: float | None = None) -> int:
        """Block until it has ended; raises ``subprocess.TimeoutExpired``."""
        ...

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
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


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of one node. Times are seconds.

    Attributes:
        node_name: Unique among live nodes; None = a readable random one.
        slots: How many runs execute at once. 1500 unless set: a coroutine that waits costs next to nothing.
        thread_slots: How many of the slots runs in threads may take. 20 unless set.
        process_slots: How many of them runs in child processes may take; None = one for each core.
        preload: Import the modules of process jobs before child processes are forked, unless a job says otherwise.
        prefetch: How many more are reserved ahead. 0 unless set: a claim costs less than a reservation and its start.
        counting_scheme: HIGH and LOW runs taken in turn within a group. ``2,1`` unless set.
        heartbeat: Between two signs of life. 15 unless set.
        lease: A node silent for this long is dead; it fences itself off at three quarters of it. 60 unless set.
        drain_timeout: How long running jobs may go on after a stop was asked for; 0 = as long as they take.
        hard_stop_grace: Between "please stop" and the hard stop. 10 unless set.
        version_wait: How long a run waits for a node whose version of its job can read its arguments. 3600 unless set.
        poll: Slow look for work when a notification was lost; None = 1 on SQLite, 5 on PostgreSQL.
        thread_logs: Keep the lines of threads that a job starts itself; changes ``threading`` for the whole process.
        print_logs: Keep the prints of jobs; replaces ``sys.stdout`` for the whole process.
        remote_slots: How many runs it hands to engines at once, besides its slots. 1000 unless set.
        remote_lease: How long the code of such a run may be silent. 180 unless set.
        remote_poll: Between two looks at the reports of engines. 5 unless set.
        remote_url: Where that code reaches a server; None = where people do.
        executors: The settings of executors, by name.
        choice: Which runs it takes; all unless set.
        version: Shown with the node.
        launch: Starts the process that forks child processes; in an interpreter of its own unless set.
    """

    node_name: str | None = None
    slots: int = 1500
    thread_slots: int = 20
    process_slots: int | None = None
    preload: bool = False
    prefetch: int = 0
    counting_scheme: str = "2,1"
    heartbeat: float = 15.0
    lease: float = 60.0
    drain_timeout: float = 25.0
    hard_stop_grace: float = 10.0
    version_wait: float = 3600.0
    poll: float | None = None
    thread_logs: bool = False
    print_logs: bool = False
    remote_slots: int = 1000
    remote_lease: float = 180.0
    remote_poll: float = 5.0
    remote_url: str | None = None
    executors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    choice: NodeChoice = EVERYTHING
    version: str = "0"
    launch: StartLauncher = start_launcher

    def check(self) -> None:
        """Check that settings are valid and fit together.

        Raises:
            ConfigurationError: names the setting.
        """
        if not 1 <= self.slots <= 10_000:
            raise ConfigurationError(f"slots: must be from 1 to 10000, got {self.slots}")
        if not 1 <= self.thread_slots <= 10_000:
            raise ConfigurationError(f"thread_slots: must be from 1 to 10000, got {self.thread_slots}")
        if self.process_slots is not None and not 1 <= self.process_slots <= 1_000:
            raise ConfigurationError(f"process_slots: must be from 1 to 1000, got {self.process_slots}")
        if not 1 <= self.remote_slots <= 10_000:
            raise ConfigurationError(f"remote_slots: must be from 1 to 10000, got {self.remote_slots}")
        if self.remote_lease <= 0 or self.remote_poll <= 0:
            raise ConfigurationError("remote_lease and remote_poll: must be above 0")
        if not 0 <= self.prefetch <= 10_000:
            raise ConfigurationError(f"prefetch: must be from 0 to 10000, got {self.prefetch}")
        if not 0 < self.heartbeat <= self.lease / 2:
            raise ConfigurationError(
                f"heartbeat: must be above 0 and at most half the lease ({self.lease:g} s), got {self.heartbeat:g}"
            )
        if self.drain_timeout < 0 or self.hard_stop_grace < 0 or self.version_wait < 0:
            raise ConfigurationError("drain_timeout, hard_stop_grace and version_wait: must not be negative")
        try:
            CountingScheme.parse(self.counting_scheme)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error

    @property
    def child_slots(self) -> int:
        """``process_slots``, or as many as this process may use cores."""
        return self.process_slots if self.process_slots is not None else cores()

    def poll_for(self, *, is_sqlite: bool) -> float:
        """Return the seconds between two slow looks for work."""
        return self.poll if self.poll is not None else (1.0 if is_sqlite else 5.0)
