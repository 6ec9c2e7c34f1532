"""Delete tasks, and cancel their unfinished runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.base.errors import ErrorCode, InvalidState
from ..core.events import EventKind
from ..core.model import Run, Task, TaskSource
from ..core.rules import MAX_NAME, check_text
from ..queue.base.changes import task_change
from ..queue.cancel import cancel_all, hold_runs_of_tasks
from ..queue.occurrences import catch_up
from ..store.db.transaction import Tx, Wake
from ..store.read import jobs as stored_jobs
from ..store.read import runs as run_store
from ..store.read import tasks as stored_tasks
from ..store.write import tasks
from .tasks import by, locked, revise


@dataclass(frozen=True, slots=True)
class DeletedTask:
    """Hold the results of a deletion.

    Attributes:
        runs: Its runs that were cancelled or asked to stop, as they are now.
    """

    task: Task
    runs: list[Run]


def delete_task(tx: Tx, name: str, *, actor: str | None = None) -> DeletedTask:
    """Delete a task: its waiting runs are cancelled, running ones are asked to stop, its history stays.

    Raises:
        InvalidState: a live node declares the task in its code; it can only be paused.
    """
    hold_runs_of_tasks(tx, stored_tasks.by_names(tx.conn, [name]).values())
    task = locked(tx, name)
    nodes = stored_jobs.declaring(tx.conn, [name]).get(name) if task.source is TaskSource.CODE else None
    if nodes:
        raise InvalidState(
            f"task '{name}' is declared in the code of {_nodes(nodes)} and would come back at the next start; pause it "
            "instead, or take its schedule out of the code first",
            path=("name",),
            code=ErrorCode.CODE_TASK,
        )
    task = catch_up(tx, task)
    return DeletedTask(task, _delete(tx, task, f"task '{name}' was deleted{by(actor)}"))


def delete_tasks_of_owner(tx: Tx, owner: str, *, actor: str | None = None) -> list[Task]:
    """Delete all tasks of an owner that no live node declares in code, as ``delete_task`` does; return them.

    Raises:
        InvalidInput: the owner is empty or no name of one.
    """
    check_text(owner, "owner", least=1, most=MAX_NAME)
    hold_runs_of_tasks(tx, stored_tasks.of_owner(tx.conn, owner))
    owned = stored_tasks.of_owner(tx.conn, owner, lock=True)
    declared = stored_jobs.declaring(tx.conn, {task.name for task in owned if task.source is TaskSource.CODE})
    doomed = [task for task in owned if task.source is not TaskSource.CODE or task.name not in declared]
    for task in doomed:
        _delete(tx, catch_up(tx, task), f"the tasks of owner '{owner}' were deleted{by(actor)}")
    return doomed


def _nodes(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"node '{names[0]}'{more}"


def _delete(tx: Tx, task: Task, reason: str) -> list[Run]:
    runs = cancel_all(tx, run_store.unfinished_of_tasks(tx.conn, [task.id]), reason=reason)
    tasks.remove(tx.conn, task.id)
    revise(tx, task, None)
    tx.emit([task_change(EventKind.TASK_DELETED, task)])
    tx.wake(Wake.TASKS)
    return runs
