"""CRON: what is accepted, what is refused with which words and where, and when it fires."""

from datetime import UTC, datetime

import pytest

from cronograph.jobs.core.schedule import INVALID_SCHEDULE, NEVER_FIRES, ScheduleError, Syntax, parse

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def next_times(text: str, count: int, after: datetime = NEW_YEAR) -> list[str]:
    schedule, times = parse(Syntax.CRON, text), list[str]()
    while len(times) < count and (found := schedule.next_after(after)) is not None:
        times.append(f"{found:%m-%d %H:%M:%S}")
        after = found
    return times


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("@hourly", "0 0 * * * *"),
        ("@DAILY", "0 0 0 * * *"),
        (" @midnight ", "0 0 0 * * *"),
        ("@weekly", "0 0 0 * * 0"),
        ("@monthly", "0 0 0 1 * *"),
        ("@yearly", "0 0 0 1 1 *"),
        ("@Annually", "0 0 0 1 1 *"),
        ("\t0  0\n0 * *   SUN ", "0 0 0 * * 7"),
        ("0 0 0 ? ? ?", "0 0 0 * * *"),
        ("?/20 * * * * *", "*/20 * * * * *"),
        ("0 0 0 * * sunday", "0 0 0 * * 0"),
        ("0 0 0 * February-April *", "0 0 0 * 2-4 *"),
        ("0 0 0 * feb-APR/2 *", "0 0 0 * 2,4 *"),
        ("0 0 0 * * SAT-SUN", "0 0 0 * * 0,6"),
        ("0 0 0 * * Saturday-Sunday", "0 0 0 * * 0,6"),
        ("0 0 0 * * SUN-TUE", "0 0 0 * * 0-2"),
        ("0 0 0 * * 5/1", "0 0 0 * * 5,6,7"),
        ("0 0 0 * * */7", "0 0 0 * * 0"),
        ("0 0 0 * * 0-7", "0 0 0 * * *"),
        ("00,0,000 +5 0 * * *", "0 5 0 * * *"),
        ("5,,10, * * * * *", "5,10 * * * * *"),
        ("50/30 * * * * *", "50 * * * * *"),
        ("0/255 * * * * *", "0 * * * * *"),
        ("*/1,5 * * * * *", "* * * * * *"),
        ("0 0 0 MON * *", "0 0 0 1 * *"),
        ("0 0 0 * * JAN", "0 0 0 * * 1"),
        ("0 0 0 * jan1 *", "0 0 0 * 11 *"),
        ("L,5 * * * * *", "5 * * * * *"),
        ("1-5#L,7 * * * * *", "7 * * * * *"),
        ("0 0 0 * * L,5", "0 0 0 * * 5"),
        ("0 0 0 * * 5L", "0 0 0 * * FRI#L"),
        ("0 0 0 * * 5#3L", "0 0 0 * * FRI#L"),
        ("0 0 0 * * friL", "0 0 0 * * 5#l"),
        ("0 0 0 * * 7L", "0 0 0 * * 0L"),
        ("0 0 0 * * 1-2#1,3#1", "0 0 0 * * MON-WED#1"),
        ("0 0 0 * * */3#2", "0 0 0 * * 0#2,3#2,6#2"),
        ("0 0 0 l * *", "0 0 0 L-0 * *"),
        ("0 0 0 15Wxyz * *", "0 0 0 15W * *"),
    ],
)
def test_different_texts_mean_the_same(text: str, same_as: str) -> None:
    assert next_times(text, 12) == next_times(same_as, 12) != []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 0 L-2 * *", ["01-29 00:00:00", "02-26 00:00:00", "03-29 00:00:00"]),
        ("0 0 0 L-30 * *", ["03-01 00:00:00", "05-01 00:00:00"]),
        ("0 0 0 LW * *", ["01-30 00:00:00", "02-27 00:00:00", "03-31 00:00:00", "04-30 00:00:00", "05-29 00:00:00"]),
        ("0 0 0 1W * *", ["02-02 00:00:00", "03-02 00:00:00", "04-01 00:00:00"]),
        ("0 0 0 1W AUG *", ["08-03 00:00:00"]),
        ("0 0 0 30W * *", ["01-30 00:00:00", "03-30 00:00:00", "04-30 00:00:00", "05-29 00:00:00"]),
        ("0 0 0 29W 2 *", ["02-29 00:00:00"]),
        ("0 0 0 15W * MON", ["02-16 00:00:00", "03-16 00:00:00", "06-15 00:00:00"]),
        ("0 0 0 13 * FRI", ["02-13 00:00:00", "03-13 00:00:00", "11-13 00:00:00"]),
        (
            "0 0 0 1-7,L * SUN",
            ["01-04 00:00:00", "02-01 00:00:00", "03-01 00:00:00", "04-05 00:00:00", "05-03 00:00:00"],
        ),
        ("0 0 0 * * MON#5", ["03-30 00:00:00", "06-29 00:00:00", "08-31 00:00:00"]),
        ("0 0 0 * * MON#1,FRI", ["01-02 00:00:00", "01-05 00:00:00", "01-09 00:00:00", "01-16 00:00:00"]),
        ("0 0 0 29 2 *", ["02-29 00:00:00"]),
        ("59 59 23 31 12 *", ["12-31 23:59:59"]),
    ],
)
def test_days_are_found(text: str, expected: list[str]) -> None:
    assert next_times(text, len(expected)) == expected


def test_the_next_time_is_strictly_later_and_on_whole_seconds() -> None:
    schedule = parse(Syntax.CRON, "*/10 * * * * *")
    assert schedule.next_after(NEW_YEAR) == NEW_YEAR.replace(second=10)
    assert schedule.next_after(NEW_YEAR.replace(second=9, microsecond=999_999)) == NEW_YEAR.replace(second=10)
    assert schedule.next_after(NEW_YEAR.replace(second=10)) == NEW_YEAR.replace(second=20)


def test_the_29th_of_february_skips_the_year_2100() -> None:
    schedule = parse(Syntax.CRON, "0 0 0 29 2 *")
    assert schedule.next_after(datetime(2096, 3, 1, tzinfo=UTC)) == datetime(2104, 2, 29, tzinfo=UTC)


def test_a_friday_the_29th_of_february_is_found_decades_ahead() -> None:
    schedule = parse(Syntax.CRON, "0 0 0 29 2 FRI")
    assert schedule.next_after(datetime(2040, 1, 1, tzinfo=UTC)) == datetime(2064, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "message", "field", "position", "suggestion"),
    [
        ("", "value: is empty; it must have six fields: second minute hour day month weekday", "value", 0, None),
        (
            "*/5 * * * *",
            "value: has five fields, but seconds are required; write '0 */5 * * * *' to fire at second 0",
            "value",
            0,
            "0 */5 * * * *",
        ),
        (
            "0 0 */2 * 5",
            "value: has five fields, but seconds are required; write '0 0 0 */2 * 5' to fire at second 0",
            "value",
            0,
            "0 0 0 */2 * 5",
        ),
        (
            # With five fields cron fires if either day matches, here both must: no one expression means that.
            "0 0 13 * 5",
            (
                "value: has five fields, but seconds are required; with five fields cron fires on day '13' and also on "
                "weekday '5', here both must match: make two tasks, '0 0 0 13 * *' and '0 0 0 * * 5', "
                "the second without the days of the first"
            ),
            "value",
            0,
            None,
        ),
        (
            "0 0 0 1 1 * ?",
            (
                "value: has 7 fields; it must have six: second minute hour day month weekday; "
                "there is no year field, so write '0 0 0 1 1 *'"
            ),
            "value",
            0,
            "0 0 0 1 1 *",
        ),
        (
            "0 0 0 1 1 * 2026",
            (
                "value: has 7 fields; it must have six: second minute hour day month weekday; "
                "there is no year field: set startAt and endAt to the years"
            ),
            "value",
            0,
            None,
        ),
        ("hello", "value: has 1 field; it must have six: second minute hour day month weekday", "value", 0, None),
        (
            "@dayly",
            (
                "value: unknown nickname '@dayly'; it must be one of "
                "@hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually"
            ),
            "value",
            0,
            "@daily",
        ),
        (
            "0 0 0 * * @daily",
            "value: '@' begins a nickname such as @daily, which must stand alone",
            "value",
            10,
            None,
        ),
        ("/5 * * * * *", "second: step '/5' has no start; write '*/5'", "second", 0, "*/5"),
        ("0 1,/5 * * * *", "minute: step '/5' has no start; write '*/5'", "minute", 4, "*/5"),
        (
            "0 0 22-2 * * *",
            "hour: range '22-2' runs backwards; write it as two ranges, e.g. 22-23,0-2",
            "hour",
            4,
            "22-23,0-2",
        ),
        (
            "0 0 0 * * FRI-MON",
            "weekday: range 'FRI-MON' runs backwards; write it as two ranges, e.g. 5-6,0-1",
            "weekday",
            10,
            "5-6,0-1",
        ),
        (
            "0 0 0 * NOV-FEB *",
            "month: range 'NOV-FEB' runs backwards; write it as two ranges, e.g. 11-12,1-2",
            "month",
            8,
            "11-12,1-2",
        ),
        ("60 * * * * *", "second: 60 is out of range; it must be 0 to 59", "second", 0, "0"),
        ("0 0 0 0 * *", "day: 0 is out of range; it must be 1 to 31", "day", 6, None),
        ("0 0 0 * 13 *", "month: 13 is out of range; it must be 1 to 12 or a name such as JAN", "month", 8, None),
        ("0 0 0 * * 1,8", "weekday: 8 is out of range; it must be 0 to 7 or a name such as MON", "weekday", 12, None),
        ("0 0 0 * * MNO", "weekday: 'MNO' is not understood; did you mean MON?", "weekday", 10, "MON"),
        ("0 0 0 * Janury *", "month: 'Janury' is not understood; did you mean JAN?", "month", 8, "JAN"),
        (
            "0 0 0 * * 1#6",
            "weekday: '1#6' asks for occurrence '6' in the month; it must be 1 to 5, or L for the last",
            "weekday",
            10,
            None,
        ),
        ("*/0 * * * * *", "second: step '0' in '*/0' must be a whole number from 1 to 255", "second", 0, "*/1"),
        ("0 0 0 5/255 * *", "day: step 255 in '5/255' is too large; from 5 it can be 250 at most", "day", 6, None),
        (
            "0 0 0 5L * *",
            "day: '5L' is not understood; only the weekday field knows '#' and a last weekday",
            "day",
            6,
            None,
        ),
        (
            "0 0 5W * * *",
            "hour: '5W' is not understood; only the day field knows W (the nearest workday)",
            "hour",
            4,
            None,
        ),
        ("0 0 0 L-31 * *", "day: 'L-31' counts back 31 days; it can be 30 at most", "day", 6, None),
        ("1/2/3 * * * * *", "second: '1/2/3' has more than one '/'; write start/step, e.g. 0/15", "second", 0, None),
        (
            "*,5 * * * * *",
            "second: '*' is not understood; '*' must stand alone or before '/'; within a list write '*/1'",
            "second",
            0,
            "*/1",
        ),
        ("-5 * * * * *", "second: range '-5' has no beginning; both must be 0 to 59", "second", 0, None),
    ],
)
def test_faults_are_named_with_their_place_and_a_better_text(
    text: str, message: str, field: str, position: int, suggestion: str | None
) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CRON, text)
    error = caught.value
    assert str(error) == error.message == message
    assert (error.code, error.field, error.position, error.suggestion) == (
        INVALID_SCHEDULE,
        field,
        position,
        suggestion,
    )


@pytest.mark.parametrize(
    "text",
    [
        "* * * * * * *",
        "0 0 0 * * 1#0",
        "0 0 0 * * #2",
        "0 0 0 * * 1#",
        "0 0 0 * * *#2",
        "0 0 0 * * #L",
        "0 0 0 * * L5",
        "1#2 * * * * *",
        "0 0 0 1#2 * *",
        "0 0 0 W * *",
        "0 0 0 0W * *",
        "0 0 0 32W * *",
        "0 0 0 WL * *",
        "0 0 0 * * 3W",
        "0 0 0 L-W * *",
        "0 0 0 1-2-3 * *",
        "0 0 0 1- * *",
        "0 0 0 - * *",
        "0 0 0 ** * *",
        "0 0 0 */ * *",
        "0 0 0 *-5 * *",
        "*/-5 * * * * *",
        "*/1.5 * * * * *",
        "1.5 * * * * *",
        "0x5 * * * * *",
        "\u0665 * * * * *",
        "1_0 * * * * *",
        "*/256 * * * * *",
        "0 0 0 */255 * *",
        "256 * * * * *",
        "99999999999999999999 * * * * *",
        "0 0 0 L-3W * *",
        "0 0 0 * MONDAYS *",
        "0 0 0 1 FEBJAN *",
        "0\x1c0 0 0 * * *",
        "0 0 0 * * 1#-5#L",
        "@",
        "@reboot",
        "@every 5m",
        "\x00 * * * * *",
        "0 0 0 * * \ud800",
    ],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CRON, text)
    assert caught.value.code == INVALID_SCHEDULE


@pytest.mark.parametrize(
    ("text", "field", "position"),
    [
        ("0 0 0 , * *", "day", 6),
        ("L * * * * *", "second", 0),
        ("0 0 0 * L *", "month", 8),
        ("0 0 0 * * L", "weekday", 10),
        ("1-5#L * * * * *", "second", 0),
        ("0 0 0 30 2 *", "day", 6),
        ("0 0 0 31 4,6,9,11 *", "day", 6),
        ("0 0 0 L-30 4 *", "day", 6),
        ("0 0 0 1-7 * MON#2", "day", 6),
        ("0 0 0 31W 2 *", "day", 6),
        ("0 0 0 15W * SUN", "day", 6),
        ("0 0 0 1 * MON#L", "day", 6),
        ("0 0 0 29 2 MON#4", "day", 6),
    ],
)
def test_what_can_never_fire_is_refused(text: str, field: str, position: int) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.CRON, text)
    error = caught.value
    assert (error.code, error.field, error.position) == (NEVER_FIRES, field, position)
