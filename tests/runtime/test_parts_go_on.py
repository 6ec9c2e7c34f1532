"""No part of a node ends silently: each that fails unexpectedly is logged with an id, counted, and goes on."""

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from typing_extensions import override

from cronograph.jobs.actions.nodes import heartbeat
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.turn import turn
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.db.transaction import Tx
from tests.support.engines import QUICK, RunningEngine
from tests.support.waiting import eventually

P = ParamSpec("P")
T = TypeVar("T")


class Surprising(Database):
    """A real database; the first use of it by each part of a node raises what nobody expects."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.surprised: list[str] = []
        self.surprises = False

    def _surprise(self, function: Callable[..., Any]) -> None:
        task = asyncio.current_task()
        name = "" if task is None else task.get_name().removeprefix("cronograph-")
        part = "worker" if function is turn else name
        if self.surprises and part in EXPECTED and part not in self.surprised:
            self.surprised.append(part)
            raise RuntimeError(f"{part} did not expect this")

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._surprise(function)
        return await super().write(function, *args, **kwargs)

    @override
    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._surprise(function)
        return await super().read(function, *args, **kwargs)

    @override
    def write_sync(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if function is heartbeat and "heartbeat" not in self.surprised:
            self.surprised.append("heartbeat")
            raise RuntimeError("heartbeat did not expect this")
        return super().write_sync(function, *args, **kwargs)


EXPECTED = frozenset({"dispatcher", "releaser", "expire", "count hours", "keep depth", "log-writer", "progress-writer"})


def registry() -> Registry:
    jobs = Registry()

    async def work() -> None:
        logging.getLogger("job").warning("at work")

    jobs.add(define("work", work))
    return jobs


@pytest.mark.costly
async def test_each_part_of_a_node_that_fails_once_is_counted_and_goes_on(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    database, reader = Surprising(database_url), Database(database_url)
    database.surprises = True
    services = Services(database)
    engine = Engine(services, registry(), QUICK)
    await engine.start()
    running = RunningEngine(engine, database, reader)
    try:
        done = await running.finished(await running.enqueue("work"))
        assert done.run.state is RunState.SUCCESS
        wanted = {"dispatcher", "releaser", "expire", "count hours", "keep depth", "heartbeat"}
        await eventually(lambda: wanted <= services.counts.faults.keys(), message=f"{wanted} to fail")
        assert services.counts.faults == dict.fromkeys(database.surprised, 1)
        told = {record.getMessage() for record in caplog.records if record.exc_info}
        for part in database.surprised:
            assert any(re.search(rf"{part}.* failed.*\(id [0-9A-F]{{8}}\): {part} did not", one) for one in told), part
        # All of them go on; on SQLite there is nobody to listen to.
        assert {one.name for one in engine.services if one.is_over} <= {"wakeup"}
        await eventually(lambda: engine.ready, message="the node to be ready")
    finally:
        await engine.stop()
        await database.close()
        await reader.close()
