"""What a process can ask of Linux: to hear of its parent's death, and to collect what its children leave behind."""

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when its parent dies."""
PR_SET_CHILD_SUBREAPER = 36
"""Linux: what loses its parent below this process becomes its child, and is collected here when it ends."""

# Looked up once: a forked process must not wait for a lock of the loader that a thread held meanwhile.
_prctl: Callable[..., object] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def control_process(option: int, value: int) -> None:
    """Ask the kernel for something that only Linux offers; elsewhere a no-op."""
    if _prctl is not None:
        _prctl(option, value, 0, 0, 0)


def children_of_this_process() -> set[int]:
    """The ids of all, inherited ones too, of a process with one thread; none where the kernel does not tell."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return {int(pid) for pid in children.read_text().split()} if children.exists() else set()
