"""What becomes of the due occurrences of one task: runs, or skips with their reason.

Overlap, misfire and pause meet here.

The number of occurrences looked at per visit is bounded; a task that nobody visited for long is visited again at once
until it has caught up, and its skips fold into one row meanwhile.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..model import MisfirePolicy, OverlapPolicy, SkipReason
from .due import DueTask
from .effective_policies import effective_overlap, jitter_offset, next_after, overlap_limit


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
    """What one visit of a due task writes.

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
    """Decide what becomes of the occurrences of ``task`` that are due at ``now``.

    A task whose oldest due occurrence is late by more than the grace has missed something: the policies LAST and ALL
    then choose among all that is due, so that the newest is what runs, and none is in the way of another. Under NONE
    what is still within the grace runs, however long nobody visited the task.

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
    closed = _closed(task, job_known)
    if closed is not None:
        skips.add(*closed, due)
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
    """Up to ``limit`` occurrences until ``latest``, oldest first, and the one after them."""
    due: list[datetime] = []
    occurrence = task.next_nominal
    while occurrence is not None and occurrence <= latest and len(due) < limit:
        due.append(occurrence)
        occurrence = next_after(task.schedule, task.anchor_at, task.end_at, occurrence)
    return due, occurrence


def _closed(task: DueTask, job_known: bool) -> tuple[SkipReason, dict[str, Any]] | None:
    """Why nothing of this task may become a run at all, or None."""
    if not task.enabled:
        return SkipReason.PAUSED, {"pausedBy": task.paused_by, "reason": task.pause_reason}
    if not job_known:
        return SkipReason.NO_JOB, {"jobName": task.job_name}
    return None


def _misfire(task: DueTask, keep: int) -> tuple[SkipReason, dict[str, Any]]:
    policy: dict[str, Any] = {"misfire": task.misfire.value, "misfireGrace": task.misfire_grace}
    if task.misfire is MisfirePolicy.ALL:
        policy["catchUpLimit"] = keep
    reason = SkipReason.COALESCED if task.misfire is MisfirePolicy.LAST else SkipReason.MISSED
    return reason, policy


def _overlap(
    task: DueTask, occurrences: list[datetime], unfinished: int, skips: _Skips
) -> tuple[tuple[PlannedRun, ...], bool]:
    """Let the overlap policy judge, in order, what misfire left."""
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
    """Let one run have the key: the first that is to start, if no unfinished run has it."""
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
    next_execution = upcoming + offset if upcoming is not None and offset else upcoming
    return Decision(tuple(runs), tuple(skips.found), cancel, upcoming, next_execution, last_due, behind)
