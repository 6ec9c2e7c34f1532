"""Two hundred readers that go away and come back all the time, each of which gets every event in order."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, asynccontextmanager

import psycopg
import pytest

from cronograph.jobs.core.events import Change, Cursor, EventKind
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from tests.support.waiting import eventually

READERS = 200
EVENTS = 60
STAY = 7
"""Events after which a reader goes away; how many that are differs from reader to reader."""


def write_changes(tx: Tx, run_ids: Iterable[int]) -> None:
    """One event for each run."""
    tx.emit(Change(EventKind.RUN_UPDATED, run_id=run_id) for run_id in run_ids)


@asynccontextmanager
async def fed(database: Database, recent: int) -> AsyncGenerator[EventBus]:
    """A bus that is told of commits."""
    wakeup, bus = Wakeup(database), EventBus(database, recent=recent)
    wakeup.subscribe(bus.on_wake)
    wakeup.start()
    bus.start()
    yield bus
    bus.close()
    await bus.stop()
    await wakeup.stop()


class Reader:
    """One who reads all events and goes away after every few of them."""

    def __init__(self, stay: int) -> None:
        self.run_ids: list[int | None] = []
        self.connections = 0
        self._stay = stay
        self._last = Cursor(0, 0)

    async def read(self, bus: EventBus) -> None:
        """Read to the last event."""
        while len(self.run_ids) < EVENTS:
            self.connections += 1
            async with aclosing(bus.subscribe(self._last)) as subscription:
                for _ in range(min(self._stay, EVENTS - len(self.run_ids))):
                    event = await anext(subscription)
                    self._last = event.cursor
                    self.run_ids.append(event.change.run_id)


async def write_all(database: Database) -> None:
    """The events, some at a time."""
    for first in range(1, EVENTS + 1, 3):
        await database.write(write_changes, range(first, min(first + 3, EVENTS + 1)))


@pytest.mark.costly
@pytest.mark.parametrize("recent", [20, 2000], ids=["from the table", "from memory"])
async def test_readers_that_come_back_often_get_every_event_in_order(database: Database, recent: int) -> None:
    readers = [Reader(STAY + number % 5) for number in range(READERS)]
    async with fed(database, recent) as bus:
        await asyncio.gather(write_all(database), *(reader.read(bus) for reader in readers))
    assert all(reader.run_ids == list(range(1, EVENTS + 1)) for reader in readers)
    assert sum(reader.connections for reader in readers) > 5 * READERS


def end_connections(of_engine: Database) -> int:
    """Have the server end all connections of the readers; how many there were."""
    with psycopg.connect(of_engine.libpq_url(), autocommit=True) as killer:
        cursor = killer.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'readers'"
        )
        return cursor.rowcount


@pytest.mark.costly
@pytest.mark.postgres
async def test_no_reader_notices_that_its_connection_ends_while_it_reads_what_it_missed(postgres_url: str) -> None:
    of_engine, database = Database(postgres_url), Database(f"{postgres_url}?application_name=readers")
    readers = [Reader(STAY + number % 5) for number in range(READERS // 4)]
    await write_all(of_engine)
    async with fed(database, recent=1) as bus:
        reading = asyncio.gather(*(reader.read(bus) for reader in readers))
        for part in (5, 20, 40):
            await eventually(lambda part=part: max(len(reader.run_ids) for reader in readers) >= part)  # type: ignore[misc]
            assert await asyncio.to_thread(end_connections, of_engine) > 0
        await reading
    assert all(reader.run_ids == list(range(1, EVENTS + 1)) for reader in readers)
    for one in (database, of_engine):
        await one.close()
