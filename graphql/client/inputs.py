"""What is sent: schedules, runs, and the settings of a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict

from .enums import MisfirePolicy, OverlapPolicy, Priority, ScheduleSyntax


@dataclass(frozen=True, slots=True)
class ScheduleInput:
    """When a task is due; try it with ``validate_schedule``.

    Attributes:
        syntax: how ``value`` is written.
        value: the expression.
        timezone: an IANA name.
    """

    syntax: ScheduleSyntax
    value: str
    timezone: str = "UTC"


def cron(value: str, timezone: str = "UTC") -> ScheduleInput:
    """Six fields: second minute hour day-of-month month day-of-week, e.g. ``0 30 9 * * MON-FRI``."""
    return ScheduleInput(ScheduleSyntax.CRON, value, timezone)


def calendar(value: str, timezone: str = "UTC") -> ScheduleInput:
    """A systemd calendar event, e.g. ``Mon..Fri *-*-* 09:30``."""
    return ScheduleInput(ScheduleSyntax.CALENDAR, value, timezone)


def interval(value: str | float) -> ScheduleInput:
    """A fixed grid: seconds, ``1h30m`` or ISO 8601 ``PT1H30M``; at least one second."""
    return ScheduleInput(ScheduleSyntax.INTERVAL, value if isinstance(value, str) else f"{value:g}")


def once(at: datetime) -> ScheduleInput:
    """One time.

    Raises:
        ValueError: ``at`` has no zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"at: must have a zone, got {at.isoformat()} without one; try datetime.now(UTC)")
    return ScheduleInput(ScheduleSyntax.TIMESTAMP, at.astimezone(UTC).isoformat().replace("+00:00", "Z"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to be put into the queue; None = the server's default.

    Attributes:
        job_name: the job.
        args: its arguments.
        group: its group.
        priority: its priority.
        run_at: it does not start before this time.
        unique_key: while a run with this key is unfinished, that one is answered instead.
        retries: how many failures it survives.
        retry_delay: seconds before the first retry, doubled each time.
        timeout: the time box of an attempt in seconds.
        description: what it is for.
    """

    job_name: str
    args: Mapping[str, Any] | None = None
    group: str | None = None
    priority: Priority | None = None
    run_at: datetime | None = None
    unique_key: str | None = None
    retries: int | None = None
    retry_delay: float | None = None
    timeout: float | None = None
    description: str | None = None


class TaskSettings(TypedDict, total=False):
    """What can be set on a task: what is absent is left alone, None sets the default. Durations are seconds."""

    description: str | None
    args: Mapping[str, Any] | None
    enabled: bool | None
    group: str | None
    priority: Priority | None
    owner: str | None
    overlap: OverlapPolicy | None
    misfire: MisfirePolicy | None
    misfire_grace: float | None
    catch_up_limit: int | None
    tolerance: float | None
    timeout: float | None
    retries: int | None
    retry_delay: float | None
    jitter: float | None
    start_at: datetime | None
    end_at: datetime | None


class TaskChanges(TaskSettings, total=False):
    """What can be changed on a task."""

    job_name: str
    schedule: ScheduleInput
