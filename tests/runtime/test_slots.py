"""How many runs a node executes at once: coroutines may take all slots, threads and child processes only some."""

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from cronograph.jobs.actions.runs import enqueue_runs
from cronograph.jobs.core.events import Change, EventKind, spread
from cronograph.jobs.core.model import NewRun, Outcome, Trigger
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.store.schema.tables import event
from tests.runtime.process_jobs import JOBS as PROCESS_JOBS
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


@pytest.mark.costly
async def test_child_processes_and_threads_have_slots_of_their_own(start_engine: StartEngine, tmp_path: Path) -> None:
    release = threading.Event()

    def blocks() -> None:
        release.wait(30)

    registry = Registry()
    registry.add(define("blocks", blocks))
    waits = PROCESS_JOBS.get("waits_with_child")
    assert waits is not None
    registry.add(waits)
    engine = await start_engine(registry, slots=10, thread_slots=2, process_slots=1)
    children = [await engine.enqueue("waits_with_child", {"folder": str(tmp_path)}) for _ in range(2)]
    threads = [await engine.enqueue("blocks") for _ in range(3)]
    try:
        await eventually(lambda: engine.engine.running == 3, message="all slots to be taken")
        assert await states(engine, children) == [RunState.RUNNING, RunState.WAITING]
        assert await states(engine, threads) == [RunState.RUNNING] * 2 + [RunState.WAITING]
    finally:
        release.set()
        for run_id in reversed(children):
            await engine.cancel_elsewhere(run_id)
    for run_id in threads:
        assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS


async def test_while_all_slots_are_taken_more_runs_are_reserved_as_prefetch_says(start_engine: StartEngine) -> None:
    release = threading.Event()

    def blocks() -> None:
        release.wait(30)

    registry = Registry()
    registry.add(define("blocks", blocks))
    engine = await start_engine(registry, slots=1, prefetch=2)
    ids = [await engine.enqueue("blocks")]
    await eventually(lambda: engine.engine.running == 1, message="the slot to be taken")
    ids += [await engine.enqueue("blocks") for _ in range(4)]

    async def reserved() -> bool:
        return (await states(engine, ids)).count(RunState.SCHEDULED) == 2

    try:
        await eventually(reserved, message="two runs to be reserved")
        assert await states(engine, ids) == [RunState.RUNNING] + [RunState.SCHEDULED] * 2 + [RunState.WAITING] * 2
    finally:
        release.set()
    for run_id in ids:
        assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS


@pytest.mark.costly
async def test_what_is_begun_ahead_of_long_runs_is_handed_back(start_engine: StartEngine) -> None:
    """More short runs may be begun than there are threads; what does not get one soon waits in the queue again."""
    release, blocked = threading.Event(), threading.Semaphore(0)

    def work(*, long: bool) -> None:
        if long:
            blocked.release()
            release.wait(30)

    registry = Registry()
    registry.add(define("work", work))
    engine = await start_engine(registry, slots=100, thread_slots=10)
    runs = [NewRun("work", Trigger.API, args={"long": 300 <= number < 310}) for number in range(400)]
    ids = [one.run.id for one in await engine.database.write(enqueue_runs, runs)]
    try:
        for _ in range(10):
            await asyncio.to_thread(blocked.acquire)
        await eventually(lambda: engine.engine.running == 10, message="what waits for a thread to be handed back")
        assert set(await states(engine, ids[310:])) == {RunState.WAITING}
    finally:
        release.set()
    for run_id in ids:
        done = await engine.finished(run_id)
        assert (done.run.state, done.run.failures) == (RunState.SUCCESS, 0)
        assert {one.outcome for one in done.executions[:-1]} <= {Outcome.HANDED_BACK}


async def test_a_node_that_was_waiting_begins_all_that_it_can_at_once(start_engine: StartEngine) -> None:
    async def nothing() -> None:
        pass

    registry = Registry()
    registry.add(define("nothing", nothing))
    engine = await start_engine(registry, slots=6)
    enqueued = await engine.database.write(enqueue_runs, [NewRun("nothing", Trigger.API)] * 6)
    ids = [one.run.id for one in enqueued]
    for run_id in ids:
        await engine.run_until_finished(run_id)
    assert await began_together(engine, ids[0]) == ids


async def test_a_slot_that_is_free_behind_long_runs_is_filled_though_claims_are_full(start_engine: StartEngine) -> None:
    """A full claim waits for a third of the slots, but not for ever."""
    gates = [asyncio.Event() for _ in range(6)]
    begun: list[int] = []

    async def waits(number: int) -> None:
        begun.append(number)
        await gates[number].wait()

    registry = Registry()
    registry.add(define("waits", waits))
    engine = await start_engine(registry, slots=4)
    runs = [NewRun("waits", Trigger.API, args={"number": number}) for number in range(6)]
    ids = [one.run.id for one in await engine.database.write(enqueue_runs, runs)]
    await eventually(lambda: len(begun) == 4, message="all slots to be taken")
    gates[begun[0]].set()
    await eventually(lambda: len(begun) == 5, message="the slot to be taken again")
    for gate in gates:
        gate.set()
    for run_id in ids:
        assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS


async def began_together(engine: RunningEngine, run_id: int) -> list[int]:
    """The runs that began in the same transaction as this one."""

    def told(conn: Connection) -> list[list[Change]]:
        stored = conn.execute(select(event.c.changes).order_by(event.c.id)).scalars()
        return [[one for one in spread(changes) if one.kind is EventKind.EXECUTION_STARTED] for changes in stored]

    (begun,) = [some for some in await engine.database.read(told) if run_id in {one.run_id for one in some}]
    return [one.run_id or 0 for one in begun]
