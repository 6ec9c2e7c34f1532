"""Ends a child process with all that it started."""

import os
import signal
from collections.abc import Collection
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

CHILD_MARK: Final = "CRONOGRAPH_CHILD"
"""In the environment of all that a child starts: whose it is, also when it has left the process group, as browsers and
daemons do."""

_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 5
"""What is found may have started something since."""


def kill_group(pid: int) -> None:
    """Kill a child with its process group; what is gone already, or belongs to somebody else, is left alone.

    Args:
        pid: Of a process that leads a group of its own.
    """
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def mark_of(launcher: int, child: int) -> str:
    """What stands there.

    Args:
        launcher: A number that no other launcher has: process ids may mean others in a container.
        child: The child's process id.
    """
    return f"{launcher}.{child}"


def kill_strays(launcher: int, children: Collection[int]) -> None:
    """Kill what these children have started and what is in no group of theirs; on Linux only, where that can be seen.

    Reads the environment of every process of this user: for when children end in disorder.
    """
    if not children or not _PROCESSES.is_dir():
        return
    marks = {f"{CHILD_MARK}={mark_of(launcher, pid)}".encode() for pid in children}
    for _ in range(_ROUNDS):
        several = [int(each.name) for each in _PROCESSES.iterdir() if each.name.isdecimal()]
        if not [pid for pid in several if kill_marked(pid, marks)]:
            return


def kill_marked(pid: int, marks: set[bytes]) -> bool:
    """Kill a process whose environment holds one of these entries; whether it did.

    One that has ended meanwhile, or is another user's, is left alone.
    """
    with suppress(OSError), ExitStack() as at_end:
        # What is held stays the same process, whoever gets the number next.
        held = os.pidfd_open(pid)
        at_end.callback(os.close, held)
        if not marks.isdisjoint((_PROCESSES / str(pid) / "environ").read_bytes().split(b"\0")):
            signal.pidfd_send_signal(held, signal.SIGKILL)
            return True
    return False
