"""Runs that took longer than they may are failed, each with its reason, where no node executes them.

A node ends an attempt of its own in time. A run that sleeps, waits or is to be retried is ended here, by a duty of
each node that asks an index, so this survives every node.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from ..core.model import Run
from ..core.outcome import deadline_sentence
from ..core.states import RunState
from ..store.db import dialect
from ..store.db.transaction import Tx, Wake
from ..store.read import runs as stored_runs
from .base import runs as run_store
from .base.apart import in_halves, reason_of
from .base.changes import run_change
from .cancel import cancel_all
from .enqueue.follow_ups import FinalFailure, enqueue_failure_jobs
from .flows.children import below
from .flows.cleanups import undo
from .flows.flow_ends import end_alone, ended_of, hold, settle
from .flows.flow_ends import next_deadline as next_of_flows
from .limits.admission import free_places

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
