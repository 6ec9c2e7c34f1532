"""What a run and an execution hold by themselves; their relations are in ``entities``."""

from datetime import datetime
from typing import ClassVar

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.core.actor import Role
from ...jobs.core.flows import When
from ...jobs.core.model import Run
from ...jobs.core.states import RunState
from ...jobs.core.steps import StepKind, StepState
from ..base.scalars import BigInt
from ..execution.shown import ByField, Fields, FromModel, Made, Makers
from ..resolving.context import Info
from .common import Progress


@strawberry.type(description="A durable step of a run: what it returned, or a failure of it in one attempt.")
class RunStep(FromModel):
    """A stored step."""

    label: str = strawberry.field(
        description="What it is known by in its run: its name, its key in brackets, the number of its use if it is not "
        "the first, e.g. `charge`, `charge[42]#2`. `retryRun(fromStep:)` takes it."
    )
    name: str = strawberry.field(description="As the job calls it.")
    key: str | None = strawberry.field(description="Distinguishes steps of one name that run at the same time.")
    use: int = strawberry.field(description="1 for the first use of this name and key in the run.")
    kind: StepKind = strawberry.field(description="What it is.")
    state: StepState = strawberry.field(description="Its state.")
    attempt: int = strawberry.field(
        description="In which attempt at the run it ended, or a wait began; 0 = copied from the run that this one "
        "retries."
    )
    started_at: datetime = strawberry.field(description="When its function was called first, or its wait began.")
    finished_at: datetime | None = strawberry.field(description="When it ended; null while it waits.")
    wake_at: datetime | None = strawberry.field(description="Of a wait: when it ends by time.")
    signal: str | None = strawberry.field(description="Of a wait for a signal: the name by which `signalRun` sends it.")
    role: Role | None = strawberry.field(
        description="Whose signals it takes: of accounts with this role or one above it."
    )
    form: JSON | None = strawberry.field(
        description="The JSON Schema of what the signal has to bring along; null = anything."
    )
    flow_id: strawberry.ID | None = strawberry.field(
        description="Of a wait for other runs: the key of the flow that they are."
    )
    value: JSON | None = strawberry.field(description="What it returned, or what the signal brought along.")
    error: str | None = strawberry.field(description="Why it failed, or why the signal says no.")
    used: bool = strawberry.field(
        description="False: the attempt that ended well did not ask for it; the code has no such step any more."
    )
    latest: bool = strawberry.field(
        description="False: a later attempt took it again. A run has one latest step of each label: "
        "`retryRun(fromStep:)` starts there."
    )

    MADE: ClassVar[Makers] = {}


@strawberry.type(description="The place of a run in its flow.")
class FlowPlace:
    """Its key, what it comes after and under which condition."""

    flow_id: strawberry.ID = strawberry.field(description="The key of the flow.")
    key: str = strawberry.field(description="The key of the run in the flow.")
    when: When = strawberry.field(description="After which ends of the runs before it it starts.")
    after: list[strawberry.ID] = strawberry.field(description="The runs that it comes after.")
    skipped_after: list[str] = strawberry.field(
        description="If it was skipped: the keys of the runs that kept it from starting, the first cause first."
    )


async def load_place(info: Info, run: Run) -> FlowPlace | None:
    """The place of a run; None if it belongs to no flow, or another run has taken its place."""
    if run.flow_id is None:
        return None
    loaders = info.context.loaders.flows
    member = await loaders.members.load(run.id)
    if member is None:
        return None
    after = [strawberry.ID(str(one)) for one in await loaders.before.load(run.id)]
    return FlowPlace(
        flow_id=strawberry.ID(str(member.flow_id)),
        key=member.key,
        when=member.when,
        after=after,
        skipped_after=list(member.chain),
    )


@strawberry.type
class RunFields(ByField):
    """The columns of a run."""

    stored: strawberry.Private[model.Run]
    id: strawberry.ID = strawberry.field(description="The decimal key.")
    state: RunState = strawberry.field(description="Its state.")
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
    max_duration: float | None = strawberry.field(
        description="Seconds that it may take from its first start, sleeping and waiting included; null = any."
    )
    deadline_at: datetime | None = strawberry.field(
        description="When it fails unless it has ended, by `maxDuration`; null before its first start, and without one."
    )
    trigger: model.Trigger = strawberry.field(description="What made it.")
    scheduled_for: datetime | None = strawberry.field(
        description="The nominal time of its occurrence; null for runs made by hand or by the API."
    )
    submitted_at: datetime = strawberry.field(description="When it was put into the queue.")
    available_at: datetime = strawberry.field(description="When it may start, or be tried again.")
    wake_at: datetime | None = strawberry.field(
        description="While it is suspended: when it is woken at the latest; null = not by time."
    )
    started_at: datetime | None = strawberry.field(description="When its newest attempt began.")
    finished_at: datetime | None = strawberry.field(description="When it reached a final state.")
    cancel_requested_at: datetime | None = strawberry.field(description="When it was asked to stop.")
    cancel_reason: str | None = strawberry.field(description="Why it was asked to stop.")
    node: str | None = strawberry.field(description="The node that holds or last held it.")
    unique_key: str | None = strawberry.field(description="No second unfinished run can have it.")
    concurrency_key: str | None = strawberry.field(
        description="No more than `maxConcurrent` runs with it run at once, on all nodes together; null = no limit."
    )
    max_concurrent: int | None = strawberry.field(description="How many; null without a `concurrencyKey`.")
    rate_key: str | None = strawberry.field(
        description="The key of the bucket of its job that gives its tokens; empty: that of the job, null: none."
    )
    cap_key: str | None = strawberry.field(
        description="Among which runs of its job it is counted while it waits; empty: all, null: the job has no cap."
    )
    submitter: str | None = strawberry.field(description="Who asked for it.")
    description: str = strawberry.field(description="What it is for; that of its task.")
    labels: JSON = strawberry.field(description="Words by which it is found, an object of texts.")
    expires_at: datetime | None = strawberry.field(description="It is skipped unless it has started by then.")
    skip_reason: model.SkipReason | None = strawberry.field(
        description="Why it was dropped before its start; null for all others."
    )
    progress: Progress | None = strawberry.field(description="How far the job says it is.")
    result: JSON | None = strawberry.field(description="What the job returned.")
    error: str | None = strawberry.field(description="The message of its last error.")
    deduplicated: bool = strawberry.field(
        description="Answers of `enqueueRuns` only: this unfinished run had the unique key, so no new one was made."
    )


def _labels(labels: dict[str, str] | None) -> dict[str, str]:
    return labels or {}


def _available_at(available_at: datetime, due_at: datetime | None) -> datetime:
    # Beyond all times while it waits for a slot or a token of its key.
    return due_at or available_at


RunFields.FIELDS = Fields(
    RunFields,
    model.Run,
    columns={"group": "group_name"},
    made={
        "progress": Made(("progress",), Progress.from_json),
        "labels": Made(("labels",), _labels),
        "deduplicated": Made((), lambda: False),
        "available_at": Made(("available_at", "due_at"), _available_at),
    },
)


@strawberry.type
class ExecutionFields(ByField):
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
        description="Whether it went well (SUCCESS, SNOOZED or SUSPENDED); null while it runs."
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
    trace_id: str | None = strawberry.field(
        description="The id of its trace, 32 hexadecimal digits; null while it runs, and if it is not traced."
    )
    progress: Progress | None = strawberry.field(description="How far the job said it was.")


def _duration(started: datetime, ended: datetime | None) -> float | None:
    return None if ended is None else (ended - started).total_seconds()


def _wait(started: datetime, due: datetime | None, submitted: datetime) -> float:
    return max(0.0, (started - (due or submitted)).total_seconds())


ExecutionFields.FIELDS = Fields(
    ExecutionFields,
    model.Execution,
    made={
        "duration": Made(("started_at", "completed_at"), _duration),
        "wait": Made(("started_at", "scheduled_for", "submitted_at"), _wait),
        "progress": Made(("progress",), Progress.from_json),
    },
)
