"""One door to the four syntaxes: ``parse`` for stored schedules, ``validate`` for those that somebody is typing."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ..base.times import time_text
from .calendar import parse_calendar
from .cron import parse_cron
from .interval import looks_like_seconds, parse_interval, parse_timestamp
from .model import MAX_VALUE_LENGTH, NEVER_FIRES, Schedule, ScheduleError, Syntax, Validation


def parse(
    syntax: Syntax, value: str, timezone: str = "UTC", *, anchor: datetime | None = None, now: datetime | None = None
) -> Schedule:
    """Parse a schedule. ``anchor`` is the origin of an INTERVAL's grid, ``now`` its stand-in; others ignore both.

    Raises:
        ScheduleError: the text is no schedule; nothing else is raised for any text.
        ValueError: an INTERVAL has neither ``anchor`` nor ``now``.
    """
    if len(value) > MAX_VALUE_LENGTH:
        raise ScheduleError(
            f"value: has {len(value)} characters; it can have {MAX_VALUE_LENGTH} at most",
            field="value",
            position=MAX_VALUE_LENGTH,
        )
    try:
        return _parsed(syntax, value, timezone, anchor or now)
    except ScheduleError as error:
        raise proven(error, value, lambda text: _parsed(syntax, text, timezone, anchor or now)) from None


def _parsed(syntax: Syntax, value: str, timezone: str, origin: datetime | None) -> Schedule:
    match syntax:
        case Syntax.CRON:
            return parse_cron(value, timezone)
        case Syntax.CALENDAR:
            return parse_calendar(value, timezone)
        case Syntax.TIMESTAMP:
            return parse_timestamp(value, timezone, origin)
        case Syntax.INTERVAL:
            if origin is None:
                raise ValueError("anchor: an INTERVAL needs an anchor, or `now` in its place; got neither")
            return parse_interval(value, timezone, origin)


def validate(
    syntax: Syntax, value: str, timezone: str, *, count: int, after: datetime, anchor: datetime | None = None
) -> Validation:
    """Check a schedule; return its description, and its next ``count`` occurrences strictly after ``after``.

    An INTERVAL without an ``anchor`` is previewed with ``after`` as its anchor. A schedule without any occurrence after
    ``after`` is invalid with code ``NEVER_FIRES``. A ``ScheduleError`` is part of the answer and never raised.

    Raises:
        ValueError: ``after`` is naive.
    """
    try:
        schedule = parse(syntax, value, timezone, anchor=anchor, now=after)
    except ScheduleError as error:
        return Validation(valid=False, humanized=None, next_occurrences=(), error=error)
    humanized = schedule.describe()
    upcoming = schedule.next_after(after)
    if upcoming is None:
        return Validation(valid=False, humanized=humanized, next_occurrences=(), error=_over(schedule, after))
    found: list[datetime] = []
    while upcoming is not None and len(found) < count:
        found.append(upcoming)
        upcoming = schedule.next_after(upcoming)
    return Validation(valid=True, humanized=humanized, next_occurrences=tuple(found), error=None)


def _over(schedule: Schedule, after: datetime) -> ScheduleError:
    """Return the error for a schedule whose last occurrence is past."""
    value, latest = schedule.value, time_text(after)
    if schedule.syntax is not Syntax.TIMESTAMP:
        problem = f"value: '{value}' has no occurrence after {latest}"
        return ScheduleError(problem, code=NEVER_FIRES, field="value", position=0)
    error = ScheduleError(
        f"value: '{value}' is in the past; a one-time schedule must be later than {latest}",
        code=NEVER_FIRES,
        field="value",
        position=0,
        suggestion=f"{value.strip()}000" if looks_like_seconds(value) else None,
        advice="; for seconds since 1970 append three zeros: {}",
    )
    return proven(error, value, lambda text: _still_ahead(text, after))


def _still_ahead(value: str, after: datetime) -> None:
    if parse_timestamp(value, "UTC").next_after(after) is None:
        raise ScheduleError("value: is in the past", code=NEVER_FIRES, field="value", position=0)


ROUNDS: Final = 6
"""So many faults of one value are corrected at most, which bounds the work."""


def proven(error: ScheduleError, value: str, attempt: Callable[[str], object]) -> ScheduleError:
    """Return the error with ``corrected`` filled in, without its suggestion if that is no better than the wrong value.

    Where the suggestion is for the value as a whole, the suggestion becomes the corrected value, and all else that is
    wrong in it is corrected too. ``attempt`` parses a value and raises ScheduleError.
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
    """Return the value with the suggestion in place; None if there is none, or it is for the separate zone."""
    if error.suggestion is None or (error.field == "timezone" and error.replaces is None):
        return None
    begin, end = error.replaces or (0, len(value))
    return f"{value[:begin]}{error.suggestion}{value[end:]}"


def _wholly(value: str, attempt: Callable[[str], object]) -> str | None:
    """Return the value with each further fault corrected as its own refusal suggests; None if that leads nowhere."""
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
    """Return whether nothing is wrong with the corrected value in the place of the correction."""
    begin = error.position or 0
    try:
        attempt(fixed)
    except ScheduleError as following:
        return following.position is None or not begin <= following.position < begin + len(error.suggestion or "")
    return True
