"""Hours of the log are counted in the background, each once, and those that still change later."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection
from typing_extensions import override

from cronograph.jobs.core.outcome import Succeeded
from cronograph.jobs.runtime.base.settings import Clock
from cronograph.jobs.runtime.duties.figures import REST_OF_HOURS, HourCounter
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.records import HourKind
from cronograph.jobs.store.statements.figures import hours
from cronograph.jobs.store.statements.figures.hours import HOUR, Tally
from tests.support.storage import START, Stored

FIVE_HOURS = 5 * 3600


@pytest.fixture
async def database(stored: Stored, database_url: str) -> AsyncIterator[Database]:
    """The same database as `stored`, and its clock."""
    opened = Database(database_url, clock=lambda: stored.now)
    yield opened
    await opened.close()


def everything(conn: Connection, start: datetime, end: datetime) -> Tally:
    """The counts of all executions that began in a span."""
    return sum(hours.tallies(conn, start, end, 3600, (HourKind.ALL, "")).values(), Tally())


def counted(stored: Stored) -> set[datetime]:
    """The hours that are counted."""
    return stored.do(lambda tx: hours.counted(tx.conn, START - timedelta(days=9), tx.now))


async def test_every_hour_that_is_over_is_counted_and_an_empty_log_has_none(stored: Stored, database: Database) -> None:
    counter = HourCounter(database, Clock())
    worker = stored.node("w")
    stored.at(FIVE_HOURS)
    assert await counter.look() == 0
    stored.at(0)
    stored.enqueue()
    worker.end(worker.start(), Succeeded(1))
    stored.at(FIVE_HOURS)
    assert await counter.look() == 4
    assert await counter.look() == 0
    assert counted(stored) == {hours.hour_of(START) + number * HOUR for number in range(4)}
    stored.at(FIVE_HOURS + 3600)
    assert [await counter.look(), await HourCounter(database, Clock()).look()] == [1, 0]


async def test_an_hour_waits_for_what_began_in_it_and_the_following_ones_do_not(
    stored: Stored, database: Database
) -> None:
    counter = HourCounter(database, Clock())
    worker = stored.node("w")
    stored.enqueue()
    running = worker.start()
    stored.at(FIVE_HOURS)
    assert await counter.look() == 3
    assert hours.hour_of(START) not in counted(stored)
    worker.end(running, Succeeded(7))
    assert await counter.look() == 1
    assert stored.do(lambda tx: everything(tx.conn, START, tx.now)) == Tally(1, 0, 1, 7)


class SlowHours(Clock):
    """Each look at it is so many seconds after the last one."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._at = 0.0

    @override
    def monotonic(self) -> float:
        self._at += self._seconds
        return self._at


@pytest.mark.parametrize(("takes", "rests"), [(0.5, 4), (0.01, 0)])
async def test_a_long_history_is_counted_with_rests_for_the_runs_beside_it(
    stored: Stored, database: Database, takes: float, rests: int
) -> None:
    rested: list[float] = []

    async def rest(seconds: float) -> None:
        rested.append(seconds)

    worker = stored.node("w")
    stored.enqueue()
    worker.end(worker.start())
    stored.at(FIVE_HOURS)
    assert await HourCounter(database, SlowHours(takes), rest=rest).look() == 4
    assert rested == pytest.approx([takes * REST_OF_HOURS] * rests)
