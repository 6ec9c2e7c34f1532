"""Live events: one order, replay without gap or repetition, bounded queues; on both databases."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Concatenate, ParamSpec, TypeVar

import pytest

from cronograph.jobs.core.events import Change, Cursor, Event, EventFilter, EventKind
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import events

pytestmark = pytest.mark.both_databases  # each database has its own way to wake others

P = ParamSpec("P")
T = TypeVar("T")


def change(run_id: int) -> Change:
    return Change(EventKind.RUN_UPDATED, run_id=run_id, job_name="even" if run_id % 2 == 0 else "odd")


def write_changes(tx: Tx, run_ids: Iterable[int]) -> None:
    tx.emit(change(run_id) for run_id in run_ids)


def prune_all(tx: Tx) -> int:
    return events.prune(tx.conn, tx.now.replace(year=tx.now.year + 1), None, 10_000)


class CountedReads(Database):
    """A database that counts what is read from it."""

    reads = 0

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read, and count."""
        self.reads += 1
        return await super().read(function, *args, **kwargs)


@pytest.fixture
async def bus(database: Database) -> AsyncIterator[EventBus]:
    wakeup, bus = Wakeup(database), EventBus(database)
    wakeup.subscribe(bus.on_wake)
    wakeup.start()
    bus.start()
    yield bus
    bus.close()
    await bus.stop()
    await wakeup.stop()


async def first(
    bus: EventBus, count: int, after: Cursor | None = None, event_filter: EventFilter | None = None
) -> list[Event]:
    found: list[Event] = []
    async with aclosing(bus.subscribe(after, event_filter)) as subscription:
        async for event in subscription:
            found.append(event)
            if len(found) == count:
                break
    return found


def run_ids(found: list[Event]) -> list[int | None]:
    return [event.change.run_id for event in found]


async def test_a_replay_gives_every_event_in_order(database: Database, bus: EventBus) -> None:
    await database.write(write_changes, [1, 2, 3])
    await database.write(write_changes, [4])
    assert run_ids(await first(bus, 4, Cursor(0, 0))) == [1, 2, 3, 4]


async def test_resuming_from_a_cursor_within_a_batch_repeats_and_misses_nothing(
    database: Database, bus: EventBus
) -> None:
    await database.write(write_changes, [1, 2, 3])
    await database.write(write_changes, [4, 5])
    found = await first(bus, 5, Cursor(0, 0))
    for place, event in enumerate(found[:-1]):
        assert run_ids(await first(bus, 4 - place, event.cursor)) == [1, 2, 3, 4, 5][place + 1 :]


@pytest.mark.parametrize("recent", [1, 3, 4, 100])
async def test_what_is_in_memory_and_what_is_read_from_the_table_are_the_same(database: Database, recent: int) -> None:
    bus = EventBus(database, recent=recent)
    bus.start()
    await database.write(write_changes, [1, 2, 3])
    await bus.publish()
    staying = bus.subscribe(Cursor(0, 0))
    assert (await anext(staying)).change.run_id == 1
    await database.write(write_changes, [4, 5])
    await database.write(write_changes, [6])
    await bus.publish()
    found = await first(bus, 6, Cursor(0, 0))
    assert run_ids(found) == [1, 2, 3, 4, 5, 6]
    for place, event in enumerate(found[:-1]):
        assert await first(bus, 5 - place, event.cursor) == found[place + 1 :]
    odd = await first(bus, 2, found[1].cursor, EventFilter(job_name="odd"))
    assert run_ids(odd) == [3, 5]
    await staying.aclose()
    await bus.stop()


async def test_many_that_come_back_together_need_no_statement_each(database_url: str) -> None:
    database = CountedReads(database_url)
    bus = EventBus(database, poll=3600)
    bus.start()
    await database.write(write_changes, [1, 2])
    await bus.publish()
    (start, _) = await first(bus, 2, Cursor(0, 0))
    before = database.reads
    readers = [bus.subscribe(start.cursor) for _ in range(50)]
    assert run_ids(list(await asyncio.gather(*(anext(reader) for reader in readers)))) == [2] * 50
    assert database.reads - before <= 2
    for reader in readers:
        await reader.aclose()
    await bus.stop()
    await database.close()


async def test_live_events_follow_the_replay(database: Database, bus: EventBus) -> None:
    await database.write(write_changes, [1])
    reading = asyncio.create_task(first(bus, 30, Cursor(0, 0)))
    for run_id in range(2, 31):
        await database.write(write_changes, [run_id])
    assert run_ids(await reading) == list(range(1, 31))


async def test_from_the_newest_cursor_only_what_comes_after_is_seen(database: Database, bus: EventBus) -> None:
    await database.write(write_changes, [1, 2])
    await first(bus, 2, Cursor(0, 0))
    cursor = await bus.cursor()
    reading = asyncio.create_task(first(bus, 1, cursor))
    await database.write(write_changes, [3])
    assert run_ids(await reading) == [3]


async def test_a_filter_holds_for_replay_and_live(database: Database, bus: EventBus) -> None:
    await database.write(write_changes, [1, 2, 3])
    reading = asyncio.create_task(first(bus, 3, Cursor(0, 0), EventFilter(job_name="even")))
    await database.write(write_changes, [4, 5, 6])
    assert run_ids(await reading) == [2, 4, 6]


async def test_a_cursor_older_than_what_is_kept_is_answered_with_resync(database: Database, bus: EventBus) -> None:
    await database.write(write_changes, [1])
    await database.write(write_changes, [2])
    (old, _) = await first(bus, 2, Cursor(0, 0))
    await database.write(prune_all)
    (signal,) = await first(bus, 1, old.cursor)
    assert signal.change.kind is EventKind.RESYNC
    reading = asyncio.create_task(first(bus, 1, signal.cursor))
    await database.write(write_changes, [3])
    assert run_ids(await reading) == [3]


async def test_a_reader_that_takes_its_time_is_told_what_was_pruned_meanwhile(database: Database) -> None:
    bus = EventBus(database, recent=1)
    bus.start()
    for run_id in range(1, 302):
        await database.write(write_changes, [run_id])
    await bus.publish()
    async with aclosing(bus.subscribe(Cursor(0, 0))) as slow:
        assert (await anext(slow)).change.run_id == 1
        await database.write(prune_all)
        await database.write(write_changes, [302])
        await bus.publish()
        seen = [event async for event in until(slow, 302)]
    assert run_ids(seen) == [*range(2, 201), None, 302]
    assert seen[-2].change.kind is EventKind.RESYNC
    bus.close()
    await bus.stop()


async def until(subscription: AsyncIterator[Event], run_id: int) -> AsyncIterator[Event]:
    async for event in subscription:
        yield event
        if event.change.run_id == run_id:
            return


async def test_a_cursor_that_was_never_given_out_is_answered_with_resync(bus: EventBus) -> None:
    (signal,) = await first(bus, 1, Cursor(999_999, 0))
    assert signal.change.kind is EventKind.RESYNC


@pytest.mark.costly
async def test_a_reader_that_falls_too_far_behind_gets_one_resync_and_the_others_everything(
    database: Database,
) -> None:
    wakeup, bus = Wakeup(database), EventBus(database, queue=5)
    wakeup.subscribe(bus.on_wake)
    bus.start()
    slow = bus.subscribe(await bus.cursor())
    await database.write(write_changes, [1])
    assert (await anext(slow)).change.run_id == 1
    for run_id in range(2, 30):
        await database.write(write_changes, [run_id])
        await first(bus, run_id, Cursor(0, 0))
    signal = await anext(slow)
    assert signal.change.kind is EventKind.RESYNC
    await database.write(write_changes, [30])
    assert (await anext(slow)).change.run_id == 30
    await slow.aclose()
    await bus.stop()


async def test_what_is_handed_out_by_two_at_once_fills_no_queue_twice(database: Database) -> None:
    bus = EventBus(database, queue=5, poll=3600)
    bus.start()
    reader = bus.subscribe(await bus.cursor())
    reading = asyncio.ensure_future(anext(reader))
    await database.write(write_changes, [1])
    bus.poke()
    assert (await reading).change.run_id == 1
    await database.write(write_changes, [2, 3, 4, 5, 6])
    bus.poke()
    await asyncio.gather(bus.publish(), bus.publish())
    for expected in range(2, 7):
        assert (await anext(reader)).change.run_id == expected
    await reader.aclose()
    await bus.stop()


async def test_two_readers_of_two_processes_see_the_same_order(database: Database, bus: EventBus) -> None:
    other_database = Database(database.url.render_as_string(hide_password=False))
    other = EventBus(other_database)
    other.start()
    for run_id in range(1, 21):
        await (database if run_id % 2 else other_database).write(write_changes, [run_id])
    bus.poke()
    here = await first(bus, 20, Cursor(0, 0))
    other.poke()
    there = await first(other, 20, Cursor(0, 0))
    assert [event.cursor for event in here] == [event.cursor for event in there]
    assert run_ids(here) == run_ids(there)
    other.close()
    await other.stop()
    await other_database.close()


async def test_what_a_rolled_back_transaction_emitted_is_never_seen(database: Database, bus: EventBus) -> None:
    def fails(tx: Tx) -> None:
        tx.emit([change(1)])
        raise LookupError("no")

    with pytest.raises(LookupError):
        await database.write(fails)
    await database.write(write_changes, [2])
    assert run_ids(await first(bus, 1, Cursor(0, 0))) == [2]


async def test_closing_ends_every_subscription(bus: EventBus) -> None:
    reading = asyncio.create_task(first(bus, 1, await bus.cursor()))
    await asyncio.sleep(0)
    bus.close()
    assert await reading == []


class SlowNews(Database):
    """A database whose first answer to "what is the newest event?" arrives late."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked = asyncio.Event()
        self.arrives = asyncio.Event()

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Answer as ever, but keep the answers back until ``arrives`` is set."""
        answer = await super().read(function, *args, **kwargs)
        self.asked.set()
        await self.arrives.wait()
        return answer


async def test_what_is_published_while_the_first_subscriber_comes_is_not_left_until_the_next_look(
    database_url: str,
) -> None:
    database = SlowNews(database_url)
    # Nobody tells this bus of commits, and it does not look by itself.
    bus = EventBus(database, poll=3600)
    bus.start()
    waiting = asyncio.ensure_future(first(bus, 1, Cursor(0, 0)))
    await database.asked.wait()
    await database.write(write_changes, [1])
    publishing = asyncio.ensure_future(bus.publish())
    database.arrives.set()
    assert run_ids(await waiting) == [1]
    await publishing
    bus.close()
    await bus.stop()
    await database.close()
