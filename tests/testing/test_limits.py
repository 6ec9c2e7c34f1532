"""All that limits runs holds in tests of jobs, too: the clock of the test moves to the next token."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from cronograph.jobs import Cap, Debounce, Expired, Rate, Throttle, job
from cronograph.jobs.actions.groups import set_group_rate
from cronograph.jobs.core.admission.caps import Rate as StoredRate
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


@job(registry=JOBS)
async def told(expired: Expired) -> None: ...


@job(registry=JOBS, ttl="10m", on_expired=told)
async def codes(user: int) -> None: ...


@job(registry=JOBS, unique_key=("n",), unique_for=3600)
async def charges(n: int) -> None: ...


@job(registry=JOBS, unique_key=("n",), unique_among=("waiting",))
async def builds(n: int) -> None: ...


@job(registry=JOBS, unique_key=("n",), debounce=Debounce(5, max_wait=12))
async def indexes(n: int, text: int) -> None: ...


@job(registry=JOBS, unique_key=("n",), throttle=Throttle(60))
async def syncs(n: int) -> None: ...


@job(registry=JOBS, unique_key=("n",), throttle=Throttle(60, last=True))
async def folds(n: int, text: int) -> None: ...


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


async def test_a_rate_of_a_task_holds() -> None:
    async with Queue(JOBS) as queue:
        task = await queue.schedule("plain", "0 0 0 1 1 *", overlap="allow", rate=Rate(1, per="1m"))
        ids = [await queue.trigger(task) for _ in range(3)]
        await drain(queue)
        assert await begun(queue, ids) == [0, 60, 120]


async def test_a_rate_of_a_group_holds() -> None:
    async with Queue(JOBS) as queue:
        await queue.database.write(set_group_rate, "slow", rate=StoredRate(1, 10.0, 1))
        ids = [await queue.enqueue("plain", group="slow") for _ in range(3)]
        await drain(queue)
        assert await begun(queue, ids) == [0, 10, 20]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "at", "which", "starts"),
    [
        # Enqueued at these seconds, of which run each one is answered with, and when these begin.
        ("charges", (0, 1800, 3599, 3601), (0, 0, 0, 1), (0, 3601)),
        ("builds", (0, 1), (0, 1), (0, 1)),
        ("indexes", (0, 3, 6, 9, 13), (0, 0, 0, 0, 1), (12, 18)),
        ("indexes", (0, 3), (0, 0), (8,)),
        ("syncs", (0, 30, 59, 61), (0, 0, 0, 1), (0, 61)),
        ("folds", (0, 30, 59), (0, 1, 1), (0, 60)),
    ],
)
async def test_keys_hold_as_long_as_in_production(
    name: str, at: Sequence[int], which: Sequence[int], starts: Sequence[float]
) -> None:
    async with Queue(JOBS) as queue:
        ids = list[int]()
        for seconds in at:
            moment = START + timedelta(seconds=seconds)
            await drain(queue, until=moment)
            queue.clock.set(moment)
            args = {"n": 1, "text": seconds} if name in ("indexes", "folds") else {"n": 1}
            ids.append(await queue.enqueue(name, args))
        await drain(queue)
        runs = sorted(set(ids))
        assert [runs.index(one) for one in ids] == [*which]
        assert await begun(queue, runs) == [*starts]
        if name in ("indexes", "folds"):
            newest = dict(zip(ids, at, strict=True))
            assert [(await queue.run(one)).run.args["text"] for one in runs] == [newest[one] for one in runs]


async def test_what_waited_too_long_is_skipped_and_its_job_hears_of_it() -> None:
    async with Queue(JOBS) as queue:
        late, in_time = [await queue.enqueue("codes", {"user": one}) for one in (1, 2)]
        await queue.step()
        queue.clock.advance(601)
        await drain(queue)
        runs = [(await queue.run(one)).run for one in (late, in_time)]
        assert sorted(run.state.value for run in runs) == ["skipped", "success"]
        (skipped,) = (run for run in runs if run.state.value == "skipped")
        queue.assert_enqueued("told")
        assert skipped.skip_reason is not None
        assert skipped.skip_reason.value == "expired"


async def test_as_many_run_at_once_as_the_job_says() -> None:
    async with Queue(JOBS) as queue:
        ids = [await queue.enqueue("exports") for _ in range(2)]
        await drain(queue)
        first, second = [(await queue.run(one)).last for one in ids]
        assert first.completed_at <= second.started_at
