"""The time that decides what is due on SQLite: that of the machine, but it does not go back."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from ....own.forks import renew_in_forks

SLOWED: Final = 0.9
"""So fast it goes on while it is ahead of the machine's: an hour is made up for in ten."""
AT_MOST: Final = timedelta(days=1)
"""If the machine's clock is set back by more, that one is followed."""


def machine_time() -> datetime:
    """The time of day of this machine."""
    return datetime.now(UTC)


class SteadyClock:
    """A clock of one process; from any thread.

    Args:
        wall: The time of day, which may be set back.
        monotonic: Seconds that only grow.
    """

    def __init__(
        self, wall: Callable[[], datetime] = machine_time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last = wall()
        self._at = monotonic()
        renew_in_forks(self)

    def renew(self) -> None:
        """Start again in a forked process: a thread that is not there may have held the lock."""
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The time of day; after that was set back, the last time and what has passed since, slowed down."""
        with self._lock:
            wall, at = self._wall(), self._monotonic()
            going_on = self._last + timedelta(seconds=(at - self._at) * SLOWED)
            self._last = max(wall, going_on) if going_on - wall <= AT_MOST else wall
            self._at = at
            return self._last
