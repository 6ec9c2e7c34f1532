"""Every change of a run of a flow says of which flow it is, whichever way the run went."""

from cronograph.jobs.actions.flows import enqueue_flow, retry_flow
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.events import Change, EventFilter, EventKind, spread
from cronograph.jobs.core.flows import NewFlow, NewMember, When
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.store.schema import tables
from tests.support.storage import Stored

DEAD = Failed("ValueError", "boom", permanent=True)


def changes(stored: Stored) -> list[Change]:
    return [change for row in stored.rows(tables.event) for change in spread(row.changes)]


def member(key: str, *after: str, when: When = When.SUCCESS) -> NewMember:
    return NewMember(key, NewRun("work", Trigger.API), after, when)


def test_every_change_of_a_run_of_a_flow_names_the_flow(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.end(worker.start())
    flow = stored.do(
        enqueue_flow,
        NewFlow("all", (member("a"), member("b", "a"), member("c", "b"), member("d", "b", when=When.ALWAYS))),
    )
    worker.end(worker.start(), Succeeded(7))
    worker.end(worker.start(), DEAD)
    worker.take(0, prefetch=1)
    (last,) = (run.id for run in stored.rows(tables.run, flow_id=flow.id, state="scheduled"))
    stored.do(cancel_runs, [last])
    stored.do(retry_flow, flow.id)
    ours = {run.id for run in stored.rows(tables.run, flow_id=flow.id)}
    about_runs = [one for one in changes(stored) if one.run_id is not None]
    assert {one.flow_id for one in about_runs if one.run_id in ours} == {flow.id}
    assert {one.flow_id for one in about_runs if one.run_id not in ours} == {None}
    wanted = EventFilter(flow_id=flow.id)
    seen = {(one.kind, one.state) for one in changes(stored) if wanted.matches(one)}
    runs = {state for kind, state in seen if kind is EventKind.RUN_UPDATED}
    assert runs == {"waiting", "scheduled", "running", "success", "failed", "skipped", "cancelled"}
    assert {state for kind, state in seen if kind is EventKind.RUN_CREATED} == {"waiting", "suspended"}
    assert {kind for kind, _ in seen} >= {EventKind.EXECUTION_STARTED, EventKind.EXECUTION_FINISHED}
