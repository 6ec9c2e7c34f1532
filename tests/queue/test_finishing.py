"""The ends of attempts, and what becomes of the runs of a dead node, on both databases."""

from datetime import timedelta

import pytest

from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.outcome import Cancelled, Failed, HandedBack, JobOutcome, Snoozed, Succeeded, TimedOut
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes
from cronograph.jobs.store.statements.logs import LogLine
from tests.support.storage import Stored


def test_a_success_closes_the_run_and_its_execution(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    started = worker.start()
    stored.pass_time(3)
    worker.end(started, Succeeded(42, {"ok": True}), progress={"done": 1, "total": 1, "message": None})
    (run,) = stored.rows(tables.run)
    assert (run.state, run.finished_at, run.result, run.error) == ("success", stored.now, {"ok": True}, None)
    (execution,) = stored.rows(tables.job_execution)
    assert (execution.completed_at, execution.success, execution.outcome) == (stored.now, True, "success")
    assert (execution.records_processed, execution.value, execution.error_message) == (42, {"ok": True}, None)
    assert execution.progress == {"done": 1, "total": 1, "message": None}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("outcome", "logged", "state"),
    [
        (Failed("ValueError", "boom", "Traceback"), Outcome.FAILED, "stuck"),
        (Failed("PermanentFailure", "no", permanent=True), Outcome.FAILED, "failed"),
        (TimedOut("late"), Outcome.TIMED_OUT, "stuck"),
        (Cancelled("enough"), Outcome.CANCELLED, "cancelled"),
        (Snoozed(3.0), Outcome.SNOOZED, "waiting"),
        (HandedBack("shutdown"), Outcome.HANDED_BACK, "waiting"),
    ],
)
def test_each_outcome_is_logged_as_documented(stored: Stored, outcome: JobOutcome, logged: Outcome, state: str) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.end(worker.start(), outcome)
    (run,) = stored.rows(tables.run)
    (execution,) = stored.rows(tables.job_execution)
    assert (run.state, execution.outcome, execution.success) == (state, logged.value, logged.is_success)
    assert (execution.error_message is not None) == (not logged.is_success)


def test_all_attempts_of_a_run_that_always_fails_come_when_they_should(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(retries=3, retry_delay=60.0)
    waits: list[float] = []
    while True:
        worker.end(worker.start(), Failed("ValueError", "boom"))
        (run,) = stored.rows(tables.run)
        if run.state == "failed":
            break
        waits.append((run.available_at - stored.now).total_seconds())
        stored.now = run.available_at + timedelta(microseconds=1)
    assert waits == [60, 120, 240]
    executions = stored.rows(tables.job_execution)
    assert [one.attempt for one in executions] == [1, 2, 3, 4]
    assert {one.error_message for one in executions} == {"boom"}
    assert (run.attempt, run.failures) == (4, 4)


def test_reporting_an_end_twice_changes_nothing_and_is_accepted_twice(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    started = worker.start()
    first = worker.end(started, Succeeded(1))
    second = worker.end(started, Succeeded(2))
    assert first.accepted == second.accepted == {started.run.id}
    (execution,) = stored.rows(tables.job_execution)
    assert execution.records_processed == 1


def test_a_node_that_lost_a_run_cannot_end_it(stored: Stored) -> None:
    a, b = stored.node("a"), stored.node("b")
    stored.enqueue()
    started = a.start()
    stored.do(rescue, a.node, reason="no heartbeat")
    stored.now += timedelta(microseconds=1)
    again = b.start()
    late = a.end(started, Succeeded(1))
    assert late.accepted == frozenset()
    b.end(again, Succeeded(2))
    outcomes = [(one.attempt, one.outcome, one.records_processed) for one in stored.rows(tables.job_execution)]
    assert outcomes == [(1, "lost", None), (2, "success", 2)]


def test_a_cancel_requested_in_the_last_moment_still_counts(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    stored.do(cancel_runs, [run.id], actor="ann")
    worker.end(started, Succeeded(1))
    (row,) = stored.rows(tables.run)
    assert row.state == "cancelled"


def test_the_last_log_lines_are_written_with_the_end(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    started = worker.start()
    line = LogLine(started.execution_id, 1, stored.now, "info", "bye", {"a": 1})
    worker.end(started, log_tail=(line,), log_lines=1, log_cut=7)
    (stored_line,) = stored.rows(tables.execution_log)
    assert (stored_line.message, stored_line.fields) == ("bye", {"a": 1})
    (execution,) = stored.rows(tables.job_execution)
    assert (execution.log_lines, execution.log_cut) == (1, 7)


def test_many_ends_are_one_transaction(stored: Stored) -> None:
    worker = stored.node()
    for _ in range(30):
        stored.enqueue()
    ended = [Finish(one.run, one.execution_id, Succeeded(place)) for place, one in enumerate(worker.take(30).started)]
    few = stored.statements(lambda tx: finish(tx, worker.node.id, worker.node.name, ended[:1]))
    many = stored.statements(lambda tx: finish(tx, worker.node.id, worker.node.name, ended[1:]))
    assert few == many
    assert {run.state for run in stored.rows(tables.run)} == {"success"}


def test_ends_of_one_transaction_are_stored_as_if_each_had_its_own(stored: Stored) -> None:
    worker = stored.node()
    outcomes: list[JobOutcome] = [Succeeded(), Succeeded(7), Succeeded(), Failed("ValueError", "no"), Succeeded(0)]
    for _ in range(2 * len(outcomes)):
        stored.enqueue()
    ended = [
        Finish(one.run, one.execution_id, outcome)
        for one, outcome in zip(worker.take(2 * len(outcomes)).started, 2 * outcomes, strict=True)
    ]
    together, apart = ended[: len(outcomes)], ended[len(outcomes) :]
    stored.do(finish, worker.node.id, worker.node.name, together)
    for one in apart:
        stored.do(finish, worker.node.id, worker.node.name, [one])
    for table, key in ((tables.run, "id"), (tables.job_execution, "run_id")):
        rows = [
            {**row._asdict(), "id": 0, "run_id": 0} for row in sorted(stored.rows(table), key=lambda x: getattr(x, key))
        ]
        assert rows[: len(outcomes)] == rows[len(outcomes) :], table.name


class TestRescue:
    def test_closes_what_ran_and_makes_it_due_at_once(self, stored: Stored) -> None:
        worker = stored.node("evasive-einstein-62763")
        stored.enqueue()
        worker.start()
        assert stored.do(rescue, worker.node, reason="no heartbeat") == 1
        (execution,) = stored.rows(tables.job_execution)
        assert (execution.outcome, execution.success) == ("lost", False)
        assert "evasive-einstein-62763" in execution.error_message
        (run,) = stored.rows(tables.run)
        assert (run.state, run.failures, run.available_at) == ("stuck", 1, stored.now)

    def test_gives_reserved_runs_back_without_counting_anything(self, stored: Stored) -> None:
        worker = stored.node()
        stored.enqueue()
        worker.take(0, prefetch=1)
        stored.do(rescue, worker.node, reason="no heartbeat")
        (run,) = stored.rows(tables.run)
        assert (run.state, run.attempt, run.failures, run.node_id) == ("waiting", 0, 0, None)

    def test_leaves_a_node_alone_whose_heart_beat_meanwhile(self, stored: Stored) -> None:
        worker = stored.node()
        stored.enqueue()
        worker.start()
        stored.do(lambda tx: nodes.beat(tx.conn, worker.node.id, now=stored.now, lease=60.0, running=1, clock_skew=0.0))
        assert stored.do(rescue, worker.node, reason="no heartbeat") == 0
        (run,) = stored.rows(tables.run)
        assert run.state == "running"

    def test_a_poison_run_that_kills_its_nodes_ends_failed(self, stored: Stored) -> None:
        stored.node("bystander")
        stored.enqueue(retries=2)
        for place in range(3):
            worker = stored.node(f"node-{place}")
            stored.pass_time(1)
            worker.start()
            stored.do(rescue, worker.node, reason="it died")
        (run,) = stored.rows(tables.run)
        assert (run.state, run.attempt, run.failures) == ("failed", 3, 3)

    def test_a_run_that_was_to_be_cancelled_ends_cancelled(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        worker.start()
        stored.do(cancel_runs, [run.id], actor="ann")
        stored.do(rescue, worker.node, reason="it died")
        (row,) = stored.rows(tables.run)
        assert row.state == "cancelled"
