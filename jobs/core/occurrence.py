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


def effective(task_id: int, jitter: float, occurrence: datetime | None) -> datetime | None:
    """When the task is looked at for ``occurrence``: the nominal time plus the task's fixed jitter."""
    return None if occurrence is None else occurrence + jitter_offset(task_id, jitter)
