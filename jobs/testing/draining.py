"""Works off the queue of a test by moving its clock."""

import asyncio
from datetime import datetime

from .clock import TICK
from .queue import DrainedRun, Queue


class DrainError(Exception):
    """The queue does not become empty."""


async def drain(queue: Queue, *, until: datetime | None = None, limit: int = 1000) -> list[DrainedRun]:
    """Carry out attempt after attempt until nothing is left, moving the clock to the next due time.

    Args:
        queue: The queue.
        until: Work up to this time and leave the clock there; occurrences of tasks count too. None = until no run is
            waiting for anything but a schedule.
        limit: How many attempts at most.

    Returns:
        Every run that was attempted, in the order of their first attempts.

    Raises:
        DrainError: more than ``limit`` attempts; perhaps a job snoozes for ever.
    """
    seen: dict[int, None] = {}
    for _ in range(limit):
        run_id = await _attempt_next(queue, until)
        if run_id is None:
            break
        seen[run_id] = None
    else:
        raise DrainError(f"drain: still not empty after {limit} attempts; does a job snooze for ever? See ``limit``")
    if until is not None:
        queue.clock.set(max(until, queue.clock.now()))
    return [await queue.run(run_id) for run_id in seen]


def drain_sync(queue: Queue, *, until: datetime | None = None, limit: int = 1000) -> list[DrainedRun]:
    """``drain`` for a plain test.

    Raises:
        DrainError: see ``drain``.
        RuntimeError: an event loop runs in this thread; await ``drain`` there.
    """
    return asyncio.run(drain(queue, until=until, limit=limit))


async def _attempt_next(queue: Queue, until: datetime | None) -> int | None:
    """Carry out the next attempt, once it is due; None if there is none before ``until``."""
    while (run_id := await queue.step()) is None:
        due = await queue.next_time(schedules=until is not None)
        if due is None or (until is not None and due > until):
            return None
        # A retry is due strictly after its time.
        queue.clock.set(due if due > queue.clock.now() else queue.clock.now() + TICK)
    return run_id
