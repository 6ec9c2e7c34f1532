"""The end of a child process: all that Python does at an exit, without freeing what the process holds.

To take an interpreter apart object by object writes to nearly every page that a forked process shares with its
launcher, and each of these is copied first. That was two thirds of what a run in a child process cost.
"""

import atexit
import ctypes
import gc
import io
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Final, NoReturn

_FLUSHED: Final = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
# Neither has a public name; ``multiprocessing`` ends its processes by the same two.
_wait_for_threads: Final[Callable[[], None]] = vars(threading)["_shutdown"]
_call_exit_functions: Final[Callable[[], None]] = vars(atexit)["_run_exitfuncs"]
# Looked up once: a forked process must not wait for a lock of the loader that a thread held meanwhile.
_flush_c_streams: Final[Callable[[None], object]] = ctypes.CDLL(None).fflush


def end_in_order(status: int) -> NoReturn:
    """End this process.

    Threads that are no daemons are waited for, ``atexit`` functions are called (``logging`` and coverage flush there),
    and what was written to files that nobody closed is written out. ``__del__`` methods are not called; Python itself
    promises none at its exit.
    """
    _wait_for_threads()
    _call_exit_functions()
    # What the launcher had imported is frozen and not looked through.
    for stream in [one for one in gc.get_objects() if issubclass(type(one), _FLUSHED)] + [sys.stdout, sys.stderr]:
        _flush(stream)
    _flush_c_streams(None)
    os._exit(status)


def _flush(stream: IO[Any] | None) -> None:
    # Closed, read-only, or its reader is gone: an exit complains of none of them either.
    with suppress(OSError, ValueError):
        if stream is not None:
            stream.flush()
