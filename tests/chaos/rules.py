"""What must be true of every history, no matter who was killed, paused or cut off: each rule lists what breaks it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from cronograph.jobs.core.events import Change, EventKind
from cronograph.jobs.core.model import FAILURES, Execution, Outcome, Run, Task, Trigger
from cronograph.jobs.core.nodes import LIVE_NODES
from cronograph.jobs.core.occurrences import first_occurrence, occurrences, schedule_of
from cronograph.jobs.core.outcome import CLAIM_LOST
from cronograph.jobs.core.remote import REMOTE_LOST
from cronograph.jobs.core.states import FINAL, OCCUPYING, TRANSITIONS, RunState
from tests.chaos.admission_rules import (
    is_drop,
    no_debounced_argument_is_lost,
    nothing_expired_is_started,
    nothing_is_dropped_without_a_row,
)
from tests.chaos.cap_rules import no_queue_passes_its_cap
from tests.chaos.durable_rules import DURABLE_RULES, no_sleep_is_forgotten, what_a_suspended_run_waits_for_wakes_it
from tests.chaos.flow_rules import FLOW_RULES, no_run_of_a_flow_is_forgotten
from tests.chaos.history import EXECUTION_EVENTS, RUN_EVENTS, History
from tests.chaos.joint_rules import a_unique_key_has_one_unfinished_run
from tests.chaos.limit_rules import no_key_runs_twice_at_once, no_stretch_passes_its_rate

ENDS: dict[RunState, frozenset[Outcome]] = {
    RunState.SUCCESS: frozenset({Outcome.SUCCESS}),
    RunState.FAILED: FAILURES,
    RunState.STUCK: FAILURES,
    # A stuck run that was reserved and handed back waits again.
    RunState.WAITING: FAILURES | {Outcome.SNOOZED, Outcome.HANDED_BACK, Outcome.SUSPENDED},
    RunState.SUSPENDED: frozenset({Outcome.SUSPENDED}),
    RunState.CANCELLED: frozenset(Outcome) - {Outcome.SUCCESS},
}
"""How the last attempt of a run may have ended, by the run's state; the other states say nothing about it."""


@dataclass(frozen=True)
class Violation:
    """A broken rule, and where."""

    rule: str
    where: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}"


def violations(history: History, *, at_rest: bool = False, pruned: bool = False) -> list[Violation]:
    """Return all that is wrong with a history.

    Args:
        history: What to judge; processes may be at work on it.
        at_rest: Every process has ended in an orderly way: then nothing may be open, held or unpublished.
        pruned: What has ended was pruned now and then: only rules about what is left are judged.
    """
    rules = [*(RULES_OF_WHAT_IS_LEFT if pruned else RULES), *(RULES_AT_REST if at_rest else ())]
    return [Violation(rule.__name__.replace("_", " "), where) for rule in rules for where in rule(history)]


def nominal_times(task: Task) -> Iterator[datetime]:
    """Every time at which the task was due so far: from its creation until the occurrence it waits for now."""
    schedule = schedule_of(task.spec.schedule, task.anchor_at)
    for occurrence in occurrences(task.spec, schedule, first_occurrence(task.spec, schedule, task.created_at)):
        if task.next_nominal is not None and occurrence >= task.next_nominal:
            return
        yield occurrence


def no_occurrence_has_two_runs(history: History) -> Iterator[str]:
    made = Counter((run.task_name, run.scheduled_for) for run in history.runs if run.trigger is Trigger.SCHEDULE)
    return (f"{task} at {at} became {count} runs" for (task, at), count in made.items() if count > 1)


def every_occurrence_is_accounted_for_once(history: History) -> Iterator[str]:
    """Either a run or within one skipped stretch; tasks whose schedule was edited cannot be recomputed."""
    for task in history.tasks:
        if task.version == 1:
            yield from _unaccounted(history, task)


def _unaccounted(history: History, task: Task) -> Iterator[str]:
    runs = [run for run in history.runs if run.task_id == task.id and run.trigger is Trigger.SCHEDULE]
    made = Counter(run.scheduled_for for run in runs)
    stretches = [row for row in history.skipped if row.task_id == task.id and not is_drop(row)]
    within = Counter[int]()
    nominal = set[datetime]()
    for at in nominal_times(task):
        nominal.add(at)
        covering = [row.id for row in stretches if row.first_scheduled_for <= at <= row.last_scheduled_for]
        within.update(covering)
        if made[at] + len(covering) != 1:
            yield f"{task.name} at {at}: {made[at]} runs and {len(covering)} skipped stretches"
    yield from (f"{task.name} ran for {at}, when it was not due" for at in made if at not in nominal)
    for row in stretches:
        if within[row.id] != row.count:
            yield f"skipped stretch {row.id} of {task.name} counts {row.count} occurrences, and spans {within[row.id]}"


def attempts_are_numbered_without_gap(history: History) -> Iterator[str]:
    for run in history.runs:
        numbers = [one.attempt for one in history.executions_of.get(run.id, [])]
        if numbers != list(range(1, run.attempt + 1)):
            yield f"run {run.id} is at attempt {run.attempt} and has the executions {numbers}"


def an_open_execution_belongs_to_a_running_run_of_a_live_node(history: History) -> Iterator[str]:
    for one in history.executions:
        if one.completed_at is not None:
            continue
        run, node = history.run_of[one.run_id], history.node_of[one.node_id]
        if run.state is not RunState.RUNNING or (run.attempt, run.node_id) != (one.attempt, one.node_id):
            yield f"execution {one.id} is open, but run {run.id} is {run.state.value} at attempt {run.attempt}"
        if node.state not in LIVE_NODES:
            yield f"execution {one.id} is open on node {node.name}, which is {node.state.value}"


def a_held_run_is_held_by_a_live_node(history: History) -> Iterator[str]:
    for run in history.runs:
        if run.state not in OCCUPYING:
            continue
        node = history.node_of[run.node_id or 0]
        if node.state not in LIVE_NODES:
            yield f"run {run.id} is {run.state.value} on node {node.name}, which is {node.state.value}"
        last = _last(history, run)
        if run.state is RunState.RUNNING and (last is None or last.completed_at is not None):
            yield f"run {run.id} is running without an open execution"


def a_run_ended_as_its_last_execution_did(history: History) -> Iterator[str]:
    for run in history.runs:
        last = _last(history, run)
        if run.state not in ENDS or run.attempt == 0 or _passed_its_deadline(run):
            continue
        if last is None or last.outcome not in ENDS[run.state]:
            yield f"run {run.id} is {run.state.value}, its last execution {last and last.outcome}"
        elif run.state in (RunState.SUCCESS, RunState.FAILED) and run.finished_at != last.completed_at:
            yield f"run {run.id} finished at {run.finished_at}, its last execution at {last.completed_at}"


def _passed_its_deadline(run: Run) -> bool:
    """Tell whether ``max_duration`` may have failed a run between two attempts."""
    at = run.finished_at
    return run.state is RunState.FAILED and run.deadline_at is not None and at is not None and at >= run.deadline_at


def _last(history: History, run: Run) -> Execution | None:
    return next(iter(reversed(history.executions_of.get(run.id, []))), None)


def at_most_one_result_is_accepted(history: History) -> Iterator[str]:
    for run_id, attempts in history.executions_of.items():
        successes = [one.attempt for one in attempts if one.outcome is Outcome.SUCCESS]
        if len(successes) > 1:
            yield f"run {run_id} succeeded at attempts {successes}"


def failures_are_counted(history: History) -> Iterator[str]:
    for run in history.runs:
        failed = sum(one.outcome in FAILURES for one in history.executions_of.get(run.id, []))
        if run.state is not RunState.CANCELLED and failed != run.failures:
            yield f"run {run.id} counts {run.failures} failures and has {failed} failed executions"


def a_lost_execution_names_its_node(history: History) -> Iterator[str]:
    """One at an engine names what the engine calls it."""
    for one in history.executions:
        there = history.remote.get(one.id)
        words = (one.node,) if there is None else (one.node, there.name, there.handle or there.name)
        if one.outcome is Outcome.LOST and (
            one.success or not any(word in (one.error_message or "") for word in words)
        ):
            yield f"execution {one.id}: {one.error_message}"


def the_attempts_of_an_exclusive_task_do_not_overlap(history: History) -> Iterator[str]:
    under_way: dict[int, int] = {}
    for change in history.changes(EXECUTION_EVENTS):
        run_id, task_id = change.run_id or 0, change.task_id
        if task_id is None or run_id not in history.run_of or not history.run_of[run_id].exclusive:
            continue
        if change.kind is EventKind.EXECUTION_FINISHED:
            under_way.pop(task_id, None)
        elif task_id in under_way:
            yield f"run {run_id} of {change.task_name} began while run {under_way[task_id]} was under way"
        else:
            under_way[task_id] = run_id


def events_are_numbered_without_gap(history: History) -> Iterator[str]:
    yield from (f"{later} follows {earlier}" for earlier, later in pairwise(history.numbers) if later != earlier + 1)
    if history.numbers and history.numbers[-1] != history.last_number:
        yield f"the last number is {history.numbers[-1]}, the publisher remembers {history.last_number}"


def events_tell_every_change_of_a_run_once(history: History) -> Iterator[str]:
    """States follow each other as the table of transitions allows, and a final state comes once.

    It comes again where something is told of the run that was to follow its end and was left out.
    """
    seen: dict[int, RunState] = {}
    for change in history.changes(RUN_EVENTS):
        run_id, state = change.run_id or 0, RunState(change.state or "")
        before = seen.get(run_id)
        if (before is None) != (change.kind is EventKind.RUN_CREATED):
            yield f"run {run_id}: {change.kind.value} after {before}"
        elif before is not None and not _may_follow(history, run_id, before, state):
            yield f"run {run_id}: {state.value} after {before.value}"
        seen[run_id] = state
    if history.unpublished:
        return
    for run in history.runs:
        if seen.get(run.id) is not run.state:
            yield f"run {run.id} is {run.state.value}, the last event said {seen.get(run.id)}"


def _may_follow(history: History, run_id: int, before: RunState, state: RunState) -> bool:
    if state is not before:
        return state in TRANSITIONS[before]
    run = history.run_of.get(run_id)
    return state not in FINAL or (run is not None and bool(run.lost_follow_ups))


def events_tell_every_execution_once(history: History) -> Iterator[str]:
    told = Counter((change.kind, change.execution_id) for change in history.changes(EXECUTION_EVENTS))
    repeated = {what: count for what, count in told.items() if count > 1}
    yield from (f"{kind.value} of execution {one} was told {count} times" for (kind, one), count in repeated.items())
    if history.unpublished:
        return
    for one in history.executions:
        ended = told[EventKind.EXECUTION_FINISHED, one.id] == 1
        if told[EventKind.EXECUTION_STARTED, one.id] != 1 or ended != (one.completed_at is not None):
            yield f"execution {one.id}, complete: {one.completed_at is not None}, end told: {ended}"


def a_dead_node_begins_and_ends_nothing(history: History) -> Iterator[str]:
    """Once a node is taken for dead its results are refused; nodes are told apart by name, unique among the live."""
    dead = set[str]()
    for change in (one.change for one in history.events):
        if change.kind is EventKind.NODE_STOPPED:
            dead.add(change.node or "")
        elif change.kind is EventKind.NODE_STARTED:
            dead.discard(change.node or "")
        elif change.kind in EXECUTION_EVENTS and change.node in dead:
            yield f"{change.kind.value} of execution {change.execution_id} by {change.node}"


def only_dead_nodes_lose_executions(history: History) -> Iterator[str]:
    """A loss is told together with the death of its node, unless the node itself never learnt of its claim.

    What is at an engine does not die with its node; that it is lost says the engine, or everybody's silence.
    """
    by_batch: dict[int, list[Change]] = {}
    for one in history.events:
        by_batch.setdefault(one.cursor.seq, []).append(one.change)
    own = {one.id for one in history.executions if one.error_type in (CLAIM_LOST, REMOTE_LOST)}
    for changes in by_batch.values():
        died = {change.node for change in changes if change.kind is EventKind.NODE_STOPPED}
        for change in changes:
            lost = change.kind is EventKind.EXECUTION_FINISHED and change.state == Outcome.LOST.value
            if lost and change.node not in died and change.execution_id not in own:
                yield f"execution {change.execution_id} was lost while node {change.node} lived"


def broken_promises(history: History, promised: Mapping[str, int]) -> Iterator[str]:
    """Runs that were acknowledged, by their unique keys, and are not there or did not succeed."""
    for key, run_id in promised.items():
        run = history.run_of.get(run_id)
        if run is None or run.unique_key != key:
            yield f"run {run_id} was acknowledged for {key} and is not there"
        elif run.state is not RunState.SUCCESS:
            yield f"run {run_id} was acknowledged and is {run.state.value}: {run.error}"


def nothing_is_left_open(history: History) -> Iterator[str]:
    yield from (f"execution {one.id} is open" for one in history.executions if one.completed_at is None)
    yield from (f"run {one.id} is {one.state.value}" for one in history.runs if one.state in OCCUPYING)


def nobody_is_left(history: History) -> Iterator[str]:
    return (f"node {one.name} is {one.state.value}" for one in history.nodes if one.state in LIVE_NODES)


def no_attempt_is_left_at_an_engine(history: History) -> Iterator[str]:
    return (f"execution {key}: {one.name}" for key, one in history.remote.items() if one.over_at is None)


def everything_is_published(history: History) -> Iterator[str]:
    if history.unpublished:
        yield f"{history.unpublished} batches of events have no number"


RULES: tuple[Callable[[History], Iterator[str]], ...] = (
    no_occurrence_has_two_runs,
    every_occurrence_is_accounted_for_once,
    nothing_is_dropped_without_a_row,
    nothing_expired_is_started,
    no_debounced_argument_is_lost,
    attempts_are_numbered_without_gap,
    an_open_execution_belongs_to_a_running_run_of_a_live_node,
    a_held_run_is_held_by_a_live_node,
    a_run_ended_as_its_last_execution_did,
    at_most_one_result_is_accepted,
    failures_are_counted,
    a_lost_execution_names_its_node,
    the_attempts_of_an_exclusive_task_do_not_overlap,
    events_are_numbered_without_gap,
    events_tell_every_change_of_a_run_once,
    events_tell_every_execution_once,
    *DURABLE_RULES,
    *FLOW_RULES,
    a_dead_node_begins_and_ends_nothing,
    only_dead_nodes_lose_executions,
    no_key_runs_twice_at_once,
    no_stretch_passes_its_rate,
    no_queue_passes_its_cap,
    a_unique_key_has_one_unfinished_run,
)
RULES_OF_WHAT_IS_LEFT: tuple[Callable[[History], Iterator[str]], ...] = (
    no_occurrence_has_two_runs,
    an_open_execution_belongs_to_a_running_run_of_a_live_node,
    a_held_run_is_held_by_a_live_node,
    at_most_one_result_is_accepted,
    no_sleep_is_forgotten,
    what_a_suspended_run_waits_for_wakes_it,
    no_run_of_a_flow_is_forgotten,
)
"""The rules that hold where history was pruned, too."""
RULES_AT_REST: tuple[Callable[[History], Iterator[str]], ...] = (
    nothing_is_left_open,
    nobody_is_left,
    no_attempt_is_left_at_an_engine,
    everything_is_published,
)
