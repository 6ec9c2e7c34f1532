"""``@job(batch=…)``: one call of the function for many runs, each with a record, retries and a result of its own."""

import asyncio
import threading
from typing import Any

import pytest
from pydantic import BaseModel

from cronograph.jobs import Batch, ConfigurationError, JobContext, Result, job
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain, run_job
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually

LONG = 50.0
"""Seconds that no test waits: what begins earlier has all of its runs."""


class Mail(BaseModel):
    to: str
    copies: int = 1


async def all_of(engine: RunningEngine, name: str, args: list[dict[str, Any]], **changes: Any) -> list[int]:
    return [await engine.enqueue(name, one, **changes) for one in args]


async def test_runs_that_wait_at_once_are_one_call_and_each_has_its_own_end(start_engine: StartEngine) -> None:
    registry, calls = Registry(), list[list[str]]()

    @job(registry=registry, batch=Batch(size=3, wait=LONG))
    async def embed(texts: list[str]) -> list[Any]:
        calls.append(texts)
        print("one call")  # noqa: T201
        return [Result(value=text.upper()) if text else ValueError("empty") for text in texts]

    engine = await start_engine(registry, print_logs=True)
    ids = await all_of(engine, "embed", [{"texts": text} for text in ("a", "", "c")])
    first, second, third = [await engine.finished(one) for one in ids]
    assert (first.run.result, third.run.result) == ("A", "C")
    assert (second.run.state, second.execution.error_type, second.run.error) == (RunState.FAILED, "ValueError", "empty")
    assert [sorted(call) for call in calls] == [["", "a", "c"]]
    assert sum(len(one.lines) for one in (first, second, third)) == 1


async def test_a_call_begins_after_its_wait_with_what_is_there(start_engine: StartEngine) -> None:
    registry = Registry()

    @job(registry=registry, batch=Batch(size=100, wait="10ms"))
    def count(mails: list[Mail]) -> list[int]:
        assert threading.current_thread() is not threading.main_thread()
        return [mail.copies for mail in mails]

    engine = await start_engine(registry)
    done = await engine.finish("count", {"mails": {"to": "ada", "copies": 3}})
    assert (done.run.state, done.execution.records_processed) == (RunState.SUCCESS, 3)


async def test_what_is_retried_joins_a_later_call_and_a_wrong_answer_fails_all(start_engine: StartEngine) -> None:
    registry, calls = Registry(), list[list[int]]()

    @job(registry=registry, batch=Batch(size=2, wait=LONG))
    async def flaky(numbers: list[int]) -> list[Any] | None:
        calls.append(sorted(numbers))
        if len(calls) == 1:
            raise ConnectionError("away")
        if len(calls) == 2:
            return [None] * (len(numbers) + 1)
        return None

    engine = await start_engine(registry)
    ids = await all_of(engine, "flaky", [{"numbers": 1}, {"numbers": 2}], retries=5)
    ends = [await engine.finished(one) for one in ids]
    assert [one.run.state for one in ends] == [RunState.SUCCESS] * 2
    assert calls == [[1, 2]] * 3
    for end in ends:
        first, second, third = sorted(end.executions, key=lambda one: one.attempt)
        assert [one.error_type for one in (first, second, third)] == ["ConnectionError", "ValueError", None]
        assert "must return None, or a list of" in str(second.error_message)


async def test_a_cancelled_run_leaves_its_call_which_ends_with_the_last_of_them(start_engine: StartEngine) -> None:
    registry, begun, go_on, cut = Registry(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    @job(registry=registry, batch=Batch(size=2, wait=LONG))
    async def slow(numbers: list[int]) -> None:
        begun.set()
        try:
            await go_on.wait()
        except asyncio.CancelledError:
            cut.set()
            raise

    engine = await start_engine(registry)
    first, second = await all_of(engine, "slow", [{"numbers": 1}, {"numbers": 2}])
    await asyncio.wait_for(begun.wait(), 30)
    await engine.cancel_elsewhere(first)
    assert (await engine.run_until_finished(first)).state is RunState.CANCELLED
    assert not cut.is_set()
    go_on.set()
    assert (await engine.run_until_finished(second)).state is RunState.SUCCESS
    begun.clear()
    go_on.clear()
    third, fourth = await all_of(engine, "slow", [{"numbers": 3}, {"numbers": 4}])
    await asyncio.wait_for(begun.wait(), 30)
    for one in (third, fourth):
        await engine.cancel_elsewhere(one)
    await eventually(cut.is_set)
    assert (await engine.run_until_finished(fourth)).state is RunState.CANCELLED


async def test_an_exit_inside_a_call_fails_its_runs_and_nothing_else(start_engine: StartEngine) -> None:
    registry = Registry()

    @job(registry=registry, batch=Batch(size=1, wait=LONG))
    async def leaves(numbers: list[int]) -> None:
        raise SystemExit(3)

    engine = await start_engine(registry)
    done = await engine.finish("leaves", {"numbers": 1})
    assert (done.run.state, done.execution.error_type) == (RunState.FAILED, "SystemExit")


async def test_a_call_that_was_cancelled_from_within_fails_its_runs(start_engine: StartEngine) -> None:
    registry = Registry()

    @job(registry=registry, batch=Batch(size=2, wait=LONG))
    async def gives_up(numbers: list[int]) -> None:
        raise asyncio.CancelledError

    engine = await start_engine(registry)
    ids = await all_of(engine, "gives_up", [{"numbers": 1}, {"numbers": 2}])
    ends = [await engine.finished(one) for one in ids]
    assert [(one.run.state, one.execution.error_type) for one in ends] == [(RunState.FAILED, "RuntimeError")] * 2


async def test_a_test_waits_for_nobody() -> None:
    registry, calls = Registry(), list[list[int]]()

    @job(registry=registry, batch=Batch(size=10, wait=LONG))
    async def count(numbers: list[int]) -> list[int]:
        calls.append(numbers)
        return [*numbers]

    async with Queue(registry) as queue:
        await queue.enqueue(count, {"numbers": 1})
        await queue.enqueue(count, {"numbers": 2})
        assert [run.last.records_processed for run in await drain(queue)] == [1, 2]
    assert (await run_job(count, {"numbers": 3})).records_processed == 3
    assert calls == [[1], [2], [3]]
    assert await count([4, 5]) == [4, 5]


def with_context(ctx: JobContext, numbers: list[int]) -> None: ...


def without_list(number: int) -> None: ...


def two_lists(numbers: list[int], texts: list[str]) -> None: ...


def one_list(numbers: list[int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "options", "says"),
    [
        (with_context, {}, "takes no JobContext"),
        (without_list, {}, "one parameter that is a list, e.g. texts: list\\[str\\], got none"),
        (two_lists, {}, "got 'numbers', 'texts'"),
        (one_list, {"batch": 5}, "must be a Batch"),
        (one_list, {"isolation": "process"}, "batch: its calls are made in the node"),
    ],
)
def test_what_cannot_be_a_batch_is_refused_at_the_import(function: Any, options: Any, says: str) -> None:
    given: dict[str, Any] = {"batch": Batch(size=2, wait=1), **options}
    with pytest.raises(ConfigurationError, match=says):
        job(registry=Registry(), **given)(function)


@pytest.mark.parametrize(
    ("size", "wait", "says"),
    [(0, 1, "size must be"), (10_001, 1, "size must be"), (1, "2m", "at most 60 s"), (1, "xms", "such as '200ms'")],
)
def test_a_batch_has_a_size_and_a_wait(size: int, wait: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Batch(size=size, wait=wait)
    assert Batch(size=1, wait="200ms").seconds == 0.2
