"""No text of any syntax costs more than a bounded number of steps, counted in executed lines rather than in time."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from types import FrameType, TracebackType
from typing import Any, Self

import pytest

from cronograph.jobs.core.schedule import MAX_VALUE_LENGTH, NEVER_FIRES, Syntax, parse, validate
from tests.core.schedule.adversarial import Case, adversarial, noise

TraceFunction = Callable[[FrameType, str, object], Any]
NOW = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)
MOST_LINES = 12_000
"""The worst case below executes 9,000 lines, five searches included."""
MOST_LINES_OF_A_SEARCH = 3_000


class LineCounter:
    """Counts the lines that this thread executes, in any module, while it is entered."""

    def __init__(self) -> None:
        self.lines = 0

    def __enter__(self) -> Self:
        self._outer = sys.gettrace()
        sys.settrace(self._count)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(self._outer)

    def _count(self, _frame: FrameType, event: str, _argument: object) -> TraceFunction:
        if event == "line":
            self.lines += 1
        return self._count


def label(case: Case) -> str:
    syntax, value, zone = case
    return f"{syntax} {value[:24]!a} {zone[:16]}"


@pytest.mark.parametrize("case", adversarial(), ids=label)
def test_judging_a_hard_input_takes_a_bounded_number_of_steps(case: Case) -> None:
    syntax, value, zone = case
    validate(syntax, value, zone, count=5, after=NOW)
    with LineCounter() as counter:
        validate(syntax, value, zone, count=5, after=NOW)
    assert counter.lines < MOST_LINES


@pytest.mark.parametrize("syntax", Syntax)
def test_judging_noise_takes_a_bounded_number_of_steps(syntax: Syntax) -> None:
    cases = [case for case in noise(50) if case[0] is syntax]
    for _, value, zone in cases:
        with LineCounter() as counter:
            validate(syntax, value, zone, count=5, after=NOW)
        assert counter.lines < MOST_LINES, value


def test_a_rare_date_is_found_without_walking_to_it() -> None:
    schedule = parse(Syntax.CRON, "0 0 0 29 2 MON#5", "UTC")
    with LineCounter() as counter:
        found = schedule.next_after(NOW)
    assert found == datetime(2044, 2, 29, tzinfo=UTC)
    assert counter.lines < MOST_LINES_OF_A_SEARCH


@pytest.mark.parametrize("syntax", Syntax)
def test_longer_texts_are_refused_unread(syntax: Syntax) -> None:
    with LineCounter() as counter:
        validation = validate(syntax, "1" * (MAX_VALUE_LENGTH + 1), "UTC", count=5, after=NOW)
    assert validation.error is not None
    assert validation.error.message == "value: has 257 characters; it can have 256 at most"
    assert counter.lines < 50


def test_whether_cron_never_fires_is_decided_when_it_is_parsed() -> None:
    with LineCounter() as counter:
        validation = validate(Syntax.CRON, "0 0 0 L 2 SUN#4,MON-SAT#1", "UTC", count=1, after=NOW)
    assert validation.valid  # the 28th of a February that begins on a Monday
    with LineCounter() as counter:
        validation = validate(Syntax.CRON, "0 0 0 31 APR,JUN,SEP,NOV *", "UTC", count=1, after=NOW)
    assert validation.error is not None
    assert validation.error.code == NEVER_FIRES
    assert counter.lines < MOST_LINES_OF_A_SEARCH
