"""Making, editing, pausing and deleting tasks, on both databases."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from cronograph.jobs.actions.runs import trigger_job
from cronograph.jobs.actions.tasks import (
    check_task_version,
    create_task,
    create_tasks,
    delete_task,
    delete_tasks_of_owner,
    pause_task,
    resume_task,
    trigger_task,
    update_task,
)
from cronograph.jobs.core.base.errors import AlreadyExists, NotFound, Overlap, UserError, VersionConflict
from cronograph.jobs.core.base.times import LATEST
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, ScheduleSpec, Task, TaskSpec
from cronograph.jobs.core.occurrences import jitter_offset, planned
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import RunState
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes
from cronograph.jobs.store.statements import tasks as stored_tasks
from tests.support.storage import START, Stored

EVERY_SECOND = ScheduleSpec(Syntax.CRON, "* * * * * *")


EDITS_OF_NOTHING: list[Callable[[Tx], Task]] = [
    lambda tx: update_task(tx, "nightly", {}),
    lambda tx: update_task(tx, "nightly", {"retries": 2, "description": None}),
    lambda tx: update_task(tx, "nightly", {"schedule": ScheduleSpec(Syntax.CRON, "0 * * * * *")}),
    lambda tx: resume_task(tx, "nightly"),
]


def read(stored: Stored, name: str = "nightly") -> Task:
    task = stored.do(lambda tx: stored_tasks.by_name(tx.conn, name))
    assert task is not None
    return task


def batch(count: int) -> list[TaskSpec]:
    return [TaskSpec(f"{place} of {count}", "work", EVERY_SECOND) for place in range(count)]


class TestCreate:
    def test_the_first_occurrence_is_strictly_after_now(self, stored: Stored) -> None:
        stored.node()
        assert stored.task("0 0 * * * *").next_nominal == START + timedelta(hours=1)

    def test_an_interval_begins_one_interval_after_its_creation(self, stored: Stored) -> None:
        stored.node()
        assert stored.task("90s", Syntax.INTERVAL).next_nominal == START + timedelta(seconds=90)

    def test_an_interval_with_a_start_begins_there(self, stored: Stored) -> None:
        stored.node()
        begin = START + timedelta(hours=5)
        assert stored.task("90s", Syntax.INTERVAL, start_at=begin).next_nominal == begin

    def test_many_are_created_as_one_by_one_each_with_its_own_delay(self, stored: Stored) -> None:
        stored.node()
        specs = [
            TaskSpec(name, "work", EVERY_SECOND, jitter=jitter, args={"n": 1}, inherits=frozenset({"retries"}))
            for name, jitter in (("b", 0.0), ("a", 50.0), ("c", 50.0))
        ]
        together = stored.do(lambda tx: create_tasks(tx, specs, submitter="ada"))
        assert together == [read(stored, name) for name in "bac"]
        assert len({task.next_execution for task in together}) == 3
        assert {task.next_nominal for task in together} == {START + timedelta(seconds=1)}
        assert [row.changes[0]["kind"] for row in stored.rows(tables.event)][-1:] == ["task_created"]
        alone = stored.do(lambda tx: create_task(tx, replace(specs[0], name="d"), submitter="ada"))
        same = replace(alone, id=together[0].id, spec=replace(alone.spec, name="b"))
        assert same == together[0]
        counts = {stored.statements(partial(create_tasks, specs=batch(count))) for count in (2, 50)}
        assert len(counts) == 1

    def test_of_many_all_are_created_or_none(self, stored: Stored) -> None:
        stored.node()
        stored.task("0 0 * * * *")
        good = TaskSpec("good", "work", EVERY_SECOND)
        for bad in (good, replace(good, name="nightly"), replace(good, name="other", job_name="wrk")):
            with pytest.raises(UserError) as caught:
                stored.do(create_tasks, [good, bad])
            assert caught.value.path[:2] == ("tasks", "1")
        assert stored.do(lambda tx: stored_tasks.by_name(tx.conn, "good")) is None

    def test_a_name_is_taken_once(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        with pytest.raises(AlreadyExists, match="'nightly' exists already"):
            stored.task()

    def test_an_unknown_job_is_refused_with_the_nearest_name(self, stored: Stored) -> None:
        stored.node()
        with pytest.raises(UserError, match="Unknown job: wrok; did you mean 'work'") as caught:
            stored.do(create_task, TaskSpec("t", "wrok", EVERY_SECOND))
        assert (caught.value.code, caught.value.path) == ("UNKNOWN_JOB", ("jobName",))

    @pytest.mark.parametrize(
        ("changes", "code", "path"),
        [
            ({"name": ""}, "INVALID_INPUT", ("name",)),
            ({"name": "a/b"}, "INVALID_INPUT", ("name",)),
            ({"name": "a\nb"}, "INVALID_INPUT", ("name",)),
            ({"name": "x" * 201}, "INVALID_INPUT", ("name",)),
            ({"retries": -1}, "INVALID_INPUT", ("retries",)),
            ({"timeout": 0.0}, "INVALID_INPUT", ("timeout",)),
            ({"catch_up_limit": 0}, "INVALID_INPUT", ("catchUpLimit",)),
            ({"jitter": -1.0}, "INVALID_INPUT", ("jitter",)),
            ({"misfire_grace": float("nan")}, "INVALID_INPUT", ("misfireGrace",)),
            ({"misfire_grace": 0.0, "misfire": MisfirePolicy.NONE}, "INVALID_INPUT", ("misfireGrace",)),
            ({"tolerance": 5.0}, "INVALID_INPUT", ("tolerance",)),
            ({"owner": ""}, "INVALID_INPUT", ("owner",)),
            ({"start_at": START, "end_at": START - timedelta(1)}, "INVALID_INPUT", ("endAt",)),
            ({"end_at": START - timedelta(1)}, "NEVER_FIRES", ("schedule", "value")),
        ],
    )
    def test_a_bad_field_is_refused_by_name_and_nothing_is_stored(
        self, stored: Stored, changes: dict[str, Any], code: str, path: tuple[str, ...]
    ) -> None:
        stored.node()
        with pytest.raises(UserError) as caught:
            stored.task(**changes)
        assert (caught.value.code, caught.value.path) == (code, path)
        assert stored.rows(tables.periodic_task) == []

    @pytest.mark.parametrize(
        ("syntax", "value"),
        [
            (Syntax.CRON, "* * * * *"),
            (Syntax.CRON, "0 0 0 31 2 *"),
            (Syntax.INTERVAL, "0"),
            (Syntax.TIMESTAMP, "2020-01-01T00:00:00Z"),
            (Syntax.CALENDAR, "nonsense"),
        ],
    )
    def test_a_schedule_that_cannot_be_is_refused(self, stored: Stored, syntax: Syntax, value: str) -> None:
        stored.node()
        with pytest.raises(UserError) as caught:
            stored.task(value, syntax)
        assert caught.value.path[0] == "schedule"
        assert stored.rows(tables.periodic_task) == []

    def test_everything_that_is_wrong_is_reported_at_once(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        with pytest.raises(UserError) as caught:
            stored.task("/5 * * * *", job_name="wrok", retries=-1, owner="", tolerance=1.0)
        assert [(fault.code, fault.path) for fault in caught.value.faults] == [
            ("ALREADY_EXISTS", ("name",)),
            ("INVALID_INPUT", ("owner",)),
            ("INVALID_INPUT", ("tolerance",)),
            ("INVALID_INPUT", ("retries",)),
            ("UNKNOWN_JOB", ("jobName",)),
            ("INVALID_SCHEDULE", ("schedule", "value")),
        ]
        for fault in caught.value.faults:
            assert fault.message in caught.value.message

    def test_numbers_and_times_in_messages_are_as_people_write_them(self, stored: Stored) -> None:
        stored.node()
        with pytest.raises(UserError, match="jitter: must be from 0 to 316,224,000 seconds, got 400,000,000"):
            stored.task(jitter=4e8)
        with pytest.raises(UserError, match=r"startAt \(2026-03-01T12:00:00Z\), got 2026-02-28T12:00:00Z"):
            stored.task(start_at=START, end_at=START - timedelta(1))
        with pytest.raises(UserError, match="no occurrence after 2026-03-01T12:00:00Z inside startAt and endAt"):
            stored.task(end_at=START - timedelta(1))

    def test_arguments_that_do_not_fit_are_refused(self, stored: Stored) -> None:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"count": {"type": "integer"}},
            "additionalProperties": False,
        }
        stored.do(lambda tx: nodes.publish(tx.conn, [JobInfo("work", args_schema=schema)]))
        with pytest.raises(UserError, match="did you mean 'count'") as caught:
            stored.task(args={"cuont": 1})
        assert caught.value.code == "INVALID_ARGS"
        schema["required"] = ["count"]
        stored.do(lambda tx: nodes.publish(tx.conn, [JobInfo("work", args_schema=schema)]))
        with pytest.raises(UserError) as caught:
            stored.task(args={"cuont": 1})
        said = [fault.message for fault in caught.value.faults]
        assert (len(said), sum("did you mean 'count'" in one for one in said)) == (2, 1), said
        with pytest.raises(UserError) as caught:
            stored.task(args={"count": "many", "more": 1})
        assert [fault.path for fault in caught.value.faults] == [("args",), ("args", "count")]


class TestUpdate:
    def test_an_edit_counts_the_version_and_dispatching_does_not(self, stored: Stored) -> None:
        stored.node()
        stored.task("* * * * * *")
        stored.at(1)
        stored.dispatch()
        assert stored.do(update_task, "nightly", {"description": "x"}).version == 2

    @pytest.mark.parametrize("edit", EDITS_OF_NOTHING)
    def test_an_edit_that_changes_nothing_leaves_the_version_and_is_not_reported(
        self, stored: Stored, edit: Callable[[Tx], Task]
    ) -> None:
        stored.node()
        before = stored.task()
        told = len(stored.rows(tables.event))
        stored.pass_time(5)
        assert stored.do(edit) == read(stored) == before
        assert len(stored.rows(tables.event)) == told

    def test_a_pause_is_an_edit_once_until_its_reason_changes(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        assert stored.do(pause_task, "nightly", reason="broken").version == 2
        stored.pass_time(5)
        assert stored.do(pause_task, "nightly", reason="broken").version == 2
        again = stored.do(pause_task, "nightly", reason="still broken")
        assert (again.version, again.paused_at) == (3, START)

    def test_a_schedule_without_an_interval_gives_its_tolerance_up_first(self, stored: Stored) -> None:
        stored.node()
        stored.task("60s", Syntax.INTERVAL, tolerance=3.0)
        change: dict[str, Any] = {"schedule": ScheduleSpec(Syntax.CRON, "0 * * * * *")}
        with pytest.raises(UserError, match="tolerance: is for INTERVAL schedules only, and this one is CRON, got 3"):
            stored.do(update_task, "nightly", change)
        assert stored.do(update_task, "nightly", {**change, "tolerance": None}).spec.tolerance is None

    def test_a_lost_update_is_refused(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        stored.do(check_task_version, "nightly", 1)
        stored.do(update_task, "nightly", {"retries": 5})
        with pytest.raises(VersionConflict, match="at version 2, got 1"):
            stored.do(check_task_version, "nightly", 1)
        assert read(stored).spec.retries == 5

    def test_none_sets_the_default_and_absent_leaves_as_is(self, stored: Stored) -> None:
        stored.node()
        stored.task(retries=9, group="acme")
        task = stored.do(update_task, "nightly", {"retries": None})
        assert (task.spec.retries, task.spec.group) == (2, "acme")

    def test_an_edited_interval_is_anchored_again(self, stored: Stored) -> None:
        stored.node()
        stored.task("60s", Syntax.INTERVAL)
        stored.at(17)
        task = stored.do(update_task, "nightly", {"schedule": ScheduleSpec(Syntax.INTERVAL, "100s")})
        assert task.next_nominal == START + timedelta(seconds=117)

    def test_what_was_due_before_the_edit_becomes_what_it_was_then(self, stored: Stored) -> None:
        stored.node()
        stored.task("* * * * * *", args={"old": 1})
        stored.at(1)
        stored.do(update_task, "nightly", {"args": {"new": 1}, "schedule": ScheduleSpec(Syntax.CRON, "0 0 0 * * *")})
        (run,) = stored.rows(tables.run)
        assert (run.args, run.scheduled_for) == ({"old": 1}, START + timedelta(seconds=1))

    def test_a_queued_run_keeps_its_arguments_when_the_task_is_edited(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("* * * * * *", args={"old": 1})
        stored.at(1)
        stored.dispatch()
        stored.do(update_task, "nightly", {"args": {"new": 1}})
        assert worker.start().run.args == {"old": 1}

    def test_an_end_before_now_finishes_the_task(self, stored: Stored) -> None:
        stored.node()
        stored.task("* * * * * *")
        stored.at(10)
        task = stored.do(update_task, "nightly", {"end_at": START + timedelta(seconds=5)})
        assert task.finished
        stored.at(20)
        assert stored.dispatch() == 0

    def test_the_announced_occurrence_that_a_moved_window_leaves_out_is_a_recorded_skip(self, stored: Stored) -> None:
        stored.node()
        stored.task("0 * * * * *")
        stored.do(update_task, "nightly", {"end_at": START + timedelta(seconds=30)})
        (skip,) = stored.rows(tables.skipped_occurrence)
        assert (skip.reason, skip.first_scheduled_for) == ("window", START + timedelta(seconds=60))
        assert skip.policy == {"startAt": None, "endAt": "2026-03-01T12:00:30Z"}

    @pytest.mark.parametrize(
        "changes", [{"jitter": 0.0}, {"jitter": 40.0}, {"end_at": START + timedelta(days=1)}], ids=repr
    )
    def test_an_occurrence_that_only_jitter_delays_survives_an_edit(
        self, stored: Stored, changes: dict[str, Any]
    ) -> None:
        stored.node()
        task = stored.task("0 * * * * *", jitter=50.0)
        offset = jitter_offset(task.id, 50.0)
        stored.at(60 + offset.total_seconds() / 2)
        edited = stored.do(update_task, "nightly", changes)
        assert edited.next_nominal == START + timedelta(seconds=60)
        stored.at(60 + offset.total_seconds())
        assert stored.dispatch() == 1
        assert [one.scheduled_for for one in stored.rows(tables.run)] == [edited.next_nominal]
        assert read(stored).next_nominal == START + timedelta(seconds=120)

    def test_an_occurrence_that_jitter_delays_beyond_a_moved_window_is_a_recorded_skip(self, stored: Stored) -> None:
        stored.node()
        offset = jitter_offset(stored.task("0 * * * * *", jitter=50.0).id, 50.0)
        stored.at(60 + offset.total_seconds() / 2)
        edited = stored.do(update_task, "nightly", {"start_at": START + timedelta(seconds=150)})
        assert edited.next_nominal == START + timedelta(seconds=180)
        (skip,) = stored.rows(tables.skipped_occurrence)
        assert (skip.reason, skip.first_scheduled_for) == ("window", START + timedelta(seconds=60))

    def test_jitter_ends_with_the_last_time_that_there_is(self, stored: Stored) -> None:
        stored.node()
        task = stored.task("9998-12-31T23:59:59Z", Syntax.TIMESTAMP, jitter=316_224_000.0)
        assert task.next_execution == LATEST
        occurrence = LATEST.replace(microsecond=0)
        ahead = planned([task], START, LATEST + timedelta(seconds=1), apart=timedelta(days=1))
        assert [(one.effective_at, one.scheduled_for) for one in ahead] == [(LATEST, occurrence)]

    def test_a_new_schedule_that_never_fires_is_refused_and_changes_nothing(self, stored: Stored) -> None:
        stored.node()
        before = stored.task("0 * * * * *")
        with pytest.raises(UserError) as caught:
            stored.do(update_task, "nightly", {"schedule": ScheduleSpec(Syntax.TIMESTAMP, "2020-01-01T00:00:00Z")})
        assert caught.value.code == "NEVER_FIRES"
        assert read(stored) == before

    def test_an_unknown_task_is_refused_with_the_nearest_name(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        with pytest.raises(NotFound, match="did you mean 'nightly'"):
            stored.do(update_task, "nightley", {})


class TestDelete:
    def test_waiting_runs_are_cancelled_running_ones_asked_and_history_stays(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("* * * * * *", overlap=OverlapPolicy.ALLOW)
        for second in (1, 2, 3):
            stored.at(second)
            stored.dispatch()
        done, running = worker.take(2).started
        worker.end(done)
        stored.do(delete_task, "nightly", actor="ann")
        assert stored.rows(tables.periodic_task) == []
        states = {run.id: (run.state, run.cancel_requested_at is not None) for run in stored.rows(tables.run)}
        assert states == {1: ("success", False), 2: ("running", True), 3: ("cancelled", True)}
        worker.end(running)
        runs = stored.rows(tables.run)
        assert [run.state for run in runs] == ["success", "cancelled", "cancelled"]
        assert "task 'nightly' was deleted by ann" in runs[2].error
        assert {one.task_name for one in stored.rows(tables.job_execution)} == {"nightly"}

    def test_a_new_task_of_the_same_name_does_not_inherit_the_old_ones_key(self, stored: Stored) -> None:
        stored.node()
        first = stored.task()
        stored.do(delete_task, "nightly")
        assert stored.task().id > first.id

    def test_a_dry_run_names_the_runs_and_changes_nothing(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("* * * * * *", overlap=OverlapPolicy.ALLOW)
        for second in (1, 2):
            stored.at(second)
            stored.dispatch()
        worker.take(1)
        stored.at(5)
        every = (tables.periodic_task, tables.run, tables.skipped_occurrence, tables.event)
        before = [stored.rows(table) for table in every]
        would = stored.tried(delete_task, "nightly")
        assert [run.state for run in would.runs][:2] == [RunState.RUNNING, RunState.CANCELLED]
        assert [stored.rows(table) for table in every] == before
        did = stored.do(delete_task, "nightly")
        assert did.task.id == would.task.id
        assert [run.id for run in did.runs][:2] == [run.id for run in would.runs][:2]
        assert RunState.CANCELLED in {run.state for run in did.runs}
        assert stored.rows(tables.periodic_task) == []

    def test_the_tasks_of_an_owner_go_together(self, stored: Stored) -> None:
        stored.node()
        for name, owner in (("a", "channel:42"), ("b", "channel:42"), ("c", "channel:43")):
            stored.task(name=name, owner=owner)
        assert [task.name for task in stored.tried(delete_tasks_of_owner, "channel:42")] == ["a", "b"]
        assert len(stored.rows(tables.periodic_task)) == 3
        stored.do(delete_tasks_of_owner, "channel:42", actor="ann")
        assert [row.name for row in stored.rows(tables.periodic_task)] == ["c"]


class TestTrigger:
    def test_does_not_move_the_schedule(self, stored: Stored) -> None:
        stored.node()
        before = stored.task()
        run = stored.do(trigger_task, "nightly", args={"x": 2}, actor="ann")
        assert (run.trigger.value, run.scheduled_for, run.args, run.submitter) == ("manual", None, {"x": 2}, "ann")
        assert read(stored).next_nominal == before.next_nominal

    def test_obeys_skip_and_names_the_run_in_the_way(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        first = stored.do(trigger_task, "nightly", actor="ann")
        with pytest.raises(Overlap, match=f"its run {first.id} is unfinished"):
            stored.do(trigger_task, "nightly", actor="ann")

    def test_replace_cancels_the_older(self, stored: Stored) -> None:
        stored.node()
        stored.task(overlap=OverlapPolicy.REPLACE)
        stored.do(trigger_task, "nightly", actor="ann")
        stored.do(trigger_task, "nightly", actor="ann")
        assert [run.state for run in stored.rows(tables.run)] == ["cancelled", "waiting"]

    def test_an_unknown_job_leaves_nothing_behind(self, stored: Stored) -> None:
        stored.node()
        with pytest.raises(UserError, match="Unknown job: nope"):
            stored.do(trigger_job, "nope", actor="ann")
        assert stored.rows(tables.run) == []
