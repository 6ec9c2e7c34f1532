"""Time zones: finding them by name, and turning wall times into instants across clock changes.

The rules for daylight saving: a wall time that does not exist happens at the first instant after the gap; a wall time
that exists twice happens once, at the first. A pattern that chooses every hour follows real time instead: it matches
whenever the local clock shows a matching time, in both passes of a repeated hour, and skips times no clock shows.
"""

import re
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..base.lazy import LazyModule
from .model import UNKNOWN_TIMEZONE, ScheduleError
from .wall import END_OF_TIME, WallPattern

if TYPE_CHECKING:
    from importlib import resources
else:
    resources = LazyModule("importlib.resources")
from dataclasses import dataclass

from .describe import describe_pattern
from .model import Syntax

_ZONE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+)*", re.ASCII)
_MAX_ZONE_LENGTH: Final = 64
_NODE_DEPENDENT: Final = frozenset({"localtime", "posixrules", "Factory"})
_OTHER_CLOCKS: Final = ("right/", "posix/")
_TICK: Final = timedelta(microseconds=1)
_FIRST_YEARS: Final = 2
_WINDOW: Final = timedelta(days=2)
"""Longer than any shift of a clock, shorter than the time between two shifts (at least 6.9 days since 1970)."""


def find_zone(name: str, *, position: int | None = None) -> ZoneInfo | None:
    """Return the zone of an IANA name, or None for ``UTC``, which needs no conversion.

    Names that mean something else on another machine (``localtime``) are unknown.

    Args:
        position: Where the name stands in the schedule's value, if it stands there.

    Raises:
        ScheduleError: code ``UNKNOWN_TIMEZONE``, with near names as the suggestion.
    """
    if name == "UTC":
        return None
    if len(name) <= _MAX_ZONE_LENGTH and _ZONE_NAME.fullmatch(name) and name not in _NODE_DEPENDENT:
        zone = None if name.startswith(_OTHER_CLOCKS) else _load(name)
        if zone is not None:
            return zone
    near = near_zone_names(name[:_MAX_ZONE_LENGTH])
    hint = f"; did you mean {' or '.join(near)}?" if near else "; it must be an IANA name such as Europe/Berlin, or UTC"
    raise ScheduleError(
        f"timezone: unknown zone '{name[:_MAX_ZONE_LENGTH]}'{hint}",
        code=UNKNOWN_TIMEZONE,
        field="timezone",
        position=position,
        suggestion=near[0] if near else None,
        replaces=None if position is None else (position, position + len(name)),
    )


def near_zone_names(name: str) -> list[str]:
    """Return up to three IANA names that resemble a name, best first. The city alone is enough to find its zone.

    Only cities of about the same length and with the same first letter are compared, which bounds the work.
    """
    known = _names_by_lower_case()
    wanted = name.strip().lower().replace(" ", "_")
    if wanted in known:
        return [known[wanted]]
    city = wanted.rpartition("/")[2]
    cities = {lower: lower.rpartition("/")[2] for lower in known}
    alike = {other for other in cities.values() if other[:1] == city[:1] and abs(len(other) - len(city)) <= 2}
    best = [city] if city in alike else get_close_matches(city, sorted(alike), n=3, cutoff=0.7)
    found = [lower for other in best for lower in cities if cities[lower] == other]
    return [known[lower] for lower in sorted(found, key=lambda lower: not lower.startswith(wanted[:2]))[:3]]


@lru_cache(maxsize=1)
def _names_by_lower_case() -> dict[str, str]:
    # The list in the tzdata package; `zoneinfo.available_timezones()` opens every file of the system's database.
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return {name.lower(): name for name in sorted(names) if name not in _NODE_DEPENDENT}


def _load(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # Not a name of the database: a folder of it, a file that is no zone, or nothing at all. The caller says so.
        return None


def next_match(pattern: WallPattern, zone: ZoneInfo | None, shift: timedelta, instant: datetime) -> datetime | None:
    """Return the first instant strictly after ``instant`` at which the pattern matches the local clock, aware, in UTC.

    The local clock is ``zone``, or UTC moved by ``shift`` when ``zone`` is None.

    Raises:
        ValueError: ``instant`` is naive.
    """
    if instant.tzinfo is None:
        raise ValueError(f"instant: must be aware (say, in UTC), got the naive {instant!r}")
    if instant.year > END_OF_TIME:
        return None
    # The first years are skipped, so that conversions to the west cannot leave the calendar.
    moment = instant.astimezone(UTC) if instant.year > _FIRST_YEARS else datetime(_FIRST_YEARS, 1, 1, tzinfo=UTC)
    if zone is None:
        wall = pattern.at_or_after(moment.replace(tzinfo=None) + shift + _TICK)
        return None if wall is None else wall.replace(tzinfo=UTC) - shift
    if pattern.follows_real_time:
        return _next_by_real_time(pattern, zone, moment + _TICK)
    return _next_by_wall_time(pattern, zone, moment)


def _next_by_wall_time(pattern: WallPattern, zone: ZoneInfo, moment: datetime) -> datetime | None:
    """Wall times happen in order (repeated ones at their first pass), so the next wall time is the next instant."""
    local = moment.astimezone(zone)
    if local.fold:
        # In the second pass every wall time up to the end of the repetition has had its turn.
        first_pass = local.replace(fold=0).astimezone(UTC)
        change = _change_between(zone, first_pass, moment)
        start = (change + _offset(zone, change - _TICK)).replace(tzinfo=None)
    else:
        start = local.replace(tzinfo=None) + _TICK
    wall = pattern.at_or_after(start)
    return None if wall is None else _instant_of(wall, zone)


def _instant_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant of a wall time: its first pass if it is repeated, the end of the gap if it is skipped."""
    earlier, later = wall.replace(tzinfo=zone), wall.replace(tzinfo=zone, fold=1)
    before, after = _known(earlier.utcoffset()), _known(later.utcoffset())
    if before >= after:
        return wall.replace(tzinfo=UTC) - before
    # PEP 495: in a gap fold=0 applies the offset before the change and fold=1 the offset after it, so the change is
    # between the two readings.
    return _change_between(zone, wall.replace(tzinfo=UTC) - after, wall.replace(tzinfo=UTC) - before)


def _next_by_real_time(pattern: WallPattern, zone: ZoneInfo, moment: datetime) -> datetime | None:
    """Return the first instant from ``moment`` on at which the local clock shows a matching time.

    Each round ends in an answer, passes one change of the clock, or jumps close to the next matching date.
    """
    while True:
        offset = _offset(zone, moment)
        wall = pattern.at_or_after(moment.replace(tzinfo=None) + offset)
        found = None if wall is None else wall.replace(tzinfo=UTC) - offset
        horizon = moment + _WINDOW
        near = horizon if found is None else min(found, horizon)
        if _offset(zone, near) != offset:
            moment = _change_between(zone, moment, near)
        elif wall is None or found is None:
            return None
        elif found <= horizon:
            return found
        else:
            midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)
            moment = max(horizon, midnight - _WINDOW)


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    return _known(moment.astimezone(zone).utcoffset())


def _known(offset: timedelta | None) -> timedelta:
    assert offset is not None, "a ZoneInfo knows its offset at any time"
    return offset


def _change_between(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """Return the first instant, to the second, with the offset of ``high``, which differs from that of ``low``."""
    before = _offset(zone, low)
    low, high = low.replace(microsecond=0), high.replace(microsecond=0) + timedelta(seconds=bool(high.microsecond))
    while (distance := (high - low) // timedelta(seconds=1)) > 1:
        middle = low + timedelta(seconds=distance // 2)
        if _offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True, slots=True)
class WallClockSchedule:
    """A pattern of wall-clock times read on the clock of one zone, or of UTC moved by a fixed ``shift``.

    ``timezone`` is the zone as given with the text; ``zone`` and ``shift`` are the clock that counts, which a
    CALENDAR text can name itself, and ``clock_name`` is its name in descriptions.
    """

    syntax: Syntax
    value: str
    timezone: str
    pattern: WallPattern
    zone: ZoneInfo | None = None
    shift: timedelta = timedelta()
    clock_name: str = ""

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first occurrence strictly later than ``instant``; aware, in UTC.

        Raises:
            ValueError: ``instant`` is naive.
        """
        return next_match(self.pattern, self.zone, self.shift, instant)

    def describe(self) -> str:
        """Return one English sentence saying when it fires."""
        return describe_pattern(self.pattern, self.clock_name or self.timezone)
