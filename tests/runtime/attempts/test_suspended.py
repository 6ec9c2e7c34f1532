"""A job that is suspended gives back its slot, and begins again at its first line once it is woken."""

import asyncio
import contextlib
from typing import Any

import pytest

from cronograph.jobs import JobContext, Result
from cronograph.jobs.base.outcomes import Suspend
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.base.changes import wake
from cronograph.jobs.registry import Registry
from tests.runtime.sample_jobs import KINDS, of_kind
from tests.support.engines import StartEngine

SIGNAL = Awaits(AwaitedKind.SIGNAL, "go")


def waits(ctx: JobContext, seconds: float | None = None) -> Result:
    """Be suspended once, also where everything is caught on the way."""
    with contextlib.suppress(Exception):
        if ctx.attempt == 1:
            raise Suspend(SIGNAL, seconds=seconds)
    return Result(value=ctx.attempt)


async def waits_async(ctx: JobContext, seconds: float | None = None) -> Result:
    async def waits_within() -> Result:
        return waits(ctx, seconds)

    (result,) = await asyncio.gather(waits_within())
    return result


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_the_only_slot_is_free_while_a_run_is_suspended(start_engine: StartEngine, kind: str) -> None:
    registry = Registry()
    registry.add(of_kind(kind, waits, waits_async))
    engine = await start_engine(registry, slots=1)
    first = await engine.enqueue("waits")
    await engine.run_until(first, RunState.SUSPENDED)
    second = await engine.finish("waits", {"seconds": 0.01})
    assert (second.run.state, second.run.result, second.run.failures) == (RunState.SUCCESS, 2, 0)
    assert [one.outcome for one in second.executions] == [Outcome.SUSPENDED, Outcome.SUCCESS]
    assert (await engine.run(first)).state is RunState.SUSPENDED
    await engine.database.write(wake, [first])
    woken = await engine.finished(first)
    assert (woken.run.state, woken.run.result) == (RunState.SUCCESS, 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"seconds": -1}, "seconds must be from 0 to"),
        ({"seconds": float("nan")}, "seconds must be from 0 to"),
        ({}, "needs seconds or until"),
    ],
)
def test_a_suspension_that_could_not_be_kept_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Suspend(Awaits(AwaitedKind.TIME, "cool down"), **arguments)
