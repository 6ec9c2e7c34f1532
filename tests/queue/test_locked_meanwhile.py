"""What is locked by an application at the moment of its time is passed over, and looked at again soon after."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import Table, select, text, update

from cronograph.jobs import enqueue_sync
from cronograph.jobs.core.admission.caps import Cap, Rate
from cronograph.jobs.core.defaults import FOLLOWED, JobDefaults
from cronograph.jobs.core.limits import Limits, UniqueKey
from cronograph.jobs.core.model import NewRun, OverlapPolicy, Trigger
from cronograph.jobs.core.outcome import Succeeded, Suspended
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.cancel import fail_overdue
from cronograph.jobs.queue.claims.candidates import skip_due
from cronograph.jobs.queue.limits.admission import (
    AGAIN,
    BucketName,
    is_anything_held,
    look_for_forgotten,
    look_for_slots,
    look_for_tokens,
)
from cronograph.jobs.queue.occurrences import Dispatched, dispatch_due
from cronograph.jobs.store.db.database import sync_engine
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.rows import defaults_document
from tests.support.storage import Stored

on_postgres = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
CUSTOMER = UniqueKey(("customer",), "{customer}")
ONE_EACH = Limits(concurrency_key=CUSTOMER, max_concurrent=1)
ONE_A_SECOND = Limits(rate=Rate(1, 1.0, 1), rate_key=CUSTOMER)


@contextmanager
def locked(stored: Stored, table: Table, *ids: int) -> Iterator[None]:
    """Rows that an application has locked in a transaction that it keeps open."""
    engine = sync_engine(stored.database.url)
    try:
        with engine.begin() as conn:
            conn.execute(select(table.c.id).where(table.c.id.in_(ids)).with_for_update()).all()
            yield
    finally:
        engine.dispose()


def state(stored: Stored, run_id: int) -> str:
    found: str = stored.rows(tables.run, id=run_id)[0].state
    return found


def put(stored: Stored, customers: str) -> list[int]:
    return [stored.enqueue_by_job(args={"customer": one}).id for one in customers]


@on_postgres
def test_a_run_that_is_locked_when_its_token_comes_is_let_go_by_the_next_look(stored: Stored) -> None:
    worker = stored.node(limits=ONE_A_SECOND)
    first, second = put(stored, "aa")
    assert [one.run.id for one in worker.take(20).started] == [first]
    stored.pass_time(1.0)
    with locked(stored, tables.run, second):
        assert stored.do(look_for_tokens) == stored.now + AGAIN
        assert worker.take(20).started == ()
    stored.pass_time(AGAIN.total_seconds())
    stored.do(look_for_tokens)
    assert [one.run.id for one in worker.take(20).started] == [second]


def test_a_bucket_that_nobody_looks_at_is_found_by_the_runs_that_wait_for_it(stored: Stored) -> None:
    worker = stored.node(limits=ONE_A_SECOND)
    put(stored, "aabb")
    assert len(worker.take(20).started) == 2
    stored.do(lambda tx: tx.conn.execute(update(tables.rate_bucket).values(next_token_at=None)))
    stored.pass_time(5.0)
    assert stored.do(look_for_tokens) is None
    assert stored.do(lambda tx: is_anything_held(tx.conn))
    after = stored.do(look_for_forgotten, BucketName("", ""), at_most=1)
    assert after == BucketName("work", "a")
    assert stored.do(look_for_forgotten, after, at_most=5) == BucketName("", "")
    stored.do(look_for_tokens)
    assert len(worker.take(20).started) == 2
    assert stored.do(look_for_forgotten, BucketName("", "")) == BucketName("", "")


@on_postgres
def test_a_run_that_is_locked_when_a_slot_of_its_key_is_free_is_let_go_by_the_next_look(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    _, second = put(stored, "aa")
    (started,) = worker.take(20).started
    with locked(stored, tables.run, second):
        worker.end(started)
        assert worker.take(20).started == ()
    stored.do(look_for_slots, "")
    assert [one.run.id for one in worker.take(20).started] == [second]


@on_postgres
def test_a_sleeper_that_is_locked_when_its_time_comes_is_woken_by_the_next_look(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue().id
    worker.end(worker.start(), Suspended(Awaits(AwaitedKind.TIME, "nap"), 30.0))
    stored.pass_time(31.0)
    with locked(stored, tables.run, run_id):
        looks_again_soon(stored.do(dispatch_due, "node-a"))
    assert stored.do(dispatch_due, "node-a").more
    assert state(stored, run_id) == RunState.WAITING


@on_postgres
def test_a_task_that_is_locked_when_it_is_due_fires_by_the_next_look(stored: Stored) -> None:
    stored.node()
    task = stored.task()
    stored.pass_time(60.0)
    with locked(stored, tables.periodic_task, task.id):
        looks_again_soon(stored.do(dispatch_due, "node-a"))
    assert stored.do(dispatch_due, "node-a").made == 1


@on_postgres
def test_a_dispatch_under_replace_waits_for_no_claim_of_the_older_run(stored: Stored) -> None:
    stored.node()
    stored.task(overlap=OverlapPolicy.REPLACE)
    stored.at(60.0)
    assert stored.dispatch() == 1
    (older,) = stored.rows(tables.run)
    stored.at(120.0)
    with locked(stored, tables.run, older.id):
        looks_again_soon(stored.do(dispatch_due, "node-a"))
    assert stored.do(dispatch_due, "node-a").made == 1
    assert state(stored, older.id) == RunState.CANCELLED


def looks_again_soon(dispatched: Dispatched) -> None:
    """A dispatcher neither forgets what it could not have nor asks for it all the time."""
    assert (dispatched.made, dispatched.more) == (0, False)
    assert dispatched.next_at is not None


@on_postgres
def test_runs_that_are_locked_when_they_have_to_end_are_ended_by_the_next_look(stored: Stored) -> None:
    worker = stored.node()
    sleeper = stored.enqueue(max_duration=10.0).id
    worker.end(worker.start(), Suspended(Awaits(AwaitedKind.SIGNAL, "go")))
    late = stored.enqueue(expires_at=stored.now + timedelta(seconds=10)).id
    stored.pass_time(11.0)
    with locked(stored, tables.run, late, sleeper):
        assert (stored.do(skip_due, None), stored.do(fail_overdue, None)) == (0, 0)
    assert (stored.do(skip_due, None), stored.do(fail_overdue, None)) == (1, 1)
    assert (state(stored, late), state(stored, sleeper)) == (RunState.SKIPPED, RunState.FAILED)


@on_postgres
def test_an_end_that_enqueues_waits_for_no_transaction_that_enqueues_into_the_same_line(stored: Stored) -> None:
    worker = stored.node(limits=Limits(cap=Cap(1)))
    run_id = put(stored, "a")[0]
    started = worker.start()
    engine = sync_engine(stored.database.url)
    with engine.connect() as theirs:
        enqueue_sync(theirs, "work", {"customer": "b"})
        follow_up = NewRun("work", Trigger.API, inherits=FOLLOWED, args={"customer": "c"})
        assert worker.end(started, Succeeded(), at_end=(follow_up,)).accepted == {run_id}
        theirs.commit()
    engine.dispose()
    assert state(stored, run_id) == RunState.SUCCESS
    # Nobody was there who could be refused, or wait: both are there, and the next one finds the line full.
    waiting = [row.args["customer"] for row in stored.rows(tables.run, state="waiting")]
    assert sorted(waiting) == ["b", "c"]


@contextmanager
def enqueueing(stored: Stored, customer: str) -> Iterator[None]:
    """An application that has enqueued a run in a transaction which it keeps open, and takes back at last."""
    engine = sync_engine(stored.database.url)
    try:
        with engine.connect() as theirs:
            enqueue_sync(theirs, "work", {"customer": customer}, unique_key=f"work-{customer}")
            yield
    finally:
        engine.dispose()


@on_postgres
def test_an_end_whose_follow_up_has_a_key_that_an_application_is_about_to_take_does_not_wait(stored: Stored) -> None:
    worker = stored.node()
    run_id = put(stored, "a")[0]
    started = worker.start()
    follow_up = NewRun("work", Trigger.API, inherits=FOLLOWED, args={"customer": "b"}, unique_key="work-b")
    with enqueueing(stored, "b"):
        worker.end(started, Succeeded(), at_end=(follow_up,))
        assert stored.do(lambda tx: tx.conn.execute(text("SHOW lock_timeout")).scalar_one()) == "10s"
    (run,) = stored.rows(tables.run)
    assert (run.id, run.state) == (run_id, RunState.SUCCESS)
    (lost,) = run.lost_follow_ups
    assert "a transaction that is still open" in lost["reason"]


@on_postgres
def test_a_due_task_whose_key_an_application_is_about_to_take_holds_up_no_other(stored: Stored) -> None:
    stored.node(jobs=("work", "other"))
    key = UniqueKey(("customer",), "work-{customer}")
    said = update(tables.job).where(tables.job.c.name == "work")
    stored.do(lambda tx: tx.conn.execute(said.values(defaults=defaults_document(JobDefaults(unique_key=key)))))
    stored.task(args={"customer": "b"})
    stored.task(name="plain", job_name="other")
    stored.pass_time(60.0)
    with enqueueing(stored, "b"):
        dispatched = stored.do(dispatch_due, "node-a")
        assert (dispatched.made, dispatched.more) == (1, False)
    assert stored.do(dispatch_due, "node-a").made == 1
