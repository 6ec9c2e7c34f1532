"""Ask the kernel about processes, and kill a child process with everything that it started."""

import ctypes
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from enum import Enum, auto
from pathlib import Path
from typing import Final

CHILD_MARK: Final = "CRONOGRAPH_CHILD"
"""In the environment of all that a child starts: whose it is, also when it has left the process group, as browsers and
daemons do."""

_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 50
"""The most looks through all processes: a process that was found may have started another since."""

_PAUSE: Final = 0.01
"""Seconds until a process is looked at again whose environment could not be seen yet."""

_MEMORY_FIELD: Final = 20
_ENVIRONMENT_FIELD: Final = 48
"""``vsize`` (above) and ``env_end`` of ``/proc/PID/stat``, counted from the field after the name.

In proc(5), which counts from the first field, they are 23 and 51.
"""


class Verdict(Enum):
    """The finding about a process whose mark was looked for."""

    KILLED = auto()
    """It carried the mark."""
    SPARED = auto()
    """It does not carry the mark, has ended, or belongs to another user."""
    NOT_YET_VISIBLE = auto()
    """It is just starting another program (``execve``), so its environment cannot be read: look again."""


def kill_group(pid: int) -> None:
    """Kill a child with its process group; a process that is gone already, or belongs to somebody else, is left alone.

    Args:
        pid: Of a process that leads a group of its own.
    """
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def mark_of(launcher: int, child: int) -> str:
    """Return the value of the mark.

    Args:
        launcher: A number that no other launcher has: process ids may mean others in a container.
        child: The child's process id.
    """
    return f"{launcher}.{child}"


def kill_strays(launcher: int, children: Collection[int]) -> None:
    """Kill processes started by these children that are in no group of theirs; on Linux only, where they can be seen.

    Reads the environment of every process of this user: for when children end in disorder. Waits up to half a second
    for processes that start another program meanwhile.
    """
    if not children or not _PROCESSES.is_dir():
        return
    marks = {f"{CHILD_MARK}={mark_of(launcher, pid)}".encode() for pid in children}
    for _ in range(_ROUNDS):
        several = [int(each.name) for each in _PROCESSES.iterdir() if each.name.isdecimal()]
        verdicts = {kill_marked(pid, marks) for pid in several}
        if verdicts <= {Verdict.SPARED}:
            return
        if Verdict.KILLED not in verdicts:
            time.sleep(_PAUSE)


def kill_marked(pid: int, marks: set[bytes]) -> Verdict:
    """Kill a process whose environment holds one of these entries.

    Args:
        pid: Of any process, also one that has ended meanwhile.
        marks: Entries ``NAME=value``.
    """
    with suppress(OSError), ExitStack() as at_end:
        # What is held stays the same process, no matter which process gets the number next.
        held = os.pidfd_open(pid)
        at_end.callback(os.close, held)
        environment = _environment_of(pid)
        if not environment:
            if _is_between_programs(pid):
                return Verdict.NOT_YET_VISIBLE
            # It may have become visible between the two looks.
            environment = _environment_of(pid)
        if not marks.isdisjoint(environment.split(b"\0")):
            signal.pidfd_send_signal(held, signal.SIGKILL)
            return Verdict.KILLED
    return Verdict.SPARED


def _environment_of(pid: int) -> bytes:
    """Read the environment with which a process started; empty while it starts, and of a zombie."""
    return (_PROCESSES / str(pid) / "environ").read_bytes()


def _is_between_programs(pid: int) -> bool:
    """Return whether the process has memory in which the kernel has not yet placed the new program's environment.

    Files that are closed on ``execve`` are closed before that moment, so who waits for their end may come too early.
    A process without any environment has a place for it; a kernel thread or a zombie has no memory.
    """
    _, _, fields = (_PROCESSES / str(pid) / "stat").read_bytes().rpartition(b") ")
    numbers = fields.split()
    return int(numbers[_MEMORY_FIELD]) > 0 and int(numbers[_ENVIRONMENT_FIELD]) == 0


PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when its parent dies."""
PR_SET_CHILD_SUBREAPER = 36
"""Linux: what loses its parent below this process becomes its child, and is collected here when it ends."""

_WALL: Final = 0x40000000
"""Linux: children of any kind, those that other threads have cloned too."""

_TASKS: Final = "/proc/self/task"
_SIZES: Final = "/proc/self/statm"
# Looked up once: a forked process must not wait for a lock of the loader that a thread held meanwhile.
_prctl: Callable[..., object] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def control_process(option: int, value: int) -> None:
    """Ask the kernel for something that only Linux offers; elsewhere a no-op."""
    if _prctl is not None:
        _prctl(option, value, 0, 0, 0)


def children_of_this_process() -> set[int]:
    """Return the ids of all, inherited ones too; none where the kernel does not tell."""
    found: set[int] = set()
    if sys.platform == "linux":
        # Most have none, as this says in a twentieth of the time.
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _WALL)
        except ChildProcessError:
            return found
    for thread in _threads():
        # A thread may have ended meanwhile.
        with suppress(FileNotFoundError), open(f"{_TASKS}/{thread}/children", "rb") as file:  # noqa: PTH123 - see _threads
            found.update(map(int, file.read().split()))
    return found


def _threads() -> list[str]:
    try:
        # A child that is used again comes here after each run; paths as objects would take half of its time.
        return os.listdir(_TASKS)  # noqa: PTH208
    except FileNotFoundError:
        return []


def threads_of_this_process() -> int:
    """Count its threads, including those that are none of Python's if the kernel says so."""
    return len(_threads()) or threading.active_count()


def memory_of_this_process(below: int = 0) -> int:
    """Return the bytes that it holds in memory now; where the kernel does not tell, the most that it ever held.

    Args:
        below: Where it never held more than that, the most may be said, which the kernel does in no time.
    """
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if most <= below:
        return most
    try:
        with open(_SIZES, "rb") as file:  # noqa: PTH123 - see _threads
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return most


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped (SIGSTOP); False where the kernel does not tell, and of one that has gone."""
    try:
        _, _, fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")
    except OSError:
        return False
    return fields[:1] == b"T"
