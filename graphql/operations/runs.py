"""Mutations of runs, and of the history that is deleted."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Final, TypeVar

import strawberry
from strawberry.scalars import JSON

from ...jobs.actions import retries
from ...jobs.actions import runs as actions
from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.actions.retries import preview
from ...jobs.actions.runs import check_job_args, put_requested, trigger_job
from ...jobs.actions.signals import signal_run
from ...jobs.builtin.prune import DEFAULT_AGE_DAYS, JOB
from ...jobs.core.actor import Record
from ...jobs.core.base.errors import ErrorCode, InvalidInput
from ...jobs.core.base.errors import UserError as Refusal
from ...jobs.core.explain.previews import Preview, PreviewOutcome
from ...jobs.core.model import Enqueued, Execution, Json, Run
from ...jobs.core.states import CLAIMABLE, FINAL, UNFINISHED, RunState
from ...jobs.core.waits import Signal
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements import executions as execution_store
from ...jobs.store.statements import runs as run_store
from ...jobs.store.statements.listing.criteria import AllOf, Condition, Criteria, Operator, equal, one_of
from ...jobs.store.statements.prunable import keeping, prunable
from ..base.enums import Role
from ..base.fields import Size, mutates
from ..base.scalars import MAX_RUNS, BigInt, camel
from ..resolving.context import Info
from ..types import entities
from ..types import payloads as shown
from ..types.common import UserError
from ..types.payloads import (
    HistoryPruned,
    JobTriggered,
    RunChanged,
    RunsChanged,
    RunsEnqueued,
    RunsRetried,
    RunTried,
)
from .base.bulk import (
    BulkAction,
    CancelRunsInput,
    Changed,
    RetryRunsInput,
    RetryRunsNowInput,
    SetRunPrioritiesInput,
    answer_many,
    codec_of,
    many_runs,
    perform_many,
)
from .base.changes import (
    ONE_RUN,
    Done,
    args_of,
    given,
    is_dry,
    parse_key,
    perform,
    perform_once,
    restore_run,
    restore_runs,
)
from .base.inputs import KEY, LABELS, REASON, RESOURCES, TRY, UNIQUE_KEY, MutationInput, ResourcesInput, optional
from .enqueue_inputs import (
    DEBOUNCE,
    EXPIRES_AT,
    THROTTLE,
    TTL,
    UNIQUE_AMONG,
    UNIQUE_FOR,
    DebounceInput,
    EnqueueRunsInput,
    ThrottleInput,
    TriggerJobInput,
)

T = TypeVar("T")


@strawberry.input(description="The history that `pruneHistory` keeps. Absent and null mean the default.")
class PruneHistoryInput(MutationInput):
    """The input of ``pruneHistory``."""

    max_age_days: float | None = optional(
        "The days for which history is kept; older runs are deleted. 30 unless given."
    )
    max_per_task: int | None = optional(
        "The number of the newest executions of each task to keep. Any number unless given."
    )


@strawberry.input(description="The run that `cancelRun` cancels.")
class CancelRunInput(MutationInput):
    """The input of ``cancelRun``."""

    id: strawberry.ID = strawberry.field(description="The id of the run to cancel.")
    reason: str | None = optional(REASON)


@strawberry.input(one_of=True, description="Exactly one of these names an unfinished run.")
class RunKey:
    """A run by its id or its unique key."""

    id: strawberry.ID | None = optional("The id of the run.")
    unique_key: str | None = optional("The unique key of the run, which no other unfinished run has.")


@strawberry.input(description="The signal that `signalRun` sends to an unfinished run.")
class SignalRunInput(MutationInput):
    """The input of ``signalRun``."""

    run: RunKey = strawberry.field(description="The run that gets the signal.")

    name: str = strawberry.field(
        description="The name of the signal that the run waits for, or will: `approved`, or `approved[42]` of a wait "
        "with the key 42."
    )
    payload: JSON | None = optional(
        "The value that the wait returns: any JSON that fits the form of the wait. Null unless given."
    )
    reject: str | None = optional(
        "The reason for a no: the wait raises `Rejected`. At most 1,000 characters; the signal is no refusal unless "
        "given."
    )


@strawberry.input(description="The finished run of which `retryRun` makes a new one.")
class RetryRunInput(MutationInput):
    """The input of ``retryRun``."""

    id: strawberry.ID = strawberry.field(description="The id of the finished run.")
    args: JSON | None = optional("Arguments of the new run, an object. Those of the old run unless given.")
    from_step: str | None = optional(
        "The step from which the new run goes on, e.g. `charge` or `charge#2`: it has the results of all steps that "
        "began before. The first step unless given."
    )


@strawberry.input(description="The waiting or stuck run that `retryRunNow` makes due.")
class RetryRunNowInput(MutationInput):
    """The input of ``retryRunNow``."""

    id: strawberry.ID = strawberry.field(description="The id of the run to make due.")


@strawberry.input(description="The changes of a waiting run that `updateRun` makes. Absent fields stay as they are.")
class UpdateRunInput(MutationInput):
    """The input of ``updateRun``."""

    id: strawberry.ID = strawberry.field(description="The id of the run to change.")
    args: JSON | None = optional(
        "The new arguments of the run, an object; null means none. Refused once the run has begun; unchanged unless "
        "given."
    )
    run_at: datetime | None = optional(
        "The time before which the run does not start; null means now. Unchanged unless given."
    )


NOT_ASKED: Final = Condition("cancel_requested_at", Operator.IS_NULL, value=True)
"""A run that was asked to stop is as asked already."""


def _as_they_are(tx: Tx, ids: Sequence[int]) -> list[Enqueued]:
    found = run_store.by_ids(tx.conn, ids)
    return [Enqueued(found[key], deduplicated=False) for key in ids]


def _unless_retried(_tx: Tx) -> Condition:
    return equal("retried", value=False)


def restore_enqueued(tx: Tx, stored: Json) -> list[Enqueued]:
    """Return the runs of a repeated ``enqueueRuns``, as they are now; those pruned since are left out."""
    found = run_store.by_ids(tx.conn, stored["runs"])
    pairs = zip(stored["runs"], stored["deduplicated"], strict=True)
    return [Enqueued(found[run_id], deduplicated) for run_id, deduplicated in pairs if run_id in found]


def restore_one(tx: Tx, stored: Json) -> Enqueued:
    """Return the run of a repeated ``triggerJob``, as it is now."""
    return Enqueued(restore_run(tx, stored), stored.get("deduplicated", False))


ONE_ENQUEUED: Final[AnswerCodec[Enqueued]] = AnswerCodec(
    dump=lambda one: {"runs": [one.run.id], "deduplicated": one.deduplicated}, load=restore_one
)
ENQUEUED: Final[AnswerCodec[list[Enqueued]]] = AnswerCodec(
    dump=lambda enqueued: {
        "runs": [one.run.id for one in enqueued],
        "deduplicated": [one.deduplicated for one in enqueued],
    },
    load=restore_enqueued,
)
CHANGED: Final[AnswerCodec[Changed[Run]]] = codec_of(
    AnswerCodec(dump=lambda runs: {"runs": [run.id for run in runs]}, load=restore_runs)
)
RETRIED: Final = codec_of(ENQUEUED)


def bulk_action(
    states: Collection[RunState], apply: Callable[[Tx, Sequence[int]], list[T]], *also: Callable[[Tx], Criteria]
) -> BulkAction[Run, T]:
    """Return an action on runs in these states; a filter finds only those that meet the further conditions, too."""
    in_states = one_of("state", tuple(sorted(states)))
    return BulkAction(
        apply, lambda tx: AllOf((in_states, *(each(tx) for each in also))), lambda run: run.state in states
    )


MAX_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Pruning:
    """The run that prunes; of a dry run the executions to delete: the first, how many, and whether there are more."""

    run: Run | None
    executions: Sequence[Execution] = ()
    count: int = 0
    has_more: bool = False


def prune(tx: Tx, input: PruneHistoryInput, actor: str) -> Pruning:
    """Make the run that prunes; on a dry run, look at the history it would delete.

    Raises:
        Refusal: code ``UNKNOWN_JOB`` or ``INVALID_ARGS``.
    """
    age, keep = given(input.max_age_days), given(input.max_per_task)
    wanted: dict[str, Json] = {"max_age_days": age, "max_per_task": keep}
    args = {name: value for name, value in wanted.items() if value is not None}
    _check(tx, args)
    pruning = Pruning(trigger_job(tx, JOB, args=args, actor=actor).run)
    if not is_dry(input):
        return pruning
    kept = keeping(tx.conn, tx.now, timedelta(days=DEFAULT_AGE_DAYS if age is None else age))
    found = prunable(tx.conn, kept, keep)
    return Pruning(None, _oldest(tx, found.executions[:MAX_SHOWN]), len(found.executions), not found.complete)


def _check(tx: Tx, args: Mapping[str, Json]) -> None:
    """Refuse arguments that the job refuses, by the names that the input has for them."""
    try:
        check_job_args(tx, JOB, args)
    except Refusal as error:
        for fault in error.faults:
            fault.path = tuple(camel(part) for part in fault.path if part != "args")
        raise


def _oldest(tx: Tx, ids: Sequence[int]) -> list[Execution]:
    known = execution_store.by_ids(tx.conn, ids)
    return [known[key] for key in ids if key in known]


def _dump(pruning: Pruning) -> Json:
    return {
        "run": None if pruning.run is None else pruning.run.id,
        "executions": [execution.id for execution in pruning.executions],
        "count": pruning.count,
        "hasMore": pruning.has_more,
    }


def _load(tx: Tx, stored: Json) -> Pruning:
    run = None if stored["run"] is None else restore_run(tx, {"runs": [stored["run"]]})
    return Pruning(run, _oldest(tx, stored["executions"]), stored["count"], stored["hasMore"])


PRUNING: Final[AnswerCodec[Pruning]] = AnswerCodec(dump=_dump, load=_load)


@strawberry.type
class RunMutations:
    """Everything that makes and changes runs."""

    @mutates(requires=Role.OPERATOR)
    async def trigger_job(  # noqa: PLR0913, PLR0917 - each setting of a run has a name of its own
        self,
        info: Info,
        job_name: Annotated[str, strawberry.argument(description="The name of the job, one of `availableJobs`.")],
        args: Annotated[
            JSON | None, strawberry.argument(description="The arguments of the run, an object. None unless given.")
        ] = None,
        idempotency_key: Annotated[str | None, strawberry.argument(description=KEY)] = None,
        unique_key: Annotated[str | None, strawberry.argument(description=UNIQUE_KEY)] = None,
        labels: Annotated[JSON | None, strawberry.argument(description=LABELS)] = None,
        unique_for: Annotated[float | None, strawberry.argument(description=UNIQUE_FOR)] = None,
        unique_among: Annotated[list[RunState] | None, strawberry.argument(description=UNIQUE_AMONG)] = None,
        debounce: Annotated[DebounceInput | None, strawberry.argument(description=DEBOUNCE)] = None,
        throttle: Annotated[ThrottleInput | None, strawberry.argument(description=THROTTLE)] = None,
        expires_at: Annotated[datetime | None, strawberry.argument(description=EXPIRES_AT)] = None,
        ttl: Annotated[float | None, strawberry.argument(description=TTL)] = None,
        resources: Annotated[ResourcesInput | None, strawberry.argument(description=RESOURCES)] = None,
        dry_run: Annotated[bool, strawberry.argument(description=TRY)] = False,
    ) -> JobTriggered:
        """Runs a job now."""
        asked = TriggerJobInput(
            job_name, args, unique_key, labels, unique_for, unique_among, debounce, throttle, expires_at, ttl,
            resources,
        )  # fmt: skip
        submitter, database = info.context.person.submitter, info.context.database

        def action(tx: Tx) -> Enqueued:
            return actions.trigger(tx, asked.to_run(submitter))

        async def fast_path(record: Record) -> Enqueued | None:
            return await put_requested(database, asked.to_run(submitter), record)

        if dry_run:
            tried = await perform_once(info, asked, lambda tx: preview(tx, [job_name], lambda tx: [action(tx)]))
            return _previewed(job_name, tried)
        done = await perform(info, asked, action, ONE_ENQUEUED, key=idempotency_key, fast_path=fast_path)
        if done.result is None:
            return _not_triggered(job_name, done.errors)
        made = done.result
        message = f"Job {job_name} triggered successfully"
        if made.deduplicated:
            message = f"Job {job_name} was not triggered again: run {made.run.id} with its unique key is unfinished"
        run = _enqueued(made)
        return JobTriggered(success=True, message=message, job_name=job_name, run=run)

    @mutates(size=Size(("input.runs",), default=1, most=MAX_RUNS), requires=Role.OPERATOR)
    async def enqueue_runs(self, info: Info, input: EnqueueRunsInput) -> RunsEnqueued:
        """Puts runs into the queue, all or none."""
        submitter = info.context.person.submitter

        def action(tx: Tx) -> list[Enqueued]:
            if not 1 <= len(input.runs) <= MAX_RUNS:
                raise InvalidInput(f"runs: must be 1 to {MAX_RUNS:,} runs, got {len(input.runs):,}", path=("runs",))
            return actions.enqueue_runs(tx, input.to_runs(submitter))

        if is_dry(input):
            names = [run.job_name for run in input.runs]
            tried = await perform_once(info, input, lambda tx: preview(tx, names, action))
            return tried.answer(RunsEnqueued, preview=shown.Preview.from_model)

        async def fast_path(record: Record) -> list[Enqueued] | None:
            if len(input.runs) != 1:
                return None
            put = await put_requested(info.context.database, input.to_runs(submitter)[0], record)
            return None if put is None else [put]

        done = await perform(info, input, action, ENQUEUED, fast_path=fast_path)
        runs = [_enqueued(one) for one in done.result or ()]
        return RunsEnqueued(runs=runs, errors=done.errors)

    @mutates(requires=Role.OPERATOR)
    async def cancel_run(self, info: Info, input: CancelRunInput) -> RunChanged:
        """Cancels a run: at once while it waits or is stuck, through the job's `should_stop` while it runs."""

        def action(tx: Tx) -> Run:
            reason, actor = given(input.reason), info.context.person.name
            return actions.cancel_runs(tx, [parse_key(input.id, "id")], reason=reason, actor=actor)[0]

        done = await perform(info, input, action, ONE_RUN)
        return done.answer(RunChanged, run=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def signal_run(self, info: Info, input: SignalRunInput) -> RunChanged:
        """Sends a signal to an unfinished run.

        It stays with the run until a wait of this name takes it; a run that waits for it goes on at once.
        """

        def action(tx: Tx) -> Run:
            key = given(input.run.id)
            signal = Signal(input.name, given(input.payload), given(input.reject))
            run_id = None if key is None else parse_key(key, "run", "id")
            return signal_run(tx, run_id=run_id, unique_key=given(input.run.unique_key), signal=signal)

        done = await perform(info, input, action, ONE_RUN)
        return done.answer(RunChanged, run=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def cancel_runs(self, info: Info, input: CancelRunsInput) -> RunsChanged:
        """Cancels many runs."""
        cancel = partial(actions.cancel_runs, reason=given(input.reason), actor=info.context.person.name)
        action = partial(many_runs, input=input, bulk_action=bulk_action(UNFINISHED, cancel, lambda _: NOT_ASKED))
        done = await perform_many(info, input, action, CHANGED)
        return answer_many(RunsChanged, done, runs=entities.Run.from_model)

    @mutates(
        description="Changes when a run that waits is due, and its arguments as long as it has not begun: they are "
        "judged as at `enqueueRuns`, and who changes them becomes its submitter. Its unique key stays.",
        requires=Role.OPERATOR,
    )
    async def update_run(self, info: Info, input: UpdateRunInput) -> RunChanged:
        """The changed run."""

        def action(tx: Tx) -> Run:
            return actions.edit_run(
                tx,
                parse_key(input.id, "id"),
                args=None if input.args is strawberry.UNSET else args_of(input.args) or {},
                available_at=None if input.run_at is strawberry.UNSET else input.run_at or tx.now,
                actor=info.context.person.name,
            )

        done = await perform(info, input, action, ONE_RUN)
        return done.answer(RunChanged, run=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def retry_run(self, info: Info, input: RetryRunInput) -> RunTried:
        """Makes a new run of a finished one, linked to it."""

        def again(tx: Tx) -> list[Enqueued]:
            keys, args = [parse_key(input.id, "id")], args_of(input.args)
            step, actor = given(input.from_step), info.context.person.name
            return retries.retry_each(tx, keys, args=args, from_step=step, actor=actor)

        def tried(tx: Tx) -> Preview:
            before = run_store.by_ids(tx.conn, [parse_key(input.id, "id")])
            return preview(tx, [run.job_name for run in before.values()], again)

        if is_dry(input):
            return (await perform_once(info, input, tried)).answer(RunTried, preview=shown.Preview.from_model)
        done = await perform(info, input, lambda tx: again(tx)[0].run, ONE_RUN)
        return done.answer(RunTried, run=entities.Run.from_model)

    @mutates(
        description="Makes new runs of many finished ones. A filter leaves out those that were retried already, unless "
        "`excludeRetried` is false.",
        requires=Role.OPERATOR,
    )
    async def retry_runs(self, info: Info, input: RetryRunsInput) -> RunsRetried:
        """The new runs."""
        labels, actor = given(input.labels), info.context.person.name
        once_only = [_unless_retried] if input.exclude_retried else []
        retry = partial(retries.retry_each, labels=labels, actor=actor)

        def again(tx: Tx) -> Changed[Enqueued]:
            return many_runs(tx, input, bulk_action(FINAL, retry, *once_only))

        def tried(tx: Tx) -> Changed[Enqueued]:
            found = many_runs(tx, input, bulk_action(FINAL, _as_they_are, *once_only))
            names, ids = [one.run.job_name for one in found.rows], [one.run.id for one in found.rows]
            return replace(found, preview=preview(tx, names, partial(retry, ids=ids)))

        done = await perform_many(info, input, tried if is_dry(input) else again, RETRIED)
        payload = answer_many(RunsRetried, done, runs=_enqueued)
        payload.preview = _shown(None if done.result is None else done.result.preview)
        return payload

    @mutates(
        description="Deletes old history, by a run of the job `prune_history`: never unfinished runs, nor a task's "
        "newest execution.",
        requires=Role.ADMIN,
    )
    async def prune_history(self, info: Info, input: PruneHistoryInput) -> HistoryPruned:
        """The run that prunes, or the history it would delete."""
        action = partial(prune, input=input, actor=info.context.person.name)
        done = await perform(info, input, action, PRUNING)
        if done.result is None:
            return HistoryPruned(errors=done.errors)
        return HistoryPruned(
            run=None if done.result.run is None else entities.Run.from_model(done.result.run),
            executions=[entities.JobExecution.from_model(one) for one in done.result.executions],
            count=BigInt(done.result.count),
            has_more=done.result.has_more,
        )

    @mutates(requires=Role.OPERATOR)
    async def retry_run_now(self, info: Info, input: RetryRunNowInput) -> RunChanged:
        """Makes a run that waits for its time, or for its retry, due now."""
        done = await perform(info, input, lambda tx: actions.retry_now(tx, parse_key(input.id, "id")), ONE_RUN)
        return done.answer(RunChanged, run=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def retry_runs_now(self, info: Info, input: RetryRunsNowInput) -> RunsChanged:
        """Makes many runs that wait for their time, or for their retry, due now."""
        action = partial(many_runs, input=input, bulk_action=bulk_action(CLAIMABLE, actions.make_due, _not_due))
        return answer_many(RunsChanged, await perform_many(info, input, action, CHANGED), runs=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def set_run_priorities(self, info: Info, input: SetRunPrioritiesInput) -> RunsChanged:
        """Changes the priority of waiting and stuck runs."""

        def change(tx: Tx, ids: Sequence[int]) -> list[Run]:
            return actions.set_priority(tx, ids, input.priority)

        differs = Condition("priority", Operator.NE, input.priority)
        action = partial(many_runs, input=input, bulk_action=bulk_action(CLAIMABLE, change, lambda _: differs))
        return answer_many(RunsChanged, await perform_many(info, input, action, CHANGED), runs=entities.Run.from_model)


def _enqueued(one: Enqueued) -> entities.Run:
    return entities.Run.from_model(one.run, deduplicated=one.deduplicated)


def _shown(found: Preview | None) -> shown.Preview | None:
    return None if found is None else shown.Preview.from_model(found)


def _not_triggered(job_name: str, errors: list[UserError]) -> JobTriggered:
    error = errors[0]
    message = f"Unknown job: {job_name}" if error.code is ErrorCode.UNKNOWN_JOB else error.message
    return JobTriggered(success=False, message=message, job_name=job_name, errors=errors)


def _previewed(job_name: str, tried: Done[Preview]) -> JobTriggered:
    """Return the answer to the dry run of triggering a job."""
    found = tried.result
    if found is None:
        return _not_triggered(job_name, tried.errors)
    success = not found.counts.get(PreviewOutcome.REFUSED)
    return JobTriggered(success=success, message=found.sentence, job_name=job_name, preview=_shown(found))


def _not_due(tx: Tx) -> Criteria:
    return Condition("available_at", Operator.GT, tx.now)
