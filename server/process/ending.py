"""The end of the process: its exit status, and the end itself once the server has stopped."""

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NoReturn

PATIENCE = 10.0
"""The default; long enough for a machine that is busy."""


class ExitCode(IntEnum):
    """Name the exit statuses, which are the same for every command."""

    DONE = 0
    REFUSED = 1
    """Exit code of a refused request, or of a check that found a fault."""
    USAGE = 2
    """The command line, the configuration or the job code is wrong; nothing was begun."""
    UNREACHABLE = 3
    """The server or the database cannot be reached or used."""
    IN_USE = 4
    """The port or the database file is in use by another process."""
    CUT_OFF = 5
    """The server has stopped and its runs are safe, but code of a job would not end and was cut off."""
    BROKEN = 6
    """The event loop of the jobs had ended: nothing could run here any more, and the runs went back to the queue."""
    DIFFERS = 6
    """With ``--detailed-exitcode``: what is there differs from what the files want."""


def end_broken(fault: str) -> NoReturn:
    """End the process here and now, since nothing runs in it any more."""
    sys.stderr.write(f"stopped, because nothing can run here any more: {fault}\n")
    _exit(ExitCode.BROKEN)


def end_without(left_behind: Sequence[str], patience: float = PATIENCE) -> None:
    """Make sure that the process ends; the caller then lets Python end it.

    Args:
        left_behind: Coroutines that would not end: with any of these the process ends here and now.
        patience: Seconds that threads have which Python waits for at its exit.
    """
    if left_behind:
        _cut_off(left_behind)
    # Python waits for threads that are no daemons, and for those of pools that are at work: jobs may start such.
    watch = threading.Thread(target=_watch, args=(patience,), name="cronograph-ending", daemon=True)
    watch.start()
    atexit.register(_end_beside_daemons, watch)


def _end_beside_daemons(watch: threading.Thread) -> None:
    """End here if daemon threads are at work, e.g. one that asks an engine: nobody waits for them.

    One that goes on while the interpreter is taken apart is ended by it, and that may abort the process.
    """
    if any(one.daemon and one is not watch for one in threading.enumerate()):
        atexit.unregister(_end_beside_daemons)
        call_others: Callable[[], None] = vars(atexit)["_run_exitfuncs"]
        call_others()
        _exit(ExitCode.DONE)


def _watch(patience: float) -> None:
    time.sleep(patience)
    main = threading.main_thread()
    waited_for = [one.name for one in threading.enumerate() if not one.daemon and one is not main]
    if waited_for:
        _cut_off(waited_for)


def _cut_off(what: Sequence[str]) -> NoReturn:
    sys.stderr.write(f"stopped, but this would not end and is cut off (it is a job's): {', '.join(what)}\n")
    _exit(ExitCode.CUT_OFF)


def _exit(code: ExitCode) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    logging.shutdown()
    os._exit(code)
