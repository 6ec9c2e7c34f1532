"""Schedules: parsing, next times and descriptions of the four syntaxes."""

from .interval import IntervalSchedule, TimestampSchedule, parse_duration
from .model import (
    ANCHORED,
    INVALID_SCHEDULE,
    MAX_VALUE_LENGTH,
    NEVER_FIRES,
    UNKNOWN_TIMEZONE,
    Schedule,
    ScheduleError,
    Syntax,
    Validation,
)
from .parse import parse, validate
from .zones import WallClockSchedule

__all__ = [
    "ANCHORED",
    "INVALID_SCHEDULE",
    "MAX_VALUE_LENGTH",
    "NEVER_FIRES",
    "UNKNOWN_TIMEZONE",
    "IntervalSchedule",
    "Schedule",
    "ScheduleError",
    "Syntax",
    "TimestampSchedule",
    "Validation",
    "WallClockSchedule",
    "parse",
    "parse_duration",
    "validate",
]
