"""An oracle for wall-clock schedules that shares no code with the product and takes no short cuts worth the name.

It walks the calendar day by day for forty years, then the matching times of the day one by one. Clock changes it finds
by looking at the zone's offset, never by asking for `fold`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

HORIZON_YEARS = 40
DAY = timedelta(days=1)
QUARTER = timedelta(minutes=15)
"""Clocks of the zones tested here change at quarters of an hour of UTC."""
BEYOND_ANY_OFFSET = timedelta(hours=26)


@dataclass(frozen=True)
class Meaning:
    """What a random expression means, as told by the generator that wrote it.

    `moments` are microseconds into the minute, ascending, like `hours` and `minutes`.
    """

    matches_day: Callable[[date], bool]
    hours: Sequence[int]
    minutes: Sequence[int]
    moments: Sequence[int]

    @property
    def every_hour(self) -> bool:
        return len(self.hours) == 24


def days_from(meaning: Meaning, first: date) -> Iterator[date]:
    """The matching days from `first` on, for forty years."""
    day, end = first, first.replace(year=first.year + HORIZON_YEARS, day=1)
    while day < end:
        if meaning.matches_day(day):
            yield day
        day += DAY


def next_occurrence(meaning: Meaning, zone: ZoneInfo | None, instant: datetime) -> datetime | None:
    """The first occurrence after `instant`, or None if there is none within forty years."""
    if zone is None:
        return _next_on_clock(meaning, instant, lambda wall: wall.replace(tzinfo=UTC))
    if meaning.every_hour:
        return _next_in_real_time(meaning, zone, instant)
    return _next_on_clock(meaning, instant, lambda wall: first_instant(zone, wall))


def _next_on_clock(meaning: Meaning, instant: datetime, instant_of: Callable[[datetime], datetime]) -> datetime | None:
    for day in days_from(meaning, instant.date() - 2 * DAY):
        midnight = datetime.combine(day, time.min)
        if instant_of(midnight + DAY - timedelta(microseconds=1)) <= instant:
            continue
        for hour in meaning.hours:
            if instant_of(midnight + timedelta(hours=hour, minutes=59, seconds=59.999999)) <= instant:
                continue
            for minute in meaning.minutes:
                for moment in meaning.moments:
                    wall = midnight + timedelta(hours=hour, minutes=minute, microseconds=moment)
                    found = instant_of(wall)
                    if found > instant:
                        return found
    return None


def _next_in_real_time(meaning: Meaning, zone: ZoneInfo, instant: datetime) -> datetime | None:
    """Looks at every quarter of an hour of real time; within one, the local clock runs evenly."""
    for day in days_from(meaning, instant.date() - 2 * DAY):
        midnight = datetime.combine(day, time.min, UTC)
        quarter = midnight - BEYOND_ANY_OFFSET
        while quarter < midnight + DAY + BEYOND_ANY_OFFSET:
            local = quarter + offset_at(zone, quarter)
            if local.date() == day and quarter + QUARTER > instant:
                for minute in meaning.minutes:
                    if local.minute <= minute < local.minute + 15:
                        for moment in meaning.moments:
                            found = quarter + timedelta(minutes=minute - local.minute, microseconds=moment)
                            if found > instant:
                                return found
            quarter += QUARTER
    return None


def offset_at(zone: ZoneInfo, instant: datetime) -> timedelta:
    """The offset of the zone's clock from UTC."""
    offset = zone.utcoffset(instant.astimezone(zone))
    assert offset is not None
    return offset


def first_instant(zone: ZoneInfo, wall: datetime) -> datetime:
    """The first instant at which the clock shows `wall`, or else the instant at which it jumps over it."""
    early, late = _offsets_around(zone, wall.date())
    if early == late:
        return wall.replace(tzinfo=UTC) - early
    as_utc = wall.replace(tzinfo=UTC)
    candidates = [as_utc - offset for offset in (early, late) if offset_at(zone, as_utc - offset) == offset]
    return min(candidates) if candidates else _jump(zone, wall.date())


@lru_cache(maxsize=4096)
def _offsets_around(zone: ZoneInfo, day: date) -> tuple[timedelta, timedelta]:
    midnight = datetime.combine(day, time.min, UTC)
    return offset_at(zone, midnight - BEYOND_ANY_OFFSET), offset_at(zone, midnight + DAY + BEYOND_ANY_OFFSET)


@lru_cache(maxsize=4096)
def _jump(zone: ZoneInfo, day: date) -> datetime:
    """The one change of the clock around a day."""
    instant = datetime.combine(day, time.min, UTC) - BEYOND_ANY_OFFSET
    before = offset_at(zone, instant)
    while offset_at(zone, instant) == before:
        instant += QUARTER
    return instant
