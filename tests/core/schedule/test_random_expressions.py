"""Thousands of random schedules against an oracle that walks the calendar day by day.

`CRONOGRAPH_TEST_EXPRESSIONS` sets how many per syntax and `CRONOGRAPH_TEST_SEED` which ones; a failure names both.
"""

import os
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Protocol
from zoneinfo import ZoneInfo

import pytest

from cronograph.jobs.core.schedule import NEVER_FIRES, Schedule, ScheduleError, Syntax, parse
from tests.core.schedule.oracle import HORIZON_YEARS, Meaning, next_occurrence
from tests.core.schedule.random_calendar import random_calendar
from tests.core.schedule.random_cron import random_cron

EXPRESSIONS = int(os.environ.get("CRONOGRAPH_TEST_EXPRESSIONS", "2000"))
SEED = int(os.environ.get("CRONOGRAPH_TEST_SEED", "20260514"))
STEPS = 3
"""Occurrences compared per expression, one after another."""


class Generator(Protocol):
    """Writes a random text and says what it means."""

    def __call__(self, random: Random, *, daily: bool) -> tuple[str, Meaning]: ...


CHANGES = {
    "UTC": (datetime(2028, 2, 29, tzinfo=UTC),),
    # An hour, in the small hours.
    "Europe/Berlin": (datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)),
    # Half an hour.
    "Australia/Lord_Howe": (datetime(2026, 4, 4, 15, tzinfo=UTC), datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    # An hour from midnight on: some days have no midnight, others two evenings.
    "America/Sao_Paulo": (datetime(2018, 2, 18, 2, tzinfo=UTC), datetime(2018, 11, 4, 3, tzinfo=UTC)),
    # A whole day, left out when the date line moved.
    "Pacific/Apia": (datetime(2011, 12, 30, 10, tzinfo=UTC), datetime(2011, 9, 24, 14, tzinfo=UTC)),
}
"""Zones with changes of different kinds. Reference times are drawn close to these changes, or from anywhere nearby."""


@pytest.mark.costly
@pytest.mark.parametrize("zone_name", CHANGES)
@pytest.mark.parametrize(("syntax", "generate"), [(Syntax.CRON, random_cron), (Syntax.CALENDAR, random_calendar)])
def test_random_schedules_agree_with_the_oracle(syntax: Syntax, generate: Generator, zone_name: str) -> None:
    count = EXPRESSIONS // len(CHANGES)
    fired = sum(compare(syntax, generate, zone_name, number) for number in range(count))
    assert fired > count


def compare(syntax: Syntax, generate: Generator, zone_name: str, number: int) -> int:
    """Compares the first occurrences of one random expression; how many there were."""
    random = Random(f"{SEED} {syntax} {zone_name} {number}")
    close = random.random() < 0.5
    text, meaning = generate(random, daily=close and random.random() < 0.7)
    zone, instant = None if zone_name == "UTC" else ZoneInfo(zone_name), _reference(random, zone_name, close=close)
    place = f"seed {SEED}, number {number}: {syntax} '{text}' in {zone_name} after {instant}"
    never_fires, schedule = _parsed(syntax, text, zone_name)
    if schedule is None:
        assert never_fires, place
        assert next_occurrence(meaning, zone, instant) is None, place
        return 0
    for step in range(STEPS):
        expected, found = next_occurrence(meaning, zone, instant), schedule.next_after(instant)
        if expected is None or found is None:
            beyond = instant.replace(year=instant.year + HORIZON_YEARS, day=1) - timedelta(days=2)
            assert expected is None, f"{place}: expected {expected}, got none"
            assert found is None or found > beyond, f"{place}: none expected, got {found}"
            return step
        assert found == expected, f"{place}: expected {expected}, got {found}"
        assert found > instant, place
        instant = found
    return STEPS


def _parsed(syntax: Syntax, text: str, zone_name: str) -> tuple[bool, Schedule | None]:
    """The schedule, or whether it was refused because it can never fire."""
    try:
        return False, parse(syntax, text, zone_name)
    except ScheduleError as error:
        return error.code == NEVER_FIRES, None


def _reference(random: Random, zone_name: str, *, close: bool) -> datetime:
    """A time within two hours of a change of the clock if it is to be `close`, else within days or months of it."""
    change = random.choice(CHANGES[zone_name])
    reach = 7_200 if close else random.choice((90_000, 40_000_000))
    instant = change + timedelta(seconds=random.randint(-reach, reach))
    return random.choice((instant, instant.replace(minute=0, second=0), instant.replace(microsecond=500_000)))
