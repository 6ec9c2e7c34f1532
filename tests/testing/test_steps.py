"""Tests of jobs that take steps: what earlier attempts stored is given, and what is stored by now is seen."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cronograph.jobs import JobContext, PermanentFailure, Result, Snooze, UserError, job
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import FakeClock, Queue, drain, run_job

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Receipt:
    total: int
    lines: tuple[str, ...]


async def charge(total: int) -> Receipt:
    return Receipt(total, ("a", "b"))


async def test_a_test_gives_and_sees_results() -> None:
    async def order(ctx: JobContext, total: int) -> Result:
        receipt = await ctx.step("charge", charge, total)
        sent = await ctx.step("mail", lambda: f"sent {receipt.total}")
        return Result(value=[receipt.lines == ("a", "b"), sent])

    first = await run_job(order, {"total": 3})
    assert first.steps == {"charge": {"total": 3, "lines": ["a", "b"]}, "mail": "sent 3"}
    again = await run_job(order, {"total": 3}, attempt=2, steps={"charge": {"total": 7, "lines": ["a", "b"]}})
    assert (again.value, again.steps["mail"]) == ([True, "sent 7"], "sent 7")
    # What a later attempt gets, the first one gets as well.
    assert first.value == [True, "sent 3"]


async def test_a_stored_value_that_no_longer_fits_names_both_shapes() -> None:
    async def order(ctx: JobContext) -> None:
        await ctx.step("charge", charge, 1)

    result = await run_job(order, attempt=3, steps={"charge": [1, 2]})
    assert result.error_type == "StepMismatch"
    assert result.error is not None
    assert result.error.startswith(
        "step 'charge': attempt 2 stored list [1, 2], and its function returns Receipt now: "
    )
    assert result.error.endswith("; rename the step, so that it is done again")


async def test_a_step_is_tried_again_within_the_attempt() -> None:
    clock, called = FakeClock(), list[float]()
    began = clock.monotonic()

    async def unlucky() -> int:
        called.append(clock.monotonic() - began)
        if len(called) < 4:
            raise ValueError("no luck")
        return 7

    async def works(ctx: JobContext) -> int:
        return await ctx.step("one", unlucky, retries=3, retry_delay=10)

    result = await run_job(works, clock=clock)
    assert (result.records_processed, called) == (7, [0, 10, 30, 70])
    assert [(line.level, line.step, line.message) for line in result.lines] == [
        ("warning", "one", f"step 'one' failed with ValueError: no luck; again in {delay} s") for delay in (10, 20, 40)
    ]


async def test_retries_that_are_used_up_fail_the_attempt() -> None:
    called = list[int]()

    def unlucky() -> None:
        called.append(1)
        raise ValueError("no luck")

    def works(ctx: JobContext) -> None:
        ctx.step_sync("one", unlucky, retries=2)

    result = await run_job(works, retries=5)
    assert (result.state, result.error, len(called), result.steps) == (RunState.STUCK, "no luck", 3, {})


@pytest.mark.parametrize("signal", [PermanentFailure("never"), Snooze(5)])
async def test_what_a_job_says_by_an_exception_is_not_tried_again(signal: Exception) -> None:
    called = list[int]()

    async def says() -> None:
        called.append(1)
        raise signal

    async def works(ctx: JobContext) -> None:
        await ctx.step("one", says, retries=5)

    result = await run_job(works, retries=5)
    assert (result.state in (RunState.FAILED, RunState.WAITING), len(called)) == (True, 1)


async def twice_at_once(ctx: JobContext) -> None:
    await asyncio.gather(ctx.step("mail", asyncio.sleep, 0), ctx.step("mail", asyncio.sleep, 0))


async def twice_at_once_with_one_key(ctx: JobContext) -> None:
    await asyncio.gather(ctx.step("mail", asyncio.sleep, 0, key=1), ctx.step("mail", asyncio.sleep, 0, key="1"))


async def within_another(ctx: JobContext) -> None:
    async def outer() -> None:
        await ctx.step("inner", asyncio.sleep, 0)

    await ctx.step("outer", outer)


async def no_function(ctx: JobContext) -> None:
    await ctx.step("mail", 7)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


async def no_name(ctx: JobContext) -> None:
    await ctx.step("a#2", asyncio.sleep, 0)


async def too_many_retries(ctx: JobContext) -> None:
    await ctx.step("mail", asyncio.sleep, 0, retries=-1)


async def no_delay(ctx: JobContext) -> None:
    await ctx.step("mail", asyncio.sleep, 0, retry_delay=-1)


async def no_key(ctx: JobContext) -> None:
    assert ctx.step_key


def hidden() -> "Decimal":
    raise AssertionError("it is not called")


async def no_annotation(ctx: JobContext) -> None:
    await ctx.step("mail", hidden)


@pytest.mark.parametrize(
    ("works", "says"),
    [
        (twice_at_once, "give each its own key: ctx.step('mail', …, key=order_id)"),
        (twice_at_once_with_one_key, "step 'mail[1]': began again while it was still under way"),
        (within_another, "step 'inner': began inside step 'outer'"),
        (no_function, "step 'mail': must be given a function and its arguments, got 7"),
        (no_name, "step: name must not contain '#'"),
        (too_many_retries, "step 'mail': retries must be a whole number from 0 to 1000, got -1"),
        (no_delay, "step 'mail': retry_delay: must be from 0 seconds to ten years"),
        (no_key, "step_key: there is one only inside a step"),
        (no_annotation, "step function hidden: what it returns cannot be read from its annotation: name 'Decimal'"),
    ],
)
async def test_a_step_that_cannot_be_one_is_refused(works: Any, says: str) -> None:
    result = await run_job(works)
    assert says in str(result.error)
    assert "mail" not in result.steps or works is twice_at_once


@pytest.mark.parametrize(
    ("works", "code", "path"),
    [
        (twice_at_once, "INVALID_STATE", ("key",)),
        (within_another, "INVALID_STATE", ("name",)),
        (no_function, "INVALID_INPUT", ("function",)),
        (no_name, "INVALID_INPUT", ("name",)),
        (too_many_retries, "INVALID_INPUT", ("retries",)),
    ],
)
async def test_the_job_can_report_what_is_wrong_with_its_step(works: Any, code: str, path: tuple[str, ...]) -> None:
    async def catches(ctx: JobContext) -> None:
        with pytest.raises(UserError) as refused:
            await works(ctx)
        assert (refused.value.code, refused.value.path) == (code, path)

    assert (await run_job(catches)).error is None


def wrong() -> int:
    return "x"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    ("returns", "says"),
    [
        (object, "the value of step 'one' must be JSON, got object"),
        (lambda: "x" * 1_000_001, "the value of step 'one' may have 1000000 characters"),
        (wrong, "step 'one': its function says that it returns int, and it returned str 'x'"),
        (lambda: float("nan"), "the value of step 'one' must be JSON"),
    ],
)
async def test_a_result_that_cannot_be_stored_ends_the_run(returns: Any, says: str) -> None:
    async def works(ctx: JobContext) -> None:
        await ctx.step("one", returns, retries=3)

    result = await run_job(works, retries=3)
    assert (result.state, result.error_type) == (RunState.FAILED, "StepUnstorable")
    assert says in str(result.error)


async def test_secrets_are_not_stored_with_a_step() -> None:
    async def works(ctx: JobContext, token: str) -> Result:
        return Result(value=await ctx.step("one", lambda: f"{token}!") == "[secret t]!")

    result = await run_job(works, {"token": {"$secret": "t"}}, secrets={"t": "hunter2hunter2"})
    assert (result.value, result.steps) == (True, {"one": "[secret t]!"})


async def test_arguments_by_name_are_given_by_a_partial() -> None:
    async def works(ctx: JobContext) -> int:
        return (await ctx.step("charge", partial(charge, total=5))).total

    assert (await run_job(works)).records_processed == 5


async def test_a_queue_keeps_steps_from_attempt_to_attempt() -> None:
    registry, done = Registry(), list[str]()

    @job("order", registry=registry, retries=2, retry_delay=5)
    async def order(ctx: JobContext) -> None:
        await ctx.step("charge", done.append, "charge")
        await ctx.step("mail", done.append, "mail")
        if ctx.attempt == 1:
            raise ValueError("no luck")

    async with Queue(registry) as queue:
        await queue.enqueue("order")
        (drained,) = await drain(queue)
    assert (drained.state, done) == (RunState.SUCCESS, ["charge", "mail"])
    assert [one.steps for one in drained.attempts] == [{"charge": None, "mail": None}] * 2
