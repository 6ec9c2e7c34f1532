"""Suspended runs: nobody takes them, they count as unfinished, and they are woken by what they await or by time."""

from datetime import timedelta
from typing import Any

import pytest

from cronograph.jobs.actions.groups import update_group
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.events import EventKind, spread
from cronograph.jobs.core.model import Outcome, OverlapPolicy, SkipReason
from cronograph.jobs.core.outcome import Failed, Succeeded, Suspended
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.base import runs as run_store
from cronograph.jobs.queue.base.changes import wake
from cronograph.jobs.queue.due_tasks import look_ahead
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.queue.occurrences import dispatch_due
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import groups
from cronograph.jobs.store.statements.lists import GROUPS
from tests.support.storage import Stored, Worker

SIGNAL = Awaits(AwaitedKind.SIGNAL, "approved")
ASLEEP = Awaits(AwaitedKind.TIME, "cool down")


def suspended(stored: Stored, worker: Worker, outcome: Suspended | None = None, **changes: Any) -> int:
    """A run that an attempt has left suspended."""
    run = stored.enqueue(**changes)
    worker.end(worker.start(), outcome or Suspended(SIGNAL))
    return run.id


def test_an_attempt_may_leave_its_run_suspended(stored: Stored) -> None:
    worker = stored.node()
    run_id = suspended(stored, worker, Suspended(SIGNAL, seconds=90.0))
    (run,) = stored.rows(tables.run)
    assert (run.state, run.attempt, run.failures, run.finished_at) == ("suspended", 1, 0, None)
    assert (run.awaits, run.wake_at) == (SIGNAL.to_json(), stored.now + timedelta(seconds=90))
    (execution,) = stored.rows(tables.job_execution)
    assert (execution.outcome, execution.success, execution.error_message) == ("suspended", True, None)
    changes = [change for row in stored.rows(tables.event) for change in spread(row.changes)]
    told = [(one.kind, one.state) for one in changes if one.run_id == run_id]
    assert told[-2:] == [(EventKind.EXECUTION_FINISHED, "suspended"), (EventKind.RUN_UPDATED, "suspended")]


def test_its_end_is_accepted_once_and_known_when_it_is_reported_again(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    started = worker.start()
    worker.end(started, Suspended(SIGNAL))
    assert worker.end(started, Suspended(ASLEEP, seconds=1.0)).accepted == {started.run.id}
    assert stored.rows(tables.run)[0].awaits == SIGNAL.to_json()


def test_nobody_takes_it_and_it_holds_no_slot_of_its_group(stored: Stored) -> None:
    worker = stored.node()
    stored.do(update_group, "default", max_running=1)
    run_id = suspended(stored, worker)
    other = stored.enqueue()
    assert [one.run.id for one in worker.take(5).started] == [other.id]
    assert stored.rows(tables.run, id=run_id)[0].state == "suspended"


def test_woken_it_waits_with_the_place_of_that_time_and_no_retry_is_used(stored: Stored) -> None:
    worker = stored.node()
    run_id = suspended(stored, worker, retries=0)
    stored.pass_time(10)
    before = stored.enqueue()
    stored.pass_time(10)
    assert stored.do(wake, [run_id, before.id, 999]) == [run_id]
    (run,) = stored.rows(tables.run, id=run_id)
    assert (run.state, run.available_at, run.awaits, run.wake_at) == ("waiting", stored.now, None, None)
    after = stored.enqueue()
    started = worker.take(3).started
    assert [one.run.id for one in started] == [before.id, run_id, after.id]
    assert (started[1].run.attempt, started[1].run.failures) == (2, 0)
    assert stored.do(wake, [run_id]) == []
    worker.end(started[1], Failed("ValueError", "the first failure"))
    assert stored.rows(tables.run, id=run_id)[0].state == "failed"


def test_what_has_a_time_is_woken_then_and_not_before(stored: Stored) -> None:
    worker = stored.node()
    until = stored.now + timedelta(seconds=60)
    ids = [
        suspended(stored, worker, Suspended(ASLEEP, until=until)),
        suspended(stored, worker, Suspended(ASLEEP, 30.0)),
    ]
    never = suspended(stored, worker)
    assert stored.do(lambda tx: look_ahead(tx.conn)).wakes_at == stored.now + timedelta(seconds=30)
    stored.pass_time(29.999999)
    stored.dispatch()
    assert worker.take(5).started == ()
    stored.pass_time(60)
    stored.dispatch()
    assert [run.state for run in stored.rows(tables.run)] == ["waiting", "waiting", "suspended"]
    # In the order in which they were to be woken, although the node looked late.
    assert [one.run.id for one in worker.take(5).started] == [ids[1], ids[0]]
    assert stored.do(lambda tx: look_ahead(tx.conn)).earliest is None
    assert stored.rows(tables.run, id=never)[0].state == "suspended"


def test_a_sleep_outlives_the_node_that_began_it(stored: Stored) -> None:
    worker = stored.node()
    run_id = suspended(stored, worker, Suspended(ASLEEP, 30.0))
    assert stored.do(rescue, worker.node, reason="killed") == 0
    stored.pass_time(3600)
    other = stored.node("node-b")
    assert other.take().started == ()
    stored.do(dispatch_due, "node-b")
    assert other.start().run.id == run_id


def test_a_look_that_finds_nothing_due_sends_no_more_statements_for_what_sleeps(stored: Stored) -> None:
    worker = stored.node()
    without = stored.statements(lambda tx: dispatch_due(tx, "node-a"))
    for _ in range(3):
        suspended(stored, worker, Suspended(ASLEEP, 30.0))
    assert stored.statements(lambda tx: dispatch_due(tx, "node-a")) == without


def test_it_is_cancelled_at_once(stored: Stored) -> None:
    worker = stored.node()
    run_id = suspended(stored, worker, Suspended(ASLEEP, 30.0))
    stored.do(cancel_runs, [run_id], reason="no need")
    (run,) = stored.rows(tables.run)
    assert (run.state, run.awaits, run.wake_at, run.error) == ("cancelled", None, None, "cancelled: no need")
    stored.pass_time(60)
    stored.dispatch()
    assert stored.rows(tables.run)[0].state == "cancelled"


def test_it_can_be_dropped(stored: Stored) -> None:
    worker = stored.node()
    run_id = suspended(stored, worker)
    stored.do(lambda tx: run_store.skip(tx.conn, [run_id], "not needed any more", tx.now, SkipReason.TOLERANCE))
    (run,) = stored.rows(tables.run)
    assert (run.state, run.awaits, run.error) == ("skipped", None, "not needed any more")


def test_one_that_was_asked_to_stop_meanwhile_is_cancelled_instead(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    stored.do(cancel_runs, [run.id], reason="too late")
    worker.end(started, Suspended(SIGNAL))
    (row,) = stored.rows(tables.run)
    assert (row.state, row.awaits) == ("cancelled", None)
    assert stored.rows(tables.job_execution)[0].outcome == Outcome.CANCELLED.value


def test_its_unique_key_is_taken(stored: Stored) -> None:
    worker = stored.node()
    run_id = suspended(stored, worker, unique_key="order-7")
    assert stored.enqueue(unique_key="order-7").id == run_id


def test_under_skip_the_next_occurrence_is_skipped(stored: Stored) -> None:
    worker = stored.node()
    stored.task(overlap=OverlapPolicy.SKIP)
    stored.at(60)
    stored.dispatch()
    worker.end(worker.start(), Suspended(SIGNAL))
    stored.at(120)
    assert stored.dispatch() == 0
    assert [row.reason for row in stored.rows(tables.skipped_occurrence)] == [SkipReason.OVERLAP.value]


def test_under_replace_the_next_occurrence_takes_its_place(stored: Stored) -> None:
    worker = stored.node()
    stored.task(overlap=OverlapPolicy.REPLACE)
    stored.at(60)
    stored.dispatch()
    worker.end(worker.start(), Suspended(SIGNAL))
    stored.at(120)
    assert stored.dispatch() == 1
    assert [run.state for run in stored.rows(tables.run)] == ["cancelled", "waiting"]


def test_its_group_exists_and_counts_it(stored: Stored) -> None:
    worker = stored.node()
    suspended(stored, worker, group="acme")
    names = stored.do(lambda tx: [row.name for row in tx.conn.execute(GROUPS.rows)])
    assert sorted(names) == ["acme", "default"]
    depth = stored.do(lambda tx: groups.depths(tx.conn, ["acme"], tx.now))["acme"]
    assert (depth.states, depth.oldest_wait) == ({RunState.SUSPENDED: 1}, None)


@pytest.mark.parametrize("after", [Succeeded(), Suspended(SIGNAL)])
def test_it_may_be_suspended_again(stored: Stored, after: Succeeded | Suspended) -> None:
    worker = stored.node()
    run_id = suspended(stored, worker)
    stored.do(wake, [run_id])
    worker.end(worker.start(), after)
    (run,) = stored.rows(tables.run)
    assert (run.state, run.attempt) == ("success" if isinstance(after, Succeeded) else "suspended", 2)
    assert [row.attempt for row in stored.rows(tables.job_execution)] == [1, 2]
