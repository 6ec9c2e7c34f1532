"""Clock changes: gaps, repeated hours, schedules that follow real time, and the names of zones."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from cronograph.jobs.core.schedule import UNKNOWN_TIMEZONE, ScheduleError, Syntax, parse, validate


def next_times(text: str, zone: str, after: str, count: int, syntax: Syntax = Syntax.CRON) -> list[str]:
    schedule = parse(syntax, text, zone)
    instant, times = datetime.fromisoformat(after), list[str]()
    while len(times) < count and (found := schedule.next_after(instant)) is not None:
        assert found.tzinfo is UTC
        times.append(f"{found:%m-%d %H:%M:%S}")
        instant = found
    return times


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        # Berlin, 29 March 2026: 02:00 to 03:00 is left out. 01:00 UTC is the first instant after the gap.
        ("0 30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["03-29 01:00:00", "03-30 00:30:00"]),
        ("0 0 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["03-29 01:00:00", "03-30 00:00:00"]),
        (
            "0 0,30 2,3 * * *",
            "Europe/Berlin",
            "2026-03-29T00:00Z",
            ["03-29 01:00:00", "03-29 01:30:00", "03-30 00:00:00"],
        ),
        ("* * 2 * * *", "Europe/Berlin", "2026-03-29T00:00Z", ["03-29 01:00:00", "03-30 00:00:00", "03-30 00:00:01"]),
        ("0 30 3 * * *", "Europe/Berlin", "2026-03-29T00:00Z", ["03-29 01:30:00"]),
        # Berlin, 25 October 2026: 02:00 to 03:00 happens twice, first from 00:00 UTC, again from 01:00 UTC.
        ("0 30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", ["10-25 00:30:00", "10-26 01:30:00"]),
        ("0 0 1-3 * * *", "Europe/Berlin", "2026-10-24T22:00Z", ["10-24 23:00:00", "10-25 00:00:00", "10-25 02:00:00"]),
        ("0 30 2 * * *", "Europe/Berlin", "2026-10-25T01:10Z", ["10-26 01:30:00"]),
        ("0 */20 2,3 * * *", "Europe/Berlin", "2026-10-25T00:45Z", ["10-25 02:00:00", "10-25 02:20:00"]),
        # Lord Howe: half an hour is left out from 02:00 on 4 October 2026, and repeated from 01:30 on 5 April.
        ("0 15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00Z", ["10-03 15:30:00", "10-04 15:15:00"]),
        ("0 45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00Z", ["04-04 14:45:00", "04-05 15:15:00"]),
        # São Paulo, 4 November 2018: there is no midnight.
        ("0 0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00Z", ["11-04 03:00:00", "11-05 02:00:00"]),
        ("0 0 0 4 11 *", "America/Sao_Paulo", "2018-11-03T12:00Z", ["11-04 03:00:00"]),
        # São Paulo, 17 February 2018 has two hours from 23:00.
        ("0 30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00Z", ["02-18 01:30:00", "02-19 02:30:00"]),
        # Apia left out 30 December 2011: one occurrence for the whole day, when the 31st begins.
        ("0 0 12 * * *", "Pacific/Apia", "2011-12-29T12:00Z", ["12-29 22:00:00", "12-30 10:00:00", "12-30 22:00:00"]),
        ("0 0 9,17 30 12 *", "Pacific/Apia", "2011-12-29T12:00Z", ["12-30 10:00:00"]),
        ("0 0 0 * * *", "Pacific/Apia", "2011-12-29T09:59Z", ["12-29 10:00:00", "12-30 10:00:00", "12-31 10:00:00"]),
    ],
)
def test_wall_times_fire_once(text: str, zone: str, after: str, expected: list[str]) -> None:
    assert next_times(text, zone, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        ("0 30 * * * *", "Europe/Berlin", "2026-03-29T00:00Z", ["03-29 00:30:00", "03-29 01:30:00", "03-29 02:30:00"]),
        ("0 30 * * * *", "Europe/Berlin", "2026-10-24T23:50Z", ["10-25 00:30:00", "10-25 01:30:00", "10-25 02:30:00"]),
        ("0 30 */1 * * *", "Europe/Berlin", "2026-10-24T23:50Z", ["10-25 00:30:00", "10-25 01:30:00"]),
        ("0 0 0-23 25 10 *", "Europe/Berlin", "2026-10-25T21:30Z", ["10-25 22:00:00", "10-24 22:00:00"]),
        ("0 0 * * * *", "Australia/Lord_Howe", "2026-10-03T14:00Z", ["10-03 14:30:00", "10-03 16:00:00"]),
        ("0 45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:30Z", ["04-04 14:45:00", "04-04 15:15:00"]),
        ("0 0 * 30 12 *", "Pacific/Apia", "2011-12-29T00:00Z", ["12-29 10:00:00"]),
        ("0 30 23/1 17 2 *", "America/Sao_Paulo", "2018-02-18T00:00Z", ["02-18 01:30:00"]),
        ("0 30 * 17 2 *", "America/Sao_Paulo", "2018-02-18T01:00Z", ["02-18 01:30:00", "02-18 02:30:00"]),
    ],
)
def test_schedules_of_every_hour_follow_real_time(text: str, zone: str, after: str, expected: list[str]) -> None:
    assert next_times(text, zone, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("02:30", "2026-03-28T12:00Z", ["03-29 01:00:00", "03-30 00:30:00"]),
        ("02:30", "2026-10-24T12:00Z", ["10-25 00:30:00", "10-26 01:30:00"]),
        ("*:30", "2026-10-24T23:50Z", ["10-25 00:30:00", "10-25 01:30:00", "10-25 02:30:00"]),
        ("hourly", "2026-03-29T00:00Z", ["03-29 01:00:00", "03-29 02:00:00"]),
        ("2026-03-29 02:15", "2026-03-28T12:00Z", ["03-29 01:00:00"]),
    ],
)
def test_calendar_events_follow_the_same_rules(text: str, after: str, expected: list[str]) -> None:
    for value, zone in ((text, "Europe/Berlin"), (f"{text} Europe/Berlin", "UTC")):
        assert next_times(value, zone, after, len(expected), Syntax.CALENDAR) == expected


def test_the_reference_may_stand_in_any_zone() -> None:
    schedule = parse(Syntax.CRON, "0 0 9 * * *", "Asia/Tokyo")
    reference = datetime(2026, 5, 14, 9, tzinfo=timezone(timedelta(hours=9)))
    assert schedule.next_after(reference) == datetime(2026, 5, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize("syntax", [Syntax.CRON, Syntax.CALENDAR])
def test_a_naive_reference_is_a_programming_error(syntax: Syntax) -> None:
    schedule = parse(syntax, "0 0 9 * * *" if syntax is Syntax.CRON else "daily")
    with pytest.raises(ValueError, match="instant: must be aware"):
        schedule.next_after(datetime(2026, 5, 14))  # noqa: DTZ001 (that is the point)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("text", ["0 0 9 * * *", "0 0 * * * *"])
def test_the_ends_of_time_are_answered(text: str, zone: str) -> None:
    schedule = parse(Syntax.CRON, text, zone)
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    late = datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))
    first = schedule.next_after(early)
    assert first is not None
    assert first.year == 2
    assert schedule.next_after(late) is None
    assert schedule.next_after(datetime(9990, 12, 31, 23, 30, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("name", "suggestion", "message"),
    [
        ("Europe/Berln", "Europe/Berlin", "timezone: unknown zone 'Europe/Berln'; did you mean Europe/Berlin?"),
        ("berlin", "Europe/Berlin", "timezone: unknown zone 'berlin'; did you mean Europe/Berlin?"),
        ("europe/berlin", "Europe/Berlin", "timezone: unknown zone 'europe/berlin'; did you mean Europe/Berlin?"),
        ("New York", "America/New_York", "timezone: unknown zone 'New York'; did you mean America/New_York?"),
        ("utc", "UTC", "timezone: unknown zone 'utc'; did you mean UTC?"),
        (
            "Middle/Earth",
            None,
            "timezone: unknown zone 'Middle/Earth'; it must be an IANA name such as Europe/Berlin, or UTC",
        ),
    ],
)
@pytest.mark.parametrize("syntax", Syntax)
def test_an_unknown_zone_is_refused_with_near_names(
    syntax: Syntax, name: str, suggestion: str | None, message: str
) -> None:
    value = {Syntax.CRON: "@daily", Syntax.CALENDAR: "daily", Syntax.INTERVAL: "1h", Syntax.TIMESTAMP: "1900000000000"}
    validation = validate(syntax, value[syntax], name, count=1, after=datetime(2026, 5, 14, tzinfo=UTC))
    error = validation.error
    assert error is not None
    assert (error.message, error.code, error.field) == (message, UNKNOWN_TIMEZONE, "timezone")
    assert (error.position, error.suggestion) == (None, suggestion)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "/",
        ".",
        "..",
        "../etc/passwd",
        "/etc/localtime",
        "Europe",
        "Europe/",
        "localtime",
        "posixrules",
        "Factory",
        "posix/Europe/Berlin",
        "right/UTC",
        "tzdata.zi",
        "\x00",
        "UTC\x00",
        "UTC ",
        "Z",
        "+02:00",
        "\ud800",
        "é" * 300,
    ],
)
def test_what_is_no_zone_of_the_database_is_refused(name: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CRON, "@daily", name)
    assert caught.value.code == UNKNOWN_TIMEZONE
