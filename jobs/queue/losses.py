"""What a node holds and will not end itself: runs of a dead node, of a lost answer, of a node that stops."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from ..core.events import Change, EventKind
from ..core.model import Run
from ..core.nodes import Node, NodeState
from ..core.outcome import CLAIM_LOST, UNREADABLE_RUN, JobOutcome, Lost
from ..core.states import RunState
from ..store.db.transaction import Tx, Wake
from ..store.read import executions
from ..store.read import runs as stored_runs
from ..store.write import jobs, nodes
from .base import runs as run_store
from .base.changes import run_change
from .finish import Finish, finish
from .flows.flow_ends import hold_of


def rescue(tx: Tx, dead: Node, *, reason: str) -> int:
    """Take everything from a dead node: fence it, close its executions as LOST, make its runs due again at once.

    Returns how many runs were rescued; 0 if the node lives after all or somebody else was faster.
    """
    if not nodes.fence(tx.conn, dead.id, dead.seq):
        return 0
    held = _held_by(tx.conn, dead.id)
    _close_held(tx, dead.id, dead.name, held, Lost(f"node {dead.name} was lost while it ran this job: {reason}"))
    _end_unreadable(tx, dead.id, dead.name, {run.id for run in held})
    jobs.forget_versions(tx.conn)
    tx.emit([Change(EventKind.NODE_STOPPED, node=dead.name, state=NodeState.EXPIRED.value)])
    tx.wake(Wake.RUNS | Wake.NODES)
    return len(held)


def disown(tx: Tx, node_id: int, node: str, known: Collection[int]) -> int:
    """Close what a live node holds without knowing it: the answer of its claim was lost after the commit.

    Executions that nobody runs are closed as LOST and their runs are due again at once; reserved runs go back.

    Args:
        tx: The transaction.
        node_id: The caller's own node.
        node: Its name.
        known: The runs that the node executes or has reserved; it must not have a claim under way.

    Returns:
        How many runs were closed or went back.
    """
    held = _held_by(tx.conn, node_id)
    unknown = [run for run in held if run.id not in known]
    sentence = f"node {node} held this run and did not execute it: an answer of the database was lost"
    _close_held(tx, node_id, node, unknown, Lost(sentence, CLAIM_LOST))
    if unknown:
        tx.wake(Wake.RUNS)
    return len(unknown) + _end_unreadable(tx, node_id, node, {*known, *(run.id for run in held)})


def release(tx: Tx, node_id: int, node: str, outcome: JobOutcome) -> int:
    """End in this way what a node that stops still holds, reserved runs go back; how many runs.

    Args:
        tx: The transaction.
        node_id: The caller's own node.
        node: Its name.
        outcome: How the open attempts end.
    """
    held = _held_by(tx.conn, node_id)
    _close_held(tx, node_id, node, held, outcome)
    _end_unreadable(tx, node_id, node, {run.id for run in held})
    return len(held)


def _held_by(conn: Connection, node_id: int) -> list[Run]:
    """The runs that a node holds, locked after their flows."""
    hold_of(conn, *run_store.occupied(node_id))
    return run_store.occupied_by(conn, node_id)


def _close_held(tx: Tx, node_id: int, node: str, held: Sequence[Run], outcome: JobOutcome) -> None:
    """End the open attempts of these locked runs of a node, and give back those that it had only reserved."""
    open_rows = executions.open_of_node(tx.conn, node_id)
    by_attempt = {(row.run_id, row.attempt): row.id for row in open_rows}
    ended = [
        Finish(run, by_attempt[run.id, run.attempt], outcome, cancelled=run.cancel_requested_at is not None)
        for run in held
        if run.state is RunState.RUNNING and (run.id, run.attempt) in by_attempt
    ]
    if ended:
        finish(tx, node_id, node, ended)
    reserved = [run for run in held if run.state is RunState.SCHEDULED]
    run_store.hand_back(tx.conn, [run.id for run in reserved])
    tx.emit(run_change(run, RunState.WAITING) for run in reserved)


def _end_unreadable(tx: Tx, node_id: int, node: str, known: Collection[int]) -> int:
    """Have the runs fail that a node began and nobody can read; how many.

    They are those that a claim began with others, without reading them, and that were damaged while they ran. Begun
    again they would be as unreadable as before.
    """
    # A flow goes on or ends once its run is set right and asked for again; its columns may be the damage.
    ended = run_store.end_others(tx.conn, node_id, known, _UNREADABLE, tx.now)
    if ended:
        run_store.close_attempts(tx.conn, ended, UNREADABLE_RUN, _UNREADABLE, tx.now)
        tx.emit(Change(EventKind.RUN_UPDATED, run_id=one, node=node, state=RunState.FAILED.value) for one in ended)
        tx.wake(Wake.RUNS)
    return len(ended)


_UNREADABLE: Final = (
    "the row of this run in the database cannot be read, so it could not be executed; the log of the node names the "
    "column. Set it right, and retry the run"
)


def hand_back(tx: Tx, condition: Mapping[str, Any]) -> list[int]:
    """Give scheduled runs back to the queue, those for which all columns of ``condition`` are equal."""
    ids = run_store.hand_back_scheduled(tx.conn, condition)
    tx.emit(run_change(run, RunState.WAITING) for run in stored_runs.by_ids(tx.conn, ids).values())
    if ids:
        tx.wake(Wake.RUNS)
    return ids
