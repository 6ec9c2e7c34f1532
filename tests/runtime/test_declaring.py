"""Tasks declared in code, at the start of a whole engine."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from cronograph.jobs.registry import Registry, define
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import periodic_task
from cronograph.jobs.store.statements import tasks
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually

DOWNTIME = timedelta(hours=28)


def often(schedule: str) -> Registry:
    async def tick() -> None:
        """Do next to nothing."""

    registry = Registry()
    registry.add(define("tick", tick, schedule=schedule))
    return registry


def be_down(tx: Tx) -> None:
    """As if nothing had run for a while."""
    due = tx.now - DOWNTIME
    tx.conn.execute(update(periodic_task).values(next_nominal=due, next_execution=due))


async def schedule_of(engine: RunningEngine) -> str:
    task = await engine.database.read(tasks.by_name, "tick")
    assert task is not None
    return task.spec.schedule.value


@pytest.mark.costly
async def test_a_node_starts_after_a_day_of_downtime_and_the_task_follows_once_it_has_caught_up(
    start_engine: StartEngine,
) -> None:
    first = await start_engine(often("* * * * * *"))
    await first.engine.stop()
    first.database.write_sync(be_down)
    again = await start_engine(often("*/2 * * * * *"))
    assert again.engine.ready

    async def followed() -> bool:
        return await schedule_of(again) == "*/2 * * * * *"

    await eventually(followed, message="the task to follow its declaration")
