"""Which events a change of a run, a task or an execution emits."""

from collections.abc import Iterable

from ..core.events import Change, EventKind
from ..core.held import HeldRun
from ..core.model import Outcome, Run, Task
from ..core.states import RunState
from ..store.write.claims import Reserved


def task_change(kind: EventKind, task: Task) -> Change:
    """The event of a created, updated or deleted task."""
    return Change(kind, task_id=task.id, task_name=task.name, job_name=task.spec.job_name, group=task.spec.group)


def run_change(
    run: Run | HeldRun | Reserved, state: RunState, *, kind: EventKind = EventKind.RUN_UPDATED, node: str | None = None
) -> Change:
    """The event of a run that is in ``state`` now."""
    return Change(
        kind,
        task_id=run.task_id,
        task_name=run.task_name,
        run_id=run.id,
        job_name=run.job_name,
        group=run.group,
        node=node,
        state=state.value,
    )


def started_changes(run: Run | HeldRun, execution_id: int, node: str) -> Iterable[Change]:
    """The two events of an attempt that begins."""
    yield run_change(run, RunState.RUNNING, node=node)
    yield _execution(EventKind.EXECUTION_STARTED, run, execution_id, node, RunState.RUNNING.value)


def finished_changes(
    run: Run | HeldRun, execution_id: int, node: str, state: RunState, outcome: Outcome
) -> Iterable[Change]:
    """The two events of an attempt that ended."""
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
    )
