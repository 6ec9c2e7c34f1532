"""A cron of another program as plain sets of numbers, its times, and the same as expressions here."""

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import pairwise, product
from typing import Final

from ...jobs.core.base.times import EARLIEST
from ...jobs.core.model import ScheduleSpec
from ...jobs.core.schedule import NEVER_FIRES, ScheduleError, Syntax, parse
from .model import UnsaidError

DAYS: Final = frozenset(range(1, 32))
WEEKDAYS: Final = frozenset(range(7))
LAST: Final = -1
"""In place of the number of a weekday in its month: the last one."""
NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAY_NAMES: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final[Mapping[str, tuple[int, int, Mapping[str, int]]]] = {
    "minute": (0, 59, {}),
    "hour": (0, 23, {}),
    "day": (1, 31, {}),
    "month": (1, 12, {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}),
    "weekday": (0, 7, {name: number for number, name in enumerate(_WEEKDAY_NAMES)}),
}
_ITEM: Final = re.compile(r"(\*|(\w{1,20})(?:-(\w{1,20}))?)(?:/(\d{1,20}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fields:
    """When a schedule fires.

    Attributes:
        days: Days of the month, 1 to 31.
        weekdays: Sunday is 0.
        last_day: The last day of the month counts as one of ``days``.
        nth: Weekdays of which only one in a month counts: its number or ``LAST``, and the weekday.
        either: A day that matches ``days`` or the weekdays is enough; else it has to match both.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    _: KW_ONLY
    seconds: frozenset[int] = frozenset({0})
    last_day: bool = False
    nth: frozenset[tuple[int, int]] = frozenset()
    either: bool = False

    def takes(self, day: date) -> bool:
        """Return whether it fires on a day."""
        if day.month not in self.months:
            return False
        weekday = day.isoweekday() % 7
        last = monthrange(day.year, day.month)[1]
        by_day = day.day in self.days or (self.last_day and day.day == last)
        numbers = ((day.day - 1) // 7 + 1, LAST if day.day + 7 > last else 0)
        by_weekday = weekday in self.weekdays or any((number, weekday) in self.nth for number in numbers)
        return (by_day or by_weekday) if self.either else (by_day and by_weekday)


def parse_crontab(fields: Iterable[str], *, opens: bool = False, highest_weekday: int = 7) -> list[frozenset[int]]:
    """Parse the five fields of a crontab, with Sunday = 0 in the last one.

    Args:
        fields: Minute, hour, day, month and weekday.
        opens: Whether ``a/n`` is allowed, from ``a`` to the end of the field.
        highest_weekday: The greatest number of a weekday.

    Raises:
        UnsaidError: a field is no such field.
    """
    found: list[frozenset[int]] = []
    for (name, (low, high, names)), text in zip(_FIELDS.items(), fields, strict=True):
        end = highest_weekday if name == "weekday" else high
        try:
            numbers = {number for part in text.split(",") for number in _item(part, low, end, names, opens=opens)}
        except UnsaidError as error:
            raise UnsaidError(f"{name}: {error}") from None
        found.append(frozenset(number % 7 for number in numbers) if name == "weekday" else frozenset(numbers))
    return found


def _item(part: str, low: int, high: int, names: Mapping[str, int], *, opens: bool) -> Iterable[int]:
    match = _ITEM.fullmatch(part)
    if match is None:
        raise UnsaidError(f"'{part[:60]}' is not understood")
    everything, first, last, step = match.groups()
    by = int(step) if step else 1
    if by == 0:
        raise UnsaidError(f"'{part}' has a step of 0")
    if everything == "*":
        return range(low, high + 1, by)
    start = _number(first, low, high, names)
    if last is None:
        if step and not opens:
            raise UnsaidError(f"'{part}' is a step without a range: write '{first}-{high}/{step}' if that is meant")
        return range(start, high + 1 if step else start + 1, by)
    end = _number(last, low, high, names)
    if end == 0 and start > 0 and high == 7:
        end = 7  # Sunday ends a week, too
    if start > end:
        raise UnsaidError(f"range '{part}' runs backwards")
    return range(start, end + 1, by)


def _number(text: str, low: int, high: int, names: Mapping[str, int]) -> int:
    if text.isdecimal():
        if not low <= int(text) <= high:
            raise UnsaidError(f"{int(text)} is out of range; it must be {low} to {high}")
        return int(text)
    if text.lower() not in names:
        raise UnsaidError(f"'{text}' is not understood")
    return names[text.lower()]


# Times --------------------------------------------------------------------------------------------------------------


def times_of(fields: Fields, zone: tzinfo, since: int, until: int, *, polled: bool) -> Iterator[int]:
    """Yield when fields fire after ``since`` up to ``until``, in seconds of the epoch and in order.

    Args:
        zone: The zone of the wall clock.
        since: The instant after which it is looked for.
        until: The last instant.
        polled: Whether the clock is looked at each minute: a time that it does not show does not happen, one that it
            shows twice happens twice. Else a time happens once: one that does not exist at the end of the gap, one
            that exists twice at the first.
    """
    day = datetime.fromtimestamp(since, zone).date() - timedelta(days=1)
    latest = since
    walls = [time(*one) for one in product(sorted(fields.hours), sorted(fields.minutes), sorted(fields.seconds))]
    while datetime.combine(day, time(), zone).timestamp() <= until:
        if fields.takes(day):
            # Where a clock is put back over midnight, the times of two days overlap.
            for found in sorted({at for wall in walls for at in _instants(datetime.combine(day, wall), zone, polled)}):
                if latest < found <= until:
                    latest = found
                    yield found
        day += timedelta(days=1)


def _instants(wall: datetime, zone: tzinfo, polled: bool) -> Iterator[int]:
    first, second = (int(wall.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1))
    if first <= second:
        yield from {first, second} if polled else {first}
    elif not polled:
        # With fold=1 a time in the gap is read by the later offset, and is before the change; with fold=0 behind it.
        before = datetime.fromtimestamp(second, zone).utcoffset()
        low, high = second, first
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if datetime.fromtimestamp(middle, zone).utcoffset() == before else (low, middle)
        yield high


def interval_of(seconds: float) -> ScheduleSpec:
    """Return the schedule of an interval.

    Raises:
        UnsaidError: it is less than a second, or no interval here.
    """
    if seconds < 1:
        raise UnsaidError(f"an interval is at least one second here, got {seconds:g} s")
    return judged(ScheduleSpec(Syntax.INTERVAL, f"{f'{seconds:f}'.rstrip('0').rstrip('.')}s"))


def judged(spec: ScheduleSpec) -> ScheduleSpec:
    """Return a schedule that can be here; ``UnsaidError`` says why another one cannot."""
    try:
        parse(spec.syntax, spec.value, spec.timezone, anchor=EARLIEST)
    except ScheduleError as error:
        raise UnsaidError(str(error)) from None
    return spec


# Expressions --------------------------------------------------------------------------------------------------------


def schedules_of(fields: Fields, zone: str) -> list[ScheduleSpec]:
    """Return the schedules here that are due when the fields match there.

    Raises:
        UnsaidError: there is none; the message says why.
    """
    found: list[ScheduleSpec] = []
    refused = ""
    for expression in _expressions(fields):
        try:
            parse(Syntax.CRON, expression, zone)
        except ScheduleError as error:
            refused = str(error)
            if error.code is not NEVER_FIRES:
                raise UnsaidError(refused) from None
        else:
            found.append(ScheduleSpec(Syntax.CRON, expression, zone))
    if not found:
        raise UnsaidError(refused)
    return found


def _expressions(fields: Fields) -> tuple[str, ...]:
    """Return one expression of six fields, or two for "this day of the month or this weekday".

    Here both day fields have to match. So the second expression leaves out the days of the first, and no day fires
    twice.
    """
    if not fields.either:
        return (_expression(fields, _days(fields), _weekdays(fields)),)
    if fields.days == DAYS or fields.weekdays == WEEKDAYS:
        return (_expression(fields, "*", "*"),)
    if fields.last_day:
        raise UnsaidError("the last day of the month or a weekday: a month's last day would fire twice as two tasks")
    by_day = _expression(fields, _days(fields), "*")
    return by_day, _expression(fields, _compact(DAYS - fields.days, 1, 31), _weekdays(fields))


def _expression(fields: Fields, day: str, weekday: str) -> str:
    parts = (_compact(fields.seconds, 0, 59), _compact(fields.minutes, 0, 59), _compact(fields.hours, 0, 23))
    return " ".join((*parts, day, _compact(fields.months, 1, 12), weekday))


def _days(fields: Fields) -> str:
    if not fields.last_day or fields.days == DAYS:
        return _compact(fields.days, 1, 31)
    return ",".join(filter(None, (_compact(fields.days, 1, 31) if fields.days else "", "L")))


def _weekdays(fields: Fields) -> str:
    if fields.weekdays == WEEKDAYS:
        return "*"
    ordered = sorted(fields.weekdays, key=lambda number: (number - 1) % 7)
    numbers = [(number - 1) % 7 for number in ordered]
    plain = [_WEEKDAY_NAMES[number].upper() for number in ordered]
    if len(plain) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        plain = [f"{plain[0]}-{plain[-1]}"]
    nth = [f"{_WEEKDAY_NAMES[day].upper()}#{'L' if number == LAST else number}" for number, day in sorted(fields.nth)]
    return ",".join([*plain, *nth])


def _compact(numbers: frozenset[int], low: int, high: int) -> str:
    """Return the shortest usual way to write these numbers of a field."""
    if len(numbers) == high - low + 1:
        return "*"
    ordered = sorted(numbers)
    if not ordered:
        raise UnsaidError("no day of the month is left")
    steps = {after - before for before, after in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1:
        (step,) = steps
        if ordered[0] == low and ordered[-1] + step > high and step > 1:
            return f"*/{step}"
        whole = f"{ordered[0]}-{ordered[-1]}"
        return whole if step == 1 else f"{whole}/{step}"
    runs: list[list[int]] = []
    for number in ordered:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
