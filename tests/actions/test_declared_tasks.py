"""Tasks that code declares: made once, followed, overridden and given back, on both databases."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from cronograph.jobs.actions.task_sets import Declared, declare_tasks
from cronograph.jobs.actions.tasks import (
    delete_task,
    delete_tasks_of_owner,
    pause_task,
    reset_task,
    update_task,
)
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.base.errors import InvalidState
from cronograph.jobs.core.model import ScheduleSpec, Task, TaskSource, TaskSpec
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes, tasks
from tests.support.storage import START, Stored

EVERY_SECOND = ScheduleSpec(Syntax.CRON, "* * * * * *")


def read(stored: Stored, name: str = "nightly") -> Task:
    task = stored.do(lambda tx: tasks.by_name(tx.conn, name))
    assert task is not None
    return task


class TestDeclared:
    def declare(self, stored: Stored, value: str | None) -> Declared:
        schedules = [] if value is None else [TaskSpec("work", "work", ScheduleSpec(Syntax.CRON, value))]
        return stored.do(declare_tasks, schedules, ["work"])

    def test_a_declaration_becomes_a_task_once(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        self.declare(stored, "0 * * * * *")
        (task,) = stored.rows(tables.periodic_task)
        assert (task.name, task.source, task.version) == ("work", "code", 1)

    def test_a_changed_declaration_is_followed(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        self.declare(stored, "30 * * * * *")
        task = read(stored, "work")
        assert task.spec.schedule.value == "30 * * * * *"
        assert task.next_nominal == START + timedelta(seconds=30)

    def test_an_override_outlives_a_changed_declaration_until_it_is_reset(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        stored.do(update_task, "work", {"schedule": ScheduleSpec(Syntax.CRON, "0 0 * * * *")})
        self.declare(stored, "30 * * * * *")
        task = read(stored, "work")
        assert (task.spec.schedule.value, task.overridden) == ("0 0 * * * *", True)
        task = stored.do(reset_task, "work")
        assert (task.spec.schedule.value, task.overridden) == ("30 * * * * *", False)

    def test_a_task_that_is_reset_has_the_rate_and_the_resources_of_its_job_again(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        stored.do(lambda tx: tx.conn.execute(update(tables.job).values(isolation="remote")))
        stored.do(update_task, "work", {"rate": Rate(6, 60.0, 1), "resources": {"gpus": 4}})
        spec = stored.do(reset_task, "work").spec
        assert (spec.rate, spec.resources) == (None, None)

    def test_a_pause_outlives_a_changed_declaration(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        stored.do(pause_task, "work", reason="audit", actor="ann")
        self.declare(stored, "30 * * * * *")
        assert read(stored, "work").paused

    def test_a_task_cannot_be_deleted_while_a_live_node_declares_it(self, stored: Stored) -> None:
        stored.node("n1", schedule="0 * * * * *")
        stored.node("n2", schedule="0 * * * * *")
        self.declare(stored, "0 * * * * *")
        with pytest.raises(InvalidState, match="declared in the code of node 'n1' and 1 more") as caught:
            stored.do(delete_task, "work")
        assert caught.value.code == "CODE_TASK"
        assert stored.tried(delete_tasks_of_owner, "channel:1") == []

    def test_a_task_whose_job_is_gone_from_the_code_of_all_live_nodes_can_be_deleted(self, stored: Stored) -> None:
        gone = stored.node("old", schedule="0 * * * * *")
        self.declare(stored, "0 * * * * *")
        stored.do(lambda tx: nodes.set_state(tx.conn, gone.node.id, NodeState.STOPPED))
        stored.node("new", jobs=["renamed"])
        assert stored.tried(delete_task, "work").task.name == "work"
        assert stored.do(delete_task, "work").task.name == "work"
        assert stored.rows(tables.periodic_task) == []

    def test_a_task_whose_job_declares_no_schedule_any_more_can_be_deleted(self, stored: Stored) -> None:
        stored.node("old", schedule="0 * * * * *")
        self.declare(stored, "0 * * * * *")
        stored.node("new", schedule=None)
        self.declare(stored, None)
        change = tables.periodic_task.update().values(owner="channel:1")
        stored.do(lambda tx: tx.conn.execute(change))
        assert [task.name for task in stored.do(delete_tasks_of_owner, "channel:1")] == ["work"]

    def test_a_job_that_declares_no_schedule_any_more_pauses_its_task(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        self.declare(stored, None)
        task = read(stored, "work")
        assert (task.paused, task.pause_reason) == (True, "its job declares no schedule any more")

    @pytest.mark.parametrize("value", ["0 * * * * *", "30 * * * * *"])
    def test_it_runs_again_once_its_job_declares_a_schedule_again(self, stored: Stored, value: str) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        self.declare(stored, None)
        self.declare(stored, value)
        task = read(stored, "work")
        assert (task.paused, task.paused_by, task.spec.schedule.value) == (False, None, value)

    def test_what_an_operator_paused_stays_paused_whatever_the_code_declares(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        stored.do(pause_task, "work", reason="lunch", actor="ann")
        self.declare(stored, None)
        self.declare(stored, "30 * * * * *")
        task = read(stored, "work")
        assert (task.paused, task.paused_by, task.pause_reason) == (True, "ann", "lunch")

    @pytest.mark.costly
    @pytest.mark.parametrize("value", ["*/2 * * * * *", None], ids=["another schedule", "no schedule"])
    def test_after_a_long_downtime_it_catches_up_first_and_then_follows(
        self, stored: Stored, value: str | None
    ) -> None:
        stored.node()
        self.declare(stored, "* * * * * *")
        stored.pass_time(28 * 3600)
        assert self.declare(stored, value).postponed == ("work",)
        assert read(stored, "work").version == 1
        stored.dispatch()
        assert self.declare(stored, value).postponed == ()
        task = read(stored, "work")
        followed = (task.spec.schedule.value, task.paused)
        assert followed == (("* * * * * *", True) if value is None else (value, False))
        (run,) = stored.rows(tables.run)
        (skip,) = stored.rows(tables.skipped_occurrence)
        assert (run.scheduled_for, skip.occurrences) == (stored.now, 28 * 3600 - 1)

    def test_what_became_due_a_moment_ago_is_decided_at_once(self, stored: Stored) -> None:
        stored.node()
        self.declare(stored, "0 * * * * *")
        stored.pass_time(60)
        assert self.declare(stored, "30 * * * * *").postponed == ()
        (run,) = stored.rows(tables.run)
        assert (run.scheduled_for, read(stored, "work").spec.schedule.value) == (stored.now, "30 * * * * *")

    def test_a_task_made_through_the_api_keeps_its_name(self, stored: Stored) -> None:
        stored.node(jobs=["work"])
        stored.task(name="work")
        (warning,) = self.declare(stored, "0 * * * * *").warnings
        assert "task of its name exists already" in warning
        assert read(stored, "work").source is TaskSource.API

    def test_a_task_that_is_not_declared_cannot_be_reset(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        with pytest.raises(InvalidState, match="not declared in code"):
            stored.do(reset_task, "nightly")
