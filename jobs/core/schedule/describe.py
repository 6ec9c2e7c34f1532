"""English for wall-clock patterns, from the parsed masks and never from the text: it says what fires."""

from collections.abc import Sequence
from itertools import product
from typing import Final

from .bits import members
from .calendar_parts import SECOND, ChainedSeconds, Steps
from .describe_days import describe_days
from .wall import EVERY_HOUR, EVERY_MINUTE, SecondSet, WallPattern, WholeSeconds
from .words import is_range, joined, listed, only, ordinal, runs, step_of

_MOST_TIMES: Final = 8
"""Up to so many times of day are listed one by one."""
_MOST_MOMENTS: Final = 8
_LAST_MOMENT: Final = 60 * SECOND - 1


def describe_pattern(pattern: WallPattern, clock: str) -> str:
    """One English sentence, e.g. ``At 00:00 on Friday the 13th``; the clock's name in brackets unless it is UTC."""
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
    """The moments of a minute in microseconds when there are few, else None."""
    found: list[int] = []
    moment: int | None = seconds.first
    while moment is not None and len(found) <= _MOST_MOMENTS:
        found.append(moment)
        moment = seconds.at_or_after(moment + 1)
    return found if len(found) <= _MOST_MOMENTS and _step_of_seconds(seconds) is None else None


def _step_of_seconds(seconds: SecondSet) -> tuple[int, int] | None:
    """``(start, step)`` in microseconds when the seconds are one repetition up to the end of the minute."""
    if isinstance(seconds, WholeSeconds):
        step = (0, 1) if seconds.mask == EVERY_MINUTE else step_of(seconds.mask, 59)
        return None if step is None else (step[0] * SECOND, step[1] * SECOND)
    if isinstance(seconds, ChainedSeconds) and len(seconds.steps) == 1:
        only_one = seconds.steps[0]
        if only_one.stop == _LAST_MOMENT and only_one.start + only_one.repeat <= only_one.stop:
            return only_one.start, only_one.repeat
    return None


def _time_by_minutes(hours: int, minutes: int) -> str:
    """Times at second 0."""
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
    """Times at one minute of many hours."""
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
    """Whether a repetition limps at the end of its minute or hour."""
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
    """The hours that smaller units repeat in; ``of_every`` says that they are counted by the hour."""
    if hours == EVERY_HOUR:
        return " of every hour" if of_every else ""
    if is_range(hours):
        first, last = runs(hours)[0]
        return f"{' of every hour' if of_every else ''} from {first:02}:00 to {last:02}:59"
    step = step_of(hours, 23)
    if step and step[0] == 0 and 24 % step[1] == 0:
        return f" of every {ordinal(step[1])} hour"
    return f" of the hours {listed(hours)}"
