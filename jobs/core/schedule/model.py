"""What every schedule is, whatever its syntax: the words, the protocol, the error and the answer to a validation."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

MAX_VALUE_LENGTH: Final = 256
"""Longest schedule text that is looked at, in characters. It bounds the work of parsing any input."""

INVALID_SCHEDULE: Final = "INVALID_SCHEDULE"
"""Error code: the text does not follow its syntax."""
NEVER_FIRES: Final = "NEVER_FIRES"
"""Error code: the text is well formed, but no occurrence lies ahead."""
UNKNOWN_TIMEZONE: Final = "UNKNOWN_TIMEZONE"
"""Error code: the zone is not in the IANA database."""


class Syntax(StrEnum):
    """How a schedule is written. The values are those of the tables and of `tasks.yaml`."""

    CRON = "cron"
    CALENDAR = "calendar"
    INTERVAL = "interval"
    TIMESTAMP = "timestamp"


class ScheduleError(ValueError):
    """A schedule that cannot be used, and why.

    `code` is one of `INVALID_SCHEDULE`, `NEVER_FIRES` and `UNKNOWN_TIMEZONE`. `message` says what is wrong in one
    sentence. `field` names the faulty part (`second`, `minute`, `hour`, `day`, `month`, `year`, `weekday`, `value`
    or `timezone`), or is None. `position` is the 0-based offset of the faulty part in the value, or None when the
    fault has no place (an unknown zone, say). `suggestion` is what to write instead of the faulty part, or of the
    whole value when `field` is `value`; None when nothing better is known.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = INVALID_SCHEDULE,
        field: str | None = None,
        position: int | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field
        self.position = position
        self.suggestion = suggestion


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
        """The zone as it was given (`UTC` unless given). A CALENDAR text can carry its own zone instead."""
        ...

    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence strictly later than `instant`; aware, in UTC, to the microsecond. None if none is left.

        Raises ValueError when `instant` is naive, which is a programming error.
        """
        ...

    def describe(self) -> str:
        """One English sentence saying when it fires, the zone named unless it is UTC."""
        ...


@dataclass(frozen=True, slots=True)
class Validation:
    """The answer to the question whether a schedule is usable and when it fires next.

    Exactly one of two shapes: `valid` with `humanized`, `next_occurrences` and no `error`; or not valid with an
    `error`, no occurrences, and `humanized` only when the text was understood but has no occurrence left.
    """

    valid: bool
    humanized: str | None
    next_occurrences: tuple[datetime, ...]
    error: ScheduleError | None
