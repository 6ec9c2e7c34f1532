"""INTERVAL: a fixed grid of instants, free of drift."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from .durations import MICROSECONDS, describe_duration, duration_microseconds
from .model import ScheduleError, Syntax
from .wall import END_OF_TIME
from .zones import find_zone

SHORTEST: Final = MICROSECONDS
"""One second, in microseconds."""
LONGEST: Final = 36_525 * 86_400 * MICROSECONDS
"""A hundred years, in microseconds: keeps every sum within the calendar."""

_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class IntervalSchedule:
    """Occurrences at ``anchor + k · interval`` for k = 0, 1, 2, …; ``anchor`` is aware."""

    value: str
    timezone: str
    microseconds: int
    anchor: datetime

    @property
    def syntax(self) -> Syntax:
        """Always INTERVAL."""
        return Syntax.INTERVAL

    @property
    def seconds(self) -> float:
        """The interval in seconds, at least 1."""
        return self.microseconds / MICROSECONDS

    def next_after(self, instant: datetime) -> datetime | None:
        """The first instant of the grid strictly later than ``instant``; aware, in UTC. None only at the end of time.

        Raises:
            ValueError: ``instant`` is naive.
        """
        if instant.tzinfo is None:
            raise ValueError(f"instant: must be aware (say, in UTC), got the naive {instant!r}")
        anchor = self.anchor.astimezone(UTC)
        if instant < anchor:
            return anchor
        steps = (instant - anchor) // _MICROSECOND // self.microseconds + 1
        elapsed = timedelta(microseconds=steps * self.microseconds)
        return anchor + elapsed if elapsed < datetime(END_OF_TIME, 1, 1, tzinfo=UTC) - anchor else None

    def describe(self) -> str:
        """One English sentence saying when it fires. A fixed grid is the same in every zone."""
        return f"Every {describe_duration(self.microseconds)}"


def parse_interval(value: str, timezone: str, anchor: datetime) -> IntervalSchedule:
    """Parse an interval of at least one second whose grid begins at ``anchor``. The zone plays no part, but must exist.

    Raises:
        ScheduleError: it is no such interval.
        ValueError: ``anchor`` is naive.
    """
    if anchor.tzinfo is None:
        raise ValueError(f"anchor: must be aware (say, in UTC), got the naive {anchor!r}")
    find_zone(timezone)
    microseconds = duration_microseconds(value)
    if microseconds < SHORTEST:
        raise _out_of_bounds(value, "at least one second", "1s")
    if microseconds > LONGEST:
        raise _out_of_bounds(value, "at most a hundred years", "36525d")
    return IntervalSchedule(value, timezone, microseconds, anchor)


def _out_of_bounds(value: str, bound: str, suggestion: str) -> ScheduleError:
    message = f"value: the interval must be {bound}, got '{value}'"
    return ScheduleError(message, field="value", position=0, suggestion=suggestion)
