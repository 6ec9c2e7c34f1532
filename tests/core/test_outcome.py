"""What the end of an attempt means for its run."""

import pytest

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.outcome import (
    Cancelled,
    Failed,
    HandedBack,
    JobOutcome,
    Lost,
    Snoozed,
    Succeeded,
    Suspended,
    TimedOut,
    Verdict,
    judge,
)
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits

SLEEP = Awaits(AwaitedKind.TIME)
FAILED = Failed("ValueError", "boom", "Traceback …")
PERMANENT = Failed("PermanentFailure", "never", permanent=True)


def judged(outcome: JobOutcome, *, failures: int = 0, retries: int = 2, cancelled: bool = False) -> Verdict:
    return judge(outcome, failures=failures, retries=retries, base_delay=60.0, cancelled=cancelled)


@pytest.mark.parametrize(
    ("outcome", "failures", "state", "delay", "failures_after", "logged"),
    [
        (Succeeded(3), 0, RunState.SUCCESS, None, 0, Outcome.SUCCESS),
        (FAILED, 0, RunState.STUCK, 60.0, 1, Outcome.FAILED),
        (FAILED, 1, RunState.STUCK, 120.0, 2, Outcome.FAILED),
        (FAILED, 2, RunState.FAILED, None, 3, Outcome.FAILED),
        (PERMANENT, 0, RunState.FAILED, None, 1, Outcome.FAILED),
        (TimedOut("late"), 0, RunState.STUCK, 60.0, 1, Outcome.TIMED_OUT),
        (TimedOut("late"), 2, RunState.FAILED, None, 3, Outcome.TIMED_OUT),
        (Lost("node gone"), 0, RunState.STUCK, None, 1, Outcome.LOST),
        (Lost("node gone"), 2, RunState.FAILED, None, 3, Outcome.LOST),
        (Cancelled("no need"), 1, RunState.CANCELLED, None, 1, Outcome.CANCELLED),
        (Snoozed(30.0), 2, RunState.WAITING, 30.0, 2, Outcome.SNOOZED),
        (Suspended(SLEEP, 30.0), 2, RunState.SUSPENDED, 30.0, 2, Outcome.SUSPENDED),
        (HandedBack("shutdown"), 2, RunState.WAITING, None, 2, Outcome.HANDED_BACK),
    ],
)
def test_an_outcome_leads_to_its_state(
    outcome: JobOutcome,
    failures: int,
    state: RunState,
    delay: float | None,
    failures_after: int,
    logged: Outcome,
) -> None:
    result = judged(outcome, failures=failures)
    assert (result.state, result.delay, result.failures, result.outcome) == (state, delay, failures_after, logged)


@pytest.mark.parametrize(
    "outcome",
    [
        Succeeded(3, {"a": 1}),
        FAILED,
        TimedOut("late"),
        Lost("gone"),
        Snoozed(5.0),
        Suspended(SLEEP, 5.0),
        HandedBack("shutdown"),
    ],
)
def test_after_a_cancel_request_the_run_ends_cancelled_whatever_the_job_did(outcome: JobOutcome) -> None:
    result = judged(outcome, cancelled=True)
    assert (result.state, result.outcome, result.delay) == (RunState.CANCELLED, Outcome.CANCELLED, None)
    assert result.error


def test_what_a_cancelled_job_returned_is_kept() -> None:
    result = judged(Succeeded(3, {"a": 1}), cancelled=True)
    assert (result.records_processed, result.value) == (3, {"a": 1})


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_success_snooze_and_suspension_count_as_success_in_the_log(outcome: Outcome) -> None:
    assert outcome.is_success == (outcome in (Outcome.SUCCESS, Outcome.SNOOZED, Outcome.SUSPENDED))


@pytest.mark.parametrize(
    "outcome", [FAILED, PERMANENT, TimedOut("late"), Lost("gone"), Cancelled("x"), HandedBack("y")]
)
def test_whatever_is_no_success_has_an_error_message(outcome: JobOutcome) -> None:
    assert judged(outcome).error
