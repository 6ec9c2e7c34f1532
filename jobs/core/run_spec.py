"""A run to be, as its caller describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from .admission.holding import Hold, OnConflict
from .base.errors import InvalidInput
from .base.resources import Resources
from .model import Json, Priority
from .rules import MAX_SECONDS
from .schedule import ScheduleError, parse_duration

Seconds: TypeAlias = float | timedelta | str
"""A duration: seconds, a ``timedelta``, or a text such as ``"5m"``, ``"1h30m"`` or ``"PT5M"`` (ISO 8601)."""
DURATIONS: Final = frozenset({"retry_delay", "timeout", "max_duration", "ttl"})
"""Settings of a run that are durations."""
DURATIONS_OF_TASKS: Final = DURATIONS | {"misfire_grace", "tolerance", "jitter"}
"""Settings of tasks that are durations."""


def seconds_of(name: str, value: object) -> object:
    """Return a duration as a number of seconds; an invalid duration stays as it is, for others to refuse.

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
    """Return a duration of at most ten years in seconds.

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


NO_KEY: Final = ""
"""A unique key that says: none, even if the job declares one."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run to be; the fields are the arguments of ``enqueue``.

    Attributes:
        retry_delay, timeout, max_duration, ttl: Seconds, a ``timedelta``, or a text such as ``"5m"``.
        unique_key: None: as the job declares; ``NO_KEY``: none.
        on_conflict: ``"keep"`` (None), ``"replace"`` or ``"raise"``: see ``OnConflict``.
        resources: Those at its engine over those of its job.
        parent_labels: Those of the run that makes it.
        settled: Whether the job's own code has derived the settings that follow from the arguments: the labels.
        signature: Of the version of the job that accepted the arguments; None: no code of it has.
    """

    job_name: str
    args: Mapping[str, Json] | None = None
    group: str | None = None
    priority: Priority | str | None = None
    run_at: datetime | None = None
    unique_key: str | None = None
    retries: int | None = None
    retry_delay: Seconds | None = None
    timeout: Seconds | None = None
    carried: Mapping[str, Json] | None = None
    labels: Mapping[str, str] | None = None
    parent_labels: Mapping[str, str] | None = None
    expires_at: datetime | None = None
    ttl: Seconds | None = None
    hold: Hold | None = None
    max_duration: Seconds | None = None
    on_conflict: OnConflict | str | None = None
    resources: Resources | None = None
    settled: bool = field(default=False, compare=False)
    signature: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class RunTarget:
    """Names one run, by its id or as the unfinished run with a unique key.

    Attributes:
        run_id: The id; None = the key names it.
        unique_key: The key; None = the id names it.
        job_name: The job that the run must be of; None = any.
    """

    run_id: int | None = None
    unique_key: str | None = None
    job_name: str | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the run, as far as it is unfinished."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class Reschedule:
    """Give the run, which waits, another time; a time with a zone."""

    run_at: datetime


@dataclass(frozen=True, slots=True)
class ReplaceArgs:
    """Give the run, which has not begun, other arguments instead of all that it has."""

    args: Mapping[str, Json]
