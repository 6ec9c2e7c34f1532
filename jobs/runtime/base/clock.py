"""The two clocks of a process: the one that people set, and the one that only ever goes on."""

import time
from datetime import UTC, datetime


class Clock:
    """Made once, where a node is put together; tests make one that they can set."""

    def wall(self) -> datetime:
        """The time of day, in UTC. It may be set back or forward at any moment, so it measures nothing."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment; for distances in time."""
        return time.monotonic()

    def drift(self) -> float:
        """The time of day less the monotonic time, in seconds: it changes only when somebody sets the clock."""
        return self.wall().timestamp() - self.monotonic()
