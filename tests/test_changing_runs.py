"""Runs that an application changes after it has enqueued them, by key or id, in its own transaction."""

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from cronograph.jobs import Flow, RunHandle, connect, enqueue_many, enqueue_many_sync, enqueue_sync, job
from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidInput, InvalidState, KeyHeld, NotFound
from cronograph.jobs.core.model import Run
from cronograph.jobs.core.run_spec import RunTarget
from cronograph.jobs.registry import Registry
from tests.support.storage import Stored
from tests.support.waiting import eventually

JOBS = Registry()
LEVELS: tuple[Literal["DEFERRED"] | None, ...] = ("DEFERRED", None)
"""How a connection of SQLite begins transactions: by itself with a change, or not at all."""
LATER = datetime(2030, 1, 1, 9, 30, tzinfo=UTC)


@job(registry=JOBS, unique_key="trial-{customer}", labels_from=("customer",))
async def reminder(customer: int, text: str = "hello") -> None: ...


@job(registry=JOBS)
async def other(number: int) -> None: ...


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    """What the jobs use without a session; a node has published them."""
    stored = Stored(database_url)
    stored.do(join, NewNode("node", 1, "0", tuple(one.info for one in JOBS), 60.0), only_node=True)
    stored.close()
    with connect(database_url, registry=JOBS) as connection:
        yield connection


def now(connection: Connection, run_id: int) -> Run:
    found = connection.find(RunTarget(run_id))
    assert found is not None
    return found


def raise_rollback(transaction: Any) -> None:
    raise psycopg.Rollback(transaction)


def driver_url(url: str) -> str:
    """The address as psycopg takes it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


async def test_a_run_gets_another_time_and_other_arguments_without_a_session(connection: Connection) -> None:
    run = reminder.enqueue_sync(customer=7)
    assert await reminder.reschedule(run_at=LATER, unique_key="trial-7") == "waiting"
    assert await reminder.replace_args(by=reminder.run(7, text="bye")) == "waiting"
    changed = now(connection, run.run_id)
    assert (changed.available_at, changed.args) == (LATER, {"customer": 7, "text": "bye"})
    # Key and labels follow the arguments.
    assert reminder.replace_args_sync(by=reminder.run(8), run_id=run.run_id) == "waiting"
    changed = now(connection, run.run_id)
    assert (changed.unique_key, changed.labels) == ("trial-8", {"customer": "8"})
    assert reminder.reschedule_sync(run_at=LATER + timedelta(days=1), run_id=run.run_id) == "waiting"
    assert now(connection, run.run_id).available_at == LATER + timedelta(days=1)


def test_both_are_part_of_the_users_transaction(connection: Connection, database_url: str) -> None:
    run = reminder.enqueue_sync(customer=7)
    engine = create_engine(database_url)
    with engine.connect() as conn:
        reminder.reschedule_sync(conn, unique_key="trial-7", run_at=LATER)
        reminder.replace_args_sync(conn, by=reminder.run(7, text="bye"))
        conn.rollback()
        assert now(connection, run.run_id) == run.run
        reminder.reschedule_sync(conn, unique_key="trial-7", run_at=LATER)
        with pytest.raises(InvalidInput, match="time zone"):
            reminder.reschedule_sync(conn, unique_key="trial-7", run_at=LATER.replace(tzinfo=None))
        with pytest.raises(NotFound):
            reminder.replace_args_sync(conn, by=reminder.run(9))
        conn.commit()
    engine.dispose()
    assert now(connection, run.run_id).available_at == LATER


def test_what_cannot_be_changed_is_refused_by_name(connection: Connection) -> None:
    run = reminder.enqueue_sync(customer=7)
    with pytest.raises(TypeError, match=r"reminder\.replace_args_sync: by must be a run to be, reminder\.run\(…\)"):
        reminder.replace_args_sync(by=other.run(1), run_id=run.run_id)
    with pytest.raises(TypeError, match="give either unique_key or run_id"):
        reminder.reschedule_sync(run_at=LATER)
    run.cancel_sync()
    with pytest.raises(
        InvalidState, match=f"run {run.run_id} is cancelled; only waiting and stuck runs can be changed"
    ):
        reminder.reschedule_sync(run_at=LATER, run_id=run.run_id)


async def test_a_handle_is_had_of_an_id_and_of_a_unique_key(connection: Connection) -> None:
    run = reminder.enqueue_sync(customer=7)
    for handle in (await RunHandle.of(run.run_id, registry=JOBS), RunHandle.of_sync("trial-7", registry=JOBS)):
        assert (handle.run_id, handle.deduplicated) == (run.run_id, False)
    assert await handle.reschedule(LATER) == "waiting"
    assert await handle.replace_args({"customer": 7, "text": "x"}) == "waiting"
    assert now(connection, run.run_id).args == {"customer": 7, "text": "x"}
    assert (handle.reschedule_sync(LATER), handle.replace_args_sync({"customer": 7})) == ("waiting", "waiting")
    with pytest.raises(InvalidInput, match="customer"):
        handle.replace_args_sync({"customer": "nobody"})
    assert await handle.cancel() == "cancelled"
    with pytest.raises(NotFound, match="no unfinished run has the unique key 'trial-7'"):
        await RunHandle.of("trial-7", registry=JOBS)
    with pytest.raises(NotFound, match="no run has the id 999"):
        RunHandle.of_sync(999, registry=JOBS)
    with pytest.raises(ConfigurationError):
        RunHandle.of_sync(1, registry=Registry())


async def test_a_handle_says_that_another_run_stands_for_it(connection: Connection, database_url: str) -> None:
    first, again = reminder.enqueue_sync(customer=7), await reminder.enqueue(None, 7, "other")
    assert (first.deduplicated, again.deduplicated, again.run.args) == (False, True, {"customer": 7})
    engine = create_engine(database_url)
    with engine.begin() as conn:
        assert reminder.enqueue_sync(conn, 7).deduplicated
        assert not reminder.enqueue_sync(conn, 8).deduplicated
    engine.dispose()
    side_by_side = await asyncio.gather(*(reminder.enqueue(None, 9) for _ in range(5)))
    assert sorted(one.deduplicated or False for one in side_by_side) == [False, True, True, True, True]


async def test_an_enqueue_with_other_arguments_is_refused_if_it_is_asked_to_be(connection: Connection) -> None:
    strict = reminder.options(on_conflict="raise")
    first = await strict.enqueue(None, 7)
    assert strict.enqueue_sync(None, 7).deduplicated
    with pytest.raises(
        KeyHeld, match=f"'trial-7' is held by run {first.run_id} of job 'reminder', which is waiting"
    ) as caught:
        await strict.enqueue(None, 7, "bye")
    assert caught.value.run_id == first.run_id
    with pytest.raises(KeyHeld):
        other.options(unique_key="trial-7", on_conflict="raise").enqueue_sync(number=1)
    with pytest.raises(KeyHeld):
        enqueue_many_sync_of(connection, [strict.run(7, "bye")])
    with pytest.raises(InvalidInput, match="on_conflict: must be 'keep', 'replace' or 'raise', got 'ignore'"):
        reminder.options(on_conflict="ignore").enqueue_sync(None, 7)


def enqueue_many_sync_of(connection: Connection, specs: list[Any]) -> list[int]:
    engine = create_engine(connection._url)  # noqa: SLF001 - the address that the fixture gave it
    try:
        with engine.begin() as conn:
            return connection.put_many_in(conn, specs)
    finally:
        engine.dispose()


async def test_an_enqueue_with_other_arguments_replaces_them_until_the_run_has_begun(
    connection: Connection, database_url: str
) -> None:
    newest = reminder.options(on_conflict="replace")
    first = await newest.enqueue(None, 7)
    renewed = await newest.options(run_at=LATER).enqueue(None, 7, "bye")
    assert (renewed.run_id, renewed.deduplicated) == (first.run_id, True)
    assert (renewed.run.args["text"], renewed.run.available_at) == ("bye", LATER)
    # Without a time of its own it keeps the one that it has.
    assert newest.enqueue_sync(None, 7, "again").run.available_at == LATER
    with pytest.raises(KeyHeld, match="of job 'reminder'"):
        other.options(unique_key="trial-7", on_conflict="replace").enqueue_sync(number=1)
    reminder.reschedule_sync(run_at=datetime(2026, 1, 1, tzinfo=UTC), unique_key="trial-7")
    stored = Stored(database_url)
    stored.node(jobs=("reminder",)).start()
    stored.close()
    with pytest.raises(KeyHeld, match="which is running and has other arguments"):
        await newest.enqueue(None, 7, "too late")
    assert newest.enqueue_sync(None, 7, "again").run_id == first.run_id


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_connection_of_psycopg_is_a_session(postgres_url: str, autocommit: bool) -> None:
    with connect(postgres_url, registry=JOBS) as queue, psycopg.connect(driver_url(postgres_url)) as conn:
        conn.autocommit = autocommit
        conn.execute("CREATE TABLE customer (id int)")
        conn.commit()
        with conn.transaction() as transaction:
            conn.execute("INSERT INTO customer VALUES (7)")
            lost = reminder.enqueue_sync(conn, 7)
            raise_rollback(transaction)
        assert queue.find(RunTarget(lost.run_id)) is None
        with conn.transaction():
            kept = reminder.enqueue_sync(conn, 7)
            ids = enqueue_many_sync(conn, [reminder.run(8), other.run(1)])
            assert reminder.reschedule_sync(conn, run_at=LATER, unique_key="trial-8") == "waiting"
            with pytest.raises(NotFound):
                reminder.cancel_sync(conn, unique_key="trial-9")
            flow = Flow("two", registry=JOBS)
            flow.add("one", other, 1)
            assert flow.enqueue_sync(conn) > 0
        assert [kept.status_sync(), now(queue, ids[0]).available_at] == ["waiting", LATER]
        # Without a transaction it depends on the connection: one begins, or it is committed at once.
        late = reminder.enqueue_sync(conn, 10)
        assert (queue.find(RunTarget(late.run_id)) is not None) == autocommit
        conn.commit()
        assert late.status_sync() == "waiting"
        if not autocommit:
            with conn.pipeline(), pytest.raises(InvalidState, match="pipeline mode"):
                reminder.enqueue_sync(conn, 11)


@pytest.mark.parametrize("autocommit", [False, True])
async def test_an_asynchronous_connection_of_psycopg_is_a_session(postgres_url: str, autocommit: bool) -> None:
    with connect(postgres_url, registry=JOBS) as queue:
        async with await psycopg.AsyncConnection.connect(driver_url(postgres_url), autocommit=autocommit) as conn:
            async with conn.transaction() as transaction:
                lost = await reminder.enqueue(conn, 7)
                raise_rollback(transaction)
            assert queue.find(RunTarget(lost.run_id)) is None
            async with conn.transaction():
                kept = await reminder.enqueue(conn, 7)
                many = await enqueue_many(conn, [reminder.run(8), other.run(1)])
                # Calls side by side use the connection one after the other.
                handles = await asyncio.gather(*(reminder.enqueue(conn, number) for number in range(20, 30)))
                assert await reminder.cancel(conn, unique_key="trial-8") == "cancelled"
                with pytest.raises(TypeError, match="the session is asynchronous"):
                    reminder.enqueue_sync(conn, 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            assert [await kept.status(), now(queue, many[0]).state] == ["waiting", "cancelled"]
            assert {await one.status() for one in handles} == {"waiting"}
            late = await reminder.enqueue(conn, 10)
            assert (queue.find(RunTarget(late.run_id)) is not None) == autocommit
            await conn.commit()


async def test_a_caller_that_gives_up_leaves_its_connection_usable(postgres_url: str) -> None:
    with connect(postgres_url, registry=JOBS) as queue:
        async with (
            await psycopg.AsyncConnection.connect(driver_url(postgres_url)) as holder,
            await psycopg.AsyncConnection.connect(driver_url(postgres_url)) as conn,
        ):
            await reminder.enqueue(holder, 7)
            waiting = asyncio.create_task(reminder.enqueue(conn, 7))
            await eventually(conn.lock.locked)
            waiting.cancel()
            await holder.commit()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await conn.rollback()
            assert (await (await conn.execute("SELECT 1")).fetchone()) == (1,)
        assert queue.find(RunTarget(unique_key="trial-7")) is not None


def test_a_connection_of_sqlite_is_a_session(sqlite_url: str) -> None:
    path = make_url(sqlite_url).database
    assert path is not None
    with connect(sqlite_url, registry=JOBS) as queue:
        for level in LEVELS:
            conn = sqlite3.connect(path, isolation_level=level)
            run = enqueue_sync(conn, "mail", {"to": "ada"})
            assert conn.in_transaction == (level is not None)
            conn.commit()
            assert queue.find(RunTarget(run.id)) is not None
            conn.close()
