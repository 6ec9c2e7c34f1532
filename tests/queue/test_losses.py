"""What a node lost, or never learnt that it had: who may take it back, and when."""

from contextlib import closing

import pytest
from sqlalchemy import select

from cronograph.jobs.actions.nodes import leave, rescue_expired
from cronograph.jobs.core.events import spread
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import HandedBack, Lost
from cronograph.jobs.queue.claims.claim import claim
from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.losses import disown, release, rescue
from cronograph.jobs.store.db.database import Connection, OperationalError, sync_engine
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import nodes as stored_nodes
from tests.support.storage import Stored, Worker


def event_kinds(stored: Stored) -> list[str]:
    return [change.kind.value for row in stored.rows(tables.event) for change in spread(row.changes)]


def rescue_silent(stored: Stored, worker: Worker) -> int:
    """Return what a rescuer does once it has seen no sign of life from this node for a lease."""

    def take_back(tx: Tx) -> int:
        return rescue_expired(tx, [node for node in stored_nodes.expired(tx.conn, tx.now) if node.id == worker.node.id])

    return stored.do(take_back)


def test_a_run_whose_claim_was_never_answered_is_closed_as_lost_and_due_at_once(stored: Stored) -> None:
    worker = stored.node()
    known, unanswered = stored.enqueue(), stored.enqueue()
    worker.take(2)
    assert stored.do(disown, worker.node.id, worker.node.name, {known.id}) == 1
    running, stuck = stored.rows(tables.run)
    assert (running.state, stuck.state, stuck.failures) == ("running", "stuck", 1)
    (lost,) = stored.rows(tables.job_execution, run_id=unanswered.id)
    assert (lost.success, lost.outcome, lost.error_type) == (False, "lost", "ClaimLost")
    assert "node-a held this run and did not execute it" in lost.error_message
    stored.pass_time(0.001)
    assert worker.start().run.id == unanswered.id


def test_a_reservation_that_was_never_answered_goes_back_to_the_queue(stored: Stored) -> None:
    worker = stored.node()
    started, known, unanswered = stored.enqueue(), stored.enqueue(), stored.enqueue()
    worker.take(1, prefetch=2)
    assert stored.do(disown, worker.node.id, worker.node.name, {started.id, known.id}) == 1
    states = {row.id: (row.state, row.node_id) for row in stored.rows(tables.run)}
    assert states[known.id] == ("scheduled", worker.node.id)
    assert states[unanswered.id] == ("waiting", None)


def test_disowning_nothing_writes_nothing(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    worker.take()
    before = len(stored.rows(tables.event))
    assert stored.do(disown, worker.node.id, worker.node.name, {run.id}) == 0
    assert len(stored.rows(tables.event)) == before


def test_a_disowned_run_that_keeps_being_lost_ends_failed(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(retries=1)
    for _ in range(2):
        worker.take()
        stored.do(disown, worker.node.id, worker.node.name, frozenset[int]())
        stored.pass_time(0.001)
    (run,) = stored.rows(tables.run)
    assert (run.state, run.failures, run.attempt) == ("failed", 2, 2)


def test_the_late_result_of_a_disowned_attempt_is_refused(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    started = worker.start()
    stored.do(disown, worker.node.id, worker.node.name, frozenset[int]())
    stored.pass_time(0.001)
    again = worker.start()
    assert worker.end(started).accepted == frozenset()
    assert worker.end(again).accepted == {again.run.id}


def test_a_cancelled_run_that_was_lost_ends_cancelled(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    started = worker.start()
    cancelled = "UPDATE cronograph.run SET cancel_requested_at = submitted_at, cancel_reason = 'enough'"
    stored.do(lambda tx: tx.conn.execute(SchemaText(cancelled)))
    stored.do(disown, worker.node.id, worker.node.name, frozenset[int]())
    (run,) = stored.rows(tables.run, id=started.run.id)
    assert run.state == "cancelled"


def test_a_node_whose_heartbeat_moved_is_neither_rescued_nor_announced_as_dead(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.take()
    stored.do(lambda tx: stored_nodes.beat(tx.conn, worker.node.id, now=tx.now, lease=60, running=1, clock_skew=0))
    assert stored.do(rescue, worker.node, reason="no heartbeat") == 0
    assert stored.do(rescue_expired, [worker.node]) == 0
    assert "node_stopped" not in event_kinds(stored)


def test_the_death_of_a_node_is_announced_once_with_its_losses(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.take()
    stored.pass_time(61)
    assert rescue_silent(stored, worker) == 1
    assert rescue_silent(stored, worker) == 0
    assert event_kinds(stored).count("node_stopped") == 1
    assert event_kinds(stored)[-3:] == ["execution_finished", "run_updated", "node_stopped"]


def test_a_node_leaves_nothing_to_its_name(stored: Stored) -> None:
    worker = stored.node()
    for _ in range(3):
        stored.enqueue()
    worker.take(1, prefetch=1)
    assert stored.do(leave, worker.node, NodeState.STOPPED, unfinished=HandedBack("the node stopped")) == 2
    assert [row.state for row in stored.rows(tables.run)] == ["waiting"] * 3
    (execution,) = stored.rows(tables.job_execution)
    assert (execution.outcome, execution.error_message) == ("handed_back", "the node stopped")
    (node,) = stored.rows(tables.node)
    assert (node.state, node.running) == ("stopped", 0)
    assert event_kinds(stored)[-1] == "node_stopped"


@pytest.mark.parametrize("crash", [False, True], ids=["clean stop", "crash"])
def test_what_was_cut_off_goes_first_again_in_the_order_it_had(stored: Stored, crash: bool) -> None:
    worker = stored.node()
    runs = [stored.enqueue() for _ in range(2)]
    stored.pass_time(1)
    runs += [stored.enqueue() for _ in range(2)]
    worker.take(3, prefetch=0)
    stored.pass_time(61)
    if crash:
        rescue_silent(stored, worker)
    else:
        stored.do(leave, worker.node, NodeState.STOPPED, unfinished=HandedBack("the node stopped"))
    kept = [row.available_at for row in stored.rows(tables.run)]
    assert kept == [run.available_at for run in runs]
    stored.pass_time(0.001)
    assert [one.run.id for one in stored.node("node-b").take(4).started] == [run.id for run in runs]


def test_a_node_that_was_declared_dead_leaves_without_a_word(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.take()
    stored.pass_time(61)
    rescue_silent(stored, worker)
    assert stored.do(leave, worker.node, NodeState.STOPPED, unfinished=HandedBack("the node stopped")) == 0
    (node,) = stored.rows(tables.node)
    assert node.state == "expired"
    assert event_kinds(stored).count("node_stopped") == 1


@pytest.fixture
def claiming(stored: Stored) -> Connection:
    """A connection of its own on which a node claims, and stops before the commit."""
    return sync_engine(stored.database.url).connect()


@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_node_in_the_middle_of_a_claim_is_not_declared_dead_over_it(stored: Stored, claiming: Connection) -> None:
    worker = stored.node()
    stored.enqueue()
    stored.pass_time(61)
    with closing(claiming):
        claimed = claim(Tx(claiming, lambda: stored.now), worker.claimant, FairnessState(), slots=1)
        assert len(claimed.started) == 1
        # The lease is over, and the node sits on an open transaction: what it takes is not known yet.
        assert rescue_silent(stored, worker) == 0
        claiming.commit()
    assert rescue_silent(stored, worker) == 1
    (run,) = stored.rows(tables.run)
    assert run.state == "stuck"


@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_node_that_is_being_rescued_takes_nothing(stored: Stored, claiming: Connection) -> None:
    worker = stored.node()
    stored.enqueue()
    stored.pass_time(61)
    assert rescue_silent(stored, worker) == 0
    with closing(claiming):
        claimed = claim(Tx(claiming, lambda: stored.now), worker.claimant, FairnessState(), slots=1)
    assert claimed.fenced
    assert claimed.started == ()


def test_a_loss_says_by_itself_that_the_node_died() -> None:
    assert Lost("gone").error_type == "NodeLost"


@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_node_does_not_leave_before_the_end_of_a_claim_that_nobody_waits_for(
    stored: Stored, claiming: Connection
) -> None:
    worker = stored.node()
    stored.enqueue()

    def leave_impatiently(tx: Tx) -> int:
        tx.conn.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")
        return leave(tx, worker.node, NodeState.STOPPED, unfinished=HandedBack("the node stopped"))

    with closing(claiming):
        claim(Tx(claiming, lambda: stored.now), worker.claimant, FairnessState(), slots=1)
        with pytest.raises(OperationalError, match="lock timeout"):
            stored.do(leave_impatiently)
        claiming.commit()
    assert stored.do(leave_impatiently) == 1
    assert [row.state for row in stored.rows(tables.run)] == ["waiting"]


UNREADABLE = {
    "postgresql": "UPDATE cronograph.run SET submitted_at = 'infinity' WHERE id = {}",
    "sqlite": "UPDATE run SET submitted_at = 'x' WHERE id = {}",
}


@pytest.mark.costly
@pytest.mark.parametrize("loss", ["disowned", "rescued", "left"])
def test_a_run_that_has_begun_and_cannot_be_read_fails_with_that_reason(stored: Stored, loss: str) -> None:
    worker = stored.node()
    broken, sound = stored.enqueue(), stored.enqueue()
    assert len(worker.take(5).started) == 2
    statement = UNREADABLE[stored.database.url.get_backend_name()].format(broken.id)
    stored.do(lambda tx: tx.conn.exec_driver_sql(statement))
    node = worker.node
    if loss == "disowned":
        assert stored.do(disown, node.id, node.name, {sound.id}) == 1
    elif loss == "rescued":
        stored.do(rescue, node, reason="the test says so")
    else:
        stored.do(release, node.id, node.name, HandedBack("it stops"))
    columns = select(tables.run.c.id, tables.run.c.state, tables.run.c.error)
    states = {row.id: (row.state, row.error) for row in stored.do(lambda tx: tx.conn.execute(columns).all())}
    state, error = states[broken.id]
    assert (state, str(error).partition(",")[0]) == ("failed", "the row of this run in the database cannot be read")
    assert states[sound.id][0] == {"disowned": "running", "rescued": "stuck", "left": "waiting"}[loss]
    ends = {row.run_id: (row.outcome, row.error_type) for row in stored.rows(tables.job_execution)}
    assert ends[broken.id] == ("lost", "UnreadableRun")
