"""Rates and concurrency keys in tests of jobs: the clock of the test moves to the next token."""

from cronograph.jobs import Cap, Rate, job
from cronograph.jobs.actions.groups import set_group_rate
from cronograph.jobs.core.base.rates import Rate as StoredRate
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain
from cronograph.jobs.testing.clock import START

JOBS = Registry()


@job(registry=JOBS, rate=Rate(1, per="1m"), rate_key="{customer}")
async def mails(customer: int) -> None: ...


@job(registry=JOBS, rate=Rate(2, per="1s", burst=1), max_concurrent=1)
async def exports() -> None: ...


@job(registry=JOBS, cap=Cap(2, when_full="drop_oldest"), cap_key="{customer}")
async def refreshes(customer: int) -> None: ...


@job(registry=JOBS)
async def plain() -> None: ...


async def begun(queue: Queue, ids: list[int]) -> list[float]:
    """Seconds after the start of the test's clock at which these runs began."""
    runs = [await queue.run(one) for one in ids]
    return [round((run.last.started_at - START).total_seconds(), 2) for run in runs]


async def test_each_key_waits_for_its_own_tokens() -> None:
    async with Queue(JOBS) as queue:
        ids = [await queue.enqueue("mails", {"customer": one}) for one in (1, 1, 2, 1)]
        await drain(queue)
        assert await begun(queue, ids) == [0, 60, 0, 120]


async def test_a_full_queue_drops_as_in_production() -> None:
    async with Queue(JOBS) as queue:
        ids = [await queue.enqueue("refreshes", {"customer": one}) for one in (1, 1, 2, 1)]
        await drain(queue)
        assert [(await queue.run(one)).run.state.value for one in ids] == ["skipped", "success", "success", "success"]


async def test_a_run_that_is_held_back_last_is_waited_for() -> None:
    async with Queue(JOBS) as queue:
        ids = [await queue.enqueue("mails", {"customer": 1}) for _ in range(2)]
        await drain(queue)
        assert await begun(queue, ids) == [0, 60]


async def test_a_rate_of_a_job_keeps_no_other_job_waiting() -> None:
    async with Queue(JOBS) as queue:
        ids = [await queue.enqueue("exports") for _ in range(3)]
        other = await queue.enqueue("plain")
        await drain(queue)
        assert await begun(queue, [*ids, other]) == [0, 0.5, 1, 0]


async def test_a_rate_of_a_group_holds() -> None:
    async with Queue(JOBS) as queue:
        await queue.database.write(set_group_rate, "slow", rate=StoredRate(1, 10.0, 1))
        ids = [await queue.enqueue("plain", group="slow") for _ in range(3)]
        await drain(queue)
        assert await begun(queue, ids) == [0, 10, 20]
