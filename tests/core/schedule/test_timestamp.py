"""TIMESTAMP: once, at an RFC 3339 time or at epoch milliseconds; never in the past."""

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest

from cronograph.jobs.core.schedule import INVALID_SCHEDULE, NEVER_FIRES, ScheduleError, Syntax, parse, validate
from tests.core.schedule.test_random_expressions import EXPRESSIONS, SEED

NOW = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2030-01-31T09:00:00Z", datetime(2030, 1, 31, 9, tzinfo=UTC)),
        ("2030-01-31t09:00:00z", datetime(2030, 1, 31, 9, tzinfo=UTC)),
        ("2030-01-31 09:00:00+02:00", datetime(2030, 1, 31, 7, tzinfo=UTC)),
        ("2030-01-31T09:00:00.5-05:30", datetime(2030, 1, 31, 14, 30, 0, 500_000, tzinfo=UTC)),
        ("2030-01-31T09:00:00.123456789Z", datetime(2030, 1, 31, 9, 0, 0, 123_456, tzinfo=UTC)),
        ("2030-01-31T09:00:00-00:00", datetime(2030, 1, 31, 9, tzinfo=UTC)),
        (" 2030-01-31T09:00:00Z ", datetime(2030, 1, 31, 9, tzinfo=UTC)),
        ("1896080400000", datetime(2030, 1, 31, 9, tzinfo=UTC)),
        ("1896080400001", datetime(2030, 1, 31, 9, 0, 0, 1000, tzinfo=UTC)),
    ],
)
def test_a_time_is_understood_and_fires_once(text: str, expected: datetime) -> None:
    validation = validate(Syntax.TIMESTAMP, text, "UTC", count=5, after=NOW)
    assert validation.next_occurrences == (expected,)
    schedule = parse(Syntax.TIMESTAMP, text)
    assert schedule.next_after(expected - timedelta(microseconds=1)) == expected
    assert schedule.next_after(expected) is None


@pytest.mark.parametrize(
    ("text", "message", "suggestion"),
    [
        (
            "2030-01-31",
            (
                "value: '2030-01-31' is not understood; "
                "it must be an RFC 3339 time such as 2030-01-31T09:00:00Z, or milliseconds since 1970; "
                "did you mean 2030-01-31T00:00:00Z?"
            ),
            "2030-01-31T00:00:00Z",
        ),
        (
            "2030-01-31T09:00:00",
            "value: '2030-01-31T09:00:00' has no offset; end it with Z for UTC or with one such as +02:00",
            "2030-01-31T09:00:00Z",
        ),
        (
            "2030-02-30T09:00:00Z",
            "value: '2030-02-30T09:00:00Z' is no time of the calendar: day is out of range for month",
            None,
        ),
        (
            "1969-12-31T23:59:59Z",
            (
                "value: '1969-12-31T23:59:59Z' is out of range; it must be from 1970-01-01T00:00:00Z to "
                "9998-12-31T23:59:59.999999Z"
            ),
            None,
        ),
        ("-1", "value: -1 milliseconds is out of range; it must be 0 to 253370764799999", None),
        (
            "9999999999999999",
            "value: 9999999999999999 milliseconds is out of range; it must be 0 to 253370764799999",
            None,
        ),
    ],
)
def test_faults_are_named(text: str, message: str, suggestion: str | None) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.TIMESTAMP, text)
    error = caught.value
    assert (error.message, error.suggestion) == (message, suggestion)
    assert (error.code, error.field, error.position) == (INVALID_SCHEDULE, "value", 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "now",
        "tomorrow",
        "1.5",
        "1e12",
        "+5",
        "2030-1-31T09:00:00Z",
        "2030-01-31T24:00:00Z",
        "2030-01-31T09:00Z",
        "2030-01-31T09:00:60Z",
        "2030-01-31T09:00:00+2:00",
        "2030-01-31T09:00:00+0200",
        "2030-01-31T09:00:00+24:00",
        "2030-01-31T09:00:00.Z",
        "9999-12-31T23:59:59Z",
        "\u0662030-01-31T09:00:00Z",
        "9" * 300,
        "\x00",
        "\ud800",
    ],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.TIMESTAMP, text)
    assert caught.value.code == INVALID_SCHEDULE


def test_a_past_time_is_refused_when_it_is_validated_but_a_finished_task_can_still_be_read() -> None:
    text = "2020-01-01T00:00:00Z"
    error = validate(Syntax.TIMESTAMP, text, "UTC", count=1, after=NOW).error
    assert error is not None
    assert error.code == NEVER_FIRES
    assert error.message == (
        f"value: '{text}' is in the past; a one-time schedule must be later than 2026-05-14T10:20:30Z"
    )
    assert parse(Syntax.TIMESTAMP, text).next_after(NOW) is None


def test_the_present_moment_is_past() -> None:
    assert not validate(Syntax.TIMESTAMP, "2026-05-14T10:20:30Z", "UTC", count=1, after=NOW).valid
    assert validate(Syntax.TIMESTAMP, "2026-05-14T10:20:30.000001Z", "UTC", count=1, after=NOW).valid


def test_seconds_taken_for_milliseconds_are_recognised() -> None:
    error = validate(Syntax.TIMESTAMP, "1900000000", "UTC", count=1, after=NOW).error
    assert error is not None
    assert error.suggestion == "1900000000000"
    assert error.message.endswith("for seconds since 1970 append three zeros: 1900000000000")


def test_an_offset_beside_a_zone_is_refused() -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.TIMESTAMP, "2030-01-31T09:00:00Z", "Europe/Berlin")
    error = caught.value
    assert error.message == (
        "timezone: 'Europe/Berlin' is given as well as the offset 'Z' of the time; leave it at UTC"
    )
    assert (error.field, error.position, error.suggestion) == ("timezone", 19, "UTC")


def test_random_times_are_read_as_python_reads_them() -> None:
    for number in range(EXPRESSIONS):
        random = Random(f"{SEED} {number}")
        zone = timezone(timedelta(minutes=random.randint(-1439, 1439)))
        time = datetime.fromtimestamp(random.randint(10**9, 10**10), zone).replace(
            microsecond=random.choice((0, random.randint(0, 999_999)))
        )
        text = random.choice(
            (time.isoformat(), str((time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)))
        )
        if text.isdigit():
            time = time.replace(microsecond=time.microsecond // 1000 * 1000)
        found = parse(Syntax.TIMESTAMP, text).next_after(time - timedelta(microseconds=1))
        assert found is not None
        assert found == time, f"seed {SEED}, number {number}: '{text}'"
        assert found.tzinfo is UTC
