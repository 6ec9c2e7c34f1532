"""English for wall-clock patterns, from the parsed masks and never from the text: it describes the times that match."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Final

from .calendar_parser import SECOND, ChainedSeconds, Steps
from .days import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, DayRule, members, stepped
from .wall import EVERY_HOUR, EVERY_MINUTE, FIRST_YEAR, LAST_YEAR, SecondSet, WallPattern, WholeSeconds

MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_SHORTEST_RANGE: Final = 3
_LONGEST: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days of each month, of February in a leap year."""


def ordinal(number: int) -> str:
    """Return the number in order: ``1st``, ``2nd``, ``3rd``, ``4th``."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{('th', 'st', 'nd', 'rd', *['th'] * 6)[number % 10]}"


def joined(words: Sequence[str], conjunction: str = "and") -> str:
    """Return ``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def missing_day(months: int, days: int) -> str | None:
    """Say that none of the months (bits 1 to 12) has any of the days (bits 1 to 31); None if one has."""
    chosen = [number for number in range(1, 13) if months >> number & 1]
    first = (days & -days).bit_length() - 1
    if not chosen or first < 1 or any(first <= _LONGEST[number - 1] for number in chosen):
        return None
    names = joined([MONTH_NAMES[number - 1] for number in chosen])
    return f"{names} {'has' if len(chosen) == 1 else 'have'} no day {first}"


def listed(mask: int, name: Callable[[int], str] = str) -> str:
    """Return the members of a set, three or more in a row as a range: ``1, 3 to 5 and 9``."""
    words: list[str] = []
    for first, last in runs(mask):
        if last - first + 1 >= _SHORTEST_RANGE:
            words.append(f"{name(first)} to {name(last)}")
        else:
            words.extend(name(number) for number in range(first, last + 1))
    return joined(words)


def runs(mask: int) -> list[tuple[int, int]]:
    """Return the members of a set as runs of consecutive numbers, each with its first and last."""
    found: list[tuple[int, int]] = []
    for number in members(mask):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def only(mask: int) -> int | None:
    """Return the only member of a set, or None when it has none or several."""
    return mask.bit_length() - 1 if mask and not mask & (mask - 1) else None


def is_range(mask: int) -> bool:
    """Return whether the set is not empty and has no holes."""
    return len(runs(mask)) == 1


def step_of(mask: int, high: int) -> tuple[int, int] | None:
    """Return ``(start, step)`` of a set of 3 or more that is ``start/step`` up to ``high``, with a step over 1."""
    first, second, *more = (*members(mask), -1, -1)[:3]
    if more == [-1] or second - first < 2 or mask != stepped(first, high, second - first):
        return None
    return first, second - first


def describe_days(pattern: WallPattern) -> str:
    """Describe the days, e.g. ``on Friday the 13th of May``; empty for every day."""
    rule, months, years = pattern.days, _months(pattern.months), _years(pattern.years)
    by_day, day, weekday = _days_of_month(rule), only(rule.days), only(rule.weekdays)
    of_months = f"of {months or 'every month'}"
    if by_day and only(pattern.months) is not None and years.isdigit():
        of_months, years = f"of {months} {years}", ""
    in_years = _within(pattern.years or 0, years)
    if day is not None and weekday is not None and _is_plain(rule):
        words = [f"on {DAY_NAMES[weekday]} the {ordinal(day)}", of_months if months or not years else "", in_years]
        return _spaced(*words).removesuffix(" of every month")
    if by_day:
        return _spaced(f"on {by_day}", of_months, in_years, _condition(rule))
    if rule.weekdays != EVERY_WEEKDAY and (rule.last_weekdays or any(rule.nth_weekdays)):
        return _spaced(f"on {joined([*_plain_weekdays(rule, 'every'), *_placed_weekdays(rule)])}", of_months, in_years)
    if rule.weekdays != EVERY_WEEKDAY:
        return _spaced(_on_weekdays(rule.weekdays), _within(pattern.months, months), in_years)
    return _spaced(_within(pattern.months, months), in_years)


def _spaced(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _within(mask: int, text: str) -> str:
    """Return ``in 2027``, or ``from 2027 to 2030`` for a range; empty when nothing is restricted."""
    if not text:
        return ""
    return f"{'from' if is_range(mask) and ' to ' in text else 'in'} {text}"


def _is_plain(rule: DayRule) -> bool:
    return not (rule.from_end or rule.nearest or rule.last_workday or rule.last_weekdays or any(rule.nth_weekdays))


def _months(months: int) -> str:
    return "" if months == EVERY_MONTH else listed(months, lambda month: MONTH_NAMES[month - 1])


def _years(years: int | None) -> str:
    """Describe years, which have bit 0 for ``FIRST_YEAR``; empty for every year."""
    last = LAST_YEAR - FIRST_YEAR
    if years is None or years == (1 << (last + 1)) - 1:
        return ""
    if step := step_of(years, last):
        return f"every {ordinal(step[1])} year from {FIRST_YEAR + step[0]}"
    if is_range(years) and years >> last and only(years) is None:
        return f"every year from {FIRST_YEAR + runs(years)[0][0]}"
    return listed(years, lambda year: str(FIRST_YEAR + year))


def _days_of_month(rule: DayRule) -> str:
    """Return the days by number, e.g. ``the 1st and the workday nearest the 15th``; empty when every day is meant."""
    if rule.days == EVERY_DAY:
        return ""
    words: list[str] = []
    if rule.days:
        words.append(f"the {listed(rule.days, ordinal)}")
    if rule.from_end:
        words.extend(_days_from_end(rule.from_end))
    if rule.nearest:
        words.append(f"the workday nearest the {listed(rule.nearest, ordinal)}")
    if rule.last_workday:
        words.append("the last workday")
    return joined(words)


def _days_from_end(offsets: int) -> list[str]:
    first_run = runs(offsets)[0]
    if first_run[0] == 0 and first_run[1] >= 1:
        head = f"the last {first_run[1] + 1} days"
        rest = offsets & ~((1 << (first_run[1] + 1)) - 1)
    else:
        head, rest = "", offsets
    tail = ["the last day" if offset == 0 else f"the {ordinal(offset + 1)} last day" for offset in members(rest)]
    return [head, *tail] if head else tail


def _condition(rule: DayRule) -> str:
    """Return the condition on the weekday, e.g. ``if it is a Monday or the 2nd Friday``; empty when any will do."""
    if rule.weekdays == EVERY_WEEKDAY:
        return ""
    words = [*_plain_weekdays(rule, "a"), *_placed_weekdays(rule)]
    return f"if it is {joined(words, 'or')}"


def _plain_weekdays(rule: DayRule, article: str) -> list[str]:
    return [f"{article} {DAY_NAMES[weekday]}" for weekday in members(rule.weekdays)]


def _placed_weekdays(rule: DayRule) -> list[str]:
    """Describe weekdays by their place in the month, e.g. ``the 2nd Monday``, ``the last Friday``."""
    by_place = [(ordinal(number), mask) for number, mask in enumerate(rule.nth_weekdays, start=1)]
    by_place.append(("last", rule.last_weekdays))
    return [f"the {place} {joined([DAY_NAMES[day] for day in members(mask)])}" for place, mask in by_place if mask]


def _on_weekdays(weekdays: int) -> str:
    if is_range(weekdays) and weekdays.bit_count() > 2:
        return f"from {listed(weekdays, lambda weekday: DAY_NAMES[weekday])}"
    return f"on {listed(weekdays, lambda weekday: DAY_NAMES[weekday])}"


_MOST_TIMES: Final = 8
"""Up to so many times of day are listed one by one."""
_MOST_MOMENTS: Final = 8
_LAST_MOMENT: Final = 60 * SECOND - 1


def describe_pattern(pattern: WallPattern, clock: str) -> str:
    """Describe a pattern in English, e.g. ``At 00:00 on Friday the 13th``; the clock in brackets unless it is UTC."""
    time, days = _time(pattern), describe_days(pattern)
    if time.startswith("At ") and pattern.hours != EVERY_HOUR and pattern.days.is_every_day:
        days = f"every day {days}"
    zone = "" if clock == "UTC" else f"({clock})"
    return " ".join(part for part in (time, days.strip(), zone) if part)


def _time(pattern: WallPattern) -> str:
    moments = _moments(pattern.seconds)
    if moments is not None:
        count = pattern.hours.bit_count() * pattern.minutes.bit_count() * len(moments)
        if count <= _MOST_TIMES:
            times = product(members(pattern.hours), members(pattern.minutes), moments)
            return f"At {joined([_clock(*time) for time in times])}"
    if moments == [0]:
        return _time_by_minutes(pattern.hours, pattern.minutes)
    of_hours = _of_hours(pattern.hours, of_every=pattern.minutes != EVERY_MINUTE)
    return f"{_seconds(pattern.seconds, moments)}{_of_minutes(pattern)}{of_hours}"


def _clock(hour: int, minute: int, moment: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{_decimal(moment, pad=2)}" if moment else "")


def _decimal(moment: int, *, pad: int = 1) -> str:
    seconds, fraction = divmod(moment, SECOND)
    return f"{seconds:0{pad}}" + (f".{fraction:06}".rstrip("0") if fraction else "")


def _moments(seconds: SecondSet) -> list[int] | None:
    """Return the moments of a minute in microseconds when there are few, else None."""
    found: list[int] = []
    moment: int | None = seconds.first
    while moment is not None and len(found) <= _MOST_MOMENTS:
        found.append(moment)
        moment = seconds.at_or_after(moment + 1)
    return found if len(found) <= _MOST_MOMENTS and _step_of_seconds(seconds) is None else None


def _step_of_seconds(seconds: SecondSet) -> tuple[int, int] | None:
    """Return ``(start, step)`` in microseconds when the seconds are one repetition up to the end of the minute."""
    if isinstance(seconds, WholeSeconds):
        step = (0, 1) if seconds.mask == EVERY_MINUTE else step_of(seconds.mask, 59)
        return None if step is None else (step[0] * SECOND, step[1] * SECOND)
    if isinstance(seconds, ChainedSeconds) and len(seconds.steps) == 1:
        only_one = seconds.steps[0]
        if only_one.stop == _LAST_MOMENT and only_one.start + only_one.repeat <= only_one.stop:
            return only_one.start, only_one.repeat
    return None


def _time_by_minutes(hours: int, minutes: int) -> str:
    """Describe times at second 0."""
    minute, step = only(minutes), step_of(minutes, 59)
    if minute is not None:
        return _time_by_hours(hours, minute)
    if minutes == EVERY_MINUTE:
        return f"Every minute{_of_hours(hours, of_every=False)}"
    if step:
        start, size = step
        uneven = _is_uneven(start, size, 60)
        tail = f" from minute {start}" if start or uneven else ""
        return f"Every {size} minutes{tail}{_of_hours(hours, of_every=uneven)}"
    return f"At minutes {listed(minutes)}{_of_hours(hours, of_every=True)}"


def _time_by_hours(hours: int, minute: int) -> str:
    """Describe times at one minute of many hours."""
    step = step_of(hours, 23)
    at_minute = f" at minute {minute}" if minute else ""
    if hours == EVERY_HOUR:
        return f"Every hour{at_minute}"
    if step:
        return f"Every {step[1]} hours" + (f" from {_clock(step[0], minute, 0)}" if step[0] else at_minute)
    if is_range(hours):
        first, last = runs(hours)[0]
        return f"Every hour from {_clock(first, minute, 0)} to {_clock(last, minute, 0)}"
    return f"At minute {minute} of the hours {listed(hours)}"


def _is_uneven(start: int, size: int, whole: int) -> bool:
    """Return whether a repetition limps at the end of its minute or hour."""
    return whole % size != 0 or start >= size


def _seconds(seconds: SecondSet, moments: Sequence[int] | None) -> str:
    step = _step_of_seconds(seconds)
    if step:
        start, size = step
        head = "Every second" if size == SECOND else f"Every {_decimal(size)} seconds"
        return head + (f" from second {_decimal(start)}" if start or _is_uneven(start, size, 60 * SECOND) else "")
    if moments:
        return f"At second{'s' if len(moments) > 1 else ''} {joined([_decimal(moment) for moment in moments])}"
    if isinstance(seconds, WholeSeconds):
        return f"At seconds {listed(seconds.mask)}"
    steps = seconds.steps if isinstance(seconds, ChainedSeconds) else ()
    return f"At seconds {joined([_steps(item) for item in steps])}"


def _steps(item: Steps) -> str:
    if item.start + item.repeat > item.stop:
        return _decimal(item.start)
    last = item.stop - (item.stop - item.start) % item.repeat
    return f"{_decimal(item.start)} to {_decimal(last)} by {_decimal(item.repeat)}"


def _of_minutes(pattern: WallPattern) -> str:
    minutes, minute = pattern.minutes, only(pattern.minutes)
    if minutes == EVERY_MINUTE:
        step = _step_of_seconds(pattern.seconds)
        return "" if step and not _is_uneven(*step, 60 * SECOND) else " of every minute"
    if minute is not None:
        return f" of minute {minute}"
    step = step_of(minutes, 59)
    if step and step[0] == 0 and 60 % step[1] == 0:
        return f" of every {ordinal(step[1])} minute"
    return f" of the minutes {listed(minutes)}"


def _of_hours(hours: int, *, of_every: bool) -> str:
    """Return the hours that smaller units repeat in; ``of_every`` says that they are counted by the hour."""
    if hours == EVERY_HOUR:
        return " of every hour" if of_every else ""
    if is_range(hours):
        first, last = runs(hours)[0]
        return f"{' of every hour' if of_every else ''} from {first:02}:00 to {last:02}:59"
    step = step_of(hours, 23)
    if step and step[0] == 0 and 24 % step[1] == 0:
        return f" of every {ordinal(step[1])} hour"
    return f" of the hours {listed(hours)}"
