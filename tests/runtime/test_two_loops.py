"""Two event loops of one process: each part is told of commits in its own, whichever the commit was made in."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.job_loop import JobLoop, LoopThread
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Wake
from tests.support.waiting import eventually


class Part:
    """Notes what it is told, and in which thread."""

    def __init__(self) -> None:
        self.heard: list[tuple[Wake, int]] = []

    def on_wake(self, wakes: Wake) -> None:
        self.heard.append((wakes, threading.get_ident()))

    def heard_groups_in(self, thread: int) -> bool:
        """Return whether it was told that a group changed, and only ever in this thread."""
        return any(wakes & Wake.GROUPS for wakes, _ in self.heard) and {one for _, one in self.heard} == {thread}


@pytest.fixture
async def other() -> AsyncIterator[LoopThread]:
    thread = LoopThread("other-loop", JobLoop)
    thread.start()
    yield thread
    assert await thread.close(20)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


@pytest.mark.parametrize("committed_here", [True, False], ids=["committed here", "committed there"])
async def test_each_part_is_notified_in_its_own_loop(
    database: Database, other: LoopThread, committed_here: bool
) -> None:
    wakeup, here, there = Wakeup(database), Part(), Part()

    async def listen() -> None:
        wakeup.subscribe(there.on_wake)

    async def forget() -> None:
        wakeup.unsubscribe(there.on_wake)

    async def commit() -> None:
        await database.write(pause_group, "g", reason=None, actor="tester")

    wakeup.subscribe(here.on_wake)
    await other.run(listen)
    await (commit() if committed_here else other.run(commit))
    await eventually(lambda: here.heard_groups_in(threading.get_ident()))
    await eventually(lambda: there.heard_groups_in(other.identity))
    await other.run(forget)
    told = len(there.heard)
    await commit()
    await other.run(commit)
    assert len(there.heard) == told


@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_what_the_other_loop_committed_is_sent_to_other_nodes(database: Database, other: LoopThread) -> None:
    wakeup, part = Wakeup(database), Part()
    foreign_database = Database(database.url.render_as_string(hide_password=False))
    foreign = Wakeup(foreign_database)
    foreign.subscribe(part.on_wake)
    for one in (wakeup, foreign):
        one.start()
    # The first look after LISTEN says so.
    await eventually(lambda: part.heard)

    async def commit() -> None:
        await database.write(pause_group, "g", reason=None, actor="tester")

    part.heard.clear()
    await other.run(commit)
    await eventually(lambda: any(wakes & Wake.GROUPS for wakes, _ in part.heard))
    for one in (wakeup, foreign):
        await one.stop()
    await foreign_database.close()


async def test_hints_for_a_busy_loop_come_as_one(database: Database, other: LoopThread) -> None:
    wakeup, part = Wakeup(database), Part()
    busy, free = threading.Event(), threading.Event()

    async def listen() -> None:
        wakeup.subscribe(part.on_wake)

    async def block() -> None:
        busy.set()
        free.wait()

    await other.run(listen)
    blocked = asyncio.ensure_future(other.run(block))
    await asyncio.to_thread(busy.wait)
    for name in ("a", "b", "c"):
        await database.write(pause_group, name, reason=None, actor="tester")
    free.set()
    await blocked
    await eventually(lambda: part.heard)
    assert len(part.heard) == 1


async def test_a_cancel_crosses_to_the_other_loop(other: LoopThread) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    waiting = asyncio.ensure_future(other.run(wait))
    await asyncio.to_thread(begun.wait)
    waiting.cancel()
    await eventually(cancelled.is_set)


async def test_a_loop_that_is_blocked_is_left_behind() -> None:
    thread, free, busy = LoopThread("stuck-loop", JobLoop), threading.Event(), threading.Event()
    thread.start()

    async def block() -> None:
        busy.set()
        free.wait()

    blocked = asyncio.ensure_future(thread.run(block))
    await asyncio.to_thread(busy.wait)
    assert not await thread.close(0.01)
    free.set()
    assert await thread.close(20)
    blocked.cancel()


async def test_a_thread_that_was_never_started_has_no_loop_and_closes_at_once() -> None:
    thread = LoopThread("unborn-loop", JobLoop)
    with pytest.raises(RuntimeError, match="'unborn-loop' must be started"):
        await thread.run(_nothing)
    assert await thread.close(0)


async def _nothing() -> None:
    """Do nothing."""
