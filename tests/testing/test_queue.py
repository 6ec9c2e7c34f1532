"""`Queue` and `drain`: a whole queue in a test, in no time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from cronograph.graphql.client.inputs import TaskSettings as ClientTaskSettings
from cronograph.jobs import Flow, JobContext, Resources, Result, Snooze, job
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.model import ScheduleSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.registry import Registry
from cronograph.jobs.registry.queue import RunOptions
from cronograph.jobs.store.schema.flows import run_step
from cronograph.jobs.testing import DrainError, FakeClock, Queue, drain
from cronograph.jobs.testing.clock import START
from cronograph.jobs.testing.queue import TaskSettings

JOBS = Registry()


@job("fails", registry=JOBS)
async def fails(ctx: JobContext, times: int = 99) -> int:
    if ctx.attempt <= times:
        raise ValueError(f"attempt {ctx.attempt}")
    return ctx.attempt


@job("snoozes", registry=JOBS)
def snoozes(ctx: JobContext, seconds: float, times: int = 99) -> None:
    if ctx.attempt <= times:
        raise Snooze(seconds)


@job("counts", registry=JOBS)
async def counts(ctx: JobContext) -> None:
    await ctx.save_checkpoint((ctx.checkpoint or 0) + 1)


def test_what_is_said_of_a_task_has_the_names_that_it_has_elsewhere() -> None:
    assert set(TaskSettings.__annotations__) | {"args", "dry_run"} == set(ClientTaskSettings.__annotations__)


async def test_a_run_takes_the_options_that_it_takes_elsewhere() -> None:
    async with Queue(JOBS) as queue:
        options: RunOptions = {"priority": "HIGH", "retry_delay": timedelta(minutes=1), "timeout": timedelta(seconds=2)}
        run = (await queue.run(await queue.enqueue("counts", **options))).run
        assert (run.priority, run.retry_delay, run.timeout) == ("high", 60.0, 2.0)
        name = await queue.schedule("counts", "0 0 0 1 1 *", description="d", owner="o", enabled=False, priority="high")
        assert name == "counts"
        with pytest.raises(UserError, match="'counts' runs on a node"):
            await queue.schedule("counts", "0 0 0 1 1 *", name="elsewhere", resources=Resources(gpus=1))


async def test_retries_come_when_they_are_due_and_not_a_second_earlier() -> None:
    async with Queue(JOBS) as queue:
        run_id = await queue.enqueue("fails", retries=3, retry_delay=10)
        (run,) = await drain(queue)
        assert run == await queue.run(run_id)
    assert (run.state, run.job_name, run.run.error) == ("failed", "fails", "attempt 4")
    begun = [round((one.started_at - START).total_seconds(), 3) for one in run.attempts]
    assert begun == [0, 10, 30, 70]
    assert [one.retry_in for one in run.attempts] == [10, 20, 40, None]
    assert run.last.state == "failed"


async def test_a_retry_without_a_delay_comes_a_moment_later() -> None:
    async with Queue(JOBS) as queue:
        await queue.enqueue("fails", {"times": 2}, retry_delay=0)
        (run,) = await drain(queue)
    assert (run.state, run.last.records_processed) == ("success", 3)
    assert (queue.clock.now() - START) < timedelta(milliseconds=1)


async def test_snoozes_and_later_runs_are_waited_for() -> None:
    async with Queue(JOBS) as queue:
        later = await queue.enqueue("snoozes", {"seconds": 3600, "times": 2}, run_at=START + timedelta(days=1))
        at_once = await queue.enqueue("fails", {"times": 0})
        runs = await drain(queue)
    assert [run.run.id for run in runs] == [at_once, later]
    assert queue.clock.now() == START + timedelta(days=1, hours=2)


async def test_schedules_fire_until_the_given_time() -> None:
    async with Queue(JOBS, FakeClock(START + timedelta(minutes=30))) as queue:
        name = await queue.schedule("counts", "0 0 * * * *")
        runs = await drain(queue, until=START + timedelta(hours=5, minutes=10))
        assert await queue.checkpoint(name) == 5
    assert [run.run.scheduled_for for run in runs] == [START + timedelta(hours=hour) for hour in (1, 2, 3, 4, 5)]
    assert queue.clock.now() == START + timedelta(hours=5, minutes=10)


async def test_without_a_time_no_schedule_fires() -> None:
    async with Queue(JOBS) as queue:
        await queue.schedule("counts", ScheduleSpec(Syntax.INTERVAL, "60s"), name="each minute")
        assert await drain(queue) == []
        await queue.trigger("each minute")
        assert [run.run.task_name for run in await drain(queue)] == ["each minute"]


@pytest.mark.costly
async def test_a_queue_that_never_becomes_empty_is_an_error() -> None:
    async with Queue(JOBS) as queue:
        await queue.enqueue("snoozes", {"seconds": 1})
        with pytest.raises(DrainError, match="still not empty after 20 attempts"):
            await drain(queue, limit=20)


async def test_what_the_api_refuses_the_queue_refuses() -> None:
    async with Queue(JOBS) as queue:
        with pytest.raises(UserError, match="Unknown job: fail; did you mean 'fails'"):
            await queue.enqueue("fail")
        with pytest.raises(UserError, match="argument 'times'"):
            await queue.enqueue("fails", {"times": "many"})
        with pytest.raises(UserError, match="has five fields"):
            await queue.schedule("counts", "* * * * *")
        assert await queue.checkpoint("nothing") is None


async def test_a_queue_gives_its_secrets_to_the_jobs_that_name_them() -> None:
    jobs = Registry()

    @job("calls", registry=jobs)
    async def calls(token: str) -> Result:
        return Result(1, [token, len(token)])

    async with Queue(jobs, secrets={"billing": "hunter2hunter2"}) as queue:
        await queue.enqueue("calls", {"token": {"$secret": "billing"}})
        (ran,) = await drain(queue)
        assert (ran.run.args, ran.last.value) == ({"token": {"$secret": "billing"}}, ["[secret billing]", 14])


LATER = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


@job("leaf", registry=JOBS)
async def leaf(number: int = 0) -> int:
    return number


@job("enqueues by all ways", registry=JOBS)
async def enqueues_by_all_ways(ctx: JobContext) -> None:
    await leaf.enqueue(number=1)
    await asyncio.to_thread(leaf.enqueue_sync, number=2)
    await ctx.enqueue("leaf", number=3)
    await ctx.step("once", lambda: 1)
    flow = Flow("inner", registry=JOBS)
    flow.add("only", leaf, number=4)
    await flow.enqueue()


@pytest.mark.parametrize("start", [None, LATER])
async def test_all_ways_to_enqueue_go_by_the_one_clock_of_the_queue(start: datetime | None) -> None:
    async with Queue(JOBS, start=start) as queue:
        begin = queue.clock.now()
        assert begin == (start or START)
        flow = Flow("outer", registry=JOBS)
        flow.add("first", leaf, 1).after()
        await flow.enqueue()
        flow.enqueue_sync()
        await queue.enqueue(enqueues_by_all_ways)
        await queue.enqueue(leaf, run_at=begin + timedelta(hours=1))
        runs = await drain(queue)
        assert len(runs) == 8
        assert {one.run.submitted_at for one in runs} == {begin}
        assert queue.clock.now() == begin + timedelta(hours=1)
        times = select(run_step.c.started_at, run_step.c.finished_at)
        rows = await queue.database.read(lambda conn: conn.execute(times).all())
        assert [tuple(row) for row in rows] == [(begin, begin)]


async def test_a_queue_takes_a_clock_or_its_start() -> None:
    with pytest.raises(TypeError, match="takes clock or start, got both"):
        Queue(JOBS, FakeClock(), start=LATER)
