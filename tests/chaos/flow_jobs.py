"""Jobs for flows, steps, signals, sleeps and children. Nodes of the scenario "flows" load a copy of this file.

Each says what it does in a file outside the database. A line is written when a thing is over, so that who reads the
file knows: what follows it has not been stored yet.
"""

import asyncio
import os
import time
from pathlib import Path

from cronograph.jobs import JobContext, Result, job

WITNESS = os.open("witness.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
MOST_STEPS = 400
PAUSE = 0.02


def testify(what: str, ctx: JobContext) -> None:
    """Leave a trace outside the database."""
    os.write(WITNESS, f"{what} {ctx.run_id} {ctx.attempt} {time.time()}\n".encode())


def is_there(file: str) -> bool:
    """Return whether a file exists; a look at a local disk holds nobody up."""
    return Path(file).exists()


async def done_once(ctx: JobContext) -> int:
    """A step; its last act is to say that it is over."""
    label = ctx.step_key.rpartition(":")[2]
    await asyncio.sleep(PAUSE)
    testify(f"step:{label}", ctx)
    return ctx.attempt


@job("steps_until")
async def steps_until(ctx: JobContext, file: str) -> None:
    """Take one step after the other until there is a file."""
    testify("begin", ctx)
    for _ in range(MOST_STEPS):
        await ctx.step("do", done_once, ctx)
        if is_there(file):
            break
    testify("end", ctx)


@job("stepping")
async def stepping(ctx: JobContext) -> Result:
    """Two steps with a sleep between; its value is 2."""
    testify("begin", ctx)
    await ctx.step("do", done_once, ctx)
    await ctx.sleep("nap", 0.2)
    await ctx.step("do", done_once, ctx)
    testify("end", ctx)
    return Result(value=2)


@job("gate")
async def gate(ctx: JobContext, file: str) -> None:
    """Wait until there is a file."""
    testify("begin", ctx)
    while not is_there(file):  # noqa: ASYNC110 - it is another process that makes it
        await asyncio.sleep(PAUSE)
    testify("end", ctx)


@job("brings")
async def brings(ctx: JobContext, value: int) -> Result:
    """Return what it is given."""
    testify("begin", ctx)
    testify("end", ctx)
    return Result(value=value)


@job("fails")
async def fails(ctx: JobContext) -> None:
    """Fail."""
    testify("begin", ctx)
    raise ValueError("as asked")


@job("collects")
async def collects(ctx: JobContext) -> Result:
    """Wait for two signals; its value is what they bring along, in their order."""
    testify("begin", ctx)
    first = await ctx.wait_for("go", str)
    await ctx.sleep("nap", 0.1)
    second = await ctx.wait_for("go", str)
    testify("end", ctx)
    return Result(value=[first, second])


@job("parent")
async def parent(ctx: JobContext) -> Result:
    """Wait for one run, and then for some at the same time; its value is theirs."""
    testify("begin", ctx)
    first = await ctx.run(brings, 1)
    others = await ctx.run_all([brings.run(number) for number in (2, 3, 4)])
    testify("end", ctx)
    return Result(value=[first, *others])
