"""Each part of a process has connections of its own, and keeps them."""

import asyncio

import psycopg
import pytest
from sqlalchemy import text

from cronograph.jobs.core.errors import ConfigurationError
from cronograph.jobs.store.db.address import libpq_url, parse_url
from cronograph.jobs.store.db.connecting import postgres_arguments, settings_of_transaction
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.db.postgres import POOL
from cronograph.jobs.store.db.transaction import Tx, Wake


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
    api = engine.beside("api")
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


async def test_whoever_listens_hears_of_the_commits_of_every_part(database_url: str) -> None:
    engine = Database(database_url)
    api = engine.beside("api")
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
    assert settings_of_transaction(enable_seqscan="off").startswith("SET LOCAL statement_timeout = '30s'; ")


@pytest.mark.parametrize("pooler", ["session", "statement"])
def test_another_kind_of_pooler_is_refused(pooler: str) -> None:
    with pytest.raises(ConfigurationError, match="pooler must be 'transaction' or left out, got"):
        parse_url(f"postgresql://ann@localhost:6432/app?pooler={pooler}")
