"""Runs that the end of another one brings about, in the same transaction, and among them the jobs for failures."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ...core.arguments.secrets import references, resolved
from ...core.base.resources import handed_on
from ...core.defaults import FOLLOWED
from ...core.model import Json, NewRun, Run, Trigger
from ...core.outcome import Failure
from ...store.db.transaction import Tx
from ...store.read import jobs
from ..base.apart import ON_FAILURE, in_halves, note_lost
from ..base.shapes import HeldRun
from .enqueue import put_or_drop

FAILURE_OF = "failureOf"
"""Carried by the run of a job that is notified: the run that failed. The failure of such a run notifies no job."""


class FollowUp(NamedTuple):
    """A run that the end of another one brings about.

    ``run_id`` is the one that ended; ``kind`` says in words how it brings this about; ``job_name`` is that of the new
    run; ``make`` returns it.
    """

    run_id: int
    kind: str
    job_name: str
    make: Callable[[], NewRun]


def put_following(tx: Tx, follow_ups: Sequence[FollowUp]) -> None:
    """Enqueue the runs that follow the ends of runs. A refused one is recorded on its run and stops nothing else.

    Args:
        tx: The transaction in which they end; it goes on in any case.
        follow_ups: One of each is enqueued or left out.
    """
    lost = in_halves(tx, follow_ups, lambda some: put_or_drop(tx, [one.make() for one in some]))
    for one, error in lost:
        note_lost(tx, one.run_id, one.kind, one.job_name, error)


class FinalFailure(NamedTuple):
    """A run that has failed for good, and why."""

    run: Run | HeldRun
    error: str | None
    error_type: str | None


def failure_of(run: Run | HeldRun, error: str | None, error_type: str | None) -> Failure:
    """Return the report of a run that failed for good."""
    return Failure(
        run_id=run.id,
        job_name=run.job_name,
        attempt=run.attempt,
        error=error or "no reason given",
        error_type=error_type,
        task_name=run.task_name,
        args=shown_args(run),
    )


def shown_args(run: Run | HeldRun) -> Mapping[str, Json]:
    """Return the arguments of a run with ``[secret NAME]`` in the place of secrets."""
    hidden = {name: f"[secret {name}]" for name in references(run.args)}
    return resolved(run.args, hidden) if hidden else run.args


def enqueue_failure_jobs(tx: Tx, failed: Sequence[FinalFailure]) -> None:
    """Enqueue runs of the jobs that the jobs of these runs name by ``on_failure``; see ``put_following``."""
    of_note = [one for one in failed if FAILURE_OF not in (one.run.carried or {})]
    if not of_note:
        return
    defaults = jobs.defaults(tx.conn, {one.run.job_name for one in of_note})
    put_following(
        tx,
        [
            FollowUp(one.run.id, ON_FAILURE, job, partial(_failure_job, job, one))
            for one in of_note
            if (job := defaults[one.run.job_name].on_failure) is not None
        ],
    )


def _failure_job(job_name: str, failed: FinalFailure) -> NewRun:
    run = failed.run
    return NewRun(
        job_name=job_name,
        trigger=Trigger.API,
        args={"failure": failure_of(*failed).document()},
        inherits=FOLLOWED,
        carried={**handed_on(run.carried), FAILURE_OF: run.id},
        parent_labels=run.labels,
    )
