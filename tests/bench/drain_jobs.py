"""The jobs of `bench_drain`, which a server imports as a user's module."""

import asyncio
import time

from cronograph.jobs import job


@job("nothing")
async def nothing() -> None:
    """Return at once."""


@job("pause")
async def pause() -> None:
    """Wait 5 ms in the event loop."""
    await asyncio.sleep(0.005)


@job("sleep")
def sleep() -> None:
    """Sleep 5 ms in a thread."""
    time.sleep(0.005)


@job("child", isolation="process", reuse=1_000_000)
def child() -> None:
    """Return at once, in a child process that is used again."""
