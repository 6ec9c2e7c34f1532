"""How important a log line is, and how many of them are kept."""

from enum import StrEnum
from typing import Final

KEPT_LINES: Final = 10_000
"""How many log lines of one execution are kept; of more, the newest."""


class LogLevel(StrEnum):
    """The levels of ``logging``; a line of a level between two counts as the lower one."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"
