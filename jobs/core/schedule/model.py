"""Define the parts of every schedule in any syntax: words, protocol, error, and the answer to a validation."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from ..base.errors import ErrorCode

MAX_VALUE_LENGTH: Final = 256
"""Longest schedule text that is looked at, in characters. It bounds the work of parsing any input."""

INVALID_SCHEDULE: Final = ErrorCode.INVALID_SCHEDULE
"""Error code: the text does not follow its syntax."""
NEVER_FIRES: Final = ErrorCode.NEVER_FIRES
"""Error code: the text is well formed, but no occurrence is ahead."""
UNKNOWN_TIMEZONE: Final = ErrorCode.UNKNOWN_TIMEZONE
"""Error code: the zone is not in the IANA database."""


class Syntax(StrEnum):
    """Name the syntax of a schedule. The values are those of the tables and of ``tasks.yaml``."""

    CRON = "cron"
    CALENDAR = "calendar"
    INTERVAL = "interval"
    TIMESTAMP = "timestamp"

    @property
    def is_anchored(self) -> bool:
        """Return whether occurrences are counted from a moment of the task, as an interval's are."""
        return self is Syntax.INTERVAL


ANCHORED: Final = tuple(syntax for syntax in Syntax if syntax.is_anchored)
"""The syntaxes whose tasks have an anchor, a tolerance, and a queue instead of skips."""


class ScheduleError(ValueError):
    """A schedule that cannot be used, and why.

    ``code`` is one of ``INVALID_SCHEDULE``, ``NEVER_FIRES`` and ``UNKNOWN_TIMEZONE``. ``field`` names the faulty part
    (``second``, ``minute``, ``hour``, ``day``, ``month``, ``year``, ``weekday``, ``value`` or ``timezone``), or is
    None. ``position`` is the 0-based offset of the faulty part in the value, or None when the fault has no place (an
    unknown zone, say).

    ``suggestion`` is the replacement for the faulty part, or of the whole value when ``field`` is ``value``; None
    when nothing better is known. ``replaces`` is the part of the value in whose place it belongs, from and to; None =
    the whole. ``corrected`` is the whole value with the suggestion in place; None without a suggestion, and where it is
    meant for the separate zone. ``parse`` sees to it that both are valid.

    ``message`` states the fault in one sentence: ``problem``, and ``advice`` with the suggestion in place of its
    ``{}`` if there is one.
    """

    def __init__(
        self,
        problem: str,
        *,
        code: ErrorCode = INVALID_SCHEDULE,
        field: str | None = None,
        position: int | None = None,
        suggestion: str | None = None,
        replaces: tuple[int, int] | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.code = code
        self.field = field
        self.position = position
        self.suggestion = suggestion
        self.replaces = replaces
        self.advice = advice
        self.corrected: str | None = None

    @property
    def message(self) -> str:
        """Return the fault in one sentence, with a suggestion where one is known."""
        return self.problem if self.suggestion is None else self.problem + self.advice.replace("{}", self.suggestion)

    def __str__(self) -> str:
        return self.message


@runtime_checkable
class Schedule(Protocol):
    """A parsed schedule. Immutable, hashable by identity of its text, safe to share between threads."""

    @property
    def syntax(self) -> Syntax:
        """The syntax the text is written in."""
        ...

    @property
    def value(self) -> str:
        """The text as it was given."""
        ...

    @property
    def timezone(self) -> str:
        """The zone as it was given (``UTC`` unless given). A CALENDAR text can carry its own zone instead."""
        ...

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first occurrence strictly later than ``instant``, None if none is left; aware, in UTC.

        Raises:
            ValueError: ``instant`` is naive.
        """
        ...

    def describe(self) -> str:
        """Return one English sentence saying when it fires, the zone named unless it is UTC."""
        ...


@dataclass(frozen=True, slots=True)
class Validation:
    """The answer to the question whether a schedule is usable and when it fires next.

    Exactly one of two shapes: ``valid`` with ``humanized``, ``next_occurrences`` and no ``error``; or not valid with an
    ``error``, no occurrences, and ``humanized`` only when the text was understood but has no occurrence left.
    """

    valid: bool
    humanized: str | None
    next_occurrences: tuple[datetime, ...]
    error: ScheduleError | None
