"""A job that wants to end the process or the event loop fails like any other; everybody else goes on."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator

import pytest

from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Run, Trigger
from cronograph.jobs.core.states import FINAL, RunState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.store.db.cancellable import CancellableConnection
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.statements import runs as stored_runs
from cronograph.server.process.engine_thread import EngineThread
from tests.server.exiting_jobs import PLAIN, add_exiting_jobs
from tests.support.waiting import eventually

SETTINGS = EngineSettings(node_name="test-node", slots=60, drain_timeout=5.0, hard_stop_grace=0.2, poll=0.5)


ARGS = {"validated": {"number": 1}}


class Bystander:
    """A job that waits, with a task of its own, until it is let go."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def wait(self) -> int:
        self.loop, self.free = asyncio.get_running_loop(), asyncio.Event()
        await asyncio.create_task(self.free.wait())
        return 7

    def let_go(self) -> None:
        """From any thread."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.free.set)


async def nothing() -> None:
    """Do nothing."""


class Node:
    """An engine in a thread of its own, as a server has it."""

    def __init__(self, url: str) -> None:
        registry, self.bystander = Registry(), Bystander()
        self.exiting = add_exiting_jobs(registry)
        registry.add(define("bystander", self.bystander.wait))
        registry.add(define("nothing", nothing))
        self.of_engine = Database(url)
        self.database = self.of_engine.separate_pool("api")
        self.wakeup = Wakeup(self.database)
        self.engine = EngineThread(
            Services(self.of_engine),
            registry,
            SETTINGS,
            self.wakeup,
            api_database=self.database,
            on_drained=lambda: None,
        )

    async def start(self) -> None:
        self.wakeup.start()
        await self.engine.start()

    async def stop(self) -> None:
        await self.engine.stop()
        await self.wakeup.stop()
        await self.database.close()
        await self.of_engine.close()

    async def enqueue(self, *names: str) -> list[int]:
        new = [NewRun(name, Trigger.API, args=ARGS.get(name, {}), retries=0) for name in names]
        return [one.run.id for one in await self.database.write(put, new)]

    async def run(self, run_id: int) -> Run:
        return (await self.database.read(stored_runs.by_ids, [run_id]))[run_id]

    async def finished(self, run_id: int) -> Run:
        async def over() -> Run | None:
            run = await self.run(run_id)
            return run if run.state in FINAL else None

        found = await eventually(over, message=f"run {run_id} of {(await self.run(run_id)).job_name} to end")
        assert found is not None
        return found


@pytest.fixture
async def node(database_url: str) -> AsyncIterator[Node]:
    node = Node(database_url)
    await node.start()
    yield node
    await node.stop()


@pytest.mark.costly
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_whatever_wants_to_end_the_node_ends_its_own_attempt_only(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    (bystander,) = await node.enqueue("bystander")
    await eventually(lambda: node.bystander.loop is not None)
    ended: dict[str, Run] = {}
    for name in node.exiting:
        (run_id,) = await node.enqueue(name)
        ended[name] = await node.finished(run_id)
        assert node.engine.ready
    assert {name: run.error for name, run in ended.items() if run.state is not RunState.FAILED} == {}
    assert all(run.attempt == 1 and run.error for run in ended.values())
    assert (await node.run(bystander)).state is RunState.RUNNING
    node.bystander.let_go()
    assert (await node.finished(bystander)).state is RunState.SUCCESS
    (more,) = await node.enqueue("nothing")
    assert (await node.finished(more)).state is RunState.SUCCESS


@pytest.mark.costly
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_all_of_them_at_once_end_nobody_else_and_leave_nothing_to_complain_of_later(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    (bystander,) = await node.enqueue("bystander")
    await eventually(lambda: node.bystander.loop is not None)
    for run_id in await node.enqueue(*node.exiting, *node.exiting):
        assert (await node.finished(run_id)).state is RunState.FAILED
    node.bystander.let_go()
    assert (await node.finished(bystander)).state is RunState.SUCCESS
    gc.collect()
    assert [one.getMessage() for one in caplog.records if "never retrieved" in one.getMessage()] == []


async def test_an_exit_in_a_task_says_what_was_raised_and_where(node: Node) -> None:
    (run_id,) = await node.enqueue("gather")
    run = await node.finished(run_id)
    assert (run.state, run.error) == (RunState.FAILED, "3")
    assert len(PLAIN) >= 20


@pytest.mark.costly
async def test_a_loop_that_ends_all_the_same_is_named_with_its_runs_which_go_back_to_the_queue(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(database_url)
    await node.start()
    (run_id,) = await node.enqueue("breaks")
    await asyncio.wait_for(node.engine.ended(), 60)
    assert not node.engine.ready
    fault = node.engine.fault or ""
    assert fault.startswith("the event loop of the jobs does not turn any more: OSError (out of order) was raised at ")
    assert fault.endswith(" in breaks")
    said = next(one.getMessage() for one in caplog.records if one.levelno == logging.CRITICAL)
    assert f"it executed run {run_id} (job 'breaks'). The process ends" in said
    await node.engine.drain()
    await node.stop()
    database = Database(database_url)
    run = (await database.read(stored_runs.by_ids, [run_id]))[run_id]
    await database.close()
    assert run.state is RunState.FAILED
    assert (run.error or "").startswith("node test-node ended while it ran this job: the event loop of the jobs")
    close_left_behind()


def close_left_behind() -> None:
    """The loop that broke never closes its connections, and pytest would blame another test for them."""
    for one in gc.get_objects():
        # By its type: a weak proxy whose object has gone would refuse to say what it is an instance of.
        if issubclass(type(one), CancellableConnection):
            one.pgconn.finish()
