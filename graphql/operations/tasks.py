"""Mutations of tasks."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

import strawberry

from ...jobs.actions import deletion
from ...jobs.actions import tasks as actions
from ...jobs.actions.idempotent import Memory
from ...jobs.core.model import Run, Task
from ...jobs.store.db.transaction import Tx
from ..arguments import INPUT
from ..context import Info
from ..enums import Role
from ..fields import mutates
from ..scalars import BigInt
from ..types import entities
from ..types.payloads import DeleteTaskPayload, DeleteTasksPayload, RunPayload, TaskPayload
from .changes import ONE_RUN, ONE_TASK, Done, args_of, given, perform, recall_runs
from .inputs import (
    CreateTaskInput,
    DeleteTaskInput,
    DeleteTasksOfOwnerInput,
    PauseTaskInput,
    TaskNameInput,
    TriggerTaskInput,
    UpdateTaskInput,
)

MAX_NAMES: Final = 200
MAX_RUNS: Final = 200
"""Unfinished runs of a deleted task that are shown."""
NAMES: Memory[list[str]] = Memory(keep=lambda names: {"names": names}, recall=lambda _, stored: stored["names"])


@dataclass(frozen=True, slots=True)
class Deletion:
    """What ``deleteTask`` did, or would do: the task's name, the first of its unfinished runs, and how many."""

    name: str
    runs: list[Run]
    count: int


DELETION: Final[Memory[Deletion]] = Memory(
    keep=lambda done: {"name": done.name, "runs": [run.id for run in done.runs], "count": done.count},
    recall=lambda tx, stored: Deletion(stored["name"], recall_runs(tx, stored), stored["count"]),
)


def task_payload(done: Done[Task]) -> TaskPayload:
    """The answer for one task."""
    return TaskPayload(task=None if done.result is None else entities.Task.from_model(done.result), errors=done.errors)


@strawberry.type
class TaskMutations:
    """Everything that changes tasks."""

    @mutates(description="Makes a task. Its first occurrence is strictly after now.", requires=Role.OPERATOR)
    async def create_task(self, info: Info, input: Annotated[CreateTaskInput, INPUT]) -> TaskPayload:
        """A new task."""
        submitter = info.context.person.name

        def action(tx: Tx) -> Task:
            return actions.create_task(tx, input.to_spec(), submitter=submitter)

        return task_payload(await perform(info, "createTask", input, action, ONE_TASK))

    @mutates(
        description="Changes a task: what is absent in the input stays, null sets the default. Runs that exist keep "
        "what they were made with.",
        requires=Role.OPERATOR,
    )
    async def update_task(self, info: Info, input: Annotated[UpdateTaskInput, INPUT]) -> TaskPayload:
        """A changed task."""

        def action(tx: Tx) -> Task:
            return actions.update_task(
                tx,
                input.name,
                input.changes(),
                expected_version=given(input.expected_version),
                actor=info.context.person.name,
            )

        return task_payload(await perform(info, "updateTask", input, action, ONE_TASK))

    @mutates(
        description="Deletes a task: waiting runs of it are cancelled, running ones asked to stop; its history stays. "
        "A task declared in code can only be paused (error `CODE_TASK`).",
        requires=Role.OPERATOR,
    )
    async def delete_task(self, info: Info, input: Annotated[DeleteTaskInput, INPUT]) -> DeleteTaskPayload:
        """The name of the deleted task and its unfinished runs."""
        dry_run = bool(given(input.dry_run))

        def action(tx: Tx) -> Deletion:
            deleted = deletion.delete_task(tx, input.name, dry_run=dry_run, actor=info.context.person.name)
            return Deletion(deleted.task.name, deleted.runs[:MAX_RUNS], len(deleted.runs))

        done = await perform(info, "deleteTask", input, action, DELETION)
        if done.result is None:
            return DeleteTaskPayload(errors=done.errors)
        runs = [entities.Run.from_model(run) for run in done.result.runs]
        count = BigInt(done.result.count)
        return DeleteTaskPayload(deleted_name=done.result.name, cancelled_runs=runs, cancelled_count=count)

    @mutates(
        description="Deletes all tasks of an owner that are not declared in code, as `deleteTask` does.",
        requires=Role.OPERATOR,
    )
    async def delete_tasks_of_owner(
        self, info: Info, input: Annotated[DeleteTasksOfOwnerInput, INPUT]
    ) -> DeleteTasksPayload:
        """The names of the deleted tasks."""
        dry_run = bool(given(input.dry_run))

        def action(tx: Tx) -> list[str]:
            deleted = deletion.delete_tasks_of_owner(tx, input.owner, dry_run=dry_run, actor=info.context.person.name)
            return [task.name for task in deleted]

        done = await perform(info, "deleteTasksOfOwner", input, action, NAMES)
        names = done.result or []
        return DeleteTasksPayload(deleted_names=names[:MAX_NAMES], count=len(names), errors=done.errors)

    @mutates(
        description="Pauses a task: its occurrences are recorded as skipped until it is resumed.",
        requires=Role.OPERATOR,
    )
    async def pause_task(self, info: Info, input: Annotated[PauseTaskInput, INPUT]) -> TaskPayload:
        """The paused task."""
        action = partial(
            actions.pause_task, name=input.name, reason=given(input.reason), actor=info.context.person.name
        )
        return task_payload(await perform(info, "pauseTask", input, action, ONE_TASK))

    @mutates(description="Resumes a paused task from its next occurrence on.", requires=Role.OPERATOR)
    async def resume_task(self, info: Info, input: Annotated[TaskNameInput, INPUT]) -> TaskPayload:
        """The resumed task."""
        action = partial(actions.resume_task, name=input.name, actor=info.context.person.name)
        return task_payload(await perform(info, "resumeTask", input, action, ONE_TASK))

    @mutates(description="Gives a task that is declared in code its declared schedule back.", requires=Role.OPERATOR)
    async def reset_task(self, info: Info, input: Annotated[TaskNameInput, INPUT]) -> TaskPayload:
        """The reset task."""
        action = partial(actions.reset_task, name=input.name, actor=info.context.person.name)
        return task_payload(await perform(info, "resetTask", input, action, ONE_TASK))

    @mutates(
        description="Makes a run of a task now. Its schedule does not move; its overlap policy holds (SKIP answers "
        "error `OVERLAP`, naming the unfinished run).",
        requires=Role.OPERATOR,
    )
    async def trigger_task(self, info: Info, input: Annotated[TriggerTaskInput, INPUT]) -> RunPayload:
        """The new run."""
        action = partial(
            actions.trigger_task, name=input.name, args=args_of(input.args), actor=info.context.person.name
        )
        done = await perform(info, "triggerTask", input, action, ONE_RUN)
        return RunPayload(run=None if done.result is None else entities.Run.from_model(done.result), errors=done.errors)
