"""Finished runs are made again, each linked to the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.admission.labels import inherited, label_faults
from ..core.base.errors import InvalidState, refuse
from ..core.defaults import TTL, UNIQUE_KEY
from ..core.limits import LIMITS, task_of_key
from ..core.model import Enqueued, Json, NewRun, Run, Trigger
from ..core.states import FINAL
from ..queue.steps import copy_results, labels_before
from ..store.db.transaction import Tx
from .acting import account_of
from .runs import check_job_args, existing, labels_of_changed, put, put_new


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
