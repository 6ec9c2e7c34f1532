"""While the database is unavailable the node says so, and when it is back all goes on."""

import asyncio
import resource
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import psycopg
import pytest
from sqlalchemy import Connection, make_url

from cronograph.graphql.resolving.context import Context
from cronograph.graphql.schema import shared_schema
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.address import sqlite_path
from cronograph.jobs.store.db.database import Database, OperationalError
from cronograph.jobs.store.db.postgres import POOL
from cronograph.jobs.store.statements import nodes
from tests.support.engines import QUICK, RunningEngine, running_engine
from tests.support.postgres import PostgresServer
from tests.support.waiting import eventually

OFTEN = replace(QUICK, heartbeat=0.2)
"""A node that beats so often that a test need not wait long to see it notice."""


async def work() -> None:
    """A job."""


def registry() -> Registry:
    """One job."""
    found = Registry()
    found.add(define("work", work))
    return found


async def codes(database: Database, document: str) -> list[str]:
    """The codes of the errors that an operation meets."""
    context = Context(database, EventBus(database), LogFeed(database))
    result = await shared_schema().execute(document, context_value=context)
    return [str((error.extensions or {}).get("code")) for error in result.errors or []]


READ = "{ availableJobs { name } }"
WRITE = 'mutation { triggerJob(jobName: "work") { success } }'


async def the_node_says_so(engine: RunningEngine) -> None:
    """It is not ready, and requests are answered with a code that says why."""
    await eventually(lambda: not engine.engine.ready, message="the node to notice")
    assert await codes(engine.database, WRITE) == ["UNAVAILABLE"]


async def all_goes_on(engine: RunningEngine) -> None:
    """It is ready again, and works."""
    await eventually(lambda: engine.engine.ready, message="the node to be ready again")
    assert await codes(engine.database, WRITE) == []
    assert await codes(engine.database, READ) == []


async def test_a_file_that_was_moved_away_takes_nothing_until_it_is_back(sqlite_url: str) -> None:
    async with running_engine(sqlite_url, registry(), OFTEN) as engine:
        path = sqlite_path(make_url(sqlite_url))
        elsewhere = path.rename(path.with_name("elsewhere.db"))
        await the_node_says_so(engine)
        assert await codes(engine.database, READ) == ["UNAVAILABLE"]
        assert not path.exists()
        path.touch()
        assert await codes(engine.database, READ) == ["UNAVAILABLE"]
        elsewhere.rename(path)
        await all_goes_on(engine)


async def test_a_write_to_a_file_that_is_deleted_meanwhile_is_not_acknowledged(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    path = sqlite_path(make_url(sqlite_url))
    with pytest.raises(OperationalError, match="was deleted or moved away"):
        await database.write(lambda _tx: path.unlink())
    await database.close()


@contextmanager
def limited_role(url: str, server: PostgresServer) -> Generator[tuple[str, str]]:
    """The database for somebody who is no superuser, so that limits hold; and who that is."""
    role = f"limited_{make_url(url).database}"
    server.execute("CREATE ROLE {} LOGIN IN ROLE pg_read_all_data, pg_write_all_data", role)
    try:
        yield url.replace("postgres@", f"{role}@"), role
    finally:
        server.execute("DROP ROLE {}", role)


async def fill_pool(database: Database) -> None:
    """Have the pool open all connections that it may have."""
    together = threading.Barrier(POOL)
    await asyncio.gather(*(database.read(lambda _conn: together.wait()) for _ in range(POOL)))


async def last_beat(engine: RunningEngine) -> datetime:
    """Return when the only node beat last."""
    (node,) = await engine.database.read(nodes.live)
    return node.heartbeat_at


@contextmanager
def no_room_left() -> Generator[None]:
    """Files of this process do not grow, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_node_whose_disk_is_full_says_so_until_there_is_room(sqlite_url: str) -> None:
    async with running_engine(sqlite_url, registry(), OFTEN) as engine:
        with no_room_left():
            await the_node_says_so(engine)
            assert await codes(engine.database, READ) == []
        await all_goes_on(engine)


@pytest.mark.postgres
async def test_a_node_whose_postgresql_is_unavailable_says_so_until_it_is_back(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    name = make_url(postgres_url).database or ""
    async with running_engine(postgres_url, registry(), OFTEN) as engine:
        postgres_server.execute("ALTER DATABASE {} ALLOW_CONNECTIONS false", name)
        with psycopg.connect(postgres_server.url(), autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        await the_node_says_so(engine)
        assert await codes(engine.database, READ) == ["UNAVAILABLE"]
        postgres_server.execute("ALTER DATABASE {} ALLOW_CONNECTIONS true", name)
        await all_goes_on(engine)


@pytest.mark.postgres
async def test_a_node_keeps_beating_and_working_while_its_postgresql_refuses_new_connections(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    with limited_role(postgres_url, postgres_server) as (url, role):
        async with running_engine(url, registry(), OFTEN) as engine:
            assert (await engine.finish("work")).run.state is RunState.SUCCESS
            await fill_pool(engine.database)
            postgres_server.execute("ALTER ROLE {} CONNECTION LIMIT 0", role)
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                psycopg.connect(url)
            before = await last_beat(engine)

            async def beats() -> bool:
                return await last_beat(engine) > before

            await eventually(beats, message="the node to beat on the connection that it keeps")
            # On a busy machine a beat is late now and then.
            await eventually(lambda: engine.engine.ready, message="the node to be ready")
            assert (await engine.finish("work")).run.state is RunState.SUCCESS
            assert await codes(engine.database, READ) == []


@pytest.mark.postgres
async def test_a_node_that_lost_a_connection_works_with_the_others_while_its_postgresql_refuses_new_ones(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    def lose(conn: Connection) -> None:
        conn.invalidate()
        raise LookupError("lost")

    with limited_role(postgres_url, postgres_server) as (url, role):
        async with running_engine(url, registry(), OFTEN) as engine:
            assert (await engine.finish("work")).run.state is RunState.SUCCESS
            await fill_pool(engine.database)
            postgres_server.execute("ALTER ROLE {} CONNECTION LIMIT 0", role)
            with pytest.raises(LookupError):
                await engine.database.read(lose)
            assert (await engine.finish("work")).run.state is RunState.SUCCESS
            assert await codes(engine.database, READ) == []


async def test_a_writer_that_is_busy_for_longer_than_a_lease_fences_nobody_who_owns_the_file(sqlite_url: str) -> None:
    settings = replace(OFTEN, heartbeat=0.05, lease=0.2)
    async with running_engine(sqlite_url, registry(), settings) as engine:
        node, gate = engine.engine.node, threading.Event()
        busy = asyncio.create_task(engine.database.write(lambda _tx: gate.wait()))
        # Several leases pass: a lease is four beats, and the first of them that is late is noticed.
        await eventually(lambda: not engine.engine.ready, message="the node to notice that it cannot write")
        run = asyncio.create_task(engine.finish("work"))
        await asyncio.wait([run], timeout=4 * settings.lease)
        gate.set()
        await busy
        assert (await run).executions[0].node_id == (node.id if node else None)
        await eventually(lambda: engine.engine.ready, message="the node to be ready again")
        assert engine.engine.node is node
