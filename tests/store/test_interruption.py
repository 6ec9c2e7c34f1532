"""Reads for which nobody waits any more are ended, and give their thread and connection back."""

import asyncio
from contextlib import suppress

import pytest
from sqlalchemy import Connection, text

from cronograph.jobs.store.db.database import Database, ReadBounds
from tests.support.waiting import eventually

ENDLESS = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(3600)",
}
MANY = 20
"""More than there are threads and connections."""


def endless(conn: Connection) -> object:
    return conn.execute(text(ENDLESS[conn.dialect.name])).scalar()


def one(conn: Connection) -> object:
    return conn.execute(text("SELECT 1")).scalar()


async def reads(database: Database) -> bool:
    """Return whether it reads in time, which a busy machine may use up."""
    with suppress(TimeoutError):
        return await database.read(one) == 1
    return False


async def test_a_read_ends_at_its_deadline_and_its_connection_serves_the_next(database_url: str) -> None:
    database = Database(database_url)
    limited = database.with_deadline(asyncio.get_running_loop().time() + 0.2)
    ended = await asyncio.gather(*(limited.read(endless) for _ in range(MANY)), return_exceptions=True)
    assert {type(error) for error in ended} == {TimeoutError}
    assert await asyncio.gather(*(database.read(one) for _ in range(MANY))) == [1] * MANY
    await database.close()


async def test_a_cancelled_read_is_ended(database_url: str) -> None:
    database = Database(database_url)
    reads = [asyncio.ensure_future(database.read(endless)) for _ in range(MANY)]
    await database.with_deadline(asyncio.get_running_loop().time() + 3600).write(lambda tx: tx.now)
    for read in reads:
        read.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.gather(*reads)
    assert await database.read(one) == 1
    await database.close()


async def test_the_reads_of_a_bounded_access_end_one_by_one_and_leave_the_others_alone(database_url: str) -> None:
    database = Database(database_url)
    bounded = database.separate_pool("search", ReadBounds(connections=1, seconds=0.2))
    ended = await asyncio.gather(*(bounded.read(endless) for _ in range(3)), return_exceptions=True)
    assert {type(error) for error in ended} == {TimeoutError}
    await eventually(lambda: reads(bounded))
    assert await asyncio.gather(*(database.read(one) for _ in range(MANY))) == [1] * MANY
    await bounded.close()
    await database.close()


@pytest.mark.postgres
async def test_postgresql_ends_the_statements_of_a_bounded_access_by_itself(postgres_url: str) -> None:
    def settings(conn: Connection) -> list[object]:
        names = ("statement_timeout", "max_parallel_workers_per_gather")
        return [conn.execute(text(f"SHOW {name}")).scalar() for name in names]

    database = Database(postgres_url)
    bounded = database.separate_pool("search", ReadBounds(connections=1, seconds=29))
    assert await bounded.read(settings) == ["29s", "0"]
    assert (await database.read(settings))[0] == "30s"
    await bounded.close()
    await database.close()
