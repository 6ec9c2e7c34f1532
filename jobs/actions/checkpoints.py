"""Progress and checkpoints of running jobs."""

from collections.abc import Sequence

from ..core.model import Json, Run
from ..core.states import RunState
from ..queue.base import runs as run_store
from ..queue.base.changes import run_change
from ..queue.base.shapes import HeldRun
from ..store.db.transaction import Tx
from ..store.write import tasks


def save_checkpoint(tx: Tx, run: Run | HeldRun, value: Json) -> bool:
    """Keep a checkpoint with the task of ``run``, or with the run where there is none.

    False if the run was taken from its node meanwhile.
    """
    stored = run_store.lock(tx.conn, [run.id]).get(run.id)
    is_ours = (
        stored is not None
        and stored.state is RunState.RUNNING
        and stored.attempt == run.attempt
        and stored.node_id == run.node_id
    )
    if is_ours and (run.task_id is None or not tasks.save_checkpoint(tx.conn, run.task_id, value, tx.now)):
        run_store.save_checkpoint(tx.conn, run.id, value)
    return is_ours


def save_progress(tx: Tx, rows: Sequence[tuple[Run | HeldRun, Json]]) -> None:
    """Keep the newest progress of running runs and tell subscribers."""
    by_id = {run.id: run for run, _ in rows}
    changed = run_store.save_progress(tx.conn, [(run.id, run.attempt, run.node_id, progress) for run, progress in rows])
    tx.emit(run_change(by_id[run_id], RunState.RUNNING, node=by_id[run_id].node) for run_id in sorted(changed))
