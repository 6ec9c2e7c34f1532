"""What must be true of runs that are limited: of every history in which nobody changed a limit."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.events import EventKind
from cronograph.jobs.core.limits import task_of_key
from cronograph.jobs.core.model import Execution, Outcome
from tests.chaos.history import EXECUTION_EVENTS, History


def no_key_runs_twice_at_once(history: History) -> Iterator[str]:
    """No more runs with one concurrency key are under way at once than they say themselves.

    A run that keeps its place is under way from its first start to the end of its last attempt.
    """
    under_way = defaultdict[str, set[int]](set)
    for change in history.changes(EXECUTION_EVENTS):
        run = history.run_of.get(change.run_id or 0)
        if run is None or run.concurrency_key is None:
            continue
        running = under_way[run.concurrency_key]
        if change.kind is EventKind.EXECUTION_FINISHED:
            if not run.keeps_place or change.execution_id == history.executions_of[run.id][-1].id:
                running.discard(run.id)
            continue
        if len(running - {run.id}) >= (run.max_concurrent or 1):
            yield f"run {run.id} with key '{run.concurrency_key}' began while {sorted(running)} were under way"
        running.add(run.id)


def no_stretch_passes_its_rate(history: History) -> Iterator[str]:
    """In any stretch of time no more runs start than the burst and what comes in that time."""
    # What was handed back has given its token back.
    counted = [one for one in history.executions if one.outcome is not Outcome.HANDED_BACK]
    for name, of_group in _by_group(history, counted).items():
        yield from _crowded(f"group '{name}'", of_group, history.group_rates[name])
    for (job_name, key), of_bucket in _by_bucket(history, counted).items():
        yield from _crowded(f"job '{job_name}' with key '{key}'", of_bucket, history.job_rates[job_name])


def _by_group(history: History, executions: Sequence[Execution]) -> Mapping[str, list[datetime]]:
    starts = defaultdict[str, list[datetime]](list)
    for one in executions:
        run = history.run_of.get(one.run_id)
        if run is not None and run.group in history.group_rates:
            starts[run.group].append(one.started_at)
    return starts


def _by_bucket(history: History, executions: Sequence[Execution]) -> Mapping[tuple[str, str], list[datetime]]:
    starts = defaultdict[tuple[str, str], list[datetime]](list)
    for one in executions:
        run = history.run_of.get(one.run_id)
        if run is None or run.rate_key is None or task_of_key(run.rate_key) is not None:
            continue
        if run.job_name in history.job_rates:
            starts[run.job_name, run.rate_key].append(one.started_at)
    return starts


def _crowded(whose: str, starts: list[datetime], rate: Rate) -> Iterator[str]:
    starts.sort()
    for first, began in enumerate(starts):
        for last in range(first + rate.burst, len(starts)):
            within = rate.limit * ((starts[last] - began) / timedelta(seconds=rate.per))
            # A time is rounded to a microsecond.
            if last - first + 1 > rate.burst + within + rate.limit / rate.per / 1_000_000:
                yield f"{whose}: {last - first + 1} starts from {began} to {starts[last]}, at {rate.words}"
                return
