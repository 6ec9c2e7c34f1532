"""Tests of jobs that sleep and wait for signals: days pass in no time, and signals come when a test says so."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from pydantic import BaseModel

from cronograph.jobs import JobContext, NotFound, Rejected, Result, UserError, job
from cronograph.jobs.core.base.errors import ConfigurationError, ErrorCode, InvalidState
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.attempts.keeping import Keeping
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.testing import FakeClock, Queue, drain, run_job

DAY = timedelta(days=1)


class Approval(BaseModel):
    """What a person decides."""

    by: str
    limit: int = 0


async def approval(ctx: JobContext) -> Result:
    found = await ctx.wait_for("approved", Approval, timeout=DAY)
    return Result(value=found.by)


async def test_one_attempt_waits_or_gets_what_the_test_gives() -> None:
    clock = FakeClock()
    waits = await run_job(approval, clock=clock)
    assert (waits.outcome, waits.state, waits.retry_in) == (Outcome.SUSPENDED, RunState.SUSPENDED, 86400)
    signalled = await run_job(approval, signals={"approved": {"by": "ada"}})
    assert (signalled.value, signalled.steps) == ("ada", {"approved": {"by": "ada"}})
    again = await run_job(approval, attempt=2, steps={"approved": {"by": "bob"}})
    assert again.value == "bob"


async def test_a_signal_that_no_longer_fits_says_what_it_brought_and_what_its_wait_takes() -> None:
    result = await run_job(approval, attempt=2, steps={"approved": {"name": "bob"}})
    assert result.error_type == "StepMismatch"
    assert result.error == (
        "signal 'approved': it brought dict {'name': 'bob'}, and its wait takes Approval now: Field required; rename "
        "the signal, so that another is awaited"
    )


async def test_a_sleep_that_is_over_returns_at_once() -> None:
    async def works(ctx: JobContext) -> int:
        try:
            await ctx.sleep("cool down", DAY)
        except Exception:  # noqa: BLE001 - what is tried
            return 0
        return 1

    assert (await run_job(works)).outcome is Outcome.SUSPENDED
    assert (await run_job(works, attempt=2, steps={"cool down": None})).records_processed == 1


async def test_an_order_goes_on_over_days() -> None:
    registry, told = Registry(), list[str]()

    @job("order", registry=registry)
    async def order(ctx: JobContext) -> Result:
        await ctx.step("charge", told.append, "charge")
        await ctx.sleep("cool down", timedelta(days=3))
        found = await ctx.wait_for("approved", Approval)
        await ctx.sleep_until("monday", datetime(2026, 1, 12, tzinfo=UTC))
        await ctx.step("ship", lambda: told.append(f"ship for {found.by}"))
        return Result(value=ctx.attempt)

    async with Queue(registry) as queue:
        began = queue.clock.now()
        handle = await order.enqueue()
        await drain(queue)
        run = await queue.run(handle.run_id)
        assert (run.state, queue.clock.now() - began, told) == (RunState.SUSPENDED, timedelta(days=3), ["charge"])
        assert await handle.signal("approved", {"by": "ada"}) is RunState.WAITING
        await drain(queue)
        run = await queue.run(handle.run_id)
        assert (run.state, run.run.result, told) == (RunState.SUCCESS, 4, ["charge", "ship for ada"])
        assert queue.clock.now() == datetime(2026, 1, 12, tzinfo=UTC)
        assert [one.outcome for one in run.attempts] == [Outcome.SUSPENDED] * 3 + [Outcome.SUCCESS]
        assert run.run.failures == 0


@pytest.mark.parametrize(
    ("on_timeout", "ends"),
    [
        ("raise", (RunState.FAILED, "WaitTimedOut")),
        ("reject", (RunState.FAILED, "Rejected")),
        (7, (RunState.SUCCESS, None)),
    ],
)
async def test_what_a_time_out_means_is_said_by_the_job(on_timeout: Any, ends: tuple[RunState, str | None]) -> None:
    registry = Registry()

    @job("order", registry=registry, retries=3)
    def order(ctx: JobContext) -> Result:
        return Result(value=ctx.wait_for_sync("approved", timeout=60, on_timeout=on_timeout))

    async with Queue(registry) as queue:
        run_id = await queue.enqueue("order")
        await drain(queue)
        run = await queue.run(run_id)
    assert (run.state, run.last.error_type) == ends
    assert len(run.attempts) == 2


async def test_a_signal_that_says_no_raises_in_the_job() -> None:
    registry = Registry()

    @job("order", registry=registry)
    async def order(ctx: JobContext) -> Result:
        try:
            await ctx.wait_for("approved", Approval)
        except Rejected as error:
            return Result(value=f"no: {error}")
        return Result(value="yes")

    async with Queue(registry) as queue:
        run_id = await queue.enqueue("order")
        await queue.signal(run_id, "approved", reject="too expensive")
        await drain(queue)
        assert (await queue.run(run_id)).run.result == "no: too expensive"


async def test_waits_at_the_same_time_are_fulfilled_in_any_order() -> None:
    registry, told = Registry(), list[str]()

    async def slow() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        told.append("slow")

    @job("both", registry=registry)
    async def both(ctx: JobContext) -> Result:
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(ctx.wait_for("first", timeout=DAY))
            second = tasks.create_task(ctx.wait_for("second", timeout=2 * DAY))
            tasks.create_task(ctx.step("slow", slow))
        return Result(value=[first.result(), second.result()])

    async with Queue(registry) as queue:
        run_id = await queue.enqueue("both")
        assert await queue.step() == run_id
        # What was at work beside the waits is not lost.
        assert (told, (await queue.run(run_id)).last.steps) == (["slow"], {"slow": None})
        await queue.signal(run_id, "second", 2)
        await queue.step()
        await queue.signal(run_id, "first", 1)
        await queue.step()
        run = await queue.run(run_id)
        assert (run.state, run.run.result, told) == (RunState.SUCCESS, [1, 2], ["slow"])


async def test_a_failure_beside_a_wait_is_a_failure() -> None:
    async def works(ctx: JobContext) -> None:
        async def fails() -> None:
            raise ValueError("no luck")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ctx.wait_for("first"))
            tasks.create_task(ctx.step("fails", fails))

    result = await run_job(works)
    assert result.outcome is Outcome.FAILED


async def test_signals_that_nobody_could_take_are_refused_and_change_nothing() -> None:
    registry = Registry()
    job("approval", registry=registry)(approval)

    async with Queue(registry) as queue:
        run_id = await queue.enqueue("approval")
        await queue.step()
        for name, payload, says in (
            ("approved", {"limit": "x"}, "payload of signal 'approved' of run 1: 'by' is a required property"),
            ("a#2", None, "step: name must not contain '#'"),
            ("", None, "step: name must have 1 to 200 characters"),
            ("approved[1]#2", None, "step: name must not contain '['"),
        ):
            with pytest.raises(UserError) as refused:
                await queue.signal(run_id, name, payload)
            assert says in refused.value.message
        assert (await queue.run(run_id)).state is RunState.SUSPENDED
        with pytest.raises(NotFound, match="999"):
            await queue.signal(999, "approved")
        await queue.signal(run_id, "approved", {"by": "ada"})
        await drain(queue)
        with pytest.raises(InvalidState, match="run 1 is success: nobody would take the signal 'approved'") as ended:
            await queue.signal(run_id, "approved", {"by": "ada"})
        assert ended.value.code is ErrorCode.INVALID_STATE


async def no_zone(ctx: JobContext) -> None:
    await ctx.sleep_until("monday", datetime(2026, 1, 12))  # noqa: DTZ001 - what is tried


async def negative(ctx: JobContext) -> None:
    await ctx.sleep("nap", -1)


async def no_role(ctx: JobContext) -> None:
    await ctx.wait_for("approved", role="king")


async def within_a_step(ctx: JobContext) -> None:
    await ctx.step("outer", lambda: ctx.sleep("inner", 1))


async def other_kind(ctx: JobContext) -> None:
    await ctx.step("a", asyncio.sleep, 0)


@pytest.mark.parametrize(
    ("works", "says"),
    [
        (no_zone, "until: must have a time zone"),
        (negative, "seconds: must be from 0 seconds to ten years"),
        (no_role, "role: must be one of 'viewer', 'operator', 'admin', got 'king'"),
        (within_a_step, "step 'inner': began inside step 'outer'"),
    ],
)
async def test_a_wait_that_cannot_be_one_is_refused(works: Any, says: str) -> None:
    assert says in str((await run_job(works)).error)


async def test_a_step_that_became_a_sleep_has_to_be_renamed() -> None:
    registry = Registry()

    @job("changes", registry=registry, retries=1, retry_delay=0)
    async def changes(ctx: JobContext) -> None:
        if ctx.attempt == 1:
            await ctx.step("a", asyncio.sleep, 0)
            raise ValueError("no luck")
        await ctx.sleep("a", 1)

    async with Queue(registry) as queue:
        run_id = await queue.enqueue("changes")
        await drain(queue)
        error = (await queue.run(run_id)).last.error
    assert error == "step 'a': attempt 1 stored a step under this name, and the code has a sleep there now; rename it"


async def test_a_run_that_waits_too_long_as_a_whole_is_failed_with_those_that_it_waits_for() -> None:
    registry, told = Registry(), list[str]()

    @job("child", registry=registry)
    async def child(ctx: JobContext) -> None:
        await ctx.wait_for("never")

    @job("parent", registry=registry, max_duration="2d", retries=0)
    async def parent(ctx: JobContext) -> None:
        await ctx.step("begin", told.append, "begun")
        await ctx.sleep("night", DAY)
        await ctx.run(child)

    async with Queue(registry) as queue:
        began = queue.clock.now()
        run_id = await queue.enqueue("parent")
        await drain(queue)
        run = await queue.run(run_id)
        assert (run.state, told, queue.clock.now() - began) == (RunState.FAILED, ["begun"], 2 * DAY)
        assert (run.run.error or "").startswith("max_duration: the run had to end by ")
        (below,) = queue.enqueued("child")
        assert (below.state, below.error) == (RunState.CANCELLED, "the run that waits for this one had to end")
        assert parent.name == "parent"
        assert child.name == "child"


async def test_an_attempt_that_begins_after_the_end_of_its_run_does_no_work() -> None:
    registry, told = Registry(), list[str]()

    @job("late", registry=registry, max_duration=10, retries=3)
    async def late() -> None:
        told.append("begun")
        raise ValueError

    async with Queue(registry) as queue:
        run_id = await queue.enqueue("late", retry_delay=20.0)
        await drain(queue)
        run = await queue.run(run_id)
        assert (run.state, len(run.attempts), told) == (RunState.FAILED, 1, ["begun"])
        assert late.name == "late"


async def test_an_outsider_answers_by_an_address_that_works_once() -> None:
    registry, mails = Registry(), list[str]()

    @job("ask", registry=registry)
    async def ask(ctx: JobContext, rounds: int) -> Result:
        async def mail() -> None:
            mails.append(await ctx.signal_url("approved"))

        found: list[str] = []
        for _ in range(rounds):
            await ctx.step("mail", mail)
            found.append((await ctx.wait_for("approved", Approval)).by)
        return Result(value=found)

    async with Queue(registry) as queue:
        run_id = await queue.enqueue("ask", {"rounds": 2})
        await drain(queue)
        (first,) = mails
        assert first.startswith("https://cronograph.test/signal/cgn_")
        with pytest.raises(UserError, match=r"payload\.by"):
            await queue.signal_by_url(first, {"by": 7})
        await queue.signal_by_url(first, {"by": "ada"})
        await drain(queue)
        with pytest.raises(InvalidState, match="works once"):
            await queue.signal_by_url(first, {"by": "ada"})
        assert (await queue.run(run_id)).state is RunState.SUSPENDED
        # The second wait has an address of its own.
        await queue.signal_by_url(mails[1], {"by": "bob"})
        await drain(queue)
        assert ((await queue.run(run_id)).run.result, len(mails)) == (["ada", "bob"], 2)
    alone = await run_job(ask, {"rounds": 1}, signals={"approved": {"by": "ada"}})
    assert (alone.value, mails[2]) == (["ada"], "https://cronograph.test/signal/1-approved")


async def test_without_a_public_address_there_is_no_address_for_outsiders(database_url: str) -> None:
    writer = Keeping(Database(database_url))
    with pytest.raises(ConfigurationError, match=r"set public_url \(CRONOGRAPH_PUBLIC_URL\)"):
        await writer.signal_url(cast("Started", None), "approved", None)
    await writer.close()
