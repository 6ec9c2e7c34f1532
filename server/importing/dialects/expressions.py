"""Fields of another cron as cron expressions of ours, which fire at the same wall times."""

from itertools import pairwise
from typing import Final

from ....jobs.core.model import ScheduleSpec
from ....jobs.core.schedule import NEVER_FIRES, ScheduleError, Syntax, parse
from .fields import DAYS, LAST, WEEKDAYS, DialectError, Fields

_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def schedules_of(fields: Fields, zone: str) -> list[ScheduleSpec]:
    """The schedules here that are due when the fields match there.

    Raises:
        DialectError: there is none; says why.
    """
    found: list[ScheduleSpec] = []
    refused = ""
    for expression in expressions_of(fields):
        try:
            parse(Syntax.CRON, expression, zone)
        except ScheduleError as error:
            refused = str(error)
            if error.code is not NEVER_FIRES:
                raise DialectError(refused) from None
        else:
            found.append(ScheduleSpec(Syntax.CRON, expression, zone))
    if not found:
        raise DialectError(refused)
    return found


def expressions_of(fields: Fields) -> tuple[str, ...]:
    """One expression of six fields, or two for "this day of the month or this weekday".

    Here both day fields have to match. So the second expression leaves out the days of the first, and no day fires
    twice.

    Raises:
        DialectError: no day matches, or it takes days that two expressions cannot keep apart.
    """
    if not fields.either:
        return (_expression(fields, _days(fields), _weekdays(fields)),)
    if fields.days == DAYS or fields.weekdays == WEEKDAYS:
        return (_expression(fields, "*", "*"),)
    if fields.last_day:
        raise DialectError("the last day of the month or a weekday: a month's last day would fire twice as two tasks")
    by_day = _expression(fields, _days(fields), "*")
    others = DAYS - fields.days
    return by_day, _expression(fields, compact(others, 1, 31), _weekdays(fields))


def _expression(fields: Fields, day: str, weekday: str) -> str:
    parts = (
        compact(fields.seconds, 0, 59),
        compact(fields.minutes, 0, 59),
        compact(fields.hours, 0, 23),
        day,
        compact(fields.months, 1, 12),
        weekday,
    )
    return " ".join(parts)


def _days(fields: Fields) -> str:
    if not fields.last_day or fields.days == DAYS:
        return compact(fields.days, 1, 31)
    return ",".join(filter(None, (compact(fields.days, 1, 31) if fields.days else "", "L")))


def _weekdays(fields: Fields) -> str:
    if fields.weekdays == WEEKDAYS:
        return "*"
    ordered = sorted(fields.weekdays, key=lambda number: (number - 1) % 7)
    numbers = [(number - 1) % 7 for number in ordered]
    plain = [_WEEKDAYS[number] for number in ordered]
    if len(plain) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        plain = [f"{plain[0]}-{plain[-1]}"]
    nth = [f"{_WEEKDAYS[day]}#{'L' if number == LAST else number}" for number, day in sorted(fields.nth)]
    return ",".join([*plain, *nth])


def compact(numbers: frozenset[int], low: int, high: int) -> str:
    """The shortest usual way to write these numbers of a field."""
    if len(numbers) == high - low + 1:
        return "*"
    ordered = sorted(numbers)
    if not ordered:
        raise DialectError("no day of the month is left")
    steps = {after - before for before, after in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1:
        (step,) = steps
        if ordered[0] == low and ordered[-1] + step > high and step > 1:
            return f"*/{step}"
        whole = f"{ordered[0]}-{ordered[-1]}"
        return whole if step == 1 else f"{whole}/{step}"
    return ",".join(_runs(ordered))


def _runs(ordered: list[int]) -> list[str]:
    """Neighbours together: three and more as a range."""
    runs: list[list[int]] = []
    for number in ordered:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
