"""When Vixie's cron and its heirs (Debian's, cronie) start a line, found the plain way: minute by minute.

Written from the manual crontab(5) and the sources, apart from the importer and in another way: bits for each field and
two flags, and around a change of the clock a virtual clock that catches up with the real one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FIELDS = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, MONTHS), (0, 7, WEEKDAYS))
MEDIUM = 180
"""Minutes: a clock that was moved by less is caught up with; one that was moved by more is believed."""


class Refused(Exception):  # noqa: N818 - what happened
    """Cron logs an error for the line and leaves it out."""


@dataclass
class Entry:
    bits: list[set[int]]
    day_star: bool
    weekday_star: bool
    follows_the_clock: bool

    def takes(self, wall: datetime) -> bool:
        minute, hour, days, months, weekdays = self.bits
        if wall.minute not in minute or wall.hour not in hour:
            return False
        return wall.month in months and self.takes_day(wall.date(), days, weekdays)

    def takes_day(self, day: date, days: set[int], weekdays: set[int]) -> bool:
        by_day, by_weekday = day.day in days, day.isoweekday() % 7 in weekdays
        if self.day_star or self.weekday_star:
            return by_day and by_weekday
        return by_day or by_weekday


def entry(text: str) -> Entry:
    """Read five fields or a word."""
    fields = WORDS.get(text, text).split()
    if len(fields) != 5:
        raise Refused(text)
    bits = [bits_of(field, *bounds) for field, bounds in zip(fields, FIELDS, strict=True)]
    bits[4] |= {0, 7} if bits[4] & {0, 7} else set()
    stars = [field[0] == "*" for field in fields]
    return Entry(bits, stars[2], stars[4], stars[0] or stars[1])


def bits_of(field: str, low: int, high: int, names: tuple[str, ...]) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = ("", "-", "") if span == "*" else span.partition("-")
        start = low if span == "*" else number(first, low, names)
        end = high if span == "*" else number(last, low, names) if dash else start
        if (slash and not dash) or start > end:
            raise Refused(part)  # cronie; Debian's cron reads a step without a range in another way
        by = number(step, 0, ()) if slash else 1
        if by == 0 or start < low or end > high:
            raise Refused(part)
        found |= set(range(start, end + 1, by))
    return found


def number(text: str, low: int, names: tuple[str, ...]) -> int:
    if text.isdecimal():
        return int(text)
    if text.lower() in names:
        return names.index(text.lower()) + low
    raise Refused(text)


def starts(text: str, zone: ZoneInfo, after: datetime, until: datetime) -> list[datetime]:
    """The minutes, in UTC, in which cron starts the line."""
    read = entry(text)
    day, last = after.astimezone(zone).date(), until.astimezone(zone).date()
    found: list[datetime] = []
    while day <= last:
        begin, end = (
            datetime.combine(one, datetime.min.time(), zone).astimezone(UTC) for one in (day, day + timedelta(days=1))
        )
        if end - begin == timedelta(days=1):
            found += ordinary_day(read, day, begin)
        else:
            found += sorted(set(day_with_a_change(read, zone, begin, end)))
        day += timedelta(days=1)
    return [one for one in found if after < one <= until]


def ordinary_day(read: Entry, day: date, begin: datetime) -> Iterator[datetime]:
    minutes, hours, days, months, weekdays = read.bits
    if day.month in months and read.takes_day(day, days, weekdays):
        for hour in sorted(hours):
            for minute in sorted(minutes):
                yield begin + timedelta(hours=hour, minutes=minute)


def day_with_a_change(read: Entry, zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The main loop of cron, one turn a minute."""
    minute, at = timedelta(minutes=1), begin
    virtual = at.astimezone(zone).replace(tzinfo=None) - minute
    while at < end:
        shown = at.astimezone(zone).replace(tzinfo=None)
        behind = (shown - virtual) // minute
        if behind == 1 or abs(behind) >= MEDIUM:
            virtual = shown
            if read.takes(shown):
                yield at
        else:
            # The clock was moved: what follows it goes by what it shows; what is at fixed times is made up for, once.
            if read.follows_the_clock and read.takes(shown):
                yield at
            while virtual < shown:
                virtual += minute
                if not read.follows_the_clock and read.takes(virtual):
                    yield at
        at += minute
