"""Turn the end of an attempt into its outcome and the next state of its run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeAlias

from .base.signature import UnreadBy
from .base.times import time_text
from .model import Json, Outcome
from .states import RunState
from .waits import AwaitedKind, Awaits

_MOST_DOUBLINGS: Final = 32
"""By then any first pause that makes sense has met its limit; the bound keeps the power finite."""


def exponential(first: float, longest: float, failures: int) -> float:
    """Return the seconds to wait: ``first`` × 2^``failures``, at most ``longest``.

    Args:
        first: The first pause.
        longest: The limit.
        failures: How many there were before this one.
    """
    return min(longest, first * 2.0 ** min(failures, _MOST_DOUBLINGS))


MAX_RECORDS = 2**63 - 1
MAX_RETRY_DELAY = 3600.0
"""No retry waits longer than this, in seconds."""
NODE_LOST = "NodeLost"
"""Error type of an execution whose node died."""
LEFT_BEHIND = "LeftBehind"
"""Error type of such an execution whose code could not be stopped, and went on while others had its run."""
INVALID_ARGUMENTS = "InvalidArguments"
"""Error type of an execution whose job never began, because the arguments do not fit this node's version of it."""
UNREADABLE_RUN = "UnreadableRun"
"""Error type of an execution whose job could not go on, because the row of its run cannot be read."""
CLAIM_LOST = "ClaimLost"
"""Error type of an execution that its live node does not know, because the answer of the claim was lost."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The job returned. ``records_processed`` None = the job did not count; ``value`` is its JSON result."""

    records_processed: int | None = None
    value: Json = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The job raised. ``permanent``: no retry (PermanentFailure); ``retry_in``: seconds, unless as is usual."""

    error_type: str
    message: str
    traceback: str | None = None
    permanent: bool = False
    retry_in: float | None = None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The job used up its time box and was stopped, or left because of it with an error.

    ``retry_in`` as ``Failed``. ``permanent``: no retry, because the time of the whole run is over.
    """

    message: str
    traceback: str | None = None
    retry_in: float | None = None
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was cancelled, by somebody or by the job itself (``Cancel``)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The job asked to be tried again in ``seconds``; not a failure."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Suspended:
    """The job waits without a slot: the run is woken by the things it ``awaits``, and by time if one of the two is set.

    ``seconds`` are counted by the database's clock from the end of the attempt, ``until`` is a time by that clock.
    ``waits`` are the labels of the waits at which the attempt stood, if its job waits by ``ctx``.
    """

    awaits: Awaits
    seconds: float | None = None
    until: datetime | None = None
    waits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The node stops and gives the run back to the queue; not a failure."""

    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The node that ran it died or was cut off, or never learnt that it was to run it (``CLAIM_LOST``)."""

    message: str
    error_type: str = NODE_LOST


@dataclass(frozen=True, slots=True)
class Unread:
    """The node's version of the job cannot read the arguments; the run waits for another one. Not a failure.

    ``by``: which versions have tried; ``until``: when the wait ends.
    """

    by: UnreadBy
    until: datetime


_Ended: TypeAlias = Succeeded | Failed | TimedOut | Cancelled | Snoozed | Suspended | HandedBack | Lost
JobOutcome: TypeAlias = _Ended | Unread


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the values that the end of an attempt writes into its run and its execution row.

    ``delay`` is the seconds after which the run is available again; None = it keeps its place in the queue, if it goes
    back there at all. For a suspended run it is the time until it is woken, None = not by time; ``awaits`` and
    ``until`` are set for these alone.
    """

    state: RunState
    failures: int
    delay: float | None
    outcome: Outcome
    error: str | None
    error_type: str | None = None
    traceback: str | None = None
    records_processed: int | None = None
    value: Json = None
    awaits: Awaits | None = None
    until: datetime | None = None


def judge(outcome: JobOutcome, *, failures: int, retries: int, base_delay: float, cancelled: bool) -> Verdict:
    """Decide about the run of an ended attempt.

    Args:
        outcome: How the attempt ended.
        failures: Failures and losses of the run before this attempt.
        retries: How many failures the run survives; it is failed once ``failures > retries``.
        base_delay: The run's retry delay in seconds.
        cancelled: Whether a cancel was requested while it ran. The run then ends cancelled, regardless of the job.
    """
    if isinstance(outcome, Unread):
        verdict = _of_unread(outcome, failures)
    else:
        verdict = _judge(outcome, failures, retries, base_delay)
    if cancelled and verdict.state is not RunState.CANCELLED:
        return _as_cancelled(outcome, verdict)
    return verdict


def _judge(outcome: _Ended, failures: int, retries: int, base_delay: float) -> Verdict:
    match outcome:
        case Succeeded(records, value):
            return Verdict(
                RunState.SUCCESS, failures, None, Outcome.SUCCESS, None, records_processed=records, value=value
            )
        case Failed(error_type, message, traceback, permanent, retry_in):
            state, delay = _after_failure(failures, -1 if permanent else retries, base_delay, retry_in)
            return Verdict(state, failures + 1, delay, Outcome.FAILED, message, error_type, traceback)
        case TimedOut(message, traceback, retry_in, permanent):
            state, delay = _after_failure(failures, -1 if permanent else retries, base_delay, retry_in)
            return Verdict(state, failures + 1, delay, Outcome.TIMED_OUT, message, "TimeoutError", traceback)
        case Lost(message, error_type):
            # A used attempt, but no back-off: the fault was the node's.
            state, _ = _after_failure(failures, retries, 0.0)
            return Verdict(state, failures + 1, None, Outcome.LOST, message, error_type)
        case Cancelled(reason):
            return Verdict(RunState.CANCELLED, failures, None, Outcome.CANCELLED, reason)
        case Snoozed(seconds):
            return Verdict(RunState.WAITING, failures, seconds, Outcome.SNOOZED, None)
        case Suspended(awaits, seconds, until):
            return Verdict(RunState.SUSPENDED, failures, seconds, Outcome.SUSPENDED, None, awaits=awaits, until=until)
        case HandedBack(reason):
            return Verdict(RunState.WAITING, failures, None, Outcome.HANDED_BACK, reason)


def _of_unread(outcome: Unread, failures: int) -> Verdict:
    reason = f"{outcome.by.reason}; the run waits for another version of its job"
    return Verdict(
        RunState.SUSPENDED,
        failures,
        None,
        Outcome.HANDED_BACK,
        reason,
        INVALID_ARGUMENTS,
        awaits=Awaits(AwaitedKind.VERSION),
        until=outcome.until,
    )


def _after_failure(
    failures: int, retries: int, base_delay: float, retry_in: float | None = None
) -> tuple[RunState, float | None]:
    if failures + 1 > retries:
        return RunState.FAILED, None
    return RunState.STUCK, retry_delay(failures, base_delay) if retry_in is None else retry_in


def _as_cancelled(outcome: JobOutcome, verdict: Verdict) -> Verdict:
    """End a run as cancelled, as was asked; the log keeps the job's result."""
    error = verdict.error or ("cancelled; the job returned" if isinstance(outcome, Succeeded) else "cancelled")
    return Verdict(
        RunState.CANCELLED,
        verdict.failures,
        None,
        Outcome.CANCELLED,
        error,
        verdict.error_type,
        verdict.traceback,
        verdict.records_processed,
        verdict.value,
    )


def retry_delay(retries_so_far: int, base: float) -> float:
    """Return the seconds to wait after a failure before the next attempt: ``base`` × 2^n, at most an hour.

    2^n: exponential back-off; n = ``retries_so_far`` counts the failures before this one, so the first retry comes
    after 1 × ``base``. The retry is due strictly after that time.
    """
    return exponential(base, MAX_RETRY_DELAY, retries_so_far)


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed for good: its failures exceeded its retries, or one was final.

    Attributes:
        run_id: The run's id.
        job_name: Its job.
        attempt: How often it was started.
        error: Why the last attempt failed.
        error_type: The exception's name, if there was one.
        task_name: The task that made the run, if one did.
        args: Its arguments, with ``[secret NAME]`` in the place of secrets.
    """

    run_id: int
    job_name: str
    attempt: int
    error: str
    error_type: str | None = None
    task_name: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def document(self) -> dict[str, Json]:
        """Return the argument ``failure`` of the job that is notified."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Cancellation:
    """A run that was cancelled.

    Attributes:
        run_id: The run's id.
        job_name: Its job.
        attempt: How often it was started; 0 = it had not begun.
        reason: Why, as far as somebody said.
        task_name: The task that made the run, if one did.
        args: Its arguments, with ``[secret NAME]`` in the place of secrets.
    """

    run_id: int
    job_name: str
    attempt: int
    reason: str | None = None
    task_name: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def document(self) -> dict[str, Json]:
        """Return the argument ``cancellation`` of the job that is notified."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Timed(Protocol):
    """Hold the times of a started run."""

    @property
    def timeout(self) -> float | None:
        """Seconds that each attempt may take."""
        ...

    @property
    def started_at(self) -> datetime | None:
        """Return when the attempt began."""
        ...

    @property
    def deadline_at(self) -> datetime | None:
        """Return when the run has to have ended."""
        ...


def time_box(run: Timed) -> float | None:
    """Return the seconds that the attempt may take, by its own limit and by that of its run; None = any number."""
    left = _left(run)
    if left is None or run.timeout is None:
        return run.timeout if left is None else left
    return min(left, run.timeout)


def attempt_deadline(run: Timed) -> datetime | None:
    """Return when the time box of the attempt ends; None = it has none."""
    seconds = time_box(run)
    return None if seconds is None or run.started_at is None else run.started_at + timedelta(seconds=seconds)


def ends_run(run: Timed) -> bool:
    """Return whether the run is over when the time box of the attempt is."""
    left = _left(run)
    return left is not None and (run.timeout is None or left <= run.timeout)


def is_over(run: Timed) -> bool:
    """Return whether no time was left when the attempt began."""
    return _left(run) == 0.0


def _left(run: Timed) -> float | None:
    if run.deadline_at is None or run.started_at is None:
        return None
    return max(0.0, (run.deadline_at - run.started_at).total_seconds())


def deadline_sentence(deadline_at: datetime) -> str:
    """Return the reason, as a sentence, for which a run that took too long failed."""
    return f"max_duration: the run had to end by {time_text(deadline_at)}, counted from its first start"
