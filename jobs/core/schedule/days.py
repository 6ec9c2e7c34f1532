"""Work out the days of a month that a schedule names, from the month's first weekday and its length alone.

There are only 7 times 4 kinds of month, so the answer for each kind is computed once per rule, and whether a rule can
ever match is decided exactly by looking at the kinds that the chosen months can be.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final


def lowest(mask: int) -> int:
    """Return the smallest member of a set that is not empty."""
    return (mask & -mask).bit_length() - 1


def members(mask: int) -> Iterator[int]:
    """Yield the members of the set, ascending."""
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit


def span(low: int, high: int) -> int:
    """Return the set of all numbers from ``low`` to ``high``, both included; empty when ``high < low``."""
    return ((1 << (high + 1)) - 1) & ~((1 << low) - 1) if high >= low else 0


def stepped(low: int, high: int, step: int) -> int:
    """Return the set ``low, low + step, low + 2·step, …`` up to and including ``high``. ``step`` must be at least 1."""
    return mask_of(range(low, high + 1, step))


def mask_of(numbers: Iterable[int]) -> int:
    """Return the set of the given numbers, none of them negative."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


EVERY_DAY: Final = span(1, 31)
EVERY_WEEKDAY: Final = span(0, 6)
EVERY_MONTH: Final = span(1, 12)

_MONTH_LENGTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIVE_WEEKS: Final = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28
_SATURDAY: Final = 5
_SUNDAY: Final = 6


@dataclass(frozen=True, slots=True)
class DayRule:
    """Days of the month AND days of the week. All fields are bit masks; weekdays are counted from Monday = 0.

    A day must be named by one of ``days`` (bit 1 to 31), ``from_end`` (bit 0 = the last day, bit 1 = the day before,
    …), ``nearest`` (bit n: the workday nearest to day n, never leaving the month) or ``last_workday``; and its weekday
    by one of ``weekdays``, ``nth_weekdays`` (five masks, for the first to the fifth of that weekday in the month) or
    ``last_weekdays``.
    """

    days: int = 0
    from_end: int = 0
    nearest: int = 0
    last_workday: bool = False
    weekdays: int = 0
    nth_weekdays: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    last_weekdays: int = 0

    @property
    def is_every_day(self) -> bool:
        """Return whether no day is left out."""
        return self.days == EVERY_DAY and self.weekdays == EVERY_WEEKDAY

    def matching(self, first_weekday: int, length: int) -> int:
        """Return the matching days (bits 1 to 31) of a month of ``length`` days that begins on ``first_weekday``."""
        return self._by_day(first_weekday, length) & self._by_weekday(first_weekday, length)

    def _by_day(self, first_weekday: int, length: int) -> int:
        mask = self.days & span(1, length)
        for offset in members(self.from_end & span(0, length - 1)):
            mask |= 1 << (length - offset)
        for day in members(self.nearest & span(1, length)):
            mask |= 1 << _nearest_workday(day, first_weekday, length)
        if self.last_workday:
            mask |= 1 << _nearest_workday(length, first_weekday, length)
        return mask

    def _by_weekday(self, first_weekday: int, length: int) -> int:
        mask = _days_with(self.weekdays, first_weekday)
        for index, weekdays in enumerate(self.nth_weekdays):
            if weekdays:
                mask |= _days_with(weekdays, first_weekday) & span(7 * index + 1, 7 * index + 7)
        if self.last_weekdays:
            mask |= _days_with(self.last_weekdays, first_weekday) & span(length - 6, length)
        return mask & span(1, length)


def month_length(year: int, month: int) -> int:
    """Return the number of days of a Gregorian month."""
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _MONTH_LENGTHS[month]


def first_weekday(year: int, month: int) -> int:
    """Weekday of the first of the month, Monday = 0."""
    return date(year, month, 1).weekday()


def kinds_of_month(months: int) -> Iterator[tuple[int, int]]:
    """Return every (first weekday, length) that one of the months (bit 1 to 12) has in some year.

    Over 400 years every month begins on every weekday, and so does February of leap years alone.
    """
    lengths = {_MONTH_LENGTHS[month] for month in members(months)}
    if months >> 2 & 1:
        lengths.add(29)
    return ((weekday, length) for length in sorted(lengths, reverse=True) for weekday in range(7))


def _days_with(weekdays: int, first_weekday: int) -> int:
    """Return the days 1 to 35 whose weekday is in the set, in a month that begins on ``first_weekday``."""
    turned = weekdays >> first_weekday | (weekdays << (7 - first_weekday)) & EVERY_WEEKDAY
    return turned * _FIVE_WEEKS << 1


def _nearest_workday(day: int, first_weekday: int, length: int) -> int:
    """Return the day from Monday to Friday nearest to ``day`` within the same month."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == _SUNDAY:
        return day + 1 if day < length else day - 2
    return day
