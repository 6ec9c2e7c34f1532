"""A lane is taken from where the last claim ended, and from its beginning again before long."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.core.model import Priority
from cronograph.jobs.queue.fairness import FairnessState
from cronograph.jobs.queue.lane import WHOLE_LOOK, LaneClaims
from cronograph.jobs.store.db.database import Database
from tests.support.storage import START, Stored, Worker

pytestmark = pytest.mark.postgres


class Lane:
    """Runs that wait, named by numbers, and a node that takes them at times that a test says."""

    def __init__(self, stored: Stored, node: Worker) -> None:
        self.now = 100.0
        self.stored, self.node = stored, node
        # A database that a test sets the clock of has no line.
        database = Database(stored.database.url)
        connection = database.autocommit_connection()
        assert connection is not None
        self.claims = LaneClaims(database, connection, clock=lambda: self.now)

    def put(self, *numbers: int, **changes: object) -> None:
        """Put runs that became due so many seconds after ``START`` into the queue."""
        for number in numbers:
            self.stored.enqueue(available_at=START + timedelta(seconds=number), description=str(number), **changes)

    async def take(self, slots: int, jobs: tuple[str, ...] = ("work",)) -> list[str] | None:
        """What one claim takes; None = nothing, because there is more than one lane."""
        claimant = replace(self.node.claimant, jobs=jobs)
        claim = await self.claims.claim(claimant, FairnessState(), slots)
        assert claim.more or len(claim.started) < slots
        return [one.run.description for one in claim.started] if claim.served else None


@pytest.fixture
async def lane(postgres_url: str) -> AsyncIterator[Lane]:
    stored = Stored(postgres_url)
    made = Lane(stored, stored.node(jobs=("work", "play")))
    made.put(10, 20, 30, 40, 50)
    yield made
    await made.claims.close()
    stored.close()


async def test_what_came_before_the_place_is_taken_when_the_lane_ends(lane: Lane) -> None:
    assert await lane.take(2) == ["10", "20"]
    lane.put(15)
    assert await lane.take(2) == ["30", "40"]
    behind = [lane.claims.goes_on(("work",))]
    # Less than it could be, and yet there may be more.
    assert await lane.take(2) == ["50"]
    behind.append(lane.claims.goes_on(("work",)))
    assert behind == [True, False]
    assert await lane.take(2) == ["15"]
    assert await lane.take(2) == []


async def test_what_came_before_the_place_is_taken_before_long(lane: Lane) -> None:
    assert await lane.take(2) == ["10", "20"]
    lane.put(15)
    lane.now += WHOLE_LOOK / 2
    assert await lane.take(1) == ["30"]
    lane.now += WHOLE_LOOK / 2
    assert await lane.take(2) == ["15", "40"]


async def test_other_jobs_have_another_place(lane: Lane) -> None:
    lane.put(15, job_name="play")
    assert await lane.take(3, jobs=("play", "work")) == ["10", "15", "20"]
    lane.put(16, job_name="play")
    assert await lane.take(2, jobs=("work",)) == ["30", "40"]
    assert await lane.take(2, jobs=("play", "work")) == ["50"]
    # Where the lane ends, what came before its place is seen.
    assert await lane.take(2, jobs=("play", "work")) == ["16"]


async def test_runs_due_at_one_moment_are_told_apart(lane: Lane) -> None:
    lane.put(50, 50, 50)
    assert await lane.take(5) == ["10", "20", "30", "40", "50"]
    assert await lane.take(2) == ["50", "50"]
    assert await lane.take(2) == ["50"]


@pytest.mark.parametrize("other", [{"priority": Priority.HIGH}, {"group": "a"}, {"group": "z"}])
async def test_another_lane_is_seen_at_once(lane: Lane, other: dict[str, object]) -> None:
    assert await lane.take(2) == ["10", "20"]
    lane.put(60, **other)
    assert await lane.take(2) is None


async def test_low_priority_is_seen_beside_a_place_of_high_priority(lane: Lane) -> None:
    assert await lane.take(6) == ["10", "20", "30", "40", "50"]
    lane.put(5, 6, 7, priority=Priority.HIGH)
    assert await lane.take(2) == ["5", "6"]
    lane.put(60)
    assert await lane.take(2) is None


async def test_a_group_that_is_paused_meanwhile_is_seen(lane: Lane) -> None:
    assert await lane.take(2) == ["10", "20"]
    lane.stored.do(pause_group, "default")
    assert await lane.take(2) is None
