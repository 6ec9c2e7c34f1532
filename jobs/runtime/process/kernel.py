"""What a process can ask of Linux: a signal when its parent dies, and to collect what its children leave behind."""

import ctypes
import os
import resource
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when its parent dies."""
PR_SET_CHILD_SUBREAPER = 36
"""Linux: what loses its parent below this process becomes its child, and is collected here when it ends."""

_TASKS: Final = "/proc/self/task"
_SIZES: Final = "/proc/self/statm"
# Looked up once: a forked process must not wait for a lock of the loader that a thread held meanwhile.
_prctl: Callable[..., object] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def control_process(option: int, value: int) -> None:
    """Ask the kernel for something that only Linux offers; elsewhere a no-op."""
    if _prctl is not None:
        _prctl(option, value, 0, 0, 0)


def children_of_this_process() -> set[int]:
    """The ids of all, inherited ones too; none where the kernel does not tell."""
    found: set[int] = set()
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
    """How many threads it has, those that are none of Python's among them where the kernel says so."""
    return len(_threads()) or threading.active_count()


def memory_of_this_process() -> int:
    """The bytes that it holds in memory now; where the kernel does not tell, the most that it ever held."""
    try:
        with open(_SIZES, "rb") as file:  # noqa: PTH123 - see _threads
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped (SIGSTOP); False where the kernel does not tell, and of one that has gone."""
    try:
        _, _, fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")
    except OSError:
        return False
    return fields[:1] == b"T"
