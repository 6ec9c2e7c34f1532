"""A run that was taken from its node while it executed: what the node knows of it is refused, and the log says so."""

import asyncio

import pytest

from cronograph.jobs import JobContext
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.losses import disown
from cronograph.jobs.registry import Registry, define
from tests.support.engines import StartEngine
from tests.support.waiting import eventually


async def test_the_late_result_and_checkpoint_of_a_run_that_was_taken_away_are_refused(
    start_engine: StartEngine, caplog: pytest.LogCaptureFixture
) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    reached: list[int] = []

    async def gated(ctx: JobContext) -> int:
        reached.append(ctx.attempt)
        await gates[ctx.attempt - 1].wait()
        await ctx.save_checkpoint(ctx.attempt)
        return ctx.attempt

    registry = Registry()
    registry.add(define("gated", gated))
    engine = await start_engine(registry)
    run_id = await engine.enqueue("gated", retries=1)
    await eventually(lambda: reached == [1])
    (first,) = await engine.executions(run_id)
    assert first.node_id is not None
    assert await engine.database.write(disown, first.node_id, "test-node", []) == 1
    await eventually(lambda: reached == [1, 2], message="a second attempt")

    gates[0].set()
    refused = f"the result of run {run_id}, attempt 1, was refused: the run had been taken from this node"
    await eventually(lambda: refused in caplog.messages, message="the late result to be refused")
    assert f"a checkpoint of run {run_id} was refused: the run had been taken from this node" in caplog.messages
    assert (await engine.run(run_id)).state is RunState.RUNNING

    gates[1].set()
    done = await engine.finished(run_id)
    assert [one.outcome for one in done.executions] == [Outcome.LOST, Outcome.SUCCESS]
    assert done.execution.records_processed == 2
