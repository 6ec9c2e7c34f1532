"""The policy values that hold for a task once the product's defaults are filled in."""

import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ..model import MAX_QUEUED_PER_TASK, OverlapPolicy, ScheduleSpec, TaskSpec
from ..schedule import IntervalSchedule, Schedule, ScheduleError, parse
from .due import DueTask

DEFAULT_TOLERANCE = 5.0
"""Seconds by which an INTERVAL task's run may start early; never more than a tenth of the interval."""


_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # the length of an interval does not depend on where its grid begins


@lru_cache(maxsize=4096)
def _parsed(spec: ScheduleSpec, anchor: datetime | None) -> Schedule:
    return parse(spec.syntax, spec.value, spec.timezone, anchor=anchor)


def schedule_of(spec: ScheduleSpec, anchor: datetime) -> Schedule:
    """The parsed schedule; cached, because the same task is looked at whenever it is due.

    Args:
        spec: A schedule that was valid when it was stored.
        anchor: Where the grid of an INTERVAL begins; other syntaxes do not use it.
    """
    return _parsed(spec, anchor if spec.syntax.is_anchored else None)


def next_after(spec: ScheduleSpec, anchor: datetime, end_at: datetime | None, occurrence: datetime) -> datetime | None:
    """The nominal time after ``occurrence``, or None once ``end_at`` (inclusive) is passed or nothing is left.

    Cached: most tasks that are due at one moment share their schedule with others.
    """
    return unless_ended(end_at, _next(spec, anchor if spec.syntax.is_anchored else None, occurrence))


def unless_ended(end_at: datetime | None, found: datetime | None) -> datetime | None:
    """A nominal time, or None once ``end_at`` (inclusive) is passed."""
    return None if found is None or (end_at is not None and found > end_at) else found


@lru_cache(maxsize=1024)
def _next(spec: ScheduleSpec, anchor: datetime | None, occurrence: datetime) -> datetime | None:
    return _parsed(spec, anchor).next_after(occurrence)


def interval_of(spec: ScheduleSpec) -> float | None:
    """The interval in seconds, or None for the other syntaxes and for what is no interval."""
    if not spec.syntax.is_anchored:
        return None
    try:
        schedule = schedule_of(spec, _ANY_TIME)
    except ScheduleError:
        # Somebody changed the row by hand; the dispatcher pauses such a task, and says why.
        return None
    return schedule.seconds if isinstance(schedule, IntervalSchedule) else None


def effective_overlap(spec: TaskSpec | DueTask) -> OverlapPolicy:
    """The overlap policy: SKIP unless set, QUEUE for an INTERVAL."""
    if spec.overlap is not None:
        return spec.overlap
    return OverlapPolicy.QUEUE if spec.schedule.syntax.is_anchored else OverlapPolicy.SKIP


def effective_tolerance(spec: TaskSpec) -> float | None:
    """Seconds of tolerance of an INTERVAL task (5 s unless set, at most a tenth of the interval); None for others."""
    interval = interval_of(spec.schedule)
    if interval is None:
        return None
    return spec.tolerance if spec.tolerance is not None else min(DEFAULT_TOLERANCE, interval / 10)


def effective_timeout(spec: TaskSpec | DueTask) -> float | None:
    """The time box per attempt in seconds: as set, else half the interval of an INTERVAL task, else None."""
    if spec.timeout is not None:
        return spec.timeout
    interval = interval_of(spec.schedule)
    return None if interval is None else interval / 2


def earliest_start(spec: TaskSpec, last_started_at: datetime | None) -> datetime | None:
    """Before this time a run made by the schedule of an INTERVAL task is dropped: last start + interval − tolerance."""
    interval, tolerance = interval_of(spec.schedule), effective_tolerance(spec)
    if interval is None or tolerance is None or last_started_at is None:
        return None
    return last_started_at + timedelta(seconds=interval - tolerance)


def jitter_offset(task_id: int, jitter: float) -> timedelta:
    """The task's fixed delay between 0 and ``jitter`` seconds, derived from its id (so order and distances stay)."""
    if jitter <= 0:
        return timedelta(0)
    digest = hashlib.sha256(f"jitter:{task_id}".encode()).digest()
    return timedelta(seconds=jitter * int.from_bytes(digest[:6], "big") / 2**48)


_LIMITS = {**dict.fromkeys(OverlapPolicy), OverlapPolicy.SKIP: 1, OverlapPolicy.QUEUE: MAX_QUEUED_PER_TASK}


def overlap_limit(policy: OverlapPolicy) -> int | None:
    """How many unfinished runs stop a further one: 1 for SKIP, ten for QUEUE, None where nothing does."""
    return _LIMITS[policy]
