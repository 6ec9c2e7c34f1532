"""Runs that take several slots, with nodes at work: never beside too many others, and never starved by them."""

import asyncio
import threading
from collections import Counter

import pytest

from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs
from cronograph.jobs.core.model import NewRun, Priority, Trigger
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually


class Load:
    """Counts the slots that are in use, and the most of them at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.used = Counter[str]()
        self.most = 0

    def change(self, job: str, slots: int) -> None:
        """Take or leave slots."""
        with self._lock:
            self.used[job] += slots
            self.most = max(self.most, self.used.total())


@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_a_heavy_run_starts_amid_light_ones_that_never_end_coming(start_engine: StartEngine, kind: str) -> None:
    load, over = Load(), threading.Event()

    async def light() -> None:
        load.change("light", 1)
        for _ in range(20):
            await asyncio.sleep(0)
        load.change("light", -1)

    def in_thread() -> None:
        load.change("heavy", 4)
        over.wait(0.01)
        load.change("heavy", -4)

    async def heavy() -> None:
        load.change("heavy", 4)
        for _ in range(100):
            await asyncio.sleep(0)
        load.change("heavy", -4)

    registry = Registry()
    registry.add(define("light", light))
    registry.add(define("heavy", heavy if kind == "async" else in_thread, slots=4))
    engine = await start_engine(registry, slots=4, thread_slots=4)
    runs = [NewRun("light", Trigger.API, priority=Priority.HIGH)] * 100
    await engine.database.write(enqueue_runs, runs)
    wanted = await engine.database.write(enqueue_runs, [NewRun("heavy", Trigger.API)] * 5)
    feeding = asyncio.create_task(_feed(engine, runs[:20]))
    for one in wanted:
        assert (await engine.run_until_finished(one.run.id)).state is RunState.SUCCESS
    feeding.cancel()
    over.set()
    assert load.most <= 4


async def _feed(engine: RunningEngine, runs: list[NewRun]) -> None:
    while True:
        first, *_ = await engine.database.write(enqueue_runs, runs)
        await engine.run_until_finished(first.run.id)


async def test_what_waits_behind_a_heavy_run_goes_on_once_that_is_cancelled(start_engine: StartEngine) -> None:
    gate = asyncio.Event()

    async def waits() -> None:
        await gate.wait()

    async def quick() -> None: ...

    registry = Registry()
    registry.add(define("waits", waits))
    registry.add(define("quick", quick))
    registry.add(define("heavy", quick, slots=3))
    engine = await start_engine(registry, slots=4)
    await engine.database.write(enqueue_runs, [NewRun("waits", Trigger.API)] * 2)
    await eventually(lambda: engine.engine.running == 2)
    (heavy,) = await engine.database.write(enqueue_runs, [NewRun("heavy", Trigger.API)])
    (light,) = await engine.database.write(enqueue_runs, [NewRun("quick", Trigger.API)])
    await engine.database.write(cancel_runs, [heavy.run.id])
    assert (await engine.run_until_finished(light.run.id)).state is RunState.SUCCESS
    gate.set()


@pytest.mark.costly
async def test_a_heavy_run_takes_the_place_of_child_processes(start_engine: StartEngine) -> None:
    registry = Registry()
    registry.add(define("child", _short, isolation="process"))
    registry.add(define("large", _short, isolation="process", slots=2))
    engine = await start_engine(registry, slots=4, process_slots=2)
    new = [NewRun(name, Trigger.API) for name in ("child", "large", "child", "large", "child", "child")]
    made = await engine.database.write(enqueue_runs, new)
    for one in made:
        assert (await engine.run_until_finished(one.run.id)).state is RunState.SUCCESS


def _short() -> None:
    """A child process that ends at once."""
