"""Jobs of every kind that put others into the queue, and print; child processes import them too."""

from datetime import UTC, datetime, timedelta

from cronograph.jobs import Flow, JobContext, job
from cronograph.jobs.core.base.errors import NotFound
from cronograph.jobs.registry import Registry

JOBS = Registry()
LATER = datetime(2040, 1, 1, tzinfo=UTC)
FLOWS = ("flow", "circle", "taken")
"""What jobs of every kind may do instead of putting single runs into the queue."""


@job("told", registry=JOBS)
async def told(ctx: JobContext, number: int) -> None:
    ctx.log.info("told", number=number)


def flow_of(how: str) -> Flow:
    """Two runs, the second of which comes after the first; with ``circle`` also the other way round."""
    flow = Flow("two", unique_key="taken" if how == "taken" else None)
    first = flow.add("first", told, 1)
    second = flow.add("second", told, 2).after(first)
    if how == "circle":
        first.after(second)
    return flow


async def _in_loop(ctx: JobContext, how: str) -> int:
    if how in FLOWS:
        return await flow_of(how).enqueue()
    if how == "changes":
        handle = await told.options(unique_key="later", run_at=LATER).enqueue(None, 1)
        await told.reschedule(unique_key="later", run_at=LATER + timedelta(days=1))
        await told.replace_args(by=told.run(2), run_id=handle.run_id)
        await handle.cancel("no longer")
        try:
            await told.cancel(unique_key="later")
        except NotFound:
            return handle.run_id
    ctx.enqueue_at_end(told, 9)
    if how == "wrong":
        await ctx.enqueue_many([told.options(retries=-1).run(1)])
    one = await ctx.enqueue(told.options(priority="high"), number=1)
    many = await ctx.enqueue_many([told.run(2), told.run(number=3)])
    print("enqueued", one, *many)  # noqa: T201
    print("without an end", end="")  # noqa: T201
    if how == "fails":
        raise ValueError("no luck")
    return len({one, *many})


def _plain(ctx: JobContext, how: str) -> int:
    if how in FLOWS:
        return flow_of(how).enqueue_sync()
    if how == "changes":
        handle = told.options(unique_key="later", run_at=LATER).enqueue_sync(None, 1)
        told.reschedule_sync(unique_key="later", run_at=LATER + timedelta(days=1))
        told.replace_args_sync(by=told.run(2), run_id=handle.run_id)
        handle.cancel_sync("no longer")
        try:
            told.cancel_sync(unique_key="later")
        except NotFound:
            return handle.run_id
    ctx.enqueue_at_end(told, 9)
    if how == "wrong":
        ctx.enqueue_many_sync([told.options(retries=-1).run(1)])
    one = ctx.enqueue_sync(told.options(priority="high"), number=1)
    many = ctx.enqueue_many_sync([told.run(2), told.run(number=3)])
    print("enqueued", one, *many)  # noqa: T201
    print("without an end", end="")  # noqa: T201
    if how == "fails":
        raise ValueError("no luck")
    return len({one, *many})


@job("async", registry=JOBS)
async def coroutine(ctx: JobContext, how: str = "") -> int:
    return await _in_loop(ctx, how)


@job("thread", registry=JOBS)
def thread(ctx: JobContext, how: str = "") -> int:
    return _plain(ctx, how)


@job("process", registry=JOBS, isolation="process")
def process(ctx: JobContext, how: str = "") -> int:
    return _plain(ctx, how)


@job("async in process", registry=JOBS, isolation="process")
async def async_process(ctx: JobContext, how: str = "") -> int:
    return await _in_loop(ctx, how)
