"""Mutations of runs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Final

import strawberry
from strawberry.scalars import JSON

from ....jobs.actions import retries
from ....jobs.actions import runs as actions
from ....jobs.actions.idempotent import AnswerCodec
from ....jobs.actions.previews import preview
from ....jobs.actions.runs import check_job_args, put_requested, trigger_job
from ....jobs.actions.signals import signal_run
from ....jobs.builtin.prune import DEFAULT_AGE_DAYS, JOB
from ....jobs.core.audit import Record
from ....jobs.core.base.errors import ErrorCode, InvalidInput
from ....jobs.core.base.errors import UserError as Refusal
from ....jobs.core.explain.previews import Preview, PreviewOutcome
from ....jobs.core.model import Enqueued, Execution, Json, Run
from ....jobs.core.states import CLAIMABLE, FINAL, UNFINISHED, RunState
from ....jobs.core.waits import Signal
from ....jobs.store.db.transaction import Tx
from ....jobs.store.read import executions as execution_store
from ....jobs.store.read import runs as run_store
from ....jobs.store.read.listing.criteria import AllOf, Condition, Criteria, Operator, equal, one_of
from ....jobs.store.read.prunable import keeping, prunable
from ...base.arguments import INPUT, MAX_RUNS, camel
from ...base.enums import Role
from ...base.fields import Size, mutates
from ...base.scalars import BigInt
from ...lists.declared import asked_of
from ...resolving.context import Info
from ...types import entities
from ...types import payloads as shown
from ...types.common import UserError
from ...types.payloads import (
    HistoryPruned,
    JobTriggered,
    RunChanged,
    RunsChanged,
    RunsEnqueued,
    RunsMadeDue,
    RunsRetried,
    RunTried,
)
from ..base.bulk import (
    BulkAction,
    CancelRunsInput,
    Changed,
    RetryNowInput,
    RetryRunsInput,
    SetRunPriorityInput,
    answer_many,
    codec_of,
    many_runs,
    perform_many,
    selection_faults,
)
from ..base.changes import (
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
from ..base.inputs import LABELS, REASON, TRY, UNIQUE_KEY, MutationInput, optional
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


@strawberry.input(description="What history to keep. Absent or null = the default.")
class PruneHistoryInput(MutationInput):
    """The input of ``pruneHistory``."""

    max_age_days: float | None = optional("Days; what ended longer ago is deleted. 30 unless given.")
    max_per_task: int | None = optional("How many of the newest to keep of each task; any number unless given.")


@strawberry.input(description="A run to be cancelled.")
class CancelRunInput(MutationInput):
    """The input of ``cancelRun``."""

    id: strawberry.ID = strawberry.field(description="Which run.")
    reason: str | None = optional(REASON)


@strawberry.input(description="A signal to an unfinished run, named by `id` or by `uniqueKey`.")
class SignalRunInput(MutationInput):
    """The input of ``signalRun``."""

    name: str = strawberry.field(
        description="What the run waits for, or will: `approved`, of a wait with a key `approved[42]`."
    )
    id: strawberry.ID | None = optional("Which run.")
    unique_key: str | None = optional("The unique key of the unfinished run.")
    payload: JSON | None = optional("What the signal brings along: any JSON, as the wait asks for it.")
    reject: str | None = optional("The signal says no, for this reason; it needs no payload.")


@strawberry.input(description="A finished run to be made again.")
class RetryRunInput(MutationInput):
    """The input of ``retryRun``."""

    id: strawberry.ID = strawberry.field(description="Which run.")
    args: JSON | None = optional("Arguments instead of the old ones, an object.")
    from_step: str | None = optional(
        "Go on from this step, e.g. `charge` or `charge#2`: the new run has the results of all that began before it."
    )


@strawberry.input(description="A run that waits, to be changed. What is absent stays.")
class UpdateRunInput(MutationInput):
    """The input of ``updateRun``."""

    id: strawberry.ID = strawberry.field(description="Which run.")
    args: JSON | None = optional("Its arguments, an object; null = none. Refused once it has begun.")
    run_at: datetime | None = optional("It does not start before this time; null = now.")


CHANGED: Final = codec_of("runs", restore_runs)
NOT_ASKED: Final = Condition("cancel_requested_at", Operator.IS_NULL, value=True)
"""A run that was asked to stop is as asked already."""


def _unless_retried(_tx: Tx) -> Condition:
    return equal("retried", value=False)


def restore_enqueued(tx: Tx, stored: Json) -> list[Enqueued]:
    """The runs of a repeated ``enqueueRuns``, as they are now; those pruned since are left out."""
    found = run_store.by_ids(tx.conn, stored["runs"])
    pairs = zip(stored["runs"], stored["deduplicated"], strict=True)
    return [Enqueued(found[run_id], deduplicated) for run_id, deduplicated in pairs if run_id in found]


def restore_one(tx: Tx, stored: Json) -> Enqueued:
    """The run of a repeated ``triggerJob``, as it is now."""
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


def bulk_action(
    states: Collection[RunState], apply: Callable[[Tx, Sequence[int]], list[Run]], *also: Callable[[Tx], Criteria]
) -> BulkAction[Run]:
    """Return an action on runs in these states; a filter finds only those that meet the further conditions, too."""
    in_states = one_of("state", tuple(sorted(states)))
    return BulkAction(
        apply, lambda tx: AllOf((in_states, *(each(tx) for each in also))), lambda run: run.state in states
    )


MAX_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Pruning:
    """The run that prunes; of a dry run what would go: the first executions, how many, and whether there is more."""

    run: Run | None
    executions: Sequence[Execution] = ()
    count: int = 0
    has_more: bool = False


def prune(tx: Tx, input: PruneHistoryInput, actor: str) -> Pruning:
    """Make the run that prunes, or on a dry run only look.

    Raises:
        Refusal: code ``UNKNOWN_JOB`` or ``INVALID_ARGS``.
    """
    age, keep = given(input.max_age_days), given(input.max_per_task)
    wanted: dict[str, Json] = {"max_age_days": age, "max_per_task": keep}
    args = {name: value for name, value in wanted.items() if value is not None}
    _check(tx, args)
    if not is_dry(input):
        return Pruning(trigger_job(tx, JOB, args=args, actor=actor).run)
    kept = keeping(tx.conn, tx.now, timedelta(days=DEFAULT_AGE_DAYS if age is None else age))
    found = prunable(tx.conn, kept, keep)
    return Pruning(None, _oldest(tx, found.executions[:MAX_SHOWN]), len(found.executions), not found.complete)


def _check(tx: Tx, args: Mapping[str, Json]) -> None:
    """Refuse what the job refuses, by the names that the input has for its arguments."""
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
        job_name: Annotated[str, strawberry.argument(description="Which job; see `availableJobs`.")],
        args: Annotated[JSON | None, strawberry.argument(description="Its arguments, an object.")] = None,
        idempotency_key: Annotated[
            str | None, strawberry.argument(description="Makes a repetition within 24 hours safe.")
        ] = None,
        unique_key: Annotated[str | None, strawberry.argument(description=UNIQUE_KEY)] = None,
        labels: Annotated[JSON | None, strawberry.argument(description=LABELS)] = None,
        unique_for: Annotated[float | None, strawberry.argument(description=UNIQUE_FOR)] = None,
        unique_among: Annotated[list[RunState] | None, strawberry.argument(description=UNIQUE_AMONG)] = None,
        debounce: Annotated[DebounceInput | None, strawberry.argument(description=DEBOUNCE)] = None,
        throttle: Annotated[ThrottleInput | None, strawberry.argument(description=THROTTLE)] = None,
        expires_at: Annotated[datetime | None, strawberry.argument(description=EXPIRES_AT)] = None,
        ttl: Annotated[float | None, strawberry.argument(description=TTL)] = None,
        dry_run: Annotated[bool, strawberry.argument(description=TRY)] = False,
    ) -> JobTriggered:
        """Runs a job now."""
        asked = TriggerJobInput(
            job_name, args, unique_key, labels, unique_for, unique_among, debounce, throttle, expires_at, ttl
        )
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
        run = entities.Run.from_model(made.run, deduplicated=made.deduplicated)
        return JobTriggered(success=True, message=message, job_name=job_name, run=run)

    @mutates(size=Size(("input.runs",), default=1, most=MAX_RUNS), requires=Role.OPERATOR)
    async def enqueue_runs(self, info: Info, input: Annotated[EnqueueRunsInput, INPUT]) -> RunsEnqueued:
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
        runs = [entities.Run.from_model(one.run, deduplicated=one.deduplicated) for one in done.result or ()]
        return RunsEnqueued(runs=runs, errors=done.errors)

    @mutates(requires=Role.OPERATOR)
    async def cancel_run(self, info: Info, input: Annotated[CancelRunInput, INPUT]) -> RunChanged:
        """Cancels a run: at once while it waits or is stuck, through the job's `should_stop` while it runs."""

        def action(tx: Tx) -> Run:
            reason, actor = given(input.reason), info.context.person.name
            return actions.cancel_runs(tx, [parse_key(input.id, "id")], reason=reason, actor=actor)[0]

        done = await perform(info, input, action, ONE_RUN)
        return done.answer(RunChanged, run=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def signal_run(self, info: Info, input: Annotated[SignalRunInput, INPUT]) -> RunChanged:
        """Sends a signal to an unfinished run.

        It stays with the run until a wait of this name takes it; a run that waits for it goes on at once.
        """

        def action(tx: Tx) -> Run:
            key = given(input.id)
            signal = Signal(input.name, given(input.payload), given(input.reject))
            run_id = None if key is None else parse_key(key, "id")
            return signal_run(tx, run_id=run_id, unique_key=given(input.unique_key), signal=signal)

        done = await perform(info, input, action, ONE_RUN)
        return done.answer(RunChanged, run=entities.Run.from_model)

    @mutates(requires=Role.OPERATOR)
    async def cancel_runs(self, info: Info, input: Annotated[CancelRunsInput, INPUT]) -> RunsChanged:
        """Cancels many runs, by key or by filter."""
        cancel = partial(actions.cancel_runs, reason=given(input.reason), actor=info.context.person.name)
        action = partial(many_runs, selection=input, bulk_action=bulk_action(UNFINISHED, cancel, lambda _: NOT_ASKED))
        done = await perform_many(info, input, action, CHANGED)
        return answer_many(RunsChanged, done, runs=entities.Run.from_model)

    @mutates(
        description="Changes when a run that waits is due, and its arguments as long as it has not begun: they are "
        "judged as at `enqueueRuns`, and who changes them becomes its submitter. Its unique key stays.",
        requires=Role.OPERATOR,
    )
    async def update_run(self, info: Info, input: Annotated[UpdateRunInput, INPUT]) -> RunChanged:
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
    async def retry_run(self, info: Info, input: Annotated[RetryRunInput, INPUT]) -> RunTried:
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
        description="Makes new runs of many finished ones, by key or by filter; a filter leaves out those that were "
        "retried already, unless asked otherwise.",
        requires=Role.OPERATOR,
    )
    async def retry_runs(self, info: Info, input: Annotated[RetryRunsInput, INPUT]) -> RunsRetried:
        """The new runs."""
        actor = info.context.person.name
        retry, retry_all = partial(retries.retry_runs, actor=actor), partial(retries.retry_each, actor=actor)
        once_only = [_unless_retried] if input.exclude_retried else []
        action = partial(many_runs, selection=input, bulk_action=bulk_action(FINAL, retry, *once_only))

        def tried(tx: Tx) -> Changed[Run]:
            would = action(tx)
            return replace(would, preview=_preview_of_retries(tx, would.rows, retry_all))

        wanted = is_dry(input) and "preview" in asked_of(info)
        done = await perform_many(info, input, tried if wanted else action, CHANGED)
        payload = answer_many(RunsRetried, done, runs=entities.Run.from_model)
        payload.preview = _shown(None if done.result is None else done.result.preview)
        return payload

    @mutates(
        description="Deletes old history, by a run of the job `prune_history`: never unfinished runs, nor a task's "
        "newest execution.",
        requires=Role.ADMIN,
    )
    async def prune_history(self, info: Info, input: Annotated[PruneHistoryInput, INPUT]) -> HistoryPruned:
        """The run that prunes, or what it would delete."""
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
    async def retry_now(self, info: Info, input: Annotated[RetryNowInput, INPUT]) -> RunsMadeDue:
        """Makes runs that wait for their time, or for their retry, due now: one, or many by key or by filter."""
        chosen, later = given(input.id), bulk_action(CLAIMABLE, actions.make_due, _not_due)

        def action(tx: Tx) -> Changed[Run]:
            if chosen is None:
                return many_runs(tx, input, later)
            if given(input.ids) is not None or given(input.filter) is not None or given(input.all):
                raise InvalidInput("id: give either id, ids, filter or all, not several of them", path=("id",))
            return Changed([actions.retry_now(tx, parse_key(chosen, "id"))], 1)

        faults = selection_faults(info, input) if chosen is None else ()
        done = await perform(info, input, action, CHANGED, faults=faults)
        payload = answer_many(RunsMadeDue, done, runs=entities.Run.from_model)
        payload.run = payload.runs[0] if chosen is not None and payload.runs else None
        return payload

    @mutates(requires=Role.OPERATOR)
    async def set_run_priority(self, info: Info, input: Annotated[SetRunPriorityInput, INPUT]) -> RunsChanged:
        """Changes the priority of waiting and stuck runs, by key or by filter."""

        def change(tx: Tx, ids: Sequence[int]) -> list[Run]:
            return actions.set_priority(tx, ids, input.priority)

        differs = Condition("priority", Operator.NE, input.priority)
        action = partial(many_runs, selection=input, bulk_action=bulk_action(CLAIMABLE, change, lambda _: differs))
        return answer_many(RunsChanged, await perform_many(info, input, action, CHANGED), runs=entities.Run.from_model)


def _preview_of_retries(
    tx: Tx, runs: Sequence[Run], retry: Callable[[Tx, Sequence[int]], Sequence[Enqueued]]
) -> Preview:
    return preview(tx, [run.job_name for run in runs], lambda tx: retry(tx, [run.id for run in runs]))


def _shown(found: Preview | None) -> shown.Preview | None:
    return None if found is None else shown.Preview.from_model(found)


def _not_triggered(job_name: str, errors: list[UserError]) -> JobTriggered:
    error = errors[0]
    message = f"Unknown job: {job_name}" if error.code is ErrorCode.UNKNOWN_JOB else error.message
    return JobTriggered(success=False, message=message, job_name=job_name, errors=errors)


def _previewed(job_name: str, tried: Done[Preview]) -> JobTriggered:
    """Return what triggering a job would do."""
    found = tried.result
    if found is None:
        return _not_triggered(job_name, tried.errors)
    success = not found.counts.get(PreviewOutcome.REFUSED)
    return JobTriggered(success=success, message=found.sentence, job_name=job_name, preview=_shown(found))


def _not_due(tx: Tx) -> Criteria:
    return Condition("available_at", Operator.GT, tx.now)
