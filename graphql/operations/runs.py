"""Mutations of runs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, TypeAlias

import strawberry
from strawberry.scalars import JSON

from ...jobs.actions import runs as actions
from ...jobs.actions.idempotent import Memory
from ...jobs.actions.runs import Enqueued
from ...jobs.core.codes import ErrorCode
from ...jobs.core.errors import InvalidInput, NotFound
from ...jobs.core.model import Json, Run
from ...jobs.core.states import CLAIMABLE, FINAL, UNFINISHED, RunState
from ...jobs.store.db.transaction import Tx
from ...jobs.store.read import pages
from ...jobs.store.read import runs as run_store
from ...jobs.store.read.criteria import Criteria, one_of
from ...jobs.store.read.lists import RUNS
from ..arguments import INPUT, MAX_RUNS
from ..context import Info
from ..enums import Role
from ..errors import UserFacingError
from ..fields import mutates
from ..guard.sizes import Size
from ..lists.criteria import to_criteria
from ..scalars import BigInt
from ..types import entities
from ..types.payloads import EnqueueRunsPayload, PruneHistoryPayload, RunPayload, RunsPayload, TriggerJobPayload
from .changes import ONE_RUN, Done, args_of, given, parse_key, perform, recall_runs
from .inputs import (
    CancelRunInput,
    CancelRunsInput,
    EnqueueRunsInput,
    PruneHistoryInput,
    RetryNowInput,
    RetryRunInput,
    RetryRunsInput,
    RunSelection,
    SetRunPriorityInput,
)
from .pruning import PRUNING, prune

"""Runs that one call makes or changes."""
MAX_SHOWN: Final = 200

BulkAction: TypeAlias = Callable[[Tx, Sequence[int]], list[Run]]


@dataclass(frozen=True, slots=True)
class Changed:
    """What a bulk action did, or would do: the runs afterwards, how many changed, and whether more match."""

    runs: list[Run]
    count: int
    has_more: bool


CHANGED: Final[Memory[Changed]] = Memory(
    keep=lambda changed: {
        "runs": [run.id for run in changed.runs[:MAX_SHOWN]],
        "count": changed.count,
        "hasMore": changed.has_more,
    },
    recall=lambda tx, stored: Changed(recall_runs(tx, stored), stored["count"], stored["hasMore"]),
)


def recall_enqueued(tx: Tx, stored: Json) -> list[Enqueued]:
    """The runs of a repeated ``enqueueRuns``, as they are now; those pruned since are left out."""
    found = run_store.by_ids(tx.conn, stored["runs"])
    pairs = zip(stored["runs"], stored["deduplicated"], strict=True)
    return [Enqueued(found[run_id], deduplicated) for run_id, deduplicated in pairs if run_id in found]


ENQUEUED: Final[Memory[list[Enqueued]]] = Memory(
    keep=lambda enqueued: {
        "runs": [one.run.id for one in enqueued],
        "deduplicated": [one.deduplicated for one in enqueued],
    },
    recall=recall_enqueued,
)


@dataclass(frozen=True, slots=True)
class TriggerJobInput:
    """The arguments of ``triggerJob`` as one value, to be checked like an input object."""

    job_name: str
    args: object


def run_payload(done: Done[Run]) -> RunPayload:
    """The answer for one run."""
    return RunPayload(run=None if done.result is None else entities.Run.from_model(done.result), errors=done.errors)


def runs_payload(done: Done[Changed]) -> RunsPayload:
    """The answer for many runs."""
    if done.result is None:
        return RunsPayload(errors=done.errors)
    shown = [entities.Run.from_model(run) for run in done.result.runs[:MAX_SHOWN]]
    return RunsPayload(runs=shown, count=BigInt(done.result.count), has_more=done.result.has_more)


def in_bulk(selection: RunSelection, states: Collection[RunState], action: BulkAction) -> Callable[[Tx], Changed]:
    """The action on the selected runs, or on a dry run only the selection.

    Args:
        selection: What the client chose.
        states: In which states the action does something; a filter finds no others.
        action: Changes runs by key.
    """
    filter, ids = given(selection.filter), given(selection.ids)
    if (filter is None) == (ids is None):
        raise InvalidInput("ids: give either ids or filter" + ("" if ids is None else ", not both"), path=("ids",))
    criteria = None if filter is None else _criteria(selection, one_of("state", tuple(sorted(states))))
    keys = sorted({parse_key(one, "ids", str(place)) for place, one in enumerate(ids or ())})
    if len(keys) > MAX_RUNS:
        raise InvalidInput(f"ids: must be at most {MAX_RUNS:,} runs, got {len(keys):,}", path=("ids",))

    def perform_on(tx: Tx) -> Changed:
        chosen = keys if criteria is None else pages.ids(tx.conn, RUNS, criteria, MAX_RUNS + 1)
        has_more, chosen = len(chosen) > MAX_RUNS, chosen[:MAX_RUNS]
        before = run_store.by_ids(tx.conn, chosen)
        missing = next((key for key in chosen if key not in before), None)
        if missing is not None:
            raise NotFound(f"run '{missing}' does not exist", path=("ids",))
        apt = [key for key in chosen if before[key].state in states]
        runs = [before[key] for key in apt] if given(selection.dry_run) else action(tx, chosen)
        return Changed(runs, len(apt), has_more)

    return perform_on


def _criteria(selection: RunSelection, states: Criteria) -> Criteria:
    try:
        return to_criteria(given(selection.filter), states)
    except UserFacingError as error:
        raise InvalidInput(error.message, path=("filter",)) from error


async def perform_in_bulk(
    info: Info, operation: str, input: RunSelection, states: Collection[RunState], action: BulkAction
) -> RunsPayload:
    """Run a bulk action; a faulty selection is data, as any refusal."""

    def prepared(tx: Tx) -> Changed:
        return in_bulk(input, states, action)(tx)

    return runs_payload(await perform(info, operation, input, prepared, CHANGED))


@strawberry.type
class RunMutations:
    """Everything that makes and changes runs."""

    @mutates(description="Runs a job now.", requires=Role.OPERATOR)
    async def trigger_job(
        self,
        info: Info,
        job_name: Annotated[str, strawberry.argument(description="Which job; see `availableJobs`.")],
        args: Annotated[JSON | None, strawberry.argument(description="Its arguments, an object.")] = None,
        idempotency_key: Annotated[
            str | None, strawberry.argument(description="Makes a repetition within 24 hours safe.")
        ] = None,
    ) -> TriggerJobPayload:
        """The new run; an unknown job is data and no error."""
        action = partial(actions.trigger_job, job_name=job_name, args=args_of(args), actor=info.context.person.name)
        done = await perform(info, "triggerJob", TriggerJobInput(job_name, args), action, ONE_RUN, key=idempotency_key)
        if done.result is None:
            error = done.errors[0]
            message = f"Unknown job: {job_name}" if error.code is ErrorCode.UNKNOWN_JOB else error.message
            return TriggerJobPayload(success=False, message=message, job_name=job_name, errors=done.errors)
        message = f"Job {job_name} triggered successfully"
        run = entities.Run.from_model(done.result)
        return TriggerJobPayload(success=True, message=message, job_name=job_name, run=run)

    @mutates(
        description="Puts runs into the queue, all or none.",
        size=Size(("input.runs",), default=1, most=MAX_RUNS),
        requires=Role.OPERATOR,
    )
    async def enqueue_runs(self, info: Info, input: Annotated[EnqueueRunsInput, INPUT]) -> EnqueueRunsPayload:
        """The new runs, or those that had their unique keys."""
        submitter = info.context.person.name

        def action(tx: Tx) -> list[Enqueued]:
            if not 1 <= len(input.runs) <= MAX_RUNS:
                raise InvalidInput(f"runs: must be 1 to {MAX_RUNS:,} runs, got {len(input.runs):,}", path=("runs",))
            return actions.enqueue_runs(tx, [run.to_run(submitter) for run in input.runs])

        done = await perform(info, "enqueueRuns", input, action, ENQUEUED)
        runs = [entities.Run.from_model(one.run, deduplicated=one.deduplicated) for one in done.result or ()]
        return EnqueueRunsPayload(runs=runs, errors=done.errors)

    @mutates(
        description="Cancels a run: at once while it waits or is stuck, through the job's `should_stop` while it runs.",
        requires=Role.OPERATOR,
    )
    async def cancel_run(self, info: Info, input: Annotated[CancelRunInput, INPUT]) -> RunPayload:
        """The run after the request."""

        def action(tx: Tx) -> Run:
            reason, actor = given(input.reason), info.context.person.name
            return actions.cancel_runs(tx, [parse_key(input.id, "id")], reason=reason, actor=actor)[0]

        return run_payload(await perform(info, "cancelRun", input, action, ONE_RUN))

    @mutates(description="Cancels many runs, by key or by filter.", requires=Role.OPERATOR)
    async def cancel_runs(self, info: Info, input: Annotated[CancelRunsInput, INPUT]) -> RunsPayload:
        """The runs after the request."""
        cancel = partial(actions.cancel_runs, reason=given(input.reason), actor=info.context.person.name)
        return await perform_in_bulk(info, "cancelRuns", input, UNFINISHED, cancel)

    @mutates(description="Makes a new run of a finished one, linked to it.", requires=Role.OPERATOR)
    async def retry_run(self, info: Info, input: Annotated[RetryRunInput, INPUT]) -> RunPayload:
        """The new run."""

        def action(tx: Tx) -> Run:
            keys, args = [parse_key(input.id, "id")], args_of(input.args)
            return actions.retry_runs(tx, keys, args=args, actor=info.context.person.name)[0]

        return run_payload(await perform(info, "retryRun", input, action, ONE_RUN))

    @mutates(description="Makes new runs of many finished ones, by key or by filter.", requires=Role.OPERATOR)
    async def retry_runs(self, info: Info, input: Annotated[RetryRunsInput, INPUT]) -> RunsPayload:
        """The new runs."""
        retry = partial(actions.retry_runs, actor=info.context.person.name)
        return await perform_in_bulk(info, "retryRuns", input, FINAL, retry)

    @mutates(
        description="Deletes old history, by a run of the job `prune_history`: never unfinished runs, nor a task's "
        "newest execution.",
        requires=Role.ADMIN,
    )
    async def prune_history(self, info: Info, input: Annotated[PruneHistoryInput, INPUT]) -> PruneHistoryPayload:
        """The run that prunes, or what it would delete."""
        action = partial(prune, input=input, actor=info.context.person.name)
        done = await perform(info, "pruneHistory", input, action, PRUNING)
        if done.result is None:
            return PruneHistoryPayload(errors=done.errors)
        return PruneHistoryPayload(
            run=None if done.result.run is None else entities.Run.from_model(done.result.run),
            executions=[entities.JobExecution.from_model(one) for one in done.result.executions],
            count=BigInt(done.result.count),
            has_more=done.result.has_more,
        )

    @mutates(description="Makes a run that waits for its time, or for its retry, due now.", requires=Role.OPERATOR)
    async def retry_now(self, info: Info, input: Annotated[RetryNowInput, INPUT]) -> RunPayload:
        """The run that is due."""

        def action(tx: Tx) -> Run:
            return actions.retry_now(tx, parse_key(input.id, "id"))

        return run_payload(await perform(info, "retryNow", input, action, ONE_RUN))

    @mutates(description="Changes the priority of waiting and stuck runs, by key or by filter.", requires=Role.OPERATOR)
    async def set_run_priority(self, info: Info, input: Annotated[SetRunPriorityInput, INPUT]) -> RunsPayload:
        """The runs afterwards."""

        def action(tx: Tx, ids: Sequence[int]) -> list[Run]:
            return actions.set_priority(tx, ids, input.priority)

        return await perform_in_bulk(info, "setRunPriority", input, CLAIMABLE, action)
