"""What must be true of flows, and of runs that wait for others, no matter who was killed in the middle of a fan-in."""

from collections.abc import Callable, Iterator, Mapping

from cronograph.jobs.core.flows import When
from cronograph.jobs.core.model import Run
from cronograph.jobs.core.states import FINAL, RunState
from cronograph.jobs.core.steps import StepKind, StepState
from tests.chaos.history import History


def no_run_of_a_flow_begins_before_its_predecessors_are_over(history: History) -> Iterator[str]:
    """Runs that took the place of others by a retry are judged with those alone that were made with them."""
    for run_id, earlier in history.after.items():
        attempts = history.executions_of.get(run_id, [])
        if not attempts:
            continue
        begun = attempts[0].started_at
        for before in (history.run_of[one] for one in earlier):
            if before.retried_from is not None and history.run_of[run_id].retried_from is None:
                continue
            if before.finished_at is None or before.finished_at > begun:
                yield f"run {run_id} began at {begun}, and run {before.id} before it ended at {before.finished_at}"


def no_run_of_a_flow_is_forgotten(history: History) -> Iterator[str]:
    """None waits for others that are all over."""
    for run_id, earlier in history.after.items():
        run = history.run_of[run_id]
        waits = run.state is RunState.SUSPENDED and run.attempt == 0
        if waits and all(history.run_of[one].state in FINAL for one in earlier):
            yield f"run {run_id} waits, and all that it comes after are over"


def a_flow_is_over_when_its_runs_are(history: History) -> Iterator[str]:
    runs: dict[int, list[Run]] = {}
    for one in history.members:
        runs.setdefault(one.flow_id, []).append(history.run_of[one.run_id])
    for flow in history.flows:
        is_over = flow.closed_at is not None and all(run.state in FINAL for run in runs.get(flow.id, []))
        if is_over != (flow.finished_at is not None):
            yield f"flow {flow.id} is {flow.state.value}, and its runs are over: {is_over}"


def a_run_of_a_flow_starts_under_its_condition_alone(history: History) -> Iterator[str]:
    """What has begun or was skipped for others, did so as the ends of those before it say."""
    conditions = {one.run_id: one.when for one in history.members}
    for run_id, earlier in history.after.items():
        run, when = history.run_of[run_id], conditions[run_id]
        states = {history.run_of[one].state for one in earlier}
        if not states <= FINAL:
            continue
        starts = {
            When.SUCCESS: states == {RunState.SUCCESS},
            When.FAILURE: RunState.FAILED in states,
            When.ALWAYS: True,
        }[when]
        is_skipped = (run.error or "").startswith("PREDECESSOR")
        if (run.attempt > 0 and not starts) or (is_skipped and starts):
            yield f"run {run_id} is {run.state.value} under {when.value} after {sorted(states)}"


def nobody_goes_on_before_the_runs_it_waits_for_are_over(history: History) -> Iterator[str]:
    """A step that waits for other runs ends no earlier than they do."""
    for flow in history.flows:
        for one in history.steps_of.get(flow.parent_id or 0, ()):
            if one.kind is not StepKind.RUNS or one.flow_id != flow.id or one.state is not StepState.DONE:
                continue
            if flow.finished_at is None or one.finished_at is None or one.finished_at < flow.finished_at:
                yield f"step {one.label} of run {one.run_id} ended at {one.finished_at}, its runs at {flow.finished_at}"


def broken_flows(history: History, asked: Mapping[int, Mapping[str, str]]) -> Iterator[str]:
    """Flows that were acknowledged, and are not there, or have not ended as they had to.

    Args:
        history: What has happened.
        asked: By flow, in which state the run of each key had to end.
    """
    found: dict[int, dict[str, str]] = {}
    for one in history.members:
        found.setdefault(one.flow_id, {})[one.key] = history.run_of[one.run_id].state.value
    for flow_id, states in asked.items():
        mine = found.get(flow_id, {})
        wrong = {key: mine.get(key) for key in {*states, *mine} if mine.get(key) != states.get(key)}
        if wrong:
            yield f"flow {flow_id} was acknowledged, and in the end its runs are {wrong}"


FLOW_RULES: tuple[Callable[[History], Iterator[str]], ...] = (
    no_run_of_a_flow_begins_before_its_predecessors_are_over,
    no_run_of_a_flow_is_forgotten,
    a_flow_is_over_when_its_runs_are,
    a_run_of_a_flow_starts_under_its_condition_alone,
    nobody_goes_on_before_the_runs_it_waits_for_are_over,
)
