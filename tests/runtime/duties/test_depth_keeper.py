"""The depth of the queue is kept minute by minute, once for any number of nodes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from typing_extensions import override

from cronograph.jobs.actions.groups import keep_depth
from cronograph.jobs.core.states import RunState
from cronograph.jobs.runtime.base.settings import Clock
from cronograph.jobs.runtime.duties.figures import REST, DepthKeeper
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import queue_depth
from cronograph.jobs.store.statements.figures import depth
from cronograph.jobs.store.statements.figures.depth import KEPT_FOR, UNNAMED, DepthPoint, Part
from cronograph.jobs.store.statements.figures.hours import MOST_PARTS
from tests.support.storage import START, Stored

MINUTE = timedelta(minutes=1)
WAITING, RUNNING, STUCK = RunState.WAITING, RunState.RUNNING, RunState.STUCK


@pytest.fixture
async def database(stored: Stored, database_url: str) -> AsyncIterator[Database]:
    """The same database as `stored`, and its clock."""
    opened = Database(database_url, clock=lambda: stored.now)
    yield opened
    await opened.close()


class SteppingClock(Clock):
    """Each look at it takes a while: none unless told otherwise, so that nothing seems costly."""

    def __init__(self, step: float = 0.0) -> None:
        self.seconds = 0.0
        self._step = step

    @override
    def monotonic(self) -> float:
        """A step further each time."""
        self.seconds += self._step
        return self.seconds


def history(stored: Stored, seconds: int = 60, **of: str) -> list[DepthPoint]:
    """Return what was kept since the start."""
    return stored.do(lambda tx: depth.over_time(tx.conn, START, stored.now + MINUTE, seconds, **of))


async def test_each_minute_has_the_depth_by_state_and_the_longest_wait(stored: Stored, database: Database) -> None:
    keeper = DepthKeeper(database, SteppingClock())
    worker = stored.node("w", jobs=("work", "other"))
    assert await keeper.look()
    for group in ("a", "a", "b"):
        stored.enqueue(group=group)
    stored.enqueue(job_name="other", available_at=START + 30 * MINUTE)
    worker.start()
    stored.at(90)
    assert await keeper.look()
    assert not await keeper.look()
    minutes = [START, START + MINUTE]
    assert history(stored) == [
        DepthPoint(minutes[0], {WAITING: 0}, None),
        DepthPoint(minutes[1], {WAITING: 3, RUNNING: 1}, 60.0),
    ]
    assert history(stored, group="a")[1] == DepthPoint(minutes[1], {WAITING: 1, RUNNING: 1}, 60.0)
    assert history(stored, job_name="other")[1] == DepthPoint(minutes[1], {WAITING: 1}, None)
    assert history(stored, job_name="other", group="b")[1] == DepthPoint(minutes[1], {}, None)


async def test_a_wider_bucket_is_the_mean_of_the_minutes_that_were_kept(stored: Stored, database: Database) -> None:
    keeper = DepthKeeper(database, SteppingClock())
    stored.node()
    for minute in (0, 1, 7):
        stored.at(60 * minute)
        assert await keeper.look()
        stored.enqueue()
    assert history(stored, 3600) == [DepthPoint(START, {WAITING: 1}, 420.0)]


async def test_one_of_several_nodes_keeps_a_minute(stored: Stored, database: Database) -> None:
    stored.node()
    stored.enqueue()
    kept = await asyncio.gather(*(DepthKeeper(database, SteppingClock()).look() for _ in range(5)))
    assert kept.count(True) == 1
    parts = [Part("work", "elsewhere", WAITING, 9, None)]
    assert not stored.do(keep_depth, START, parts)
    assert history(stored) == [DepthPoint(START, {WAITING: 1}, 0.0)]


async def test_what_was_kept_is_forgotten_after_two_days(stored: Stored, database: Database) -> None:
    keeper = DepthKeeper(database, SteppingClock())
    for minute in (0, 1):
        stored.at(60 * minute)
        await keeper.look()
    stored.now = START + KEPT_FOR + MINUTE
    await keeper.look()
    assert [point.at for point in history(stored)] == [START + MINUTE, stored.now]


async def test_of_very_many_groups_the_largest_are_kept_and_the_others_counted_in_all(stored: Stored) -> None:
    many = [Part("work", f"g{number}", WAITING, 5, START) for number in range(MOST_PARTS)]
    beyond = [
        Part("work", "small", WAITING, 2, START - MINUTE),
        Part("work", "little", WAITING, 1, None),
        Part("work", "small", STUCK, 1, None),
    ]
    assert stored.do(keep_depth, START, [*many, *beyond])
    assert history(stored) == [DepthPoint(START, {WAITING: 5 * MOST_PARTS + 3, STUCK: 1}, 60.0)]
    assert history(stored, group="small") == [DepthPoint(START, {}, None)]
    assert len(stored.rows(queue_depth, group_name=UNNAMED)) == 2


async def test_after_a_long_count_nothing_is_counted_for_longer(stored: Stored, database: Database) -> None:
    clock = SteppingClock(1.0)
    keeper = DepthKeeper(database, clock)
    assert await keeper.look()
    stored.at(60)
    assert not await keeper.look()
    clock.seconds += REST
    assert await keeper.look()
