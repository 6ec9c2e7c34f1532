"""Alarms of code and of files follow their definitions; people silence and disable them."""

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from cronograph.jobs import Alarm as Declared
from cronograph.jobs.core.alarms import AlarmSpec, Severity, SubjectKind, definition_of, spec_of
from cronograph.jobs.core.base.errors import ConfigurationError, UserError
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.task_sets import ApplyOptions, DefinitionKind, TaskAction, WantedSet, WantedTask
from cronograph.jobs.delivery import actions, read
from cronograph.jobs.delivery.declared import apply_files, declare
from cronograph.jobs.delivery.rules import Alarm, AlarmSource
from cronograph.jobs.registry.define import define
from cronograph.jobs.store.schema.delivery import alarm
from cronograph.jobs.store.statements import nodes
from tests.delivery.conftest import Alarms
from tests.support.storage import Stored

FAILED = Failed("ValueError", "no such invoice", permanent=True)
NIGHTLY = TaskSpec("work", "work", ScheduleSpec(Syntax.CRON, "0 0 3 * * *"))


def start(stored: Stored, *declared: Declared) -> tuple[str, ...]:
    """Start a node whose job ``work`` declares these alarms; return its warnings."""
    specs = {"work": [one.of_job("work", is_scheduled=True) for one in declared]} if declared else {}
    return stored.do(declare, [NIGHTLY], ["work"], specs).warnings


def kept(stored: Stored) -> dict[str, Alarm]:
    """The alarms by name."""
    return {row.name: read.alarm_from(row) for row in stored.rows(alarm)}


async def test_alarms_of_code_follow_the_code_and_go_with_it(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.webhook(1)
    failing = Declared(failing=1, channels="ops")
    assert start(stored, Declared(late="5m"), failing) == ()
    first = kept(stored)
    assert {name: (one.subject_kind, one.source, one.owner) for name, one in first.items()} == {
        "work-late": (SubjectKind.TASK, AlarmSource.CODE, "work"),
        "work-failing": (SubjectKind.JOB, AlarmSource.CODE, "work"),
    }
    # Another node starts with the same code, then one with other code.
    start(stored, Declared(late="5m"), failing)
    assert kept(stored) == first
    start(stored, Declared(late="10m"), failing)
    assert (kept(stored)["work-late"].settings.grace, kept(stored)["work-late"].version) == (600, 2)
    stored.enqueue(retries=0)
    worker.end(worker.start(), FAILED)
    assert len(await alarms.look(1)) == 1
    start(stored, Declared(late="10m"))
    assert kept(stored).keys() == {"work-late"}
    assert await alarms.look(1) == []
    start(stored)
    assert kept(stored) == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"failing": True}, "failing: must be a whole number, got True"),
        ({"failing": 3, "channels": [""]}, "channels: must have 1 to 200 characters, got 0"),
        ({"failing": 3, "channels": ["ops", "a/b"]}, "channels: must not contain control characters or '/'"),
        ({"failing": 3, "channels": [7]}, "channels: must be a text, got 7"),
    ],
)
def test_an_alarm_that_can_never_tell_anybody_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        Declared(**words)


def test_true_is_one_record() -> None:
    assert Declared(empty=True).of_job("work", is_scheduled=False).settings.least_records == 1


async def test_people_silence_and_disable_alarms_of_code_and_that_is_all(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    start(stored, Declared(late="5m"))
    alarms.change("work-late", enabled=False)
    until = stored.now + timedelta(hours=1)
    alarms.acting(lambda tx: actions.silence_alarm(tx, "work-late", until, "a move"))
    start(stored, Declared(late="6m"))
    found = kept(stored)["work-late"]
    assert (found.enabled, found.silence_reason, found.settings.grace) == (False, "a move", 360)
    with pytest.raises(UserError, match="is declared by job 'work' in code"):
        alarms.change("work-late", severity=Severity.INFO)
    with pytest.raises(UserError, match="is declared by job 'work' in code"):
        alarms.acting(lambda tx: actions.delete_alarm(tx, "work-late"))


async def test_alarms_of_a_job_that_was_renamed_are_deleted_by_people(alarms: Alarms, stored: Stored) -> None:
    old = stored.node()
    start(stored, Declared(failing=1), Declared(late="5m"))
    stored.do(lambda tx: nodes.set_state(tx.conn, old.node.id, NodeState.STOPPED))
    stored.node("node-b", jobs=("bill",))
    renamed = {"bill": [Declared(failing=1).of_job("bill", is_scheduled=False)]}
    assert stored.do(declare, [], ["bill"], renamed).warnings == ()
    assert kept(stored).keys() == {"work-failing", "work-late", "bill-failing"}
    with pytest.raises(UserError, match="is declared by job 'bill' in code"):
        alarms.acting(lambda tx: actions.delete_alarm(tx, "bill-failing"))
    for name in ("work-failing", "work-late"):
        alarms.acting(partial(actions.delete_alarm, name=name))
    assert kept(stored).keys() == {"bill-failing"}


async def test_a_node_starts_although_an_alarm_cannot_be_as_it_is_declared(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task(name="other")
    alarms.acting(lambda tx: actions.create_alarm(tx, spec("work-late", task="other", late="1h")))
    warnings = start(stored, Declared(late="5m"), Declared(failing=3, channels=["nobody"]))
    assert len(warnings) == 2
    assert "there is an alarm 'work-late' of people already" in warnings[0]
    assert warnings[1] == "alarm 'work-failing' of job 'work' notifies channel 'nobody', which does not exist"
    assert kept(stored)["work-late"].subject == "other"


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"alarms": [Declared(late="5m")]}, "add schedule=… to the job"),
        ({"alarms": ["late"]}, r"must be alarms such as Alarm\(failing=3\)"),
        ({"alarms": None}, r"must be alarms such as Alarm\(failing=3\), got None"),
        ({"alarms": [Declared(failing=2), Declared(failing=3)]}, "two are called 'job-failing'"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused_at_the_import(options: dict[str, object], fault: str) -> None:
    async def handler() -> None: ...

    with pytest.raises(ConfigurationError, match=fault):
        define("job", handler, (), **options)  # type: ignore[arg-type] # what a user may write


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, "condition: must be one of late, due_by, overdue, slow, failing, empty, new_error, got none"),
        ({"late": "5m", "failing": 2}, "got late, failing"),
        ({"late": "soon"}, "must be seconds"),
        ({"failing": 0}, "failedRuns: must be 1 to"),
        ({"failing": "many"}, "failing: must be a whole number"),
        ({"failing": "50% of 1"}, "ofRuns: must be 2 to 60"),
        ({"failing": "200% of 10"}, "failedShare: must be 0.01 to 1"),
        ({"due_by": "6 am"}, "must be a time of day"),
        ({"failing": 2, "severity": "bad"}, "severity: must be one of 'info', 'warning', 'critical', got 'bad'"),
        ({"failing": 2, "channels": 5}, "channels: must be names of channels, .* got 5"),
    ],
)
def test_an_alarm_that_cannot_be_is_refused(values: dict[str, object], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Declared(**values)  # type: ignore[arg-type] # what a user may write


def spec(name: str, **words: object) -> AlarmSpec:
    """An alarm by its words."""
    return spec_of(name, words, channels=(), severity=Severity.WARNING, description="")


@pytest.mark.parametrize(
    "words",
    [
        {"task": "a", "late": 60.0},
        {"task": "a", "due_by": "06:00"},
        {"task": "a", "overdue": 60.0},
        {"job": "a", "slow": 60.0},
        {"job": "a", "slow": "2.5x"},
        {"group": "a", "failing": 3},
        {"job": "a", "empty": 1},
        {"group": "a", "older_than": 60.0, "deeper_than": 4},
        {"node": "any"},
        {"node": "w1"},
        {"job": "a", "failing": "25% of 40"},
        {"job": "a", "new_error": 3600.0},
        {"node": "any", "skew": 2.0},
        {"database": "any", "larger_than": 10, "least_free": 20, "transaction": 60.0, "lag": 5.0},
    ],
)
def test_words_are_read_back_as_they_were(words: dict[str, object]) -> None:
    assert definition_of(spec("x", **words)) == words


def applied(stored: Stored, *specs: AlarmSpec, prune: bool = False) -> list[tuple[str, TaskAction]]:
    """Apply a set of one task with these alarms."""
    task = WantedTask("nightly", {"job_name": "work", "schedule": ScheduleSpec(Syntax.CRON, "0 0 3 * * *")})
    done = stored.do(
        apply_files,
        [WantedSet("billing", (task,), {DefinitionKind.ALARM: specs})],
        ApplyOptions(prune=prune),
        actor="ada",
    )
    return [(one.name, one.action) for one in done.definitions]


async def test_alarms_of_files_are_made_changed_left_over_and_pruned(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    late, failing = spec("late", task="nightly", late="5m"), spec("failing", job="work", failing=2)
    assert applied(stored, late, failing) == [("late", TaskAction.CREATE), ("failing", TaskAction.CREATE)]
    assert applied(stored, late, failing) == [("late", TaskAction.KEEP), ("failing", TaskAction.KEEP)]
    later = spec("late", task="nightly", late="6m")
    assert applied(stored, later) == [("late", TaskAction.CHANGE), ("failing", TaskAction.LEFT_OVER)]
    assert applied(stored, later, prune=True) == [("late", TaskAction.KEEP), ("failing", TaskAction.ARCHIVE)]
    assert kept(stored).keys() == {"late"}


async def test_a_file_takes_over_an_alarm_of_people_and_none_of_code(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task()
    alarms.acting(lambda tx: actions.create_alarm(tx, spec("mine", task="nightly", late="5m")))
    start(stored, Declared(failing=2))
    stored.do(lambda tx: actions.create_alarm(tx, spec("other", job="work", failing=2)))
    with pytest.raises(UserError, match="of job 'work' already") as refused:
        applied(stored, spec("work-failing", job="work", failing=2))
    assert refused.value.faults[0].path == ("sets", "0", "alarms", "0", "name")
    task = WantedTask("mine-too", {"job_name": "work", "schedule": ScheduleSpec(Syntax.CRON, "0 0 3 * * *")})
    mine = spec("mine", task="mine-too", late="5m")
    stored.do(apply_files, [WantedSet("billing", (task,), {DefinitionKind.ALARM: [mine]})])
    assert (kept(stored)["mine"].source, kept(stored)["mine"].owner) == (AlarmSource.FILE, "billing")
