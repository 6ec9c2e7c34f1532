"""Jobs that run other jobs and wait for them without a slot."""

import pytest
from sqlalchemy import select

from cronograph.jobs import JobContext, Result, RunFailed, job
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.schema.tables import flow, run_step
from cronograph.jobs.testing import Queue, drain, run_job

JOBS = Registry()


@job("double", registry=JOBS, retries=0)
async def double(n: int) -> Result:
    if n < 0:
        raise ValueError("negative")
    return Result(value=2 * n)


@job("one", registry=JOBS, retries=0)
async def one(ctx: JobContext, n: int) -> Result:
    return Result(value=[await ctx.run(double, n=n), await ctx.run("double", n=10)])


@job("plain", registry=JOBS, retries=0)
def plain(ctx: JobContext, n: int) -> Result:
    return Result(value=[ctx.run_sync(double, n), *ctx.run_all_sync([double.run(m) for m in range(n)])])


@job("many", registry=JOBS, retries=0)
async def many(ctx: JobContext, numbers: list[int], catch: bool = False) -> Result:
    found = await ctx.run_all([double.run(n) for n in numbers], return_exceptions=catch)
    return Result(value=[str(one) if isinstance(one, RunFailed) else one for one in found])


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "args", "value"),
    [
        ("one", {"n": 4}, [8, 20]),
        ("plain", {"n": 3}, [6, 0, 2, 4]),
        ("many", {"numbers": list(range(30))}, list(range(0, 60, 2))),
        ("many", {"numbers": []}, []),
        ("many", {"numbers": [1, -1], "catch": True}, [2, "run 3 of job 'double' ended failed: negative"]),
    ],
)
async def test_a_job_gets_what_its_runs_returned(name: str, args: dict[str, object], value: list[object]) -> None:
    async with Queue(JOBS) as queue:
        run_id = await queue.enqueue(name, args)
        await drain(queue)
        parent = await queue.run(run_id)
        assert (parent.state, parent.run.result, parent.run.failures) == (RunState.SUCCESS, value, 0)
        assert {one.outcome for one in parent.attempts[:-1]} <= {Outcome.SUSPENDED}
        assert len(parent.attempts) <= 3


async def test_a_run_that_failed_raises_in_the_job_that_waits_for_it() -> None:
    async with Queue(JOBS) as queue:
        run_id = await queue.enqueue("one", {"n": -1})
        await drain(queue)
        parent = await queue.run(run_id)
        assert (parent.state, parent.last.error_type) == (RunState.FAILED, "RunFailed")
        assert parent.run.error == "run 2 of job 'double' ended failed: negative"


async def test_a_cancel_goes_down() -> None:
    async with Queue(JOBS) as queue:
        run_id = await queue.enqueue("many", {"numbers": [1, 2, 3]})
        assert await queue.step() == run_id
        assert (await queue.run(run_id)).state is RunState.SUSPENDED
        await queue.database.write(cancel_runs, [run_id], reason="no need")
        children = queue.enqueued("double")
        assert [one.state for one in children] == [RunState.CANCELLED] * 3
        assert children[0].error == "the run that waits for this one was cancelled"
        assert await queue.step() is None


async def test_parent_and_children_know_each_other() -> None:
    async with Queue(JOBS) as queue:
        run_id = await queue.enqueue("many", {"numbers": [1, 2]})
        await queue.step()
        stored = queue.database.write_sync(lambda tx: tx.conn.execute(select(flow.c.parent_id, flow.c.id)).one())
        step = queue.database.write_sync(lambda tx: tx.conn.execute(select(run_step.c.flow_id)).scalar_one())
        assert (stored.parent_id, stored.id) == (run_id, step)
        awaits = (await queue.run(run_id)).run.awaits
        assert awaits == {"kind": "runs", "name": "runs", "runs": [2, 3], "count": 2}


async def test_a_test_gives_what_runs_returned() -> None:
    assert (await run_job(one, {"n": 4}, steps={"double": 7, "double#2": 9})).value == [7, 9]
    assert (await run_job(one, {"n": 4})).outcome is Outcome.SUSPENDED
