"""However many look at the overview, it is read once for all of them."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from cronograph.jobs.runtime.live.feeds import Overviews
from cronograph.jobs.store.db.database import Database, OperationalError
from cronograph.jobs.store.statements.figures.reports import Overview
from tests.support.databases import sqlite_address
from tests.support.schema import migrate
from tests.support.waiting import eventually


async def test_those_who_look_at_the_same_time_are_shown_one_reading_and_later_another(database_url: str) -> None:
    database, overviews = Database(database_url), Overviews()
    first, *others = await asyncio.gather(*(overviews.latest(database) for _ in range(20)))
    assert all(one is first for one in others)

    async def newer() -> Overview | None:
        latest = await overviews.latest(database)
        return None if latest is first else latest

    latest = await eventually(newer)
    assert latest is not None
    assert latest.at > first.at
    await database.close()


async def test_a_fault_is_raised_to_all_who_wait_and_the_next_who_looks_tries_again(tmp_path: Path) -> None:
    url = sqlite_address(tmp_path / "empty.db")
    database, overviews = Database(url), Overviews()
    found = await asyncio.gather(*(overviews.latest(database) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in found] == [OperationalError] * 3
    migrate(url)
    assert (await overviews.latest(database)).failed == 0
    await database.close()


@pytest.mark.postgres
async def test_a_reading_ends_when_the_last_who_waits_for_it_has_left(postgres_url: str) -> None:
    database, overviews = Database(f"{postgres_url}?application_name=readers"), Overviews()
    with psycopg.connect(postgres_url) as holder, psycopg.connect(postgres_url, autocommit=True) as watcher:
        holder.execute("LOCK TABLE cronograph.run IN ACCESS EXCLUSIVE MODE")

        def blocked() -> int:
            asked = (
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'readers' AND wait_event_type = 'Lock'"
            )
            ((number,),) = watcher.execute(asked).fetchall()
            return int(number)

        first, second = (asyncio.create_task(overviews.latest(database)) for _ in range(2))
        await eventually(blocked)
        first.cancel()
        await asyncio.wait([first])
        assert blocked() == 1
        second.cancel()
        await eventually(lambda: not blocked())
        # Anyone who comes now does not get what was given up.
        third = asyncio.create_task(overviews.latest(database))
        await eventually(blocked)
    assert (await third).failed == 0
    assert (first.cancelled(), second.cancelled()) == (True, True)
    await database.close()
