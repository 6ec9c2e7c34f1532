"""Runs are cancelled: at once where nobody executes them, else by asking their node."""

from collections.abc import Iterable, Sequence

from ..core.model import Run, Task
from ..core.states import RunState
from ..store.db import dialect
from ..store.db.transaction import Tx, Wake
from ..store.read import runs as stored_runs
from .base import runs as run_store
from .base.changes import run_change
from .flows.children import below
from .flows.cleanups import enqueue_cancel_jobs, undo
from .flows.flow_ends import busy_members, ended_of, hold, settle
from .limits.admission import free_places


def cancel_all(tx: Tx, ids: Sequence[int], *, reason: str) -> list[Run]:
    """Cancel these runs as far as they are unfinished; return the runs afterwards, in the order of ``ids``.

    Waiting, scheduled, stuck and suspended runs are cancelled at once. Running ones are asked through ``should_stop``
    and then stopped hard by their node; they stay ``running`` until then.
    """
    if not ids:
        return []
    hold(tx.conn, (), ids)
    return _cancel(tx, ids, reason)


def hold_runs_of_tasks(tx: Tx, tasks: Iterable[Task]) -> None:
    """Lock the unfinished runs of tasks that are not locked yet, as they have to be locked afterwards (decision 34).

    For a transaction that cancels them: a claim may have locked one of them, and wait for its task.
    """
    if dialect.is_postgresql(tx.conn):
        ids = stored_runs.unfinished_of_tasks(tx.conn, [task.id for task in tasks])
        if ids:
            hold(tx.conn, (), ids)
            run_store.lock(tx.conn, ids)


def cancel_free(tx: Tx, ids: Sequence[int], *, reason: str) -> set[int]:
    """Cancel the runs of families that nobody else is changing; return the others.

    For a transaction that has locked tasks: it must wait neither for runs nor for flows (decision 34).
    """
    families = {run_id: _family(tx, run_id) for run_id in ids} if below(tx.conn, ids) else {one: {one} for one in ids}
    members = sorted(set[int]().union(*families.values()))
    busy = set(members) - run_store.lock_free(tx.conn, members) | busy_members(tx.conn, members)
    free = [run_id for run_id in ids if not families[run_id] & busy]
    if free:
        _cancel(tx, free, reason)
    return set(ids) - set(free)


def _family(tx: Tx, run_id: int) -> set[int]:
    """Return a run and all that it waits for, directly or by way of others."""
    found, level = {run_id}, [run_id]
    while level:
        level = [one for one in below(tx.conn, level) if one not in found]
        found |= {*level}
    return found


def _cancel(tx: Tx, ids: Sequence[int], reason: str) -> list[Run]:
    before = run_store.lock(tx.conn, ids)
    # One that cannot be read keeps no other from being cancelled.
    ids = [run_id for run_id in ids if run_id in before]
    if tx.actor is not None:
        for run in before.values():
            tx.note_before(str(run.id), state=run.state.value)
    cancelled = run_store.cancel_unstarted(tx.conn, ids, reason, tx.now)
    asked = run_store.request_cancel(tx.conn, ids, reason, tx.now)
    tx.emit(run_change(before[run_id], RunState.CANCELLED) for run_id in sorted(cancelled))
    tx.emit(run_change(before[run_id], RunState.RUNNING) for run_id in sorted(asked))
    if asked:
        tx.wake(Wake.CANCEL)
    if cancelled:
        # A slot of a limited group, or a task's only place, may be free now.
        tx.wake(Wake.RUNS)
    theirs = below(tx.conn, [*cancelled, *asked]) if cancelled or asked else []
    if theirs:
        _cancel(tx, theirs, "the run that waits for this one was cancelled")
    ended = ended_of((before[run_id], RunState.CANCELLED) for run_id in cancelled)
    settle(tx, ended)
    enqueue_cancel_jobs(tx, [(before[run_id], reason) for run_id in cancelled])
    undo(tx, [before[run_id] for run_id in cancelled])
    free_places(tx, (before[run_id] for run_id in cancelled))
    after = stored_runs.by_ids(tx.conn, ids)
    return [after[run_id] for run_id in ids if run_id in after]
