"""Jobs of every kind that sleep and wait for signals; child processes import them too."""

from cronograph.jobs import JobContext, Result, job
from cronograph.jobs.registry import Registry

JOBS = Registry()


async def _in_loop(ctx: JobContext) -> Result:
    first = await ctx.step("first", lambda: ctx.attempt)

    async def ask() -> str:
        return await ctx.signal_url("approved")

    await ctx.step("ask", ask)
    await ctx.sleep("nap", 0.01)
    approved = await ctx.wait_for("approved", dict[str, int])
    return Result(value=[first, approved])


def _plain(ctx: JobContext) -> Result:
    first = ctx.step_sync("first", lambda: ctx.attempt)
    ctx.step_sync("ask", lambda: ctx.signal_url_sync("approved"))
    ctx.sleep_sync("nap", 0.01)
    approved = ctx.wait_for_sync("approved", dict[str, int])
    return Result(value=[first, approved])


@job("async", registry=JOBS)
async def coroutine(ctx: JobContext) -> Result:
    return await _in_loop(ctx)


@job("thread", registry=JOBS)
def thread(ctx: JobContext) -> Result:
    return _plain(ctx)


@job("process", registry=JOBS, isolation="process")
def process(ctx: JobContext) -> Result:
    return _plain(ctx)


@job("async in process", registry=JOBS, isolation="process")
async def async_process(ctx: JobContext) -> Result:
    return await _in_loop(ctx)
