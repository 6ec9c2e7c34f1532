"""The ends of steps are stored once, by the attempt that has the run, and by no other."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronograph.jobs.core.events import EventKind, spread
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.core.steps import StepEnd, StepState
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.queue.steps import (
    EndedStep,
    copy_results,
    labels_before,
    mark_unused,
    results_of,
    rows_of,
    rows_to_store,
    store,
)
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import nodes as stored_nodes
from cronograph.jobs.store.statements import runs as stored_runs
from tests.support.storage import Stored, Worker
from tests.support.waiting import wait_until

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def end(label: str, value: Any = None, error: str | None = None, second: float = 0) -> StepEnd:
    at = BEGIN + timedelta(seconds=second)
    return StepEnd(label, at, at + timedelta(seconds=1), value, error)


async def keep(stored: Stored, worker: Worker, started: Started, *ends: StepEnd) -> list[bool]:
    ended = [EndedStep(started.run, one) for one in ends]
    return await store(stored.database, None, (worker.node.id, worker.node.name), ended)


def of_run(stored: Stored, run_id: int) -> list[tuple[str, StepState, int, Any, str | None, bool]]:
    found = stored.do(lambda tx: stored_runs.steps_of_runs(tx.conn, [run_id])[run_id])
    return [(one.label, one.state, one.attempt, one.value, one.error, one.used) for one in found]


async def test_results_and_failures_are_stored_with_one_event(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    kept = await keep(
        stored, worker, started, end("a", {"n": 1}), end("b", None, second=2), end("c", error="no luck", second=3)
    )
    assert kept == [True, True, True]
    assert of_run(stored, run.id) == [
        ("a", StepState.DONE, 1, {"n": 1}, None, True),
        ("b", StepState.DONE, 1, None, None, True),
        ("c", StepState.FAILED, 1, None, "no luck", True),
    ]
    last = stored.rows(tables.event)[-1]
    told = [(one.kind, one.run_id, one.step, one.state, one.node) for one in spread(last.changes)]
    assert told == [
        (EventKind.STEP_FINISHED, run.id, "a", "done", "node-a"),
        (EventKind.STEP_FINISHED, run.id, "b", "done", "node-a"),
        (EventKind.STEP_FINISHED, run.id, "c", "failed", "node-a"),
    ]
    results = stored.do(lambda tx: stored_runs.step_results_of(tx.conn, [run.id]))[run.id]
    assert {label: (one.attempt, one.value) for label, one in results.items()} == {"a": (1, {"n": 1}), "b": (1, None)}


async def test_a_repeated_statement_changes_nothing_and_says_the_same(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    assert await keep(stored, worker, started, end("a", 1)) == [True]
    assert await keep(stored, worker, started, end("a", 2)) == [True]
    assert [one[3] for one in of_run(stored, run.id)] == [1]


async def test_an_attempt_whose_run_was_taken_stores_nothing(stored: Stored) -> None:
    paused, other = stored.node("paused"), stored.node("other")
    run = stored.enqueue(retries=3)
    late = paused.start()
    dead = stored.do(lambda tx: stored_nodes.by_ids(tx.conn, [paused.node.id])[paused.node.id])
    stored.do(rescue, dead, reason="no heartbeat")
    assert await keep(stored, paused, late, end("a", "late")) == [False]
    stored.pass_time(1)
    again = other.start()
    assert again.run.id == run.id
    assert await keep(stored, paused, late, end("a", "late")) == [False]
    # Neither by the right node with the wrong attempt, nor by the wrong node with the right one.
    assert await keep(stored, other, late, end("a", "late")) == [False]
    assert await keep(stored, paused, again, end("a", "late")) == [False]
    assert await keep(stored, other, again, end("a", "right")) == [True]
    other.end(again)
    assert await keep(stored, other, again, end("b", "after the end")) == [False]
    assert [(one[0], one[2], one[3]) for one in of_run(stored, run.id)] == [("a", 2, "right")]


async def test_of_many_runs_each_is_judged_by_itself(stored: Stored) -> None:
    worker = stored.node()
    runs = [stored.enqueue() for _ in range(3)]
    begun = worker.take(3).started
    worker.end(begun[1])
    ended = [EndedStep(one.run, end("a", one.run.id)) for one in reversed(begun)]
    assert await store(stored.database, None, (worker.node.id, worker.node.name), ended) == [True, False, True]
    assert [len(of_run(stored, run.id)) for run in runs] == [1, 0, 1]


async def test_a_step_that_failed_is_kept_beside_the_result_of_a_later_attempt(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue(retries=3, retry_delay=0.0)
    for attempt in (1, 2, 3):
        started = worker.start()
        error = None if attempt == 3 else f"no luck {attempt}"
        await keep(stored, worker, started, end("a", None if error else 7, error))
        if error is not None:
            worker.end(started, Failed("ValueError", error))
            stored.pass_time(1)
    assert [(one[2], one[3], one[4]) for one in of_run(stored, run.id)] == [
        (1, None, "no luck 1"),
        (2, None, "no luck 2"),
        (3, 7, None),
    ]


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_who_takes_a_run_waits_for_its_steps_that_are_being_stored(stored: Stored, database_url: str) -> None:
    """Otherwise the next attempt could read the steps before one of them is there, and do it again."""
    worker = stored.node()
    run = stored.enqueue(retries=3)
    started = worker.start()
    dead = stored.do(lambda tx: stored_nodes.by_ids(tx.conn, [worker.node.id])[worker.node.id])
    seen: list[int] = []

    def take() -> None:
        other = Stored(database_url)
        other.do(rescue, dead, reason="no heartbeat")
        seen.append(len(of_run(other, run.id)))
        other.close()

    taking = threading.Thread(target=take)

    def store_slowly(tx: Tx) -> None:
        rows = rows_of([EndedStep(started.run, end("a", 1))])
        rows_to_store(tx, (worker.node.id, worker.node.name), rows)
        taking.start()
        waiting = SchemaText("SELECT count(*) FROM pg_locks WHERE NOT granted")
        wait_until(lambda: tx.conn.execute(waiting).scalar_one() > 0, message="the rescue to wait for a lock")

    stored.do(store_slowly)
    taking.join()
    assert seen == [1]


async def test_a_run_made_again_gets_the_results_before_a_step(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    await keep(stored, worker, started, end("a", 1), end("b", 2, second=1), end("c", error="no luck", second=2))
    worker.end(started, Failed("ValueError", "no luck", permanent=True))
    again = stored.enqueue()
    assert stored.do(labels_before, run, "c") == ["a", "b"]
    stored.do(lambda tx: copy_results(tx.conn, run.id, again.id, ["a", "b"]))
    assert [(one[0], one[2], one[3]) for one in of_run(stored, again.id)] == [("a", 0, 1), ("b", 0, 2)]


async def test_what_nobody_asked_for_is_marked(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    await keep(stored, worker, started, end("a", 1), end("b", 2))
    stored.do(mark_unused, started.run, {"b"})
    assert [(one[0], one[5]) for one in of_run(stored, run.id)] == [("a", True), ("b", False)]


async def test_only_some_steps_of_each_run_are_read_if_asked(stored: Stored) -> None:
    worker = stored.node()
    runs = [stored.enqueue() for _ in range(2)]
    for started in worker.take(2).started:
        await keep(stored, worker, started, *(end(f"s{number}", second=number) for number in range(5)))
    found = stored.do(lambda tx: stored_runs.steps_of_runs(tx.conn, [one.id for one in runs], 2))
    assert {key: [one.label for one in steps] for key, steps in found.items()} == {run.id: ["s0", "s1"] for run in runs}
    found = stored.do(lambda tx: stored_runs.steps_of_runs(tx.conn, [one.id for one in runs], 9, 3))
    assert {key: [one.label for one in steps] for key, steps in found.items()} == {run.id: ["s3", "s4"] for run in runs}


async def test_a_step_that_a_later_attempt_took_again_is_not_the_latest_on_whichever_page(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue(retries=1, retry_delay=0.0)
    await keep(stored, worker, first := worker.start(), end("a", 1), end("mail", error="no luck", second=1))
    worker.end(first, Failed("ValueError", "no luck"))
    stored.pass_time(1)
    await keep(stored, worker, worker.start(), end("mail", 2, second=60), end("mail#2", 3, second=61))
    pages = [
        stored.do(lambda tx: stored_runs.steps_of_runs(tx.conn, [run.id], 2)[run.id]),
        stored.do(lambda tx: stored_runs.steps_of_runs(tx.conn, [run.id], 2, 2)[run.id]),
    ]
    told = [(one.label, one.attempt, one.latest) for page in pages for one in page]
    assert told == [("a", 1, True), ("mail", 1, False), ("mail", 2, True), ("mail#2", 2, True)]
    assert stored.do(lambda tx: stored_runs.steps_of_runs(tx.conn, [run.id])[run.id]) == pages[0] + pages[1]


async def test_results_are_read_again_where_the_connection_was_lost(postgres_url: str) -> None:
    database = Database(postgres_url)
    connection = database.autocommit_connection()
    assert connection is not None
    assert await results_of(database, connection, [1], retry_for=0) == {}
    others = SchemaText(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await database.read(lambda conn: conn.execute(others).all())
    assert await results_of(database, connection, [1], retry_for=0) == {}
    await connection.close()
    await database.close()
