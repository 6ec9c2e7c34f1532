"""Predict an enqueue: do it, look at it, and take it back, so that a dry run judges as the enqueue does.

Nothing of it can be seen by others: no run, no event, no entry of the audit log, and no node is woken.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from ..core.base.errors import Overlap, QueueFull
from ..core.events import Change
from ..core.explain.previews import Preview, Tried, outcome_of, previews, refused
from ..core.model import Enqueued, Run, Task
from ..core.states import FINAL, RunState
from ..store.db.transaction import Tx
from ..store.read import facts
from ..store.read import runs as stored_runs
from ..store.read import tasks as stored_tasks
from .tasks import trigger_task

SHOWN = 200
"""Runs that are listed one by one."""


def preview(tx: Tx, job_names: Sequence[str], enqueue: Callable[[Tx], Sequence[Enqueued]]) -> Preview:
    """Return the predicted outcomes of runs, and the reasons for which each would wait.

    Args:
        tx: The transaction, which is as before afterwards.
        job_names: The job of each run, for where all of them are refused.
        enqueue: Puts the runs into the queue.

    Raises:
        UserError: as ``enqueue`` raises, apart from ``QueueFull`` and ``Overlap``, which are a part of the answer.
    """
    first = len(tx.changes)
    with tx.undone():
        try:
            enqueued = enqueue(tx)
        except (QueueFull, Overlap) as error:
            return refused(job_names, error, SHOWN)
        changed = {one.run_id: one.state for one in tx.changes[first:] if isinstance(one, Change)}
        return _looked_at(tx, enqueued, changed)


def preview_triggered(tx: Tx, name: str, trigger: Callable[[Tx], Run]) -> Preview:
    """Preview a run of the task of this name; no existing run can take its place."""
    task = stored_tasks.by_name(tx.conn, name)
    job_names = [] if task is None else [task.spec.job_name]
    return preview(tx, job_names, lambda tx: [Enqueued(trigger(tx), deduplicated=False)])


def preview_task(tx: Tx, change: Callable[[Tx], Task]) -> tuple[Task, Preview]:
    """Return a task as it would be after a change, and the outcome of a run of it if it were triggered then.

    Raises:
        UserError: as ``change`` or the trigger raises.
    """
    with tx.undone():
        task = change(tx)
        return task, preview_triggered(tx, task.name, lambda tx: trigger_task(tx, task.name))


def _looked_at(tx: Tx, enqueued: Sequence[Enqueued], changed: dict[int | None, str | None]) -> Preview:
    """Return the results of an enqueue in this transaction.

    Args:
        changed: The runs that it has changed one by one, with their states.
    """
    answered = {one.run.id for one in enqueued}
    stored = stored_runs.by_ids(tx.conn, sorted(answered))
    tried = [
        Tried(stored[one.run.id], one.deduplicated, one.deduplicated and changed.get(one.run.id) == RunState.WAITING)
        for one in enqueued
    ]
    new = [one.run.id for one in enqueued if not one.deduplicated]
    shown = tried[:SHOWN]
    standing = {one.run.id: one.run for one in shown if one.run.state not in FINAL}
    buckets = {(run.job_name, run.rate_key) for run in standing.values() if run.rate_key is not None}
    waiting = facts.waiting_for_tokens(tx.conn, buckets, min(new)) if new else {}
    known = facts.of_runs(tx.conn, list(standing.values()), tx.now)
    dropped = [key for key, state in changed.items() if key is not None and state == RunState.SKIPPED]
    return Preview(
        previews(shown, known, waiting, tx.now),
        Counter(map(outcome_of, tried)),
        tuple(sorted(set(dropped).difference(answered))),
    )
