"""Sets of tasks as a file wants them: made, changed, kept and archived in one transaction, or not at all."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from cronograph.jobs.actions.task_sets import Applied, apply_sets
from cronograph.jobs.actions.tasks import declare_new, pause_task, update_task
from cronograph.jobs.core.base.errors import ErrorCode, UserError
from cronograph.jobs.core.model import ScheduleSpec, Task, TaskSource, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.task_sets import (
    MOST_WANTED,
    ApplyOptions,
    FieldChange,
    PlannedTask,
    TaskAction,
    WantedSet,
    WantedTask,
)
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import tasks as stored_tasks
from tests.support.storage import Stored
from tests.support.waiting import wait_until

HOURLY = ScheduleSpec(Syntax.CRON, "0 0 * * * *")
DAILY = ScheduleSpec(Syntax.CRON, "0 0 3 * * *")


def wanted(name: str, **settings: Any) -> WantedTask:
    return WantedTask(name, {"job_name": "work", "schedule": HOURLY, **settings})


def billing(*tasks: WantedTask, name: str = "billing") -> WantedSet:
    return WantedSet(name, tasks)


def apply(stored: Stored, *sets: WantedSet, **options: Any) -> list[PlannedTask]:
    applied: Applied = stored.do(apply_sets, sets, ApplyOptions(**options), actor="ada")
    return applied.tasks


def plan_of(stored: Stored, *sets: WantedSet, **options: Any) -> list[PlannedTask]:
    """Return what ``apply`` would do."""
    applied: Applied = stored.tried(apply_sets, sets, ApplyOptions(**options), actor="ada")
    return applied.tasks


def actions(planned: list[PlannedTask]) -> Mapping[str, TaskAction]:
    return {one.name: one.action for one in planned}


def task(stored: Stored, name: str) -> Task | None:
    return stored.do(lambda tx: stored_tasks.by_name(tx.conn, name))


def refusals(stored: Stored, *sets: WantedSet, **options: Any) -> list[tuple[ErrorCode, tuple[str, ...]]]:
    with pytest.raises(UserError) as refused:
        apply(stored, *sets, **options)
    return [(fault.code, fault.path) for fault in refused.value.faults]


@pytest.fixture
def working(stored: Stored) -> Stored:
    stored.node()
    return stored


def test_new_tasks_are_made_as_members_of_their_set_and_the_same_again_changes_nothing(working: Stored) -> None:
    file = billing(wanted("a", args={"days": 7}), wanted("b"))
    assert actions(apply(working, file)) == {"a": TaskAction.CREATE, "b": TaskAction.CREATE}
    made = task(working, "a")
    assert made is not None
    assert (made.source, made.set_name, made.submitter, made.spec.args) == (
        TaskSource.FILE,
        "billing",
        "ada",
        {"days": 7},
    )
    assert actions(apply(working, file)) == {"a": TaskAction.KEEP, "b": TaskAction.KEEP}
    assert task(working, "a") == made


def test_a_change_says_its_fields_and_leaves_what_the_file_does_not_name(working: Stored) -> None:
    apply(working, billing(wanted("a", description="old", retries=5)))
    working.do(update_task, "a", {"timeout": 9.0})
    (planned,) = apply(working, billing(wanted("a", description="new", retries=None, schedule=DAILY)))
    assert planned.action is TaskAction.CHANGE
    changes = {one.field: (one.before, one.after) for one in planned.changes}
    assert changes["description"] == ("old", "new")
    assert changes["retries"] == (5, 2)
    assert changes["schedule"][1] == {"syntax": "CRON", "value": "0 0 3 * * *", "timezone": "UTC"}
    assert "timeout" not in changes
    changed = task(working, "a")
    assert changed is not None
    assert (changed.spec.timeout, changed.spec.description, "retries" in changed.spec.inherits) == (9.0, "new", True)


def test_a_pause_belongs_to_operators(working: Stored) -> None:
    file = billing(wanted("a", enabled=True), wanted("off", enabled=False))
    apply(working, file)
    working.do(pause_task, "a", actor="bob")
    assert actions(apply(working, file)) == {"a": TaskAction.KEEP, "off": TaskAction.KEEP}
    paused, off = task(working, "a"), task(working, "off")
    assert paused is not None
    assert off is not None
    assert (paused.paused, off.paused) == (True, True)


def test_a_plan_says_the_same_and_changes_nothing(working: Stored) -> None:
    apply(working, billing(wanted("a"), wanted("b"), wanted("c")))
    before = working.do(lambda tx: stored_tasks.of_set(tx.conn, "billing"))
    file = billing(wanted("a", description="x"), wanted("b"), wanted("d"))
    plan = plan_of(working, file, prune=True)
    assert working.do(lambda tx: stored_tasks.of_set(tx.conn, "billing")) == before
    assert apply(working, file, prune=True) == plan
    assert actions(plan) == {
        "a": TaskAction.CHANGE, "b": TaskAction.KEEP, "d": TaskAction.CREATE, "c": TaskAction.ARCHIVE
    }  # fmt: skip
    assert task(working, "c") is None


def test_nothing_is_done_if_one_task_is_wrong_and_all_that_is_wrong_is_reported(working: Stored) -> None:
    apply(working, billing(wanted("a")))
    file = billing(
        wanted("a", description="changed"),
        wanted("b", job_name="nope"),
        wanted("c", schedule=ScheduleSpec(Syntax.CRON, "nonsense")),
        WantedTask("d", {"job_name": "work"}),
        wanted("a", retries=-1),
    )
    assert (ErrorCode.INVALID_INPUT, ("sets", "0", "tasks", "4", "name")) in refusals(working, file)
    found = refusals(working, billing(*file.tasks[:4]))
    assert (ErrorCode.UNKNOWN_JOB, ("sets", "0", "tasks", "1", "jobName")) in found
    assert (ErrorCode.INVALID_SCHEDULE, ("sets", "0", "tasks", "2", "schedule", "value")) in found
    assert (ErrorCode.INVALID_INPUT, ("sets", "0", "tasks", "3", "schedule")) in found
    kept = task(working, "a")
    assert kept is not None
    assert (kept.spec.description, kept.version, task(working, "b")) == ("", 1, None)


def test_pruning_looks_at_its_set_alone_and_the_name_can_be_taken_again(working: Stored) -> None:
    apply(working, billing(wanted("a"), wanted("b"), wanted("c")), billing(wanted("other"), name="mail"))
    working.task(name="by-hand")
    left = billing(wanted("a"), wanted("b"))
    assert actions(apply(working, left))["c"] is TaskAction.LEFT_OVER
    assert task(working, "c") is not None
    assert actions(apply(working, left, prune=True))["c"] is TaskAction.ARCHIVE
    assert task(working, "c") is None
    assert task(working, "other") is not None
    assert task(working, "by-hand") is not None
    assert actions(apply(working, billing(*left.tasks, wanted("c"))))["c"] is TaskAction.CREATE


def test_most_of_a_set_goes_only_if_that_is_said(working: Stored) -> None:
    apply(working, billing(wanted("a"), wanted("b"), wanted("c")))
    refused = [(ErrorCode.TOO_MANY_ARCHIVED, ("allowDelete",))]
    assert refusals(working, billing(wanted("a")), prune=True) == refused
    assert refusals(working, billing(), prune=True, allow_delete=2) == refused
    assert refusals(working, billing(), prune=True) == refused
    assert actions(apply(working, billing(wanted("a")), prune=True, allow_delete=2))["b"] is TaskAction.ARCHIVE


def test_tasks_of_code_and_of_other_sets_are_conflicts(working: Stored) -> None:
    working.do(declare_new, [TaskSpec("coded", "work", HOURLY)])
    apply(working, billing(wanted("theirs"), name="mail"))
    assert refusals(working, billing(wanted("coded"), wanted("theirs"))) == [
        (ErrorCode.CODE_TASK, ("sets", "0", "tasks", "0", "name")),
        (ErrorCode.OTHER_SET, ("sets", "0", "tasks", "1", "name")),
    ]


def test_a_task_of_no_set_becomes_one_of_the_set_that_names_it(working: Stored) -> None:
    working.task(name="by-hand")
    (planned,) = apply(working, billing(WantedTask("by-hand", {})))
    assert (planned.action, planned.changes) == (TaskAction.CHANGE, (FieldChange("set_name", None, "billing"),))
    found = task(working, "by-hand")
    assert found is not None
    assert (found.set_name, found.source) == ("billing", TaskSource.FILE)


def test_a_plan_that_is_out_of_date_is_refused(working: Stored) -> None:
    apply(working, billing(wanted("a"), wanted("b"), wanted("c")))
    file = billing(wanted("a", description="x"), wanted("b"), wanted("new"))
    seen = {one.name: one.version for one in plan_of(working, file, prune=True)}
    working.do(update_task, "b", {"description": "moved"})
    conflict = (ErrorCode.VERSION_CONFLICT, ("sets", "0", "tasks", "1", "name"))
    assert refusals(working, file, prune=True, expected=seen) == [conflict]
    working.do(update_task, "c", {"description": "moved"})
    fresh = {one.name: one.version for one in plan_of(working, file, prune=True)}
    assert apply(working, file, prune=True, expected=fresh)
    assert refusals(working, file, expected=fresh)[0][0] is ErrorCode.VERSION_CONFLICT


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_two_nodes_that_start_together_with_a_new_file_both_apply_it(working: Stored, database_url: str) -> None:
    other = Stored(database_url)
    file = billing(wanted("a"), wanted("b"))
    done: list[Mapping[str, TaskAction]] = []
    second = threading.Thread(target=lambda: done.append(actions(apply(other, file))))

    def apply_slowly(tx: Tx) -> Applied:
        applied = apply_sets(tx, [file])
        second.start()
        waiting = SchemaText("SELECT count(*) FROM pg_locks WHERE NOT granted")
        wait_until(lambda: tx.conn.execute(waiting).scalar_one() > 0, message="the second to wait for the first")
        return applied

    assert actions(working.do(apply_slowly).tasks) == {"a": TaskAction.CREATE, "b": TaskAction.CREATE}
    second.join()
    other.close()
    assert done == [{"a": TaskAction.KEEP, "b": TaskAction.KEEP}]


def test_a_request_with_more_tasks_than_one_may_have_is_refused_as_a_whole(working: Stored) -> None:
    half = [wanted(f"task-{number}") for number in range(MOST_WANTED // 2)]
    with pytest.raises(UserError, match=r"at most 10,000 tasks, .* together, got 10,002"):
        apply(working, billing(*half, wanted("more")), billing(*half, wanted("more"), name="other"))
