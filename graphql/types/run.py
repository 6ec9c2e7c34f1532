"""What a run and an execution hold by themselves; their relations are in ``entities``."""

from datetime import datetime
from typing import Self

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.core.states import RunState
from ..scalars import BigInt
from .common import Progress


@strawberry.type
class RunFields:
    """The columns of a run."""

    stored: strawberry.Private[model.Run]
    id: strawberry.ID = strawberry.field(description="The decimal key.")
    state: RunState = strawberry.field(description="Where it stands.")
    job_name: str = strawberry.field(description="The name of the job.")
    task_name: str | None = strawberry.field(
        description="The name of the task that made it; kept when that is deleted."
    )
    group: str = strawberry.field(description="Its group.")
    priority: model.Priority = strawberry.field(description="Its priority within the group.")
    args: JSON = strawberry.field(description="Its arguments, an object.")
    attempt: int = strawberry.field(description="How many attempts have begun; it only grows.")
    failures: int = strawberry.field(description="How many attempts failed, timed out or were lost.")
    retries: int = strawberry.field(description="It fails for good once `failures` exceeds this.")
    retry_delay: float = strawberry.field(description="Seconds before the first retry; doubled with each further one.")
    timeout: float | None = strawberry.field(description="The time box of each attempt in seconds; null = none.")
    trigger: model.Trigger = strawberry.field(description="What made it.")
    scheduled_for: datetime | None = strawberry.field(
        description="The nominal time of its occurrence; null for runs made by hand or by the API."
    )
    submitted_at: datetime = strawberry.field(description="When it was put into the queue.")
    available_at: datetime = strawberry.field(description="When it may start, or be tried again.")
    started_at: datetime | None = strawberry.field(description="When its newest attempt began.")
    finished_at: datetime | None = strawberry.field(description="When it reached a final state.")
    cancel_requested_at: datetime | None = strawberry.field(description="When it was asked to stop.")
    cancel_reason: str | None = strawberry.field(description="Why it was asked to stop.")
    node: str | None = strawberry.field(description="The node that holds or last held it.")
    unique_key: str | None = strawberry.field(description="No second unfinished run can have it.")
    submitter: str | None = strawberry.field(description="Who asked for it.")
    description: str = strawberry.field(description="What it is for; that of its task.")
    progress: Progress | None = strawberry.field(description="How far the job says it is.")
    result: JSON | None = strawberry.field(description="What the job returned.")
    error: str | None = strawberry.field(description="The message of its last error.")
    deduplicated: bool = strawberry.field(
        description="Answers of `enqueueRuns` only: this unfinished run had the unique key, so no new one was made."
    )

    @classmethod
    def from_model(cls, run: model.Run, *, deduplicated: bool = False) -> Self:
        """The GraphQL object of a run."""
        return cls(
            stored=run,
            id=strawberry.ID(str(run.id)),
            state=run.state,
            job_name=run.job_name,
            task_name=run.task_name,
            group=run.group,
            priority=run.priority,
            args=JSON(run.args),
            attempt=run.attempt,
            failures=run.failures,
            retries=run.retries,
            retry_delay=run.retry_delay,
            timeout=run.timeout,
            trigger=run.trigger,
            scheduled_for=run.scheduled_for,
            submitted_at=run.submitted_at,
            available_at=run.available_at,
            started_at=run.started_at,
            finished_at=run.finished_at,
            cancel_requested_at=run.cancel_requested_at,
            cancel_reason=run.cancel_reason,
            node=run.node,
            unique_key=run.unique_key,
            submitter=run.submitter,
            description=run.description,
            progress=Progress.from_json(run.progress),
            result=run.result,
            error=run.error,
            deduplicated=deduplicated,
        )


@strawberry.type
class ExecutionFields:
    """The columns of an execution."""

    stored: strawberry.Private[model.Execution]
    id: strawberry.ID = strawberry.field(description="The decimal key, ascending in the order of start.")
    run_id: strawberry.ID = strawberry.field(description="The key of its run, also once that is pruned.")
    task_id: strawberry.ID | None = strawberry.field(
        description="The key of the task whose run it was, also once that is deleted."
    )
    job_name: str = strawberry.field(description="The name of the job.")
    started_at: datetime = strawberry.field(description="When it began.")
    completed_at: datetime | None = strawberry.field(description="When it ended; null while it runs.")
    success: bool | None = strawberry.field(
        description="Whether it went well (SUCCESS or SNOOZED); null while it runs."
    )
    error_message: str | None = strawberry.field(description="What went wrong; set whenever `success` is false.")
    records_processed: BigInt | None = strawberry.field(description="How many records the job says it processed.")
    outcome: model.Outcome | None = strawberry.field(description="How it ended; null while it runs.")
    task_name: str | None = strawberry.field(description="The name of the task; kept when that is deleted.")
    attempt: int = strawberry.field(description="Which attempt at its run it is, from 1.")
    node: str = strawberry.field(description="The node that executes or executed it.")
    trigger: model.Trigger = strawberry.field(description="What made its run.")
    scheduled_for: datetime | None = strawberry.field(description="The nominal time of its occurrence.")
    submitted_at: datetime = strawberry.field(description="When its run was put into the queue.")
    duration: float | None = strawberry.field(description="Seconds from start to end; null while it runs.")
    wait: float = strawberry.field(
        description="Seconds from the nominal time, or else the submission of the run, to the start of this attempt."
    )
    error_type: str | None = strawberry.field(description="The type of the error, e.g. `ValueError`.")
    traceback: str | None = strawberry.field(description="Where the error was raised.")
    value: JSON | None = strawberry.field(description="What the job returned.")
    progress: Progress | None = strawberry.field(description="How far the job said it was.")

    @classmethod
    def from_model(cls, execution: model.Execution) -> Self:
        """The GraphQL object of an execution."""
        records = execution.records_processed
        due = execution.scheduled_for or execution.submitted_at
        ended = execution.completed_at
        return cls(
            stored=execution,
            id=strawberry.ID(str(execution.id)),
            run_id=strawberry.ID(str(execution.run_id)),
            task_id=None if execution.task_id is None else strawberry.ID(str(execution.task_id)),
            job_name=execution.job_name,
            started_at=execution.started_at,
            completed_at=ended,
            success=execution.success,
            error_message=execution.error_message,
            records_processed=None if records is None else BigInt(records),
            outcome=execution.outcome,
            task_name=execution.task_name,
            attempt=execution.attempt,
            node=execution.node,
            trigger=execution.trigger,
            scheduled_for=execution.scheduled_for,
            submitted_at=execution.submitted_at,
            duration=None if ended is None else (ended - execution.started_at).total_seconds(),
            wait=max(0.0, (execution.started_at - due).total_seconds()),
            error_type=execution.error_type,
            traceback=execution.traceback,
            value=execution.value,
            progress=Progress.from_json(execution.progress),
        )
