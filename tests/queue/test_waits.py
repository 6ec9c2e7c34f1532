"""Waits of runs: none ends early, none is forgotten, and each signal is taken once or lies in its box."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.actions.signals import signal_run
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.base.errors import InvalidInput, UserError
from cronograph.jobs.core.events import EventKind, spread
from cronograph.jobs.core.outcome import Failed, Succeeded, Suspended
from cronograph.jobs.core.run_spec import RunSpec
from cronograph.jobs.core.steps import StepKind, StepState, StoredStep
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Signal, Wait
from cronograph.jobs.queue.base.changes import wake
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.types import SchemaText
from tests.support.storage import START, Stored, Worker
from tests.support.waiting import wait_until

APPROVED = Wait("approved", StepKind.SIGNAL)
SLEEP = Wait("cool down", StepKind.SLEEP, seconds=60.0)


def begin(stored: Stored, started: Started, asked: Wait = APPROVED) -> StoredStep:
    found = stored.do(wait, started.run, asked)
    assert found is not None
    return found


def suspend(worker: Worker, started: Started, asked: Wait, begun: StoredStep) -> None:
    """End an attempt as ``ctx.wait_for`` and ``ctx.sleep`` do."""
    kind = AwaitedKind.TIME if asked.kind is StepKind.SLEEP else AwaitedKind.SIGNAL
    worker.end(started, Suspended(Awaits(kind, asked.signal or asked.label), until=begun.wake_at))


def send(stored: Stored, run_id: int, payload: Any = None, name: str = "approved", **more: Any) -> None:
    stored.do(signal_run, run_id=run_id, signal=Signal(name, payload, **more))


def state(stored: Stored, run_id: int) -> str:
    (run,) = stored.rows(tables.run, id=run_id)
    return str(run.state)


def test_a_sleep_lasts_from_its_first_attempt_and_never_ends_early(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started, SLEEP)
    assert (begun.state, begun.began, begun.wake_at) == (StepState.WAITING, START, START + timedelta(seconds=60))
    stored.pass_time(1)
    suspend(worker, started, SLEEP, begun)
    # Woken by somebody before its time, it sleeps on until the same time.
    stored.pass_time(58.999999)
    stored.do(wake, [run.id])
    again = worker.start()
    assert begin(stored, again, SLEEP) == begun
    suspend(worker, again, SLEEP, begun)
    stored.pass_time(0.000001)
    stored.dispatch()
    third = worker.start()
    assert begin(stored, third, replace(SLEEP, seconds=999.0)).state is StepState.DONE


@pytest.mark.costly
@pytest.mark.parametrize("ended_by", ["time", "a signal to the suspended run", "a signal in its box"])
def test_a_wait_belongs_to_the_attempt_that_began_it_however_it_ends(stored: Stored, ended_by: str) -> None:
    worker = stored.node()
    run = stored.enqueue()
    asked = SLEEP if ended_by == "time" else APPROVED
    started = worker.start()
    begun = begin(stored, started, asked)
    if ended_by == "a signal in its box":
        send(stored, run.id)
    suspend(worker, started, asked, begun)
    if ended_by == "a signal to the suspended run":
        send(stored, run.id)
    stored.pass_time(60)
    stored.dispatch()
    ended = begin(stored, worker.start(), asked)
    (row,) = stored.rows(tables.run_step)
    assert (ended.state, ended.attempt, row.attempt) == (StepState.DONE, 1, 1)


def test_a_sleep_outlives_the_death_of_the_node_that_began_it(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(retries=3)
    started = worker.start()
    begun = begin(stored, started, SLEEP)
    # Killed between the begin of the sleep and the end of the attempt.
    stored.pass_time(30)
    worker.end(started, Suspended(Awaits(AwaitedKind.TIME, "cool down"), until=stored.now))
    stored.dispatch()
    again = worker.start()
    assert begin(stored, again, SLEEP).wake_at == begun.wake_at


def test_a_signal_before_the_wait_is_taken_at_once(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    send(stored, run.id, {"by": "ada"})
    send(stored, run.id, {"by": "bob"})
    started = worker.start()
    first, second = begin(stored, started), begin(stored, started, Wait("approved#2", StepKind.SIGNAL))
    assert [(one.state, one.value) for one in (first, second)] == [
        (StepState.DONE, {"by": "ada"}),
        (StepState.DONE, {"by": "bob"}),
    ]
    assert stored.rows(tables.run_signal) == []
    # The same again, after an answer of the database that was lost.
    assert begin(stored, started) == first
    assert len({row.signal_id for row in stored.rows(tables.run_step)}) == 2


def test_a_signal_that_comes_later_wakes_the_run(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    suspend(worker, started, APPROVED, begin(stored, started))
    send(stored, run.id, 1, name="other")
    assert state(stored, run.id) == "suspended"
    send(stored, run.id, 2)
    assert state(stored, run.id) == "waiting"
    again = worker.start()
    assert (again.run.attempt, again.run.failures) == (2, 0)
    assert begin(stored, again).value == 2
    assert [row.payload for row in stored.rows(tables.run_signal)] == [1]


def test_a_signal_between_the_wait_and_the_end_of_its_attempt_wakes_the_run(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started)
    send(stored, run.id, 7)
    assert state(stored, run.id) == "running"
    suspend(worker, started, APPROVED, begun)
    assert state(stored, run.id) == "waiting"
    assert begin(stored, worker.start()).value == 7


def test_any_of_several_waits_wakes_the_run(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started)
    begin(stored, started, Wait("declined", StepKind.SIGNAL))
    suspend(worker, started, APPROVED, begun)
    send(stored, run.id, name="declined")
    assert state(stored, run.id) == "waiting"


def test_a_wait_that_timed_out_stays_so(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    asked = replace(APPROVED, seconds=60.0)
    started = worker.start()
    suspend(worker, started, asked, begin(stored, started, asked))
    stored.pass_time(60)
    stored.dispatch()
    again = worker.start()
    assert begin(stored, again, asked).state is StepState.TIMED_OUT
    send(stored, run.id, "too late")
    assert begin(stored, again, asked).state is StepState.TIMED_OUT
    # It lies there for the next one.
    assert begin(stored, again, Wait("approved#2", StepKind.SIGNAL)).value == "too late"


def test_a_signal_that_is_there_when_the_time_is_over_counts(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    asked = replace(APPROVED, seconds=60.0)
    started = worker.start()
    begun = begin(stored, started, asked)
    suspend(worker, started, asked, begun)
    stored.pass_time(61)
    send(stored, run.id, 5)
    assert begin(stored, worker.start(), asked).value == 5


def test_a_signal_may_say_no(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    send(stored, run.id, rejects="too expensive")
    found = begin(stored, worker.start())
    assert (found.state, found.error) == (StepState.REJECTED, "too expensive")


def test_signals_of_lower_roles_are_not_taken(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    send(stored, run.id, "early", role=Role.OPERATOR)
    started = worker.start()
    asked = replace(APPROVED, role=Role.ADMIN)
    begun = begin(stored, started, asked)
    assert begun.state is StepState.WAITING
    suspend(worker, started, asked, begun)
    assert state(stored, run.id) == "suspended"
    send(stored, run.id, "good", role=Role.ADMIN)
    assert begin(stored, worker.start(), asked).value == "good"
    assert [row.payload for row in stored.rows(tables.run_signal)] == ["early"]


def test_signals_are_judged_by_the_code_that_stands_at_the_wait(stored: Stored) -> None:
    """A deploy changed the model and the role of a wait that had begun."""
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    before = replace(APPROVED, form={"type": "string"}, role=Role.OPERATOR)
    suspend(worker, started, before, begin(stored, started, before))
    stored.do(lambda tx: wake(tx, [run.id]))
    started = worker.start()
    after = replace(APPROVED, form={"type": "integer"}, role=Role.ADMIN)
    suspend(worker, started, after, begin(stored, started, after))
    stored.do(lambda tx: send_as_operator(tx, run.id))
    with pytest.raises(InvalidInput, match="payload"):
        send(stored, run.id, "of the old model")
    send(stored, run.id, 5)
    assert begin(stored, worker.start(), after).value == 5


def send_as_operator(tx: Tx, run_id: int) -> None:
    with pytest.raises(UserError, match="only accounts with the role admin may send it"):
        signal_run(tx, run_id=run_id, signal=Signal("approved", 4, sender="op", role=Role.OPERATOR))


def test_a_run_that_was_taken_begins_no_wait_and_takes_no_signal(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    send(stored, run.id)
    worker.end(started)
    assert stored.do(wait, started.run, APPROVED) is None
    assert (len(stored.rows(tables.run_signal)), stored.rows(tables.run_step)) == (1, [])


CHILDREN = Wait("runs", StepKind.RUNS, runs=(RunSpec("work"), RunSpec("work")))


def test_runs_are_begun_once_and_their_ends_wake_the_run_that_waits(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started, CHILDREN)
    assert (begun.state, begun.runs) == (StepState.WAITING, begin(stored, started, CHILDREN).runs)
    assert len(begun.runs) == 2
    worker.end(started, Suspended(Awaits.for_runs(begun.runs, "runs")))
    first, second = worker.take(5).started
    worker.end(first)
    assert state(stored, run.id) == "suspended"
    worker.end(second, Failed("ValueError", "no luck", permanent=True))
    assert state(stored, run.id) == "waiting"
    found = begin(stored, worker.start(), CHILDREN)
    assert [(one["id"], one["state"], one["error"]) for one in found.value] == [
        (begun.runs[0], "success", None),
        (begun.runs[1], "failed", "no luck"),
    ]


def test_runs_that_end_before_the_attempt_that_began_them_wake_its_run_at_its_end(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started, CHILDREN)
    for child in worker.take(5).started:
        worker.end(child)
    assert state(stored, run.id) == "running"
    worker.end(started, Suspended(Awaits.for_runs(begun.runs, "runs")))
    assert state(stored, run.id) == "waiting"


def test_a_cancel_goes_down_to_runs_of_runs(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started, CHILDREN)
    worker.end(started, Suspended(Awaits.for_runs(begun.runs, "runs")))
    (child,) = worker.take(1).started
    below = begin(stored, child, CHILDREN)
    worker.end(child, Suspended(Awaits.for_runs(below.runs, "runs")))
    stored.do(cancel_runs, [run.id], reason="no need")
    assert {row.state for row in stored.rows(tables.run)} == {"cancelled"}
    assert {row.state for row in stored.rows(tables.flow)} == {"cancelled"}


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_the_last_child_and_its_parent_that_end_at_one_moment_leave_the_parent_awake(
    stored: Stored, database_url: str
) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started, replace(CHILDREN, runs=CHILDREN.runs[:1]))
    (child,) = worker.take(5).started
    other = Stored(database_url)
    other.now = stored.now
    late = Worker(other, worker.node, ("work",))
    ending = threading.Thread(target=late.end, args=(started, Suspended(Awaits.for_runs(begun.runs, "runs"))))

    def end_slowly(tx: Tx) -> None:
        finish(tx, worker.node.id, worker.node.name, [Finish(child.run, child.execution_id, Succeeded())])
        ending.start()
        waiting = SchemaText("SELECT count(*) FROM pg_locks WHERE NOT granted")
        wait_until(lambda: tx.conn.execute(waiting).scalar_one() > 0, message="the parent to wait for its child")

    stored.do(end_slowly)
    ending.join()
    other.close()
    assert state(stored, run.id) == "waiting"


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_signal_and_the_end_of_the_attempt_at_one_moment_leave_the_run_awake(
    stored: Stored, database_url: str
) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started)
    other = Stored(database_url)
    other.now = stored.now
    late = Worker(other, worker.node, ("work",))
    ending = threading.Thread(target=suspend, args=(late, started, APPROVED, begun))

    def send_slowly(tx: Tx) -> None:
        signal_run(tx, run_id=run.id, signal=Signal("approved", 7))
        ending.start()
        waiting = SchemaText("SELECT count(*) FROM pg_locks WHERE NOT granted")
        wait_until(lambda: tx.conn.execute(waiting).scalar_one() > 0, message="the end to wait for the signal")

    stored.do(send_slowly)
    ending.join()
    other.close()
    assert state(stored, run.id) == "waiting"


def test_a_suspended_wait_has_its_signal_at_once_in_few_statements(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    suspend(worker, started, APPROVED, begin(stored, started))
    sent = stored.statements(lambda tx: signal_run(tx, run_id=run.id, signal=Signal("approved", {"by": "ada"})))
    assert sent <= (8 if stored.database.is_sqlite else 2)
    (step,) = stored.rows(tables.run_step)
    assert (step.state, step.value, step.finished_at) == ("done", {"by": "ada"}, stored.now)
    assert step.signal_id is not None
    assert stored.rows(tables.run_signal) == []
    (found,) = stored.rows(tables.run)
    assert (found.state, found.available_at, found.awaits, found.wake_at) == ("waiting", stored.now, None, None)
    told = [one for row in stored.rows(tables.event) for one in spread(row.changes)][-2:]
    assert [(one.kind, one.run_id, one.state, one.step) for one in told] == [
        (EventKind.STEP_FINISHED, run.id, "done", "approved"),
        (EventKind.RUN_UPDATED, run.id, "waiting", None),
    ]
    # The next signal is for the next wait.
    send(stored, run.id, 2)
    assert len(stored.rows(tables.run_signal)) == 1
    again = worker.start()
    assert begin(stored, again).value == {"by": "ada"}
    assert begin(stored, again, Wait("approved#2", StepKind.SIGNAL)).value == 2


def test_what_a_suspended_wait_does_not_take_lies_in_the_box(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    suspend(worker, started, APPROVED, begin(stored, started))
    send(stored, run.id, 1, "other")
    assert (state(stored, run.id), len(stored.rows(tables.run_signal))) == ("suspended", 1)
    send(stored, run.id, rejects="too expensive")
    (step,) = stored.rows(tables.run_step)
    assert (step.state, step.value, step.error) == ("rejected", None, "too expensive")


def test_what_lies_in_the_box_is_taken_before_what_comes(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    begun = begin(stored, started)
    # It comes while the attempt ends: the end of the attempt would see it, if it were not written past it here.
    box = {"run_id": run.id, "name": "approved", "rank": 2, "sent_at": stored.now, "payload": 1}
    suspend(worker, started, APPROVED, begun)
    stored.do(lambda tx: tx.conn.execute(tables.run_signal.insert().values(**box)))
    send(stored, run.id, 2)
    assert state(stored, run.id) == "waiting"
    again = worker.start()
    assert begin(stored, again).value == 1
    assert begin(stored, again, Wait("approved#2", StepKind.SIGNAL)).value == 2
