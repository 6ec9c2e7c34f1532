"""What must be true of runs that may expire, that were dropped, and whose enqueues are debounced."""

from collections.abc import Iterator, Mapping

from cronograph.jobs.core.model import Run, SkippedOccurrence, SkipReason, Trigger
from cronograph.jobs.core.states import RunState
from tests.chaos.history import History

_DROPS = frozenset({SkipReason.TOLERANCE, SkipReason.EXPIRED})
DEBOUNCED = "debounced"
"""A job whose runs get, as ``number``, what the client enqueued last, and whose unique key is debounced."""


def is_drop(row: SkippedOccurrence) -> bool:
    """Return whether these are occurrences that had become runs, which were dropped: their runs are there, too."""
    return row.reason in _DROPS or (row.reason is SkipReason.QUEUE_FULL and "dropped" in row.policy)


def nothing_expired_is_started(history: History) -> Iterator[str]:
    """The first attempt of a run begins before it expires; what began in time goes on."""
    for run in history.runs:
        first = next(iter(history.executions_of.get(run.id, [])), None)
        if run.expires_at is not None and first is not None and first.started_at >= run.expires_at:
            yield f"run {run.id} had to start by {run.expires_at}, and began at {first.started_at}"


def nothing_is_dropped_without_a_row(history: History) -> Iterator[str]:
    """A run that was skipped says why, and an occurrence is within one stretch of drops of its task besides."""
    for run in history.runs:
        if run.state is not RunState.SKIPPED or run.flow_id is not None:
            continue
        if run.skip_reason is None or not run.error:
            yield f"run {run.id} was skipped for {run.skip_reason}: {run.error}"
        covering = [row.id for row in history.skipped if is_drop(row) and covers(row, run)]
        if run.trigger is Trigger.SCHEDULE and run.task_id is not None and len(covering) != 1:
            yield f"run {run.id} of task {run.task_name} at {run.scheduled_for} is within the stretches {covering}"
    for row in history.skipped:
        within = [run.id for run in history.runs if run.state is RunState.SKIPPED and covers(row, run)]
        if is_drop(row) and len(within) != row.count:
            yield f"skipped occurrence {row.id} counts {row.count} and holds the runs {within}"


def covers(row: SkippedOccurrence, run: Run) -> bool:
    """Return whether a stretch of a task is that of this run."""
    at = run.scheduled_for
    mine = row.task_id == run.task_id and at is not None
    return mine and at is not None and row.first_scheduled_for <= at <= row.last_scheduled_for


def no_debounced_argument_is_lost(history: History) -> Iterator[str]:
    """Of the runs of one debounced key, one at a time waits; and what was enqueued later began later.

    The client counts up, so that a run with an older number after one with a newer one has lost the newer.
    """
    newest: dict[str, int] = {}
    for run in (one for one in history.runs if one.job_name == DEBOUNCED and one.retried_from is None):
        number, key = _number(run), run.unique_key or ""
        if number <= newest.get(key, -1):
            yield f"run {run.id} with key '{key}' has number {number}, after {newest[key]}"
        newest[key] = max(number, newest.get(key, -1))


def lost_arguments(history: History, acknowledged: Mapping[str, int]) -> Iterator[str]:
    """Of each debounced key the newest number that was acknowledged: a run with that or a newer one has succeeded."""
    for key, number in acknowledged.items():
        mine = [one for one in history.runs if one.job_name == DEBOUNCED and one.unique_key == key]
        if not any(_number(one) >= number and one.state is RunState.SUCCESS for one in mine):
            told = {one.id: (_number(one), one.state.value) for one in mine[-3:]}
            yield f"number {number} of key '{key}' was acknowledged, and its last runs are {told}"


def _number(run: Run) -> int:
    number = run.args.get("number", 0)
    return number if isinstance(number, int) else 0
