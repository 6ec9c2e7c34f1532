"""How many runs a node executes at once: coroutines may take all slots, threads and child processes only some."""

import asyncio
import threading

from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually


async def states(engine: RunningEngine, ids: list[int]) -> list[RunState]:
    return [(await engine.run(run_id)).state for run_id in ids]


async def test_threads_take_their_share_of_the_slots_and_coroutines_the_rest(start_engine: StartEngine) -> None:
    gate, release = asyncio.Event(), threading.Event()

    async def awaits() -> None:
        await gate.wait()

    def blocks() -> None:
        release.wait(30)

    registry = Registry()
    registry.add(define("awaits", awaits))
    registry.add(define("blocks", blocks))
    engine = await start_engine(registry, slots=5, thread_slots=2)
    threads = [await engine.enqueue("blocks") for _ in range(4)]
    coroutines = [await engine.enqueue("awaits") for _ in range(6)]
    try:
        await eventually(lambda: engine.engine.running == 5, message="all slots to be taken")
        assert await states(engine, threads) == [RunState.RUNNING] * 2 + [RunState.WAITING] * 2
        assert await states(engine, coroutines) == [RunState.RUNNING] * 3 + [RunState.WAITING] * 3
    finally:
        release.set()
        gate.set()
    for run_id in threads + coroutines:
        assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS
