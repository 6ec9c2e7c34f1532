"""Each part of a process has connections of its own, and keeps them."""

import asyncio
from datetime import UTC, datetime

import psycopg
import pytest
from sqlalchemy import make_url, text

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.store.db.address import libpq_url, parse_url
from cronograph.jobs.store.db.connecting import postgres_arguments, settings_of_transaction
from cronograph.jobs.store.db.database import Connection, Database, Send
from cronograph.jobs.store.db.faults import kind_of
from cronograph.jobs.store.db.postgres import POOL
from cronograph.jobs.store.db.transaction import Tx, Wake
from tests.support.postgres import PostgresServer


def backend(tx: Tx) -> int:
    pid: int = tx.conn.execute(text("SELECT pg_backend_pid()")).scalar_one()
    return pid


@pytest.mark.postgres
async def test_the_sign_of_life_keeps_its_connection_and_opens_another_when_that_is_lost(postgres_url: str) -> None:
    database = Database(postgres_url)
    first = database.write_sync(backend)
    assert database.write_sync(backend) == first
    with psycopg.connect(database.libpq_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (first,))
    second = database.write_sync(backend)
    assert second != first
    assert database.write_sync(backend) == second
    await database.close()


@pytest.mark.postgres
async def test_a_part_that_uses_all_its_connections_leaves_those_of_the_other_alone(postgres_url: str) -> None:
    engine = Database(postgres_url)
    api = engine.separate_pool("api")
    with psycopg.connect(engine.libpq_url()) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(7)")

        def stand(conn: Connection) -> None:
            conn.execute(text("SELECT pg_advisory_xact_lock_shared(7)"))

        waiting = [asyncio.create_task(api.read(stand)) for _ in range(POOL + 2)]
        assert await engine.read(lambda conn: conn.execute(text("SELECT 5")).scalar_one()) == 5
        assert not any(one.done() for one in waiting)
    await asyncio.gather(*waiting)
    await api.close()
    await engine.close()


async def test_anyone_who_listens_hears_of_the_commits_of_every_part(database_url: str) -> None:
    engine = Database(database_url)
    api = engine.separate_pool("api")
    heard: list[Wake] = []
    engine.on_commit(heard.append)
    await api.write(lambda tx: tx.wake(Wake.RUNS))
    await engine.write(lambda tx: tx.wake(Wake.TASKS))
    assert heard == [Wake.RUNS, Wake.TASKS]
    await api.close()
    await engine.close()


def test_behind_a_pooler_nothing_is_used_that_belongs_to_a_connection() -> None:
    url = parse_url("postgresql://ann@localhost:6432/app?pooler=transaction&sslmode=disable")
    arguments = postgres_arguments(url)
    assert "options" not in arguments
    assert arguments["prepare_threshold"] is None
    assert "pooler" not in libpq_url(url)
    assert "sslmode=disable" in libpq_url(url)
    settings = settings_of_transaction(160_000, enable_seqscan="off").split("; ")
    assert {"SET LOCAL jit = 'off'", "SET LOCAL statement_timeout = '30s'", "SET LOCAL enable_seqscan = 'off'"} <= {
        *settings
    }


@pytest.mark.parametrize("pooler", ["session", "statement"])
def test_another_kind_of_pooler_is_refused(pooler: str) -> None:
    with pytest.raises(ConfigurationError, match="pooler must be 'transaction' or left out, got"):
        parse_url(f"postgresql://ann@localhost:6432/app?pooler={pooler}")


def _raising(send: Send, sqlstate: str) -> int:
    send(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{sqlstate}'; END $$", {})
    return 1


def _own(send: Send) -> int:
    ((pid,),) = send("SELECT pg_backend_pid()", {})
    return int(pid)


def _ending(send: Send) -> int:
    send("SELECT pg_terminate_backend(pg_backend_pid())", {})
    return 1


@pytest.mark.postgres
async def test_a_statement_alone_gives_way_to_other_transactions_and_reports_everything_else(
    postgres_url: str,
) -> None:
    database = Database(postgres_url)
    heard: list[Wake] = []
    database.on_commit(heard.append)
    first = await database.autocommit(_own, Wake.RUNS)
    assert heard == [Wake.RUNS]
    # In the way were a deadlock, and a lock that took too long.
    assert await database.autocommit(_raising, Wake.RUNS, "40P01") is None
    assert await database.autocommit(_raising, Wake.RUNS, "55P03") is None
    with pytest.raises(psycopg.Error, match="no"):
        await database.autocommit(_raising, Wake.RUNS, "22012")
    assert heard == [Wake.RUNS]
    # The connection is as good as before, for transactions as well.
    assert await database.write(backend) == first
    with pytest.raises(psycopg.OperationalError) as lost:
        await database.autocommit(_ending, Wake.RUNS)
    assert kind_of(lost.value).passes
    assert await database.autocommit(_own, Wake.NONE) != first
    assert await database.write(backend) != first
    await database.close()


async def test_no_statement_is_sent_alone_where_the_time_is_replaced(database_url: str) -> None:
    database = Database(database_url, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert not database.can_autocommit
    assert await database.autocommit(_own, Wake.RUNS) is None
    assert Database(database_url).can_autocommit is not database.is_sqlite
    await database.close()


@pytest.mark.postgres
async def test_a_role_with_few_connections_waits_for_its_turn(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    postgres_server.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 2")
    try:
        address = make_url(postgres_url).set(username="few").render_as_string(hide_password=False)
        first, second = Database(address), Database(address)
        held = text("SELECT count(*) FROM pg_sleep(0.02)")
        for several in ((first,) * 8, (second,) * 8, (first, second) * 8):
            asked = [database.read(lambda conn: conn.execute(held).scalar_one()) for database in several]
            assert set(await asyncio.gather(*asked)) == {1}
        for database in (first, second):
            await database.close()
    finally:
        postgres_server.execute("DROP ROLE few")
