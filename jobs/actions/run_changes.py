"""Look at one run of an application, and carry out the changes that it asks for."""

from collections.abc import Sequence

from ..core.base.errors import NotFound
from ..core.model import Execution, Run
from ..core.rules import unknown
from ..core.run_spec import Cancel, ReplaceArgs, Reschedule, RunTarget
from ..core.waits import RunChange
from ..store.db.database import Connection
from ..store.db.transaction import Tx
from ..store.statements import executions
from ..store.statements import runs as stored_runs
from .runs import cancel_runs, edit_run
from .signals import signal_run


def changed(tx: Tx, target: RunTarget, change: RunChange) -> Run:
    """Change the run that a target names; return the run afterwards.

    Raises:
        NotFound: there is no such run.
        UserError: see ``cancel_runs``, ``edit_run`` and ``signal_run``.
    """
    run = run_of(tx, target)
    if run is None:
        raise _missing(target)
    match change:
        case Cancel(reason=reason):
            return cancel_runs(tx, [run.id], reason=reason)[0]
        case Reschedule(run_at=run_at):
            return edit_run(tx, run.id, available_at=run_at)
        case ReplaceArgs(args=args):
            return edit_run(tx, run.id, args=dict(args))
        case _:
            return signal_run(tx, run_id=run.id, signal=change)


def run_of(tx: Tx, target: RunTarget) -> Run | None:
    """Return the run that a target names; None if there is none, or it is one of another job."""
    if target.unique_key is not None:
        found = stored_runs.unfinished_with_key(tx.conn, target.unique_key)
    else:
        found = None if target.run_id is None else stored_runs.by_ids(tx.conn, [target.run_id]).get(target.run_id)
    return found if found is not None and target.job_name in (None, found.job_name) else None


def history_of(conn: Connection, run_id: int) -> tuple[Run, Sequence[Execution]] | None:
    """Return a run and its attempts in order; None if there is no such run."""
    run = stored_runs.by_ids(conn, [run_id]).get(run_id)
    return None if run is None else (run, executions.of_run(conn, run_id))


def _missing(target: RunTarget) -> NotFound:
    kind = "run" if target.job_name is None else f"run of job '{target.job_name}'"
    if target.unique_key is not None:
        return unknown(f"unfinished {kind} with the unique key", target.unique_key, [], field="unique_key")
    return unknown(kind, str(target.run_id), [], field="id")
