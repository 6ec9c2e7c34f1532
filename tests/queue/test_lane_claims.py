"""A lane is taken from where the last claim ended, and from its beginning again before long."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select, text, update

from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.core.model import Priority, Trigger
from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.claims.lane import MOST_PLACES, WHOLE_LOOK, LaneClaims, claim_lane
from cronograph.jobs.store.db.database import Database, sync_engine
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.schema.tables import periodic_task, run
from tests.support.storage import START, Stored, Worker
from tests.support.waiting import eventually

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
        """Return what one claim takes; None = nothing, because there is more than one lane."""
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
    # Runs of others may stand in front of those of its own.
    assert await lane.take(2, jobs=("work",)) is None
    assert await lane.take(4, jobs=("play", "work")) == ["30", "40", "50"]
    # Where the lane ends, what came before its place is seen.
    assert await lane.take(2, jobs=("play", "work")) == ["16"]


async def test_runs_due_at_one_moment_are_distinguished(lane: Lane) -> None:
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


async def test_a_run_whose_times_cannot_be_read_keeps_no_other_from_its_turn(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    """The one statement has begun it when it turns out; no claim comes across it again."""
    infinite = update(run).where(run.c.description == "10").values(scheduled_for=text("'infinity'"))
    lane.stored.do(lambda tx: tx.conn.execute(infinite))
    assert await lane.take(1) is None
    assert await lane.take(2) == ["20", "30"]
    assert await lane.take(5) == ["40", "50"]
    assert await lane.take(5) == []
    assert [one.getMessage().partition(":")[0] for one in caplog.records] == [
        "a row of an answer was left out, which cannot be read"
    ]


async def test_beside_a_run_whose_times_cannot_be_read_the_others_of_its_claim_begin(lane: Lane) -> None:
    infinite = update(run).where(run.c.description == "20").values(scheduled_for=text("'infinity'"))
    lane.stored.do(lambda tx: tx.conn.execute(infinite))
    assert await lane.take(3) == ["10", "30"]


async def test_without_a_connection_the_general_claim_is_left_to_take_them(lane: Lane) -> None:
    nowhere = Database("postgresql://postgres@127.0.0.1:1/nothing")
    connection = nowhere.autocommit_connection()
    assert connection is not None
    claim, wake = await claim_lane(connection, lane.node.claimant, FairnessState(), slots=1)
    assert (claim.served, claim.started, wake) == (False, (), Wake.NONE)
    await nowhere.close()


BLOCKED = text("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")


async def test_where_another_node_just_begins_a_run_of_the_same_task_nothing_is_taken(
    lane: Lane, postgres_url: str
) -> None:
    lane.put(1, 2, task_id=7, exclusive=True)
    other, may_commit = Stored(postgres_url), threading.Event()
    begun = update(run).where(run.c.description == "1").values(state="running", node_id=lane.node.node.id)

    def begin(tx: Tx) -> None:
        tx.conn.execute(begun)
        holds.set()
        assert may_commit.wait(30)

    holds = threading.Event()
    beginning = asyncio.create_task(asyncio.to_thread(other.do, begin))
    await eventually(holds.is_set, message="the other node to hold the run")
    taking = asyncio.create_task(lane.take(1))
    await eventually(lambda: lane.stored.do(lambda tx: tx.conn.execute(BLOCKED).first()), message="the claim to wait")
    may_commit.set()
    await beginning
    assert await taking is None
    assert await lane.take(1) == ["10"]
    other.close()


async def test_where_another_transaction_holds_the_task_of_a_run_the_general_claim_tries_again(
    lane: Lane, postgres_url: str
) -> None:
    task = lane.stored.task(job_name="play")
    lane.put(1, job_name="play", task_id=task.id, trigger=Trigger.SCHEDULE, scheduled_for=START)
    impatient = Database(f"{postgres_url}?options=-c%20lock_timeout%3D50ms")
    connection = impatient.autocommit_connection()
    assert connection is not None
    engine = sync_engine(lane.stored.database.url)
    with engine.begin() as conn:
        conn.execute(select(periodic_task.c.id).with_for_update()).all()
        claim, wake = await claim_lane(connection, lane.node.claimant, FairnessState(), slots=1)
    assert (claim.served, claim.started, wake) == (False, (), Wake.NONE)
    assert await lane.take(1, ("play", "work")) == ["1"]
    await connection.close()
    await impatient.close()
    engine.dispose()


async def test_places_are_kept_for_so_many_sets_of_jobs(lane: Lane) -> None:
    for number in range(MOST_PLACES + 20):
        await lane.take(1, ("none", f"job {number}"))
    assert len(lane.claims._places) <= MOST_PLACES  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
