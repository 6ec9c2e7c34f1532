"""Planned occurrences of many tasks in one order, computed as far as they are asked for."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...jobs.core.model import Task
from ...jobs.core.occurrences import following, jitter_offset, occurrences, schedule_of
from ...jobs.core.schedule import Schedule, ScheduleError


@dataclass(frozen=True, slots=True, order=True)
class Planned:
    """One planned occurrence. Ordered by the effective time (nominal and jitter), then by the task's key."""

    effective_at: datetime
    task_id: int
    scheduled_for: datetime


def planned(tasks: Iterable[Task], start: datetime, end: datetime, apart: timedelta | None = None) -> Iterator[Planned]:
    """The occurrences with ``start <= effective time < end``, earliest first. Each is computed when it is taken.

    With ``apart`` those of a task that follow another one sooner are left out, and not computed either.
    """
    ahead = [_occurrences(task, start, end, apart) for task in tasks]
    return heapq.merge(*ahead)


def _occurrences(task: Task, start: datetime, end: datetime, apart: timedelta | None) -> Iterator[Planned]:
    offset = jitter_offset(task.id, task.spec.jitter)
    try:
        schedule = schedule_of(task.spec.schedule, task.anchor_at)
    except ScheduleError:
        # A zone can vanish from the system's database after the schedule was stored: nothing is planned then.
        return
    first = task.next_nominal
    if first is not None and first + offset < start:
        first = following(task.spec, schedule, start - offset - _TICK)
    ahead = occurrences(task.spec, schedule, first) if apart is None else _thinned(task, schedule, first, apart)
    for occurrence in ahead:
        if occurrence + offset >= end:
            return
        yield Planned(occurrence + offset, task.id, occurrence)


def _thinned(task: Task, schedule: Schedule, first: datetime | None, apart: timedelta) -> Iterator[datetime]:
    """Nominal times from ``first`` on, each at least ``apart`` after the one before."""
    occurrence = first
    while occurrence is not None:
        yield occurrence
        occurrence = following(task.spec, schedule, occurrence + apart - _TICK)


_TICK = timedelta(microseconds=1)
