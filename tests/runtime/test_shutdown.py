"""An orderly stop: running jobs may end, then they are asked to, then they are given back; nothing stays running."""

import asyncio
from pathlib import Path

import pytest

from cronograph.jobs.actions.nodes import drain_node, resume_node
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.base.errors import InvalidState
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.states import RunState
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.statements import nodes
from tests.runtime.sample_jobs import KINDS, registry_of
from tests.support.engines import QUICK, StartEngine
from tests.support.waiting import eventually


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_ends_within_the_drain_time_is_complete(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), drain_timeout=15.0, hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves", timeout=1.0)
    await engine.wait_line(run_id, "begun")
    await engine.engine.drain()
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.SUCCESS, Outcome.SUCCESS)


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_leaves_when_the_node_stops_has_succeeded(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), drain_timeout=0.1, hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves")
    await engine.wait_line(run_id, "begun")
    await engine.engine.drain()
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.SUCCESS, Outcome.SUCCESS)
    assert done.lines[-1].fields == {"reason": "shutdown"}


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_does_not_leave_is_given_back_to_the_queue(
    tmp_path: Path, start_engine: StartEngine, kind: str
) -> None:
    # The folder is asked for first, so it outlives the event loop: the job looks for the file until it has seen it.
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


@pytest.mark.costly
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


async def test_a_stop_while_somebody_drains_the_node_lets_running_jobs_end(start_engine: StartEngine) -> None:
    engine = await start_engine(registry_of("async"), drain_timeout=30.0, hard_stop_grace=15.0)
    run_id = await engine.enqueue("leaves", timeout=1.0)
    await engine.wait_line(run_id, "begun")
    await engine.database.write(drain_node, "test-node")
    await eventually(lambda: not engine.engine.ready, message="the node to drain")
    await asyncio.gather(engine.engine.drain(), engine.engine.drain(), engine.engine.stop())
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.SUCCESS, Outcome.SUCCESS)


async def test_a_drained_node_says_so_once_nothing_runs_any_more_and_then_it_cannot_be_taken_back(
    database_url: str,
) -> None:
    drained = asyncio.Event()
    database = Database(database_url)
    engine = Engine(Services(database), registry_of("async"), QUICK, on_drained=drained.set)
    await engine.start()
    try:
        await database.write(drain_node, "test-node")
        await eventually(drained.is_set, message="the node to have drained")
        with pytest.raises(InvalidState, match="is stopping and ends"):
            await database.write(resume_node, "test-node")
    finally:
        await engine.stop()
        await database.close()


async def test_what_outlasts_the_drain_time_of_a_request_is_handed_back(start_engine: StartEngine) -> None:
    engine = await start_engine(registry_of("async"), drain_timeout=0.1)
    run_id = await engine.enqueue("cleans_up")
    await engine.wait_line(run_id, "begun")
    await engine.database.write(drain_node, "test-node")

    async def stops() -> bool:
        return [node.state for node in await engine.database.read(nodes.live)] == [NodeState.STOPPING]

    await eventually(stops, message="the drain time to be up")
    assert (await engine.run(run_id)).state is RunState.RUNNING
    await engine.engine.stop()
    assert (await engine.run(run_id)).state is RunState.WAITING


async def test_a_drain_that_is_taken_back_leaves_a_node_that_takes_runs(start_engine: StartEngine) -> None:
    engine = await start_engine(registry_of("async"), drain_timeout=0.0)
    running = await engine.enqueue("leaves", timeout=60.0)
    await engine.wait_line(running, "begun")
    for _ in range(2):
        await engine.database.write(drain_node, "test-node")
        await eventually(lambda: not engine.engine.ready, message="the node to drain")
        waiting = await engine.enqueue("ends", {"how": "a number"})
        await engine.database.write(resume_node, "test-node")
        assert (await engine.run_until_finished(waiting)).state is RunState.SUCCESS
    assert engine.engine.ready
    await engine.cancel_elsewhere(running)
    await engine.run_until_finished(running)


async def test_a_drain_taken_back_before_the_node_heard_of_it_leaves_a_node_that_takes_runs(
    start_engine: StartEngine,
) -> None:
    engine = await start_engine(registry_of("async"), heartbeat=0.2, lease=60.0, poll=0.05)
    for _ in range(5):
        # In one transaction: a heartbeat in between would let the node begin to end.
        engine.database.write_sync(lambda tx: (drain_node(tx, "test-node"), resume_node(tx, "test-node")))
        run_id = await engine.enqueue("ends", {"how": "a number"})
        assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS
