"""Finished runs are made again, each linked to the one before."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..core.admission.labels import inherited, label_faults
from ..core.base.errors import InvalidState, Overlap, QueueFull, refuse
from ..core.defaults import TTL, UNIQUE_KEY
from ..core.events import Change
from ..core.explain.previews import Preview, Tried, outcome_of, previews, refused
from ..core.limits import LIMITS, task_of_key
from ..core.model import Enqueued, Json, NewRun, Run, Task, Trigger
from ..core.states import FINAL, RunState
from ..queue.steps import copy_results, labels_before
from ..store.db.transaction import Tx
from ..store.statements import facts
from ..store.statements import runs as stored_runs
from ..store.statements import tasks as stored_tasks
from .idempotent import account_of
from .runs import check_job_args, existing, labels_of_changed, put, put_new
from .tasks import trigger_task


def retry_each(
    tx: Tx,
    ids: Sequence[int],
    *,
    args: dict[str, Json] | None = None,
    from_step: str | None = None,
    labels: Mapping[str, str] | None = None,
    actor: str | None = None,
) -> list[Enqueued]:
    """Make a new run of each finished one, linked to it; with ``args`` instead of the old arguments.

    With ``from_step``, of one run, the new one gets the results of the steps that began before that step. ``labels`` go
    to the new runs in the place of old ones of the same key, as far as a run can have more.

    It has the unique key of the old run, or the one that follows from its arguments by the job's declaration. Where an
    unfinished run has that key already, this one is answered.

    Raises:
        NotFound: one of the ids does not exist.
        NotFound: code ``UNKNOWN_STEP``: the run has no such step.
        InvalidState: a run is not finished, or a step before ``from_step`` was undone.
        InvalidInput: a label is none.
        Overlap: it should go on from a step, and an unfinished run has its unique key.
    """
    refuse(label_faults(labels or {}))
    new: list[NewRun] = []
    sources = existing(tx, ids)
    for run in sources:
        if run.state not in FINAL:
            raise InvalidState(
                f"run {run.id} is {run.state.value}, not finished; its next attempt can be made due now instead",
                path=("id",),
            )
        tx.note_before(str(run.id), state=run.state.value)
        again = made_again(tx, run, args, actor)
        if args is not None:
            schema = check_job_args(tx, run.job_name, args)
            again = replace(again, signature=schema.signature, labels=labels_of_changed(run, args, schema))
        if labels:
            others = {key: value for key, value in (again.labels or {}).items() if key not in labels}
            again = replace(again, labels=inherited(labels, others))
        new.append(again)
    if from_step is None:
        return put(tx, new) if new else []
    ((source, again),) = zip(sources, new, strict=True)
    kept = labels_before(tx, source, from_step)
    made = put_new(tx, again, f"run {source.id} from step '{from_step}'")
    copy_results(tx.conn, source.id, made.id, kept)
    return [Enqueued(made, deduplicated=False)]


_LIKE_BEFORE = (
    "job_name", "args", "group", "priority", "task_id", "task_name", "scheduled_for", "retries", "retry_delay",
    "timeout", "max_duration", "exclusive", "submitter", "submitter_id", "description", "carried", "unique_key",
    "labels", "signature",
)  # fmt: skip
"""Fields that a retrying run copies from the run before."""


def made_again(tx: Tx, run: Run, args: dict[str, Json] | None, actor: str | None) -> NewRun:
    """Return the run that is to be made again of one that is over.

    Its keys follow from its arguments, as its job says now; the time in which it has to start begins again.
    """
    same = {name: getattr(run, name) for name in _LIKE_BEFORE}
    same["rate_key"] = run.rate_key if task_of_key(run.rate_key) is not None else None
    if args is not None:
        same["args"] = args
    keeps_key = args is None and run.unique_key is not None
    same["inherits"] = frozenset({LIMITS, TTL} if keeps_key else {LIMITS, TTL, UNIQUE_KEY})
    if actor:
        same |= {"submitter": actor, "submitter_id": account_of(tx)}
    return NewRun(trigger=Trigger.RETRY, retried_from=run.id, **same)


SHOWN = 200
"""Runs that are listed one by one."""


def preview(tx: Tx, job_names: Sequence[str], enqueue: Callable[[Tx], Sequence[Enqueued]]) -> Preview:
    """Return the predicted outcomes of runs, and the reasons for which each would wait.

    Args:
        tx: The transaction, which is as before afterwards.
        job_names: The job of each run, for where all of them are refused.
        enqueue: Puts the runs into the queue.

    Raises:
        UserError: as ``enqueue`` raises, apart from ``QueueFull`` and ``Overlap``, which are a part of the answer.
    """
    first = len(tx.changes)
    with tx.undone():
        try:
            enqueued = enqueue(tx)
        except (QueueFull, Overlap) as error:
            return refused(job_names, error, SHOWN)
        changed = {one.run_id: one.state for one in tx.changes[first:] if isinstance(one, Change)}
        return _looked_at(tx, enqueued, changed)


def preview_triggered(tx: Tx, name: str, trigger: Callable[[Tx], Run]) -> Preview:
    """Preview a run of the task of this name; no existing run can take its place."""
    task = stored_tasks.by_name(tx.conn, name)
    job_names = [] if task is None else [task.spec.job_name]
    return preview(tx, job_names, lambda tx: [Enqueued(trigger(tx), deduplicated=False)])


def preview_task(tx: Tx, change: Callable[[Tx], Task]) -> tuple[Task, Preview]:
    """Return a task as it would be after a change, and the outcome of a run of it if it were triggered then.

    Raises:
        UserError: as ``change`` or the trigger raises.
    """
    with tx.undone():
        task = change(tx)
        return task, preview_triggered(tx, task.name, lambda tx: trigger_task(tx, task.name))


def _looked_at(tx: Tx, enqueued: Sequence[Enqueued], changed: dict[int | None, str | None]) -> Preview:
    """Return the results of an enqueue in this transaction.

    Args:
        changed: The runs that it has changed one by one, with their states.
    """
    answered = {one.run.id for one in enqueued}
    stored = stored_runs.by_ids(tx.conn, sorted(answered))
    tried = [
        Tried(stored[one.run.id], one.deduplicated, one.deduplicated and changed.get(one.run.id) == RunState.WAITING)
        for one in enqueued
    ]
    new = [one.run.id for one in enqueued if not one.deduplicated]
    shown = tried[:SHOWN]
    standing = {one.run.id: one.run for one in shown if one.run.state not in FINAL}
    buckets = {(run.job_name, run.rate_key) for run in standing.values() if run.rate_key is not None}
    waiting = facts.waiting_for_tokens(tx.conn, buckets, min(new)) if new else {}
    known = facts.of_runs(tx.conn, list(standing.values()), tx.now)
    dropped = [key for key, state in changed.items() if key is not None and state == RunState.SKIPPED]
    return Preview(
        previews(shown, known, waiting, tx.now),
        Counter(map(outcome_of, tried)),
        tuple(sorted(set(dropped).difference(answered))),
    )
