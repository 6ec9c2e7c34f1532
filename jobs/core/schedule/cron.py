"""CRON: six fields, second minute hour day month weekday.

The reference for the syntax and the firing times is the Rust crate croner 2.2 with seconds required and with both
day fields having to match. Deliberate differences: ``W`` never leaves its month, an expression that can never fire is
refused, and forms are added that croner does not know: ``L-n``, ``LW``, full names, ``@midnight``.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from . import cron_fields
from .cron_fields import FieldSets, FieldSpec, parse_field
from .days import DayRule
from .describe import missing_day
from .model import NEVER_FIRES, ScheduleError, Syntax
from .wall import WallPattern, WholeSeconds
from .zones import WallClockSchedule, find_zone

_FIELDS: Final = (
    cron_fields.SECOND,
    cron_fields.MINUTE,
    cron_fields.HOUR,
    cron_fields.DAY,
    cron_fields.MONTH,
    cron_fields.WEEKDAY,
)
_NICKNAMES: Final = {
    "@hourly": "0 0 * * * *",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@weekly": "0 0 0 * * 0",
    "@monthly": "0 0 0 1 * *",
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
}
_EITHER: Final = (2, 4)
"""Places of day and weekday in five fields: the schedule fires if either matches, unless one begins with ``*``."""
_ORDER: Final = "second minute hour day month weekday"
_WHITE_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode White_Space, by which the reference splits; ``str.split`` would also split at U+001C to U+001F."""
_WORD: Final = re.compile(f"[^{_WHITE_SPACE}]+")


def parse_cron(value: str, timezone: str) -> WallClockSchedule:
    """Parse a six-field cron expression or an ``@`` nickname, to be read on the clock of ``timezone``.

    Raises:
        ScheduleError: with the field, position and, where one is known, a better text.
    """
    zone = find_zone(timezone)
    return WallClockSchedule(Syntax.CRON, value, timezone, parse_pattern(value), zone)


def parse_pattern(value: str) -> WallPattern:
    """Return the pattern of wall-clock times that a cron expression stands for; the same in every zone."""
    words = [(match.group(), match.start()) for match in _WORD.finditer(value)]
    if len(words) == 1 and words[0][0].startswith("@"):
        words = _expand_nickname(*words[0])
    elif "@" in value:
        message = "value: '@' begins a nickname such as @daily, which must stand alone"
        raise ScheduleError(message, field="value", position=value.index("@"))
    if len(words) != len(_FIELDS):
        raise _wrong_field_count([word for word, _ in words])
    sets = [parse_field(spec, word, position) for spec, (word, position) in zip(_FIELDS, words, strict=True)]
    for spec, (word, position), found in zip(_FIELDS, words, sets, strict=True):
        _refuse_empty(spec, word, position, found)
    second, minute, hour, day, month, weekday = sets
    rule = DayRule(
        days=day.each,
        from_end=day.from_end,
        nearest=day.nearest,
        last_workday=day.last_workday,
        weekdays=_from_monday(weekday.each),
        nth_weekdays=_nth_from_monday(weekday.nth),
        last_weekdays=_from_monday(weekday.last),
    )
    pattern = WallPattern(None, month.each, rule, hour.each, minute.each, WholeSeconds(second.each))
    if not pattern.can_match():
        missing = missing_day(month.each, day.each)
        if missing is not None and not (day.from_end or day.nearest or day.last_workday):
            word, position = words[3]
            raise ScheduleError(
                f"day: never fires; {missing}",
                code=NEVER_FIRES,
                field="day",
                position=position,
                suggestion="L",
                replaces=(position, position + len(word)),
                advice="; write '{}' for the last day of the month",
            )
        raise ScheduleError(
            f"day: never fires; no month '{words[4][0]}' has a day '{words[3][0]}' that is a weekday '{words[5][0]}'",
            code=NEVER_FIRES,
            field="day",
            position=words[3][1],
        )
    return pattern


def _expand_nickname(word: str, position: int) -> list[tuple[str, int]]:
    expansion = _NICKNAMES.get(word.lower())
    if expansion is None:
        known = ", ".join(_NICKNAMES)
        near = get_close_matches(word.lower(), _NICKNAMES, n=1)
        raise ScheduleError(
            f"value: unknown nickname '{word}'; it must be one of {known}",
            field="value",
            position=position,
            suggestion=near[0] if near else None,
        )
    return [(field, position) for field in expansion.split(" ")]


def _wrong_field_count(words: Sequence[str]) -> ScheduleError:
    suggestion, advice = None, ""
    if not words:
        message = f"value: is empty; it must have six fields: {_ORDER}"
    elif len(words) == 5:
        message = "value: has five fields, but seconds are required"
        if any(words[field].startswith(("*", "?")) for field in _EITHER):
            suggestion, advice = " ".join(("0", *words)), "; write '{}' to fire at second 0"
        else:
            message += _either_day(*words)
    else:
        message = f"value: has {len(words)} field{'s' if len(words) > 1 else ''}; it must have six: {_ORDER}"
        if len(words) == 7 and words[6] in ("*", "?"):
            suggestion, advice = " ".join(words[:6]), "; there is no year field, so write '{}'"
        elif len(words) == 7:
            message += "; there is no year field: set startAt and endAt to the years"
    return ScheduleError(message, field="value", position=0, suggestion=suggestion, advice=advice)


def _either_day(minute: str, hour: str, day: str, month: str, weekday: str) -> str:
    """Return advice on five fields that choose both kinds of day: other crons fire where either matches."""
    first, second = f"0 {minute} {hour} {day} {month} *", f"0 {minute} {hour} * {month} {weekday}"
    return (
        f"; with five fields cron fires on day '{day}' and also on weekday '{weekday}', here both must match: make two "
        f"tasks, '{first}' and '{second}', the second without the days of the first"
    )


def _refuse_empty(spec: FieldSpec, word: str, position: int, found: FieldSets) -> None:
    chosen = (found.each, found.last, found.from_end, found.nearest, found.last_workday, *found.nth)
    if not any(chosen):
        hint = "; put a weekday before it, e.g. 5L for the last Friday" if spec is cron_fields.WEEKDAY else ""
        raise ScheduleError(
            f"{spec.name}: '{word}' chooses no value, so this would never fire{hint}",
            code=NEVER_FIRES,
            field=spec.name,
            position=position,
        )


def _from_monday(weekdays: int) -> int:
    """Turn weekdays with Sunday = 0 and 7 into weekdays with Monday = 0."""
    return weekdays >> 1 | (weekdays & 1) << 6


def _nth_from_monday(nth: Sequence[int]) -> tuple[int, int, int, int, int]:
    first, second, third, fourth, fifth = (_from_monday(weekdays) for weekdays in nth)
    return first, second, third, fourth, fifth
