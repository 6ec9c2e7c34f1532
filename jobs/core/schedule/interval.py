"""INTERVAL and TIMESTAMP: a fixed grid of instants, free of drift; and one instant."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from ..base.times import EARLIEST, LATEST, RANGE, is_possible
from .model import MAX_VALUE_LENGTH, ScheduleError, Syntax
from .wall import END_OF_TIME
from .zones import find_zone

MICROSECONDS: Final = 1_000_000
"""In a second."""

_NUMBER: Final = r"[0-9]{1,15}(?:[.,][0-9]{1,6})?"
_PLAIN: Final = re.compile(_NUMBER, re.ASCII)
_PART: Final = re.compile(rf"\s*({_NUMBER})\s*([a-z]+)", re.ASCII)
_ISO_PART: Final = re.compile(rf"({_NUMBER})([YMWDHS])", re.ASCII)
_UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
"""Seconds per unit, largest first."""
_SPELLINGS: Final = {
    **{unit: unit for unit in _UNITS},
    **dict.fromkeys(("week", "weeks"), "w"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
}
_NAMES: Final = ((604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_FORMS: Final = "a length of time such as 90, 90s, 1h30m or PT1H30M"


def parse_duration(text: str) -> float:
    """Return the length of time in seconds, not negative, to the microsecond.

    Accepts seconds (``90``, ``1.5``), parts with units from ``w`` to ``s``, largest first (``1h30m``, ``1h 30m``,
    ``2 days``), and ISO 8601 without years and months, which have no fixed length (``PT1H30M``, ``P1DT12H``).

    Raises:
        ScheduleError: with the position of the fault.
    """
    return duration_microseconds(text) / MICROSECONDS


def duration_microseconds(text: str) -> int:
    """Return the length of time in whole microseconds; as ``parse_duration`` otherwise."""
    if len(text) > MAX_VALUE_LENGTH:
        raise _error(f"has {len(text)} characters; it can have {MAX_VALUE_LENGTH} at most", MAX_VALUE_LENGTH)
    stripped = text.strip()
    if not stripped:
        raise _error(f"is empty; it must be {_FORMS}", 0)
    offset = len(text) - len(text.lstrip())
    if _PLAIN.fullmatch(stripped):
        return _scaled(stripped, 1)
    if stripped[0] in "Pp":
        return _iso(stripped.upper(), offset)
    return _sum(_parts(stripped.lower(), offset))


def describe_duration(microseconds: int) -> str:
    """Return a length of time in English, in the largest units that fit: ``1 hour 30 minutes`` or ``2.5 seconds``."""
    seconds, fraction = divmod(microseconds, MICROSECONDS)
    words: list[str] = []
    for size, name in _NAMES:
        count, seconds = divmod(seconds, size)
        shown = f"{count}.{fraction:06d}".rstrip("0") if size == 1 and fraction else str(count)
        if shown != "0":
            words.append(f"{shown} {name}{'' if shown == '1' else 's'}")
    return words[0].removeprefix("1 ") if len(words) == 1 else " ".join(words)


def _parts(text: str, offset: int) -> list[tuple[str, str, int]]:
    """Return the number, unit and position of each part of the unit form."""
    parts: list[tuple[str, str, int]] = []
    end = 0
    while end < len(text):
        match = _PART.match(text, end)
        if match is None:
            raise _error(f"'{text[end:].strip()}' is not understood; it must be {_FORMS}", offset + end)
        unit = _SPELLINGS.get(match[2])
        if unit is None:
            problem = f"unknown unit '{match[2]}'; it must be one of {', '.join(_UNITS)}"
            slip = len(match[2]) == 1
            minutes = f"{text[: match.start(2)]}m{text[match.end(2) :]}" if slip else None
            raise _error(problem, offset + match.start(2), minutes, "; for minutes write '{}'")
        parts.append((match[1], unit, offset + match.start(1)))
        end = match.end()
    return parts


def _iso(text: str, offset: int) -> int:
    date, time_mark, time = text[1:].partition("T")
    if not date and not time:
        raise _error(f"'{text}' has no parts; it must be {_FORMS}", offset)
    if time_mark and not time:
        raise _error("nothing follows the 'T'; write hours, minutes or seconds after it, e.g. PT1H", offset + len(text))
    parts = _iso_parts(date, "YMWD", offset + 1)
    return _sum([*parts, *_iso_parts(time, "HMS", offset + len(date) + 2)])


def _iso_parts(text: str, units: str, offset: int) -> list[tuple[str, str, int]]:
    parts: list[tuple[str, str, int]] = []
    end = 0
    while end < len(text):
        match = _ISO_PART.match(text, end)
        if match is None or match[2] not in units:
            raise _error(f"'{text[end:]}' is not understood; it must be {_FORMS}", offset + end)
        if units == "YMWD" and match[2] in "YM":
            raise _error(f"'{match[0]}': years and months have no fixed length; write days, e.g. P30D", offset + end)
        parts.append((match[1], match[2].lower(), offset + end))
        end = match.end()
    return parts


def _sum(parts: Sequence[tuple[str, str, int]]) -> int:
    total, smallest = 0, max(_UNITS.values()) + 1
    for number, unit, position in parts:
        size = _UNITS[unit]
        if size >= smallest:
            raise _error(f"'{number}{unit}' comes too late; write each unit once, the largest first", position)
        total, smallest = total + _scaled(number, size), size
    return total


def _scaled(number: str, size: int) -> int:
    whole, _, fraction = number.replace(",", ".").partition(".")
    return (int(whole) * MICROSECONDS + int(fraction.ljust(6, "0"))) * size


def _error(message: str, position: int, suggestion: str | None = None, advice: str = "") -> ScheduleError:
    problem = f"value: {message}"
    return ScheduleError(problem, field="value", position=position, suggestion=suggestion, advice=advice)


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
        """Return the first instant of the grid strictly after ``instant``, aware, in UTC; None only at the end of time.

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
        """Return one English sentence saying when it fires. A fixed grid is the same in every zone."""
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


_RFC_3339: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ](?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.(?P<fraction>[0-9]+))?"
    r"(?P<offset>[Zz]|[+-][0-9]{2}:[0-9]{2})?",
    re.ASCII,
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_CLOCK: Final = re.compile(r"([0-9]{1,2}):([0-5][0-9])", re.ASCII)
_MILLISECONDS: Final = re.compile(r"-?[0-9]{1,16}", re.ASCII)
_TIMESTAMP_FORMS: Final = "an RFC 3339 time such as 2030-01-31T09:00:00Z, or milliseconds since 1970"


@dataclass(frozen=True, slots=True)
class TimestampSchedule:
    """One occurrence, at ``at`` (aware, in UTC)."""

    value: str
    timezone: str
    at: datetime

    @property
    def syntax(self) -> Syntax:
        """Always TIMESTAMP."""
        return Syntax.TIMESTAMP

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the one occurrence, if it is strictly later than ``instant``.

        Raises:
            ValueError: ``instant`` is naive.
        """
        if instant.tzinfo is None:
            raise ValueError(f"instant: must be aware (say, in UTC), got the naive {instant!r}")
        return self.at if self.at > instant else None

    def describe(self) -> str:
        """Return one English sentence saying when it fires, in the task's zone."""
        zone = find_zone(self.timezone)
        local = self.at if zone is None else self.at.astimezone(zone)
        fraction = f".{local.microsecond:06d}".rstrip("0") if local.microsecond else ""
        clock = f"{local:%H:%M:%S}{fraction}" if local.second or fraction else f"{local:%H:%M}"
        return f"Once, on {local:%A}, {local.day} {local:%B} {local.year} at {clock} {self.timezone}"


def parse_timestamp(value: str, timezone: str, now: datetime | None = None) -> TimestampSchedule:
    """Parse an RFC 3339 time with its offset, or epoch milliseconds.

    Fractions beyond the microsecond are cut off. A time with an offset is refused with a ``timezone`` other than UTC.
    Past times are accepted here: a finished task keeps its schedule. ``validate`` refuses them. Words
    like tomorrow, and a time of day alone, are judged by ``now``.

    Raises:
        ScheduleError: it is neither.
    """
    text = value.strip()
    if _MILLISECONDS.fullmatch(text):
        find_zone(timezone)
        return TimestampSchedule(value, timezone, _from_milliseconds(int(text)))
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise _timestamp_error(
            f"'{value}' is not understood; it must be {_TIMESTAMP_FORMS}", _meant(text, now), "; did you mean {}?"
        )
    if match["offset"] is None:
        raise _timestamp_error(f"'{value}' has no offset; end it with Z for UTC or with one such as +02:00", f"{text}Z")
    at = _from_rfc_3339(value, match)
    if timezone != "UTC":
        raise ScheduleError(
            f"timezone: '{timezone}' is given as well as the offset '{match['offset']}' of the time; leave it at UTC",
            field="timezone",
            position=value.index(text) + match.start("offset"),
            suggestion="UTC",
        )
    return TimestampSchedule(value, timezone, at)


def looks_like_seconds(value: str) -> bool:
    """Return whether the text is a number that is a likely time in seconds, but long past in milliseconds."""
    text = value.strip()
    return bool(_MILLISECONDS.fullmatch(text)) and 10**9 <= int(text) < 10**10


def _from_milliseconds(milliseconds: int) -> datetime:
    latest = (LATEST - EARLIEST) // timedelta(milliseconds=1)
    if not 0 <= milliseconds <= latest:
        raise _timestamp_error(f"{milliseconds} milliseconds is out of range; it must be 0 to {latest}")
    return EARLIEST + timedelta(milliseconds=milliseconds)


def _from_rfc_3339(value: str, match: re.Match[str]) -> datetime:
    offset = "+00:00" if match["offset"] in "Zz" else match["offset"]
    fraction = (match["fraction"] or "")[:6].ljust(6, "0")
    try:
        local = datetime.fromisoformat(f"{match['date']}T{match['time']}.{fraction}{offset}")
    except ValueError as error:
        raise _timestamp_error(f"'{value}' is no time of the calendar: {error}") from None
    if not is_possible(local):
        raise _timestamp_error(f"'{value}' is out of range; it must be {RANGE}")
    return local.astimezone(UTC)


def _meant(text: str, now: datetime | None) -> str | None:
    """Return the time that was probably meant by a date, a time of day or the word tomorrow, all in UTC."""
    if _DATE.fullmatch(text):
        return f"{text}T00:00:00Z"
    if now is None:
        return None
    tomorrow = (now.astimezone(UTC) + timedelta(days=1)).date()
    if text.lower() == "tomorrow":
        return f"{tomorrow}T00:00:00Z"
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return None
    hour, minute = int(clock[1]), clock[2]
    return f"{tomorrow}T{hour % 24:02}:{minute}:00Z" if hour < 48 else None


def _timestamp_error(message: str, suggestion: str | None = None, advice: str = "") -> ScheduleError:
    return ScheduleError(f"value: {message}", field="value", position=0, suggestion=suggestion, advice=advice)
