"""Anyone who locks flows and runs locks the flows first: of two transactions one may wait for the other, never both."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import event, select

from cronograph.jobs.actions.flows import cancel_flow, enqueue_flow
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.flows import NewFlow, NewMember
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.outcome import HandedBack
from cronograph.jobs.core.run_spec import RunSpec
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.core.waits import Wait
from cronograph.jobs.queue.claims.candidates import skip_due
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.queue.losses import disown, release, rescue
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.store.db.database import sync_engine
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from tests.support.storage import Stored, Worker

pytestmark = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)

LOCKS_RUNS = re.compile(r"FOR UPDATE OF \S*run\b|\bUPDATE \S*\brun\b")


def free_flows(stored: Stored) -> set[int]:
    """The flows that nobody has locked at this moment."""
    engine = sync_engine(stored.database.url)
    with engine.connect() as conn:
        found = set(conn.execute(select(tables.flow.c.id).with_for_update(skip_locked=True)).scalars())
    engine.dispose()
    return found


def free_at_the_first_run(stored: Stored, action: Callable[[Tx], object]) -> set[int]:
    """Return which flows are not locked when an action locks its first run."""
    found: list[set[int]] = []

    def look(_conn: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not found and LOCKS_RUNS.search(statement):
            found.append(free_flows(stored))

    def watched(tx: Tx) -> None:
        event.listen(tx.conn, "before_cursor_execute", look)
        action(tx)

    stored.do(watched)
    (free,) = found
    return free


def two_runs(stored: Stored, **more: object) -> tuple[int, list[int]]:
    """A flow of two runs, the second of which comes after the first."""
    first = NewMember("a", NewRun("work", Trigger.API, **more))  # type: ignore[arg-type]  # settings of runs
    flow = stored.do(enqueue_flow, NewFlow("two", (first, NewMember("b", NewRun("work", Trigger.API), ("a",)))))
    return flow.id, [run.id for run in stored.rows(tables.run, flow_id=flow.id)]


def finish_one(stored: Stored, worker: Worker) -> Callable[[Tx], object]:
    two_runs(stored)
    started = worker.start()
    ended = [Finish(started.run, started.execution_id, HandedBack("enough"))]
    return lambda tx: finish(tx, worker.node.id, worker.node.name, ended)


def cancel_one(stored: Stored, _worker: Worker) -> Callable[[Tx], object]:
    _, ids = two_runs(stored)
    return lambda tx: cancel_runs(tx, ids[:1])


def cancel_a_flow(stored: Stored, _worker: Worker) -> Callable[[Tx], object]:
    flow_id, _ = two_runs(stored)
    return lambda tx: cancel_flow(tx, flow_id)


def cancel_a_parent(stored: Stored, worker: Worker) -> Callable[[Tx], object]:
    stored.enqueue()
    parent = worker.start()
    stored.do(wait, parent.run, Wait("runs", StepKind.RUNS, runs=(RunSpec("work", {}),)))
    return lambda tx: cancel_runs(tx, [parent.run.id])


def rescue_a_node(stored: Stored, worker: Worker) -> Callable[[Tx], object]:
    two_runs(stored)
    worker.start()
    return lambda tx: rescue(tx, worker.node, reason="killed")


def disown_what_a_node_holds(stored: Stored, worker: Worker) -> Callable[[Tx], object]:
    two_runs(stored)
    worker.start()
    return lambda tx: disown(tx, worker.node.id, worker.node.name, ())


def release_what_a_node_holds(stored: Stored, worker: Worker) -> Callable[[Tx], object]:
    two_runs(stored)
    worker.start()
    return lambda tx: release(tx, worker.node.id, worker.node.name, HandedBack("stopped"))


def skip_what_is_too_old(stored: Stored, _worker: Worker) -> Callable[[Tx], object]:
    two_runs(stored, expires_at=stored.now + timedelta(seconds=10))
    stored.pass_time(11)
    return lambda tx: skip_due(tx, None)


def claim_what_is_too_old(stored: Stored, worker: Worker) -> Callable[[Tx], object]:
    """It locks the run, and so it leaves the flow alone; `skip_due` comes for both."""
    two_runs(stored, expires_at=stored.now + timedelta(seconds=10))
    stored.pass_time(11)
    assert worker.take(5).started == ()
    return lambda tx: skip_due(tx, None)


ACTIONS = (
    finish_one,
    cancel_one,
    cancel_a_flow,
    cancel_a_parent,
    rescue_a_node,
    disown_what_a_node_holds,
    release_what_a_node_holds,
    skip_what_is_too_old,
    claim_what_is_too_old,
)


@pytest.mark.costly
@pytest.mark.parametrize("prepare", ACTIONS, ids=lambda action: str(action.__name__))
def test_flows_are_locked_before_runs(
    stored: Stored, prepare: Callable[[Stored, Worker], Callable[[Tx], object]]
) -> None:
    action = prepare(stored, stored.node())
    assert len(free_flows(stored)) == 1
    assert free_at_the_first_run(stored, action) == set()
