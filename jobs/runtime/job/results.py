"""Make an outcome that can be stored of a handler's result or error."""

import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from ...base.context import StopReason
from ...base.hiding import NOTHING_HIDDEN, Redactor
from ...base.outcomes import Cancel, PermanentFailure, Result, Snooze, Suspend
from ...core.arguments.secrets import without_users
from ...core.outcome import (
    MAX_RECORDS,
    Cancelled,
    Failed,
    HandedBack,
    JobOutcome,
    Lost,
    Snoozed,
    Succeeded,
    Suspended,
    TimedOut,
    Unread,
)
from ...core.run_spec import length
from ...registry.policies import NO_POLICIES, JobPolicies
from .values import plain_json, plain_text

MAX_MESSAGE = 4_000
MAX_TRACEBACK = 40_000
"""Characters of a message and a traceback that are kept."""
_NOTE = 60
"""Characters that say how many were cut, perhaps by the other code already."""
MAX_TYPE = 200
"""Characters of the name of an error's type that other code sends."""


_DONE = Succeeded()


def from_return(returned: object, redactor: Redactor = NOTHING_HIDDEN) -> JobOutcome:
    """Return the outcome of a handler that returned None, an ``int`` (records processed, no bool) or a ``Result``."""
    if returned is None:
        return _DONE
    result = returned if isinstance(returned, Result) else None
    try:
        records = _records(returned if result is None else result.records_processed)
        value = None if result is None else redactor.json(plain_json(result.value, "the value of a Result"))
    except ValueError as error:
        return Failed("InvalidResult", error_text(redactor.text(str(error)), MAX_MESSAGE))
    return Succeeded(records, value)


def _records(records: object) -> int | None:
    if records is None:
        return None
    if isinstance(records, bool) or not isinstance(records, int):
        raise ValueError(  # noqa: TRY004 - one fault of a result among others
            "a job must return None, an int (records processed) or Result(records_processed=…, value=…), "
            f"got {type(records).__name__}"
        )
    if not 0 <= records <= MAX_RECORDS:
        got = str(records) if abs(records) < 10**30 else f"a number of {records.bit_length()} bits"
        raise ValueError(f"records processed: must be from 0 to 2^63 - 1, got {got}")
    return int(records)


def error_text(text: str, limit: int = MAX_MESSAGE + _NOTE) -> str:
    """Return what a job says of its end, or of a step's, as it is stored: without users and passwords of addresses.

    Viewers read it, and errors name the addresses that they could not reach.
    """
    return plain_text(without_users(text), limit)


def storable(outcome: JobOutcome) -> JobOutcome:
    """Return an outcome that other code than this has made of its job's result or error, by the same rules.

    Raises:
        ValueError: a part of it is invalid.
        UserError: a duration or a time is not.
    """
    match outcome:
        case Succeeded(records, value):
            return Succeeded(_records(records), plain_json(value, "the value"))
        case Failed() | TimedOut():
            retry_in = None if outcome.retry_in is None else length("retry_in", outcome.retry_in)
            trace = None if outcome.traceback is None else error_text(outcome.traceback, MAX_TRACEBACK + _NOTE)
            message = error_text(outcome.message)
            kept = replace(outcome, message=message, traceback=trace, retry_in=retry_in)
            return replace(kept, error_type=plain_text(kept.error_type, MAX_TYPE)) if isinstance(kept, Failed) else kept
        case Snoozed(seconds):
            return Snoozed(length("seconds", seconds))
        case Suspended():
            Suspend(outcome.awaits, seconds=outcome.seconds, until=outcome.until)
            return outcome
        case Cancelled(reason) | HandedBack(reason):
            return replace(outcome, reason=error_text(reason))
        case Lost():
            return replace(outcome, message=error_text(outcome.message))
        case Unread():
            return outcome


def from_exception(
    error: BaseException,
    stop: StopReason | None,
    policies: JobPolicies = NO_POLICIES,
    redactor: Redactor = NOTHING_HIDDEN,
) -> JobOutcome:
    """Return the outcome of a handler that raised.

    Args:
        error: The error that it raised.
        policies: Of its job, which may give up on it.
        stop: Why it had been asked to stop by then. Leaving with an exception after the deadline is a time-out, and
            during a shutdown a hand-back: neither is the job's fault.
        redactor: Cuts out the secrets that it was given.
    """
    try:
        return _from_exception(error, stop, policies, redactor)
    except BaseException as fault:
        # Its classes are the user's: no matter what they do when they are asked, the attempt has an end.
        return failure(type_name(error), f"cannot be read: {type_name(fault)}", None, stop)


def _from_exception(
    error: BaseException, stop: StopReason | None, policies: JobPolicies, redactor: Redactor
) -> JobOutcome:
    if isinstance(error, Snooze):
        # A class of the user's may set it past the check of ``Snooze``.
        return Snoozed(length("Snooze", error.seconds))
    suspension = suspension_of(error)
    if suspension is not None:
        return Suspended(suspension.awaits, suspension.seconds, suspension.until)
    if isinstance(error, Cancel):
        return Cancelled(error_text(redactor.text(str(error.reason)), MAX_MESSAGE) or "the job cancelled itself")
    trace = error_text(redactor.text("".join(traceback.format_exception(error))), MAX_TRACEBACK)
    message = message_of(error, redactor)
    if isinstance(error, PermanentFailure) or (stop is None and policies.gives_up(error)):
        return Failed(type_name(error), message, trace, permanent=True)
    return failure(type_name(error), message, trace, stop)


def suspension_of(error: BaseException) -> Suspend | None:
    """Return the suspension of the run: alone, or from tasks of a group of which none failed."""
    if isinstance(error, BaseExceptionGroup):
        asleep, others = cast("BaseExceptionGroup[BaseException]", error).split(Suspend)
        if others is not None or asleep is None:
            return None
        found = list(_leaves(asleep))
        times = [one.until for one in found if one.until is not None]
        return Suspend(found[0].awaits, until=min(times)) if times else found[0]
    return error if isinstance(error, Suspend) else None


def _leaves(group: BaseExceptionGroup[Suspend]) -> Iterator[Suspend]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one


def failure(error_type: str, message: str, trace: str | None, stop: StopReason | None) -> JobOutcome:
    """Return the outcome of an attempt that ended badly, given why it had been asked to stop (None = it had not)."""
    match stop:
        case StopReason.CANCEL:
            return Cancelled(f"cancelled; the job left with {message}")
        case StopReason.DEADLINE:
            return TimedOut(f"used up its time box and left with {message}", trace)
        case StopReason.SHUTDOWN:
            return HandedBack(f"its node shut down and the job left with {message}")
        case None:
            return Failed(error_type, message, trace)


def stopped(reason: StopReason | None) -> JobOutcome:
    """Return the outcome of an attempt that was stopped hard, as it did not leave when asked to for ``reason``."""
    match reason:
        case StopReason.CANCEL:
            return Cancelled("did not stop when asked to and was stopped hard")
        case StopReason.SHUTDOWN:
            return HandedBack("its node shut down before the job ended")
        case _:
            return TimedOut("used up its time box and did not leave when asked to")


def type_name(error: BaseException) -> str:
    """Return the name of an exception's class, also of one whose ``__name__`` is the user's code."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name


def message_of(error: BaseException, redactor: Redactor = NOTHING_HIDDEN) -> str:
    """Return the message of an exception, with its type where it has none; bounded."""
    try:
        text = str(error)
    except BaseException as fault:
        text = f"its message cannot be read: {type_name(fault)}"
    return error_text(redactor.text(text), MAX_MESSAGE) or type_name(error)


def failed_step_line(label: str, error: BaseException, message: str, retry_in: float | None) -> str:
    """Return the line that says that a step failed."""
    then = "its retries are used up" if retry_in is None else f"again in {retry_in:g} s"
    return f"step '{label}' failed with {type_name(error)}: {message}; {then}"
