"""One door to the four syntaxes: `parse` for schedules that are kept, `validate` for what somebody is typing."""

from datetime import datetime

from .cron import parse_cron
from .model import MAX_VALUE_LENGTH, NEVER_FIRES, Schedule, ScheduleError, Syntax, Validation


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
    return parse_cron(value, timezone)


def validate(
    syntax: Syntax, value: str, timezone: str, *, count: int, after: datetime, anchor: datetime | None = None
) -> Validation:
    """Whether the schedule is usable, its description, and its next `count` occurrences strictly after `after` (aware).

    An INTERVAL without an `anchor` is previewed with `after` as its anchor. A schedule without any occurrence after
    `after` is invalid with code `NEVER_FIRES`. Never raises ScheduleError: the error is part of the answer.
    """
    try:
        schedule = parse(syntax, value, timezone, anchor=anchor, now=after)
    except ScheduleError as error:
        return Validation(valid=False, humanized=None, next_occurrences=(), error=error)
    found: list[datetime] = []
    upcoming = schedule.next_after(after)
    if upcoming is None:
        error = ScheduleError(f"value: '{value}' has no occurrence left", code=NEVER_FIRES, field="value", position=0)
        return Validation(valid=False, humanized=schedule.describe(), next_occurrences=(), error=error)
    while upcoming is not None and len(found) < count:
        found.append(upcoming)
        upcoming = schedule.next_after(upcoming)
    return Validation(valid=True, humanized=schedule.describe(), next_occurrences=tuple(found), error=None)
