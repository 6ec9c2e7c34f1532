"""Putting runs into the queue and steering them, on both databases."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from cronograph.jobs import enqueue, enqueue_sync
from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs, retry_now, set_priority, trigger_job
from cronograph.jobs.core.base.errors import InvalidInput, InvalidState, NotFound, UserError
from cronograph.jobs.core.model import NewRun, Priority, Run, Trigger
from cronograph.jobs.core.outcome import Cancelled, Failed, Snoozed, Succeeded
from cronograph.jobs.store.db.database import Database, parse_url
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.types import SchemaText
from tests.support.storage import START, Stored, retry_runs


class TestEnqueue:
    def test_results_come_in_the_order_of_the_request(self, stored: Stored) -> None:
        stored.node()
        runs = [NewRun("work", Trigger.API, description=str(place)) for place in range(50)]
        enqueued = stored.do(enqueue_runs, runs)
        assert [one.run.description for one in enqueued] == [str(place) for place in range(50)]

    def test_one_bad_run_refuses_all_and_says_which(self, stored: Stored) -> None:
        stored.node()
        with pytest.raises(UserError) as caught:
            stored.do(enqueue_runs, [NewRun("work", Trigger.API), NewRun("nope", Trigger.API)])
        assert caught.value.path == ("runs", "1", "jobName")
        assert stored.rows(tables.run) == []

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"group": ""}, "group"),
            ({"group": "a/b"}, "group"),
            ({"retries": -1}, "retries"),
            ({"retry_delay": -1.0}, "retryDelay"),
            ({"timeout": 0.0}, "timeout"),
            ({"unique_key": ""}, "uniqueKey"),
            ({"unique_key": "x" * 201}, "uniqueKey"),
            ({"unique_key": "a\x00b"}, "uniqueKey"),
        ],
    )
    def test_a_bad_setting_is_refused_by_name(self, stored: Stored, changes: dict[str, Any], field: str) -> None:
        stored.node()
        with pytest.raises(UserError) as caught:
            stored.enqueue(**changes)
        assert caught.value.path == ("runs", "0", field)


class TestUniqueKey:
    def test_a_second_unfinished_run_with_the_key_is_the_first(self, stored: Stored) -> None:
        stored.node()
        first, second = (stored.do(enqueue_runs, [NewRun("work", Trigger.API, unique_key="k")])[0] for _ in range(2))
        assert (first.deduplicated, second.deduplicated) == (False, True)
        assert first.run.id == second.run.id

    def test_within_one_request_too(self, stored: Stored) -> None:
        stored.node()
        first, second = stored.do(enqueue_runs, [NewRun("work", Trigger.API, unique_key="k") for _ in range(2)])
        assert (first.run.id, second.deduplicated) == (second.run.id, True)

    @pytest.mark.parametrize("outcome", [Succeeded(), Cancelled("x"), Failed("E", "m", permanent=True)])
    def test_the_key_is_free_once_the_run_is_finished(self, stored: Stored, outcome: Any) -> None:
        worker = stored.node()
        first = stored.enqueue(unique_key="k")
        worker.end(worker.start(), outcome)
        assert stored.enqueue(unique_key="k").id != first.id

    @pytest.mark.parametrize("outcome", [Snoozed(60.0), Failed("E", "m")])
    def test_the_key_is_held_while_the_run_waits_for_another_attempt(self, stored: Stored, outcome: Any) -> None:
        worker = stored.node()
        first = stored.enqueue(unique_key="k")
        worker.end(worker.start(), outcome)
        assert stored.enqueue(unique_key="k").id == first.id

    def test_fifty_at_once_make_one_run(self, stored: Stored) -> None:
        stored.node()
        with ThreadPoolExecutor(10) as pool:
            runs = [one.result() for one in [pool.submit(stored.enqueue, unique_key="k") for _ in range(50)]]
        assert len({run.id for run in runs}) == 1
        assert len(stored.rows(tables.run)) == 1


class TestCancel:
    def test_what_waits_is_cancelled_at_once(self, stored: Stored) -> None:
        worker = stored.node()
        waiting = stored.enqueue(group="a")
        scheduled = stored.enqueue(group="b")
        stored.do(lambda tx: tx.conn.execute(SchemaText("UPDATE cronograph.run SET available_at = submitted_at")))
        later = stored.enqueue(available_at=START + timedelta(hours=1))
        worker.take(0, prefetch=2)
        stuck = stored.enqueue(group="c")
        worker.end(worker.start(), Failed("E", "m"))
        ids = [waiting.id, scheduled.id, later.id, stuck.id]
        cancelled = stored.do(cancel_runs, ids, reason="enough", actor="ann")
        assert [run.state.value for run in cancelled] == ["cancelled"] * 4
        assert {run.error for run in cancelled} == {"cancelled by ann: enough"}

    def test_what_runs_is_asked_to_stop_and_then_ends_cancelled(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        started = worker.start()
        (asked,) = stored.do(cancel_runs, [run.id], actor="ann")
        assert (asked.state.value, asked.cancel_requested_at) == ("running", stored.now)
        worker.end(started, Succeeded(5))
        (execution,) = stored.rows(tables.job_execution)
        assert (execution.outcome, execution.records_processed) == ("cancelled", 5)

    def test_what_is_finished_stays_as_it_is(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        worker.end(worker.start())
        assert stored.do(cancel_runs, [run.id], actor="ann")[0].state.value == "success"

    def test_an_unknown_id_is_refused_and_nothing_is_cancelled(self, stored: Stored) -> None:
        stored.node()
        run = stored.enqueue()
        with pytest.raises(NotFound, match="run '999' does not exist"):
            stored.do(cancel_runs, [run.id, 999], actor="ann")
        assert stored.rows(tables.run)[0].state == "waiting"


class TestRetry:
    def test_a_finished_run_is_made_again_and_linked(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue(args={"x": 1}, group="acme", priority=Priority.HIGH)
        worker.end(worker.start(), Failed("E", "m", permanent=True))
        (again,) = stored.do(retry_runs, [run.id], actor="ann")
        assert (again.retried_from, again.trigger, again.args) == (run.id, Trigger.RETRY, {"x": 1})
        assert (again.group, again.priority, again.submitter) == ("acme", Priority.HIGH, "ann")

    def test_with_other_arguments_if_wanted(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue(args={"x": 1})
        worker.end(worker.start())
        (again,) = stored.do(retry_runs, [run.id], args={"x": 2}, actor="ann")
        assert again.args == {"x": 2}

    def test_the_nominal_time_is_kept(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("* * * * * *")
        stored.at(1)
        stored.dispatch()
        started = worker.start()
        worker.end(started)
        (again,) = stored.do(retry_runs, [started.run.id])
        assert again.scheduled_for == started.run.scheduled_for

    def test_an_unfinished_run_is_not_retried(self, stored: Stored) -> None:
        stored.node()
        run = stored.enqueue()
        with pytest.raises(InvalidState, match="can be made due now"):
            stored.do(retry_runs, [run.id])

    def test_only_what_waits_can_be_made_due_now(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        worker.start()
        with pytest.raises(InvalidState, match="only waiting and stuck"):
            stored.do(retry_now, run.id)


def test_the_priority_of_what_waits_can_change(stored: Stored) -> None:
    worker = stored.node()
    first, second = stored.enqueue(), stored.enqueue()
    stored.do(set_priority, [second.id], Priority.HIGH)
    assert worker.start().run.id == second.id
    unchanged = stored.do(set_priority, [first.id, second.id], Priority.HIGH)
    assert [run.priority for run in unchanged] == [Priority.HIGH, Priority.HIGH]


def test_triggering_a_job_by_hand_validates_its_arguments(stored: Stored) -> None:
    stored.node()
    assert stored.do(trigger_job, "work", actor="ann").run.trigger is Trigger.MANUAL
    with pytest.raises(UserError, match="Unknown job: wokr"):
        stored.do(trigger_job, "wokr", actor="ann")


class TestInTheUsersTransaction:
    """``enqueue`` and ``enqueue_sync``: committed with the user's data, or not at all."""

    @pytest.fixture
    def engine(self, stored: Stored) -> Iterator[Engine]:
        engine = create_engine(stored.database.url)
        with engine.begin() as conn:
            conn.execute(text("CREATE TABLE purchase (id INTEGER PRIMARY KEY)"))
        yield engine
        engine.dispose()

    def test_a_committed_session_leaves_data_run_and_event(self, stored: Stored, engine: Engine) -> None:
        with Session(engine) as session:
            session.execute(text("INSERT INTO purchase VALUES (1)"))
            run = enqueue_sync(session, "work", {"purchase": 1}, group="shop")
            session.commit()
        (row,) = stored.rows(tables.run)
        assert (row.id, row.args, row.group_name, row.trigger) == (run.id, {"purchase": 1}, "shop", "api")
        assert len(stored.rows(tables.event)) == 1
        # The user's transaction carries the database's time, not that of the test's clock.
        stored.now = run.available_at
        assert stored.node().start().run.id == run.id

    def test_a_rolled_back_session_leaves_nothing(self, stored: Stored, engine: Engine) -> None:
        with Session(engine) as session:
            session.execute(text("INSERT INTO purchase VALUES (1)"))
            enqueue_sync(session, "work")
            session.rollback()
        assert stored.rows(tables.run) == []
        assert stored.rows(tables.event) == []

    def test_a_plain_connection_will_do(self, stored: Stored, engine: Engine) -> None:
        with engine.begin() as conn:
            enqueue_sync(conn, "work", unique_key="k")
            again = enqueue_sync(conn, "work", unique_key="k")
        (row,) = stored.rows(tables.run)
        assert row.id == again.id

    def test_any_job_name_is_accepted_but_no_bad_setting(self, stored: Stored, engine: Engine) -> None:
        with engine.begin() as conn:
            assert enqueue_sync(conn, "not_deployed_yet").job_name == "not_deployed_yet"
            with pytest.raises(InvalidInput, match="group"):
                enqueue_sync(conn, "work", group="a/b")
        assert len(stored.rows(tables.run)) == 1

    @pytest.mark.parametrize("priority", ["high", "HIGH", Priority.HIGH])
    def test_the_priority_may_be_a_word(self, engine: Engine, priority: Priority | str) -> None:
        with engine.begin() as conn:
            assert enqueue_sync(conn, "work", priority=priority).priority is Priority.HIGH

    def test_a_text_that_only_looks_like_a_nul_is_kept(self, engine: Engine) -> None:
        with engine.begin() as conn:
            assert enqueue_sync(conn, "work", {"x": "\\u0000"}).args == {"x": "\\u0000"}

    @pytest.mark.parametrize(
        ("bad", "sentence"),
        [
            ({"priority": "urgent"}, "priority: must be 'high' or 'low', got 'urgent'"),
            ({"priority": 1}, "priority: must be 'high' or 'low', got 1"),
            ({"run_at": datetime(2030, 1, 1)}, "run_at: must have a time zone"),  # noqa: DTZ001
            ({"run_at": "x"}, "run_at: must be a datetime with a time zone, e.g. datetime.now(UTC), or None, got 'x'"),
            ({"group": 5}, "group: must be a text, got 5"),
            ({"unique_key": 5}, "unique_key: must be a text, got 5"),
            ({"retries": "2"}, "retries: must be a whole number from 0 to 1,000, got '2'"),
            ({"retries": 1.5}, "retries: must be a whole number from 0 to 1,000, got 1.5"),
            ({"retries": True}, "retries: must be a whole number from 0 to 1,000, got True"),
            ({"retry_delay": "soon"}, "retry_delay: must be seconds, a timedelta or a text such as '90s'"),
            ({"args": [1]}, "args: must be a mapping of names to values, got [1]"),
            ({"args": {"x": object()}}, "args: must be JSON"),
            ({"args": {"x": float("nan")}}, "args: must be JSON"),
            ({"args": {"x": ["a\x00"]}}, "args: a text must not hold the character U+0000"),
            ({"args": {"x\\\x00": 1}}, "args: a text must not hold the character U+0000"),
            ({"args": {"x": "\ud800"}}, "args: a text must not hold half of a surrogate pair"),
        ],
    )
    def test_what_no_database_could_store_is_refused_by_name_and_spoils_no_transaction(
        self, stored: Stored, engine: Engine, bad: dict[str, Any], sentence: str
    ) -> None:
        with engine.begin() as conn:
            with pytest.raises(InvalidInput) as caught:
                enqueue_sync(conn, "work", **bad)
            assert caught.value.message.startswith(sentence)
            conn.execute(text("INSERT INTO purchase VALUES (1)"))
        assert stored.rows(tables.run) == []


@pytest.mark.postgres
async def test_enqueueing_in_an_asynchronous_session(postgres_url: str) -> None:
    stored = Stored(postgres_url)
    engine = create_async_engine(stored.database.url)
    async with AsyncSession(engine) as session:
        await enqueue(session, "work", {"x": 1})
        await session.rollback()
    assert stored.rows(tables.run) == []
    async with AsyncSession(engine) as session:
        run: Run = await enqueue(session, "work", {"x": 1})
        await session.commit()
    assert [row.id for row in stored.rows(tables.run)] == [run.id]
    await engine.dispose()
    stored.close()


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://localhost/x", "sqlite://", "sqlite:///:memory:", "http://localhost"]
)
def test_a_database_address_that_cannot_be_used_is_refused_with_the_forms_that_can(url: str) -> None:
    with pytest.raises(Exception, match="database URL: ") as caught:
        parse_url(url)
    assert type(caught.value).__name__ == "ConfigurationError"


def test_an_address_keeps_its_password_for_plain_connections() -> None:
    database = Database("postgresql://ann:s%40crt@localhost:5433/app")
    assert database.libpq_url().partition("?")[0] == "postgresql://ann:s%40crt@localhost:5433/app"
