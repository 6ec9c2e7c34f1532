"""Due tasks become runs, on both databases: each occurrence exactly one, and nothing skipped without a row."""

import time
from datetime import timedelta

import pytest

from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.actions.tasks import pause_task, resume_task, update_task
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.events import Change, EventKind, spread
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, ScheduleSpec, SkipReason, Trigger
from cronograph.jobs.core.occurrences import due_of
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.queue import due_tasks as occurrences
from cronograph.jobs.queue.due_tasks import REPLACED, Moved, move, unfinished_counts
from cronograph.jobs.queue.occurrences import dispatch_due, rehearse
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import tasks as stored_tasks
from tests.support.storage import START, Stored


def test_a_due_task_becomes_one_run_with_the_tasks_settings(stored: Stored) -> None:
    stored.node()
    task = stored.task("* * * * * *", args={"x": 1}, group="acme", retries=5, timeout=7.0, description="why")
    stored.at(1)
    assert stored.dispatch() == 1
    (run,) = stored.rows(tables.run)
    assert (run.task_id, run.scheduled_for, run.trigger) == (task.id, START + timedelta(seconds=1), "schedule")
    assert (run.args, run.group_name, run.retries, run.timeout, run.description) == ({"x": 1}, "acme", 5, 7.0, "why")
    (after,) = stored.rows(tables.periodic_task)
    assert (after.counter, after.next_nominal) == (1, START + timedelta(seconds=2))


def test_dispatching_again_makes_no_second_run(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.at(1)
    assert (stored.dispatch(), stored.dispatch()) == (1, 0)


def test_the_database_refuses_a_second_run_of_an_occurrence(stored: Stored) -> None:
    stored.node()
    task = stored.task("* * * * * *", overlap=OverlapPolicy.ALLOW)
    stored.at(1)
    stored.dispatch()
    # A task that is set back (a restored backup, a bug) must not repeat what ran already.
    stored.do(lambda tx: move(tx.conn, [Moved(task.id, stored.now, stored.now, None, 0)]))
    assert stored.dispatch() == 0
    assert len(stored.rows(tables.run)) == 1


def test_tasks_advance_from_the_nominal_time_however_late_they_are_visited(stored: Stored) -> None:
    stored.node()
    stored.task("10s", Syntax.INTERVAL)
    stored.at(17)
    stored.dispatch()
    (task,) = stored.rows(tables.periodic_task)
    assert task.next_nominal == START + timedelta(seconds=20)


def test_an_occurrence_that_overlaps_is_skipped_and_names_the_run_in_its_way(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.at(1)
    stored.dispatch()
    (run,) = stored.rows(tables.run)
    stored.at(2)
    stored.dispatch()
    (skip,) = stored.rows(tables.skipped_occurrence)
    assert (skip.reason, skip.run_id, skip.policy["overlap"]) == ("overlap", run.id, "skip")


def test_equal_skips_fold_into_one_row_until_a_run_comes_between(stored: Stored) -> None:
    worker = stored.node()
    stored.task("* * * * * *")
    for second in range(1, 5):
        stored.at(second)
        stored.dispatch()
    worker.end(worker.start())
    for second in range(5, 8):
        stored.at(second)
        stored.dispatch()
    rows = [(skip.reason, skip.occurrences) for skip in stored.rows(tables.skipped_occurrence)]
    assert rows == [("overlap", 3), ("overlap", 2)]


def test_a_paused_task_folds_its_occurrences_into_one_row_and_goes_on_after_the_pause(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.do(pause_task, "nightly", reason="audit", actor="ann")
    for second in (1, 2, 3):
        stored.at(second)
        assert stored.dispatch() == 0
    stored.do(resume_task, "nightly", actor="ann")
    stored.at(4)
    assert stored.dispatch() == 1
    (skip,) = stored.rows(tables.skipped_occurrence)
    assert (skip.reason, skip.occurrences) == ("paused", 3)
    assert skip.policy == {"pausedBy": "ann", "reason": "audit"}


def test_an_occurrence_in_the_pause_that_nobody_visited_is_recorded_when_the_pause_ends(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.do(pause_task, "nightly", reason=None, actor="ann")
    stored.at(3)
    stored.do(resume_task, "nightly", actor="ann")
    (skip,) = stored.rows(tables.skipped_occurrence)
    assert (skip.reason, skip.occurrences) == ("paused", 3)


def test_two_hours_of_downtime_leave_one_run_and_one_folded_row(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *", misfire=MisfirePolicy.LAST, misfire_grace=0.0)
    stored.at(7200.5)
    assert stored.dispatch() == 1
    (skip,) = stored.rows(tables.skipped_occurrence)
    assert (skip.reason, skip.occurrences) == (SkipReason.COALESCED.value, 7199)
    assert (skip.first_scheduled_for, skip.last_scheduled_for) == (
        START + timedelta(seconds=1),
        START + timedelta(seconds=7199),
    )


def test_a_task_without_a_known_job_does_not_fire_and_says_so(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.do(lambda tx: tx.conn.execute(tables.job.delete()))
    stored.at(1)
    assert stored.dispatch() == 0
    (skip,) = stored.rows(tables.skipped_occurrence)
    assert (skip.reason, skip.policy) == ("no_job", {"jobName": "work"})


def test_replace_cancels_the_older_run_and_starts_the_newer(stored: Stored) -> None:
    worker = stored.node()
    stored.task("* * * * * *", overlap=OverlapPolicy.REPLACE)
    stored.at(1)
    stored.dispatch()
    older = worker.start()
    stored.at(2)
    stored.dispatch()
    assert worker.take().started == ()
    (asked,) = stored.rows(tables.run, id=older.run.id)
    assert asked.cancel_requested_at == stored.now
    worker.end(older)
    assert worker.start().run.scheduled_for == START + timedelta(seconds=2)
    (cancelled,) = stored.rows(tables.run, id=older.run.id)
    assert cancelled.state == "cancelled"


def test_of_several_late_occurrences_under_replace_the_newest_waits_and_the_events_say_so(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *", overlap=OverlapPolicy.REPLACE, group="acme", jitter=0.5)
    stored.at(3.6)
    stored.do(lambda tx: tx.conn.execute(tables.event.delete()))
    assert stored.dispatch() == 3
    runs = stored.rows(tables.run)
    assert [run.state for run in runs] == ["cancelled", "cancelled", "waiting"]
    assert [(run.error, run.finished_at) for run in runs] == [
        (REPLACED, stored.now),
        (REPLACED, stored.now),
        (None, None),
    ]
    (told,) = stored.rows(tables.event)
    assert list(spread(told.changes)) == [
        Change(EventKind.RUN_CREATED, run.task_id, "nightly", run.id, None, "work", "acme", None, run.state)
        for run in runs
    ]


@pytest.mark.parametrize("skipping", [False, True])
def test_one_event_reports_all_runs_of_a_visit(stored: Stored, *, skipping: bool) -> None:
    stored.node()
    for name, group in (("b", "acme"), ("a", "default")):
        stored.task("* * * * * *", name=name, group=group)
    if skipping:
        stored.task("* * * * * *", name="c", enabled=False)
    stored.do(lambda tx: tx.conn.execute(tables.event.delete()))
    stored.at(1)
    assert stored.do(dispatch_due, "node-a").made == 2
    runs = {run.task_name: run for run in stored.rows(tables.run)}
    (told,) = stored.rows(tables.event)
    assert told.at == stored.now
    created = [change for change in spread(told.changes) if change.kind is EventKind.RUN_CREATED]
    assert created == [
        Change(EventKind.RUN_CREATED, runs[name].task_id, name, runs[name].id, None, "work", group, None, "waiting")
        for name, group in (("b", "acme"), ("a", "default"))
    ]
    assert len(list(spread(told.changes))) == 2 + skipping


def test_a_visit_that_makes_no_run_reports_none(stored: Stored) -> None:
    stored.node()
    task = stored.task("* * * * * *", overlap=OverlapPolicy.ALLOW)
    stored.at(1)
    stored.dispatch()
    stored.do(lambda tx: move(tx.conn, [Moved(task.id, stored.now, stored.now, None, 0)]))
    stored.do(lambda tx: tx.conn.execute(tables.event.delete()))
    assert stored.do(dispatch_due, "node-a").made == 0
    assert [change for row in stored.rows(tables.event) for change in spread(row.changes)] == []


def test_a_due_task_is_read_as_it_was_stored(stored: Stored) -> None:
    stored.node()
    stored.task(
        "90s",
        Syntax.INTERVAL,
        group="acme",
        overlap=OverlapPolicy.ALLOW,
        misfire=MisfirePolicy.ALL,
        misfire_grace=7.5,
        catch_up_limit=3,
        timeout=4.5,
        jitter=30.0,
        end_at=START + timedelta(days=1),
    )
    stored.task("0 * * * * *", name="plain", timezone="Europe/Berlin")
    stored.do(pause_task, "plain", reason="audit", actor="ann")
    for second in (130, 260):
        stored.at(second)
        found = stored.do(lambda tx: occurrences.due(tx.conn, tx.now, 10))
        whole = stored.do(lambda tx: stored_tasks.by_names(tx.conn, ["nightly", "plain"]))
        assert {one.task.name: one.task for one in found} == {name: due_of(task) for name, task in whole.items()}
        assert {(one.job is not None, one.now) for one in found} == {(True, stored.now)}
        stored.dispatch()


def test_runs_that_catch_up_execute_one_at_a_time_and_what_is_on_time_next_to_them(stored: Stored) -> None:
    node = stored.node()
    stored.task("0 * * * * *", overlap=OverlapPolicy.ALLOW, misfire=MisfirePolicy.ALL)
    stored.at(600)
    assert stored.dispatch() == 10
    (first,) = node.take(20).started
    stored.at(661)
    assert stored.dispatch() == 1
    (on_time,) = node.take(20).started
    assert on_time.run.scheduled_for == START + timedelta(seconds=660)
    assert node.take(20).started == ()
    for _ in range(9):
        node.end(first)
        (first,) = node.take(20).started
    node.end(first)
    assert node.take(20).started == ()


def test_what_is_late_within_the_grace_may_execute_at_once(stored: Stored) -> None:
    node = stored.node()
    stored.task("* * * * * *", overlap=OverlapPolicy.ALLOW, misfire=MisfirePolicy.ALL)
    stored.at(5)
    assert stored.dispatch() == 5
    assert len(node.take(20).started) == 5


def test_a_rehearsal_changes_nothing(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.at(1)
    before = [stored.rows(table) for table in (tables.periodic_task, tables.run, tables.event)]
    stored.do(rehearse)
    assert [stored.rows(table) for table in (tables.periodic_task, tables.run, tables.event)] == before


def test_the_next_look_is_due_when_the_next_task_is(stored: Stored) -> None:
    stored.node()
    assert stored.do(dispatch_due, "node-a").next_at is None
    stored.task("* * * * * *")
    stored.at(0.25)
    before = time.monotonic()
    next_at = stored.do(dispatch_due, "node-a").next_at
    assert next_at is not None
    assert before <= next_at - 0.75 <= time.monotonic()


def test_queue_runs_one_after_another_and_skips_beyond_ten(stored: Stored) -> None:
    worker = stored.node()
    stored.task("* * * * * *", overlap=OverlapPolicy.QUEUE)
    for second in range(1, 13):
        stored.at(second)
        stored.dispatch()
    assert len(stored.rows(tables.run)) == 10
    (skip,) = stored.rows(tables.skipped_occurrence)
    assert skip.occurrences == 2
    started = worker.take(5).started
    assert len(started) == 1
    worker.end(started[0])
    assert len(worker.take(5).started) == 1


@pytest.mark.costly
def test_a_task_whose_schedule_cannot_be_computed_is_set_aside_and_holds_up_no_other(stored: Stored) -> None:
    stored.node()
    broken = stored.task("* * * * * *", name="broken")
    stored.task("* * * * * *", name="sound")
    stored.do(lambda tx: stored_tasks.change(tx.conn, broken.id, {"timezone": "Atlantis/Poseidonis"}))
    stored.at(1)
    assert stored.dispatch() == 1
    (row,) = stored.rows(tables.periodic_task, name="broken")
    assert (row.enabled, row.next_execution, row.paused_by) == (False, None, "cronograph")
    assert "Atlantis/Poseidonis" in row.pause_reason
    with pytest.raises(UserError, match="Atlantis"):
        stored.do(resume_task, "broken", actor="ann")
    stored.do(update_task, "broken", {"schedule": ScheduleSpec(Syntax.CRON, "* * * * * *")})
    stored.do(resume_task, "broken", actor="ann")
    stored.at(2)
    stored.dispatch()
    (run,) = stored.rows(tables.run, task_name="broken")
    assert run.scheduled_for == stored.now


def test_a_one_shot_fires_once_and_stays_as_a_finished_task(stored: Stored) -> None:
    stored.node()
    stored.task("2026-03-01T12:00:05Z", Syntax.TIMESTAMP)
    stored.at(5)
    assert stored.dispatch() == 1
    (task,) = stored.rows(tables.periodic_task)
    assert task.next_execution is None
    stored.at(5000)
    assert stored.dispatch() == 0


def test_a_thousand_due_tasks_are_dispatched_in_batches(stored: Stored) -> None:
    stored.node()
    for place in range(60):
        stored.task("* * * * * *", name=f"task-{place:03}")
    stored.at(1)
    assert stored.dispatch() == 60
    assert {run.trigger for run in stored.rows(tables.run)} == {Trigger.SCHEDULE.value}


@pytest.mark.parametrize(
    ("tasks", "seen"), [(2, [(2, False)]), (3, [(2, True), (1, False)]), (4, [(2, True), (2, False)])]
)
def test_a_visit_sees_whether_there_are_more(stored: Stored, tasks: int, seen: list[tuple[int, bool]]) -> None:
    stored.node()
    for place in range(tasks):
        stored.task("* * * * * *", name=f"task-{place}")
    stored.at(1)
    visits = [stored.do(dispatch_due, "node-a", batch=2) for _ in seen]
    assert [(visit.visited, visit.more) for visit in visits] == seen
    assert len(stored.rows(tables.run)) == tasks


def test_cancelled_runs_free_their_task(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.at(1)
    stored.dispatch()
    (run,) = stored.rows(tables.run)
    stored.do(cancel_runs, [run.id], actor="ann")
    stored.at(2)
    assert stored.dispatch() == 1
    assert stored.do(lambda tx: unfinished_counts(tx.conn, [run.task_id]))[run.task_id][0] == 1
