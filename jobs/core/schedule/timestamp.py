"""TIMESTAMP: once, at an RFC 3339 time or at epoch milliseconds."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from ..base.times import EARLIEST, LATEST, RANGE, is_possible
from .model import ScheduleError, Syntax
from .zones import find_zone

_RFC_3339: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ](?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.(?P<fraction>[0-9]+))?"
    r"(?P<offset>[Zz]|[+-][0-9]{2}:[0-9]{2})?",
    re.ASCII,
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_CLOCK: Final = re.compile(r"([0-9]{1,2}):([0-5][0-9])", re.ASCII)
_MILLISECONDS: Final = re.compile(r"-?[0-9]{1,16}", re.ASCII)
_FORMS: Final = "an RFC 3339 time such as 2030-01-31T09:00:00Z, or milliseconds since 1970"


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
        raise _error(f"'{value}' is not understood; it must be {_FORMS}", _meant(text, now), "; did you mean {}?")
    if match["offset"] is None:
        raise _error(f"'{value}' has no offset; end it with Z for UTC or with one such as +02:00", f"{text}Z")
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
        raise _error(f"{milliseconds} milliseconds is out of range; it must be 0 to {latest}")
    return EARLIEST + timedelta(milliseconds=milliseconds)


def _from_rfc_3339(value: str, match: re.Match[str]) -> datetime:
    offset = "+00:00" if match["offset"] in "Zz" else match["offset"]
    fraction = (match["fraction"] or "")[:6].ljust(6, "0")
    try:
        local = datetime.fromisoformat(f"{match['date']}T{match['time']}.{fraction}{offset}")
    except ValueError as error:
        raise _error(f"'{value}' is no time of the calendar: {error}") from None
    if not is_possible(local):
        raise _error(f"'{value}' is out of range; it must be {RANGE}")
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


def _error(message: str, suggestion: str | None = None, advice: str = "") -> ScheduleError:
    return ScheduleError(f"value: {message}", field="value", position=0, suggestion=suggestion, advice=advice)
