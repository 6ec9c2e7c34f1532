"""Schedules: parsing, next times and descriptions of the four syntaxes."""

from .model import (
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

__all__ = [
    "INVALID_SCHEDULE",
    "MAX_VALUE_LENGTH",
    "NEVER_FIRES",
    "UNKNOWN_TIMEZONE",
    "Schedule",
    "ScheduleError",
    "Syntax",
    "Validation",
    "parse",
    "validate",
]
