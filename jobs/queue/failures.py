"""What happens when runs have failed for good: the jobs that want to be told get runs, in the same transaction."""

from collections.abc import Sequence

from ..core.arguments.secrets import references, resolved
from ..core.defaults import FOLLOWED
from ..core.model import NewRun, Run, Trigger
from ..core.outcome import Failure
from ..store.db.transaction import Tx
from ..store.read import jobs
from .endings import Ending
from .enqueue import put_or_drop
from .shapes import HeldRun

FAILURE_OF = "failureOf"
"""Carried by the run of a job that is told: the run that failed. Nobody is told of the failure of such a run."""


def failure_of(run: Run | HeldRun, error: str | None, error_type: str | None) -> Failure:
    """What is told of a run that failed for good."""
    hidden = {name: f"[secret {name}]" for name in references(run.args)}
    return Failure(
        run_id=run.id,
        job_name=run.job_name,
        attempt=run.attempt,
        error=error or "no reason given",
        error_type=error_type,
        task_name=run.task_name,
        args=resolved(run.args, hidden) if hidden else run.args,
    )


def enqueue_failure_jobs(tx: Tx, failed: Sequence[tuple[Run | HeldRun, Ending]]) -> None:
    """Put runs of the jobs into the queue that the jobs of these runs name by ``on_failure``."""
    of_note = [(run, ending) for run, ending in failed if FAILURE_OF not in (run.carried or {})]
    if not of_note:
        return
    defaults = jobs.defaults(tx.conn, {run.job_name for run, _ in of_note})
    heirs = [
        NewRun(
            job_name=heir,
            trigger=Trigger.API,
            args={"failure": failure_of(run, ending.error, ending.error_type).document()},
            inherits=FOLLOWED,
            carried={**(run.carried or {}), FAILURE_OF: run.id},
            parent_labels=run.labels,
        )
        for run, ending in of_note
        if (heir := defaults[run.job_name].on_failure) is not None
    ]
    if heirs:
        put_or_drop(tx, heirs)
