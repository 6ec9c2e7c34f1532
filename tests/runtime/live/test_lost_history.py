"""A database that is set back, by a restore or a failover with loss: every reader is told, and misses nothing new."""

from collections.abc import AsyncIterator, Iterable
from datetime import timedelta

import pytest
from sqlalchemy import delete, update

from cronograph.jobs.core.events import Change, Cursor, EventKind
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import event, event_publisher
from cronograph.jobs.store.statements import events as stored_events
from tests.runtime.live.reader import RESYNC, Reader, write


@pytest.fixture
async def bus(database: Database) -> AsyncIterator[EventBus]:
    bus = EventBus(database, poll=0.05)
    bus.start()
    yield bus
    bus.close()
    await bus.stop()


def set_back(tx: Tx, to: int) -> None:
    """Forget every event after number ``to``, as a standby does that never received them."""
    tx.conn.execute(delete(event).where((event.c.seq > to) | event.c.seq.is_(None)))
    tx.conn.execute(update(event_publisher).values(last_seq=to))


def replace_history(tx: Tx, to: int, run_ids: Iterable[int]) -> None:
    """The same, with new events already in the place of the old ones."""
    set_back(tx, to)
    for run_id in run_ids:
        tx.conn.execute(
            event.insert().values(
                seq=stored_events.lock_publisher(tx.conn) + 1,
                at=tx.now,
                changes=[Change(EventKind.RUN_UPDATED, run_id=run_id, job_name="job").to_json()],
            )
        )
        stored_events.advance_publisher(tx.conn, stored_events.lock_publisher(tx.conn) + 1)


async def test_a_database_that_was_set_back_resyncs_every_reader_and_misses_nothing_new(
    database: Database, bus: EventBus, caplog: pytest.LogCaptureFixture
) -> None:
    readers = [Reader(bus.subscribe(Cursor(0, 0))) for _ in range(2)]
    await write(database, 1, 2, 3, 4, 5)
    for one in readers:
        await one.heard(1, 2, 3, 4, 5)
    await database.write(set_back, 2)
    for one in readers:
        await one.heard(RESYNC)
        assert one.last.seq == 2
    await write(database, 13, 14)
    for one in readers:
        await one.heard(13, 14)
    # Said once, and not with every look.
    (said,) = [text for text in caplog.messages if "RESYNC" in text]
    assert said.startswith("the database knows events up to 2 and this process had seen 5: it was restored, or")
    for one in readers:
        await one.leave()


@pytest.mark.parametrize("new", [(13, 14, 15), (13, 14, 15, 16, 17)], ids=["the same number", "a higher number"])
async def test_another_history_is_noticed_though_its_newest_number_is_not_behind(
    database: Database, bus: EventBus, new: tuple[int, ...]
) -> None:
    reader = Reader(bus.subscribe(Cursor(0, 0)))
    await write(database, 1, 2, 3, 4, 5)
    await reader.heard(1, 2, 3, 4, 5)
    await database.write(replace_history, 2, new)
    await reader.heard(RESYNC)
    assert reader.last.seq == 2 + len(new)
    await write(database, 20)
    await reader.heard(20)
    await reader.leave()


@pytest.mark.costly
@pytest.mark.parametrize("recent", [0, 2000], ids=["from the table", "from memory"])
@pytest.mark.parametrize("new", [(), (13,), (13, 14, 15), (13, 14, 15, 16)])
async def test_a_cursor_of_the_lost_history_is_asked_to_read_again_by_a_node_that_never_saw_it(
    database: Database, new: tuple[int, ...], recent: int
) -> None:
    first = EventBus(database, poll=0.05)
    first.start()
    reader = Reader(first.subscribe(Cursor(0, 0)))
    await write(database, 1, 2, 3, 4, 5)
    await reader.heard(1, 2, 3, 4, 5)
    await reader.leave()
    first.close()
    await first.stop()
    await database.write(replace_history, 2, new)
    other = EventBus(database, poll=0.05, recent=recent)
    other.start()
    again = Reader(other.subscribe(Cursor.parse(str(reader.last))))
    await again.heard(RESYNC)
    await write(database, 20, 21)
    await again.heard(20, 21)
    await again.leave()
    other.close()
    await other.stop()


@pytest.mark.parametrize("recent", [1, 2000], ids=["from the table", "from memory"])
async def test_a_cursor_of_what_both_histories_have_in_common_goes_on(database: Database, recent: int) -> None:
    bus = EventBus(database, poll=0.05, recent=recent)
    bus.start()
    reader = Reader(bus.subscribe(Cursor(0, 0)))
    await write(database, 1, 2)
    await reader.heard(1, 2)
    common = reader.last
    await reader.leave()
    await database.write(replace_history, 2, (13, 14))
    again = Reader(bus.subscribe(Cursor.parse(str(common))))
    await again.heard(13, 14)
    await again.leave()
    bus.close()
    await bus.stop()


async def test_a_place_asked_for_after_the_loss_is_one_of_the_new_history(database: Database, bus: EventBus) -> None:
    reader = Reader(bus.subscribe(Cursor(0, 0)))
    await write(database, 1, 2, 3)
    await reader.heard(1, 2, 3)
    await database.write(replace_history, 1, (12,))
    place = await bus.cursor()
    assert place.seq == 2
    await reader.heard(RESYNC)
    later = Reader(bus.subscribe(place))
    await write(database, 13)
    await later.heard(13)
    await later.leave()
    await reader.leave()


@pytest.mark.parametrize("recent", [0, 2000], ids=["from the table", "from memory"])
async def test_a_reader_is_told_of_a_gap_that_pruning_by_clocks_that_differ_has_left(
    database: Database, recent: int
) -> None:
    await write(database, 1, 2, 3, 4, 5)
    all_of_them = await database.read(stored_events.after, Cursor(0, 0), 10)
    places = {one.change.run_id: one.cursor for one in all_of_them}
    an_hour = timedelta(hours=1)
    # The clock of the third was an hour behind.
    await database.write(
        lambda tx: tx.conn.execute(update(event).where(event.c.seq == places[3].seq).values(at=tx.now - an_hour))
    )
    assert await database.write(lambda tx: stored_events.prune(tx.conn, tx.now - an_hour / 2, None, 10)) == 1

    bus = EventBus(database, poll=0.05, recent=recent)
    bus.start()
    behind, beyond = Reader(bus.subscribe(places[1])), Reader(bus.subscribe(places[4]))
    await beyond.heard(5)
    # The second is there, but nobody knows what the third was.
    await behind.heard(2, RESYNC)
    await write(database, 6)
    for one in (behind, beyond):
        await one.heard(6)
        await one.leave()
    bus.close()
    await bus.stop()
