"""Runs that ended badly are cleaned up after: the cleanups of their steps are a flow, the last step first.

This is a part of the transaction in which the runs end, so it happens once, whichever node ends them.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import bindparam, select

from ...core.base.resources import handed_on
from ...core.defaults import FOLLOWED
from ...core.flows import NewFlow, NewMember, StartedBy, When
from ...core.model import NewRun, Run, Trigger
from ...core.outcome import Cancellation
from ...core.rules import MAX_UNIQUE_KEY
from ...core.steps import PLACE
from ...store.db.transaction import Tx
from ...store.read import jobs
from ...store.schema.callbacks import callback_from
from ...store.schema.tables import run_step as s
from ..base.apart import CLEANUP, ON_CANCEL, in_halves, note_lost
from ..base.shapes import HeldRun
from ..enqueue.follow_ups import FAILURE_OF, FollowUp, put_following, shown_args
from .new_flows import put_flow

_CLEANUPS: Final = (
    select(s.c.run_id, s.c.step, s.c.attempt, s.c.cleanup)
    .where(s.c.run_id.in_(bindparam("ids", expanding=True)), s.c.failure == 0, s.c.cleanup.is_not(None))
    .order_by(s.c.run_id)
)


def undo(tx: Tx, ended: Sequence[Run | HeldRun]) -> None:
    """Enqueue the cleanups of steps of runs that have failed for good or were cancelled.

    Of each run it is a flow, in which each cleanup starts after the one before it has ended, however that ended.
    """
    begun = {run.id: run for run in ended if run.attempt > 0}
    if not begun:
        return
    rows = tx.conn.execute(_CLEANUPS, {"ids": sorted(begun)}).all()
    flows = [
        (begun[run_id], sorted(some, key=_order, reverse=True)) for run_id, some in groupby(rows, attrgetter("run_id"))
    ]
    lost = in_halves(tx, flows, lambda some: [_put(tx, *one) for one in some])
    for (run, _), error in lost:
        note_lost(tx, run.id, CLEANUP, None, error)


def _order(row: Any) -> tuple[int, int]:
    """Return the order in which cleanups were registered."""
    return row.attempt, row.cleanup[PLACE]


def _put(tx: Tx, run: Run | HeldRun, rows: Sequence[Any]) -> int:
    """Put the cleanups of a run, in their order, into the queue; return their flow."""
    members: list[NewMember] = []
    for number, row in enumerate(rows, 1):
        key = row.step if len(row.step) <= MAX_UNIQUE_KEY else f"step {number}"
        new = replace(callback_from(row.cleanup), submitter=run.submitter, submitter_id=run.submitter_id)
        members.append(NewMember(key, new, tuple(one.key for one in members[-1:]), When.ALWAYS))
    flow = NewFlow(
        f"cleanup of run {run.id}",
        tuple(members),
        labels=dict(run.labels) if run.labels else None,
        started_by=StartedBy(run.id, run.task_id),
    )
    return put_flow(tx, flow, run.submitter, run.submitter_id)


def enqueue_cancel_jobs(tx: Tx, cancelled: Sequence[tuple[Run | HeldRun, str | None]]) -> None:
    """Enqueue runs of the jobs that the jobs of these cancelled runs name by ``on_cancel``.

    Args:
        tx: The transaction in which they end.
        cancelled: Each with the reason.
    """
    of_note = [(run, reason) for run, reason in cancelled if FAILURE_OF not in (run.carried or {})]
    if not of_note:
        return
    defaults = jobs.defaults(tx.conn, {run.job_name for run, _ in of_note})
    put_following(
        tx,
        [
            FollowUp(run.id, ON_CANCEL, job, partial(_cancel_job, job, run, reason))
            for run, reason in of_note
            if (job := defaults[run.job_name].on_cancel) is not None
        ],
    )


def _cancel_job(job_name: str, run: Run | HeldRun, reason: str | None) -> NewRun:
    cancellation = Cancellation(run.id, run.job_name, run.attempt, reason, run.task_name, shown_args(run))
    return NewRun(
        job_name=job_name,
        trigger=Trigger.API,
        args={"cancellation": cancellation.document()},
        inherits=FOLLOWED,
        carried={**handed_on(run.carried), FAILURE_OF: run.id},
        parent_labels=run.labels,
    )
