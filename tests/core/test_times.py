"""Times before 1970 and after 9998 are refused at every door of the rules, in one sentence; all others are taken."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.base.durable import _sleep
from cronograph.jobs.base.outcomes import Suspend
from cronograph.jobs.core.admission.holding import expiry_faults
from cronograph.jobs.core.base.errors import InvalidInput, refuse
from cronograph.jobs.core.base.times import EARLIEST, LATEST, is_possible
from cronograph.jobs.core.model import NewRun, ScheduleSpec, TaskSpec, Trigger
from cronograph.jobs.core.rules import new_run_faults, task_faults
from cronograph.jobs.core.schedule import ScheduleError, Syntax, parse, validate
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.schedules import once

DAILY = ScheduleSpec(Syntax.CRON, "0 0 0 * * *", "UTC")


def _once(at: datetime) -> None:
    spec = once(at)
    parse(Syntax.TIMESTAMP, spec.value, "UTC")


DOORS: dict[str, Callable[[datetime], object]] = {
    "run_at": lambda at: refuse(new_run_faults(NewRun("work", Trigger.API, available_at=at))),
    "expires_at": lambda at: refuse(new_run_faults(NewRun("work", Trigger.API, expires_at=at))),
    "start_at": lambda at: refuse(task_faults(TaskSpec("a", "work", DAILY, start_at=at))),
    "end_at": lambda at: refuse(task_faults(TaskSpec("a", "work", DAILY, end_at=at))),
    "sleep_until": lambda at: _sleep(None, at),
    "suspend": lambda at: Suspend(Awaits(AwaitedKind.TIME, "nap"), until=at),
    "once": _once,
    "timestamp": lambda at: parse(Syntax.TIMESTAMP, at.isoformat(), "UTC"),
}
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
ANY_TIME = st.datetimes(timezones=ZONES) | st.sampled_from(
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        datetime(9998, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
        EARLIEST - timedelta(microseconds=1),
        LATEST + timedelta(microseconds=1),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
        EARLIEST,
        LATEST,
    ]
)


@pytest.mark.parametrize("door", DOORS)
@given(at=ANY_TIME)
def test_every_door_takes_the_times_that_there_are_and_no_other(door: str, at: datetime) -> None:
    if is_possible(at):
        DOORS[door](at)
        return
    with pytest.raises((InvalidInput, ScheduleError, ValueError)) as caught:
        DOORS[door](at)
    assert "from 1970-01-01T00:00:00Z to 9998-12-31T23:59:59.999999Z" in str(caught.value)


@pytest.mark.parametrize(
    ("available_at", "ttl", "fits"),
    [(LATEST - timedelta(seconds=60), 60, True), (LATEST - timedelta(seconds=60), 61, False), (None, 61, True)],
)
def test_a_time_that_follows_from_a_duration_has_to_be_one_too(
    available_at: datetime | None, ttl: float, fits: bool
) -> None:
    assert [one.path for one in expiry_faults(None, ttl, available_at)] == ([] if fits else [("ttl",)])


@pytest.mark.parametrize("after", [EARLIEST, LATEST])
@pytest.mark.parametrize(
    ("syntax", "value"),
    [
        (Syntax.CRON, "0 0 0 * * *"),
        (Syntax.CALENDAR, "daily"),
        (Syntax.INTERVAL, "1d"),
        (Syntax.TIMESTAMP, "2030-01-01T00:00:00Z"),
    ],
)
def test_what_is_asked_from_either_end_has_an_answer(syntax: Syntax, value: str, after: datetime) -> None:
    found = validate(syntax, value, "Pacific/Kiritimati" if syntax is Syntax.CRON else "UTC", count=3, after=after)
    assert found.valid is (after == EARLIEST)
    assert all(is_possible(one) for one in found.next_occurrences)


def test_milliseconds_end_with_the_last_time() -> None:
    last = (LATEST - EARLIEST) // timedelta(milliseconds=1)
    parse(Syntax.TIMESTAMP, str(last), "UTC")
    with pytest.raises(ScheduleError, match="out of range"):
        parse(Syntax.TIMESTAMP, str(last + 1), "UTC")
