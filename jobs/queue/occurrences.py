"""Due tasks become runs: each occurrence exactly one, no matter which node dispatches it and when that node dies."""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate, groupby

from sqlalchemy import or_, select, update

from ..core.admission.holding import expiry_of
from ..core.base.errors import InvalidState
from ..core.base.resources import carrying
from ..core.base.times import time_text
from ..core.defaults import JobDefaults
from ..core.events import CREATED, Change, EventKind, Listed
from ..core.limits import key_of_task
from ..core.model import Json, NewRun, OverlapPolicy, SkipReason, Task, Trigger
from ..core.occurrences import (
    Decision,
    DueTask,
    PlannedRun,
    decide,
    due_of,
    effective_overlap,
    effective_timeout,
    jitter_offset,
)
from ..core.states import RunState
from ..store.db.transaction import Tx, Wake
from ..store.db.unreadable import is_undecodable
from ..store.schema.rows import NOT_PAUSED
from ..store.schema.tables import periodic_task as t
from ..store.schema.tables import queue_group as g
from ..store.statements import jobs
from ..store.statements import runs as stored_runs
from ..store.statements import tasks as stored_tasks
from . import due_tasks as occurrences
from .base.apart import in_halves, reason_of
from .base.changes import task_change, wake_due
from .base.skips import record_skips
from .cancel import cancel_free
from .due_tasks import REPLACED, Found, Made, Moved, Occurrence, Written, look_ahead
from .limits.task_keys import TaskKeys, keys_of, labels_of, left_out, not_made, task_caps
from .limits.uniqueness import KeyIsBusyError, hardly_waiting

log = logging.getLogger(__name__)

BATCH = 500
"""Number of due tasks that one transaction looks at."""
OCCURRENCES = 5000
"""Number of occurrences that one transaction looks at, shared by its tasks."""
RUNS = 500
"""About how many runs one transaction makes; tasks beyond that are left for the next one."""
_CATCH_UP_ROUNDS = 20
PUT_OFF = timedelta(minutes=1)
"""Time for which a task of which no runs can be made is left alone."""
_BUSY = timedelta(seconds=0.05)
"""When to look again at due tasks that were left alone, because somebody else is at it at this moment."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """Hold the result of one transaction: tasks visited, runs made, and whether due tasks may be left.

    If none are, ``next_at`` is when the next task is due or the next sleep ends, by ``time.monotonic()``; None = there
    is no such time. ``lags`` has for each task that made a run by how many seconds it was overdue; ``skipped`` is how
    many occurrences did not become runs, by reason.
    """

    visited: int
    made: int
    more: bool
    next_at: float | None = None
    lags: Sequence[float] = ()
    skipped: Mapping[SkipReason, int] = field(default_factory=dict[SkipReason, int])


def dispatch_due(tx: Tx, node: str | None, *, batch: int = BATCH) -> Dispatched:
    """Visit up to ``batch`` due tasks that no other node visits; if no more are due, wake runs whose sleep is over.

    In this order: insert runs (a unique constraint guards task and nominal time), write skips, advance the tasks from
    their nominal time. A crash before the commit leaves everything as it was.
    """
    # One more shows whether there are more; to look once more for nothing takes a third of a visit.
    found = _due(tx, batch + 1)
    visited = Visited(0, 0, False)
    if found:
        tx.learn_now(found[0].now)
        known = {one.task.job_name: one.job for one in found if one.job is not None}
        visited = visit(tx, [one.task for one in found[:batch]], node, known, any_cap=found[0].any_cap)
    return _dispatched(tx, visited, are_more=len(found) > batch)


def dispatch_apart(tx: Tx, node: str | None, *, batch: int = BATCH) -> Dispatched:
    """Dispatch halves of the tasks where ``dispatch_due`` fails, until the guilty ones stand alone.

    Each of these is put off for ``PUT_OFF`` and says why; the others are dispatched.
    """
    ids = occurrences.due_ids(tx.conn, tx.now, batch + 1)
    visits: list[Visited] = []

    def visit_some(some: Sequence[int]) -> None:
        stored = stored_tasks.by_ids(tx.conn, some)
        due = [due_of(stored[task_id]) for task_id in some]
        known, any_cap = jobs.published_defaults_and_caps(tx.conn, {task.job_name for task in due})
        visits.append(visit(tx, due, node, known, any_cap=any_cap))

    lost = in_halves(tx, ids[:batch], visit_some)
    until = tx.now + PUT_OFF
    for task_id, error in lost:
        reason = reason_of(f"no runs of task {task_id}, which is due, could be made", error)
        why = {"until": time_text(until), "reason": reason}
        stored_tasks.put(tx.conn, task_id, {"next_execution": until, "put_off": why})
        tx.emit([Change(EventKind.TASK_UPDATED, task_id=task_id)])
    skipped: Counter[SkipReason] = Counter()
    for one in visits:
        skipped.update(one.skipped)
    visited = Visited(
        len(ids[:batch]),
        sum(one.made for one in visits),
        any(one.behind for one in visits),
        [lag for one in visits for lag in one.lags],
        skipped,
        busy=any(one.busy for one in visits),
    )
    return _dispatched(tx, visited, are_more=len(ids) > batch)


def _dispatched(tx: Tx, visited: "Visited", *, are_more: bool) -> Dispatched:
    if visited.behind or are_more:
        return Dispatched(visited.tasks, visited.made, True, None, visited.lags, visited.skipped)
    if visited.busy:
        again_at = tx.monotonic(tx.now + _BUSY)
        return Dispatched(visited.tasks, visited.made, False, again_at, visited.lags, visited.skipped)
    upcoming = look_ahead(tx.conn)
    if upcoming.wakes_at is not None and upcoming.wakes_at <= tx.now:
        more = bool(wake_due(tx, BATCH))
        look_at = None if more else tx.monotonic(tx.now + _BUSY)
        return Dispatched(visited.tasks, visited.made, more, look_at, visited.lags, visited.skipped)
    if upcoming.resumes_at is not None and upcoming.resumes_at <= tx.now and end_pauses(tx, BATCH):
        return Dispatched(visited.tasks, visited.made, True, None, visited.lags, visited.skipped)
    earliest = upcoming.earliest
    if earliest is not None and earliest <= tx.now:
        # Somebody has locked it; or it came due while this looked.
        earliest = tx.now + _BUSY
    next_at = None if earliest is None else tx.monotonic(earliest)
    return Dispatched(visited.tasks, visited.made, False, next_at, visited.lags, visited.skipped)


def end_pauses(tx: Tx, limit: int) -> int:
    """Resume up to ``limit`` tasks and as many groups that were paused until now.

    Occurrences within the pause of a task are decided before: those up to the end of the pause are skipped,
    and those from then on become runs (``core.occurrences.decide``). So a task that is due is left for later.

    Returns:
        How many went on; 0 if others have locked them.
    """
    resumed, groups = _resume_tasks(tx, limit), _resume_groups(tx, limit)
    if groups:
        tx.wake(Wake.RUNS | Wake.GROUPS)
    return resumed + groups


def _resume_tasks(tx: Tx, limit: int) -> int:
    # Of one that another node catches up with, occurrences within the pause may be undecided yet.
    decided = or_(t.c.next_execution.is_(None), t.c.next_execution > tx.now)
    over = select(t.c.id).where(t.c.resume_at <= tx.now, decided).order_by(t.c.resume_at, t.c.id).limit(limit)
    ids = list(tx.conn.execute(over.with_for_update(skip_locked=True)).scalars())
    edit = {"enabled": True, **NOT_PAUSED, "version": t.c.version + 1, "updated_at": tx.now}
    for row in tx.conn.execute(update(t).where(t.c.id.in_(ids)).values(**edit).returning(t)) if ids else ():
        tx.emit([task_change(EventKind.TASK_UPDATED, stored_tasks.task_from(row))])
    return len(ids)


def _resume_groups(tx: Tx, limit: int) -> int:
    over = select(g.c.name).where(g.c.resume_at <= tx.now).order_by(g.c.resume_at, g.c.name).limit(limit)
    names = list(tx.conn.execute(over.with_for_update(skip_locked=True)).scalars())
    if names:
        tx.conn.execute(update(g).where(g.c.name.in_(names)).values(**NOT_PAUSED))
    tx.emit([Change(EventKind.GROUP_UPDATED, group=name) for name in names])
    return len(names)


def _due(tx: Tx, limit: int) -> list[Found]:
    try:
        return occurrences.due(tx.conn, tx.own_now, limit)
    except Exception as error:
        if not is_undecodable(error):
            raise
    for task_id, fault in occurrences.unreadable_due(tx.conn, tx.now, limit):
        _set_aside(tx, Change(EventKind.TASK_UPDATED, task_id=task_id), task_id, fault)
    return occurrences.due(tx.conn, tx.own_now, limit)


def rehearse(tx: Tx) -> None:
    """Prepare the statements of a visit, so that the first due task need not wait for that."""
    occurrences.plan(tx.conn)
    occurrences.unfinished_counts(tx.conn, [])
    occurrences.write(tx.conn, [], [], tx.now, with_event=True)


def catch_up(tx: Tx, task: Task) -> Task:
    """Let occurrences due until now become runs or skips, before the task is edited, paused or deleted.

    So an edit never changes the fate of a past occurrence. Returns the task as it is then.

    Raises:
        InvalidState: so much is due (a long downtime) that the dispatcher has to catch up first.
    """
    for _ in range(_CATCH_UP_ROUNDS):
        if task.next_execution is None or task.next_execution > tx.now:
            return task
        task = catch_up_some(tx, task)
    raise InvalidState(
        f"task '{task.name}' is still catching up with the times it missed (now at {task.next_nominal}); "
        "try again in a moment",
        path=("name",),
    )


def catch_up_some(tx: Tx, task: Task) -> Task:
    """Turn due occurrences into runs or skips, as far as one visit goes; return the task, which may still be due."""
    if task.next_execution is None or task.next_execution > tx.now:
        return task
    known, any_cap = jobs.published_defaults_and_caps(tx.conn, {task.spec.job_name})
    visit(tx, [due_of(task)], None, known, any_cap=any_cap)
    return stored_tasks.by_ids(tx.conn, [task.id])[task.id]


@dataclass(frozen=True, slots=True)
class Visited:
    """Hold the result for some due tasks: how many were decided, runs made, and whether any of them is behind.

    ``lags`` and ``skipped``: see ``Dispatched``. ``busy``: tasks were left alone (see ``task_caps``).
    """

    tasks: int
    made: int
    behind: bool
    lags: Sequence[float] = ()
    skipped: Mapping[SkipReason, int] = field(default_factory=dict[SkipReason, int])
    busy: bool = False


def visit(
    tx: Tx, due: Sequence[DueTask], node: str | None, known: Mapping[str, JobDefaults], *, any_cap: bool
) -> Visited:
    """Decide and write for these locked tasks, as many as make no more than about ``RUNS`` runs.

    Args:
        tx: The transaction that has locked them.
        node: Which node decides.
        known: The published ones among their jobs, with the defaults of their runs.
        any_cap: Whether any group at all has a cap.
    """
    keys = keys_of(tx, due, known)
    caps = task_caps(tx, due, known, keys.limits, any_group=any_cap)
    asked, due = due, caps.ready(due)
    if not due:
        return Visited(0, 0, behind=False, busy=True)
    # By a statement of its own, which sees what was committed until the tasks were locked: who makes a run by hand
    # holds the lock of its task.
    unfinished = occurrences.unfinished_counts(tx.conn, [task.id for task in due])
    decided = _decide_each(tx, due, unfinished, known, keys)
    pairs = bounded = _within_bounds(decided)
    pairs, is_busy = _cancel_replaced(tx, pairs)
    pairs = caps.judged(tx, pairs, node) if caps.new else pairs
    ttls = {name: defaults.ttl for name, defaults in known.items() if defaults.ttl is not None}
    labels = labels_of(tx, due, known)
    try:
        with hardly_waiting(tx) if keys.keys else nullcontext():
            written = _write(tx, pairs, keys, labels, ttls)
    except KeyIsBusyError:
        pairs, is_busy = [(task, decision) for task, decision in pairs if task.id not in keys.keys], True
        written = _write(tx, pairs, keys, labels, ttls)
    if keys.keys:
        pairs = [*_with_left_out(tx, pairs, keys, [one.task_id for one in written.without_event])]
    blockers = {task_id: oldest for task_id, (_, oldest) in unfinished.items()}
    _write_skips(tx, pairs, node, blockers, keys)
    made = written.runs
    tx.wake(Wake.TASKS)
    behind = len(bounded) < len(decided) or any(decision.behind for _, decision in pairs)
    skipped: Counter[SkipReason] = Counter()
    for _, decision in pairs:
        for skip in decision.skips:
            skipped[skip.reason] += skip.count
    lags = [_overdue(task, decision.runs[-1].scheduled_for, tx.now) for task, decision in pairs if decision.runs]
    return Visited(len(pairs), made, behind, lags, skipped, busy=is_busy or len(due) < len(asked))


def _overdue(task: DueTask, occurrence: datetime, now: datetime) -> float:
    return (now - occurrence - jitter_offset(task.id, task.jitter)).total_seconds()


def _decide_each(
    tx: Tx,
    due: Sequence[DueTask],
    unfinished: Mapping[int, tuple[int, int]],
    known: Collection[str],
    keys: TaskKeys,
) -> list[tuple[DueTask, Decision]]:
    """Decide each task; one whose schedule cannot be computed is set aside and does not hold up the others."""
    limit = max(1, OCCURRENCES // len(due))
    decided: list[tuple[DueTask, Decision]] = []
    # Many tasks that are due at one moment have their schedule and their policies in common.
    alike: dict[tuple[object, ...], Decision] = {}
    for task in due:
        count, _ = unfinished.get(task.id, (0, 0))
        try:
            key = keys.in_force(task)
            deciding = task.deciding if key is None and count == 0 else None
            decision = None if deciding is None else alike.get(deciding)
            if decision is None:
                job_known = task.job_name in known
                decision = decide(task, tx.now, unfinished=count, job_known=job_known, limit=limit, key=key)
                if deciding is not None:
                    alike[deciding] = decision
        except Exception as error:  # noqa: BLE001  (a fault of one task must not stop the others)
            changed = Change(
                EventKind.TASK_UPDATED,
                task_id=task.id,
                task_name=task.name,
                job_name=task.job_name,
                group=task.group,
            )
            _set_aside(tx, changed, task.id, error)
        else:
            decided.append((task, decision))
            keys.take(task, decision)
    return decided


def _set_aside(tx: Tx, change: Change, task_id: int, error: Exception) -> None:
    """Pause a task whose schedule cannot be computed (a zone that is gone, a row changed by hand), and say why."""
    log.error("task %d is paused: its schedule cannot be computed", task_id, exc_info=error)
    values = {
        "enabled": False,
        "paused_at": tx.now,
        "paused_by": "cronograph",
        "pause_reason": f"its schedule cannot be computed: {error}",
        "resume_at": None,
        "next_nominal": None,
        "next_execution": None,
        "updated_at": tx.now,
    }
    stored_tasks.put(tx.conn, task_id, values)
    tx.emit([change])


def _within_bounds(pairs: Sequence[tuple[DueTask, Decision]]) -> Sequence[tuple[DueTask, Decision]]:
    """Return the first of ``pairs`` that together make about ``RUNS`` runs, at least one."""
    totals = accumulate(len(decision.runs) for _, decision in pairs)
    count = sum(1 for total in totals if total <= RUNS)
    return pairs[: max(1, count)]


def new_run(task: Task, trigger: Trigger, *, args: dict[str, Json] | None = None) -> NewRun:
    """Return a run of ``task`` with the task's own settings, in the name of the account that submitted the task."""
    spec = task.spec
    return NewRun(
        job_name=spec.job_name,
        trigger=trigger,
        args=spec.args if args is None else args,
        group=spec.group,
        priority=spec.priority,
        task_id=task.id,
        task_name=task.name,
        retries=spec.retries,
        retry_delay=spec.retry_delay,
        timeout=effective_timeout(spec),
        max_duration=spec.max_duration,
        exclusive=effective_overlap(spec) is not OverlapPolicy.ALLOW,
        submitter=task.submitter,
        submitter_id=task.submitter_id,
        description=spec.description,
        signature=task.signature,
        labels=spec.labels or None,
        carried=carrying(None, spec.resources),
        rate_key=None if spec.rate is None else key_of_task(task.id),
    )


def _write(
    tx: Tx,
    pairs: Sequence[tuple[DueTask, Decision]],
    keys: TaskKeys,
    labels: Mapping[int, str],
    ttls: Mapping[str, float],
) -> Written:
    """Create the runs and move the tasks on; return the created runs if some have unique keys."""
    are_plain = not (keys.keys or keys.limits or labels or ttls)
    wanted = [
        Occurrence(task.id, one.scheduled_for, effective_timeout(task), one.exclusive, one.replaced)
        if are_plain
        else _limited(task, one, keys, labels, ttls, tx.now)
        for task, decision in pairs
        for one in decision.runs
    ]
    moved = [
        Moved(task.id, after.next_nominal, after.next_execution, after.last_due_at, len(after.runs))
        for task, after in pairs
    ]
    alone = not tx.changes and not any(decision.skips for _, decision in pairs)
    with_event = alone and not any(one.replaced or one.unique_key is not None for one in wanted)
    written = occurrences.write(tx.conn, wanted, moved, tx.now, with_event=with_event)
    if wanted:
        tx.emit(_created({task.id: task for task, _ in pairs}, written.without_event))
        tx.wake(Wake.RUNS | Wake.EVENTS)
    return written


def _limited(
    task: DueTask,
    planned: PlannedRun,
    keys: TaskKeys,
    labels: Mapping[int, str],
    ttls: Mapping[str, float],
    now: datetime,
) -> Occurrence:
    """Return a run of a task with its job's settings."""
    ttl = ttls.get(task.job_name)
    hold = keys.holds.get(task.id)
    limits = keys.limits.get(task.id)
    made = Occurrence(
        task.id,
        planned.scheduled_for,
        effective_timeout(task),
        planned.exclusive,
        planned.replaced,
        unique_key=keys.keys.get(task.id),
        labels=labels.get(task.id),
        ttl=ttl,
        expires_at=None if ttl is None else expiry_of(None, ttl, now),
        key_until=None if hold is None else hold.held_until(now),
        key_until_start=True if hold is not None and hold.until_start else None,
    )
    return made if limits is None else made._replace(**limits._asdict())


def _with_left_out(
    tx: Tx, pairs: Sequence[tuple[DueTask, Decision]], keys: TaskKeys, made: Collection[int]
) -> Iterator[tuple[DueTask, Decision]]:
    """Yield ``pairs`` with a skip for each occurrence that did not become a run as another run holds its key."""
    missing = {task.id for task, _ in not_made(keys, pairs, made)}
    for task, decision in pairs:
        skip = left_out(tx, keys.keys[task.id], decision, task) if task.id in missing else None
        yield task, decision if skip is None else decision._replace(skips=(*decision.skips, skip))


def _created(about: Mapping[int, DueTask], made: Sequence[Made]) -> Iterator[Change | Listed]:
    """Yield the events of new runs, in their order; those that wait are listed together."""
    for waits, some in groupby(made, lambda one: one.state is RunState.WAITING):
        pairs = [(one, about[one.task_id]) for one in some]
        if waits:
            listed = [(one.run_id, task.job_name, task.group, task.id, task.name) for one, task in pairs]
            yield Listed(CREATED, listed)
        else:
            for one, task in pairs:
                yield Change(
                    EventKind.RUN_CREATED,
                    task_id=task.id,
                    task_name=task.name,
                    run_id=one.run_id,
                    job_name=task.job_name,
                    group=task.group,
                    state=one.state.value,
                )


def _cancel_replaced(
    tx: Tx, pairs: Sequence[tuple[DueTask, Decision]]
) -> tuple[Sequence[tuple[DueTask, Decision]], bool]:
    """Cancel runs that give way to a newer one; return ``pairs`` without tasks whose runs somebody is changing.

    They are looked at again at once. A claim may have locked such a run, and wait for the task.
    """
    replaced = [task.id for task, decision in pairs if decision.cancel_unfinished]
    if not replaced:
        return pairs, False
    older = stored_runs.unfinished_of_tasks(tx.conn, replaced)
    left = cancel_free(tx, older, reason=REPLACED)
    if not left:
        return pairs, False
    busy = {run.task_id for run in stored_runs.by_ids(tx.conn, sorted(left)).values()}
    return [(task, decision) for task, decision in pairs if task.id not in busy], True


def _write_skips(
    tx: Tx,
    pairs: Sequence[tuple[DueTask, Decision]],
    node: str | None,
    blockers: Mapping[int, int],
    keys: TaskKeys,
) -> None:
    skipping = [task.id for task, decision in pairs if decision.skips]
    if not skipping:
        return
    newest = stored_tasks.newest_skipped(tx.conn, skipping)
    for task, decision in pairs:
        found = {SkipReason.OVERLAP: blockers.get(task.id), SkipReason.UNIQUE_KEY: keys.holder(task)}
        record_skips(tx, task, decision.skips, newest.get(task.id), node=node, blockers=found)
