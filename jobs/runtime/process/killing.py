"""Ends a child process with all that it started."""

import os
import signal
from contextlib import suppress


def kill_group(pid: int) -> None:
    """Kill a child with all that it started; what is gone already, or belongs to somebody else, is left alone.

    Args:
        pid: Of a process that leads a group of its own.
    """
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
