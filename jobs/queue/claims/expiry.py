"""Runs that are too old to start are skipped, each with its reason, and the jobs that handle expiry get runs.

A claim passes over none of them: it skips the ones it meets. A run that no claim meets (its group is paused, nobody
knows its job, it stands far behind) a duty of each node finds by an index of those that may expire.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from ...core.admission.expiry import Expired, expired_sentence
from ...core.arguments.secrets import references, resolved
from ...core.base.resources import handed_on
from ...core.base.times import time_text
from ...core.defaults import FOLLOWED
from ...core.model import NewRun, Run, SkipReason, Trigger
from ...core.occurrences import Skip
from ...core.states import RunState
from ...store.db.transaction import Tx, Wake
from ...store.read import jobs
from ...store.read import runs as stored_runs
from ...store.read import tasks as stored_tasks
from ..base import runs as run_store
from ..base.apart import ON_EXPIRED, in_halves, reason_of
from ..base.changes import run_change
from ..base.skips import record_drop
from ..enqueue.follow_ups import FollowUp, put_following
from ..flows.flow_ends import end_alone, ended_of, hold_of, settle
from ..limits.admission import free_places

BATCH: Final = 500
"""Runs that one transaction skips."""
EXPIRY_OF: Final = "expiryOf"
"""Carried by the run of a job that is notified: the run that expired. The expiry of such a run notifies no job."""


def skip_due(tx: Tx, node: str | None) -> int:
    """Skip some runs that are too old to start; return how many."""
    hold_of(tx.conn, *run_store.has_expired(tx.now))
    late = run_store.expired(tx.conn, tx.now, BATCH)

    def skip(ids: Sequence[int]) -> None:
        skip_expired(tx, list(stored_runs.by_ids(tx.conn, ids).values()), node=node)

    lost = in_halves(tx, late, skip)
    for run_id, error in lost:
        reason = reason_of(f"run {run_id}, which is too old to start, was skipped without its follow-ups", error)
        end_alone(tx, run_id, RunState.SKIPPED, f"too old to start; {reason}")
    return len(late)


def skip_expired(tx: Tx, runs: Sequence[Run], *, node: str | None) -> None:
    """Skip locked runs that are too old to start, and notify their jobs.

    Args:
        tx: The transaction that has locked them, and their flows before them.
        runs: They have never begun.
        node: The node that found them.
    """
    owners = stored_tasks.by_ids(tx.conn, sorted({run.task_id for run in runs if run.task_id is not None}))
    for run in runs:
        assert run.expires_at is not None, "it may expire"
        sentence = expired_sentence(run.expires_at, run.available_at, tx.now)
        run_store.skip(tx.conn, [run.id], sentence, tx.now, SkipReason.EXPIRED)
        task = owners.get(run.task_id or 0)
        if task is not None and run.scheduled_for is not None and run.trigger is Trigger.SCHEDULE:
            policy = {"expiresAt": time_text(run.expires_at), "availableAt": time_text(run.available_at)}
            skip = Skip(SkipReason.EXPIRED, run.scheduled_for, run.scheduled_for, 1, policy)
            record_drop(tx, task, skip, node=node, run_id=run.id)
    tx.emit(run_change(run, RunState.SKIPPED, node=node) for run in runs)
    ended = ended_of((run, RunState.SKIPPED) for run in runs)
    settle(tx, ended)
    tx.wake(Wake.RUNS)
    free_places(tx, runs)
    _enqueue_expiry_jobs(tx, runs)


def _enqueue_expiry_jobs(tx: Tx, runs: Sequence[Run]) -> None:
    """Enqueue runs of the jobs that the jobs of these runs name by ``on_expired``; see ``put_following``."""
    of_note = [run for run in runs if EXPIRY_OF not in (run.carried or {})]
    defaults = jobs.defaults(tx.conn, {run.job_name for run in of_note})
    put_following(
        tx,
        [
            FollowUp(run.id, ON_EXPIRED, job, partial(_expiry_job, tx, job, run))
            for run in of_note
            if (job := defaults[run.job_name].on_expired) is not None
        ],
    )


def _expiry_job(tx: Tx, job_name: str, run: Run) -> NewRun:
    return NewRun(
        job_name=job_name,
        trigger=Trigger.API,
        args={"expired": _expired(run, tx).document()},
        inherits=FOLLOWED,
        carried={**handed_on(run.carried), EXPIRY_OF: run.id},
        parent_labels=run.labels,
    )


def _expired(run: Run, tx: Tx) -> Expired:
    assert run.expires_at is not None, "it has expired"
    hidden = {name: f"[secret {name}]" for name in references(run.args)}
    return Expired(
        run_id=run.id,
        job_name=run.job_name,
        expires_at=time_text(run.expires_at),
        waited=round((tx.now - run.available_at).total_seconds(), 3),
        task_name=run.task_name,
        args=resolved(run.args, hidden) if hidden else run.args,
    )
