"""A module of jobs for servers under test: written into their working directory, and found there by ``--jobs``."""

from pathlib import Path

MODULE = "example_jobs"

SOURCE = """
import asyncio
import logging
import time

import uvloop

from cronograph.jobs import JobContext, job


@job("nap", description="Sleeps, and the server is asked to stop meanwhile")
async def nap(seconds: float) -> int:
    await asyncio.sleep(seconds)
    return 7


@job("count", description="Says that it has processed so many records")
async def count(records: int) -> int:
    return records


@job("nap_in_thread")
def nap_in_thread(seconds: float) -> int:
    time.sleep(seconds)
    return 8


@job("nap_in_process", isolation="process")
def nap_in_process(seconds: float) -> int:
    time.sleep(seconds)
    return 9


@job("block", description="Does not give the event loop a chance")
async def block(seconds: float) -> None:
    time.sleep(seconds)


@job("ever", description="Leaves only when it is asked to")
async def ever(ctx: JobContext) -> None:
    while not ctx.should_stop:
        await asyncio.sleep(0.01)


@job("stubborn", description="A coroutine that swallows every cancel")
async def stubborn() -> None:
    while True:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue


def out_of_order():
    raise OSError("out of order")


@job("breaks", description="Goes around everything that keeps a job from ending the event loop")
async def breaks() -> None:
    loop = asyncio.get_running_loop()
    loop.run_forever = out_of_order
    uvloop.Loop.stop(loop)
    await asyncio.Event().wait()


@job("helper", description="Works in a thread that nothing can end, of the event loop's own pool")
async def helper(seconds: float) -> None:
    await asyncio.to_thread(time.sleep, seconds)


@job("fail")
async def fail() -> None:
    raise ValueError("no luck")


@job("chatter", description="Logs more than a terminal should see")
async def chatter(lines: int) -> None:
    for number in range(lines):
        logging.getLogger("shop").warning("line %d", number)


@job("new_year", schedule="0 0 0 1 1 *", description="Hardly ever")
async def new_year() -> None:
    return None


@job("tick", schedule="* * * * * *", description="Every second")
async def tick() -> None:
    return None
"""


def write_example_jobs(folder: Path) -> str:
    """Write the module into ``folder``; return its name, for ``--jobs``."""
    (folder / f"{MODULE}.py").write_text(SOURCE)
    return MODULE
