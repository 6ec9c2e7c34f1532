"""Jobs that leave a trace of each of their steps in a file, in a coroutine, a thread and a child process."""

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

from cronograph.jobs import JobContext
from cronograph.jobs.registry import Registry, define

STEP = 0.005


def note(witness: str) -> None:
    """The time of day of a step: the database's clock is that of the same machine."""
    with Path(witness).open("a") as file:
        file.write(f"{time.time()}\n")


def steps(witness: str) -> list[float]:
    """Return when the job did something."""
    path = Path(witness)
    return [float(line) for line in path.read_text().split()] if path.exists() else []


async def goes_on(witness: str) -> None:
    """Never ask; a cancel ends it."""
    while True:
        note(witness)
        await asyncio.sleep(STEP)


async def goes_on_twice(witness: str) -> None:
    """Swallow one cancel."""
    with contextlib.suppress(asyncio.CancelledError):
        await goes_on(witness)
    await goes_on(witness)


def asks(ctx: JobContext, witness: str) -> None:
    """End when asked to."""
    while not ctx.should_stop:
        note(witness)
        time.sleep(STEP)


def never_asks(witness: str, until: str) -> None:
    """End once a file exists."""
    while not Path(until).exists():
        note(witness)
        time.sleep(STEP)


def ignores_terminate(witness: str) -> None:
    """Only a kill ends it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        with contextlib.suppress(BaseException):
            note(witness)
            os.sched_yield()
            time.sleep(STEP)


def registry() -> Registry:
    """All of them."""
    found = Registry()
    for handler in (goes_on, goes_on_twice, asks, never_asks):
        found.add(define(handler.__name__, handler))
    found.add(define("ignores_terminate", ignores_terminate, isolation="process"))
    return found
