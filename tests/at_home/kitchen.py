"""Jobs that enqueue others, log and are hooked, as somebody writes them who only reads the docs."""

import asyncio
import logging
from collections.abc import AsyncIterator

from cronograph.jobs import JobContext, Result, around, job
from cronograph.jobs.registry import Registry

JOBS = Registry()
log = logging.getLogger("kitchen")


@job(registry=JOBS, unique_key=("table",))
async def serve(table: int) -> int:
    return table


@job(registry=JOBS, isolation="process")
def cooks_in_process(table: int) -> Result:
    handle = serve.enqueue_sync(None, table)
    return Result(value=[handle.run_id, serve.enqueue_sync(None, table=table).run_id, handle.run.args])


@job(registry=JOBS, isolation="process")
async def cooks_async_in_process(ctx: JobContext, table: int) -> Result:
    handle = await serve.enqueue(None, table)
    return Result(value=[handle.run_id, await ctx.enqueue("serve", table=table)])


@job(registry=JOBS)
async def cooks_by_name(ctx: JobContext, table: int) -> Result:
    first = await ctx.enqueue("serve", table=table)
    ctx.enqueue_at_end("serve", table=table + 1)
    return Result(value=[first, await ctx.enqueue(serve, table)])


@job(registry=JOBS)
def cooks_by_name_in_thread(ctx: JobContext, table: int) -> Result:
    return Result(value=[ctx.enqueue_sync("serve", table=table), ctx.enqueue_sync(serve, table)])


@job(registry=JOBS)
async def logs(ctx: JobContext) -> None:
    ctx.log.info("sent", message="hello", level=3, self="me", fields=[1], run_id=7)
    log.warning("%d dishes", "two")


@job(registry=JOBS)
async def hooked() -> int:
    return 1


@job(registry=JOBS)
async def hooked_at_the_end() -> int:
    return 2


@around(jobs=hooked, registry=JOBS)
async def cancels_before() -> AsyncIterator[None]:
    if JOBS:
        raise asyncio.CancelledError
    yield


@around(jobs=[hooked_at_the_end], registry=JOBS)
async def cancels_after() -> AsyncIterator[None]:
    yield
    raise asyncio.CancelledError
