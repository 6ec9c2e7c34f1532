"""What ``pruneHistory`` does: a run of the job that prunes, or a look at what it would delete."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ....jobs.actions.idempotent import AnswerCodec
from ....jobs.actions.runs import check_job_args, trigger_job
from ....jobs.builtin.prune import DEFAULT_AGE_DAYS, JOB
from ....jobs.core.base.errors import UserError
from ....jobs.core.model import Execution, Json, Run
from ....jobs.store.db.transaction import Tx
from ....jobs.store.read import executions as execution_store
from ....jobs.store.read.prunable import keeping, prunable
from ...base.arguments import camel
from ..base.changes import given, restore_run
from ..base.inputs import PruneHistoryInput

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
        UserError: code ``UNKNOWN_JOB`` or ``INVALID_ARGS``.
    """
    age, keep = given(input.max_age_days), given(input.max_per_task)
    wanted: dict[str, Json] = {"max_age_days": age, "max_per_task": keep}
    args = {name: value for name, value in wanted.items() if value is not None}
    _check(tx, args)
    if not given(input.dry_run):
        return Pruning(trigger_job(tx, JOB, args=args, actor=actor).run)
    kept = keeping(tx.conn, tx.now, timedelta(days=DEFAULT_AGE_DAYS if age is None else age))
    found = prunable(tx.conn, kept, keep)
    return Pruning(None, _shown(tx, found.executions[:MAX_SHOWN]), len(found.executions), not found.complete)


def _check(tx: Tx, args: Mapping[str, Json]) -> None:
    """Refuse what the job refuses, by the names that the input has for its arguments."""
    try:
        check_job_args(tx, JOB, args)
    except UserError as error:
        for fault in error.faults:
            fault.path = tuple(camel(part) for part in fault.path if part != "args")
        raise


def _shown(tx: Tx, ids: Sequence[int]) -> list[Execution]:
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
    return Pruning(run, _shown(tx, stored["executions"]), stored["count"], stored["hasMore"])


PRUNING: Final[AnswerCodec[Pruning]] = AnswerCodec(dump=_dump, load=_load)
