"""CALENDAR: systemd calendar events, as ``systemd-analyze calendar`` (252) accepts them.

The zones ``Z`` and ``+02:00`` are accepted, too.
Deliberate differences from systemd: the first repetition after a rollover is not skipped (``*:3/25`` fires at minute 3
of every hour), and clock changes follow the rules of ``zones``. A trailing zone counts, also with ``timezone="UTC"``.
"""

import re
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Final
from zoneinfo import ZoneInfo

from .calendar_parser import (
    DAY_PART,
    HOUR_PART,
    MINUTE_PART,
    MONTH_PART,
    WEEKDAY_NAMES,
    YEAR_PART,
    CalendarText,
    full_years,
    mask,
    mask_from_end,
    parse_calendar_text,
    second_set,
)
from .days import EVERY_WEEKDAY, DayRule
from .describe import missing_day
from .model import NEVER_FIRES, ScheduleError, Syntax
from .wall import FIRST_YEAR, LAST_YEAR, WallPattern, WholeSeconds
from .zones import WallClockSchedule, find_zone

_NOT_REPEATING: Final = ("today", "tomorrow", "now")
"""Words for one time, which somebody may take for a schedule."""
_SHORTHANDS: Final = {
    "minutely": "*:*",
    "hourly": "*:0",
    "daily": "0:0",
    "weekly": "Mon *-*-*",
    "monthly": "*-*-1",
    "quarterly": "*-1,4,7,10-1",
    **dict.fromkeys(("semiannually", "semi-annually", "biannually", "bi-annually"), "*-1,7-1"),
    **dict.fromkeys(("yearly", "annually", "anually"), "*-1-1"),
}
_WEEKDAYS: Final = tuple(name[:3].lower() for name in WEEKDAY_NAMES)
_OFFSET: Final = re.compile(r"([+-])([0-9]{2}):([0-9]{2})", re.ASCII)
_ZONE_LIKE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+/\-]*", re.ASCII)
_CRON_FIELD: Final = re.compile(r"[0-9*?,\-/#LWA-Za-z]+", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND: Final = (datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1) - 1


def parse_calendar(value: str, timezone: str) -> WallClockSchedule:
    """Parse a calendar event, to be read on the clock of the zone it names or else of ``timezone``.

    Raises:
        ScheduleError: with the field and position of the fault; code ``NEVER_FIRES`` for a date that no year has.
    """
    text, _, last = value.rpartition(" ")
    own = _own_clock(last, len(text) + 1) if text else None
    if own is None:
        text = value
        zone, shift, clock = find_zone(timezone), timedelta(), timezone
    else:
        if timezone != "UTC":
            raise ScheduleError(
                f"timezone: '{timezone}' is given as well as the zone '{last}' of the text; leave it at UTC",
                field="timezone",
                position=len(text) + 1,
                suggestion="UTC",
            )
        zone, shift, clock = own
    pattern, absolute = _parse_text(text)
    if absolute:
        zone, shift, clock = None, timedelta(), "UTC"
    return WallClockSchedule(Syntax.CALENDAR, value, timezone, pattern, zone, shift, clock)


def _own_clock(word: str, position: int) -> tuple[ZoneInfo | None, timedelta, str] | None:
    """Return the zone, shift and name of the clock that the last word names; None when it is no zone at all."""
    if word.upper() in ("UTC", "Z"):
        return None, timedelta(), "UTC"
    if match := _OFFSET.fullmatch(word):
        sign, hours, minutes = match.groups()
        if int(hours) > 23 or int(minutes) > 59:
            message = f"timezone: offset '{word}' is out of range; it must be -23:59 to +23:59"
            raise ScheduleError(message, field="timezone", position=position)
        size = timedelta(hours=int(hours), minutes=int(minutes))
        return None, -size if sign == "-" else size, word
    if not _ZONE_LIKE.fullmatch(word) or word.lower() in _SHORTHANDS or word.lower().startswith(_WEEKDAYS):
        return None
    return find_zone(word, position=position), timedelta(), word


def _parse_text(text: str) -> tuple[WallPattern, bool]:
    """Return the pattern of the text without its zone, and whether it is absolute (``@seconds``) rather than local."""
    if not text:
        message = "value: is empty; it must be a calendar event such as 'Mon..Fri 09:00' or 'daily'"
        raise ScheduleError(message, field="value", position=0)
    try:
        parts = parse_calendar_text(_SHORTHANDS.get(text.lower(), text))
    except ScheduleError as error:
        raise _with_better_hint(text, error) from None
    pattern = _pattern(parts) if parts.epoch is None else _instant_pattern(parts.epoch, parts.weekdays)
    if not pattern.can_match() or pattern.at_or_after(_EPOCH.replace(tzinfo=None)) is None:
        missing = None if parts.epoch is not None else missing_day(pattern.months, pattern.days.days)
        nowhere = f"no year from {FIRST_YEAR} to {LAST_YEAR} has such a date: '{text}'"
        raise ScheduleError(
            f"value: never fires; {missing or nowhere}",
            code=NEVER_FIRES,
            field="value",
            position=0,
        )
    return pattern, parts.epoch is not None


def _pattern(parts: CalendarText) -> WallPattern:
    from_end = parts.from_end and bool(parts.day)
    rule = DayRule(
        days=0 if from_end else mask(DAY_PART, parts.day),
        from_end=mask_from_end(parts.day) if from_end else 0,
        weekdays=parts.weekdays or EVERY_WEEKDAY,
    )
    return WallPattern(
        years=mask(YEAR_PART, full_years(parts.year)) >> FIRST_YEAR,
        months=mask(MONTH_PART, parts.month),
        days=rule,
        hours=mask(HOUR_PART, parts.hour),
        minutes=mask(MINUTE_PART, parts.minute),
        seconds=second_set(parts.second),
    )


def _instant_pattern(epoch: int, weekdays: int) -> WallPattern:
    if epoch > _LAST_SECOND:
        message = f"value: @{epoch} is out of range; it must be at most @{_LAST_SECOND} (the end of {LAST_YEAR})"
        raise ScheduleError(message, field="value", position=0)
    at = _EPOCH + timedelta(seconds=epoch)
    return WallPattern(
        years=1 << (at.year - FIRST_YEAR),
        months=1 << at.month,
        days=DayRule(days=1 << at.day, weekdays=weekdays or EVERY_WEEKDAY),
        hours=1 << at.hour,
        minutes=1 << at.minute,
        seconds=WholeSeconds(1 << at.second),
    )


def _with_better_hint(text: str, error: ScheduleError) -> ScheduleError:
    """Return the error, or a more helpful one when the text is nearly a shorthand, has a zone misspelt, or is cron."""
    words = text.split()
    if text.lower() in _NOT_REPEATING:
        return ScheduleError(
            f"value: '{text}' is one time and no schedule; choose the syntax TIMESTAMP for that",
            field="value",
            position=0,
            suggestion="daily",
            advice=", or write '{}'",
        )
    if len(words) == 1 and words[0].isascii() and words[0].replace("-", "").isalpha():
        near = get_close_matches(text.lower(), _SHORTHANDS, n=1)
        if near:
            return ScheduleError(
                f"value: '{text}' is not understood",
                field="value",
                position=0,
                suggestion=near[0],
                replaces=(0, len(text)),
                advice="; did you mean {}?",
            )
    if len(words) in (5, 6) and all(_CRON_FIELD.fullmatch(word) for word in words):
        message = f"value: '{text}' looks like a cron expression; choose the syntax CRON, or write e.g. '*-*-* 09:00'"
        return ScheduleError(message, field="value", position=0)
    return error
