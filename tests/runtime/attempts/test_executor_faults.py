"""What goes wrong around a job, not in it: its arguments cannot be made, or nobody waits for it any more."""

import asyncio
import threading
from typing import Annotated

from pydantic import AfterValidator

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.testing import run_job
from tests.support.engines import StartEngine


def look_up(number: int) -> int:
    """A check of an argument with a fault of its own."""
    return {1: 1}[number]


def takes(number: Annotated[int, AfterValidator(look_up)]) -> int:
    """A job whose argument is looked up when it is made."""
    return number


async def test_an_argument_whose_own_check_breaks_fails_the_attempt_and_nothing_else(start_engine: StartEngine) -> None:
    registry = Registry()
    registry.add(define("takes", takes))
    engine = await start_engine(registry)
    broken = await engine.finished(await engine.enqueue_unchecked("takes", {"number": 2}))
    assert broken.execution.outcome is Outcome.FAILED
    assert (broken.execution.error_type, broken.run.error) == ("KeyError", "the executor failed: 2")
    assert (await engine.finish("takes", {"number": 1})).execution.records_processed == 1


async def test_a_job_for_which_nobody_waits_any_more_is_cancelled() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    attempt = asyncio.create_task(run_job(endless))
    await begun.wait()
    attempt.cancel()
    await asyncio.wait([attempt])
    assert attempt.cancelled()
    assert ended.is_set()


def test_a_thread_that_outlives_its_event_loop_ends_without_a_word() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def late() -> None:
        begun.set()
        go_on.wait()

    async def leave() -> None:
        attempt = asyncio.create_task(run_job(late))
        await asyncio.to_thread(begun.wait)
        attempt.cancel()
        await asyncio.wait([attempt])

    asyncio.run(leave())
    left = [thread for thread in threading.enumerate() if thread.name.startswith("job-")]
    # What a thread raises is told by the tests, and fails them.
    go_on.set()
    for thread in left:
        thread.join()
    assert left
