"""Cancelling what runs, through another connection than the node's, as another process does it."""

from pathlib import Path

import pytest

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from tests.runtime.sample_jobs import KINDS, registry_of
from tests.support.engines import StartEngine
from tests.support.waiting import eventually


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_returns_when_it_is_cancelled_ends_cancelled(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), slots=1, hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves")
    await engine.wait_line(run_id, "begun")
    assert (await engine.cancel_elsewhere(run_id)).state is RunState.RUNNING
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.CANCELLED, Outcome.CANCELLED)
    assert done.execution.error_message == "cancelled; the job returned"
    assert done.lines[-1].fields == {"reason": "cancel"}
    assert (await engine.finish("ends", {"how": "nothing"})).run.state is RunState.SUCCESS


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_raises_when_it_is_cancelled_ends_cancelled(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves", {"error": "half done"}, retries=3)
    await engine.wait_line(run_id, "begun")
    await engine.cancel_elsewhere(run_id)
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.CANCELLED, Outcome.CANCELLED)
    assert done.execution.error_message == "cancelled; the job left with half done"


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["async", "process", "async in process"])
async def test_a_job_that_does_not_leave_when_it_is_cancelled_is_stopped_hard(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(registry_of(kind), slots=1)
    run_id = await engine.enqueue("cleans_up", retries=3)
    await engine.wait_line(run_id, "begun")
    await engine.cancel_elsewhere(run_id)
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.CANCELLED, Outcome.CANCELLED)
    assert done.execution.error_message == "did not stop when asked to and was stopped hard"
    assert (await engine.finish("ends", {"how": "nothing"})).run.state is RunState.SUCCESS


async def test_a_cancelled_thread_stays_running_until_it_ends_and_then_ends_cancelled(
    start_engine: StartEngine, tmp_path: Path
) -> None:
    engine = await start_engine(registry_of("thread"), slots=1)
    run_id = await engine.enqueue("ignores", {"until": str(tmp_path / "end")})
    await engine.wait_line(run_id, "begun")
    await engine.cancel_elsewhere(run_id)
    await eventually(lambda: set(engine.unstoppable()) == {run_id})
    assert (await engine.run(run_id)).state is RunState.RUNNING
    (tmp_path / "end").touch()
    assert (await engine.run_until_finished(run_id)).state is RunState.CANCELLED
    assert (await engine.finish("ends", {"how": "nothing"})).run.state is RunState.SUCCESS
