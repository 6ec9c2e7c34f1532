"""Patterns of wall-clock times (year, month, day, hour, minute, second) and the search for the next match.

CRON and CALENDAR both compile to a ``WallPattern``. The search jumps from one set bit to the next and never scans, so
its cost does not depend on how far away the next match is, but for whole months without any matching day.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from .days import EVERY_MONTH, DayRule, first_weekday, kinds_of_month, lowest, month_length, span

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2199
"""The years a pattern can name, as in systemd."""
END_OF_TIME: Final = 9990
"""Last year looked at for a pattern that names no years; leaves room for offsets before ``datetime.max``."""

EVERY_HOUR: Final = span(0, 23)
EVERY_MINUTE: Final = span(0, 59)
_SECOND: Final = 1_000_000


class SecondSet(Protocol):
    """A set of moments within a minute, in microseconds from its start (0 to 59,999,999)."""

    @property
    def first(self) -> int:
        """The earliest moment."""
        ...

    def at_or_after(self, moment: int) -> int | None:
        """Return the earliest moment that is not before ``moment``, or None when there is none in the minute."""
        ...


@dataclass(frozen=True, slots=True)
class WholeSeconds:
    """Whole seconds as a bit mask (bit 0 to 59), not empty."""

    mask: int

    @property
    def first(self) -> int:
        """The earliest second, in microseconds."""
        return lowest(self.mask) * _SECOND

    def at_or_after(self, moment: int) -> int | None:
        """Return the earliest second that is not before ``moment``, in microseconds."""
        floor = -(-moment // _SECOND)
        rest = self.mask >> floor
        return (floor + lowest(rest)) * _SECOND if rest else None


@dataclass(frozen=True, slots=True)
class WallPattern:
    """Wall-clock times as one mask per part. A time matches when every part matches.

    ``years`` has bit 0 for ``FIRST_YEAR``; None means every year. ``hours``, ``minutes`` and ``seconds`` must not be
    empty.
    """

    years: int | None
    months: int
    days: DayRule
    hours: int
    minutes: int
    seconds: SecondSet
    _matching_days: dict[tuple[int, int], int] = field(
        default_factory=dict[tuple[int, int], int], init=False, repr=False, compare=False
    )

    @property
    def follows_real_time(self) -> bool:
        """Return whether every hour is chosen, so that clock changes neither delay nor drop anything."""
        return self.hours == EVERY_HOUR

    @property
    def is_hourly(self) -> bool:
        """Return whether it matches in every hour, at the same minutes."""
        return self.years is None and self.months == EVERY_MONTH and self.days.is_every_day and self.follows_real_time

    def can_match(self) -> bool:
        """Return whether some month of the chosen kinds has a matching day. Years are not looked at."""
        return any(self.days.matching(*kind) for kind in kinds_of_month(self.months))

    def at_or_after(self, start: datetime) -> datetime | None:
        """Return the earliest matching wall time not before ``start``; both are naive. None past the last year."""
        day = (start.year, start.month, start.day)
        found = self._day_at_or_after(*day)
        if found is not None and found == day:
            time = self._time_at_or_after(start.hour, start.minute, start.second * _SECOND + start.microsecond)
            if time is not None:
                return _wall(found, *time)
            found = self._day_at_or_after(start.year, start.month, start.day + 1)
        return _wall(found, lowest(self.hours), lowest(self.minutes), self.seconds.first) if found else None

    def _day_at_or_after(self, year: int, month: int, day: int) -> tuple[int, int, int] | None:
        """Return the earliest matching date; ``day`` may be one past the end of its month."""
        while (next_year := self._year_at_or_after(year)) is not None:
            if next_year != year:
                year, month, day = next_year, 1, 1
            while month <= 12 and (rest := self.months >> month):
                skipped = lowest(rest)
                if skipped:
                    month, day = month + skipped, 1
                if days := self._days_of(year, month) >> day:
                    return year, month, day + lowest(days)
                month, day = month + 1, 1
            year, month, day = year + 1, 1, 1
        return None

    def _year_at_or_after(self, year: int) -> int | None:
        if self.years is None:
            return year if year <= END_OF_TIME else None
        year = max(year, FIRST_YEAR)
        rest = self.years >> (year - FIRST_YEAR)
        return year + lowest(rest) if rest else None

    def _days_of(self, year: int, month: int) -> int:
        kind = (first_weekday(year, month), month_length(year, month))
        days = self._matching_days.get(kind)
        if days is None:
            days = self._matching_days[kind] = self.days.matching(*kind)
        return days

    def _time_at_or_after(self, hour: int, minute: int, moment: int) -> tuple[int, int, int] | None:
        """Return the earliest matching (hour, minute, microseconds into the minute) of a day."""
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1:
                second = self.seconds.at_or_after(moment)
                if second is not None:
                    return hour, minute, second
            if rest := self.minutes >> (minute + 1):
                return hour, minute + 1 + lowest(rest), self.seconds.first
        if rest := self.hours >> (hour + 1):
            return hour + 1 + lowest(rest), lowest(self.minutes), self.seconds.first
        return None


def _wall(day: tuple[int, int, int], hour: int, minute: int, moment: int) -> datetime:
    second, microsecond = divmod(moment, _SECOND)
    return datetime(*day, hour, minute, second, microsecond)  # noqa: DTZ001 (a wall time has no zone)
