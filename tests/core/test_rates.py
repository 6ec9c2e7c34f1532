"""Token buckets: against a model that adds tokens one by one, and what a rate may be."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.core.admission.caps import Bucket, Rate, rate_faults

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PER = st.sampled_from([0.001, 0.7, 1.0, 7.0, 60.0, 86400.0])
RATES = st.builds(Rate, st.integers(1, 100_000), PER, st.integers(1, 50)).filter(
    lambda rate: next(rate_faults(rate.limit, rate.per, rate.burst), None) is None
)


def after(microseconds: int) -> datetime:
    return NOON + timedelta(microseconds=microseconds)


class Model:
    """Exact fractions of tokens, filled up whenever it is asked."""

    def __init__(self, rate: Rate) -> None:
        self.rate, self.level, self.at = rate, Fraction(rate.burst), 0

    def tokens(self, at: int) -> Fraction:
        per_microsecond = Fraction(self.rate.limit) / (Fraction(self.rate.per).limit_denominator(1000) * 1_000_000)
        self.level = min(Fraction(self.rate.burst), self.level + (at - self.at) * per_microsecond)
        self.at = at
        return self.level


STEPS = st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 8)), max_size=30)


@given(rate=RATES, steps=STEPS)
def test_a_bucket_gives_what_the_model_gives_and_never_more(rate: Rate, steps: list[tuple[int, int]]) -> None:
    bucket, model, at, taken = Bucket(rate), Model(rate), 0, 0
    for passed, wanted in steps:
        at += passed
        level, tokens = model.tokens(at), bucket.tokens(after(at))
        assert tokens <= level
        # Each take is rounded up to a microsecond: so much may be missing, and no more.
        slack = Fraction(rate.limit, round(rate.per * 1_000_000)) * (len(steps) + 1)
        assert tokens + 1 > level - slack
        count = min(wanted, tokens)
        if count:
            bucket = bucket.take(count, after(at))
            model.level -= count
            taken += count


@given(rate=RATES, steps=STEPS)
def test_no_stretch_of_time_passes_its_rate(rate: Rate, steps: list[tuple[int, int]]) -> None:
    bucket, at = Bucket(rate), 0
    starts: list[tuple[int, int]] = []
    for passed, wanted in steps:
        at += passed
        count = min(wanted, bucket.tokens(after(at)))
        if count:
            bucket = bucket.take(count, after(at))
            starts.append((at, count))
    for first in range(len(starts)):
        total = 0
        for last in range(first, len(starts)):
            total += starts[last][1]
            stretch = Fraction(starts[last][0] - starts[first][0], round(rate.per * 1_000_000))
            assert total <= rate.burst + rate.limit * stretch


@given(rate=RATES, taken=st.integers(1, 50), passed=st.integers(0, 10**8))
def test_a_token_is_there_when_it_is_due_and_not_a_microsecond_before(rate: Rate, taken: int, passed: int) -> None:
    now = after(passed)
    bucket = Bucket(rate).take(min(taken, rate.burst), NOON)
    due = bucket.due(now)
    assert bucket.tokens(due) >= 1
    if due > now:
        assert bucket.tokens(now) == 0
        assert bucket.tokens(due - timedelta(microseconds=1)) == 0


@given(rate=RATES, taken=st.integers(1, 50), back=st.integers(1, 50))
def test_what_is_given_back_can_be_taken_again_and_never_overflows(rate: Rate, taken: int, back: int) -> None:
    taken = min(taken, rate.burst)
    bucket = Bucket(rate).take(taken, NOON).give_back(back, NOON)
    assert bucket.tokens(NOON) <= rate.burst
    if back >= taken:
        assert bucket.tokens(NOON) >= rate.burst - 1


@given(before=RATES, now=RATES, taken=st.integers(1, 50))
def test_a_changed_rate_never_makes_anybody_wait_longer_than_for_one_token(before: Rate, now: Rate, taken: int) -> None:
    emptied = Bucket(before).take(min(taken, before.burst), NOON)
    changed = Bucket(now, emptied.full_at).settled(NOON)
    due = changed.due(NOON)
    assert due - NOON <= timedelta(microseconds=now.span(1) + 1)
    assert changed.settled(due).tokens(due) >= 1


def test_a_burst_is_a_twentieth_of_the_limit_unless_it_is_said() -> None:
    assert [Rate.of(limit, 60).burst for limit in (1, 49, 100, 1000)] == [1, 2, 5, 50]
    assert Rate.of(100, 60, 7).burst == 7
    assert Rate.from_json(Rate.of(100, 60, 7).to_json()) == Rate(100, 60.0, 7)


@pytest.mark.parametrize(
    ("limit", "per", "words"),
    [(100, 60, "100 a minute"), (5, 90, "5 in 90 s"), (1, 86400, "1 a day"), (2, 3600, "2 an hour")],
)
def test_a_rate_is_reported_in_words(limit: int, per: float, words: str) -> None:
    assert Rate.of(limit, per).words == words


@pytest.mark.parametrize(
    ("limit", "per", "burst", "said"),
    [
        (0, 1.0, None, "rate.limit: must be a whole number from 1 to 100,000,000, got 0"),
        (True, 1.0, None, "rate.limit: must be a whole number from 1 to 100,000,000, got True"),
        (1.5, 1.0, None, "rate.limit: must be a whole number from 1 to 100,000,000, got 1.5"),
        (1, 0, None, "rate.per: must be seconds from 0.001 to 31,622,400, got 0"),
        (1, "x", None, "rate.per: must be seconds from 0.001 to 31,622,400, got 'x'"),
        (1, 1.0, 0, "rate.burst: must be a whole number from 1 to 100,000,000, got 0"),
        (100_001, 1.0, None, "rate: must be at most 100,000 a second, got 100,001 in 1 s"),
        (1, 86_401.0, None, "rate: must be at least one a day, got 1 in 86,401 s"),
    ],
)
def test_a_rate_that_cannot_be_is_refused(limit: object, per: object, burst: object, said: str) -> None:
    assert [str(fault) for fault in rate_faults(limit, per, burst)] == [said]
