"""Changes of tasks, groups and jobs are revisions of them, and can be taken back."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update

from cronograph.jobs.accounts.statements.audit import entry_from
from cronograph.jobs.actions.groups import change_limits, pause_group, set_job_rate
from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.actions.task_sets import revert_to
from cronograph.jobs.actions.tasks import create_task, delete_task, pause_task, update_task
from cronograph.jobs.core.actor import Actor, Role, described
from cronograph.jobs.core.admission.caps import Cap, Rate, WhenFull
from cronograph.jobs.core.arguments.revisions import hidden, settings_back
from cronograph.jobs.core.base.errors import ErrorCode, UserError
from cronograph.jobs.core.defaults import TASK_POLICIES, JobDefaults, JobInfo
from cronograph.jobs.core.limits import Limits
from cronograph.jobs.core.model import Group, MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, Task, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.task_sets import version_of
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import audit_log, job, run
from cronograph.jobs.store.statements import groups, tasks
from tests.support.storage import Stored

ADA = Actor("ada", Role.OPERATOR, address="192.0.2.7")
HIDDEN = {"$hidden": True}
NOON = ScheduleSpec(Syntax.CRON, "0 0 12 * * *", "Europe/Berlin")


def act(stored: Stored, action: Any, *args: Any, **named: Any) -> Any:
    """Do something in the name of ada."""

    def acted(tx: Tx) -> Any:
        tx.actor = ADA
        return action(tx, *args, **named)

    return stored.do(acted)


def revisions(stored: Stored) -> list[tuple[int, str, str, Any, Any]]:
    found = [entry_from(row) for row in stored.rows(audit_log)]
    return [(one.id, one.actor, one.action, described(one.before), described(one.after)) for one in found]


def newest(stored: Stored) -> int:
    return revisions(stored)[-1][0]


def task(stored: Stored, name: str = "nightly") -> Task:
    found = stored.do(lambda tx: tasks.by_name(tx.conn, name))
    assert found is not None
    return found


@pytest.fixture
def made(stored: Stored) -> int:
    """Return the revision by which ada has made the task ``nightly``."""
    stored.node("node-a", jobs=["work"])
    spec = TaskSpec("nightly", "work", NOON, args={"n": 1, "password": "hunter2"}, retries=3)
    spec = replace(spec, inherits=frozenset(TASK_POLICIES) - {"retries"})
    act(stored, create_task, spec, submitter="ada")
    return newest(stored)


@pytest.mark.usefixtures("made")
def test_a_change_is_a_revision_with_the_fields_before_and_after(stored: Stored) -> None:
    (_, actor, action, before, after) = revisions(stored)[-1]
    assert (actor, action, before) == ("ada", "task.changed", None)
    assert (after["retries"], after["args"]) == (3, {"n": 1, "password": HIDDEN})
    act(stored, update_task, "nightly", {"retries": 5, "args": {"n": 2, "password": "hunter3"}, "group": "mail"})
    *_, before, after = revisions(stored)[-1]
    assert ("group" in before.pop("inherits"), "group" in after.pop("inherits")) == (True, False)
    assert (before, after) == (
        {"retries": 3, "args": {"n": 1, "password": HIDDEN}, "group": "default"},
        {"retries": 5, "args": {"n": 2, "password": HIDDEN}, "group": "mail"},
    )
    act(stored, pause_task, "nightly", reason="too slow", actor="ada")
    assert revisions(stored)[-1][3:] == (
        {"enabled": True, "paused_by": None, "pause_reason": None},
        {"enabled": False, "paused_by": "ada", "pause_reason": "too slow"},
    )
    act(stored, delete_task, "nightly")
    assert (revisions(stored)[-1][3]["retries"], revisions(stored)[-1][4]) == (5, None)
    assert "hunter" not in str(stored.rows(audit_log))


def test_a_task_goes_back_to_a_revision_and_keeps_its_pause_and_hidden_values(stored: Stored, made: int) -> None:
    change: dict[str, Any] = {
        "args": {"n": 2, "password": "hunter3"},
        "priority": Priority.HIGH,
        "overlap": OverlapPolicy.ALLOW,
        "misfire": MisfirePolicy.ALL,
        "schedule": ScheduleSpec(Syntax.INTERVAL, "5m"),
        "start_at": datetime(2031, 1, 1, tzinfo=UTC),
        "rate": Rate(6, 60.0, 1),
        "labels": {"team": "billing"},
        "retries": None,
    }
    was = task(stored).spec
    act(stored, update_task, "nightly", change)
    changed, version = newest(stored), task(stored).version
    act(stored, update_task, "nightly", {"rate": None, "start_at": None, "group": "mail"})
    act(stored, pause_task, "nightly", reason="r")
    with pytest.raises(UserError) as refused:
        act(stored, revert_to, made, expected=version)
    assert refused.value.code is ErrorCode.VERSION_CONFLICT
    act(stored, revert_to, changed, actor="ada")
    between = task(stored).spec
    assert (between.rate, between.start_at, between.group) == (Rate(6, 60.0, 1), change["start_at"], "default")
    act(stored, revert_to, made, actor="ada")
    now = task(stored)
    assert now.spec.args == {"n": 1, "password": "hunter3"}, "a secret that is not kept stays as it is"
    assert replace(now.spec, args=was.args, enabled=True) == was
    assert now.pause_reason == "r"
    assert revisions(stored)[-1][4]["retries"] == 3, "it is a revision itself"


def test_resources_of_a_task_are_for_a_job_at_an_engine_and_go_back_too(stored: Stored, made: int) -> None:
    with pytest.raises(UserError, match="resources: are for jobs at an engine, and job 'work' runs on a node"):
        act(stored, update_task, "nightly", {"resources": {"gpus": 1}})
    stored.do(lambda tx: tx.conn.execute(update(job).where(job.c.name == "work").values(isolation="remote")))
    act(stored, update_task, "nightly", {"resources": {"gpus": 1}})
    assert revisions(stored)[-1][3:] == ({"resources": None}, {"resources": {"gpus": 1}})
    # A run of its schedule carries them beside its time zone.
    due = task(stored).next_nominal
    assert due is not None
    stored.pass_time((due - stored.now).total_seconds())
    assert stored.dispatch() == 1
    (made_run,) = stored.rows(run)
    assert made_run.carried == {"schedule_timezone": "Europe/Berlin", "resources": {"gpus": 1}}
    act(stored, revert_to, made, actor="ada")
    assert task(stored).spec.resources is None


def test_a_task_that_was_deleted_since_does_not_go_back(stored: Stored, made: int) -> None:
    act(stored, delete_task, "nightly")
    gone = newest(stored)
    for number, words in ((made, "was deleted since"), (gone, "deleted by that"), (999, "no revision 999")):
        with pytest.raises(UserError, match=words):
            act(stored, revert_to, number)


def test_limits_of_a_group_go_back_as_one_and_its_pause_stays(stored: Stored) -> None:
    full = {"max_running": 3, "rate": Rate(100, 60.0, 5), "cap": Cap(50, WhenFull.DROP_OLDEST), "keep": 60.0}
    act(stored, change_limits, "mail", full)
    assert [one[2] for one in revisions(stored)] == ["group.changed"], "several limits are one change"
    first = newest(stored)
    act(stored, change_limits, "mail", {"rate": None, "cap": None, "max_running": 7})
    act(stored, pause_group, "mail", reason="r", actor="ada")
    with pytest.raises(UserError) as refused:
        act(stored, revert_to, first, expected=1)
    assert refused.value.code is ErrorCode.VERSION_CONFLICT
    present = version_of(stored.do(lambda tx: groups.settings(tx.conn))["mail"])
    act(stored, revert_to, first, expected=present)
    group: Group = stored.do(lambda tx: groups.settings(tx.conn))["mail"]
    assert {name: getattr(group, name) for name in full} == full
    assert group.pause_reason == "r"


def test_code_that_changes_a_job_and_its_tasks_is_named(stored: Stored) -> None:
    limits = Limits(rate=Rate(6, 60.0, 1))

    def starts(retries: int, schema: dict[str, Any]) -> None:
        info = JobInfo("paced", args_schema=schema, defaults=JobDefaults(retries=retries, limits=limits))
        stored.do(join, NewNode(f"node-{retries}", 1, "1", (info,), 60.0), only_node=False)

    starts(1, {})
    act(stored, create_task, TaskSpec("often", "paced", NOON, inherits=frozenset({"retries"})))
    assert [one[1] for one in revisions(stored)] == ["ada"], "a job that is new is no change"
    starts(2, {"properties": {"n": {"type": "integer"}}})
    (_, _, _, before, after), (_, _, _, *of_task) = revisions(stored)[-2:]
    assert [one[1] for one in revisions(stored)] == ["ada", "code", "code"]
    assert (before["retries"], after["retries"], "args_schema" in after) == (1, 2, True)
    assert of_task == [{"retries": 1}, {"retries": 2}]
    act(stored, set_job_rate, "paced", rate=Rate(3, 60.0, 1))
    slower = newest(stored)
    act(stored, set_job_rate, "paced", rate=None)
    act(stored, revert_to, slower)
    assert revisions(stored)[-1][4] == {"rate": {"limit": 3, "per": 60.0, "burst": 1}}
    with pytest.raises(UserError, match="a job has no version"):
        act(stored, revert_to, slower, expected=1)


def test_values_that_may_be_secrets_are_not_kept() -> None:
    kept = hidden(
        {
            "apiKey": "a",
            "tokens": 5,
            "headers": [{"Authorization": "Bearer x", "accept": "*/*"}],
            "password": {"$secret": "mail"},
            "credentials": {"user": "u"},
        }
    )
    assert kept == {
        "apiKey": HIDDEN,
        "tokens": 5,
        "headers": [{"Authorization": HIDDEN, "accept": "*/*"}],
        "password": {"$secret": "mail"},
        "credentials": HIDDEN,
    }
    assert hidden({"text": "x" * 30_000}) == HIDDEN


def test_hidden_values_come_from_the_present_arguments() -> None:
    spec = TaskSpec("t", "work", NOON, args={"deep": [{"token": "new"}]})
    back = settings_back(spec, {"args": {"n": 1, "deep": [{"token": HIDDEN}]}, "pause_reason": "no setting"})
    assert back == {"args": {"n": 1, "deep": [{"token": "new"}]}}
    with pytest.raises(UserError, match="set the arguments by hand"):
        settings_back(spec, {"args": {"deep": [{}, {"token": HIDDEN}]}})
