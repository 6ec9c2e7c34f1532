"""Limits of groups as a file wants them: set with the tasks in one transaction, or not at all."""

from typing import Any

import pytest

from cronograph.jobs.actions.groups import pause_group, update_group
from cronograph.jobs.actions.task_sets import Applied, apply_sets
from cronograph.jobs.core.admission.caps import Cap, Rate, WhenFull
from cronograph.jobs.core.base.errors import ErrorCode, UserError
from cronograph.jobs.core.model import Group, ScheduleSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.task_sets import ApplyOptions, FieldChange, WantedGroup, WantedSet, WantedTask
from cronograph.jobs.store.statements import groups
from tests.support.storage import Stored

ALL = {
    "max_running": 3,
    "rate": Rate(100, 60.0, 5),
    "cap": Cap(50, WhenFull.DROP_OLDEST),
    "max_wait_low": 600.0,
    "keep": 86400.0,
}


def apply(stored: Stored, *wanted: WantedGroup, sets: tuple[WantedSet, ...] = (), **options: Any) -> Applied:
    return stored.do(apply_sets, sets, ApplyOptions(**options), groups=wanted, actor="ada")


def plan_of(stored: Stored, *wanted: WantedGroup) -> Applied:
    """Return what ``apply`` would do."""
    return stored.tried(apply_sets, (), None, groups=wanted, actor="ada")


def group(stored: Stored, name: str = "mail") -> Group:
    return stored.do(lambda tx: groups.settings(tx.conn)).get(name, Group(name))


def test_limits_are_set_and_the_same_again_changes_nothing(stored: Stored) -> None:
    wanted = WantedGroup("mail", ALL)
    (planned,) = apply(stored, wanted).groups
    assert {one.field: one.after for one in planned.changes} == {
        "max_running": 3,
        "rate": {"limit": 100, "per": 60.0, "burst": 5},
        "cap": {"limit": 50, "whenFull": "DROP_OLDEST"},
        "max_wait_low": 600.0,
        "keep": 86400.0,
    }
    made = group(stored)
    assert {name: getattr(made, name) for name in ALL} == ALL
    (again,) = apply(stored, wanted).groups
    assert (again.changes, again.version != planned.version) == ((), True)
    assert group(stored) == made


def test_what_is_absent_stays_and_none_takes_a_limit_away(stored: Stored) -> None:
    apply(stored, WantedGroup("mail", ALL))
    stored.do(pause_group, "mail", reason="mine")
    (planned,) = apply(stored, WantedGroup("mail", {"keep": None, "max_running": 3})).groups
    assert planned.changes == (FieldChange("keep", 86400.0, None),)
    found = group(stored)
    assert (found.keep, found.rate, found.pause_reason) == (None, ALL["rate"], "mine")


def test_a_plan_changes_nothing_and_makes_no_group(stored: Stored) -> None:
    planned = plan_of(stored, WantedGroup("mail", ALL))
    assert len(planned.groups[0].changes) == len(ALL)
    assert stored.do(lambda tx: groups.settings(tx.conn)) == {}


def test_what_a_plan_saw_is_demanded(stored: Stored) -> None:
    wanted = WantedGroup("mail", {"max_running": 3})
    seen = {one.name: one.version for one in plan_of(stored, wanted).groups}
    stored.do(pause_group, "mail")
    stored.do(update_group, "mail", max_running=7)
    for expected in (seen, {}):
        with pytest.raises(UserError) as refused:
            apply(stored, wanted, expected_groups=expected)
        assert (refused.value.code, refused.value.path) == (ErrorCode.VERSION_CONFLICT, ("groups", "0", "name"))
    seen = {one.name: one.version for one in plan_of(stored, wanted).groups}
    stored.do(pause_group, "mail", reason="a pause is no limit")
    assert apply(stored, wanted, expected_groups=seen).groups[0].changes == (FieldChange("max_running", 7, 3),)


def test_everything_that_is_wrong_is_reported_and_nothing_is_done(stored: Stored) -> None:
    stored.node()
    task = WantedTask("hourly", {"job_name": "work", "schedule": ScheduleSpec(Syntax.CRON, "0 0 * * * *")})
    wrong = {"max_running": -1, "rate": Rate(0, 1.0, 1), "cap": Cap(0), "keep": 0.5}
    with pytest.raises(UserError) as refused:
        apply(
            stored,
            WantedGroup("fine", {"keep": 60.0}),
            WantedGroup("mail", wrong),
            WantedGroup("a/b", {}),
            sets=(WantedSet("s", (task,)),),
        )
    assert {fault.path[:3] for fault in refused.value.faults} == {
        ("groups", "1", "maxRunning"),
        ("groups", "1", "rate"),
        ("groups", "1", "cap"),
        ("groups", "1", "keep"),
        ("groups", "2", "name"),
    }
    assert stored.do(lambda tx: groups.settings(tx.conn)) == {}
    with pytest.raises(UserError, match="group 'mail' is named twice"):
        apply(stored, WantedGroup("mail", {}), WantedGroup("mail", {}))
