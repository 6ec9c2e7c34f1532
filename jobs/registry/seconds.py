"""Durations as an author writes them: seconds, a ``timedelta``, or words such as ``5m``."""

from datetime import timedelta
from typing import TypeAlias

from ..core.base.errors import InvalidInput
from ..core.schedule import ScheduleError, parse_duration

Seconds: TypeAlias = float | timedelta | str
"""A duration: seconds, a ``timedelta``, or a text such as ``"5m"``, ``"1h30m"`` or ``"PT5M"`` (ISO 8601)."""


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
