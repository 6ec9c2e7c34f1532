"""Fields of a cron of any dialect as plain sets, and the instants at which they match."""

from calendar import monthrange
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import Enum, auto
from itertools import product
from typing import Final

MINUTES: Final = frozenset(range(60))
HOURS: Final = frozenset(range(24))
DAYS: Final = frozenset(range(1, 32))
MONTHS: Final = frozenset(range(1, 13))
WEEKDAYS: Final = frozenset(range(7))
LAST: Final = -1
"""In place of the number of a weekday in its month: the last one."""


class DialectError(ValueError):
    """A schedule that its own program refuses, or that cannot be understood for certain; says why."""


class Clock(Enum):
    """What happens to wall times that do not exist, or exist twice, where a clock is changed."""

    POLLED = auto()
    """The clock is looked at each minute: what it does not show does not happen, what it shows twice happens twice."""
    FIRST = auto()
    """Once each: what does not exist at the first instant after the gap, what exists twice at the first."""
    SHIFTED = auto()
    """Of the wall times that do not exist the first one, as much later as the gap is long; what exists twice, once."""
    SHIFTED_TWICE = auto()
    """The same, but what exists twice happens twice."""


@dataclass(frozen=True, slots=True)
class Fields:
    """When a schedule fires.

    Attributes:
        minutes: 0 to 59.
        hours: 0 to 23.
        days: Of the month, 1 to 31.
        months: 1 to 12.
        weekdays: Sunday is 0.
        seconds: 0 to 59.
        last_day: The last day of the month counts as one of ``days``.
        nth: Weekdays of which only one in a month counts: its number or ``LAST``, and the weekday.
        either: A day that matches ``days`` or the weekdays is enough; else it has to match both.
        clock: For wall times that a change of the clock leaves out or repeats.
    """

    minutes: frozenset[int] = MINUTES
    hours: frozenset[int] = HOURS
    days: frozenset[int] = DAYS
    months: frozenset[int] = MONTHS
    weekdays: frozenset[int] = WEEKDAYS
    seconds: frozenset[int] = frozenset({0})
    last_day: bool = False
    nth: frozenset[tuple[int, int]] = frozenset()
    either: bool = False
    clock: Clock = Clock.FIRST
    zone: tzinfo = field(default=UTC)

    def after(self, instant: datetime, until: datetime) -> Iterator[datetime]:
        """The instants after ``instant`` up to ``until``, in UTC, in order."""
        day = instant.astimezone(self.zone).date() - timedelta(days=1)
        latest = instant
        times = [time(*one) for one in product(sorted(self.hours), sorted(self.minutes), sorted(self.seconds))]
        while datetime.combine(day, time(), self.zone) <= until:
            if self._takes(day):
                # Where a clock is put back over midnight, the times of two days overlap.
                for found in sorted(self._of_day(datetime.combine(day, at) for at in times)):
                    if latest < found <= until:
                        latest = found
                        yield found
            day += timedelta(days=1)

    def _of_day(self, walls: Iterable[datetime]) -> set[datetime]:
        """The instants of the wall times of a day."""
        found: set[datetime] = set()
        has_shifted = False
        for wall in walls:
            first, second = (wall.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
            if first <= second:
                found.add(first)
                if self.clock in (Clock.POLLED, Clock.SHIFTED_TWICE):
                    found.add(second)
            elif self.clock is Clock.FIRST:
                found.add(end_of_gap(wall, self.zone))
            elif self.clock is not Clock.POLLED and not has_shifted:
                has_shifted = True
                found.add(first)
        return found

    def _takes(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        weekday = day.isoweekday() % 7
        last = monthrange(day.year, day.month)[1]
        by_day = day.day in self.days or (self.last_day and day.day == last)
        numbers = ((day.day - 1) // 7 + 1, LAST if day.day + 7 > last else 0)
        by_weekday = weekday in self.weekdays or any((number, weekday) in self.nth for number in numbers)
        return (by_day or by_weekday) if self.either else (by_day and by_weekday)


def end_of_gap(wall: datetime, zone: tzinfo) -> datetime:
    """The first instant after the gap in which a wall time is, in UTC."""
    # With fold=1 the time is read by the later offset, and is before the change; with fold=0 behind it.
    low = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    high = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)


def clock_changes(zone: tzinfo, since: datetime, until: datetime) -> list[date]:
    """The days on which the clock of a zone is changed."""
    days: list[date] = []
    at = since
    while at < until:
        following = at + timedelta(days=1)
        if at.astimezone(zone).utcoffset() != following.astimezone(zone).utcoffset():
            days.append(following.astimezone(zone).date())
        at = following
    return days
