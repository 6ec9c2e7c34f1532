"""Occurrences of a task: when they are due, and which become runs when a node looks late."""

import hashlib
import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import Any, NamedTuple

from .admission.caps import Rate
from .base.times import LATEST
from .model import MAX_QUEUED_PER_TASK, MisfirePolicy, OverlapPolicy, ScheduleSpec, SkipReason, Task, TaskSpec
from .schedule import IntervalSchedule, Schedule, ScheduleError, WallClockSchedule, parse
from .schedule.wall import EVERY_MINUTE


class DueTask(NamedTuple):
    """``Task`` without the fields that only its runs need; thousands are read at one moment.

    Attributes:
        enabled: False = paused, by ``paused_by`` for ``pause_reason``, until ``resume_at`` or until it is resumed.
        next_nominal: The oldest occurrence that is not decided yet.
        last_due_at: The newest that is.
        rate: How many of its runs start in how long; None = as its job says.
    """

    id: int
    name: str
    job_name: str
    group: str
    schedule: ScheduleSpec
    anchor_at: datetime
    end_at: datetime | None
    jitter: float
    overlap: OverlapPolicy | None
    misfire: MisfirePolicy
    misfire_grace: float
    catch_up_limit: int
    timeout: float | None
    enabled: bool
    paused_by: str | None
    pause_reason: str | None
    resume_at: datetime | None
    next_nominal: datetime | None
    last_due_at: datetime | None
    rate: Rate | None = None

    @property
    def deciding(self) -> tuple[object, ...] | None:
        """Return the key by which tasks share a decision; None = the decision depends on the task's id."""
        if self.jitter > 0:
            return None
        anchor = self.anchor_at if self.schedule.syntax.is_anchored else None
        times = (anchor, self.end_at, self.next_nominal)
        policies = (self.overlap, self.misfire, self.misfire_grace, self.catch_up_limit)
        pause = (self.enabled, self.paused_by, self.pause_reason, self.resume_at)
        return (self.schedule, *times, *policies, self.job_name, *pause)


def due_of(task: Task) -> DueTask:
    """Return the dispatcher's part of a task that was read whole."""
    owner: dict[str, Any] = {name: task.spec if hasattr(task.spec, name) else task for name in DueTask._fields}
    return DueTask(**{name: getattr(of, name) for name, of in owner.items()})


DEFAULT_TOLERANCE = 5.0
"""Seconds by which an INTERVAL task's run may start early; never more than a tenth of the interval."""


_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # the length of an interval does not depend on where its grid begins


@lru_cache(maxsize=4096)
def _parsed(spec: ScheduleSpec, anchor: datetime | None) -> Schedule:
    return parse(spec.syntax, spec.value, spec.timezone, anchor=anchor)


def schedule_of(spec: ScheduleSpec, anchor: datetime) -> Schedule:
    """Return the parsed schedule; cached, because the same task is looked at whenever it is due.

    Args:
        spec: A schedule that was valid when it was stored.
        anchor: Where the grid of an INTERVAL begins; other syntaxes do not use it.
    """
    return _parsed(spec, anchor if spec.syntax.is_anchored else None)


def next_after(spec: ScheduleSpec, anchor: datetime, end_at: datetime | None, occurrence: datetime) -> datetime | None:
    """Return the nominal time after ``occurrence``, or None once ``end_at`` (inclusive) is passed or nothing is left.

    Cached: most tasks that are due at one moment share their schedule with others.
    """
    return unless_ended(end_at, _next(spec, anchor if spec.syntax.is_anchored else None, occurrence))


def unless_ended(end_at: datetime | None, found: datetime | None) -> datetime | None:
    """Return a nominal time, or None once ``end_at`` (inclusive) is passed."""
    return None if found is None or (end_at is not None and found > end_at) else found


@lru_cache(maxsize=1024)
def _next(spec: ScheduleSpec, anchor: datetime | None, occurrence: datetime) -> datetime | None:
    return _parsed(spec, anchor).next_after(occurrence)


def interval_of(spec: ScheduleSpec) -> float | None:
    """Return the interval in seconds, or None for the other syntaxes and for invalid intervals."""
    if not spec.syntax.is_anchored:
        return None
    try:
        schedule = schedule_of(spec, _ANY_TIME)
    except ScheduleError:
        # Somebody changed the row by hand; the dispatcher pauses such a task, and says why.
        return None
    return schedule.seconds if isinstance(schedule, IntervalSchedule) else None


def effective_overlap(spec: TaskSpec | DueTask) -> OverlapPolicy:
    """Return the overlap policy: SKIP unless set, QUEUE for an INTERVAL."""
    if spec.overlap is not None:
        return spec.overlap
    return OverlapPolicy.QUEUE if spec.schedule.syntax.is_anchored else OverlapPolicy.SKIP


def effective_tolerance(spec: TaskSpec) -> float | None:
    """Return an INTERVAL task's tolerance in seconds (default: 5, at most a tenth of the interval); None for others."""
    interval = interval_of(spec.schedule)
    if interval is None:
        return None
    return spec.tolerance if spec.tolerance is not None else min(DEFAULT_TOLERANCE, interval / 10)


def effective_timeout(spec: TaskSpec | DueTask) -> float | None:
    """Return the time box per attempt in seconds: as set, else half the interval of an INTERVAL task, else None."""
    if spec.timeout is not None:
        return spec.timeout
    interval = interval_of(spec.schedule)
    return None if interval is None else interval / 2


def earliest_start(spec: TaskSpec, last_started_at: datetime | None) -> datetime | None:
    """Return the time before which an INTERVAL task's scheduled run is dropped: last start + interval − tolerance."""
    interval, tolerance = interval_of(spec.schedule), effective_tolerance(spec)
    if interval is None or tolerance is None or last_started_at is None:
        return None
    return last_started_at + timedelta(seconds=interval - tolerance)


def jitter_offset(task_id: int, jitter: float) -> timedelta:
    """Return the task's fixed delay of 0 to ``jitter`` seconds, derived from its id (so order and distances stay)."""
    if jitter <= 0:
        return timedelta(0)
    digest = hashlib.sha256(f"jitter:{task_id}".encode()).digest()
    return timedelta(seconds=jitter * int.from_bytes(digest[:6], "big") / 2**48)


_LIMITS = {**dict.fromkeys(OverlapPolicy), OverlapPolicy.SKIP: 1, OverlapPolicy.QUEUE: MAX_QUEUED_PER_TASK}


def overlap_limit(policy: OverlapPolicy) -> int | None:
    """Return how many unfinished runs stop a further one: 1 for SKIP, ten for QUEUE, None where nothing does."""
    return _LIMITS[policy]


_TICK = timedelta(microseconds=1)


def first_occurrence(spec: TaskSpec, schedule: Schedule, now: datetime) -> datetime | None:
    """Return the first nominal time strictly after ``now`` inside the window; ``startAt`` itself may be one."""
    reference = now
    if spec.start_at is not None and spec.start_at > now:
        reference = spec.start_at - _TICK
    return following(spec, schedule, reference)


def following(spec: TaskSpec, schedule: Schedule, occurrence: datetime) -> datetime | None:
    """Return the nominal time after ``occurrence``, or None once ``endAt`` (inclusive) is passed or nothing is left."""
    return unless_ended(spec.end_at, schedule.next_after(occurrence))


def occurrences(spec: TaskSpec, schedule: Schedule, first: datetime | None) -> Iterator[datetime]:
    """Yield ``first`` and every nominal time after it inside the window, computed one by one; none for None."""
    occurrence = first
    while occurrence is not None:
        yield occurrence
        occurrence = following(spec, schedule, occurrence)


def is_stalled(task: Task, now: datetime, *, owed: bool) -> bool:
    """Return whether an enabled task's due time and its grace have passed without a start.

    The first due time since the last start counts, so a task that is due more often than its grace is long is found
    as well. Due times before the last edit are judged no more: they belonged to another schedule.

    Args:
        task: The task as it is stored.
        now: The database's time.
        owed: Whether a start is still owed for a due occurrence: a run of it waits, or no node knew its job. Nothing is
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
    """Return when the task is looked at for ``occurrence``: the nominal time plus the task's fixed jitter."""
    return None if occurrence is None else delayed(occurrence, jitter_offset(task_id, jitter))


def delayed(occurrence: datetime, offset: timedelta) -> datetime:
    """Return the nominal time plus the task's fixed jitter; no later than the last time that there is."""
    return occurrence + min(offset, LATEST - occurrence)


class KeyInForce(NamedTuple):
    """The unique key that the runs of a task have, and whether an unfinished run has it."""

    key: str
    taken: bool


class PlannedRun(NamedTuple):
    """An occurrence that becomes a run. ``replaced``: it is cancelled at once by a newer one (REPLACE)."""

    scheduled_for: datetime
    exclusive: bool
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """A stretch of occurrences that do not become runs, with the policy values that decided it."""

    reason: SkipReason
    first: datetime
    last: datetime
    count: int
    policy: dict[str, Any]


class Decision(NamedTuple):
    """Hold the values that one visit of a due task writes.

    Attributes:
        runs: New runs, oldest first.
        skips: Skipped stretches, oldest first, neighbours of equal reason folded.
        cancel_unfinished: REPLACE: older unfinished runs of the task are cancelled.
        next_nominal: The nominal time the task waits for next; None = finished.
        next_execution: The same with the task's jitter.
        last_due_at: The newest occurrence looked at in this visit.
        behind: More due occurrences are left; visit the task again at once.
    """

    runs: tuple[PlannedRun, ...]
    skips: tuple[Skip, ...]
    cancel_unfinished: bool
    next_nominal: datetime | None
    next_execution: datetime | None
    last_due_at: datetime | None
    behind: bool


@dataclass(slots=True)
class _Skips:
    """Collects skips and folds neighbours of equal reason and policy."""

    found: list[Skip] = field(default_factory=list[Skip])

    def add(self, reason: SkipReason, policy: dict[str, Any], occurrences: Sequence[datetime]) -> None:
        if not occurrences:
            return
        new = Skip(reason, occurrences[0], occurrences[-1], len(occurrences), policy)
        if self.found and self.found[-1].reason is reason and self.found[-1].policy == policy:
            old = self.found.pop()
            new = Skip(reason, old.first, new.last, old.count + new.count, policy)
        self.found.append(new)


def decide(
    task: DueTask,
    now: datetime,
    *,
    unfinished: int,
    job_known: bool,
    limit: int = 1000,
    key: KeyInForce | None = None,
) -> Decision:
    """Decide about the occurrences of ``task`` that are due at ``now``.

    A task whose oldest due occurrence is late by more than the grace has missed something: the policies LAST and ALL
    then choose among all that is due, so that the newest runs, and none is in the way of another. Under NONE an
    occurrence still within the grace runs, however long nobody visited the task.

    Args:
        task: The task as it is stored.
        now: The database's time.
        unfinished: How many runs of the task are unfinished.
        job_known: Whether any node has published the task's job.
        limit: At most about this many occurrences are looked at (raised to twice the catch-up limit).
        key: The unique key of the task's runs; None = they have none.
    """
    keep, offset = _kept_when_missed(task), jitter_offset(task.id, task.jitter)
    latest = now - offset
    due, upcoming = _due(task, latest, max(limit, 2 * keep))
    behind = upcoming is not None and upcoming <= latest
    last_due = due[-1] if due else None
    skips = _Skips()
    if not task.enabled:
        # A pause ends by the clock by which occurrences start, as if a node had been there.
        until = len(due) if task.resume_at is None else bisect_left(due, task.resume_at - offset)
        skips.add(SkipReason.PAUSED, {"pausedBy": task.paused_by, "reason": task.pause_reason}, due[:until])
        due = due[until:]
    if not due or not job_known:
        skips.add(SkipReason.NO_JOB, {"jobName": task.job_name}, due)
        return _decision(offset, (), skips, upcoming=upcoming, last_due=last_due, behind=behind)
    late = bisect_left(due, latest - timedelta(seconds=task.misfire_grace))
    makes_up = late > 0 and task.misfire is not MisfirePolicy.NONE
    dropped = max(0, len(due) - keep) if makes_up else late
    if makes_up and behind:
        # The newest are not in sight, so none becomes a run yet; a late one is left, for the next visit to see that the
        # task is late, unless more than a visit looks at are within the grace.
        dropped = late - keep if late > keep else dropped
    if dropped:
        skips.add(*_misfire(task, keep), due[:dropped])
    if makes_up and behind:
        return _decision(offset, (), skips, upcoming=due[dropped], last_due=due[dropped - 1], behind=True)
    if makes_up and task.misfire is MisfirePolicy.ALL:
        # No two of these execute at once; the overlap policy judges what is on time, which may start next to one.
        runs, cancel = tuple(PlannedRun(occurrence, exclusive=True) for occurrence in due[dropped:]), False
    else:
        runs, cancel = _overlap(task, due[dropped:], unfinished, skips)
    if key is not None and runs:
        runs, cancel = _unique(runs, key, skips), cancel and not key.taken
    return _decision(offset, runs, skips, upcoming=upcoming, last_due=last_due, behind=behind, cancel=cancel)


def _kept_when_missed(task: DueTask) -> int:
    match task.misfire:
        case MisfirePolicy.LAST:
            return 1
        case MisfirePolicy.ALL:
            return task.catch_up_limit
        case MisfirePolicy.NONE:
            return 0


def _due(task: DueTask, latest: datetime, limit: int) -> tuple[list[datetime], datetime | None]:
    """Return up to ``limit`` occurrences until ``latest``, oldest first, and the next one after them."""
    due: list[datetime] = []
    occurrence = task.next_nominal
    while occurrence is not None and occurrence <= latest and len(due) < limit:
        due.append(occurrence)
        occurrence = next_after(task.schedule, task.anchor_at, task.end_at, occurrence)
    return due, occurrence


def _misfire(task: DueTask, keep: int) -> tuple[SkipReason, dict[str, Any]]:
    policy: dict[str, Any] = {"misfire": task.misfire.value, "misfireGrace": task.misfire_grace}
    if task.misfire is MisfirePolicy.ALL:
        policy["catchUpLimit"] = keep
    reason = SkipReason.COALESCED if task.misfire is MisfirePolicy.LAST else SkipReason.MISSED
    return reason, policy


def _overlap(
    task: DueTask, occurrences: list[datetime], unfinished: int, skips: _Skips
) -> tuple[tuple[PlannedRun, ...], bool]:
    """Let the overlap policy judge, in order, the occurrences that misfire left."""
    policy = effective_overlap(task)
    if policy is OverlapPolicy.REPLACE:
        return _replace(occurrences, unfinished)
    runs: list[PlannedRun] = []
    limit = overlap_limit(policy)
    for occurrence in occurrences:
        if limit is not None and unfinished + len(runs) >= limit:
            skips.add(SkipReason.OVERLAP, {"overlap": policy.value, "unfinishedAllowed": limit}, [occurrence])
        else:
            runs.append(PlannedRun(occurrence, exclusive=policy is not OverlapPolicy.ALLOW))
    return tuple(runs), False


def _replace(occurrences: list[datetime], unfinished: int) -> tuple[tuple[PlannedRun, ...], bool]:
    if not occurrences:
        return (), False
    *older, newest = occurrences
    replaced = [PlannedRun(occurrence, exclusive=True, replaced=True) for occurrence in older]
    return (*replaced, PlannedRun(newest, exclusive=True)), unfinished > 0


def _unique(runs: tuple[PlannedRun, ...], key: KeyInForce, skips: _Skips) -> tuple[PlannedRun, ...]:
    """Give the key to one run: the first to start, if no unfinished run has it."""
    first = None if key.taken else next((one for one in runs if not one.replaced), None)
    made = tuple(one for one in runs if one is first or (one.replaced and not key.taken))
    left = [one.scheduled_for for one in runs if one not in made]
    skips.add(SkipReason.UNIQUE_KEY, {"uniqueKey": key.key}, left)
    skips.found.sort(key=lambda skip: skip.first)
    return made


def _decision(
    offset: timedelta,
    runs: Sequence[PlannedRun],
    skips: _Skips,
    *,
    upcoming: datetime | None,
    last_due: datetime | None,
    behind: bool,
    cancel: bool = False,
) -> Decision:
    next_execution = None if upcoming is None else delayed(upcoming, offset)
    return Decision(tuple(runs), tuple(skips.found), cancel, upcoming, next_execution, last_due, behind)


@dataclass(frozen=True, slots=True, order=True)
class Planned:
    """One planned occurrence. Ordered by the effective time (nominal and jitter), then by the task's key."""

    effective_at: datetime
    task_id: int
    scheduled_for: datetime


def planned(tasks: Iterable[Task], start: datetime, end: datetime, apart: timedelta | None = None) -> Iterator[Planned]:
    """Return the occurrences with ``start <= effective time < end``, earliest first. Each is computed when it is taken.

    With ``apart`` those of a task that follow another one sooner are left out, and not computed either.
    """
    beyond: _Beyond | None = None if apart is None else (lambda at: at + apart)
    ahead = [_occurrences(task, start, end, beyond) for task in tasks]
    return heapq.merge(*ahead)


_Beyond = Callable[[datetime], datetime]
"""The earliest time at which the occurrence after one at that time counts."""


def _occurrences(task: Task, start: datetime, end: datetime, beyond: _Beyond | None) -> Iterator[Planned]:
    offset = jitter_offset(task.id, task.spec.jitter)
    try:
        schedule = schedule_of(task.spec.schedule, task.anchor_at)
    except ScheduleError:
        # A zone can vanish from the system's database after the schedule was stored: nothing is planned then.
        return
    first = task.next_nominal
    if first is not None and delayed(first, offset) < start:
        first = following(task.spec, schedule, start - offset - _TICK)
    spec = task.spec
    ahead = occurrences(spec, schedule, first) if beyond is None else _thinned(spec, schedule, first, offset, beyond)
    for occurrence in ahead:
        if delayed(occurrence, offset) >= end:
            return
        yield Planned(delayed(occurrence, offset), task.id, occurrence)


def _thinned(
    spec: TaskSpec, schedule: Schedule, first: datetime | None, offset: timedelta, beyond: _Beyond
) -> Iterator[datetime]:
    """Nominal times from ``first`` on, without those that come too soon after the one before."""
    occurrence = first
    while occurrence is not None:
        yield occurrence
        occurrence = following(spec, schedule, max(occurrence, beyond(delayed(occurrence, offset)) - offset - _TICK))


@dataclass(frozen=True, slots=True)
class Load:
    """The planned load of a stretch of time.

    Attributes:
        at: When the stretch begins.
        tasks: How many tasks have an occurrence in it.
        names: Some of them, those that come most rarely first; none that come all the time.
    """

    at: datetime
    tasks: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Alike:
    """Tasks whose occurrences are the same: they are computed once."""

    first: Task
    names: list[str]


_NAMED_UP_TO = 0.1
"""A task that is due in a larger share of the stretches is counted in them, and not named."""


def planned_load(
    tasks: Iterable[Task], start: datetime, end: datetime, width: timedelta, most: int, named: int
) -> tuple[datetime, list[Load]]:
    """Count, for each stretch of ``width`` from ``start`` on, the tasks that have an occurrence in it.

    Tasks of one schedule are computed once, and of each at most one occurrence a stretch: a task that is due every
    second costs no more than one that is due every minute. Of one that comes in every stretch only the first is.

    Args:
        start: The beginning of the span, and of its first stretch.
        end: The end, not included.
        width: Of a stretch.
        most: Occurrences that are computed at most, the earliest.
        named: Names that a stretch has at most.

    Returns:
        Until when all were counted, and the stretches in which something is due, the earliest first.
    """
    alike = _alike(tasks)
    ahead: list[Iterator[tuple[int, int]]] = []
    # What comes all the time is no news in any of its stretches.
    seldom, count = max(1, (end - start) // width * _NAMED_UP_TO), -((start - end) // width)
    begun = [0] * (count + 1)
    for number, one in enumerate(alike):
        stretches = _stretches(one.first, number, start, end, width)
        first = next(stretches, None) if _comes_in_each(one.first, width) else None
        if first is None:
            ahead.append(stretches)
        elif count - first[0] <= seldom:
            ahead.append(chain([first], stretches))
        else:
            begun[first[0]] += len(one.names)
    found: dict[int, list[int]] = {}
    often = [0] * len(alike)
    until = end
    for taken, (stretch, number) in enumerate(heapq.merge(*ahead)):
        if taken == most:
            until = start + stretch * width
            found.pop(stretch, None)
            break
        found.setdefault(stretch, []).append(number)
        often[number] += 1
    rarest = [(times, len(one.names)) for times, one in zip(often, alike, strict=True)]
    load: list[Load] = []
    for stretch, steady in enumerate(accumulate(begun)):
        if start + stretch * width >= until or not (steady or stretch in found):
            continue
        numbers = found.get(stretch, [])
        order = sorted(numbers, key=rarest.__getitem__)
        rare = (alike[number].names for number in order if often[number] <= seldom)
        names = islice(chain.from_iterable(rare), named)
        tasks_then = steady + sum(len(alike[number].names) for number in numbers)
        load.append(Load(start + stretch * width, tasks_then, tuple(names)))
    return until, load


def _comes_in_each(task: Task, width: timedelta) -> bool:
    """Return whether a task comes in every stretch from its first one on, so that nothing has to be computed."""
    try:
        schedule = schedule_of(task.spec.schedule, task.anchor_at)
    except ScheduleError:
        return False
    if task.spec.end_at is not None:
        return False
    if isinstance(schedule, IntervalSchedule):
        return schedule.seconds <= width.total_seconds()
    if not isinstance(schedule, WallClockSchedule) or not schedule.pattern.is_hourly:
        return False
    return width >= _HOUR or schedule.pattern.minutes == EVERY_MINUTE


_HOUR = timedelta(hours=1)


def _alike(tasks: Iterable[Task]) -> list[_Alike]:
    found: dict[tuple[object, ...], _Alike] = {}
    for task in tasks:
        spec = task.spec
        anchor = task.anchor_at if spec.schedule.syntax.is_anchored else None
        key = (spec.schedule, anchor, spec.start_at, spec.end_at, jitter_offset(task.id, spec.jitter))
        # What one of them waits for may be long due: then its first occurrence is another one.
        found.setdefault((*key, task.next_nominal), _Alike(task, [])).names.append(spec.name)
    return list(found.values())


def _stretches(task: Task, number: int, start: datetime, end: datetime, width: timedelta) -> Iterator[tuple[int, int]]:
    """Yield the stretches in which the task is due, each with ``number``, computed when they are taken."""

    def beyond(at: datetime) -> datetime:
        return start + ((at - start) // width + 1) * width

    for one in _occurrences(task, start, end, beyond):
        yield (one.effective_at - start) // width, number
