"""What a job can do: enqueue by name and in child processes, log any word; and what a hook cannot do to it."""

import logging

import pytest

from cronograph.jobs import JobContext, job
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain, run_job
from tests.at_home.kitchen import JOBS, cooks_by_name, hooked, hooked_at_the_end, logs
from tests.support.engines import StartEngine


@pytest.mark.costly
@pytest.mark.parametrize(
    "name", ["cooks_in_process", "cooks_async_in_process", "cooks_by_name", "cooks_by_name_in_thread"]
)
async def test_every_kind_of_job_enqueues_by_job_and_by_name(start_engine: StartEngine, name: str) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish(name, {"table": 7})
    first, second = done.run.result[:2]
    served = await engine.finished(first)
    assert (served.run.job_name, served.run.args, served.run.unique_key) == ("serve", {"table": 7}, "serve(table=7)")
    if second != first:
        # The first one had ended already.
        assert (await engine.finished(second)).run.args == {"table": 7}


async def test_a_job_enqueues_by_name_in_tests_too() -> None:
    async with Queue(JOBS) as queue:
        await queue.enqueue(cooks_by_name, {"table": 3})
        await drain(queue)
        assert [one.args for one in queue.enqueued("serve")] == [{"table": 3}, {"table": 4}]
    alone = await run_job(cooks_by_name, {"table": 3})
    assert alone.outcome == "success"


async def test_an_enqueue_by_name_takes_arguments_by_name() -> None:
    wrong = Registry()

    @job(registry=wrong)
    async def by_place(ctx: JobContext) -> None:
        await ctx.enqueue("serve", 7)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]

    @job(registry=wrong)
    async def no_job(ctx: JobContext) -> None:
        await ctx.enqueue(print)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]

    assert "enqueue('serve', …): arguments of a named job are given by name, got 7" in str(
        (await run_job(by_place)).error
    )
    assert "must be a job or the name of one, got <built-in function print>" in str((await run_job(no_job)).error)


async def test_any_word_names_a_field_and_a_wrong_call_of_logging_is_kept() -> None:
    root = logging.getLogger()
    of_pytest = root.handlers[:]
    # They make an error of such a call.
    root.handlers.clear()
    try:
        done = await run_job(logs)
    finally:
        root.handlers.extend(of_pytest)
    assert done.outcome == "success"
    sent, wrong = done.lines
    assert (sent.message, sent.fields) == (
        "sent",
        {"message": "hello", "level": 3, "self": "me", "fields": [1], "run_id": 7},
    )
    assert wrong.message == (
        "--- Logging error ---\nTypeError: %d format: a real number is required, not str\n"
        "Message: '%d dishes'\nArguments: ('two',)"
    )


async def test_a_hook_that_raises_a_cancellation_changes_no_outcome(start_engine: StartEngine) -> None:
    for one in (hooked, hooked_at_the_end):
        done = await run_job(one, registry=JOBS)
        assert done.outcome == "success", done.error
        assert any("failed around run" in line.message for line in done.lines)
    engine = await start_engine(JOBS)
    assert [(await engine.finish(name)).run.state.value for name in ("hooked", "hooked_at_the_end")] == ["success"] * 2
