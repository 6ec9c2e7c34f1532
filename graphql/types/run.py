"""Runs and executions: columns, filters, orders, steps; their relations are in ``entities``."""

from datetime import datetime
from typing import ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.core.actor import Role
from ...jobs.core.flows import When
from ...jobs.core.model import Outcome, Priority, Run, Trigger
from ...jobs.core.states import RunState
from ...jobs.core.steps import StepKind, StepState
from ...jobs.store.read.lists import EXECUTIONS, RUNS
from ..base.enums import Described, described
from ..base.scalars import BigInt
from ..execution.shown import ByField, Fields, FromModel, Made, Makers
from ..lists.declared import Kind, order_of
from ..lists.filters import (
    ArgumentFilter,
    BigIntFilter,
    BooleanFilter,
    DateTimeFilter,
    Filter,
    FloatFilter,
    IdFilter,
    IntFilter,
    LabelFilter,
    RowFilter,
    StringFilter,
    condition,
    filter_of,
)
from ..resolving.context import Info
from .common import Progress


@filter_of("Which runs.")
class RunFilter(RowFilter):
    """Conditions on runs."""

    id: IdFilter | None = condition("The key.")
    state: Filter[RunState] | None = condition("Its state.")
    job_name: StringFilter | None = condition("The name of its job.")
    task_id: IdFilter | None = condition("The key of its task.")
    task_name: StringFilter | None = condition("The name of its task.")
    group: StringFilter | None = condition("Its group.")
    priority: Filter[Priority] | None = condition("Its priority.")
    trigger: Filter[Trigger] | None = condition("What made it.")
    node: StringFilter | None = condition("The name of the node that holds or held it.")
    scheduled_for: DateTimeFilter | None = condition("The nominal time of its occurrence.")
    submitted_at: DateTimeFilter | None = condition("When it was put into the queue.")
    available_at: DateTimeFilter | None = condition("When it may start, or be tried again.")
    started_at: DateTimeFilter | None = condition("When its newest attempt began.")
    finished_at: DateTimeFilter | None = condition("When it reached a final state.")
    cancel_requested_at: DateTimeFilter | None = condition("When it was asked to stop.")
    attempt: IntFilter | None = condition("How many attempts have begun.")
    failures: IntFilter | None = condition("How many attempts failed or were lost.")
    unique_key: StringFilter | None = condition("Its unique key.")
    concurrency_key: StringFilter | None = condition("Its concurrency key.")
    retried_from: IdFilter | None = condition("The key of the run that it retries.")
    retried: BooleanFilter | None = condition("Whether another run retries it.")
    waits_for_signal: BooleanFilter | None = condition("Whether it is suspended, and a step of it waits for a signal.")
    submitter: StringFilter | None = condition("Who asked for it.")
    description: StringFilter | None = condition("Its description.")
    labels: LabelFilter | None = condition("Its labels; several by `and`.")
    args: ArgumentFilter | None = condition("Its arguments; several by `and`.")
    error: StringFilter | None = condition("Its last error.")
    flow_id: IdFilter | None = condition("The key of the flow that it belongs to.")


@described("What runs can be ordered by; newest first unless asked otherwise.")
class RunOrderField(Described):
    """Fields of runs to order by."""

    ID = "id", "The key, in the order of submission."
    STATE = "state", "The state, by its name."
    JOB_NAME = "job_name", "The name of the job."
    TASK_NAME = "task_name", "The name of the task."
    GROUP = "group", "The group."
    PRIORITY = "priority", "The priority, by its name: HIGH before LOW."
    SCHEDULED_FOR = "scheduled_for", "The nominal time of the occurrence."
    SUBMITTED_AT = "submitted_at", "When it was put into the queue."
    AVAILABLE_AT = "available_at", "When it may start, or be tried again."
    STARTED_AT = "started_at", "When its newest attempt began."
    FINISHED_AT = "finished_at", "When it reached a final state."


RunOrder = order_of("RunOrder", RunOrderField, "An order of runs; ties are broken by the key.")


RUN_LIST: Final = Kind(RUNS, RunFilter, RunOrder, "Which runs.")


@filter_of("Which executions.")
class ExecutionFilter(RowFilter):
    """Conditions on executions."""

    id: IdFilter | None = condition("The key.")
    job_name: StringFilter | None = condition("The name of the job.")
    task_id: IdFilter | None = condition("The key of the task.")
    task_name: StringFilter | None = condition("The name of the task.")
    run_id: IdFilter | None = condition("The key of the run.")
    group: StringFilter | None = condition("The group of the run; no value once that is pruned.")
    owner: StringFilter | None = condition("The outside thing that the task exists for; no value once that is deleted.")
    outcome: Filter[Outcome] | None = condition("How it ended; no value = still running.")
    success: BooleanFilter | None = condition("Whether it went well; no value = still running.")
    node: StringFilter | None = condition("The node that executed it.")
    trigger: Filter[Trigger] | None = condition("What made its run.")
    attempt: IntFilter | None = condition("Which attempt at the run it was, from 1.")
    started_at: DateTimeFilter | None = condition("When it began.")
    completed_at: DateTimeFilter | None = condition("When it ended; no value = still running.")
    scheduled_for: DateTimeFilter | None = condition("The nominal time of the occurrence.")
    records_processed: BigIntFilter | None = condition("How many records the job says it processed.")
    duration: FloatFilter | None = condition("Seconds from start to end.")
    labels: LabelFilter | None = condition("The labels of the run; several by `and`.")
    args: ArgumentFilter | None = condition("The arguments of the run; several by `and`.")
    error_message: StringFilter | None = condition("The error's message.")
    error_type: StringFilter | None = condition("The error's type.")


@described("What executions can be ordered by; newest first unless asked otherwise.")
class ExecutionOrderField(Described):
    """Fields of executions to order by."""

    ID = "id", "The key, in the order of start."
    JOB_NAME = "job_name", "The name of the job."
    TASK_NAME = "task_name", "The name of the task."
    NODE = "node", "The node."
    STARTED_AT = "started_at", "When it began."
    COMPLETED_AT = "completed_at", "When it ended."
    DURATION = "duration", "Seconds from start to end."
    RECORDS_PROCESSED = "records_processed", "How many records the job says it processed."


ExecutionOrder = order_of("ExecutionOrder", ExecutionOrderField, "An order of executions; ties are broken by the key.")


EXECUTION_LIST: Final = Kind(EXECUTIONS, ExecutionFilter, ExecutionOrder, "Which executions.")


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
