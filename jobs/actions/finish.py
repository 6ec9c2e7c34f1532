"""Attempts end: many in one transaction, each accepted at most once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ..core.events import Change, EventKind
from ..core.model import Json, Node, NodeState, Run
from ..core.outcome import CLAIM_LOST, JobOutcome, Lost, Settlement, settle
from ..core.states import FINAL, RunState
from ..store import executions, finishes, nodes
from ..store import runs as run_store
from ..store.logs import LogLine
from ..store.transaction import Tx, Wake
from .changes import finished_changes, run_change
from .logs import append_lines


@dataclass(frozen=True, slots=True)
class Finish:
    """An attempt that ended: the run as it was started, its execution, and how it ended.

    ``cancelled`` says that a cancel had been requested when the job ended. ``log_tail`` are its last lines, written
    in the same transaction; ``log_lines`` is how many are kept in all, ``log_cut`` how many were dropped.
    """

    run: Run
    execution_id: int
    outcome: JobOutcome
    cancelled: bool = False
    progress: Json = None
    log_tail: tuple[LogLine, ...] = ()
    log_lines: int = 0
    log_cut: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """Which results were accepted; the others were stale, because the run had been taken from this node."""

    accepted: frozenset[int]
    stale: frozenset[int]


def finish(tx: Tx, node_id: int, node: str, ended: Sequence[Finish]) -> Finished:
    """Write the ends of attempts. Repeating it after a lost answer changes nothing and reports the same.

    A run whose cancel was requested in the last moment (after ``cancelled`` was read) still ends cancelled.
    """
    before = run_store.lock(tx.conn, [one.run.id for one in ended])
    late_cancels = {run.id for run in before.values() if run.cancel_requested_at is not None}
    settled = [(one, _settled(one, cancelled=one.cancelled or one.run.id in late_cancels)) for one in ended]
    changed = finishes.finish_runs(tx.conn, node_id, [_run_row(tx, one, it) for one, it in settled])
    accepted = [(one, it) for one, it in settled if one.run.id in changed]
    if accepted:
        finishes.close_executions(tx.conn, [_execution_row(tx, one, it) for one, it in accepted])
        tail = [line for one, _ in accepted for line in one.log_tail]
        if tail:
            append_lines(tx, tail)
        for one, it in accepted:
            tx.emit(finished_changes(one.run, one.execution_id, node, it.state, it.outcome))
        tx.wake(Wake.RUNS)
    repeated = {
        one.run.id for one in ended if one.run.id not in changed and _is_done(before.get(one.run.id), one, node_id)
    }
    stale = {one.run.id for one in ended} - changed - repeated
    return Finished(frozenset(changed | repeated), frozenset(stale))


def _is_done(stored: Run | None, one: Finish, node_id: int) -> bool:
    """Whether the stored run already carries the end of exactly this attempt by this node."""
    return (
        stored is not None
        and stored.node_id == node_id
        and stored.attempt == one.run.attempt
        and stored.state is not RunState.RUNNING
    )


def _settled(one: Finish, *, cancelled: bool) -> Settlement:
    run = one.run
    return settle(
        one.outcome, failures=run.failures, retries=run.retries, base_delay=run.retry_delay, cancelled=cancelled
    )


def _run_row(tx: Tx, one: Finish, it: Settlement) -> tuple[Any, ...]:
    available = None if it.delay is None else tx.now + timedelta(seconds=it.delay)
    finished = tx.now if it.state in FINAL else None
    return (
        one.run.id,
        one.run.attempt,
        it.state.value,
        it.failures,
        available,
        finished,
        it.error,
        it.value,
        one.progress,
    )


def _execution_row(tx: Tx, one: Finish, it: Settlement) -> tuple[Any, ...]:
    return (
        one.execution_id,
        tx.now,
        it.outcome.is_success,
        it.outcome.value,
        it.error,
        it.error_type,
        it.traceback,
        it.records_processed,
        it.value,
        one.progress,
        one.log_lines,
        one.log_cut,
    )


def rescue(tx: Tx, dead: Node, *, reason: str) -> int:
    """Take everything from a dead node: fence it, close its executions as LOST, make its runs due again at once.

    Returns how many runs were rescued; 0 if the node lives after all or somebody else was faster.
    """
    if not nodes.fence(tx.conn, dead.id, dead.seq):
        return 0
    held = run_store.occupied_by(tx.conn, dead.id)
    _settle_held(tx, dead.id, dead.name, held, Lost(f"node {dead.name} was lost while it ran this job: {reason}"))
    tx.emit([Change(EventKind.NODE_STOPPED, node=dead.name, state=NodeState.EXPIRED.value)])
    tx.wake(Wake.RUNS | Wake.NODES)
    return len(held)


def disown(tx: Tx, node_id: int, node: str, known: Collection[int]) -> int:
    """Settle what a live node holds without knowing it: the answer of its claim was lost after the commit.

    Executions that nobody runs are closed as LOST and their runs are due again at once; reserved runs go back.

    Args:
        tx: The transaction.
        node_id: The caller's own node.
        node: Its name.
        known: The runs that the node executes or has reserved; it must not have a claim under way.

    Returns:
        How many runs were settled.
    """
    unknown = [run for run in run_store.occupied_by(tx.conn, node_id) if run.id not in known]
    sentence = f"node {node} held this run and did not execute it: an answer of the database was lost"
    _settle_held(tx, node_id, node, unknown, Lost(sentence, CLAIM_LOST))
    if unknown:
        tx.wake(Wake.RUNS)
    return len(unknown)


def release(tx: Tx, node_id: int, node: str, outcome: JobOutcome) -> int:
    """End in this way whatever a node that stops still holds, reserved runs go back; how many runs.

    Args:
        tx: The transaction.
        node_id: The caller's own node.
        node: Its name.
        outcome: How the open attempts end.
    """
    held = run_store.occupied_by(tx.conn, node_id)
    _settle_held(tx, node_id, node, held, outcome)
    return len(held)


def _settle_held(tx: Tx, node_id: int, node: str, held: Sequence[Run], outcome: JobOutcome) -> None:
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
