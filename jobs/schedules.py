"""Short ways to write a schedule for ``@job(schedule=…)`` and for tests, one for each syntax."""

from datetime import UTC, datetime, timedelta

from .core.base.times import time_faults
from .core.model import ScheduleSpec
from .core.schedule import Syntax


def every(interval: str | float | timedelta) -> ScheduleSpec:
    """Return a grid without drift: ``every("15m")``, ``every("PT1H30M")``, ``every(90)`` seconds, or a ``timedelta``.

    At least one second.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(interval, bool) or not isinstance(interval, str | int | float | timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"every: must be seconds, a timedelta or a text such as '15m', got {interval!r:.60}")
    if isinstance(interval, timedelta):
        interval = interval.total_seconds()
    if isinstance(interval, float):
        interval = f"{interval:f}".rstrip("0").rstrip(".")
    return ScheduleSpec(Syntax.INTERVAL, str(interval))


def cron(value: str, *, timezone: str = "UTC") -> ScheduleSpec:
    """Six fields: second minute hour day-of-month month day-of-week, e.g. ``cron("0 30 2 * * MON-FRI")``.

    ``timezone`` is an IANA name, UTC unless given.

    Raises:
        TypeError: one of the two is no text.
    """
    _check_texts("cron", value, "0 30 2 * * MON-FRI", timezone)
    return ScheduleSpec(Syntax.CRON, value, timezone)


def calendar(value: str, *, timezone: str = "UTC") -> ScheduleSpec:
    """Return a systemd calendar event, e.g. ``calendar("Mon..Fri 02:30", timezone="Europe/Berlin")``; UTC unless given.

    Raises:
        TypeError: one of the two is no text.
    """
    _check_texts("calendar", value, "Mon..Fri 02:30", timezone)
    return ScheduleSpec(Syntax.CALENDAR, value, timezone)


def once(at: str | datetime) -> ScheduleSpec:
    """Return a schedule of one time: ``once("2027-01-01T00:00Z")``, or a ``datetime`` with a time zone.

    Raises:
        ValueError: the time has no time zone, or is before 1970 or after 9998.
        TypeError: it is no time.
    """
    if not isinstance(at, str | datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"once: must be a datetime or a text such as '2027-01-01T00:00Z', got {at!r:.60}")
    try:
        time = at if isinstance(at, datetime) else datetime.fromisoformat(at)
    except ValueError:
        return ScheduleSpec(Syntax.TIMESTAMP, str(at))  # the syntax has further forms, and says what is wrong
    for fault in time_faults(time, "once"):
        raise ValueError(fault.message)
    return ScheduleSpec(Syntax.TIMESTAMP, time.astimezone(UTC).isoformat().replace("+00:00", "Z"))


def _check_texts(called: str, value: object, example: str, timezone: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{called}: must be a text such as '{example}', got {value!r:.60}")
    if not isinstance(timezone, str):
        raise TypeError(f"{called}: timezone must be an IANA name such as 'Europe/Berlin', got {timezone!r:.60}")
