"""A clock for tests."""

from datetime import UTC, datetime, timedelta

from ..core.run_spec import Seconds, length

START = datetime(2026, 1, 1, tzinfo=UTC)
"""The time that a ``FakeClock`` shows by default."""

TICK = timedelta(microseconds=1)
"""The shortest time that the clock can move on by."""


class FakeClock:
    """A clock that moves only when you move it.

    Args:
        now: The time that it shows, with a zone; 1 January 2026, 00:00 UTC unless given.
    """

    def __init__(self, now: datetime = START) -> None:
        self._now = _in_utc(now)

    def __call__(self) -> datetime:
        """Return the same as ``now``."""
        return self._now

    def now(self) -> datetime:
        """Return the time it shows, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Return the same in seconds."""
        return self._now.timestamp()

    def advance(self, seconds: Seconds) -> datetime:
        """Move on by a duration, ``60`` or ``"1m"``; return the new time."""
        return self.set(self._now + timedelta(seconds=length("FakeClock.advance", seconds)))

    def set(self, now: datetime) -> datetime:
        """Move to a time, with a zone; return the new time.

        Raises:
            ValueError: it is in the past; this clock does not go back.
        """
        later = _in_utc(now)
        if later < self._now:
            raise ValueError(f"FakeClock: must not go back, it shows {self._now.isoformat()}, got {later.isoformat()}")
        self._now = later
        return self._now


def _in_utc(now: datetime) -> datetime:
    if now.tzinfo is None:
        raise ValueError(f"FakeClock: must get a time with a zone, got {now.isoformat()}; add tzinfo=UTC")
    return now.astimezone(UTC)
