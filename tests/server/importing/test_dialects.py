"""What the dialects of other programs mean here is what these programs themselves said (``originals.json``)."""

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger

from cronograph.jobs.core.schedule import Syntax, parse
from cronograph.server.importing.comparing import times_here
from cronograph.server.importing.dialects.apscheduler import read_apscheduler
from cronograph.server.importing.dialects.crontab import read_crontab
from cronograph.server.importing.dialects.expressions import schedules_of
from cronograph.server.importing.dialects.fields import DialectError, Fields
from cronograph.server.importing.dialects.python import read_celery, read_huey, read_rq, read_rq_scheduler
from tests.server.importing.originals import END, KEPT, START, digest

ORIGINALS: list[dict[str, Any]] = json.loads(KEPT.read_text())
APSCHEDULER: list[dict[str, Any]] = [
    {"hour": 4},
    {"minute": "*/15", "hour": 2},
    {"day_of_week": 0, "hour": 1},
    {"day_of_week": "0,fri", "hour": 1},
    {"day": "3rd fri", "hour": 9},
    {"day": "last", "hour": 9},
    {"day": "last sun", "hour": 2, "minute": 30},
    {"day": "13", "day_of_week": "fri"},
    {"month": "jan,jul", "day": 1},
    {"second": "*/20", "minute": "5/25", "hour": 1},
    {"day": "*/3"},
    {"day": "1st mon,3rd mon"},
    {"day": 29, "month": 2},
    {"day": 31},
    {"day": "5th mon"},
    {"day_of_week": 6},
    {"day_of_week": "mon-fri", "hour": 9, "minute": "10-50/20"},
    {"hour": "*/7", "minute": "*/7"},
    {"hour": "22-23,0-2/2"},
]


def read(program: str, given: Any, zone: ZoneInfo) -> Fields:
    match program:
        case "crontab":
            return read_crontab(given, zone)
        case "celery":
            return read_celery(zone, **given)
        case "huey":
            return read_huey(zone, **given)
        case "rq":
            return read_rq(zone, given)
        case _:
            return read_rq_scheduler(zone, given)


def here(fields: Fields, zone: str) -> list[datetime]:
    return list(times_here(schedules_of(fields, zone), START, END))


@pytest.mark.costly
@pytest.mark.parametrize("row", ORIGINALS, ids=lambda row: f"{row['program']} {row['given']} {row['zone']}")
def test_it_fires_for_two_years_as_the_program_itself_said(row: dict[str, Any]) -> None:
    zone = ZoneInfo(row["zone"])
    if not row["count"]:
        # Refused there, or read as something that never fires.
        with pytest.raises(DialectError):
            read(row["program"], row["given"], zone)
        return
    fields = read(row["program"], row["given"], zone)
    found = list(fields.after(START, END))
    assert (len(found), digest(found)) == (row["count"], row["digest"])
    if row["zone"] == "UTC":
        assert here(fields, "UTC") == found


@pytest.mark.costly
@pytest.mark.parametrize("given", APSCHEDULER, ids=str)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_apscheduler_fires_as_it_does_itself(given: dict[str, Any], zone: str) -> None:
    trigger, at = CronTrigger(**given, timezone=zone), START.astimezone(ZoneInfo(zone))
    theirs: list[datetime] = []
    while (fired := trigger.get_next_fire_time(at if theirs else None, at)).astimezone(UTC) <= END:
        at = fired
        theirs.append(fired.astimezone(UTC))
    fields = read_apscheduler(ZoneInfo(zone), given)
    assert list(fields.after(START, END)) == theirs
    if zone == "UTC":
        assert here(fields, zone) == theirs


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "no field is given"),
        ({"year": 2027, "hour": 1}, "year: there is no such field here"),
        ({"week": "*/2"}, "week: there is no such field here"),
        ({"day": "3rd fri,13"}, "has weekdays and days of the month"),
        ({"day": "3rd fri", "day_of_week": "mon"}, "the one chooses a weekday of the month"),
        ({"day": "3rd day"}, "'day' is no weekday"),
        ({"hour": "25"}, "hour: 25 is out of range; it must be 0 to 23"),
        ({"hour": "*/0"}, "a step of 0"),
    ],
    ids=str,
)
def test_what_apscheduler_says_and_cannot_be_said_here_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(DialectError, match=why):
        read_apscheduler(ZoneInfo("UTC"), given)


def test_a_job_of_cron_that_follows_the_clock_and_one_that_does_not_where_it_is_changed() -> None:
    # cron(8): jobs with a fixed hour and minute run at once after a gap, and once where an hour is repeated.
    zone = ZoneInfo("Europe/Berlin")
    spring, autumn = datetime(2027, 3, 28, tzinfo=UTC), datetime(2027, 10, 31, tzinfo=UTC)
    fixed, polled = read_crontab("30 2 * * *", zone), read_crontab("*/30 2 * * *", zone)
    assert [one.hour for one in fixed.after(spring, spring.replace(hour=12))] == [1]
    assert [one.hour for one in polled.after(spring, spring.replace(hour=12))] == []
    assert [(one.hour, one.minute) for one in fixed.after(autumn, autumn.replace(hour=12))] == [(0, 30)]
    assert [one.hour for one in polled.after(autumn, autumn.replace(hour=12))] == [0, 1, 1]
    assert here(fixed, "Europe/Berlin") == list(fixed.after(START, END))


def test_no_day_fires_twice_where_either_day_field_is_enough() -> None:
    fields = read_crontab("0 0 13 * 5", ZoneInfo("UTC"))
    first, second = schedules_of(fields, "UTC")
    assert (first.value, second.value) == ("0 0 0 13 * *", "0 0 0 1-12,14-31 * FRI")
    friday_the_13th = datetime(2027, 8, 12, 12, tzinfo=UTC)
    assert parse(Syntax.CRON, first.value).next_after(friday_the_13th) == datetime(2027, 8, 13, tzinfo=UTC)
    assert parse(Syntax.CRON, second.value).next_after(friday_the_13th) == datetime(2027, 8, 20, tzinfo=UTC)


@pytest.mark.parametrize("minute", ["1, 2", " 5 "])
def test_huey_leaves_out_what_stands_beside_a_blank(minute: str) -> None:
    with pytest.raises(DialectError, match="minute: Huey leaves out what is next to a blank"):
        read_huey(ZoneInfo("UTC"), minute=minute)
