"""``ctx.run_all(max_concurrent=…)``: a job that fans out leaves slots to others."""

import asyncio
from typing import Any

import pytest

from cronograph.jobs import InvalidInput, JobContext, job
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain, run_job
from tests.support.engines import StartEngine


class FanOut:
    """A job that begins many runs, and how many of these were at work at the same time."""

    def __init__(self, *, keyed: bool = False) -> None:
        self.registry = registry = Registry()
        self.at_work = self.most = self.done = 0
        options: dict[str, Any] = {"unique_key": "part-{number}"} if keyed else {}

        @job(registry=registry, **options)
        async def part(number: int) -> None:
            self.at_work += 1
            self.most = max(self.most, self.at_work)
            for _ in range(5):
                await asyncio.sleep(0)
            self.at_work -= 1
            self.done += 1

        @job(registry=registry)
        async def whole(ctx: JobContext, count: int, most: int | None = None) -> None:
            await ctx.run_all([part.run(number) for number in range(count)], max_concurrent=most)

        @job(registry=registry, max_concurrent=1)
        async def bounded(number: int) -> None: ...

        @job(registry=registry)
        async def twice(ctx: JobContext) -> None:
            await ctx.run_all([bounded.run(1)], max_concurrent=2)


@pytest.mark.costly
@pytest.mark.parametrize("keyed", [False, True])
async def test_no_more_of_them_run_at_once_than_the_job_says(start_engine: StartEngine, keyed: bool) -> None:
    fan = FanOut(keyed=keyed)
    engine = await start_engine(fan.registry)
    done = await engine.finish("whole", {"count": 12, "most": 2})
    assert (done.run.state, fan.done, fan.most) == (RunState.SUCCESS, 12, 2)
    done = await engine.finish("whole", {"count": 12})
    assert (done.run.state, fan.done, fan.most > 2) == (RunState.SUCCESS, 24, True)


async def test_a_bound_of_the_job_and_one_of_the_step_are_too_many() -> None:
    async with Queue(FanOut().registry) as queue:
        run_id = await queue.enqueue("twice")
        await drain(queue)
        failed = await queue.run(run_id)
        assert "job 'bounded' has a max_concurrent of its own" in str(failed.run.error)


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
async def test_what_is_no_bound_fails_the_attempt(most: Any) -> None:
    async def work(ctx: JobContext) -> None:
        await ctx.run_all([], max_concurrent=most)

    result = await run_job(work)
    assert (result.error_type, "max_concurrent: must be a whole number" in str(result.error)) == (
        InvalidInput.__name__,
        True,
    )
