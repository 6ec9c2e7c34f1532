"""The live feeds of a process end in order, also while the database is unavailable."""

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy import make_url
from typing_extensions import override

from cronograph.jobs.core.events import Change, EventKind
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.live.feeds import LiveFeeds
from cronograph.jobs.store.db.address import sqlite_path
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from tests.support.postgres import PostgresServer
from tests.support.waiting import eventually

P = ParamSpec("P")
T = TypeVar("T")


async def ended_while(database: Database, take_away: Callable[[], object]) -> None:
    """Readers are sent away although the newest events cannot be handed out."""
    feeds = LiveFeeds(database, Wakeup(database), poll=3600)
    feeds.start()
    reader = feeds.bus.subscribe()
    reading = asyncio.ensure_future(anext(reader))

    async def has_read() -> bool:
        # It begins with what comes next, once it has begun; from then on it reads nothing from the database.
        await database.write(lambda tx: tx.emit([Change(EventKind.RUN_UPDATED, run_id=1)]))
        await feeds.bus.publish()
        return reading.done()

    await eventually(has_read)
    # Or its own look would be the first to see that the database is unavailable.
    await feeds.bus.stop()
    take_away()
    await feeds.end()
    assert {event.change.run_id async for event in reader} <= {1}
    await feeds.stop()
    await database.close()


async def test_readers_are_sent_away_while_the_file_is_gone(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    path = sqlite_path(make_url(sqlite_url))
    await ended_while(Database(sqlite_url), lambda: path.rename(path.with_name("elsewhere.db")))
    assert "the newest events are left for readers that come again: " in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.postgres
async def test_readers_are_sent_away_while_postgresql_refuses_connections(
    postgres_url: str, postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    name = make_url(postgres_url).database or ""

    def terminate() -> None:
        with psycopg.connect(postgres_server.url(), autocommit=True) as other:
            other.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(Identifier(name)))
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    await ended_while(Database(postgres_url), terminate)
    assert "the newest events are left for readers that come again: " in caplog.text
    assert "Traceback" not in caplog.text


class Faulty(Database):
    """A database whose writing has a fault of our own."""

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        raise LookupError("a fault of our own")


async def test_a_fault_of_our_own_is_reported_and_readers_are_sent_away_all_the_same(sqlite_url: str) -> None:
    database = Faulty(sqlite_url)
    feeds = LiveFeeds(database, Wakeup(database), poll=3600)
    feeds.start()
    await feeds.end()
    assert [event async for event in feeds.bus.subscribe()] == []
    await feeds.stop()
    await database.close()
