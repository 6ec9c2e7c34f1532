"""Runs that a job puts into the queue itself: typed arguments, options, sessions, and the handle, on both databases."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import Engine, create_engine, select, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from cronograph.jobs import (
    JobContext,
    Result,
    RunFailed,
    RunSpec,
    connect,
    enqueue,
    enqueue_many,
    enqueue_many_sync,
    enqueue_sync,
    job,
)
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidInput, NotFound
from cronograph.jobs.core.model import Enqueued
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.core.run_spec import RunTarget
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.db.opening import connected
from cronograph.jobs.store.schema import tables
from tests.support.storage import Stored
from tests.support.waiting import wait_until

JOBS = Registry()


def key_of(source: str, since: date | None) -> str:
    """One import at a time of what one shop has had since a day."""
    return f"import-{source}-{since}"


class Size(Enum):
    """How large."""

    SMALL = "s"


class Address(BaseModel):
    """A typed argument."""

    street: str
    built: date


@job(registry=JOBS, group="shop", retries=0, unique_key=key_of)
async def import_orders(ctx: JobContext, source: str = "web", since: date | None = None) -> None: ...


@job(registry=JOBS)
def label(address: Address, size: Size = Size.SMALL, _group: str = "none") -> Result:
    return Result()


HERE = Address(street="Elm", built=date(2026, 3, 1))


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    """What the jobs use without a session."""
    with connect(database_url, registry=JOBS) as connection:
        yield connection
    assert JOBS.queue is None


async def test_without_a_session_a_run_is_committed_at_once(connection: Connection) -> None:
    handle = await import_orders.enqueue(None, "api", since=date(2026, 3, 1))
    assert handle.run.args == {"source": "api", "since": "2026-03-01"}
    assert (handle.run.group, handle.run.retries, handle.run.unique_key) == ("shop", 0, "import-api-2026-03-01")
    again = import_orders.enqueue_sync(source="api", since=date(2026, 3, 1))
    assert again.run_id == handle.run_id
    assert repr(handle) == f"<run {handle.run_id} of job 'import_orders'>"
    assert await handle.status() == "waiting"
    assert await handle.cancel("not today") == "cancelled"
    with pytest.raises(RunFailed, match="ended cancelled: cancelled: not today") as caught:
        await handle.result()
    assert (caught.value.run_id, caught.value.state) == (handle.run_id, "cancelled")


def test_a_run_without_a_session_is_stored_as_one_of_a_session_is(connection: Connection, database_url: str) -> None:
    tomorrow = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    runs = {"group": "g", "priority": "high", "run_at": tomorrow, "retries": 5, "retry_delay": 2.0, "timeout": 9.0}
    alone = connection.put(RunSpec("unheard of", {"text": 'ä"\\', "n": 1}, **runs)).run  # type: ignore[arg-type]
    with connected(database_url) as conn, conn.begin():
        beside = enqueue_sync(conn, "unheard of", {"text": 'ä"\\', "n": 1}, **runs)  # type: ignore[arg-type]
        keyed = enqueue_sync(conn, "unheard of", unique_key="one at a time")
    assert replace(alone, id=beside.id, submitted_at=beside.submitted_at) == beside
    assert connection.find(RunTarget(alone.id)) == alone
    assert connection.put(RunSpec("unheard of", unique_key="one at a time")) == Enqueued(keyed, deduplicated=True)
    with connected(database_url) as conn, conn.begin():
        # What was there already is no change.
        assert len(conn.execute(select(tables.event)).all()) == 3
    with pytest.raises(InvalidInput, match="priority: must be 'high' or 'low', got 'higher'"):
        connection.put(RunSpec("unheard of", priority="higher"))


async def test_options_belong_to_one_run_and_may_be_written_behind_an_underscore(connection: Connection) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    urgent = import_orders.options(priority="high", timeout=timedelta(minutes=1), unique_key="k")
    first = (await urgent.enqueue()).run
    assert (first.priority, first.timeout, first.unique_key, first.group) == ("high", 60.0, "k", "shop")
    # What only stands behind an underscore is nothing that a type checker knows.
    loosely: Any = import_orders
    second = loosely.enqueue_sync(source="x", _at=tomorrow, _group="own").run
    assert (second.available_at, second.group, second.priority) == (tomorrow, "own", "low")
    with pytest.raises(TypeError, match="a run has no option 'prioritty'; there are run_at,"):
        import_orders.options(prioritty="high").enqueue_sync()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_arguments_become_json_and_a_parameter_of_an_options_name_stays_an_argument(connection: Connection) -> None:
    run = label.enqueue_sync(None, Address(street="Here", built=date(1900, 1, 1)), _group="mine").run
    assert run.args == {"address": {"street": "Here", "built": "1900-01-01"}, "_group": "mine"}
    assert run.group == "default"
    assert label.definition.bind(run.args, None)["address"] == Address(street="Here", built=date(1900, 1, 1))


def test_arguments_that_do_not_fit_are_refused_before_anything_is_written(connection: Connection) -> None:
    with pytest.raises(InvalidInput, match=r"argument 'address\.built' of job 'label': Input should be a valid date"):
        label.enqueue_sync(None, {"street": "Here", "built": "long ago"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="missing a required argument: 'address'"):
        label.enqueue_sync()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'sauce'"):
        import_orders.enqueue_sync(sauce="web")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def test_an_argument_in_the_place_of_the_session_is_shown_how_to_be_written() -> None:
    anything: Any = "shop"
    says = "the first argument is a session or connection of SQLAlchemy, or a connection of psycopg 3, got 'shop'; "
    with pytest.raises(TypeError) as caught:
        import_orders.enqueue_sync(anything)
    assert str(caught.value) == (
        f"import_orders.enqueue_sync: {says}write import_orders.enqueue_sync(source='shop'), or "
        "import_orders.enqueue_sync(None, 'shop')"
    )
    with pytest.raises(
        TypeError, match=r"^import_orders\.enqueue: .* write import_orders\.enqueue\(source='shop'\), or"
    ):
        await import_orders.enqueue(anything, since=None)
    by_name = "connect to the database, and call {}(session, …), or the job's own enqueue"
    for wrong in ("shop", None):
        anything = wrong
        with pytest.raises(TypeError) as caught:
            enqueue_sync(anything, "import_orders")
        assert str(caught.value).endswith(by_name.format("enqueue_sync"))
        with pytest.raises(TypeError) as caught:
            await enqueue(anything, "import_orders")
        assert str(caught.value).endswith(by_name.format("enqueue"))
    with pytest.raises(TypeError, match=r"^enqueue_many_sync: "):
        enqueue_many_sync(anything, [])
    with pytest.raises(TypeError, match=r"^enqueue_many: "):
        await enqueue_many(anything, [])


async def test_a_session_of_the_other_kind_is_shown_which_function_takes_it() -> None:
    engine, other = create_engine("sqlite://"), create_async_engine("postgresql+psycopg://nowhere/x")
    plain: Any = Session(engine)
    awaited: Any = AsyncSession(other)
    with pytest.raises(TypeError, match=r"the session is synchronous; call import_orders\.enqueue_sync\(session, …\)"):
        await import_orders.enqueue(plain)
    with pytest.raises(TypeError, match=r"the session is asynchronous; await import_orders\.enqueue\(session, …\)"):
        import_orders.enqueue_sync(awaited)
    engine.dispose()
    await other.dispose()


def test_a_run_is_part_of_the_users_transaction(connection: Connection, database_url: str) -> None:
    engine = create_engine(database_url)
    with engine.connect() as conn:
        lost = import_orders.enqueue_sync(conn, "web")
        conn.rollback()
        with pytest.raises(NotFound, match="was its session committed"):
            lost.status_sync()
        kept = import_orders.enqueue_sync(conn, "shop")
        specs = [import_orders.run(str(place)) for place in range(3)]
        ids = enqueue_many_sync(conn, [*specs, import_orders.options(group="own").run()])
        conn.commit()
    engine.dispose()
    assert kept.status_sync() == "waiting"
    assert len(set(ids)) == 4
    stored = connection.find(RunTarget(ids[3]))
    assert stored is not None
    assert (stored.group, stored.args) == ("own", {})


def test_a_run_is_cancelled_in_the_users_transaction(connection: Connection, database_url: str) -> None:
    run = import_orders.enqueue_sync(source="web")
    engine = create_engine(database_url)
    with engine.connect() as conn:
        assert import_orders.cancel_sync(conn, unique_key="import-web-None", reason="left") == "cancelled"
        conn.rollback()
        assert run.status_sync() == "waiting"
        new = import_orders.enqueue_sync(conn, "new")
        # A refusal leaves the transaction as it was.
        with pytest.raises(NotFound, match="unfinished run of job 'import_orders' with the unique key"):
            import_orders.cancel_sync(conn, unique_key="nobody")
        with pytest.raises(NotFound, match="run of job 'label'"):
            label.cancel_sync(conn, run_id=run.run_id)
        assert import_orders.cancel_sync(conn, unique_key="import-web-None", reason="left") == "cancelled"
        # Also what the same transaction has enqueued.
        assert import_orders.cancel_sync(conn, run_id=new.run_id) == "cancelled"
        conn.commit()
    engine.dispose()
    stored = connection.find(RunTarget(run.run_id))
    assert stored is not None
    assert (stored.state, stored.error, new.status_sync()) == ("cancelled", "cancelled: left", "cancelled")


@pytest.mark.postgres
async def test_a_signal_is_sent_and_a_run_cancelled_in_an_asynchronous_session(postgres_url: str) -> None:
    with connect(postgres_url, registry=JOBS):
        await _signals_and_cancels(Stored(postgres_url))


async def _signals_and_cancels(stored: Stored) -> None:
    run = await import_orders.enqueue(None, "web")
    with pytest.raises(TypeError, match="give either unique_key or run_id"):
        await import_orders.cancel()
    with pytest.raises(TypeError, match="the session is synchronous"):
        await import_orders.cancel(create_engine("sqlite://").connect(), run_id=run.run_id)  # type: ignore[arg-type]
    engine = create_async_engine(stored.database.url)
    async with AsyncSession(engine) as session:
        with pytest.raises(InvalidInput):
            await import_orders.signal(session, name="", run_id=run.run_id)
        assert await import_orders.signal(session, name="paid", payload=7, unique_key="import-web-None") == "waiting"
        await session.rollback()
        assert await import_orders.signal(session, name="paid", payload=8, unique_key="import-web-None") == "waiting"
        await session.commit()
    await engine.dispose()
    assert await import_orders.signal(name="paid", payload=9, run_id=run.run_id) == "waiting"
    assert [row.payload for row in stored.rows(tables.run_signal)] == [8, 9]
    assert await import_orders.cancel(unique_key="import-web-None") == "cancelled"
    stored.close()


async def test_a_result_is_waited_for(connection: Connection, stored: Stored) -> None:
    stored.now = datetime.now(UTC) + timedelta(hours=1)
    worker = stored.node(jobs=("import_orders",))
    good, bad = await import_orders.enqueue(None, "good"), await import_orders.enqueue(None, "bad")
    with pytest.raises(TimeoutError, match=rf"run {good.run_id} of job 'import_orders' has not ended within 0 s"):
        await good.result(timeout=0)
    with pytest.raises(TimeoutError):
        good.result_sync(timeout=0)
    worker.end(worker.start(), Succeeded(2, {"rows": 2}))
    worker.end(worker.start(), Failed("ValueError", "no such shop"))
    assert await good.result(timeout=60) == {"rows": 2}
    assert good.result_sync() == {"rows": 2}
    with pytest.raises(RunFailed, match=rf"run {bad.run_id} of job 'import_orders' ended failed: no such shop"):
        bad.result_sync(timeout=60)


async def test_a_process_that_knows_no_database_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRONOGRAPH_DATABASE_URL", raising=False)
    with pytest.raises(ConfigurationError, match=r"call cronograph\.jobs\.connect\(database_url\) once"):
        await import_orders.enqueue()


async def test_a_variable_names_the_database_too(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()

    @job(registry=registry)
    async def ping() -> None: ...

    monkeypatch.setenv("CRONOGRAPH_DATABASE_URL", database_url)
    handle = await ping.enqueue()
    assert await handle.status() == "waiting"
    assert isinstance(registry.queue, Connection)
    registry.queue.close()


async def test_tasks_and_threads_that_fill_the_executor_enqueue_side_by_side(connection: Connection) -> None:
    with ThreadPoolExecutor(2) as few:
        asyncio.get_running_loop().set_default_executor(few)
        in_threads = (asyncio.to_thread(label.enqueue_sync, address=HERE) for _ in range(20))
        in_tasks = (label.enqueue(address=HERE) for _ in range(20))
        async with asyncio.timeout(30):
            handles = await asyncio.gather(*(one for both in zip(in_threads, in_tasks, strict=True) for one in both))
            states = await asyncio.gather(*(one.status() for one in handles))
    assert len({one.run_id for one in handles}) == 40
    assert set(states) == {"waiting"}


async def test_a_value_that_no_database_stores_is_refused_to_its_caller_alone(connection: Connection) -> None:
    far = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))
    ways = [label.options(run_at=far if place % 8 == 5 else None) for place in range(40)]
    answers = await asyncio.gather(*(one.enqueue(address=HERE) for one in ways), return_exceptions=True)
    failed = [place for place, one in enumerate(answers) if isinstance(one, BaseException)]
    assert failed == [place for place in range(40) if place % 8 == 5]


def waits_for_a_lock(engine: Engine) -> bool:
    blocked = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with engine.connect() as conn:
        return conn.execute(text(blocked)).first() is not None


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_an_enqueue_that_waits_for_a_key_keeps_no_other_waiting(connection: Connection, database_url: str) -> None:
    engine = sync_engine(parse_url(database_url))
    with ThreadPoolExecutor(1) as threads:
        with engine.connect() as theirs:
            enqueue_sync(theirs, "import_orders", unique_key="import-web-None")
            waiting = threads.submit(import_orders.enqueue_sync)
            wait_until(lambda: waits_for_a_lock(engine), message="the enqueue to wait for the key")
            assert label.enqueue_sync(address=HERE).run.job_name == "label"
            assert not waiting.done()
        assert waiting.result(30).run.job_name == "import_orders"
    engine.dispose()
