"""What happens after a final failure, and what runs carry: both are kept by the database."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cronograph.jobs import Failure, JobContext, around, carries, job
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from tests.support.engines import StartEngine
from tests.support.waiting import eventually


async def test_the_job_that_is_named_gets_a_run_with_the_final_failure(start_engine: StartEngine) -> None:
    registry = Registry()
    told: list[Failure] = []

    @job("notify", registry=registry)
    async def notify(failure: Failure) -> None:
        told.append(failure)
        raise ValueError("the mail server is unavailable")

    @job("fails", registry=registry, on_failure=notify)
    async def fails(number: int) -> None:
        raise ValueError(f"no luck with {number}")

    engine = await start_engine(registry)
    done = await engine.finish("fails", {"number": 7}, retries=1)
    await eventually(lambda: bool(told))
    expected = Failure(done.run.id, "fails", 2, "no luck with 7", "ValueError", None, {"number": 7})
    assert told == [expected]
    assert len(done.executions) == 2


async def test_nobody_is_notified_of_the_failure_of_who_was_to_be_notified(start_engine: StartEngine) -> None:
    registry = Registry()

    @job("first", registry=registry, on_failure="second", retries=0)
    async def first(failure: Failure | None = None) -> None:
        raise ValueError("no luck")

    @job("second", registry=registry, on_failure="first", retries=0)
    async def second(failure: Failure) -> None:
        raise ValueError(f"no luck either with {failure.run_id}")

    engine = await start_engine(registry)
    failed = await engine.finish("first")
    told = await engine.finished(failed.run.id + 1)
    assert (told.run.job_name, told.run.error) == ("second", f"no luck either with {failed.run.id}")
    last = await engine.finish("first")
    assert last.run.id == told.run.id + 1, "the failure of 'second' made no run"


@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_the_function_that_is_given_is_called_once_after_the_final_failure(
    start_engine: StartEngine, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry()
    told: list[Failure] = []

    async def in_loop(failure: Failure) -> None:
        told.append(failure)
        raise OSError("the pager is broken")

    def in_thread(failure: Failure) -> None:
        asyncio.run(in_loop(failure))

    @job("fails", registry=registry, on_failure=in_loop if kind == "async" else in_thread)
    def fails() -> None:
        raise ValueError("no luck")

    engine = await start_engine(registry)
    done = await engine.finish("fails", retries=1)
    await eventually(lambda: engine.engine.running == 0)
    assert [(one.run_id, one.attempt, one.error) for one in told] == [(done.run.id, 2, "no luck")]
    assert f"on_failure of job 'fails' failed after run {done.run.id}" in caplog.text
    assert (await engine.run(done.run.id)).state is RunState.FAILED


async def test_a_run_carries_values_from_its_enqueue_to_its_attempts(
    start_engine: StartEngine, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry()
    seen: list[object] = []

    @carries("trace", registry=registry)
    def trace() -> str:
        return "4bf92f"

    @carries("nothing", registry=registry)
    def nothing() -> None:
        return None

    @carries("broken", registry=registry)
    def broken() -> object:
        return object()

    @around(registry=registry)
    async def traced(ctx: JobContext) -> AsyncIterator[None]:
        seen.append(("hook", dict(ctx.carried)))
        yield

    @job("look", registry=registry)
    async def look(ctx: JobContext) -> None:
        seen.append(("job", dict(ctx.carried)))

    engine = await start_engine(registry)
    await engine.database.write(lambda tx: look.enqueue_sync(tx.conn))
    await eventually(lambda: len(seen) == 2)
    assert seen == [("hook", {"trace": "4bf92f"}), ("job", {"trace": "4bf92f"})]
    assert "carried value 'broken' (" in caplog.text
