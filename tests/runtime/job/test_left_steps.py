"""A step whose thread an earlier attempt left behind begins again only once that thread has ended."""

import asyncio
import threading

from cronograph.jobs import JobContext
from cronograph.jobs.base.branches import Branches
from cronograph.jobs.runtime.job.steps import LEFT_AT_WORK
from cronograph.jobs.testing import run_job
from tests.support.waiting import eventually


async def test_a_step_waits_for_the_thread_that_an_earlier_attempt_left_behind() -> None:
    left, let_go, began = Branches(lambda: None, 1.0, lambda: False), threading.Event(), list[frozenset[str]]()
    thread = asyncio.create_task(left.in_thread("charge", lambda: let_go.wait(30), lambda _: None))
    await eventually(lambda: left.steps_at_work == {"charge"})
    about: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def order(ctx: JobContext) -> int:
        LEFT_AT_WORK.add(ctx.run_id, left)
        # Another step does not wait.
        await ctx.step("mail", asyncio.sleep, 0)
        about.set_result(None)

        def charge() -> int:
            began.append(left.steps_at_work)
            return 7

        return await ctx.step("charge", charge)

    attempt = asyncio.create_task(run_job(order, attempt=2, steps={"first": 1}))
    await about
    await asyncio.sleep(0)
    assert began == []
    let_go.set()
    result = await attempt
    await thread
    assert (result.records_processed, began) == (7, [frozenset()])
    line = "step 'charge' is still at work in a thread that an earlier attempt left behind; it begins after that"
    assert line in [one.message for one in result.lines]
