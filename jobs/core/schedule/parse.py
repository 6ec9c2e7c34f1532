"""One door to the four syntaxes: `parse` for schedules that are kept, `validate` for what somebody is typing."""

from datetime import datetime

from .calendar import parse_calendar
from .cron import parse_cron
from .interval import parse_interval
from .model import MAX_VALUE_LENGTH, NEVER_FIRES, Schedule, ScheduleError, Syntax, Validation
from .timestamp import looks_like_seconds, parse_timestamp


def parse(
    syntax: Syntax, value: str, timezone: str = "UTC", *, anchor: datetime | None = None, now: datetime | None = None
) -> Schedule:
    """Parses a schedule. `anchor` (aware) is the origin of an INTERVAL's grid, `now` its stand-in; others ignore both.

    Raises ScheduleError, and nothing else, for any text; ValueError when an INTERVAL has neither `anchor` nor `now`,
    which is a programming error.
    """
    if len(value) > MAX_VALUE_LENGTH:
        raise ScheduleError(
            f"value: has {len(value)} characters; it can have {MAX_VALUE_LENGTH} at most",
            field="value",
            position=MAX_VALUE_LENGTH,
        )
    match syntax:
        case Syntax.CRON:
            return parse_cron(value, timezone)
        case Syntax.CALENDAR:
            return parse_calendar(value, timezone)
        case Syntax.TIMESTAMP:
            return parse_timestamp(value, timezone)
        case Syntax.INTERVAL:
            origin = anchor or now
            if origin is None:
                raise ValueError("anchor: an INTERVAL needs an anchor, or `now` in its place; got neither")
            return parse_interval(value, timezone, origin)


def validate(
    syntax: Syntax, value: str, timezone: str, *, count: int, after: datetime, anchor: datetime | None = None
) -> Validation:
    """Whether the schedule is usable, its description, and its next `count` occurrences strictly after `after` (aware).

    An INTERVAL without an `anchor` is previewed with `after` as its anchor. A schedule without any occurrence after
    `after` is invalid with code `NEVER_FIRES`. Never raises ScheduleError: the error is part of the answer. Raises
    ValueError when `after` is naive.
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
    """The error for a schedule whose last occurrence is past."""
    value = schedule.value
    message, suggestion = f"value: '{value}' has no occurrence after {after:%Y-%m-%d %H:%M:%S %Z}", None
    if schedule.syntax is Syntax.TIMESTAMP:
        message = (
            f"value: '{value}' is in the past; a one-time schedule must be later than {after:%Y-%m-%d %H:%M:%S %Z}"
        )
        if looks_like_seconds(value):
            suggestion = f"{value.strip()}000"
            message += f"; for seconds since 1970 append three zeros: {suggestion}"
    return ScheduleError(message, code=NEVER_FIRES, field="value", position=0, suggestion=suggestion)
