"""Durations as an author writes them: seconds, a ``timedelta``, or words such as ``5m``."""

from datetime import timedelta
from typing import Final, TypeAlias

from .base.errors import InvalidInput
from .rules import MAX_SECONDS
from .schedule import ScheduleError, parse_duration

Seconds: TypeAlias = float | timedelta | str
"""A duration: seconds, a ``timedelta``, or a text such as ``"5m"``, ``"1h30m"`` or ``"PT5M"`` (ISO 8601)."""
DURATIONS: Final = frozenset({"retry_delay", "timeout", "max_duration", "ttl"})
"""Settings of a run that are durations."""
DURATIONS_OF_TASKS: Final = DURATIONS | {"misfire_grace", "tolerance", "jitter"}
"""Those of a task."""


def seconds_of(name: str, value: object) -> object:
    """A duration as a number of seconds; what is no duration stays as it is, for others to refuse.

    Raises:
        InvalidInput: it is a text that says no duration.
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ScheduleError as error:
            raise InvalidInput(
                f"{name}: must be seconds, a timedelta or a text such as '90s', '5m' or 'PT5M', got {value!r:.60}",
                path=(name,),
            ) from error
    return value


def length(name: str, value: Seconds, field: str | None = None) -> float:
    """A duration of at most ten years in seconds.

    Raises:
        InvalidInput: it is none.
    """
    given = seconds_of(name, value)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= MAX_SECONDS:
        raise InvalidInput(
            f"{name}: must be from 0 seconds to ten years: a number, a timedelta or a text such as '5m', "
            f"got {value!r:.60}",
            path=(field or name,),
        )
    return float(given)
