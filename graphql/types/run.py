"""Runs and executions: columns, filters, orders, steps; their relations are in ``entities``."""

from datetime import datetime
from typing import Any, ClassVar, Final
from urllib.parse import quote

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model, remote, waits
from ...jobs.core.actor import Role
from ...jobs.core.base.resources import CARRIED
from ...jobs.core.flows import When
from ...jobs.core.model import Outcome, Priority, Run, Trigger
from ...jobs.core.remote import EngineState
from ...jobs.core.states import RunState
from ...jobs.core.steps import StepKind, StepState
from ...jobs.store.statements.figures.failures import fingerprint
from ...jobs.store.statements.lists import EXECUTIONS, RUNS
from ..base.enums import Described, describe, described
from ..base.scalars import BigInt, Duration, Labels
from ..execution.shown import ByField, Fields, FromModel, Made, Makers
from ..lists.declared import kind_of
from ..lists.filters import (
    ArgumentFilter,
    BigIntFilter,
    BooleanFilter,
    DateTimeFilter,
    DurationFilter,
    Filter,
    IdFilter,
    IntFilter,
    LabelFilter,
    RowFilter,
    StringFilter,
    condition,
    filter_of,
)
from ..resolving.context import Info
from .common import Progress, Resources


@filter_of("A filter of runs.")
class RunFilter(RowFilter):
    """Conditions on runs."""

    id: IdFilter | None = condition("The key of the run.")
    state: Filter[RunState] | None = condition("The state of the run.")
    job_name: StringFilter | None = condition("The name of its job.")
    task_id: IdFilter | None = condition("The key of its task.")
    task_name: StringFilter | None = condition("The name of its task.")
    group: StringFilter | None = condition("The group of the run.")
    priority: Filter[Priority] | None = condition("The priority of the run.")
    trigger: Filter[Trigger] | None = condition("The trigger of the run: how it was made.")
    node: StringFilter | None = condition("The name of the node that holds or held it.")
    scheduled_for: DateTimeFilter | None = condition("The nominal time of its occurrence.")
    submitted_at: DateTimeFilter | None = condition("The time when the run was put into the queue.")
    available_at: DateTimeFilter | None = condition("The time from which the run may start or be tried again.")
    started_at: DateTimeFilter | None = condition("The time when its newest attempt began.")
    finished_at: DateTimeFilter | None = condition("The time when the run reached a final state.")
    cancel_requested_at: DateTimeFilter | None = condition("The time when the run was asked to stop.")
    attempt: IntFilter | None = condition("The number of attempts that have begun.")
    failures: IntFilter | None = condition("The number of attempts that failed or were lost.")
    unique_key: StringFilter | None = condition("The unique key of the run.")
    concurrency_key: StringFilter | None = condition("The concurrency key of the run.")
    retried_from: IdFilter | None = condition("The key of the run that the run retries.")
    retried: BooleanFilter | None = condition("Whether another run retries the run.", "isRetried")
    waits_for_signal: BooleanFilter | None = condition(
        "Whether the run is suspended, and a step of it waits for a signal.", "isWaitingForSignal"
    )
    submitter: StringFilter | None = condition("The person or program that asked for the run.")
    description: StringFilter | None = condition("The description of the run.")
    labels: LabelFilter | None = condition("The labels of the run. For several labels use `and`.")
    args: ArgumentFilter | None = condition("The arguments of the run. For several arguments use `and`.")
    error: StringFilter | None = condition("The last error of the run.")
    flow_id: IdFilter | None = condition("The key of the flow of the run.")


@described("A field by which runs can be ordered; newest first unless given.")
class RunOrderField(Described):
    """Fields of runs to order by."""

    ID = "id", "The key, in the order of submission."
    STATE = "state", "The state, by its name."
    JOB_NAME = "job_name", "The name of the job."
    TASK_NAME = "task_name", "The name of the task."
    GROUP = "group", "The group."
    PRIORITY = "priority", "The priority, by its name: HIGH before LOW."
    SCHEDULED_FOR = "scheduled_for", "The nominal time of the occurrence."
    SUBMITTED_AT = "submitted_at", "The time when the run was put into the queue."
    AVAILABLE_AT = "available_at", "The time from which the run may start or be tried again."
    STARTED_AT = "started_at", "The time when its newest attempt began."
    FINISHED_AT = "finished_at", "The time when the run reached a final state."


RUN_LIST: Final = kind_of(RUNS, RunFilter, RunOrderField, "runs")


@filter_of("A filter of executions.")
class ExecutionFilter(RowFilter):
    """Conditions on executions."""

    id: IdFilter | None = condition("The key of the execution.")
    job_name: StringFilter | None = condition("The name of the job.")
    task_id: IdFilter | None = condition("The key of the task.")
    task_name: StringFilter | None = condition("The name of the task.")
    run_id: IdFilter | None = condition("The key of the run.")
    group: StringFilter | None = condition("The group of the run; no value once that is pruned.")
    owner: StringFilter | None = condition("The outside thing that the task exists for; no value once that is deleted.")
    outcome: Filter[Outcome] | None = condition("The outcome of the execution; no value = still running.")
    success: BooleanFilter | None = condition("Whether the execution went well; no value = still running.")
    node: StringFilter | None = condition("The node that executed it.")
    trigger: Filter[Trigger] | None = condition("The trigger of its run: how the run was made.")
    attempt: IntFilter | None = condition("The number of the attempt at the run, from 1.")
    started_at: DateTimeFilter | None = condition("The time when the execution began.")
    completed_at: DateTimeFilter | None = condition("The time when the execution ended; no value = still running.")
    scheduled_for: DateTimeFilter | None = condition("The nominal time of the occurrence.")
    records_processed: BigIntFilter | None = condition("The number of records that the job says it processed.")
    duration: DurationFilter | None = condition("The time from start to end.")
    labels: LabelFilter | None = condition("The labels of the run; several by `and`.")
    args: ArgumentFilter | None = condition("The arguments of the run; several by `and`.")
    error_message: StringFilter | None = condition("The error's message.")
    error_type: StringFilter | None = condition("The error's type.")


@described("A field by which executions can be ordered; newest first unless given.")
class ExecutionOrderField(Described):
    """Fields of executions to order by."""

    ID = "id", "The key, in the order of start."
    JOB_NAME = "job_name", "The name of the job."
    TASK_NAME = "task_name", "The name of the task."
    NODE = "node", "The node."
    STARTED_AT = "started_at", "The time when the execution began."
    COMPLETED_AT = "completed_at", "The time when the execution ended."
    DURATION = "duration", "The time from start to end."
    RECORDS_PROCESSED = "records_processed", "The number of records that the job says it processed."


EXECUTION_LIST: Final = kind_of(EXECUTIONS, ExecutionFilter, ExecutionOrderField, "executions")


@strawberry.type(description="The page on which people without an account answer a run.")
class AnswerPage(FromModel):
    """Its words, and the data it shows."""

    title: str | None = strawberry.field(description="The heading; null = the name of the signal.")
    text: str | None = strawberry.field(
        description="Sentences below the heading, with an empty line between paragraphs."
    )
    shows: JSON | None = strawberry.field(description="The subject of the answer, any JSON; null = nothing is shown.")
    confirm: str = strawberry.field(description="The word on the button that answers.")
    reject: str | None = strawberry.field(
        description="The word on the button that says no; null = nobody can say no there."
    )

    MADE: ClassVar[Makers] = {}


@strawberry.type(description="A durable step of a run: its result, or a failure of it in one attempt.")
class RunStep(FromModel):
    """A stored step."""

    label: str = strawberry.field(
        description="The label of the step in its run: the name, the key in brackets, and the number of the use if "
        "it is not the first, e.g. `charge`, `charge[42]#2`. `retryRun(fromStep:)` takes it."
    )
    name: str = strawberry.field(description="The name that the job gives the step.")
    key: str | None = strawberry.field(
        description="The key that distinguishes steps of one name which run at the same time; null if the job "
        "gives none."
    )
    use: int = strawberry.field(description="The number of the use of this name and key in the run, from 1.")
    kind: StepKind = strawberry.field(description="The kind of the step, e.g. a function or a wait.")
    state: StepState = strawberry.field(description="The state of the step.")
    attempt: int = strawberry.field(
        description="The number of the attempt in which the step ended, or in which a wait began; 0 = copied from "
        "the run that this run retries."
    )
    started_at: datetime = strawberry.field(
        description="The time when the function was first called, or when the wait began."
    )
    finished_at: datetime | None = strawberry.field(description="The time when the step ended; null while it waits.")
    wake_at: datetime | None = strawberry.field(
        description="The time at which a wait ends by itself; null for other steps."
    )
    signal: str | None = strawberry.field(
        description="The name of the signal that the step waits for, as `signalRun` takes it; null for other steps."
    )
    role: Role | None = strawberry.field(
        description="The least role whose signals the step accepts; null for other steps."
    )
    form: JSON | None = strawberry.field(
        description="The JSON Schema of the data that the signal has to carry; null = anything."
    )
    flow_id: strawberry.ID | None = strawberry.field(
        description="The `id` of the flow of the runs that the step waits for; null for other steps."
    )
    value: JSON | None = strawberry.field(description="The value that the step returned, or the data of the signal.")
    error: str | None = strawberry.field(
        description="The error of the step, or the reason that the signal gave for a rejection."
    )
    cleanup_job: str | None = strawberry.field(
        name="cleanupJobName",
        description="The name of the job whose run undoes the step once the run has failed for good or was cancelled; "
        "null = nothing undoes it.",
    )
    used: bool = strawberry.field(
        name="isUsed",
        description="Whether the code still has the step; false if the successful attempt did not ask for it.",
    )
    latest: bool = strawberry.field(
        name="isLatest",
        description="Whether no later attempt took the step again. A run has one latest step of each label, and "
        "`retryRun(fromStep:)` starts there.",
    )

    answer_page: AnswerPage | None = strawberry.field(
        description="The page at the newest address at which people without an account answer the wait; null if the "
        "job has described none."
    )

    MADE: ClassVar[Makers] = {
        "answer_page": lambda step: (
            None if step.page is None else AnswerPage.from_model(waits.AnswerPage.from_json(step.page))
        )
    }


describe(
    EngineState,
    "The state of an attempt as its engine says it.",
    {
        EngineState.UNKNOWN: "The engine does not list it.",
        EngineState.PENDING: "It waits at the engine for its turn.",
        EngineState.RUNNING: "It runs at the engine.",
        EngineState.ENDED: "It has ended at the engine.",
        EngineState.GONE: "The engine has lost it.",
        EngineState.EVICTED: "The engine has taken it off its machine, through no fault of its own.",
    },
)


def page_of(one: remote.RemoteAttempt) -> str | None:
    """Return the address of an attempt's page at its engine; None: there is none, or its handle is not known yet."""
    if one.page is None or (one.handle is None and "{handle}" in one.page):
        return None
    named = one.page.replace("{name}", quote(one.name, safe=""))
    return named.replace("{handle}", quote(one.handle or "", safe=""))


@strawberry.type(description="An attempt that an executor has handed to an engine outside of the node.")
class RemoteAttempt(FromModel):
    """The place of an execution at its engine."""

    executor: str = strawberry.field(description="The name of the executor.")
    name: str = strawberry.field(description="The name of the attempt at the engine, known before it was submitted.")
    handle: str | None = strawberry.field(
        description="The handle by which the engine knows the attempt; null while its submission is not answered."
    )
    page_url: str | None = strawberry.field(
        description="The address of the attempt's page at the engine, by the setting `page` of the executor; null "
        "without one, and while the `handle` is not known that it names."
    )
    resources: Resources | None = strawberry.field(
        description="The resources that the attempt was submitted with: those of the job, with those of its task and "
        "of the run over them. Null = none."
    )
    submitted_at: datetime = strawberry.field(description="The time when the submission began.")
    engine_state: EngineState = strawberry.field(description="The state of the attempt as the engine said it last.")
    engine_text: str = strawberry.field(description="The words of the engine itself; empty if it had none.")
    engine_since: datetime = strawberry.field(
        name="engineStateAt", description="The time since which the attempt is in that state."
    )
    queue_position: int | None = strawberry.field(
        description="The place of the attempt among all that wait with it at the engine, those of other users too; 1 "
        "= the next by priority. Null while it does not wait, and where the engine does not say: Slurm does, for the "
        "partition. It is some looks old."
    )
    queue_length: int | None = strawberry.field(
        description="The number of those that wait there; null with `queuePosition`."
    )
    started_at: datetime | None = strawberry.field(
        description="The time when the code began at the engine; null before. The time box counts from there."
    )
    heard_at: datetime | None = strawberry.field(
        description="The time when the code was last heard; null if it never was."
    )
    ended_at: datetime | None = strawberry.field(
        description="The time when the end of the attempt was accepted; null before."
    )

    MADE: ClassVar[Makers] = {
        "resources": lambda attempt: Resources.from_document(attempt.resources),
        "page_url": page_of,
    }


@strawberry.type(description="The place of a run in its flow.")
class FlowPlace:
    """Its key, its predecessors and its condition."""

    flow_id: strawberry.ID = strawberry.field(description="The `id` of the flow.")
    key: str = strawberry.field(description="The key of the run in the flow.")
    when: When = strawberry.field(description="The ends of the earlier runs after which the run starts.")
    after: list[strawberry.ID] = strawberry.field(
        description="The `id` of each run that comes directly before the run."
    )
    skipped_after: list[str] = strawberry.field(
        description="The keys of the runs that kept a skipped run from starting, the first cause first."
    )


async def load_place(info: Info, run: Run) -> FlowPlace | None:
    """Return the place of a run; None if it belongs to no flow, or another run has taken its place."""
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
    id: strawberry.ID = strawberry.field(description="The decimal key of the run.")
    state: RunState = strawberry.field(description="The state of the run.")
    job_name: str = strawberry.field(description="The name of the job.")
    task_name: str | None = strawberry.field(
        description="The name of the task that made the run; kept when the task is deleted. Null for other runs."
    )
    group: str = strawberry.field(description="The group of the run.")
    priority: model.Priority = strawberry.field(description="The priority of the run within its group.")
    args: JSON = strawberry.field(description="The arguments of the run, an object.")
    attempt: int = strawberry.field(description="The number of attempts that have begun; it only grows.")
    failures: int = strawberry.field(description="The number of attempts that failed, timed out or were lost.")
    retries: int = strawberry.field(
        description="The number of failures that the run survives: it fails for good once `failures` exceeds it."
    )
    retry_delay: Duration = strawberry.field(
        description="The pause before the first retry; each further one is twice as long."
    )
    timeout: Duration | None = strawberry.field(
        description="The longest time that an attempt may take; null = no limit."
    )
    max_duration: Duration | None = strawberry.field(
        description="The longest time that the run may take from its first start, sleeping and waiting included; "
        "null = no limit."
    )
    deadline_at: datetime | None = strawberry.field(
        description="The time at which the run fails by `maxDuration` unless it has ended; null before its first "
        "start, and without `maxDuration`."
    )
    trigger: model.Trigger = strawberry.field(description="The trigger of the run: how it was made.")
    scheduled_for: datetime | None = strawberry.field(
        description="The nominal time of its occurrence; null for runs made by hand or by the API."
    )
    submitted_at: datetime = strawberry.field(description="The time when the run was put into the queue.")
    available_at: datetime = strawberry.field(description="The time from which the run may start or be tried again.")
    wake_at: datetime | None = strawberry.field(
        description="The latest time at which a suspended run is woken; null = not by time."
    )
    started_at: datetime | None = strawberry.field(
        description="The time when the newest attempt began; null before the first one."
    )
    finished_at: datetime | None = strawberry.field(
        description="The time when the run reached a final state; null before that."
    )
    cancel_requested_at: datetime | None = strawberry.field(
        description="The time when the run was asked to stop; null if it was not."
    )
    cancel_reason: str | None = strawberry.field(description="The reason that was given with the request to stop.")
    node: str | None = strawberry.field(
        description="The name of the node that holds or last held the run; null if none ever did."
    )
    unique_key: str | None = strawberry.field(
        description="The unique key of the run: no second unfinished run can have it. Null = it has none."
    )
    concurrency_key: str | None = strawberry.field(
        description="The concurrency key of the run: at most `maxConcurrent` runs with it run at the same time, on "
        "all nodes together. Null = no limit."
    )
    max_concurrent: int | None = strawberry.field(
        description="The largest number of runs with the `concurrencyKey` at the same time; null without one."
    )
    keeps_place: bool = strawberry.field(
        name="isPlaceKept",
        description="True = the run takes its place of the `concurrencyKey` from its first start until it is "
        "finished; false = only while a node executes it.",
    )
    rate_key: str | None = strawberry.field(
        description="The key of the token bucket from which the run takes its token; empty = the bucket of the "
        "whole job, null = the job has no rate."
    )
    cap_key: str | None = strawberry.field(
        description="The key by which the run counts among the waiting runs of its job; empty = all runs of the "
        "job count together, null = the job has no cap."
    )
    submitter: str | None = strawberry.field(description="The person or program that asked for the run.")
    description: str = strawberry.field(description="The purpose of the run, in words, copied from its task.")
    labels: Labels = strawberry.field(description="The labels of the run, by which it can be found.")
    resources: Resources | None = strawberry.field(
        description="The resources that the run asks for at the engine of its job, over those of the job; null = those "
        "of the job. An attempt has all of them in one."
    )
    expires_at: datetime | None = strawberry.field(
        description="The time by which the run has to start; otherwise it is skipped. Null = no limit."
    )
    skip_reason: model.SkipReason | None = strawberry.field(
        description="The reason why the run was dropped before its start; null for all other runs."
    )
    progress: Progress | None = strawberry.field(
        description="The progress that the job last reported; null if it reported none."
    )
    result: JSON | None = strawberry.field(description="The value that the job returned.")
    error: str | None = strawberry.field(description="The message of the last error.")
    deduplicated: bool = strawberry.field(
        name="isDeduplicated",
        description="Whether this unfinished run had the unique key already, so that no new run was made. Only "
        "answers of mutations that enqueue say so.",
    )


def _labels(labels: dict[str, str] | None) -> dict[str, str]:
    return labels or {}


def _resources(carried: dict[str, Any] | None) -> Resources | None:
    return Resources.from_document((carried or {}).get(CARRIED))


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
        "resources": Made(("carried",), _resources),
        "deduplicated": Made((), lambda: False),
        "keeps_place": Made(("keeps_place",), bool),
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
    started_at: datetime = strawberry.field(description="The time when the execution began.")
    completed_at: datetime | None = strawberry.field(
        description="The time when the execution ended; null while it runs."
    )
    success: bool | None = strawberry.field(
        description="Whether the execution went well (SUCCESS, SNOOZED or SUSPENDED); null while it runs."
    )
    error_message: str | None = strawberry.field(
        description="The message of the error; set whenever `success` is false."
    )
    records_processed: BigInt | None = strawberry.field(
        description="The number of records that the job says it processed; null if it says nothing."
    )
    outcome: model.Outcome | None = strawberry.field(description="The outcome of the execution; null while it runs.")
    task_name: str | None = strawberry.field(description="The name of the task; kept when that is deleted.")
    attempt: int = strawberry.field(description="The number of the attempt at the run, from 1.")
    node: str = strawberry.field(description="The node that executes or executed it.")
    trigger: model.Trigger = strawberry.field(description="The trigger of the run: how it was made.")
    scheduled_for: datetime | None = strawberry.field(description="The nominal time of its occurrence.")
    submitted_at: datetime = strawberry.field(description="The time when the run was put into the queue.")
    duration: Duration | None = strawberry.field(description="Seconds from start to end; null while it runs.")
    wait: Duration = strawberry.field(
        description="Seconds from the nominal time, or else the submission of the run, to the start of this attempt."
    )
    error_type: str | None = strawberry.field(description="The type of the error, e.g. `ValueError`.")
    fingerprint: str | None = strawberry.field(
        description="The name of the group of failures to which it belongs, as `FailureGroup` has it; null unless it "
        "FAILED, TIMED_OUT or was LOST."
    )
    traceback: str | None = strawberry.field(description="The traceback of the error; null without an error.")
    value: JSON | None = strawberry.field(description="The value that the job returned.")
    trace_id: str | None = strawberry.field(
        description="The id of its trace, 32 hexadecimal digits; null while it runs, and if it is not traced."
    )
    progress: Progress | None = strawberry.field(
        description="The progress that the job last reported; null if it reported none."
    )


def _duration(started: datetime, ended: datetime | None) -> float | None:
    return None if ended is None else (ended - started).total_seconds()


def _wait(started: datetime, due: datetime | None, submitted: datetime) -> float:
    return max(0.0, (started - (due or submitted)).total_seconds())


def _fingerprint(job_name: str, outcome: Outcome | None, error_type: str | None, message: str | None) -> str | None:
    return fingerprint(job_name, error_type, message or "") if outcome in model.FAILURES else None


ExecutionFields.FIELDS = Fields(
    ExecutionFields,
    model.Execution,
    made={
        "duration": Made(("started_at", "completed_at"), _duration),
        "wait": Made(("started_at", "scheduled_for", "submitted_at"), _wait),
        "progress": Made(("progress",), Progress.from_json),
        "fingerprint": Made(("job_name", "outcome", "error_type", "error_message"), _fingerprint),
    },
)
