"""A clock that a test sets, as an administrator or a time service would."""

from datetime import datetime, timedelta

from typing_extensions import override

from cronograph.jobs.runtime.base.settings import Clock


class WrongClock(Clock):
    """The time of day is off by so many seconds until it is set right; the monotonic time goes on, or is moved on."""

    def __init__(self, off: float = 0.0) -> None:
        self.off = off
        self.passed = 0.0

    @override
    def wall(self) -> datetime:
        """The wrong time of day."""
        return super().wall() + timedelta(seconds=self.off)

    @override
    def monotonic(self) -> float:
        """The right distances in time, and what the test lets pass."""
        return super().monotonic() + self.passed
