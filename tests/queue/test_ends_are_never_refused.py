"""The end of a run is stored whatever was to follow it: what is refused or faulty is recorded on the run."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from cronograph.jobs import Debounce
from cronograph.jobs.actions.flows import enqueue_flow
from cronograph.jobs.actions.nodes import leave
from cronograph.jobs.core.admission.labels import LabelRule
from cronograph.jobs.core.defaults import FOLLOWED, JobDefaults
from cronograph.jobs.core.events import EventKind, spread
from cronograph.jobs.core.explain import RunFacts, explain_run
from cronograph.jobs.core.flows import Ending, NewFlow, NewMember
from cronograph.jobs.core.model import Group, NewRun, Run, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Failed, Lost, Succeeded
from cronograph.jobs.queue.cancel import cancel_all, fail_overdue
from cronograph.jobs.queue.claims.candidates import skip_due
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.rows import defaults_document
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import logs
from cronograph.jobs.store.statements.runs import by_ids
from tests.support.storage import Stored

DEAD = Failed("ValueError", "boom", permanent=True)


def run_of(stored: Stored, run_id: int) -> Run:
    return stored.do(lambda tx: by_ids(tx.conn, [run_id])[run_id])


def say(stored: Stored, job: str, **said: Any) -> None:
    """Have a published job say something about its runs."""
    document = defaults_document(JobDefaults(**said))
    stored.do(lambda tx: tx.conn.execute(update(tables.job).where(tables.job.c.name == job).values(defaults=document)))


# Why runs of job `notify`, which is what follows, are refused.


def with_labels_that_are_none(stored: Stored) -> None:
    say(stored, "notify", labels=LabelRule({}, {"failure": "failure", "expired": "expired", "long": "long"}))


def with_a_key_that_another_run_holds(stored: Stored) -> None:
    elsewhere = stored.node("elsewhere", ("notify",))
    stored.enqueue(job_name="notify", unique_key="notify")
    (holder,) = elsewhere.take().started
    assert holder.run.job_name == "notify"
    say(stored, "notify", hold=Debounce(5.0).hold())


def with_a_database_that_refuses_their_rows(stored: Stored) -> None:
    """A fault of ours, as far as anybody can tell."""
    if stored.database.is_sqlite:
        refuse = "BEGIN SELECT RAISE(ABORT, 'refused for the test'); END"
        statements = [
            f"CREATE TRIGGER refuse BEFORE INSERT ON cronograph.run WHEN NEW.job_name = 'notify' {refuse}",
        ]
    else:
        statements = [
            """CREATE FUNCTION cronograph.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused for the test'; END $$""",
            """CREATE TRIGGER refuse BEFORE INSERT ON cronograph.run FOR EACH ROW
            WHEN (NEW.job_name = 'notify') EXECUTE FUNCTION cronograph.refuse()""",
        ]
    for statement in statements:
        stored.do(_execute, statement)


def _execute(tx: Tx, statement: str) -> None:
    tx.conn.execute(SchemaText(statement))


REASONS: dict[str, Callable[[Stored], None]] = {
    "REFUSAL labels": with_labels_that_are_none,
    "REFUSAL key": with_a_key_that_another_run_holds,
    "FAULT": with_a_database_that_refuses_their_rows,
}


class Scene:
    """A guilty run, whose end brings about what is refused, and an innocent one beside it, in the same batch."""

    def __init__(self, stored: Stored, **more: Any) -> None:
        self.stored = stored
        self.worker = stored.node(jobs=("work", "notify", "plain"))
        self.more = more
        self.guilty = self.innocent = 0

    def begin(self) -> None:
        say(self.stored, "work", on_failure="notify", on_expired="notify")
        callbacks = {Ending.END: NewRun("notify", Trigger.API, inherits=FOLLOWED)}
        guilty = NewRun("work", Trigger.API, inherits=FOLLOWED - self.more.keys(), **self.more)
        self.stored.do(enqueue_flow, NewFlow("import", (NewMember("a", guilty),), callbacks=callbacks))
        (row,) = self.stored.rows(tables.run, job_name="work")
        self.guilty = row.id
        self.innocent = self.stored.enqueue(job_name="plain", **self.more).id

    def end(self, outcome: Any, at_end: tuple[NewRun, ...] = ()) -> None:
        started = self.worker.take(2).started
        assert {one.run.id for one in started} == {self.guilty, self.innocent}
        ends = [
            Finish(one.run, one.execution_id, outcome, at_end=at_end if one.run.id == self.guilty else ())
            for one in started
        ]
        assert self.stored.do(finish, self.worker.node.id, self.worker.node.name, ends).accepted == {
            self.guilty,
            self.innocent,
        }


def failing(scene: Scene) -> None:
    scene.end(DEAD)


def succeeding(scene: Scene) -> None:
    scene.end(Succeeded(), (NewRun("notify", Trigger.API, {"long": "x" * 300}, inherits=FOLLOWED),))


def failing_again_and_again(scene: Scene) -> None:
    scene.end(Failed("ValueError", "boom", retry_in=0.0))
    scene.stored.pass_time(1)
    scene.end(Failed("ValueError", "boom", retry_in=0.0))


def lost_with_its_node(scene: Scene) -> None:
    scene.worker.take(2)
    assert scene.stored.do(rescue, scene.worker.node, reason="silence") == 2


def expired(scene: Scene) -> None:
    scene.stored.pass_time(60)
    assert scene.stored.do(skip_due, "node-a") == 2


def overdue(scene: Scene) -> None:
    scene.end(Failed("ValueError", "boom", retry_in=3600.0))
    scene.stored.pass_time(60)
    assert scene.stored.do(fail_overdue, "node-a") == 2


def cancelled(scene: Scene) -> None:
    scene.stored.do(cancel_all, [scene.guilty, scene.innocent], reason="enough")


def left_by_its_node(scene: Scene) -> None:
    scene.worker.take(2)
    scene.stored.do(leave, scene.worker.node, NodeState.STOPPED, unfinished=Lost("the node ended"))


WAYS: dict[str, tuple[Callable[[Scene], None], str, dict[str, Any], set[str]]] = {
    "end": (succeeding, "success", {}, {"enqueue_at_end", "flow callback"}),
    "failure": (failing, "failed", {}, {"on_failure", "flow callback"}),
    "retries used up": (failing_again_and_again, "failed", {"retries": 1}, {"on_failure", "flow callback"}),
    "rescue": (lost_with_its_node, "failed", {"retries": 0}, {"on_failure", "flow callback"}),
    "expiry": (expired, "skipped", {"ttl": 10.0}, {"on_expired", "flow callback"}),
    "deadline": (overdue, "failed", {"max_duration": 10.0, "retries": 3}, {"on_failure", "flow callback"}),
    "cancel": (cancelled, "cancelled", {}, {"flow callback"}),
    "drain": (left_by_its_node, "failed", {"retries": 0}, {"on_failure", "flow callback"}),
}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("way", "reason"),
    [(way, reason) for way in WAYS for reason in REASONS if (way, reason) != ("cancel", "REFUSAL labels")],
)
def test_an_end_is_stored_and_what_follows_is_recorded(stored: Stored, way: str, reason: str) -> None:
    end, state, more, kinds = WAYS[way]
    scene = Scene(stored, **more)
    scene.begin()
    REASONS[reason](stored)
    end(scene)
    guilty, innocent = run_of(stored, scene.guilty), run_of(stored, scene.innocent)
    assert (guilty.state.value, innocent.state.value, innocent.lost_follow_ups) == (state, state, None)
    lost = guilty.lost_follow_ups or []
    code = reason.split(maxsplit=1)[0]
    # A callback gets what it inherits as it is enqueued, its key too. It has no arguments that labels could be made of.
    kinds = kinds - {"flow callback"} if reason == "REFUSAL labels" else kinds
    assert sorted((one["kind"], one["job"], one["code"]) for one in lost) == [
        (kind, "notify", code) for kind in sorted(kinds)
    ]
    told = [
        change
        for row in stored.rows(tables.event)
        for change in spread(row.changes)
        if change.kind is EventKind.RUN_UPDATED and change.run_id == guilty.id
    ]
    assert told[-1].state == state
    why = explain_run(guilty, RunFacts(job_known=True, isolation=None, nodes=(), group=Group("default")), stored.now)
    assert why.code.value == "FOLLOW_UP_LOST"
    assert all(any(one["kind"] in detail and code in detail for detail in why.details) for one in lost)
    executions = stored.rows(tables.job_execution, run_id=guilty.id)
    if executions:
        newest = executions[-1]
        lines = stored.do(lambda tx: logs.after(tx.conn, newest.id, 0, 10))
        assert [line.level for line in lines] == ["warning"] * len(lost)
        assert newest.log_lines == len(lost)
    assert [row.finished_at for row in stored.rows(tables.flow)] == [stored.now]
