"""A node that cannot reach its database ends what it runs before another node may begin it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cronograph.jobs.core.explain import explain_run
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.nodes import Node, NodeState
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.runtime.base.settings import StartLauncher
from cronograph.jobs.store.db.address import parse_url
from cronograph.jobs.store.db.database import Database, sync_engine
from cronograph.jobs.store.statements import facts, nodes
from tests.chaos.proxy import Proxy
from tests.runtime.witness_jobs import registry, steps
from tests.support.engines import QUICK, RunningEngine, running_engine
from tests.support.waiting import eventually

pytestmark = pytest.mark.postgres

LEASED = replace(QUICK, heartbeat=1.0, lease=8.0, hard_stop_grace=300.0)
"""A lease that a busy machine keeps, and more patience with jobs than it leaves."""


@pytest.fixture
def line(postgres_url: str) -> Iterator[Proxy]:
    with Proxy(postgres_url) as proxy:
        yield proxy
        proxy.let_go()


@pytest.fixture
async def engine(line: Proxy, postgres_url: str, launch: StartLauncher) -> AsyncIterator[RunningEngine]:
    past = Database(postgres_url)
    async with running_engine(line.url, registry(), replace(LEASED, launch=launch)) as running:
        running.reader = past
        yield running
        line.let_go()
    await past.close()


async def begun(engine: RunningEngine, job: str, witness: Path, **args: str) -> int:
    """A run of the job that is at work."""
    run_id = await engine.enqueue(job, {"witness": str(witness), **args}, retries=5)
    await eventually(lambda: steps(str(witness)), message=f"{job} to begin")
    return run_id


def first_life(url: str) -> Node:
    """The first life of the node, read past the line."""
    engine = sync_engine(parse_url(url))
    with engine.connect() as conn:
        (found,) = nodes.by_ids(conn, [1]).values()
    engine.dispose()
    return found


async def cut_off(engine: RunningEngine, line: Proxy, witness: Path) -> None:
    """Let nothing pass until the node has ended what it could."""
    line.hold()
    await eventually(lambda: not engine.engine.ready)
    count = 0

    def is_quiet() -> bool:
        nonlocal count
        before, count = count, len(steps(str(witness)))
        return before == count

    await eventually(is_quiet, within=30, interval=0.5, message="the job to be stopped")


@pytest.mark.costly
@pytest.mark.parametrize("job", ["goes_on", "goes_on_twice", "asks", "ignores_terminate"])
async def test_nothing_that_can_be_stopped_acts_after_the_lease(
    engine: RunningEngine, line: Proxy, postgres_url: str, tmp_path: Path, job: str
) -> None:
    await begun(engine, job, tmp_path / "witness")
    await cut_off(engine, line, tmp_path / "witness")
    assert steps(str(tmp_path / "witness"))[-1] < first_life(postgres_url).expires_at.timestamp()


@pytest.mark.costly
async def test_a_node_that_drains_while_it_is_cut_off_ends_its_jobs_in_time_too(
    engine: RunningEngine, line: Proxy, postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await begun(engine, "goes_on", tmp_path / "witness")
    line.hold()
    draining = asyncio.create_task(engine.engine.drain())
    await cut_off(engine, line, tmp_path / "witness")
    assert steps(str(tmp_path / "witness"))[-1] < first_life(postgres_url).expires_at.timestamp()
    line.let_go()
    await draining
    assert "node test-node stops while its database is unavailable: " in caplog.text
    await engine.engine.stop()
    assert first_life(postgres_url).state is NodeState.STOPPED


@pytest.mark.costly
async def test_a_thread_that_cannot_be_stopped_is_named_and_the_run_that_follows_says_so(
    engine: RunningEngine, line: Proxy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = await begun(engine, "never_asks", tmp_path / "witness", until=str(tmp_path / "end"))
    line.hold()
    named = f"node test-node cannot stop run {run_id} (job 'never_asks', attempt 1): its thread goes on"
    await eventually(lambda: any(one.startswith(named) for one in caplog.messages))
    line.let_go()
    await engine.run_until(run_id, RunState.RUNNING)
    await eventually(lambda: has_begun_again(engine, run_id))
    run = await engine.run(run_id)
    known = await engine.reader.read(lambda conn: facts.of_runs(conn, [run], run.submitted_at))
    details = explain_run(run, known[run_id], run.submitted_at).details
    assert details[-1].startswith("Attempt 1 could not be stopped when node test-node was cut off: its code goes on")
    first, *_ = await engine.executions(run_id)
    assert (first.outcome, first.error_type) == (Outcome.LOST, "LeftBehind")
    assert str(first.error_message).endswith("; its code could not be stopped and went on")
    (tmp_path / "end").touch()


async def has_begun_again(engine: RunningEngine, run_id: int) -> bool:
    """Return whether the run is at a further attempt."""
    return (await engine.run(run_id)).attempt > 1


@pytest.mark.costly
async def test_a_node_that_was_cut_off_joins_again_without_a_traceback(
    engine: RunningEngine, line: Proxy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = await begun(engine, "goes_on", tmp_path / "witness")
    await cut_off(engine, line, tmp_path / "witness")
    line.let_go()
    await eventually(lambda: engine.engine.ready, message="the node to be back")
    await eventually(lambda: has_begun_again(engine, run_id))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert [one for one in caplog.messages if "query cancellation" in one or "not terminated" in one] == []


@pytest.mark.costly
async def test_a_node_that_was_declared_dead_gives_its_jobs_no_time(
    engine: RunningEngine, postgres_url: str, tmp_path: Path
) -> None:
    await begun(engine, "goes_on_twice", tmp_path / "witness")
    dead = first_life(postgres_url)
    past = Database(postgres_url)
    await past.write(rescue, dead, reason="the test says so")
    await past.close()
    # With the grace of its settings it would go on for five minutes.
    begun_at = len(steps(str(tmp_path / "witness")))
    await eventually(lambda: engine.engine.node is not None and engine.engine.node.id != dead.id)
    assert begun_at > 0
