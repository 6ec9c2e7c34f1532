"""Suggestions that hold what they promise: what a refusal tells people to write is itself accepted."""

from collections.abc import Callable
from typing import Final

from .model import ScheduleError

ROUNDS: Final = 6
"""So many faults of one value are corrected at most, which bounds the work."""


def proven(error: ScheduleError, value: str, attempt: Callable[[str], object]) -> ScheduleError:
    """The error with `corrected` filled in, and without its suggestion if that is no better than what was refused.

    Where the suggestion is for the value as a whole, the suggestion becomes the corrected value, and whatever else is
    wrong in it is corrected too. `attempt` parses a value and raises ScheduleError.
    """
    fixed = _with(error, value)
    if fixed is None:
        return error
    if error.field == "value":
        error.suggestion = error.corrected = _wholly(fixed, attempt)
    elif _accepted(error, fixed, attempt):
        error.corrected = fixed
    else:
        error.suggestion = None
    return error


def _with(error: ScheduleError, value: str) -> str | None:
    """The value with the suggestion in place; None if there is none, or it is for the zone beside the value."""
    if error.suggestion is None or (error.field == "timezone" and error.replaces is None):
        return None
    begin, end = error.replaces or (0, len(value))
    return f"{value[:begin]}{error.suggestion}{value[end:]}"


def _wholly(value: str, attempt: Callable[[str], object]) -> str | None:
    """The value with each further fault corrected as its own refusal suggests; None if that leads nowhere."""
    for _ in range(ROUNDS):
        try:
            attempt(value)
        except ScheduleError as error:
            fixed = _with(error, value)
            if fixed is None:
                return None
            value = fixed
        else:
            return value
    return None


def _accepted(error: ScheduleError, fixed: str, attempt: Callable[[str], object]) -> bool:
    """Whether nothing is wrong with the corrected value in the place of the correction."""
    begin = error.position or 0
    try:
        attempt(fixed)
    except ScheduleError as following:
        return following.position is None or not begin <= following.position < begin + len(error.suggestion or "")
    return True
