"""A job that keeps the event loop of the jobs from turning: the API goes on, and names it."""

import logging
import re
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from cronograph.graphql.resolving.context import Context
from cronograph.graphql.schema import shared_schema
from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.live.feeds import LiveFeeds
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.statements import runs
from cronograph.server.process.engine_thread import EngineThread
from tests.support.waiting import eventually

SETTINGS = EngineSettings(node_name="test-node", slots=5, drain_timeout=5.0, hard_stop_grace=0.2, poll=0.5)

QUESTION = """query ($blocking: ID!, $waiting: ID!) {
  blocking: run(id: $blocking) { explain { code sentence details run { id } } }
  waiting: run(id: $waiting) { explain { code sentence run { id } } }
  nodes { nodes { state stall blockage { beganAt runId jobName stack } } }
}"""


class Blocker:
    """A job that blocks until the test lets it go."""

    def __init__(self) -> None:
        self.free = threading.Event()

    async def hold_everything_up(self) -> None:
        self.free.wait()


@pytest.fixture
def blocker() -> Iterator[Blocker]:
    blocker = Blocker()
    yield blocker
    blocker.free.set()


class Node:
    """A node with an API beside it, as a server has it."""

    def __init__(self, url: str, blocker: Blocker, settings: EngineSettings = SETTINGS) -> None:
        registry = Registry()
        registry.add(define("block", blocker.hold_everything_up))
        self.of_engine = Database(url)
        self.database = self.of_engine.separate_pool("api")
        self.wakeup = Wakeup(self.database)
        self.feeds = LiveFeeds(self.database, self.wakeup, poll=3600)
        services = Services(self.of_engine)
        self.engine = EngineThread(
            services, registry, settings, self.wakeup, api_database=self.database, on_drained=lambda: None
        )
        self.schema = shared_schema()

    async def start(self) -> None:
        self.wakeup.start()
        self.feeds.start()
        await self.engine.start()

    async def stop(self) -> None:
        for step in (self.engine.stop, self.feeds.end, self.feeds.stop, self.wakeup.stop):
            await step()
        await self.database.close()
        await self.of_engine.close()

    async def enqueue(self) -> str:
        (run,) = await self.database.write(put, [NewRun("block", Trigger.API, retries=0)])
        return str(run.run.id)

    async def ask(self, blocking: str, waiting: str) -> dict[str, dict[str, Any]]:
        """Return what the API says of two runs and the node."""
        context = Context(self.database, self.feeds.bus, self.feeds.log_feed)
        variables = {"blocking": blocking, "waiting": waiting}
        result = await self.schema.execute(QUESTION, variable_values=variables, context_value=context)
        assert result.errors is None
        found: dict[str, Any] = result.data or {}
        return {
            "blocking": found["blocking"]["explain"],
            "waiting": found["waiting"]["explain"],
            "node": found["nodes"]["nodes"][0],
        }


@pytest.fixture
async def node(database_url: str, blocker: Blocker) -> AsyncIterator[Node]:
    node = Node(database_url, blocker)
    await node.start()
    yield node
    blocker.free.set()
    await node.stop()


@pytest.mark.costly
async def test_the_run_that_blocks_the_loop_is_named_in_the_log_in_explain_and_with_the_node(
    node: Node, blocker: Blocker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    blocking = await node.enqueue()
    await eventually(lambda: node.engine.running == 1)
    waiting = await node.enqueue()

    async def named() -> dict[str, dict[str, Any]] | None:
        found = await node.ask(blocking, waiting)
        # The questions of one document are answered from several snapshots.
        everywhere = found["node"]["blockage"] is not None and found["blocking"]["code"] == "BLOCKS_LOOP"
        return found if everywhere and found["waiting"]["code"] == "LOOP_BLOCKED" else None

    found = await eventually(named)
    assert found is not None
    blockage = found["node"]["blockage"]
    assert (blockage["runId"], blockage["jobName"]) == (blocking, "block")
    assert any("hold_everything_up" in place for place in blockage["stack"])
    assert "has kept the event loop of node test-node from turning" in str(found["blocking"]["sentence"])
    assert found["waiting"]["run"] == {"id": blocking}
    blocker.free.set()

    async def turns() -> bool:
        return (await node.ask(blocking, waiting))["node"]["blockage"] is None

    await eventually(turns)
    # A busy machine may have kept the loop from turning before.
    said = [one.getMessage() for one in caplog.records if one.name.endswith("loop_watch")]
    first = next(message for message in said if f"by run {blocking} (job 'block'), at " in message)
    assert re.search(r"the event loop of the jobs does not turn: \d+\.\d", first)
    assert "plain function" in first
    assert "hold_everything_up" in first
    await eventually(lambda: any("turns again after" in one.getMessage() for one in caplog.records))


@pytest.mark.costly
async def test_a_loop_that_is_blocked_for_longer_than_the_lease_makes_a_node_stalled_which_keeps_its_runs(
    database_url: str, blocker: Blocker
) -> None:
    node = Node(database_url, blocker, replace(SETTINGS, heartbeat=0.1, lease=3.0))
    await node.start()
    try:
        await stalls_and_goes_on(node, blocker)
    finally:
        blocker.free.set()
        await node.stop()


async def stalls_and_goes_on(node: Node, blocker: Blocker) -> None:
    blocking = await node.enqueue()
    await eventually(lambda: node.engine.running == 1)
    waiting = await node.enqueue()

    async def is_stalled() -> bool:
        found = (await node.ask(blocking, waiting))["node"]
        return found["state"] == "STALLED" and found["blockage"] is not None and not node.engine.ready

    async def is_active() -> bool:
        return (await node.ask(blocking, waiting))["node"]["state"] == "ACTIVE" and node.engine.ready

    await eventually(is_stalled)
    found = await node.ask(blocking, waiting)
    assert found["node"]["stall"] == "event loop"
    assert (found["blocking"]["code"], found["waiting"]["code"]) == ("BLOCKS_LOOP", "LOOP_BLOCKED")
    blocker.free.set()
    await eventually(is_active)
    # Nobody has taken its run away.
    assert (await node.database.read(runs.by_ids, [int(blocking)]))[int(blocking)].attempt == 1
