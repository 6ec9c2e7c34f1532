"""What a handler returned or raised, in the light of why it had been asked to stop."""

from collections.abc import Callable
from functools import partial

import pytest

from cronograph.jobs import Cancel, InvalidInput, PermanentFailure, Result, Snooze
from cronograph.jobs.base.context import StopReason
from cronograph.jobs.core.outcome import Cancelled, Failed, HandedBack, JobOutcome, Lost, Snoozed, Succeeded, TimedOut
from cronograph.jobs.runtime.job.results import MAX_TRACEBACK, from_exception, from_return, stopped, storable


def raised(error: Exception, stop: StopReason | None = None) -> JobOutcome:
    with pytest.raises(type(error)) as caught:
        raise error
    return from_exception(caught.value, stop)


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (None, Failed("ValueError", "no")),
        (StopReason.CANCEL, Cancelled("cancelled; the job left with no")),
        (StopReason.DEADLINE, TimedOut("used up its time box and left with no")),
        (StopReason.SHUTDOWN, HandedBack("its node shut down and the job left with no")),
    ],
)
def test_an_error_is_judged_by_why_the_job_was_asked_to_stop(stop: StopReason | None, expected: JobOutcome) -> None:
    outcome = raised(ValueError("no"), stop)
    assert type(outcome) is type(expected)
    for name in ("error_type", "message", "reason"):
        assert getattr(outcome, name, None) == getattr(expected, name, None)


@pytest.mark.parametrize("stop", [None, *StopReason])
def test_what_a_job_says_by_an_exception_counts_whatever_it_was_asked(stop: StopReason | None) -> None:
    assert raised(Snooze(5), stop) == Snoozed(5)
    assert raised(Cancel("why"), stop) == Cancelled("why")
    permanent = raised(PermanentFailure("never"), stop)
    assert isinstance(permanent, Failed)
    assert permanent.permanent


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (StopReason.CANCEL, Cancelled("did not stop when asked to and was stopped hard")),
        (StopReason.SHUTDOWN, HandedBack("its node shut down before the job ended")),
        (StopReason.DEADLINE, TimedOut("used up its time box and did not leave when asked to")),
        (None, TimedOut("used up its time box and did not leave when asked to")),
    ],
)
def test_a_hard_stop_is_judged_by_its_reason(reason: StopReason | None, expected: JobOutcome) -> None:
    assert stopped(reason) == expected


def test_subclasses_of_what_a_job_may_raise_count_as_such() -> None:
    class Gone(PermanentFailure):
        """An application's own."""

    outcome = raised(Gone("for ever"))
    assert isinstance(outcome, Failed)
    assert (outcome.error_type, outcome.permanent) == ("Gone", True)


def test_a_traceback_is_bounded() -> None:
    outcome = raised(ValueError("y" * 100_000))
    assert isinstance(outcome, Failed)
    assert outcome.traceback is not None
    assert len(outcome.traceback) <= MAX_TRACEBACK + 40


@pytest.mark.parametrize("stop", [None, *StopReason])
@pytest.mark.parametrize("kind", [ValueError, PermanentFailure, Cancel])
def test_no_end_tells_the_password_of_an_address(kind: type[Exception], stop: StopReason | None) -> None:
    outcome = raised(kind("cannot reach postgresql://ada:hunter2@db/x"), stop)
    assert "hunter2" not in repr(outcome)
    assert "cannot reach postgresql://***@db/x" in repr(outcome)


@pytest.mark.parametrize("kind", [partial(Failed, "E"), TimedOut, Cancelled, HandedBack, Lost])
def test_no_end_of_other_code_tells_the_password_of_an_address(kind: Callable[..., JobOutcome]) -> None:
    outcome = storable(kind("cannot reach redis://:hunter2@cache"))
    assert "hunter2" not in repr(outcome)
    assert "redis://***@cache" in repr(outcome)


def test_a_result_keeps_its_addresses() -> None:
    assert from_return(Result(value="redis://:pw@cache")) == Succeeded(None, "redis://:pw@cache")


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e12])
def test_a_snooze_that_cannot_be_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidInput, match="Snooze: must be from 0 seconds to ten years"):
        Snooze(seconds)


def test_numbers_of_records_at_the_bounds() -> None:
    assert from_return(2**63 - 1) == Succeeded(2**63 - 1)
    assert isinstance(from_return(2**63), Failed)
    assert from_return(Result(0)) == Succeeded(0)
