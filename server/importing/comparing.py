"""The times of a schedule there and of its tasks here, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from ...jobs.core.model import ScheduleSpec
from ...jobs.core.schedule import parse
from .base.model import NEXT, Carried
from .dialects.fields import clock_changes

MOST: Final = 20_000
"""How many are compared one by one; of more often ones the days around each change of the clock besides."""
SPAN: Final = timedelta(days=731)
"""How far ahead is compared."""
_AROUND: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found.

    Attributes:
        theirs: The next times there.
        here: The next times here.
        until: Up to when each time was compared.
        whole: Whether that is the whole span; else only the days around changes of the clock lie beyond it.
        different: The times that only one of both has, in order.
        by_clock: Whether all of these lie at changes of the clock.
    """

    theirs: Sequence[datetime]
    here: Sequence[datetime]
    until: datetime
    whole: bool
    different: Sequence[datetime]
    by_clock: bool


def compare(carried: Carried, start: datetime) -> Comparison | None:
    """The comparison from ``start`` on; None where the times there are not known."""
    if carried.times is None:
        return None
    end = start + SPAN
    most = carried.known or MOST
    theirs = list(islice(carried.times(start, end), most))
    here = list(islice(times_here(carried.schedules, start, end), most))
    whole = len(theirs) < most and len(here) < most
    until = end if whole else min(theirs[-1], here[-1])
    different = {one for one in {*theirs} ^ {*here} if one <= until}
    zone = ZoneInfo(carried.schedules[0].timezone)
    changes = clock_changes(zone, start, end)
    for day in () if whole or carried.known else changes:
        middle = datetime.combine(day, datetime.min.time(), zone).astimezone(UTC)
        around = max(middle - _AROUND, until), middle + _AROUND
        if around[0] < around[1]:
            different |= {*carried.times(*around)} ^ {*times_here(carried.schedules, *around)}
    near = {day + timedelta(days=offset) for day in changes for offset in (-1, 0, 1)}
    by_clock = all(one.astimezone(zone).date() in near for one in different)
    return Comparison(theirs[:NEXT], here[:NEXT], until, whole, sorted(different), by_clock)


def times_here(schedules: Sequence[ScheduleSpec], after: datetime, until: datetime) -> Iterator[datetime]:
    """When the tasks are due; twice where two are due at once."""
    return merge(*(_of_one(spec, after, until) for spec in schedules))


def _of_one(spec: ScheduleSpec, after: datetime, until: datetime) -> Iterator[datetime]:
    schedule = parse(spec.syntax, spec.value, spec.timezone, anchor=after)
    found = schedule.next_after(after)
    while found is not None and found <= until:
        yield found
        found = schedule.next_after(found)
