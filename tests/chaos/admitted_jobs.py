"""Jobs that are limited, debounced or soon too old to start. Nodes of the chaos suite load a copy of this file."""

import os
import time

from cronograph.jobs import Debounce, Expired, JobContext, Rate, job

_WITNESS = os.open("witness.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def testify(what: str, ctx: JobContext) -> None:
    """Leave a trace outside the database."""
    os.write(_WITNESS, f"{what} {ctx.run_id} {ctx.attempt} {time.time()}\n".encode())


@job("debounced", unique_key="debounced-{page}", debounce=Debounce(0.3, max_wait=1.0), retries=50, retry_delay=0.2)
async def debounced(ctx: JobContext, page: str, number: int) -> None:
    """Has the last number of its page."""
    del page, number
    testify("begin", ctx)
    testify("end", ctx)


@job("told")
async def told(ctx: JobContext, expired: Expired) -> None:
    """Hears of each run that was too old to start."""
    del expired
    testify("begin", ctx)
    testify("end", ctx)


@job("short_lived", ttl=0.5, on_expired=told, rate=Rate(4, per=1, burst=1), retries=50, retry_delay=0.2)
async def short_lived(ctx: JobContext) -> None:
    """More are enqueued than start in time."""
    testify("begin", ctx)
    testify("end", ctx)


@job("one_by_one", max_concurrent=1, concurrency_key="{page}", retries=50, retry_delay=0.2)
async def one_by_one(ctx: JobContext, page: str) -> None:
    """Never beside itself."""
    del page
    testify("begin", ctx)
    testify("end", ctx)


@job("until_the_end", max_concurrent=1, concurrency_key="until-{page}", hold="unfinished", retries=50, retry_delay=0.1)
async def until_the_end(ctx: JobContext, page: str) -> None:
    """Never beside another that has begun: fails once, sleeps, and ends in its third attempt."""
    del page
    testify("begin", ctx)
    if ctx.attempt == 1:
        testify("end", ctx)
        raise RuntimeError("the first attempt fails")
    await ctx.sleep("a while", 0.2)
    testify("end", ctx)
