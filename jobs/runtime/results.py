"""What a handler returned or raised, as an outcome that can be stored."""

import json
import traceback

from ..context import StopReason
from ..core.model import Json
from ..core.outcome import MAX_RECORDS, Cancelled, Failed, HandedBack, JobOutcome, Snoozed, Succeeded, TimedOut
from ..outcomes import Cancel, PermanentFailure, Result, Snooze

MAX_MESSAGE = 4_000
MAX_TRACEBACK = 40_000
MAX_VALUE = 1_000_000
"""Characters of a message, a traceback and a JSON value that are kept."""


def from_return(returned: object) -> JobOutcome:
    """The outcome of a handler that returned: None, an ``int`` (records processed; ``bool`` is none), or a ``Result``."""
    if returned is None:
        return Succeeded()
    if isinstance(returned, Result):
        fault = _records_fault(returned.records_processed) or _value_fault(returned.value)
        return Failed("InvalidResult", fault) if fault else Succeeded(returned.records_processed, clean(returned.value))
    fault = _records_fault(returned)
    if fault or not isinstance(returned, int):
        return Failed("InvalidResult", fault or "")
    return Succeeded(returned)


def from_exception(error: BaseException, stop: StopReason | None) -> JobOutcome:
    """The outcome of a handler that raised.

    Args:
        error: What it raised.
        stop: Why it had been asked to stop by then. Leaving with an exception after the deadline is a time-out, and
            during a shutdown a hand-back: neither is the job's fault.
    """
    if isinstance(error, Snooze):
        return Snoozed(error.seconds)
    if isinstance(error, Cancel):
        return Cancelled(_text(error.reason, MAX_MESSAGE) or "the job cancelled itself")
    message, trace = message_of(error), _text("".join(traceback.format_exception(error)), MAX_TRACEBACK)
    if isinstance(error, PermanentFailure):
        return Failed(type(error).__name__, message, trace, permanent=True)
    if stop is StopReason.CANCEL:
        return Cancelled(f"cancelled; the job left with {message}")
    if stop is StopReason.DEADLINE:
        return TimedOut(f"used up its time box and left with {message}", trace)
    if stop is StopReason.SHUTDOWN:
        return HandedBack(f"its node shut down and the job left with {message}")
    return Failed(type(error).__name__, message, trace)


def message_of(error: BaseException) -> str:
    """The message of an exception, with its type where it has none; bounded."""
    return _text(str(error), MAX_MESSAGE) or type(error).__name__


def clean(value: Json) -> Json:
    """``value`` without NUL characters, which PostgreSQL cannot store."""
    text = json.dumps(value)
    return json.loads(text.replace("\\u0000", "\\ufffd")) if "\\u0000" in text else value


def _text(text: str, limit: int) -> str:
    text = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} characters cut)"


def _records_fault(records: object) -> str | None:
    if records is None:
        return None
    if isinstance(records, bool) or not isinstance(records, int):
        return (
            "a job must return None, an int (records processed) or Result(records_processed=…, value=…), "
            f"got {type(records).__name__}"
        )
    if not 0 <= records <= MAX_RECORDS:
        return f"records processed: must be from 0 to 2^63 - 1, got {records}"
    return None


def _value_fault(value: Json) -> str | None:
    try:
        length = len(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        return f"the value of a Result must be JSON, got {type(value).__name__}: {error}"
    return None if length <= MAX_VALUE else f"the value of a Result may have {MAX_VALUE} characters of JSON, got {length}"
