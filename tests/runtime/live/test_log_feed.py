"""Followers of logs: told of every line and of the end, by whichever node, and of nothing else."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cronograph.jobs.queue.base.apart import append_lines
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.live.feeds import LogFeed, LogFollower
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.statements.logs import LogLine
from tests.support.storage import Stored
from tests.support.waiting import eventually

FAR_TOO_LATE = 3600.0
"""Seconds between two looks without a hint: no test waits for one."""


@pytest.fixture
async def feed(database: Database) -> AsyncIterator[LogFeed]:
    """The feed of a node that hears the others."""
    wakeup, feed = Wakeup(database), LogFeed(database, poll=FAR_TOO_LATE)
    wakeup.subscribe(feed.on_wake)
    for part in (wakeup, feed):
        part.start()
    yield feed
    for part in (feed, wakeup):
        await part.stop()


def executing(stored: Stored) -> int:
    """A begun execution."""
    worker = stored.node("w")
    stored.enqueue()
    return worker.start().execution_id


def line(stored: Stored, execution_id: int, number: int) -> LogLine:
    """A line of an execution."""
    return LogLine(execution_id, number, stored.now, "info", f"line {number}")


async def still_waits(follower: LogFollower, last_line: int) -> bool:
    """Return whether there is no more for a follower at this moment."""
    try:
        await asyncio.wait_for(follower.more(last_line), 0)
    except TimeoutError:
        return True
    return False


async def test_a_follower_is_notified_of_lines_and_then_waits_for_further_ones(
    stored: Stored, database: Database, feed: LogFeed
) -> None:
    execution_id = executing(stored)
    with feed.follow(execution_id) as follower:
        await database.write(append_lines, [line(stored, execution_id, 1), line(stored, execution_id, 2)])
        await follower.more(0)
        await follower.more(1)
        assert await still_waits(follower, 2)
        await database.write(append_lines, [line(stored, execution_id, 3)])
        await follower.more(2)


async def test_the_end_of_an_execution_is_reported_although_it_wrote_no_line(
    stored: Stored, database: Database, feed: LogFeed
) -> None:
    worker = stored.node("w")
    stored.enqueue()
    started = worker.start()
    with feed.follow(started.execution_id) as follower:
        worker.end(started)

        def told() -> bool:
            # The end is written past this process' connections, so hint at it as its node would.
            feed.on_wake(Wake.EVENTS)
            return waiting.done()

        waiting = asyncio.ensure_future(follower.more(0))
        await eventually(told)
        await waiting


async def test_who_comes_late_is_notified_of_what_was_written_in_between(
    stored: Stored, database: Database, feed: LogFeed
) -> None:
    execution_id = executing(stored)
    with feed.follow(execution_id) as early:
        await database.write(append_lines, [line(stored, execution_id, 1)])
        await early.more(0)
        with feed.follow(execution_id) as late:
            # It has read line 1 by itself, and line 2 comes before it asks for more.
            await database.write(append_lines, [line(stored, execution_id, 2)])
            await late.more(1)


async def test_other_commits_and_other_logs_wake_no_follower(stored: Stored, database: Database, feed: LogFeed) -> None:
    worker = stored.node("w")
    for _ in range(2):
        stored.enqueue()
    quiet, loud = worker.start().execution_id, worker.start().execution_id
    with feed.follow(quiet) as follower, feed.follow(loud) as other:
        await database.write(append_lines, [line(stored, loud, 1)])
        await other.more(0)
        assert await still_waits(follower, 0)


async def test_a_hint_that_was_lost_is_made_up_for_by_a_slow_look(stored: Stored, database: Database) -> None:
    execution_id = executing(stored)
    feed = LogFeed(database, poll=0.01)
    feed.start()
    with feed.follow(execution_id) as follower:
        stored.do(append_lines, [line(stored, execution_id, 1)])
        await follower.more(0)
    await feed.stop()


async def test_lines_of_another_node_are_reported(postgres_url: str) -> None:
    stored = Stored(postgres_url)
    execution_id = executing(stored)
    here, there = Database(postgres_url), Database(postgres_url)
    ears, mouth, feed = Wakeup(here), Wakeup(there), LogFeed(here, poll=FAR_TOO_LATE)
    ears.subscribe(feed.on_wake)
    for part in (ears, mouth, feed):
        part.start()

    def write(tx: Tx) -> None:
        append_lines(tx, [line(stored, execution_id, number)])

    with feed.follow(execution_id) as follower:
        for number in range(1, 4):
            await there.write(write)
            await follower.more(number - 1)
    for part in (feed, mouth, ears):
        await part.stop()
    for database in (here, there):
        await database.close()
    stored.close()
