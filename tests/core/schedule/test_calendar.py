"""CALENDAR: the grammar of systemd, faults with their place, and the next times."""

from datetime import UTC, datetime, timedelta

import pytest

from cronograph.jobs.core.schedule import INVALID_SCHEDULE, NEVER_FIRES, UNKNOWN_TIMEZONE, ScheduleError, Syntax, parse

BASE = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)


def next_times(text: str, count: int, after: datetime = BASE) -> list[str]:
    schedule, times = parse(Syntax.CALENDAR, text), list[str]()
    while len(times) < count and (found := schedule.next_after(after)) is not None:
        times.append(f"{found:%Y-%m-%d %H:%M:%S.%f}".removesuffix(".000000"))
        after = found
    return times


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("minutely", "*-*-* *:*:00"),
        ("hourly", "*-*-* *:00:00"),
        ("Daily", "*-*-* 00:00:00"),
        ("weekly", "Mon *-*-* 00:00:00"),
        ("monthly", "*-*-01 00:00:00"),
        ("quarterly", "*-01,04,07,10-01 00:00:00"),
        ("semiannually", "*-01,07-01 00:00:00"),
        ("semi-annually", "semiannually"),
        ("biannually", "semiannually"),
        ("bi-annually", "semiannually"),
        ("yearly", "*-01-01 00:00:00"),
        ("annually", "yearly"),
        ("anually", "yearly"),
        ("DAILY UTC", "daily"),
        ("daily Z", "daily"),
        ("10:00 utc", "10:00"),
        ("Mon-Fri 10:00", "Mon..Fri 10:00"),
        ("monday..WEDNESDAY,fri 10:00", "Mon,Tue,Wed,Fri 10:00"),
        ("Mon, 10:00", "Mon 10:00"),
        ("Mon   *-*-*   10:00", "Mon 10:00"),
        ("Mon ", "Mon"),
        ("Mon..Sun 10:00", "10:00"),
        ("05-14", "*-05-14 00:00:00"),
        ("2027-6-1 ", "2027-06-01 00:00:00"),
        ("27-6-1", "2027-06-01"),
        ("*-*~*", "*-*-*"),
        ("*-*~01", "*-*~1..1"),
        ("*-*~7/2", "*-*~1,3,5,7"),
        ("*-*~1..6/2", "*-*~1,3,5"),
        ("*-*~28,4", "*-*~4,28"),
        ("10..10/2:0", "10:00"),
        ("9..12/9:00", "09:00"),
        ("*:*:43..43", "*:*:43"),
        ("*:*:1.5..1.7", "*:*:1.5"),
        ("*:*:*", "*:*:0/1"),
        ("*:*:1.0000005", "*:*:1.000001"),
        ("*:*:1.00000049", "*:*:1"),
        ("*:3/25", "*:3,28,53"),
        ("2026/2-*-1", "2026,2028..2198/2-*-1"),
        ("@1900000000", "2030-03-17 17:46:40"),
        ("@+1900000000", "@1900000000"),
        ("Sun @1900000000", "@1900000000"),
    ],
)
def test_different_texts_mean_the_same(text: str, same_as: str) -> None:
    assert next_times(text, 12) == next_times(same_as, 12) != []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*-02~1", ["2027-02-28 00:00:00", "2028-02-29 00:00:00"]),
        ("Mon *-05~07/1", ["2026-05-25 00:00:00", "2027-05-31 00:00:00"]),
        ("*-*~3..1/1", []),
        ("*:*:7.5", ["2026-05-14 10:21:07.500000", "2026-05-14 10:22:07.500000"]),
        ("*:*:0/0.7", ["2026-05-14 10:20:30.100000", "2026-05-14 10:20:30.800000"]),
        ("*:*:59.999999", ["2026-05-14 10:20:59.999999", "2026-05-14 10:21:59.999999"]),
        ("*:*:3/25.5,40..41/0.25", ["2026-05-14 10:20:40", "2026-05-14 10:20:40.250000", "2026-05-14 10:20:40.500000"]),
        ("2027..2029/2-2-29..31", []),
        ("Thu 2026-*-1,5 11:12:13", ["2026-10-01 11:12:13", "2026-11-05 11:12:13"]),
        ("2199-12-31 23:59:59", ["2199-12-31 23:59:59"]),
    ],
)
def test_times_are_found(text: str, expected: list[str]) -> None:
    if not expected:
        with pytest.raises(ScheduleError):
            parse(Syntax.CALENDAR, text)
    else:
        assert next_times(text, len(expected)) == expected


def test_the_first_repetition_after_a_rollover_is_not_skipped() -> None:
    """systemd 252 goes from 23:53 to 00:28."""
    before_midnight = datetime(2026, 5, 14, 23, 50, 30, tzinfo=UTC)
    assert next_times("*:3/25", 2, before_midnight) == ["2026-05-14 23:53:00", "2026-05-15 00:03:00"]


@pytest.mark.parametrize(
    ("zone", "first"),
    [
        ("Europe/Berlin", "2026-05-15 08:00:00"),
        ("Asia/Kolkata", "2026-05-15 04:30:00"),
        ("EST5EDT", "2026-05-14 14:00:00"),
        ("+02:00", "2026-05-15 08:00:00"),
        ("-05:30", "2026-05-14 15:30:00"),
        ("+00:00", "2026-05-15 10:00:00"),
        ("Z", "2026-05-15 10:00:00"),
    ],
)
def test_a_zone_at_the_end_of_the_text_counts(zone: str, first: str) -> None:
    assert next_times(f"10:00 {zone}", 1) == [first]


def test_seconds_since_1970_are_the_same_in_every_zone() -> None:
    for schedule in (
        parse(Syntax.CALENDAR, "@1900000000", "Europe/Berlin"),
        parse(Syntax.CALENDAR, "@1900000000 Europe/Berlin"),
    ):
        assert schedule.next_after(BASE) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=1_900_000_000)


@pytest.mark.parametrize(
    ("text", "message", "field", "position", "suggestion"),
    [
        (
            "",
            "value: is empty; it must be a calendar event such as 'Mon..Fri 09:00' or 'daily'",
            "value",
            0,
            None,
        ),
        ("dayly", "value: 'dayly' is not understood; did you mean daily?", "value", 0, "daily"),
        (
            "Sun..Tue 10:00",
            "weekday: range 'Sun..Tue' runs backwards; the week begins on Monday, so write Mon..Tue,Sun",
            "weekday",
            0,
            "Mon..Tue,Sun",
        ),
        (
            "Mon,Fri..Mon",
            "weekday: range 'Fri..Mon' runs backwards; the week begins on Monday, so write Mon,Fri..Sun",
            "weekday",
            4,
            "Mon,Fri..Sun",
        ),
        ("Mon..", "weekday: the range has no end; write e.g. Mon..Fri", "weekday", 0, None),
        ("Mon..Tue..Wed", "weekday: a range has one beginning and one end, e.g. Mon..Fri", "weekday", 0, None),
        ("Mon.Tue", "weekday: a range is written with two dots, e.g. Mon..Fri", "weekday", 3, None),
        (
            "Mon,Tux 10:00",
            "weekday: 'Tux' is no weekday; did you mean Tue?",
            "weekday",
            4,
            "Tue",
        ),
        (
            "Mon,Xyz 10:00",
            "weekday: 'Xyz' is no weekday; it must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun or a full name",
            "weekday",
            4,
            None,
        ),
        (
            "*-*-* */2:00",
            "hour: '*/2' is not understood; '*' cannot be repeated, write a start instead, e.g. 0/2",
            "hour",
            6,
            "0/2",
        ),
        (
            "*-*-*/2",
            "value: '*/2' is not understood; '*' cannot be repeated, write a start instead, e.g. *-*-1/2",
            "value",
            4,
            "*-*-1/2",
        ),
        (
            "2026-06-01T10:00",
            "value: date and time are separated by a space; write '2026-06-01 10:00'",
            "value",
            10,
            "2026-06-01 10:00",
        ),
        ("10:00:00Z", "value: a zone follows a space; write '10:00:00 Z'", "value", 8, "10:00:00 Z"),
        ("*:0:5+02:00", "value: a zone follows a space; write '*:0:5 +02:00'", "value", 5, "*:0:5 +02:00"),
        (
            "9-17:00",
            "hour: an hour must follow a space, and ranges are written with two dots, e.g. '9..17:00'",
            "hour",
            0,
            "9..17:00",
        ),
        ("10:00 ", "value: nothing may follow the time, not even spaces; write '10:00'", "value", 5, "10:00"),
        ("24:00", "hour: '24' is out of range; it must be 0 to 23", "hour", 0, "0"),
        ("10:00:60", "second: '60' is out of range; it must be 0 to 59", "second", 6, None),
        ("*-13-1", "month: '13' is out of range; it must be 1 to 12", "month", 2, None),
        ("*-*~29", "day: '29' is out of range; it must be 1 to 28", "day", 4, None),
        ("1969-1-1", "year: '1969' is out of range; it must be 1970 to 2199", "year", 0, None),
        ("5..3:00", "hour: range '5..3' runs backwards", "hour", 0, "5..23,0..3"),
        ("0/25:00", "hour: '0/25' repeats past the end (23) before its first repetition", "hour", 0, "0"),
        ("*-*~2/2", "day: '2/2' repeats past the end of the month before its first repetition", "day", 4, None),
        ("0/0:00", "hour: '0/0' repeats by 0; a repetition must be more than 0", "hour", 0, None),
        (
            "0 9 * * 1-5",
            ("value: '0 9 * * 1-5' looks like a cron expression; choose the syntax CRON, or write e.g. '*-*-* 09:00'"),
            "value",
            0,
            None,
        ),
        ("12", "minute: is missing; a time is written hour:minute or hour:minute:second", "minute", 2, None),
        ("@12x", "value: '@' must be followed by whole seconds since 1970 and nothing else", "value", 0, None),
        ("10:00 +24:00", "timezone: offset '+24:00' is out of range; it must be -23:59 to +23:59", "timezone", 6, None),
    ],
)
def test_faults_are_named_with_their_place_and_a_better_text(
    text: str, message: str, field: str, position: int, suggestion: str | None
) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CALENDAR, text)
    error = caught.value
    assert error.message == message
    assert (error.code, error.field, error.position, error.suggestion) == (
        INVALID_SCHEDULE,
        field,
        position,
        suggestion,
    )


@pytest.mark.parametrize(
    "text",
    [
        "Mon,,Tue",
        "Mon, Tue",
        "Mon.. Tue",
        "Mon Tue 10:00",
        " 10:00",
        "10:",
        ":10",
        "5..7",
        "2026",
        "26-1",
        "*-*-1,",
        "10,:00",
        "*,5:00",
        "*-*-0",
        "*-*~3..1",
        "*-*~31",
        "*-*~0",
        "*~1~1",
        "1-2-3-4",
        "10:00:00:00",
        "10:60",
        "2200-1-1",
        "*:*:59.9999999",
        "*:*:1.",
        "*:*:0/61",
        "2026/229-1-1",
        "10:00  UTC",
        "UTC",
        "Z",
        "@",
        "@-1",
        "@5 10:00",
        "@1.5",
        "99999999999999999999:0",
        "\u0661:00",
        "10:0\x00",
        "\ud800",
        "weekly 10:00",
        "Mon daily",
        "*-*-*T10:00",
        "2026.1.1",
        "10:00:00Z",
        "@7258118400",
    ],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CALENDAR, text)
    assert caught.value.code == INVALID_SCHEDULE


@pytest.mark.parametrize("text", ["*-02-30", "2027-02-29", "Mon 2027-01-01", "*-4,6-31", "Mon @1900000000"])
def test_dates_that_no_year_has_are_refused(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CALENDAR, text)
    assert caught.value.code == NEVER_FIRES


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "Z", "+02:00"])
def test_two_zones_are_refused(zone: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CALENDAR, f"10:00 {zone}", "Europe/Berlin")
    error = caught.value
    assert error.message == (
        f"timezone: 'Europe/Berlin' is given as well as the zone '{zone}' of the text; leave it at UTC"
    )
    assert (error.field, error.position, error.suggestion) == ("timezone", 6, "UTC")


def test_an_unknown_zone_in_the_text_is_named_with_its_place() -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CALENDAR, "10:00 Europe/Berln")
    error = caught.value
    assert error.message == "timezone: unknown zone 'Europe/Berln'; did you mean Europe/Berlin?"
    assert (error.code, error.position, error.suggestion) == (UNKNOWN_TIMEZONE, 6, "Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("*:*:59..59", [59.0]),
        ("*:*:0.5..0.7", [0.5]),
        ("*:*:5..5/10", [5.0]),
        ("*:*:5..5/1", [5.0]),
    ],
)
def test_more_than_systemd_takes_is_taken(text: str, seconds: list[float]) -> None:
    minute = datetime(2026, 5, 14, 10, 20, tzinfo=UTC)
    schedule = parse(Syntax.CALENDAR, text)
    for second in [*seconds, *(second + 60 for second in seconds)]:
        following = schedule.next_after(minute)
        assert following is not None
        assert following == datetime(2026, 5, 14, 10, 20, tzinfo=UTC) + timedelta(seconds=second)
        minute = following
