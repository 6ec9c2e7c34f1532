"""Emit the events of changed runs, tasks and executions, and order them among all others."""

from collections.abc import Iterable, Sequence

from sqlalchemy import CursorResult

from ...core.events import CREATED, Change, EventKind, Listed, created
from ...core.model import Outcome, Run, Task
from ...core.states import RunState
from ...store.db.transaction import Tx, Wake
from ...store.statements import events
from . import statements
from .shapes import HeldRun, Reserved, reserved_from


def task_change(kind: EventKind, task: Task) -> Change:
    """Return the event of a created, updated or deleted task."""
    return Change(kind, task_id=task.id, task_name=task.name, job_name=task.spec.job_name, group=task.spec.group)


def run_change(run: Run | HeldRun | Reserved, state: RunState, *, node: str | None = None) -> Change:
    """Return the event of a run that is in ``state`` now."""
    return Change(
        EventKind.RUN_UPDATED,
        task_id=run.task_id,
        task_name=run.task_name,
        run_id=run.id,
        job_name=run.job_name,
        group=run.group,
        node=node,
        state=state.value,
        flow_id=run.flow_id,
    )


def created_changes(runs: Sequence[Run]) -> Listed:
    """Return the events of new runs that wait."""
    alone = created((run.id, run.job_name, run.group) for run in runs if run.task_id is None)
    of_tasks = [
        (run.id, run.job_name, run.group, run.task_id, run.task_name) for run in runs if run.task_id is not None
    ]
    return Listed(CREATED, [*alone.runs, *of_tasks]) if of_tasks else alone


def many_changes(entry: str, node: str, runs: Iterable[tuple[Run | HeldRun, int]]) -> Listed:
    """Return the run and the execution event of each attempt that began (``STARTED``) or succeeded (``ENDED``)."""
    listed = [
        (run.id, execution_id, run.job_name, run.group, run.task_id, run.task_name)
        if run.flow_id is None
        else (run.id, execution_id, run.job_name, run.group, run.task_id, run.task_name, run.flow_id)
        for run, execution_id in runs
    ]
    return Listed(entry, listed, node)


def finished_changes(
    run: Run | HeldRun, execution_id: int, node: str, state: RunState, outcome: Outcome
) -> Iterable[Change]:
    """Yield the two events of an attempt that ended."""
    yield _execution(EventKind.EXECUTION_FINISHED, run, execution_id, node, outcome.value)
    yield run_change(run, state, node=node)


def _execution(kind: EventKind, run: Run | HeldRun, execution_id: int, node: str, state: str) -> Change:
    return Change(
        kind,
        task_id=run.task_id,
        task_name=run.task_name,
        run_id=run.id,
        execution_id=execution_id,
        job_name=run.job_name,
        group=run.group,
        node=node,
        state=state,
        flow_id=run.flow_id,
    )


def publish(tx: Tx, limit: int) -> int:
    """Number up to ``limit`` transactions whose changes have no place yet, oldest first; returns how many."""
    return events.publish(tx.conn, limit)


def wake(tx: Tx, ids: Sequence[int]) -> list[int]:
    """Wake those of these runs that are suspended; return their ids, ascending. The others are left as they are.

    They wait again, and are due now. The next attempt uses no retry.
    """
    if not ids:
        return []
    return _woken(tx, statements.execute(tx.conn, "wake", {"ids": list(ids), "now": tx.now}))


def wake_due(tx: Tx, limit: int) -> list[int]:
    """Wake up to ``limit`` suspended runs that are due, but none that somebody changes; return their ids."""
    return _woken(tx, statements.execute(tx.conn, "wake_due", {"limit": limit, "now": tx.now}))


def _woken(tx: Tx, rows: CursorResult[tuple[object, ...]]) -> list[int]:
    woken = sorted(map(reserved_from, rows), key=lambda run: run.id)
    tx.emit(run_change(run, RunState.WAITING) for run in woken)
    if woken:
        tx.wake(Wake.RUNS)
    return [run.id for run in woken]
