"""What a refusal suggests is valid itself: each suggestion is parsed, and so is the value with it in place."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronograph.jobs.core.schedule import ScheduleError, Syntax, parse, validate

NOW = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)
DATA = Path(__file__).parent / "data"
ZONES = ["UTC", "Europe/Berlin", "Europe/Berlim"]
CRON = [
    "/5 * * * *", "/0 * * * *", "/x * * * * *", "/5#2 * * * * *", "70/x * * * * *", "MON/0 * * * * *",
    "5/0 60 * * *", "22-6/2 * * * *", "0 0 0 31-1 * *", "0 0 0 * * 7-1", "0 0 0 * * FRI-MON#1", "0 0 10-24 * * *",
    "0 0 0 * * MON-FRY", "0 0 0 * * MOM-FRI", "0 0 0 * Janury,Febuary *", "0 /5 * 30 2 * 2026", "*,5 *,6 * * *",
    "0 0 0 * * L", "0 0 0 * L *", "@dayly", "60 60 24 * *",
]  # fmt: skip
CALENDAR = [
    "99:00 ", "*-*-*/2", "*-*-* */2:00", "*-*-* */99:00", "0/25:00", "0/25,0/26:00", "5..3:00", "Sun..Tue 25:00",
    "2026-06-01T10:00 Europe/Berlin", "2026-06-01T99:00", "2026-02-30T10:00", "10:00Z", "99:00Z", "9-17:00", "9-17:zz",
    "Mon 9-17:00 Europe/Berlin", "Mon..Fry", "Mon,Tux 10:00", "Fry 10:00", "Mondy..Fry", "dayly", "dayly Europe/Berlin",
    "daily Europe/Berlim", "*/0:00", "Fri..Mon,Sun..Tue", "10:00 +02:00", "*-*-31T10:00Z",
]  # fmt: skip
OTHERS = [
    (Syntax.INTERVAL, "0"), (Syntax.INTERVAL, "0.5s"), (Syntax.INTERVAL, "99999d"), (Syntax.INTERVAL, "PT0S"),
    (Syntax.TIMESTAMP, "2030-01-31T09:00:00"), (Syntax.TIMESTAMP, "2030-02-31T09:00:00"),
    (Syntax.TIMESTAMP, "2030-01-31T25:00:00"), (Syntax.TIMESTAMP, "1969-01-31T09:00:00"),
    (Syntax.TIMESTAMP, "1000000000"), (Syntax.TIMESTAMP, "1900000000"), (Syntax.TIMESTAMP, "2030-01-31T09:00:00Z"),
]  # fmt: skip


def reference(name: str) -> list[str]:
    return [case["expr"] for case in json.loads((DATA / name).read_text(encoding="utf-8"))["cases"]]


def judge(syntax: Syntax, value: str, zone: str) -> None:
    """What is suggested must itself be accepted, and its message must name it if it names a better text at all."""
    error = validate(syntax, value, zone, count=1, after=NOW).error
    if error is None or error.suggestion is None:
        assert error is None or error.corrected is None
        return
    if error.field == "timezone" and error.corrected is None:
        fixed = refusal(syntax, value, error.suggestion)
        assert fixed is None or fixed.field != "timezone", f"{value!r} in {zone}: {error.suggestion}"
        return
    assert error.corrected is not None
    assert error.suggestion in error.corrected
    if error.field == "value":
        assert error.suggestion == error.corrected, "a suggestion for the value is a whole value"
        assert refusal(syntax, error.suggestion, zone) is None, f"{value!r}: {error.suggestion}"
        return
    begin = error.position
    assert begin is not None
    following = refusal(syntax, error.corrected, zone)
    if following is not None and following.position is not None:
        inside = begin <= following.position < begin + len(error.suggestion)
        assert not inside, f"{value!r}: {error.suggestion}: {following.message}"


def refusal(syntax: Syntax, value: str, zone: str) -> ScheduleError | None:
    try:
        parse(syntax, value, zone, now=NOW)
    except ScheduleError as error:
        return error
    return None


@pytest.mark.parametrize("zone", ZONES)
def test_every_suggestion_is_valid_itself(zone: str) -> None:
    for value in [*CRON, *reference("cron.json")]:
        judge(Syntax.CRON, value, zone)
    for value in [*CALENDAR, *reference("calendar.json")]:
        judge(Syntax.CALENDAR, value, zone)
    for syntax, value in OTHERS:
        judge(syntax, value, zone)


@settings(deadline=None, max_examples=300)
@given(
    syntax=st.sampled_from(Syntax),
    value=st.lists(
        st.sampled_from(
            [*"0123456789*?/,-~.:#LWTZ@ ", "/5", "60", "MON", "Fry", "Fri..", "daily", " * * * *", "99:00"]
        ),
        max_size=9,
    ).map("".join),
    zone=st.sampled_from(ZONES),
)
def test_every_suggestion_for_any_text_is_valid_itself(syntax: Syntax, value: str, zone: str) -> None:
    judge(syntax, value, zone)


@pytest.mark.parametrize(
    ("syntax", "value", "suggestion", "corrected"),
    [
        (Syntax.CRON, "/5 * * * *", "0 */5 * * * *", "0 */5 * * * *"),
        (Syntax.CRON, "60/0 60 * * *", None, None),
        (Syntax.CRON, "0 /5 * * * *", "*/5", "0 */5 * * * *"),
        (Syntax.CRON, "/0 * * * * *", None, None),
        (Syntax.CRON, "0 0 0 * * MON-FRY", "MON-FRI", "0 0 0 * * MON-FRI"),
        (Syntax.CRON, "0 0 0 * * MOM-FRI", "MON-FRI", "0 0 0 * * MON-FRI"),
        (Syntax.CRON, "0 0 10-24 * * *", None, None),
        (Syntax.CALENDAR, "Mon..Fry", "Fri", "Mon..Fri"),
        (Syntax.CALENDAR, "Mon..Fry 09:00 Europe/Berlin", "Fri", "Mon..Fri 09:00 Europe/Berlin"),
        (Syntax.CALENDAR, "Fry 10:00", "Fri", "Fri 10:00"),
        (Syntax.CALENDAR, "99:00 ", None, None),
        (Syntax.CALENDAR, "*-*-*/2", "*-*-1/2", "*-*-1/2"),
        (Syntax.CALENDAR, "0/25:00", "0", "0:00"),
        (
            Syntax.CALENDAR,
            "2026-06-01T10:00 Europe/Berlin",
            "2026-06-01 10:00 Europe/Berlin",
            "2026-06-01 10:00 Europe/Berlin",
        ),
        (Syntax.CRON, "0 0 0 31 2 *", "L", "0 0 0 L 2 *"),
        (Syntax.CRON, "0 0 0 31 4,6 *", "L", "0 0 0 L 4,6 *"),
        (Syntax.CALENDAR, "25:00", "1", "1:00"),
        (Syntax.CALENDAR, "24:00", "0", "0:00"),
        (Syntax.CALENDAR, "tomorrow", "daily", "daily"),
        (Syntax.CALENDAR, "2027-02-30", None, None),
        (Syntax.INTERVAL, "5x", "5m", "5m"),
        (Syntax.INTERVAL, "1h5min3x", None, None),
        (Syntax.TIMESTAMP, "2031-01-31", "2031-01-31T00:00:00Z", "2031-01-31T00:00:00Z"),
        (Syntax.TIMESTAMP, "2031-02-31", None, None),
        (Syntax.TIMESTAMP, "99:00", None, None),
        (Syntax.TIMESTAMP, "2030-02-31T09:00:00", None, None),
        (Syntax.TIMESTAMP, "1000000000", None, None),
        (Syntax.TIMESTAMP, "1900000000", "1900000000000", "1900000000000"),
    ],
)
def test_a_suggestion_says_what_was_probably_meant(
    syntax: Syntax, value: str, suggestion: str | None, corrected: str | None
) -> None:
    error = validate(syntax, value, "UTC", count=1, after=NOW).error
    assert error is not None
    assert (error.suggestion, error.corrected) == (suggestion, corrected)


def test_a_message_never_names_a_suggestion_that_was_dropped() -> None:
    error = refusal(Syntax.CRON, "/0 * * * * *", "UTC")
    assert error is not None
    assert error.message == "second: step '/0' has no start"
    error = refusal(Syntax.CRON, "/5 * * * *", "UTC")
    assert error is not None
    assert error.message == (
        "value: has five fields, but seconds are required; write '0 */5 * * * *' to fire at second 0"
    )


def test_a_last_weekday_is_not_guessed() -> None:
    error = refusal(Syntax.CRON, "0 0 0 * * L", "UTC")
    assert error is not None
    assert (error.message, error.suggestion) == (
        "weekday: 'L' chooses no value, so this would never fire; put a weekday before it, e.g. 5L for the last Friday",
        None,
    )


@pytest.mark.parametrize(
    ("syntax", "value", "message"),
    [
        (
            Syntax.CRON,
            "0 0 0 31 2 *",
            "day: never fires; February has no day 31; write 'L' for the last day of the month",
        ),
        (
            Syntax.CRON,
            "0 0 0 31 4,6 *",
            "day: never fires; April and June have no day 31; write 'L' for the last day of the month",
        ),
        (Syntax.CALENDAR, "2027-02-30", "value: never fires; February has no day 30"),
        (
            Syntax.CALENDAR,
            "tomorrow",
            "value: 'tomorrow' is one time and no schedule; choose the syntax TIMESTAMP for that, or write 'daily'",
        ),
        (
            Syntax.INTERVAL,
            "5x",
            "value: unknown unit 'x'; it must be one of w, d, h, m, s; for minutes write '5m'",
        ),
    ],
)
def test_a_refusal_speaks_of_months_and_days(syntax: Syntax, value: str, message: str) -> None:
    error = validate(syntax, value, "UTC", count=1, after=NOW).error
    assert error is not None
    assert error.message == message


def test_tomorrow_and_a_time_of_day_are_taken_for_the_next_ones() -> None:
    now = datetime(2030, 6, 30, 22, 0, tzinfo=UTC)
    for value, suggestion in (("tomorrow", "2030-07-01T00:00:00Z"), ("25:00", "2030-07-01T01:00:00Z")):
        error = validate(Syntax.TIMESTAMP, value, "UTC", count=1, after=now).error
        assert error is not None
        assert (error.suggestion, error.corrected) == (suggestion, suggestion)
