"""Rates and concurrency keys with nodes at work: what was held back starts by itself, on one node or two."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from cronograph.jobs.actions.groups import set_group_rate
from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs
from cronograph.jobs.core.admission.caps import Rate as StoredRate
from cronograph.jobs.core.defaults import FOLLOWED
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.states import FINAL, RunState
from cronograph.jobs.registry import Rate, Registry, define
from cronograph.jobs.store.schema.tables import job_execution, run
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually


async def enqueue(engine: RunningEngine, args: list[dict[str, Any]], **more: Any) -> list[int]:
    """Runs of job ``work`` that follow it in all that is not said."""
    new = [NewRun("work", Trigger.API, args=one, inherits=FOLLOWED - more.keys(), **more) for one in args]
    return [one.run.id for one in await engine.database.write(enqueue_runs, new)]


def states_of(conn: Connection) -> Counter[str]:
    return Counter(conn.execute(select(run.c.state)).scalars())


def starts_of(conn: Connection) -> list[datetime]:
    return list(conn.execute(select(job_execution.c.started_at).order_by(job_execution.c.started_at)).scalars())


async def all_over(engine: RunningEngine, count: int) -> None:
    async def over() -> bool:
        states = await engine.database.read(states_of)
        return states.total() == count and set(states) <= {state.value for state in FINAL}

    await eventually(over, message="all runs to be over")


def crowded(starts: list[datetime], rate: StoredRate) -> Iterator[tuple[datetime, int]]:
    """The stretches in which more started than the rate lets through."""
    for first, began in enumerate(starts):
        for last in range(first, len(starts)):
            count = last - first + 1
            if count > rate.burst + rate.limit * (starts[last] - began) / timedelta(seconds=rate.per):
                yield began, count


@pytest.mark.costly
async def test_no_key_runs_twice_at_once_and_all_of_its_runs_run(start_engine: StartEngine) -> None:
    running, most = Counter[str](), Counter[str]()

    async def work(customer: str) -> None:
        running[customer] += 1
        most[customer] = max(most[customer], running[customer])
        await asyncio.sleep(0)
        running[customer] -= 1

    registry = Registry()
    registry.add(define("work", work, max_concurrent=1, concurrency_key="{customer}"))
    engine = await start_engine(registry)
    if not engine.database.is_sqlite:
        await start_engine(registry, node_name="another")
    await enqueue(engine, [{"customer": "abcd"[place % 4]} for place in range(60)])
    await all_over(engine, 60)
    assert await engine.database.read(states_of) == {RunState.SUCCESS.value: 60}
    assert most == {"a": 1, "b": 1, "c": 1, "d": 1}


@pytest.mark.costly
async def test_a_rate_of_each_key_is_kept_and_what_waits_starts_by_its_timer(start_engine: StartEngine) -> None:
    async def work(customer: str) -> None: ...

    registry = Registry()
    registry.add(define("work", work, rate=Rate(50, burst=2), rate_key="{customer}"))
    engine = await start_engine(registry, poll=30.0)
    if not engine.database.is_sqlite:
        await start_engine(registry, node_name="another", poll=30.0)
    await enqueue(engine, [{"customer": "a"}] * 20)
    await all_over(engine, 20)
    starts = await engine.database.read(starts_of)
    assert len(starts) == 20
    assert list(crowded(starts, StoredRate(50, 1.0, 2))) == []


@pytest.mark.costly
async def test_a_rate_of_a_job_and_of_a_group_are_kept_over_all_nodes(start_engine: StartEngine) -> None:
    async def work() -> None: ...

    registry = Registry()
    registry.add(define("work", work, rate=Rate(100, burst=3)))
    engine = await start_engine(registry, poll=30.0)
    if not engine.database.is_sqlite:
        await start_engine(registry, node_name="another", poll=30.0)
    await engine.database.write(set_group_rate, "slow", rate=StoredRate(40, 1.0, 1))
    await enqueue(engine, [{}] * 30, group="slow")
    await all_over(engine, 30)
    starts = await engine.database.read(starts_of)
    assert list(crowded(starts, StoredRate(40, 1.0, 1))) == []


async def test_the_next_run_of_a_key_starts_although_the_one_before_it_was_cancelled(
    start_engine: StartEngine,
) -> None:
    gate = asyncio.Event()

    async def work(customer: str) -> None:
        await gate.wait()

    registry = Registry()
    registry.add(define("work", work, max_concurrent=1, concurrency_key="{customer}"))
    engine = await start_engine(registry)
    first, second, third = await enqueue(engine, [{"customer": "a"}] * 3)
    await eventually(lambda: engine.engine.running == 1)
    await engine.database.write(cancel_runs, [second])
    gate.set()
    for run_id in (first, third):
        assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS
