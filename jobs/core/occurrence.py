"""The nominal times of a task inside its window from ``startAt`` to ``endAt``."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from .model import Task, TaskSpec
from .policies import jitter_offset, schedule_of
from .schedule import Schedule

_TICK = timedelta(microseconds=1)


def first_occurrence(spec: TaskSpec, schedule: Schedule, now: datetime) -> datetime | None:
    """The first nominal time strictly after ``now`` inside the window; ``startAt`` itself may be one."""
    reference = now
    if spec.start_at is not None and spec.start_at > now:
        reference = spec.start_at - _TICK
    return following(spec, schedule, reference)


def following(spec: TaskSpec, schedule: Schedule, occurrence: datetime) -> datetime | None:
    """The nominal time after ``occurrence``, or None once ``endAt`` (inclusive) is passed or nothing is left."""
    found = schedule.next_after(occurrence)
    if found is None or (spec.end_at is not None and found > spec.end_at):
        return None
    return found


def planned(task: Task, start: datetime, end: datetime, limit: int) -> list[datetime]:
    """Up to ``limit`` nominal times with ``start <= time < end`` that the task still has before it."""
    if task.next_occurrence_at is None:
        return []
    schedule = schedule_of(task.spec.schedule, task.anchor_at)
    return list(islice(_between(task, schedule, start, end), limit))


def _between(task: Task, schedule: Schedule, start: datetime, end: datetime) -> Iterator[datetime]:
    occurrence = task.next_occurrence_at
    if occurrence is not None and occurrence < start:
        occurrence = following(task.spec, schedule, start - _TICK)
    while occurrence is not None and occurrence < end:
        yield occurrence
        occurrence = following(task.spec, schedule, occurrence)


def is_stalled(task: Task, now: datetime) -> bool:
    """Whether the task should have started and did not: enabled, and a due time and the grace passed without a start.

    The first due time since the last start counts, so a task that is due more often than its grace is long is found
    as well. Due times before the last edit are judged no more: they belonged to another schedule.
    """
    due, started = task.last_due_at, task.last_started_at
    if task.paused or due is None or (started is not None and started >= due):
        return False
    since = task.updated_at if started is None else max(started, task.updated_at)
    schedule = schedule_of(task.spec.schedule, task.anchor_at)
    first = effective(task.id, task.spec.jitter, first_occurrence(task.spec, schedule, since))
    unmet = due if first is None or since >= due else min(first, due)
    return (now - unmet).total_seconds() > task.spec.misfire_grace


def effective(task_id: int, jitter: float, occurrence: datetime | None) -> datetime | None:
    """When the task is looked at for ``occurrence``: the nominal time plus the task's fixed jitter."""
    return None if occurrence is None else occurrence + jitter_offset(task_id, jitter)
