"""How important a log line is."""

from enum import StrEnum


class LogLevel(StrEnum):
    """The levels of ``logging``; a line of a level between two counts as the lower one."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"
