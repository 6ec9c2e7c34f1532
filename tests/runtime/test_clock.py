"""Anyone who sets the time of day makes no node sleep, and has nobody taken for dead."""

import asyncio
from datetime import timedelta

import anyio.lowlevel
import pytest

from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.base.runs import BROUGHT_FORWARD
from cronograph.jobs.runtime.base.service import Duty
from cronograph.jobs.runtime.duties.dispatcher import Alarm
from cronograph.jobs.runtime.duties.watchers import Expirer, Rescuer
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import run as runs
from tests.support.clocks import WrongClock
from tests.support.storage import Stored
from tests.support.waiting import eventually

AN_HOUR = 3600.0


@pytest.mark.parametrize("off", [AN_HOUR, -AN_HOUR])
async def test_an_alarm_rings_though_the_clock_was_set_right_after_it_was_set(
    off: float, caplog: pytest.LogCaptureFixture
) -> None:
    clock = WrongClock(off)
    rung = asyncio.Event()
    alarm = Alarm(rung.set, clock)
    alarm.start()
    alarm.set(60.0 if off < 0 else 0.01)
    watch = Duty("clock-check", 0.01, lambda: _check(alarm))
    watch.start()
    clock.off = 0.0
    await asyncio.wait_for(rung.wait(), 60)
    rung.clear()
    # Anyone who heard it sets the alarm again, by the right clock.
    alarm.set(0.01)
    await asyncio.wait_for(rung.wait(), 60)
    await watch.stop()
    alarm.stop()
    word = "back" if off > 0 else "forward"
    assert [message for message in caplog.messages if f"set {word} by 3600.0 s" in message]


async def _check(alarm: Alarm) -> None:
    alarm.check()


async def test_a_clock_that_drifts_by_less_than_a_second_rings_nothing() -> None:
    clock = WrongClock()
    rung: list[int] = []
    alarm = Alarm(lambda: rung.append(1), clock)
    alarm.start()
    alarm.set(None)
    clock.off = 0.9
    alarm.check()
    assert rung == []
    clock.off = 1.1
    alarm.check()
    alarm.check()
    assert rung == [1]
    alarm.stop()
    alarm.stop()
    alarm.set(0.0)


@pytest.mark.costly
async def test_what_was_due_goes_on_at_once_though_the_databases_clock_is_set_back(
    stored: Stored, database_url: str
) -> None:
    """Also after the first transaction of many; what was to come later, or comes only now, keeps its time."""
    database = Database(database_url, clock=lambda: stored.now)
    expirer = Expirer(database, "node-a")
    worker = stored.node()
    due = [stored.enqueue().id for _ in range(BROUGHT_FORWARD + 1)]
    later = stored.enqueue(available_at=stored.now + timedelta(minutes=10))
    await expirer.look()
    stored.at(-AN_HOUR)
    assert worker.take(5).started == ()
    await expirer.look()
    assert {row.id for row in stored.rows(runs) if row.available_at <= stored.now} == set(due)
    assert stored.rows(runs, id=later.id)[0].available_at == later.available_at
    assert len(worker.take(5).started) == 5
    retried = stored.enqueue(available_at=stored.now + timedelta(minutes=1))
    await expirer.look()
    assert stored.rows(runs, id=retried.id)[0].available_at == retried.available_at
    await database.close()


async def test_a_node_that_died_before_the_databases_clock_was_set_back_is_rescued(
    stored: Stored, database_url: str
) -> None:
    database = Database(database_url, clock=lambda: stored.now)
    clock = WrongClock()
    dead = stored.node("dead")
    run = stored.enqueue()
    dead.start()
    stored.at(-AN_HOUR)
    rescuer = Rescuer(database, own=0, lease=60.0, heartbeat=15.0, clock=clock)
    await rescuer.look()
    clock.passed = 60.0
    assert await rescuer.look() == 1
    assert stored.rows(runs, id=run.id)[0].state == RunState.STUCK.value
    await database.close()


async def test_a_node_is_dead_by_its_silence_and_not_by_anybodys_time_of_day(stored: Stored, database_url: str) -> None:
    """The database's clock says that the lease is over; only a whole lease without a beat proves it."""
    database = Database(database_url, clock=lambda: stored.now)
    clock = WrongClock()
    dead = stored.node("dead")
    run = stored.enqueue()
    dead.start()
    rescuer = Rescuer(database, own=0, lease=60.0, heartbeat=15.0, clock=clock)
    stored.now += timedelta(hours=1)
    clock.off = AN_HOUR
    assert [await rescuer.look(), await rescuer.look()] == [0, 0]
    clock.passed = 60.0
    assert await rescuer.look() == 1
    (row,) = stored.rows(runs, id=run.id)
    assert row.state == RunState.STUCK.value
    await database.close()


async def test_an_alarm_that_is_set_again_while_it_rings_warns_of_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rung: list[int] = []
    alarm = Alarm(lambda: rung.append(1), WrongClock())
    alarm.start()
    for _ in range(100):
        alarm.set(0.0)
        await anyio.lowlevel.checkpoint()
        alarm.set(0.0)
    await eventually(lambda: rung)
    alarm.stop()
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == []
