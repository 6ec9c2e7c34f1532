"""`run_job`: one attempt in a test."""

import asyncio
import logging
import os
import shutil
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cronograph.jobs import Cancel, JobContext, PermanentFailure, Result, Snooze, job
from cronograph.jobs.base.context import StopReason
from cronograph.jobs.core.base.errors import InvalidInput, NotFound
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import FakeClock, run_job
from tests.runtime.process_jobs import who_am_i
from tests.support.engines import running_engine

JOBS = Registry()


@job("add", registry=JOBS)
async def add(a: int, b: int = 1) -> Result:
    return Result(a + b, {"sum": a + b})


@job("in_thread", registry=JOBS)
def in_thread(ctx: JobContext) -> None:
    logging.getLogger("mine").warning(
        "in %s", "thread" if threading.current_thread() is not threading.main_thread() else "loop"
    )
    ctx.save_checkpoint([1])
    ctx.progress(1)


@job("raises", registry=JOBS)
async def raises(what: str) -> None:
    errors = {"fail": ValueError("no"), "never": PermanentFailure("never"), "later": Snooze(5), "cancel": Cancel("why")}
    raise errors[what]


def test_a_plain_test_runs_a_job_too() -> None:
    result = asyncio.run(run_job("add", {"a": 2}, registry=JOBS))
    assert (result.outcome, result.state, result.records_processed, result.value) == (
        "success",
        "success",
        3,
        {"sum": 3},
    )
    assert result.success
    assert (result.error, result.retry_in) == (None, None)


async def test_a_function_is_run_whether_it_is_registered_or_not() -> None:
    async def unregistered(word: str) -> Result:
        return Result(value=word)

    assert (await run_job(unregistered, {"word": "hi"})).value == "hi"
    assert (await run_job(add, {"a": 1}, registry=JOBS)).value == {"sum": 2}


async def test_what_a_job_says_is_in_the_result() -> None:
    result = await run_job(
        "in_thread", registry=JOBS, checkpoint="old", clock=FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    )
    (line,) = result.lines
    assert (line.level, line.message, line.at) == ("warning", "in thread", datetime(2030, 1, 1, tzinfo=UTC))
    assert result.messages == ["in thread"]
    assert result.checkpoint == [1]
    assert result.progress == ({"done": 1, "total": None, "message": None},)


async def test_beside_a_node_of_the_same_process_a_line_is_kept_once(sqlite_url: str) -> None:
    async with running_engine(sqlite_url, JOBS):
        assert (await run_job("in_thread", registry=JOBS)).messages == ["in thread"]


async def test_each_of_two_nodes_of_one_process_keeps_a_line_once(sqlite_url: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    shutil.copy(sqlite_url.removeprefix("sqlite:///"), other)
    async with running_engine(sqlite_url, JOBS) as first, running_engine(f"sqlite:///{other}", JOBS) as second:
        assert (await first.finish("in_thread")).messages == ["in thread"]
        assert (await second.finish("in_thread")).messages == ["in thread"]


@pytest.mark.parametrize(
    ("what", "outcome", "state", "retry_in", "error"),
    [
        ("fail", "failed", "stuck", 120.0, "no"),
        ("never", "failed", "failed", None, "never"),
        ("later", "snoozed", "waiting", 5.0, None),
        ("cancel", "cancelled", "cancelled", None, "why"),
    ],
)
async def test_the_result_says_what_becomes_of_the_run(
    what: str, outcome: str, state: str, retry_in: float | None, error: str | None
) -> None:
    result = await run_job("raises", {"what": what}, registry=JOBS, attempt=2)
    assert (result.outcome, result.state, result.retry_in, result.error) == (outcome, state, retry_in, error)
    assert (result.traceback is not None) is (outcome == "failed")


async def test_the_last_attempt_knows_it_and_fails_the_run() -> None:
    async def last(ctx: JobContext) -> None:
        raise RuntimeError(f"last: {ctx.is_last_attempt}")

    result = await run_job(last, attempt=3, retries=2)
    assert (result.state, result.error) == ("failed", "last: True")


async def test_a_fake_clock_uses_up_the_time_box() -> None:
    clock = FakeClock()

    async def works(ctx: JobContext) -> int:
        rounds = 0
        while not ctx.should_stop:
            clock.advance(10)
            rounds += 1
        ctx.log.info("left", reason=ctx.stop_reason, remaining=ctx.remaining)
        return rounds

    result = await run_job(works, timeout=35, clock=clock)
    assert (result.outcome, result.records_processed) == ("success", 4)
    assert result.lines[0].fields == {"reason": "deadline", "remaining": 0.0}
    assert (result.completed_at - result.started_at).total_seconds() == 40


@pytest.mark.parametrize("reason", list(StopReason))
async def test_a_job_can_be_asked_to_stop_from_the_start(reason: StopReason) -> None:
    async def asks(ctx: JobContext) -> Result:
        return Result(value=ctx.stop_reason)

    result = await run_job(asks, stop=reason)
    assert result.value == reason
    assert result.state == ("cancelled" if reason is StopReason.CANCEL else "success")


async def test_a_job_can_be_asked_to_stop_after_some_progress() -> None:
    def counts(ctx: JobContext) -> int:
        done = 0
        while not ctx.should_stop:
            done += 1
            ctx.progress(done)
        return done

    result = await run_job(counts, stop_after=3)
    assert (result.state, result.records_processed) == ("cancelled", 3)


async def test_a_process_job_runs_in_this_process() -> None:
    assert (await run_job(who_am_i)).value["pid"] == os.getpid()


async def test_arguments_are_judged_as_when_a_run_is_submitted() -> None:
    with pytest.raises(InvalidInput, match="argument 'a' of job 'add'"):
        await run_job("add", {"a": "x"}, registry=JOBS)


async def test_an_unknown_job_is_named_with_the_nearest_one() -> None:
    with pytest.raises(NotFound, match=r"Unknown job: ad; did you mean 'add'\?"):
        await run_job("ad", registry=JOBS)


def test_a_fake_clock_moves_only_forward_and_only_when_asked() -> None:
    clock = FakeClock()
    assert clock() == clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.advance(1.5) == datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    with pytest.raises(ValueError, match=r"must not go back, it shows 2026-01-01T00:00:01.500000"):
        clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(ValueError, match="must get a time with a zone, got 2026-01-01T00:00:00; add tzinfo=UTC"):
        FakeClock(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


async def calls(token: str, ctx: JobContext) -> Result:
    ctx.log.info("calling", token=token)
    return Result(1, {"told": token, "length": len(token)})


async def test_a_job_gets_the_secrets_of_the_test_and_says_none_of_them() -> None:
    reference = {"token": {"$secret": "billing"}}
    result = await run_job(calls, reference, secrets={"billing": "hunter2hunter2", "unused": "another one"})
    assert result.value == {"told": "[secret billing]", "length": 14}
    assert [line.fields for line in result.lines] == [{"token": "[secret billing]"}]
    missing = await run_job(calls, reference, secrets={"biling": "hunter2hunter2"})
    assert (missing.outcome, missing.error_type) == ("failed", "SecretUnavailable")
    assert (missing.error or "").endswith("did you mean 'biling'?")
