"""The engine goes on beside rows that somebody wrote past this product; each of these is set aside alone."""

import pytest
from sqlalchemy import text

from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.base.errors import UnreadableRow
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.losses import disown, rescue
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes
from cronograph.jobs.store.statements import runs as stored_runs
from tests.support.storage import Stored

pytestmark = pytest.mark.altered_log

BAD_TIME = {"sqlite": "'0000-01-01 x'", "postgresql": "'-infinity'"}
"""Times that every other is later than, and that nothing can be made of."""


def damage(tx: Tx, table: str, column: str, where: str) -> None:
    """Write a time that is none past the product."""
    name = f"cronograph.{table}" if tx.conn.dialect.name == "postgresql" else table
    written = f"UPDATE {name} SET {column} = {BAD_TIME[tx.conn.dialect.name]} WHERE {where}"
    assert tx.conn.execute(text(written)).rowcount == 1


@pytest.mark.costly
@pytest.mark.parametrize("column", ["scheduled_for", "available_at"])
def test_a_claim_begins_the_other_runs_and_the_bad_one_fails_alone(stored: Stored, column: str) -> None:
    worker = stored.node()
    ids = [stored.enqueue().id for _ in range(3)]
    stored.do(damage, "run", column, f"id = {ids[1]}")
    started = {one.run.id for one in worker.take(5).started}
    assert started == {ids[0], ids[2]}
    stored.do(disown, worker.node.id, worker.node.name, started)
    states = dict(stored.do(lambda tx: tx.conn.execute(tables.run.select().with_only_columns(*_STATE)).all()))
    # A run whose place in the queue cannot be read may not be found; one that was begun cannot be executed.
    assert states[ids[1]] == "failed" or (states[ids[1]] == "waiting" and column == "available_at")
    assert states[ids[0]] == states[ids[2]] == RunState.RUNNING.value


_STATE = (tables.run.c.id, tables.run.c.state)


def test_a_task_that_cannot_be_read_is_paused_with_the_reason_and_holds_up_no_other(stored: Stored) -> None:
    stored.node()
    broken = stored.task("* * * * * *", name="broken")
    stored.task("* * * * * *", name="sound")
    stored.do(damage, "periodic_task", "last_due_at", f"id = {broken.id}")
    stored.at(1)
    assert stored.dispatch() == 1
    stored.do(lambda tx: tx.conn.execute(tables.periodic_task.update().values(last_due_at=None)))
    (row,) = stored.rows(tables.periodic_task, name="broken")
    assert (row.enabled, row.next_execution, row.paused_by) == (False, None, "cronograph")
    assert f"table periodic_task, row id {broken.id}: column last_due_at cannot be read" in row.pause_reason


def test_a_node_that_cannot_be_read_keeps_nobody_from_rescuing_others(stored: Stored) -> None:
    dead, bad = stored.node(name="node-a"), stored.node(name="node-b")
    stored.enqueue()
    dead.start()
    stored.do(damage, "node", "started_at", f"id = {bad.node.id}")
    stored.pass_time(3600)
    (found,) = stored.do(lambda tx: nodes.expired(tx.conn, tx.now))
    assert stored.do(rescue, found, reason="test") == 1


def test_a_rescue_fails_the_bad_run_alone(stored: Stored) -> None:
    worker = stored.node()
    ids = [stored.enqueue().id for _ in range(3)]
    worker.take(5)
    stored.do(damage, "run", "scheduled_for", f"id = {ids[1]}")
    assert stored.do(rescue, worker.node, reason="test") == 3
    states = dict(stored.do(lambda tx: tx.conn.execute(tables.run.select().with_only_columns(*_STATE)).all()))
    assert [states[one] for one in ids] == ["stuck", "failed", "stuck"]


def test_asking_for_it_or_changing_it_names_it(stored: Stored) -> None:
    stored.node()
    ids = [stored.enqueue().id for _ in range(2)]
    stored.do(damage, "run", "scheduled_for", f"id = {ids[0]}")
    named = f"table run, row id {ids[0]}: column scheduled_for cannot be read"
    with pytest.raises(UnreadableRow, match=named):
        stored.do(lambda tx: stored_runs.by_ids(tx.conn, ids))
    with pytest.raises(UnreadableRow, match=named):
        stored.do(cancel_runs, ids[:1], actor="ann")
    (cancelled,) = stored.do(cancel_runs, ids[1:], actor="ann")
    assert cancelled.state is RunState.CANCELLED
