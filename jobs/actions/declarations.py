"""Schedules that are declared in code become tasks, and tasks follow their declarations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..core.model import Task, TaskSource, TaskSpec
from ..queue.occurrences import catch_up_some
from ..store.db.transaction import Tx
from ..store.read import tasks as stored_tasks
from ..store.write import tasks
from .tasks import BY_CODE, declare_new, follow_declaration, pause_task, resume_task

_CAUGHT_UP = 60.0
"""Seconds: occurrences due longer ago are left to the dispatcher, so that no start waits for a long downtime."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Hold the results of the declarations.

    Attributes:
        warnings: For people.
        postponed: Tasks that have to catch up with missed occurrences before they follow their new declaration; declare
            again once the dispatcher has seen to that.
    """

    warnings: tuple[str, ...]
    postponed: tuple[str, ...]


def declare_tasks(tx: Tx, declarations: Sequence[TaskSpec], job_names: Collection[str]) -> Declared:
    """Write the schedules declared in code as tasks; called at start, and idempotent across nodes.

    A new declaration becomes a task; a changed one is followed, unless an operator overrode the schedule. A task whose
    job is still there but declares no schedule any more is paused, until its job declares one again. Occurrences due
    until now are decided under the old definition; a task that is far behind is left as it is until the dispatcher has
    caught up.

    Args:
        declarations: One per job that declares a schedule; the task has the job's name.
        job_names: All jobs that this node knows.
    """
    postponed: list[str] = []
    declared = {spec.name: spec for spec in declarations}
    existing = {task.name: task for task in tasks.declared(tx.conn)}
    warnings = _declare_new(tx, [spec for spec in declarations if spec.name not in existing])
    for name, task in existing.items():
        wanted = declared.get(name)
        ours = wanted is not None or task.spec.job_name in job_names
        if ours and _differs(task, wanted) and not _bring(tx, task, wanted):
            postponed.append(name)
    return Declared(tuple(warnings), tuple(postponed))


def _declare_new(tx: Tx, specs: Sequence[TaskSpec]) -> list[str]:
    """Make missing tasks; warn of each whose name is taken by a task that was made otherwise."""
    written = {task.name for task in declare_new(tx, specs)}
    return [
        f"job '{spec.job_name}' declares a schedule, but a task of its name exists already and was made through the "
        "API; delete or rename that task to let the declared one in"
        for spec in specs
        if spec.name not in written and not _is_declared(stored_tasks.by_name(tx.conn, spec.name))
    ]


def _is_declared(task: Task | None) -> bool:
    return task is not None and task.source is TaskSource.CODE


def _differs(task: Task, spec: TaskSpec | None) -> bool:
    if spec is None:
        return task.spec.enabled and not task.overridden
    return _is_other(task, spec) or _is_to_resume(task, spec)


def _is_other(task: Task, spec: TaskSpec) -> bool:
    declared = (task.declared, task.declared_args, task.spec.description)
    return declared != (spec.schedule, spec.args, spec.description)


def _is_to_resume(task: Task, spec: TaskSpec) -> bool:
    return task.paused and task.paused_by == BY_CODE and spec.enabled


def _bring(tx: Tx, task: Task, spec: TaskSpec | None) -> bool:
    """Update a task to its declaration; False if it is too far behind for that now."""
    due = task.next_execution
    if due is not None and (tx.now - due).total_seconds() > _CAUGHT_UP:
        return False
    task = catch_up_some(tx, task)
    if task.next_execution is not None and task.next_execution <= tx.now:
        return False
    if spec is None:
        pause_task(tx, task.name, reason="its job declares no schedule any more", actor=BY_CODE)
        return True
    if _is_other(task, spec):
        task = follow_declaration(tx, task, spec)
    if _is_to_resume(task, spec):
        resume_task(tx, task.name, actor=BY_CODE)
    return True
