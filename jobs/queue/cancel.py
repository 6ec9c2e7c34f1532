"""Cancel runs: at once where nobody executes them, else by asking their node; fail runs whose deadline has passed."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from ..core.model import Run, Task
from ..core.outcome import deadline_sentence
from ..core.states import RunState
from ..store.db import dialect
from ..store.db.transaction import Tx, Wake
from ..store.statements import runs as stored_runs
from .base import runs as run_store
from .base.apart import in_halves, reason_of
from .base.changes import run_change
from .enqueue.enqueue import FinalFailure, enqueue_failure_jobs
from .flows.children import below, enqueue_cancel_jobs, undo
from .flows.flow_ends import busy_members, end_alone, ended_of, hold, settle
from .flows.flow_ends import next_deadline as next_of_flows
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


BATCH: Final = 500
"""Runs that one transaction ends."""
ERROR_TYPE: Final = "TimeoutError"


def next_deadline(conn: Connection) -> datetime | None:
    """Return when the next run that no node executes, or the next flow, has to end; None = none has to."""
    ends = (run_store.next_limits(conn)[1], next_of_flows(conn))
    return min((at for at in ends if at is not None), default=None)


def are_due(conn: Connection) -> tuple[bool, bool, bool]:
    """Return whether a run is too old to start, and whether one and a flow had to end: one probe of an index each."""
    limits = *run_store.next_limits(conn), next_of_flows(conn)
    if not any(limits):
        return False, False, False
    now = dialect.database_now(conn)
    expiry, deadline, of_flow = (at is not None and at <= now for at in limits)
    return expiry, deadline, of_flow


def fail_overdue(tx: Tx, node: str | None, limit: int = BATCH) -> int:
    """Fail up to ``limit`` runs that no node executes and that had to end before now; return how many.

    The runs that they wait for are cancelled, and the jobs that handle failures get their runs.
    """
    # Their flows before the runs themselves, and those of the runs that they wait for (decision 34).
    hold(tx.conn, (), run_store.overdue(tx.conn, tx.now, limit, lock=False))
    late = run_store.overdue(tx.conn, tx.now, limit, lock=True)
    lost = in_halves(tx, late, lambda ids: _fail(tx, list(stored_runs.by_ids(tx.conn, ids).values()), node))
    for run_id, error in lost:
        reason = reason_of(f"run {run_id}, whose max_duration is over, was failed without its follow-ups", error)
        end_alone(tx, run_id, RunState.FAILED, f"its max_duration is over; {reason}")
    return len(late)


def _fail(tx: Tx, late: Sequence[Run], node: str | None) -> None:
    failed: list[FinalFailure] = []
    for run in late:
        assert run.deadline_at is not None, "it was found by that"
        sentence = deadline_sentence(run.deadline_at)
        run_store.fail(tx.conn, run.id, sentence, tx.now)
        failed.append(FinalFailure(run, sentence, ERROR_TYPE))
    tx.emit(run_change(run, RunState.FAILED, node=node) for run in late)
    theirs = below(tx.conn, [run.id for run in late])
    if theirs:
        cancel_all(tx, theirs, reason="the run that waits for this one had to end")
    ended = ended_of((run, RunState.FAILED) for run in late)
    hold(tx.conn, {one.flow_id for one in ended})
    settle(tx, ended)
    tx.wake(Wake.RUNS)
    enqueue_failure_jobs(tx, failed)
    undo(tx, late)
    free_places(tx, late)
