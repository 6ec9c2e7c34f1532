"""The nominal times of a task inside its window from ``startAt`` to ``endAt``."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from ..model import Task, TaskSpec
from ..schedule import Schedule, ScheduleError
from .effective_policies import jitter_offset, schedule_of, unless_ended

_TICK = timedelta(microseconds=1)


def first_occurrence(spec: TaskSpec, schedule: Schedule, now: datetime) -> datetime | None:
    """The first nominal time strictly after ``now`` inside the window; ``startAt`` itself may be one."""
    reference = now
    if spec.start_at is not None and spec.start_at > now:
        reference = spec.start_at - _TICK
    return following(spec, schedule, reference)


def following(spec: TaskSpec, schedule: Schedule, occurrence: datetime) -> datetime | None:
    """The nominal time after ``occurrence``, or None once ``endAt`` (inclusive) is passed or nothing is left."""
    return unless_ended(spec.end_at, schedule.next_after(occurrence))


def occurrences(spec: TaskSpec, schedule: Schedule, first: datetime | None) -> Iterator[datetime]:
    """``first`` and every nominal time after it inside the window, each computed when it is taken; none for None."""
    occurrence = first
    while occurrence is not None:
        yield occurrence
        occurrence = following(spec, schedule, occurrence)


def is_stalled(task: Task, now: datetime, *, owed: bool) -> bool:
    """Whether the task should have started and did not: enabled, and a due time and the grace passed without a start.

    The first due time since the last start counts, so a task that is due more often than its grace is long is found
    as well. Due times before the last edit are judged no more: they belonged to another schedule.

    Args:
        task: The task as it is stored.
        now: The database's time.
        owed: Whether a start is still owed for what was due: a run of it waits, or no node knew its job. Nothing is
            owed for occurrences that were skipped by a policy, nor for runs that were cancelled: they are not late.
    """
    if not owed:
        return False
    due, started = task.last_due_at, task.last_started_at
    if task.paused or due is None or (started is not None and started >= due):
        return False
    since = task.updated_at if started is None else max(started, task.updated_at)
    try:
        schedule = schedule_of(task.spec.schedule, task.anchor_at)
    except ScheduleError:
        # A zone can vanish from the system's database after the schedule was stored.
        return (now - due).total_seconds() > task.spec.misfire_grace
    first = effective(task.id, task.spec.jitter, first_occurrence(task.spec, schedule, since))
    unmet = due if first is None or since >= due else min(first, due)
    return (now - unmet).total_seconds() > task.spec.misfire_grace


def effective(task_id: int, jitter: float, occurrence: datetime | None) -> datetime | None:
    """When the task is looked at for ``occurrence``: the nominal time plus the task's fixed jitter."""
    return None if occurrence is None else occurrence + jitter_offset(task_id, jitter)
