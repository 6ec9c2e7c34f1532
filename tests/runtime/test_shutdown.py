"""An orderly stop: running jobs may end, then they are asked to, then they are given back; nothing stays running."""

from pathlib import Path

import pytest

from cronograph.jobs.actions.nodes import drain_node
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from tests.runtime.sample_jobs import KINDS, registry_of
from tests.support.engines import StartEngine
from tests.support.waiting import eventually


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_ends_within_the_drain_time_is_complete(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), drain_timeout=15.0, hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves", timeout=1.0)
    await engine.wait_line(run_id, "begun")
    await engine.engine.drain()
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.SUCCESS, Outcome.SUCCESS)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_leaves_when_the_node_stops_has_succeeded(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), drain_timeout=0.1, hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves")
    await engine.wait_line(run_id, "begun")
    await engine.engine.drain()
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.SUCCESS, Outcome.SUCCESS)
    assert done.lines[-1].fields == {"reason": "shutdown"}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_does_not_leave_is_given_back_to_the_queue(
    start_engine: StartEngine, kind: str, tmp_path: Path
) -> None:
    engine = await start_engine(registry_of(kind), drain_timeout=0.1)
    run_id = await engine.enqueue("ignores", {"until": str(tmp_path / "end")}, retries=0)
    await engine.wait_line(run_id, "begun")
    await engine.engine.drain()
    run = await engine.run(run_id)
    assert (run.state, run.failures, run.attempt) == (RunState.WAITING, 0, 1)
    (execution,) = await engine.executions(run_id)
    assert (execution.outcome, execution.success) == (Outcome.HANDED_BACK, False)
    assert execution.error_message == "its node shut down before the job ended"
    (tmp_path / "end").touch()
    await eventually(lambda: engine.engine.running == 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_raises_when_the_node_stops_is_given_back(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), drain_timeout=0.1, hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves", {"error": "half done"})
    await engine.wait_line(run_id, "begun")
    await engine.engine.drain()
    (execution,) = await engine.executions(run_id)
    assert (execution.outcome, (await engine.run(run_id)).state) == (Outcome.HANDED_BACK, RunState.WAITING)
    assert execution.error_message == "its node shut down and the job left with half done"


async def test_a_node_that_is_asked_to_drain_obeys_before_its_next_heartbeat(start_engine: StartEngine) -> None:
    engine = await start_engine(registry_of("async"), heartbeat=3600.0, lease=7200.0)
    await engine.database.write(drain_node, "test-node")
    await eventually(lambda: not engine.engine.ready, message="the node to drain")
    run_id = await engine.enqueue("leaves")
    await engine.engine.stop()
    assert (await engine.run(run_id)).state is RunState.WAITING
