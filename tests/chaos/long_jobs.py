"""Jobs that act for longer than a lease, and say so. Nodes of the chaos suite load a copy of this file."""

import asyncio
import os
import time

from cronograph.jobs import JobContext, job

PAUSE = 0.02
SECONDS = 6.0
"""A node that is cut off for longer than its lease is in the middle of one."""


def act(ctx: JobContext) -> None:
    """Leave a trace outside the database."""
    with open("witness.txt", "ab", buffering=0) as witness:  # noqa: PTH123 - without a buffer
        os.write(witness.fileno(), f"act {ctx.run_id} {ctx.attempt} {time.time()}\n".encode())


@job("long_coroutine")
async def long_coroutine(ctx: JobContext) -> None:
    """Never asks whether to stop."""
    over = time.monotonic() + SECONDS
    while time.monotonic() < over:
        act(ctx)
        await asyncio.sleep(PAUSE)


@job("long_thread")
def long_thread(ctx: JobContext) -> None:
    """Asks, as a thread must."""
    over = time.monotonic() + SECONDS
    while time.monotonic() < over and not ctx.should_stop:
        act(ctx)
        time.sleep(PAUSE)


@job("long_process", isolation="process")
def long_process(ctx: JobContext) -> None:
    """Never asks, in a child process."""
    over = time.monotonic() + SECONDS
    while time.monotonic() < over:
        act(ctx)
        time.sleep(PAUSE)


LONG_JOBS = ("long_coroutine", "long_thread", "long_process")
