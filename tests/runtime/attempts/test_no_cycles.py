"""An attempt that is over leaves nothing to the garbage collector, whose looks stop the loop of the whole node."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from cronograph.jobs import JobContext, around, job
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.attempts.attempt import Attempt
from cronograph.jobs.runtime.job.host import LocalHost
from cronograph.jobs.runtime.job.ownership import StopSignal
from tests.runtime.process_jobs import JOBS as PROCESS_JOBS
from tests.support.engines import StartEngine
from tests.support.waiting import eventually

JOBS = Registry()
OF_AN_ATTEMPT = (Attempt, LocalHost, StopSignal)


@job(registry=JOBS)
async def awaits() -> None:
    await asyncio.sleep(0)


@job(registry=JOBS)
def calls() -> None:
    pass


@job(registry=JOBS)
async def awaits_and_fails() -> None:
    raise ValueError("no luck")


@job(registry=JOBS)
def calls_and_fails() -> None:
    raise ValueError("no luck")


@job(registry=JOBS)
async def says_all(ctx: JobContext) -> None:
    ctx.log.info("one")
    ctx.progress(1, 2, "half")
    await ctx.save_checkpoint({"at": 1})
    await ctx.step("one", lambda: 1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(asyncio.sleep(0))


@job(registry=JOBS)
def says_all_by_thread(ctx: JobContext) -> None:
    ctx.log.info("one")
    ctx.progress(1, 2, "half")


@job(registry=JOBS)
async def takes_too_long() -> None:
    await asyncio.Event().wait()


@job(registry=JOBS)
def takes_too_long_by_thread(ctx: JobContext) -> None:
    while not ctx.should_stop:
        threading.Event().wait(0.01)


@job(registry=JOBS)
async def is_hooked() -> None:
    await asyncio.sleep(0)


@around(registry=JOBS, jobs=["is_hooked"])
async def hook(ctx: JobContext) -> AsyncIterator[None]:
    ctx.log.info("before")
    yield


who_am_i = PROCESS_JOBS.get("who_am_i")
assert who_am_i is not None
JOBS.add(who_am_i)


@pytest.fixture(autouse=True)
def database_url(sqlite_url: str) -> str:
    """Storage has no part in it."""
    return sqlite_url


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Collect nothing while the test runs."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def left_to_the_collector() -> list[object]:
    """Return what only the collector would find of attempts. What a timer of the loop still holds is not of these."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [one for one in gc.garbage if isinstance(one, OF_AN_ATTEMPT)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("awaits", RunState.SUCCESS),
        ("calls", RunState.SUCCESS),
        ("awaits_and_fails", RunState.FAILED),
        ("calls_and_fails", RunState.FAILED),
        ("says_all", RunState.SUCCESS),
        ("says_all_by_thread", RunState.SUCCESS),
        ("takes_too_long", RunState.FAILED),
        ("takes_too_long_by_thread", RunState.SUCCESS),
        ("is_hooked", RunState.SUCCESS),
        ("who_am_i", RunState.SUCCESS),
    ],
)
async def test_nothing_of_it_is_left_once_its_end_is_stored(
    start_engine: StartEngine, name: str, state: RunState
) -> None:
    engine = await start_engine(JOBS, slots=1)
    timeout = 0.05 if name.startswith("takes_too_long") else None
    assert (await engine.finish(name, timeout=timeout)).run.state is state
    await eventually(lambda: engine.engine.running == 0)
    # The last one may still be named by a loop that waits; the one before it is not.
    assert (await engine.finish("awaits")).run.state is RunState.SUCCESS
    await eventually(lambda: engine.engine.running == 0)
    assert left_to_the_collector() == []
