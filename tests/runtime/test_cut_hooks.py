"""Hooks of attempts that are cut short: all that was entered is left."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from cronograph.jobs import JobContext, around, job
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from tests.support.engines import StartEngine
from tests.support.waiting import eventually


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """Hooks know nothing of the database."""
    return sqlite_url


async def test_a_job_that_is_stopped_hard_while_a_hook_begins_leaves_those_that_have_begun(
    start_engine: StartEngine,
) -> None:
    registry, left = Registry(), list[str]()

    @around(registry=registry)
    async def first() -> AsyncIterator[None]:
        try:
            yield
        except asyncio.CancelledError:
            left.append("first")
            raise

    @around(registry=registry)
    async def endless(ctx: JobContext) -> AsyncIterator[None]:
        ctx.log.info("begun")
        await asyncio.Event().wait()
        yield

    @job("works", registry=registry)
    async def works() -> None:
        left.append("never")

    engine = await start_engine(registry, slots=1)
    run_id = await engine.enqueue("works")
    await engine.wait_line(run_id, "begun")
    await engine.cancel_elsewhere(run_id)
    done = await engine.finished(run_id)
    assert (done.run.state, left) == (RunState.CANCELLED, ["first"])


async def test_a_job_that_is_stopped_hard_while_a_hook_ends_ends_the_others_too(start_engine: StartEngine) -> None:
    registry, left = Registry(), list[str]()

    @around(registry=registry)
    async def outer() -> AsyncIterator[None]:
        yield
        left.append("outer")

    @around(registry=registry)
    async def endless(ctx: JobContext) -> AsyncIterator[None]:
        yield
        ctx.log.info("ends")
        await asyncio.Event().wait()

    @job("works", registry=registry)
    async def works() -> None:
        left.append("works")

    engine = await start_engine(registry, slots=1)
    run_id = await engine.enqueue("works")
    await engine.wait_line(run_id, "ends")
    await engine.cancel_elsewhere(run_id)
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.CANCELLED, Outcome.CANCELLED)
    assert left == ["works", "outer"]


async def test_a_thread_that_is_left_behind_has_its_hooks_ended(start_engine: StartEngine) -> None:
    registry, left, go_on = Registry(), list[str](), threading.Event()

    @around(registry=registry)
    async def on_the_loop() -> AsyncIterator[None]:
        try:
            yield
        except BaseException as error:
            left.append(type(error).__name__)
            raise

    @job("ignores", registry=registry)
    def ignores(ctx: JobContext) -> None:
        ctx.log.info("begun")
        go_on.wait()

    engine = await start_engine(registry, drain_timeout=0.1)
    run_id = await engine.enqueue("ignores")
    await engine.wait_line(run_id, "begun")
    await engine.engine.stop()
    go_on.set()
    assert (await engine.run(run_id)).state is RunState.WAITING
    await eventually(lambda: left == ["CancelledError"])
