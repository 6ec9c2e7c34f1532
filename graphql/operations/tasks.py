"""Mutations of tasks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

import strawberry
from strawberry.scalars import JSON

from ...jobs.actions import tasks
from ...jobs.actions import tasks as actions
from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.actions.retries import preview_task, preview_triggered
from ...jobs.core.base.errors import UserError
from ...jobs.core.defaults import TASK_POLICIES
from ...jobs.core.explain import previews as core
from ...jobs.core.model import Run, Task, TaskSource, TaskSpec
from ...jobs.core.rules import task_faults
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements import jobs as stored_jobs
from ...jobs.store.statements import tasks as task_store
from ...jobs.store.statements.listing.criteria import AnyOf, Condition, Criteria, Operator, equal
from ..base.enums import Role
from ..base.fields import mutates
from ..base.scalars import BigInt
from ..resolving.context import Info
from ..types import entities
from ..types.payloads import (
    Preview,
    RunTried,
    TaskChanged,
    TaskDeleted,
    TasksChanged,
    TasksDeleted,
    TasksOfOwnerDeleted,
    TaskTried,
)
from .base.bulk import (
    BulkAction,
    Changed,
    DeleteTasksInput,
    PauseTasksInput,
    ResumeTasksInput,
    TasksInput,
    answer_many,
    codec_of,
    many_tasks,
    perform_many,
)
from .base.changes import (
    ONE_RUN,
    ONE_TASK,
    Done,
    args_of,
    given,
    is_dry,
    perform,
    perform_once,
    restore_runs,
    restore_tasks,
    versioned,
)
from .base.inputs import (
    REASON,
    RESUME_AT,
    MutationInput,
    ResourcesInput,
    ScheduleInput,
    TaskChangeInput,
    TaskSettings,
    optional,
    settings_of,
)


@strawberry.input(description="The task that `createTask` makes. Absent and null mean the default.")
class CreateTaskInput(TaskSettings, MutationInput):
    """The input of ``createTask``."""

    name: str = strawberry.field(
        description="The name of the task, which is unique and stays: 1 to 200 characters, none of them a control "
        "character or `/`."
    )
    job_name: str = strawberry.field(description="The name of the job that the task runs, one of `availableJobs`.")
    schedule: ScheduleInput = strawberry.field(description="The schedule of the task; `validateSchedule` tries one.")

    def to_spec(self) -> TaskSpec:
        """Return the engine's form; absent and null settings are as the job says, or else the product's default."""
        given = {name: value for name, value in settings_of(self).items() if value is not None}
        inherits = frozenset(TASK_POLICIES).difference(given)
        schedule = self.schedule.to_spec()
        return TaskSpec(name=self.name, job_name=self.job_name, schedule=schedule, inherits=inherits, **given)

    def faults(self) -> Iterator[UserError]:
        """Yield the faults of the task's settings by the engine's rules."""
        return task_faults(self.to_spec())


@strawberry.input(
    description="The changes of a task that `updateTask` makes. Absent fields stay as they are, null sets the default."
)
class UpdateTaskInput(TaskSettings, TaskChangeInput):
    """The input of ``updateTask``."""

    job_name: str | None = optional("The name of the job that the task runs. Unchanged unless given, and by null.")
    schedule: ScheduleInput | None = optional("The schedule of the task. Unchanged unless given, and by null.")

    def changes(self) -> dict[str, Any]:
        """Return new values by field names of ``TaskSpec``, None = the default; only present ones.

        A job's name and a schedule have no default, so null leaves them as they are.
        """
        changes = settings_of(self)
        if self.job_name is not strawberry.UNSET and self.job_name is not None:
            changes["job_name"] = self.job_name
        if self.schedule is not strawberry.UNSET and self.schedule is not None:
            changes["schedule"] = self.schedule.to_spec()
        return changes


@strawberry.input(description="The paused task that `resumeTask` resumes.")
class ResumeTaskInput(TaskChangeInput):
    """The input of ``resumeTask``."""


@strawberry.input(description="The task of code that `resetTask` lets follow its code again.")
class ResetTaskInput(TaskChangeInput):
    """The input of ``resetTask``."""


@strawberry.input(description="The task that `deleteTask` deletes.")
class DeleteTaskInput(TaskChangeInput):
    """The input of ``deleteTask``."""


@strawberry.input(description="The task that `pauseTask` pauses.")
class PauseTaskInput(TaskChangeInput):
    """The input of ``pauseTask``."""

    reason: str | None = optional(REASON)
    resume_at: datetime | None = optional(RESUME_AT)


@strawberry.input(description="The owner whose tasks `deleteTasksOfOwner` deletes.")
class DeleteTasksOfOwnerInput(MutationInput):
    """The input of ``deleteTasksOfOwner``."""

    owner: str = strawberry.field(description="The owner of the tasks, e.g. `channel:42`: 1 to 200 characters.")


@strawberry.input(description="The task of which `triggerTask` makes a run.")
class TriggerTaskInput(MutationInput):
    """The input of ``triggerTask``."""

    name: str = strawberry.field(description="The name of the task to run.")
    args: JSON | None = optional("Arguments of this run, an object. Those of the task unless given.")
    resources: ResourcesInput | None = optional(
        "Resources at the engine of the job, each over that of the task. Those of the task unless given."
    )


T = TypeVar("T")
MAX_NAMES: Final = 200
MAX_RUNS: Final = 200
"""Unfinished runs of a deleted task that are shown."""
NAMES: AnswerCodec[list[str]] = AnswerCodec(dump=lambda names: {"names": names}, load=lambda _, stored: stored["names"])


@dataclass(frozen=True, slots=True)
class Deletion:
    """The result of `deleteTask` or of its dry run: the task's name, its first unfinished runs, and how many."""

    name: str
    runs: list[Run]
    count: int


DELETION: Final[AnswerCodec[Deletion]] = AnswerCodec(
    dump=lambda done: {"name": done.name, "runs": [run.id for run in done.runs], "count": done.count},
    load=lambda tx, stored: Deletion(stored["name"], restore_runs(tx, stored), stored["count"]),
)


TASKS: Final[AnswerCodec[Changed[Task]]] = codec_of(
    AnswerCodec(dump=lambda tasks: {"tasks": [task.id for task in tasks]}, load=restore_tasks)
)
DELETED: Final = codec_of(NAMES)


def many(
    input: TasksInput,
    action: Callable[[Tx, str], T],
    also: Callable[[Tx], Criteria],
    accepts: Callable[[Task], bool] = lambda _: True,
) -> Callable[[Tx], Changed[T]]:
    """Return an action on one task as one on the selected tasks; see ``BulkAction``."""

    def apply(tx: Tx, ids: Sequence[int]) -> list[T]:
        names = [task.name for task in task_store.by_ids(tx.conn, ids).values()]
        return [action(tx, name) for name in sorted(names)]

    return partial(many_tasks, input=input, bulk_action=BulkAction(apply, also, accepts))


@strawberry.type
class TaskMutations:
    """Everything that changes tasks."""

    @mutates(requires=Role.OPERATOR)
    async def create_task(self, info: Info, input: CreateTaskInput) -> TaskTried:
        """Makes a task. Its first occurrence is strictly after now."""
        submitter = info.context.person.name

        def action(tx: Tx) -> Task:
            return actions.create_task(tx, input.to_spec(), submitter=submitter)

        if is_dry(input):
            return _previewed(await perform_once(info, input, lambda tx: preview_task(tx, action)))
        done = await perform(info, input, action, ONE_TASK)
        return done.answer(TaskTried, task=entities.Task.from_model)

    @mutates(requires=Role.OPERATOR)
    async def update_task(self, info: Info, input: UpdateTaskInput) -> TaskTried:
        """Changes a task: fields that the input leaves out stay, null sets the default.

        Runs that exist keep the settings they were made with.
        """

        def action(tx: Tx) -> Task:
            return actions.update_task(tx, input.name, input.changes(), actor=info.context.person.name)

        change = versioned(input, action)
        if is_dry(input):
            return _previewed(await perform_once(info, input, lambda tx: preview_task(tx, change)))
        done = await perform(info, input, change, ONE_TASK)
        return done.answer(TaskTried, task=entities.Task.from_model)

    @mutates(requires=Role.OPERATOR)
    async def delete_task(self, info: Info, input: DeleteTaskInput) -> TaskDeleted:
        """Deletes a task: waiting runs of it are cancelled, running ones asked to stop; its history stays.

        A task that a live node declares in its code can only be paused (error `CODE_TASK`).
        """

        def action(tx: Tx) -> Deletion:
            deleted = tasks.delete_task(tx, input.name, actor=info.context.person.name)
            return Deletion(deleted.task.name, deleted.runs[:MAX_RUNS], len(deleted.runs))

        return (await perform(info, input, versioned(input, action), DELETION)).answer(
            TaskDeleted,
            deleted_name=lambda deleted: deleted.name,
            cancelled_runs=lambda deleted: [entities.Run.from_model(run) for run in deleted.runs],
            cancelled_count=lambda deleted: BigInt(deleted.count),
        )

    @mutates(requires=Role.OPERATOR)
    async def delete_tasks_of_owner(self, info: Info, input: DeleteTasksOfOwnerInput) -> TasksOfOwnerDeleted:
        """Deletes all tasks of an owner that no live node declares in its code, as `deleteTask` does."""

        def action(tx: Tx) -> list[str]:
            deleted = tasks.delete_tasks_of_owner(tx, input.owner, actor=info.context.person.name)
            return [task.name for task in deleted]

        done = await perform(info, input, action, NAMES)
        names = done.result or []
        return TasksOfOwnerDeleted(deleted_names=names[:MAX_NAMES], count=len(names), errors=done.errors)

    @mutates(requires=Role.OPERATOR)
    async def pause_task(self, info: Info, input: PauseTaskInput) -> TaskChanged:
        """Pauses a task: its occurrences are recorded as skipped until it is resumed."""
        action = partial(
            actions.pause_task,
            name=input.name,
            reason=given(input.reason),
            actor=info.context.person.name,
            until=given(input.resume_at),
        )
        done = await perform(info, input, versioned(input, action), ONE_TASK)
        return done.answer(TaskChanged, task=entities.Task.from_model)

    @mutates(requires=Role.OPERATOR)
    async def resume_task(self, info: Info, input: ResumeTaskInput) -> TaskChanged:
        """Resumes a paused task from its next occurrence on."""
        action = partial(actions.resume_task, name=input.name, actor=info.context.person.name)
        done = await perform(info, input, versioned(input, action), ONE_TASK)
        return done.answer(TaskChanged, task=entities.Task.from_model)

    @mutates(requires=Role.OPERATOR)
    async def reset_task(self, info: Info, input: ResetTaskInput) -> TaskChanged:
        """Gives a task that is declared in code its declared schedule back."""
        action = partial(actions.reset_task, name=input.name, actor=info.context.person.name)
        done = await perform(info, input, versioned(input, action), ONE_TASK)
        return done.answer(TaskChanged, task=entities.Task.from_model)

    @mutates(requires=Role.OPERATOR)
    async def trigger_task(self, info: Info, input: TriggerTaskInput) -> RunTried:
        """Makes a run of a task now.

        Its schedule does not move; its overlap policy holds (SKIP answers error `OVERLAP`, naming the unfinished run).
        """
        action = partial(
            actions.trigger_task,
            name=input.name,
            args=args_of(input.args),
            resources=input.resources.document() if input.resources else None,
            actor=info.context.person.name,
        )
        if is_dry(input):
            tried = await perform_once(info, input, lambda tx: preview_triggered(tx, input.name, action))
            return tried.answer(RunTried, preview=Preview.from_model)
        done = await perform(info, input, action, ONE_RUN)
        return done.answer(RunTried, run=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def pause_tasks(self, info: Info, input: PauseTasksInput) -> TasksChanged:
        """Pauses many tasks, as `pauseTask` does."""
        reason, until, actor = given(input.reason), given(input.resume_at), info.context.person.name
        pause = partial(actions.pause_task, reason=reason, actor=actor, until=until)
        action = many(input, pause, lambda _: equal("enabled", value=True))
        return answer_many(TasksChanged, await perform_many(info, input, action, TASKS), tasks=entities.Task.from_model)

    @mutates(requires=Role.OPERATOR)
    async def resume_tasks(self, info: Info, input: ResumeTasksInput) -> TasksChanged:
        """Resumes many paused tasks."""
        resume = partial(actions.resume_task, actor=info.context.person.name)
        action = many(input, resume, lambda _: equal("enabled", value=False), lambda task: task.paused)
        return answer_many(TasksChanged, await perform_many(info, input, action, TASKS), tasks=entities.Task.from_model)

    @mutates(requires=Role.OPERATOR)
    async def delete_tasks(self, info: Info, input: DeleteTasksInput) -> TasksDeleted:
        """Deletes many tasks, as `deleteTask` does.

        Those that a live node declares in its code are not found by a filter, and refused by name (error `CODE_TASK`).
        """

        def delete(tx: Tx, name: str) -> str:
            return tasks.delete_task(tx, name, actor=info.context.person.name).task.name

        action = many(input, delete, _deletable)
        return answer_many(TasksDeleted, await perform_many(info, input, action, DELETED), deleted_names=str)


def _previewed(tried: Done[tuple[Task, core.Preview]]) -> TaskTried:
    """Return the task as it would be, and the fate of a run of it."""
    return tried.answer(
        TaskTried,
        task=lambda both: entities.Task.from_model(both[0]),
        preview=lambda both: Preview.from_model(both[1]),
    )


def _deletable(tx: Tx) -> Criteria:
    """Return the tasks that do not come back at the next start of a node that lives."""
    made = Condition("source", Operator.NE, TaskSource.CODE)
    return AnyOf((made, Condition("name", Operator.NOT_IN, tuple(sorted(stored_jobs.declaring(tx.conn))))))
