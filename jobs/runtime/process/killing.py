"""Ends a child process with all that it started."""

import os
import signal
from collections.abc import Collection
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

CHILD_MARK: Final = "CRONOGRAPH_CHILD"
"""In the environment of all that a child starts: the child's process id. It tells whose those are that have left its
process group, as browsers and daemons do."""

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


def kill_strays(children: Collection[int]) -> None:
    """Kill what these children have started and what is in no group of theirs; on Linux only, where that can be seen.

    Reads the environment of every process of this user: for when children end in disorder.
    """
    if not children or not _PROCESSES.is_dir():
        return
    marks = {f"{CHILD_MARK}={pid}".encode() for pid in children}
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
