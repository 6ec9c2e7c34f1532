"""How the process ends once its server has stopped, whatever code of jobs is still at work in it."""

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import NoReturn

from .output import ExitCode

PATIENCE = 10.0
"""Unless told otherwise; long enough for a machine that is busy."""


def end_without(left_behind: Sequence[str], patience: float = PATIENCE) -> None:
    """See to it that the process ends; the caller then lets Python end it.

    Args:
        left_behind: Coroutines that would not end: with any of these the process ends here and now.
        patience: Seconds that threads have which Python waits for at its exit.
    """
    if left_behind:
        _cut_off(left_behind)
    # Python waits for threads that are no daemons, and for those of pools that are at work: jobs may start such.
    threading.Thread(target=_watch, args=(patience,), name="cronograph-ending", daemon=True).start()


def _watch(patience: float) -> None:
    time.sleep(patience)
    main = threading.main_thread()
    waited_for = [one.name for one in threading.enumerate() if not one.daemon and one is not main]
    if waited_for:
        _cut_off(waited_for)


def _cut_off(what: Sequence[str]) -> NoReturn:
    sys.stderr.write(f"stopped, but this would not end and is cut off (it is a job's): {', '.join(what)}\n")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    logging.shutdown()
    os._exit(ExitCode.CUT_OFF)
