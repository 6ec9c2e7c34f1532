"""What must be true of steps, sleeps and signals, no matter who was killed in the middle of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from cronograph.jobs.core.events import EventKind
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.steps import StepKind, StepState
from tests.chaos.history import History

LATE = timedelta(seconds=90)
"""So long after its time a sleep is forgotten: no lease and no disturbance lasts longer while there is a node."""


def a_step_has_one_result(history: History) -> Iterator[str]:
    """And it is told once, by the attempt that stored it; what was copied from another run is told by nobody."""
    told = Counter(
        (change.run_id, change.step)
        for change in history.changes(frozenset({EventKind.STEP_FINISHED}))
        if change.state == StepState.DONE.value
    )
    yield from (f"step {step} of run {run} was told {count} times" for (run, step), count in told.items() if count > 1)
    if history.unpublished:
        return
    stored = {(one.run_id, one.label) for one in history.steps if one.state is StepState.DONE and one.attempt}
    yield from (f"step {step} of run {run} is stored and was not told" for run, step in stored - told.keys())
    yield from (f"step {step} of run {run} was told and is not stored" for run, step in told.keys() - stored)


def a_signal_is_taken_once_or_lies_in_its_box(history: History) -> Iterator[str]:
    taken = Counter(one.signal_id for one in history.waits if one.signal_id is not None)
    yield from (f"signal {one} was taken {count} times" for one, count in taken.items() if count > 1)
    yield from (f"signal {one.id} was taken and lies in its box" for one in history.boxes if one.id in taken)


def no_sleep_ends_early(history: History) -> Iterator[str]:
    for one in history.steps:
        ended = one.finished_at if one.kind is StepKind.SLEEP else None
        if ended is not None and one.wake_at is not None and one.attempt and ended < one.wake_at:
            yield f"sleep {one.label} of run {one.run_id} ended at {ended}, before {one.wake_at}"


def what_a_suspended_run_waits_for_wakes_it(history: History) -> Iterator[str]:
    """A signal that is there, and the first of the times at which its waits end."""
    for run in history.runs:
        if run.state is not RunState.SUSPENDED:
            continue
        boxes = {(one.name, one.rank) for one in history.boxes if one.run_id == run.id}
        for wait in (one for one in history.waits if one.run_id == run.id and one.state == StepState.WAITING.value):
            if any(name == wait.signal and rank >= wait.rank for name, rank in boxes):
                yield f"run {run.id} waits for signal '{wait.signal}', which lies in its box"
        sleeps = [one.wake_at for one in history.steps_of.get(run.id, ()) if one.state is StepState.WAITING]
        if any(at is not None and (run.wake_at is None or run.wake_at > at) for at in sleeps):
            yield f"run {run.id} is woken at {run.wake_at}, and its waits end at {sleeps}"


def no_sleep_is_forgotten(history: History) -> Iterator[str]:
    """No run is left asleep long after its time: not by any node, dead or alive."""
    for run in history.runs:
        overdue = run.state is RunState.SUSPENDED and run.wake_at is not None and run.wake_at + LATE < history.read_at
        if overdue:
            yield f"run {run.id} was to be woken at {run.wake_at}, and is suspended at {history.read_at}"


def broken_signals(history: History, sent: Mapping[int, object]) -> Iterator[str]:
    """Signals that were acknowledged, each of a run that waits for them and returns what they bring along."""
    for run_id, payload in sent.items():
        run = history.run_of.get(run_id)
        if run is None or run.result != payload:
            yield f"run {run_id} was sent {payload} and returned {run and run.result}"
        yield from (f"signal {one.id} of run {run_id} lies in its box" for one in history.boxes if one.run_id == run_id)


DURABLE_RULES: tuple[Callable[[History], Iterator[str]], ...] = (
    a_step_has_one_result,
    a_signal_is_taken_once_or_lies_in_its_box,
    no_sleep_ends_early,
    no_sleep_is_forgotten,
    what_a_suspended_run_waits_for_wakes_it,
)
