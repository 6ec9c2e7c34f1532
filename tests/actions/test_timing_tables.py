"""The timing tables of an INTERVAL of 60 s with 5 s of tolerance: which runs start, and which are dropped as too early.

A run that the schedule made is dropped when it is about to start before last start + interval - tolerance.
"""

from datetime import timedelta

import pytest

from cronograph.jobs.actions.tasks import trigger_task
from cronograph.jobs.core.outcome import Failed, TimedOut
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.schema import tables
from tests.support.storage import START, Stored, Worker, retry_runs


@pytest.fixture
def worker(stored: Stored) -> Worker:
    """A node, and a task of every 60 s whose occurrences lie at 0:30, 1:30, 2:30 …"""
    worker = stored.node()
    stored.at(-30)
    stored.task("60s", Syntax.INTERVAL, tolerance=5.0)
    return worker


def skipped(stored: Stored) -> list[tuple[str, float]]:
    """Reason and second of each skipped occurrence."""
    return [
        (skip.reason, (skip.first_scheduled_for - START).total_seconds())
        for skip in stored.rows(tables.skipped_occurrence)
    ]


def enqueued_at(worker: Worker, second: float) -> None:
    worker.stored.at(second)
    assert worker.stored.dispatch() == 1


def test_a_start_57_seconds_after_the_last_one_runs(worker: Worker) -> None:
    enqueued_at(worker, 30)
    worker.stored.at(35)
    worker.end(worker.start())
    enqueued_at(worker, 90)
    worker.stored.at(92)
    assert worker.start().run.scheduled_for is not None
    assert skipped(worker.stored) == []


def test_a_start_62_seconds_after_a_late_one_runs_though_a_third_waits(worker: Worker) -> None:
    stored = worker.stored
    enqueued_at(worker, 30)
    enqueued_at(worker, 90)
    stored.at(95)
    first = worker.start()
    enqueued_at(worker, 150)
    stored.at(155)
    worker.end(first)
    stored.at(157)
    second = worker.start()
    assert second.run.scheduled_for == START + timedelta(seconds=90)
    assert skipped(stored) == []


def test_a_start_28_seconds_after_a_late_one_is_dropped_and_the_third_runs(worker: Worker) -> None:
    stored = worker.stored
    enqueued_at(worker, 30)
    enqueued_at(worker, 90)
    stored.at(95)
    worker.end(worker.start())
    stored.at(123)
    assert worker.take().started == ()
    assert skipped(stored) == [("tolerance", 90)]
    enqueued_at(worker, 150)
    stored.at(176)
    third = worker.start()
    assert third.run.scheduled_for == START + timedelta(seconds=150)
    assert skipped(stored) == [("tolerance", 90)]


def test_a_job_that_uses_up_its_box_does_not_delay_the_next(worker: Worker) -> None:
    stored = worker.stored
    enqueued_at(worker, 30)
    stored.at(35)
    started = worker.start()
    assert started.run.timeout == 30.0
    stored.at(65)
    worker.end(started, TimedOut("used up its time box"))
    enqueued_at(worker, 90)
    stored.at(92)
    starts = worker.take(5).started
    assert [one.run.attempt for one in starts] == [1]


def test_the_edge_belongs_to_the_run(worker: Worker) -> None:
    stored = worker.stored
    enqueued_at(worker, 30)
    stored.at(35)
    worker.end(worker.start())
    enqueued_at(worker, 90)
    stored.at(89.999999)
    assert worker.take().started == ()
    stored.at(90)
    assert len(worker.take().started) == 1


def test_a_full_queue_of_the_task_is_thinned_one_start_at_a_time(worker: Worker) -> None:
    stored = worker.stored
    for second in (30, 90, 150, 210):
        enqueued_at(worker, second)
    stored.at(215)
    worker.end(worker.start())
    # All others in the queue would start too soon after this one.
    assert worker.take(5).started == ()
    dropped = [run for run in stored.rows(tables.run) if run.state == "skipped"]
    assert len(dropped) == 3
    # Equal drops with no start between them are one row; it names the first run.
    (row,) = stored.rows(tables.skipped_occurrence)
    assert [(at - START).total_seconds() for at in (row.first_scheduled_for, row.last_scheduled_for)] == [90, 210]
    assert (row.reason, row.occurrences, row.run_id) == ("tolerance", 3, dropped[0].id)


def test_drops_with_a_start_between_them_are_rows_of_their_own(worker: Worker) -> None:
    stored = worker.stored
    for first in (30, 150):
        enqueued_at(worker, first)
        enqueued_at(worker, first + 60)
        stored.at(first + 65)
        worker.end(worker.start())
        assert worker.take().started == ()
    assert [row.occurrences for row in stored.rows(tables.skipped_occurrence)] == [1, 1]


def test_the_row_says_what_decided_it(worker: Worker) -> None:
    enqueued_at(worker, 30)
    enqueued_at(worker, 90)
    worker.stored.at(95)
    worker.end(worker.start())
    assert worker.take().started == ()
    (skip,) = worker.stored.rows(tables.skipped_occurrence)
    assert skip.policy == {
        "interval": 60.0,
        "tolerance": 5.0,
        "lastStartedAt": "2026-03-01T12:01:35Z",
    }
    assert skip.node == "node-a"


def test_retries_and_runs_by_hand_are_not_judged_and_do_not_set_the_last_start(worker: Worker) -> None:
    stored = worker.stored
    enqueued_at(worker, 30)
    worker.end(worker.start(), Failed("ValueError", "boom", permanent=True))
    (failed,) = stored.rows(tables.run)
    stored.do(retry_runs, [failed.id])
    stored.at(40)
    worker.end(worker.start())
    stored.do(trigger_task, "nightly", actor="ann")
    stored.at(50)
    worker.end(worker.start())
    (task,) = stored.rows(tables.periodic_task)
    assert (task.last_started_at - START).total_seconds() == 30
    enqueued_at(worker, 90)
    assert len(worker.take().started) == 1


def test_other_syntaxes_know_no_tolerance(stored: Stored) -> None:
    worker = stored.node()
    stored.task("* * * * * *")
    for second in (1, 2):
        stored.at(second)
        stored.dispatch()
        worker.end(worker.start())
    assert skipped(stored) == []
