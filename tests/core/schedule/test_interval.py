"""INTERVAL and lengths of time: what is accepted, and a grid without drift."""

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest

from cronograph.jobs.core.schedule import (
    INVALID_SCHEDULE,
    IntervalSchedule,
    ScheduleError,
    Syntax,
    parse,
    parse_duration,
    validate,
)
from tests.core.schedule.test_random_expressions import EXPRESSIONS, SEED

NOON = datetime(2026, 5, 14, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("1h30m", 5400),
        ("PT1H30M", 5400),
        ("1.5", 1.5),
        ("1,5s", 1.5),
        ("0", 0),
        ("0.000001", 1e-6),
        (" 15 m ", 900),
        ("1h 30m", 5400),
        ("2 days", 172_800),
        ("1 hour 5 minutes", 3900),
        ("1W", 604_800),
        ("1w1d1h1m1s", 694_861),
        ("1.5h", 5400),
        ("P1D", 86_400),
        ("P1DT12H", 129_600),
        ("pt0.5s", 0.5),
        ("P2W", 1_209_600),
        ("PT36H", 129_600),
        ("007", 7),
        ("90sec", 90),
        ("3 hrs", 10_800),
    ],
)
def test_lengths_of_time_are_understood(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "value: is empty; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 0),
        ("  ", "value: is empty; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 0),
        ("soon", "value: 'soon' is not understood; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 0),
        ("1h 30", "value: '30' is not understood; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 2),
        ("5x", "value: unknown unit 'x'; it must be one of w, d, h, m, s; for minutes write '5m'", 1),
        ("500ms", "value: unknown unit 'ms'; it must be one of w, d, h, m, s", 3),
        ("30m1h", "value: '1h' comes too late; write each unit once, the largest first", 3),
        ("1h2h", "value: '2h' comes too late; write each unit once, the largest first", 2),
        ("-5", "value: '-5' is not understood; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 0),
        ("P", "value: 'P' has no parts; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 0),
        ("PT", "value: 'PT' has no parts; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 0),
        ("P1DT", "value: nothing follows the 'T'; write hours, minutes or seconds after it, e.g. PT1H", 4),
        ("P1M", "value: '1M': years and months have no fixed length; write days, e.g. P30D", 1),
        ("P1Y2D", "value: '1Y': years and months have no fixed length; write days, e.g. P30D", 1),
        ("P1H", "value: '1H' is not understood; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 1),
        ("PT1D", "value: '1D' is not understood; it must be a length of time such as 90, 90s, 1h30m or PT1H30M", 2),
        ("PT1M1H", "value: '1h' comes too late; write each unit once, the largest first", 4),
    ],
)
def test_faults_in_lengths_of_time_are_named_with_their_place(text: str, message: str, position: int) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_duration(text)
    error = caught.value
    assert (error.message, error.code, error.field, error.position) == (message, INVALID_SCHEDULE, "value", position)


@pytest.mark.parametrize(
    "text", ["\u0661s", "1\x00", "\ud800", "1e3", "0x10", "1_0", "1.s", ".5", "1.1234567", "9" * 16]
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "message", "suggestion"),
    [
        ("0.5", "value: the interval must be at least one second, got '0.5'", "1s"),
        ("0", "value: the interval must be at least one second, got '0'", "1s"),
        ("40000d", "value: the interval must be at most a hundred years, got '40000d'", "36525d"),
    ],
)
def test_an_interval_has_bounds(text: str, message: str, suggestion: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(Syntax.INTERVAL, text, now=NOON)
    assert (caught.value.message, caught.value.suggestion) == (message, suggestion)


def test_the_first_occurrence_is_the_anchor_itself() -> None:
    schedule = parse(Syntax.INTERVAL, "1h", anchor=NOON)
    assert isinstance(schedule, IntervalSchedule)
    assert schedule.seconds == 3600
    assert schedule.next_after(NOON - timedelta(days=400)) == NOON
    assert schedule.next_after(NOON - timedelta(microseconds=1)) == NOON
    assert schedule.next_after(NOON) == NOON + timedelta(hours=1)
    assert schedule.next_after(NOON + timedelta(hours=1)) == NOON + timedelta(hours=2)


def test_the_grid_does_not_drift() -> None:
    schedule = parse(Syntax.INTERVAL, "1.1s", anchor=NOON)
    assert schedule.next_after(NOON + timedelta(days=10_000)) == NOON + timedelta(microseconds=785_454_546 * 1_100_000)


def test_the_anchor_may_stand_in_any_zone_and_the_answer_is_in_utc() -> None:
    anchor = datetime(2026, 5, 14, 14, tzinfo=timezone(timedelta(hours=2)))
    found = parse(Syntax.INTERVAL, "1h", "Europe/Berlin", anchor=anchor).next_after(NOON)
    assert found == NOON + timedelta(hours=1)
    assert found is not None
    assert found.tzinfo is UTC


def test_a_preview_counts_from_the_reference_and_parsing_from_now() -> None:
    validation = validate(Syntax.INTERVAL, "90", "UTC", count=2, after=NOON)
    assert validation.next_occurrences == (NOON + timedelta(seconds=90), NOON + timedelta(seconds=180))
    assert parse(Syntax.INTERVAL, "90", now=NOON).next_after(NOON) == NOON + timedelta(seconds=90)
    anchored = validate(Syntax.INTERVAL, "90", "UTC", count=1, after=NOON, anchor=NOON + timedelta(days=1))
    assert anchored.next_occurrences == (NOON + timedelta(days=1),)


def test_an_interval_without_an_anchor_or_with_naive_times_is_a_programming_error() -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(ValueError, match="anchor: an INTERVAL needs an anchor"):
        parse(Syntax.INTERVAL, "90")
    with pytest.raises(ValueError, match="anchor: must be aware"):
        parse(Syntax.INTERVAL, "90", anchor=naive)
    with pytest.raises(ValueError, match="instant: must be aware"):
        parse(Syntax.INTERVAL, "90", anchor=NOON).next_after(naive)


def test_the_end_of_time_ends_the_grid() -> None:
    schedule = parse(Syntax.INTERVAL, "36525d", anchor=NOON)
    assert schedule.next_after(datetime(9980, 1, 1, tzinfo=UTC)) is None
    assert schedule.next_after(datetime.max.replace(tzinfo=UTC)) is None


def test_random_intervals_agree_with_counting_up_from_the_anchor() -> None:
    for number in range(EXPRESSIONS):
        random = Random(f"{SEED} {number}")
        hours, minutes, seconds = random.randint(0, 99), random.randint(0, 59), random.randint(1, 59)
        text = random.choice((f"{hours}h{minutes}m{seconds}s", f"PT{hours}H{minutes}M{seconds}S"))
        length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        anchor = NOON + timedelta(microseconds=random.randint(-(10**15), 10**15))
        instant = anchor + length * random.randint(-3, 20) + timedelta(microseconds=random.choice((-1, 0, 1)))
        expected = anchor
        while expected <= instant:
            expected += length
        found = parse(Syntax.INTERVAL, text, anchor=anchor).next_after(instant)
        assert found == expected, f"seed {SEED}, number {number}: '{text}' from {anchor} after {instant}"
