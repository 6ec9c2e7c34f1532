"""Close runs that a node will not end itself: of a dead node, of a lost answer, of a node that stops."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from ..core.events import Change, EventKind
from ..core.nodes import Node, NodeState
from ..core.outcome import CLAIM_LOST, JobOutcome, Lost
from ..core.states import RunState
from ..store.db.transaction import Tx, Wake
from ..store.statements import executions, nodes
from ..store.statements import runs as stored_runs
from .base import runs as run_store
from .base.apart import in_halves, reason_of
from .base.changes import run_change
from .finish import Finish, finish
from .flows.flow_ends import end_alone, hold_of
from .remote import unattended


def rescue(tx: Tx, dead: Node, *, reason: str) -> int:
    """Take everything from a dead node: fence it, close its executions as LOST, make its runs due again at once.

    Returns how many runs were rescued; 0 if the node lives after all or somebody else was faster.
    """
    if not nodes.fence(tx.conn, dead.id, dead.seq):
        return 0
    held = _close_held(tx, dead.id, dead.name, Lost(f"node {dead.name} was lost while it ran this job: {reason}"))
    nodes.forget_versions(tx.conn)
    tx.emit([Change(EventKind.NODE_STOPPED, node=dead.name, state=NodeState.EXPIRED.value)])
    tx.wake(Wake.NODES)
    return held


def disown(tx: Tx, node_id: int, node: str, known: Collection[int]) -> int:
    """Close the runs that a live node holds without knowing it: the answer of its claim was lost after the commit.

    Executions that nobody runs are closed as LOST and their runs are due again at once; reserved runs go back.

    Args:
        node_id: The caller's own node.
        known: The runs that the node executes or has reserved; it must not have a claim under way.

    Returns:
        How many runs were closed or went back.
    """
    sentence = f"node {node} held this run and did not execute it: an answer of the database was lost"
    return _close_held(tx, node_id, node, Lost(sentence, CLAIM_LOST), known)


def release(tx: Tx, node_id: int, node: str, outcome: JobOutcome) -> int:
    """End the runs that a stopping node still holds with ``outcome``, put back reserved runs; return how many runs.

    Args:
        node_id: The caller's own node.
        outcome: How the open attempts end.
    """
    return _close_held(tx, node_id, node, outcome)


def _close_held(tx: Tx, node_id: int, node: str, outcome: JobOutcome, known: Collection[int] = ()) -> int:
    """End the open attempts that a node holds, apart from ``known`` ones; give back the runs that it had only reserved.

    A run that cannot be read or ended so, fails with the reason, and the others go on. Returns how many were held.
    """
    # Flows are locked before their runs.
    hold_of(tx.conn, *run_store.occupied(node_id))
    held = [run_id for run_id in run_store.occupied_by(tx.conn, node_id) if run_id not in known]
    elsewhere = unattended(tx.conn, held) if held else set[int]()
    if elsewhere:
        # Their code goes on at its engine, and another node looks after it.
        held = [run_id for run_id in held if run_id not in elsewhere]
        tx.wake(Wake.REMOTE)
    if not held:
        return 0
    open_rows = executions.open_of_node(tx.conn, node_id)
    by_attempt = {(row.run_id, row.attempt): row.id for row in open_rows}

    def close(ids: Sequence[int]) -> None:
        runs = stored_runs.by_ids(tx.conn, ids).values()
        ended = [
            Finish(run, by_attempt[run.id, run.attempt], outcome, cancelled=run.cancel_requested_at is not None)
            for run in runs
            if run.state is RunState.RUNNING and (run.id, run.attempt) in by_attempt
        ]
        if ended:
            finish(tx, node_id, node, ended)
        reserved = [run for run in runs if run.state is RunState.SCHEDULED]
        run_store.hand_back(tx.conn, [run.id for run in reserved])
        tx.emit(run_change(run, RunState.WAITING) for run in reserved)

    for run_id, error in in_halves(tx, held, close):
        reason = reason_of(
            f"the attempt of run {run_id} on node {node} is over and cannot be ended as others are", error
        )
        if not run_store.hand_back_scheduled(tx.conn, {"id": run_id}):
            end_alone(tx, run_id, RunState.FAILED, f"{_UNREADABLE}; {reason}")
    tx.wake(Wake.RUNS)
    return len(held)


_UNREADABLE: Final = (
    "the row of this run in the database cannot be read, or its end cannot be stored; set it right, and retry the run"
)


def hand_back(tx: Tx, condition: Mapping[str, Any]) -> list[int]:
    """Give scheduled runs back to the queue, those for which all columns of ``condition`` are equal."""
    ids = run_store.hand_back_scheduled(tx.conn, condition)
    tx.emit(run_change(run, RunState.WAITING) for run in stored_runs.by_ids(tx.conn, ids).values())
    if ids:
        tx.wake(Wake.RUNS)
    return ids
