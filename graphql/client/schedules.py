"""Short ways to write a schedule, one for each syntax."""

from datetime import UTC, datetime, timedelta

from .enums import ScheduleSyntax
from .inputs import ScheduleInput


def cron(value: str, timezone: str = "UTC") -> ScheduleInput:
    """Six fields: second minute hour day-of-month month day-of-week, e.g. ``0 30 9 * * MON-FRI``."""
    return ScheduleInput(ScheduleSyntax.CRON, value, timezone)


def calendar(value: str, timezone: str = "UTC") -> ScheduleInput:
    """A systemd calendar event, e.g. ``Mon..Fri *-*-* 09:30``."""
    return ScheduleInput(ScheduleSyntax.CALENDAR, value, timezone)


def interval(value: str | float | timedelta) -> ScheduleInput:
    """A fixed grid: seconds, a ``timedelta``, ``1h30m`` or ISO 8601 ``PT1H30M``; at least one second."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    text = seconds if isinstance(seconds, str) else f"{seconds:f}".rstrip("0").rstrip(".")
    return ScheduleInput(ScheduleSyntax.INTERVAL, text)


def once(at: datetime) -> ScheduleInput:
    """One time.

    Raises:
        ValueError: ``at`` has no zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"at: must have a zone, got {at.isoformat()} without one; try datetime.now(UTC)")
    return ScheduleInput(ScheduleSyntax.TIMESTAMP, at.astimezone(UTC).isoformat().replace("+00:00", "Z"))
