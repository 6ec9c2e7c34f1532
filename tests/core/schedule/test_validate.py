"""The two doors: `validate` answers for any text, `parse` raises ScheduleError and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronograph.jobs.core.schedule import NEVER_FIRES, Schedule, ScheduleError, Syntax, Validation, parse, validate

NOW = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)
LIKELY = st.text(alphabet="0123456789*?/,-~.:#LW @+PTHMSZmondayjfrutc", max_size=40)
ZONES = st.one_of(st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia"]), st.text(max_size=20))


def test_a_valid_schedule_is_answered_whole() -> None:
    assert validate(Syntax.CRON, "0 0 9 * * MON", "Europe/Berlin", count=2, after=NOW) == Validation(
        valid=True,
        humanized="At 09:00 on Monday (Europe/Berlin)",
        next_occurrences=(datetime(2026, 5, 18, 7, tzinfo=UTC), datetime(2026, 5, 25, 7, tzinfo=UTC)),
        error=None,
    )


def test_no_times_are_listed_when_none_are_asked_for() -> None:
    validation = validate(Syntax.CALENDAR, "daily", "UTC", count=0, after=NOW)
    assert validation.valid
    assert validation.next_occurrences == ()


def test_fewer_times_are_listed_when_fewer_are_left() -> None:
    validation = validate(Syntax.CALENDAR, "2026-05-15..16", "UTC", count=5, after=NOW)
    assert validation.next_occurrences == (datetime(2026, 5, 15, tzinfo=UTC), datetime(2026, 5, 16, tzinfo=UTC))


def test_a_schedule_whose_last_time_is_past_is_invalid_but_described() -> None:
    validation = validate(Syntax.CALENDAR, "2026-05-14 10:20:30", "UTC", count=5, after=NOW)
    assert not validation.valid
    assert validation.humanized == "At 10:20:30 on the 14th of May 2026"
    assert validation.error is not None
    assert validation.error.code == NEVER_FIRES
    assert validation.error.message == "value: '2026-05-14 10:20:30' has no occurrence after 2026-05-14T10:20:30Z"


@pytest.mark.parametrize(
    ("syntax", "value"),
    [
        (Syntax.CRON, "@daily"),
        (Syntax.CALENDAR, "daily"),
        (Syntax.INTERVAL, "1h"),
        (Syntax.TIMESTAMP, "2030-01-31T09:00:00Z"),
    ],
)
def test_every_syntax_keeps_the_protocol(syntax: Syntax, value: str) -> None:
    schedule = parse(syntax, value, now=NOW)
    assert isinstance(schedule, Schedule)
    assert (schedule.syntax, schedule.value, schedule.timezone) == (syntax, value, "UTC")
    assert schedule == parse(syntax, value, now=NOW)
    assert hash(schedule) == hash(parse(syntax, value, now=NOW))


@pytest.mark.costly
@settings(deadline=None)
@given(syntax=st.sampled_from(Syntax), value=st.one_of(LIKELY, st.text(max_size=300)), zone=ZONES)
def test_any_text_is_answered(syntax: Syntax, value: str, zone: str) -> None:
    validation = validate(syntax, value, zone, count=3, after=NOW)
    assert validation.valid is (validation.error is None)
    if validation.error is None:
        assert validation.humanized
        assert list(validation.next_occurrences) == sorted(set(validation.next_occurrences))
        assert all(time > NOW and time.tzinfo is UTC for time in validation.next_occurrences)
        assert validation.next_occurrences
    else:
        assert validation.next_occurrences == ()
        assert validation.error.message.startswith(f"{validation.error.field}: ")
        position = validation.error.position
        assert position is None or 0 <= position <= len(value)


@settings(deadline=None)
@given(
    syntax=st.sampled_from([Syntax.CRON, Syntax.CALENDAR]),
    value=LIKELY,
    seconds=st.floats(min_value=-60_000_000_000, max_value=200_000_000_000),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"]),
)
def test_the_next_time_is_always_strictly_later(syntax: Syntax, value: str, seconds: float, zone: str) -> None:
    instant = NOW + timedelta(seconds=seconds)
    try:
        schedule = parse(syntax, value, zone)
    except ScheduleError:
        return
    found = schedule.next_after(instant)
    assert found is None or found > instant
