"""A node takes runs from the queue and starts them, in fair order, one transaction for many."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ..core.dispatch import Skip
from ..core.fairness import Candidate, FairnessState, take
from ..core.model import Json, Run, SkipReason, Task, Trigger
from ..core.policies import earliest_start, effective_tolerance, interval_of
from ..core.states import RunState
from ..store import claims, nodes, tasks
from ..store import runs as run_store
from ..store.transaction import Tx
from .changes import run_change, started_changes
from .skips import record_drop

MAX_DEPTH = 50
"""How many runs one round looks for; larger claims take several rounds in the same transaction."""
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Claimant:
    """The node that takes runs, and the jobs it can run."""

    node_id: int
    node: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """A run whose attempt has begun: ``run`` as it is now, its open execution, and its task's last checkpoint."""

    run: Run
    execution_id: int
    checkpoint: Json = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim brought: started runs, runs reserved ahead, and the fairness state to go on with.

    ``fenced``: the node was declared dead meanwhile and may take nothing.
    """

    started: tuple[Started, ...]
    reserved: tuple[int, ...]
    fairness: FairnessState
    fenced: bool = False


def claim(tx: Tx, claimant: Claimant, fairness: FairnessState, *, slots: int, prefetch: int = 0) -> Claimed:
    """Take up to ``slots`` runs to start at once and ``prefetch`` more to start later.

    Runs that start have their attempt counted and their execution opened in this transaction, so that a job which
    kills its node counts too. ``fairness`` is not changed; take the returned one once the transaction is committed.
    """
    if not nodes.is_live(tx.conn, claimant.node_id):
        return Claimed((), (), fairness, fenced=True)
    state = fairness.copy()
    started: list[Started] = []
    for runs in _rounds(tx, claimant, state, slots):
        started += _start(tx, claimant, runs)
    reserved: list[int] = []
    if len(started) == slots:
        for runs in _rounds(tx, claimant, state, prefetch):
            reserved += _reserve(tx, claimant, runs)
    return Claimed(tuple(started), tuple(reserved), state)


def start_reserved(tx: Tx, claimant: Claimant, ids: Sequence[int]) -> tuple[Started, ...]:
    """Start runs reserved by this node; those cancelled or taken away meanwhile are left out."""
    if not nodes.is_live(tx.conn, claimant.node_id):
        return ()
    locked = claims.lock_scheduled(tx.conn, ids, claimant.node_id)
    kept = _without_dropped(tx, claimant, [locked[run_id] for run_id in ids if run_id in locked])
    return _start(tx, claimant, kept)


def _rounds(tx: Tx, claimant: Claimant, state: FairnessState, wanted: int) -> Iterator[list[Run]]:
    """Rounds of takes until ``wanted`` is reached or nothing is left; the caller takes each round's runs at once."""
    elsewhere: set[int] = set()
    for _ in range(_ROUNDS):
        count = min(wanted, MAX_DEPTH)
        if count <= 0:
            return
        want = claims.Want(tx.now, claimant.jobs, count + len(elsewhere))
        found = _not_taken(claims.candidates(tx.conn, want, state.last_group), elsewhere)
        if not found:
            return
        runs, missed = _round(tx, claimant, state, found, count)
        yield runs
        wanted -= len(runs)
        elsewhere |= missed
        if not missed and len(runs) < count:
            return


def _not_taken(found: list[Candidate], elsewhere: set[int]) -> list[Candidate]:
    """``found`` less what other nodes are taking at this moment, and less the other runs of such an exclusive task."""
    blocked = {one.blocks for one in found if one.run_id in elsewhere and one.blocks is not None}
    return [one for one in found if one.run_id not in elsewhere and one.blocks not in blocked]


def _round(
    tx: Tx, claimant: Claimant, state: FairnessState, found: list[Candidate], count: int
) -> tuple[list[Run], set[int]]:
    """Choose, lock, judge; choose again among what could be locked and may start.

    Returns the runs in fair order, and those that were chosen at first but are taken by others or were dropped.
    """
    capacities = claims.free_capacities(tx.conn, sorted({candidate.group for candidate in found}))
    trial = take(state.copy(), found, count, capacities=capacities)
    locked = claims.lock_claimable(tx.conn, [candidate.run_id for candidate in trial])
    mine = [locked[candidate.run_id] for candidate in trial if candidate.run_id in locked]
    startable = {run.id for run in _without_dropped(tx, claimant, mine)}
    chosen = take(state, [one for one in found if one.run_id in startable], count, capacities=capacities)
    missed = {candidate.run_id for candidate in trial} - startable
    return [locked[candidate.run_id] for candidate in chosen], missed


def _reserve(tx: Tx, claimant: Claimant, runs: Sequence[Run]) -> list[int]:
    ids = [run.id for run in runs]
    if ids:
        claims.reserve(tx.conn, ids, claimant.node_id)
        tx.emit(run_change(run, RunState.SCHEDULED, node=claimant.node) for run in runs)
    return ids


def _without_dropped(tx: Tx, claimant: Claimant, runs: Sequence[Run]) -> list[Run]:
    """``runs`` less those that start too early after the task's last start; these are dropped, with the reason."""
    judged = {run.task_id for run in runs if _is_first_scheduled_start(run) and run.task_id is not None}
    owners = tasks.by_ids(tx.conn, sorted(judged)) if judged else {}
    kept: list[Run] = []
    for run in runs:
        task = owners.get(run.task_id or 0) if _is_first_scheduled_start(run) else None
        earliest = earliest_start(task.spec, task.last_started_at) if task is not None else None
        if task is not None and earliest is not None and tx.now < earliest:
            _drop(tx, claimant, run, task, earliest)
            continue
        if task is not None:
            owners[task.id] = replace(task, last_started_at=tx.now)
        kept.append(run)
    return kept


def _is_first_scheduled_start(run: Run) -> bool:
    """Only the first start of a run made by the schedule is judged by the tolerance and sets the last start."""
    return run.attempt == 0 and run.trigger is Trigger.SCHEDULE


def _drop(tx: Tx, claimant: Claimant, run: Run, task: Task, earliest: datetime) -> None:
    nominal = run.scheduled_for or run.submitted_at
    policy: dict[str, Any] = {
        "interval": interval_of(task.spec.schedule),
        "tolerance": effective_tolerance(task.spec),
    }
    sentence = (
        f"about to start at {tx.now.isoformat()}, but the task's last start allows the next no earlier than "
        f"{earliest.isoformat()} (last start + interval - tolerance)"
    )
    run_store.skip(tx.conn, [run.id], sentence, tx.now)
    record_drop(tx, task, Skip(SkipReason.TOLERANCE, nominal, nominal, 1, policy), node=claimant.node, run_id=run.id)
    tx.emit([run_change(run, RunState.SKIPPED, node=claimant.node)])


def _start(tx: Tx, claimant: Claimant, runs: Sequence[Run]) -> tuple[Started, ...]:
    if not runs:
        return ()
    claims.start(tx.conn, [run.id for run in runs], claimant.node_id, tx.now)
    executions = claims.open_executions(tx.conn, runs, claimant.node_id, claimant.node, tx.now)
    _mark_task_starts(tx, runs)
    for run in runs:
        tx.emit(started_changes(run, executions[run.id], claimant.node))
    of_tasks = sorted({run.task_id for run in runs if run.task_id is not None})
    checkpoints = tasks.checkpoints(tx.conn, of_tasks) if of_tasks else {}
    return tuple(
        Started(_as_started(run, claimant, tx.now), executions[run.id], checkpoints.get(run.task_id or 0))
        for run in runs
    )


def _mark_task_starts(tx: Tx, runs: Iterable[Run]) -> None:
    firsts = {run.task_id for run in runs if _is_first_scheduled_start(run) and run.task_id is not None}
    if firsts:
        tasks.mark_started(tx.conn, sorted(firsts), tx.now)


def _as_started(run: Run, claimant: Claimant, now: datetime) -> Run:
    return replace(
        run,
        state=RunState.RUNNING,
        attempt=run.attempt + 1,
        node_id=claimant.node_id,
        node_name=claimant.node,
        started_at=now,
        progress=None,
    )
