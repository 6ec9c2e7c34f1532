"""Signal to a running job why and when it should stop; shared by the event loop and the job's own thread."""

import threading
import time
from collections.abc import Callable
from typing import Final

from ...base.context import StopReason


class StopSignal:
    """Set once, with the first reason; a deadline sets itself.

    Args:
        timeout: Seconds of the time box from now; None = none.
        clock: Seconds that only grow; the system's monotonic clock unless a test brings its own.
    """

    __slots__ = ("_asked", "_clock", "_deadline", "_lock", "_since")

    def __init__(self, timeout: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._deadline = None if timeout is None else self._since + timeout
        self._asked: StopReason | None = None
        self._lock = threading.Lock()

    @property
    def reason(self) -> StopReason | None:
        """Return why the job should stop; None if it need not."""
        if self._asked is not None:
            return self._asked
        return StopReason.DEADLINE if self.remaining() == 0.0 else None

    def remaining(self) -> float | None:
        """Return the seconds left of the time box, never negative; None = no time box."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock())

    def elapsed(self) -> float:
        """Return the seconds since this was made."""
        return self._clock() - self._since

    def ask(self, reason: StopReason) -> None:
        """Ask the job to stop; the first reason stays (a deadline that has passed is one), but a cancel outranks it."""
        with self._lock:
            self._asked = reason if reason is StopReason.CANCEL else self.reason or reason


_LOOK: Final = 0.2
"""Seconds between two looks of a thread that waits at whether it should stop."""


def wait_unless_stopped(signal: StopSignal, seconds: float) -> bool:
    """Block a thread for so many seconds; False, and at once: its job should stop."""
    end = time.monotonic() + seconds
    while signal.reason is None:
        left = end - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(_LOOK, left))
    return False
