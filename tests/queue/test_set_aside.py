"""What cannot be dispatched, begun or logged stands alone: it is set aside with the reason, and the others go on."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import text

from cronograph.jobs.core.explain import RunFacts, TaskFacts, explain_run, explain_task
from cronograph.jobs.core.model import Group
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.base.apart import append_apart, in_halves
from cronograph.jobs.queue.finish import Finish, finish_or_bare
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.queue.occurrences import PUT_OFF, dispatch_apart
from cronograph.jobs.queue.turn import Order, turn
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import logs
from cronograph.jobs.store.statements.runs import by_ids
from cronograph.jobs.store.statements.tasks import by_names
from tests.support.storage import Stored

ID = "[0-9A-F]{8}"


def refuse(stored: Stored, table: str, event: str, condition: str) -> None:
    """Have the database refuse changes of rows that meet a condition, with an error that says nothing."""
    if stored.database.is_sqlite:
        body = "BEGIN SELECT RAISE(ABORT, 'refused for the test'); END"
        statements = [f"CREATE TRIGGER refuse BEFORE {event} ON cronograph.{table} WHEN {condition} {body}"]
    else:
        statements = [
            """CREATE FUNCTION cronograph.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused for the test'; END $$""",
            f"""CREATE TRIGGER refuse BEFORE {event} ON cronograph.{table} FOR EACH ROW WHEN ({condition})
            EXECUTE FUNCTION cronograph.refuse()""",
        ]
    for statement in statements:
        stored.do(_execute, statement)


def accept(stored: Stored, table: str) -> None:
    stored.do(_execute, "DROP TRIGGER refuse" + ("" if stored.database.is_sqlite else f" ON cronograph.{table}"))


def _execute(tx: Tx, statement: str) -> None:
    tx.conn.execute(SchemaText(statement))


def test_halves_are_done_until_the_guilty_ones_stand_alone(stored: Stored) -> None:
    done: list[list[int]] = []

    def divide(tx: Tx) -> list[int]:
        def do(some: list[int] | tuple[int, ...]) -> None:
            tx.wake(~tx.wakes)
            assert [tx.conn.execute(text("SELECT 1")).scalar_one() / one for one in some]
            done.append(list(some))

        return [one for one, error in in_halves(tx, (3, 0, 1, 2, 0), lambda some: do(list(some)))]

    assert stored.do(divide) == [0, 0]
    assert sorted(one for some in done for one in some) == [1, 2, 3]


def test_a_task_of_which_no_run_can_be_made_keeps_no_other_waiting(stored: Stored) -> None:
    stored.node(jobs=("work", "bad"))
    for name in ("a", "guilty", "b", "c"):
        stored.task("0 * * * * *", name=name, job_name="bad" if name == "guilty" else "work")
    refuse(stored, "run", "INSERT", "NEW.job_name = 'bad'")
    stored.at(60)
    dispatched = stored.do(dispatch_apart, "node-a")
    assert (dispatched.visited, dispatched.more) == (4, False)
    assert {row.task_name for row in stored.rows(tables.run)} == {"a", "b", "c"}
    guilty = stored.do(lambda tx: by_names(tx.conn, ["guilty"])["guilty"])
    assert guilty.next_execution == stored.now + PUT_OFF
    why = explain_task(guilty, TaskFacts(job_known=True, nodes=("node-a",)), stored.now)
    assert (why.code.value, why.until) == ("PUT_OFF", stored.now + PUT_OFF)
    assert re.match(f"No run could be made when it was due: internal error, id {ID}; ", why.sentence)
    accept(stored, "run")
    stored.pass_time(PUT_OFF.total_seconds())
    stored.dispatch()
    assert "guilty" in {row.task_name for row in stored.rows(tables.run)}
    guilty = stored.do(lambda tx: by_names(tx.conn, ["guilty"])["guilty"])
    assert explain_task(guilty, TaskFacts(job_known=True, nodes=("node-a",)), stored.now).code.value == "WAITING"


def test_a_run_that_cannot_be_begun_keeps_no_other_waiting(stored: Stored) -> None:
    worker = stored.node(jobs=("work", "bad"))
    fine, guilty, also = stored.enqueue().id, stored.enqueue(job_name="bad").id, stored.enqueue().id
    refuse(stored, "run", "UPDATE", "NEW.job_name = 'bad' AND NEW.attempt > 0")
    order = Order((), (), slots=5, prefetch=0)
    begun = stored.do(turn, worker.claimant, worker.fairness, order, apart=True).started
    assert {one.run.id for one in begun} == {fine, also}
    run = stored.do(lambda tx: by_ids(tx.conn, [guilty])[guilty])
    assert (run.state, run.attempt, run.available_at) == (RunState.WAITING, 0, stored.now + timedelta(minutes=1))
    why = explain_run(run, RunFacts(job_known=True, isolation=None, nodes=("a",), group=Group("default")), stored.now)
    assert why.code.value == "PUT_OFF"
    assert re.search(f"it could not be begun: internal error, id {ID}", why.sentence)
    accept(stored, "run")
    stored.pass_time(61)
    assert worker.start().run.id == guilty


def test_an_end_that_cannot_be_stored_as_it_is_is_stored_bare(stored: Stored) -> None:
    worker = stored.node()
    for _ in range(2):
        stored.enqueue()
    started = [worker.start() for _ in range(2)]
    refuse(stored, "run", "UPDATE", "NEW.result IS NOT NULL")
    outcomes: list[bool] = []
    for one, value in zip(started, ({"it": "is"}, None), strict=True):
        ended = Finish(one.run, one.execution_id, Succeeded(value=value))
        bare = Finish(one.run, one.execution_id, Failed("UnstorableResult", "why", permanent=True))
        which, finished = stored.do(finish_or_bare, worker.node.id, worker.node.name, ended, bare)
        assert finished.accepted == {one.run.id}
        outcomes.append(which is ended)
    assert outcomes == [False, True]
    assert [(row.state, row.error) for row in stored.rows(tables.run)] == [("failed", "why"), ("success", None)]


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.postgres
def test_an_end_that_is_accepted_at_the_second_try_is_stored_as_it_is(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    started = worker.start()
    # A sequence alone remembers a refusal that is taken back.
    stored.do(_execute, "CREATE SEQUENCE cronograph.refusals")
    refuse(
        stored,
        "run",
        "UPDATE",
        "CASE WHEN NEW.result IS NULL THEN false ELSE nextval('cronograph.refusals') = 1 END",
    )
    ended = Finish(started.run, started.execution_id, Succeeded(value={"it": "is"}))
    bare = Finish(started.run, started.execution_id, Failed("UnstorableResult", "why", permanent=True))
    which, finished = stored.do(finish_or_bare, worker.node.id, worker.node.name, ended, bare)
    assert which is ended
    assert finished.accepted == {started.run.id}
    assert [(row.state, row.error, row.result) for row in stored.rows(tables.run)] == [("success", None, {"it": "is"})]
    assert [row.outcome for row in stored.rows(tables.job_execution)] == ["success"]


def test_a_run_that_cannot_be_ended_as_others_are_fails_and_the_others_are_rescued(stored: Stored) -> None:
    worker = stored.node()
    ids = [stored.enqueue(retries=3, description="guilty" if place == 2 else "").id for place in range(5)]
    worker.take(5)
    refuse(stored, "run", "UPDATE", "NEW.description = 'guilty' AND NEW.failures > 0")
    assert stored.do(rescue, worker.node, reason="silence") == 5
    runs = stored.do(lambda tx: by_ids(tx.conn, ids))
    assert [runs[one].state.value for one in ids] == ["stuck", "stuck", "failed", "stuck", "stuck"]
    why = runs[ids[2]].error or ""
    assert re.search(f"cannot be read, or its end cannot be stored; .* internal error, id {ID}", why)
    assert {row.outcome for row in stored.rows(tables.job_execution)} == {"lost"}


def test_a_line_that_cannot_be_stored_keeps_no_other_from_its_log(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    execution = worker.start().execution_id
    refuse(stored, "execution_log", "INSERT", "NEW.message = 'bad'")
    said = enumerate(("a", "bad", "b"), 1)
    lines = [logs.LogLine(execution, place, stored.now, "info", words) for place, words in said]
    stored.do(append_apart, lines)
    kept = stored.do(lambda tx: logs.after(tx.conn, execution, 0, 10))
    assert [one.message for one in kept][::2] == ["a", "b"]
    assert re.match(f"This line could not be stored: internal error, id {ID}", kept[1].message)
