"""A whole engine in the test's own event loop: a registry of the test's jobs, a real database, short waits."""

import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from cronograph.jobs.accounts.actions.secrets import set_secret
from cronograph.jobs.accounts.rules.secrets import KeyRing, no_keys
from cronograph.jobs.actions.runs import enqueue_runs, put
from cronograph.jobs.actions.tasks import create_task, trigger_task
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import Execution, NewRun, Run, TaskSpec, Trigger
from cronograph.jobs.core.states import FINAL, RunState
from cronograph.jobs.queue.cancel import cancel_all
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings, StartLauncher
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import job_execution, periodic_task
from cronograph.jobs.store.statements import logs, runs
from cronograph.jobs.store.statements.executions import execution_from
from cronograph.jobs.store.statements.logs import LogLine
from tests.support.forking import Nursery, Running
from tests.support.waiting import eventually

STANDARD_ERROR = 2

QUICK = EngineSettings(node_name="test-node", slots=5, drain_timeout=5.0, hard_stop_grace=0.2, poll=0.5)
"""A node whose patience is short, so that tests need little of it."""


class RunningEngine:
    """An engine at work, and short ways to give it runs and to see what became of them.

    Args:
        engine: The engine.
        database: Through which it goes.
        reader: Through which the test looks; the same unless given. A node that is fenced off ends the connections of
            its own, and anyone who reads through one at that moment hears so.
    """

    def __init__(self, engine: Engine, database: Database, reader: Database | None = None) -> None:
        self.engine = engine
        self.database = database
        self.reader = reader or database

    async def enqueue(self, job_name: str, args: Mapping[str, Any] | None = None, **changes: Any) -> int:
        """Put a run into the queue; its id. No retries unless told otherwise."""
        new = replace(NewRun(job_name, Trigger.API, args=dict(args or {}), retries=0, retry_delay=0.0), **changes)
        (enqueued,) = await self.database.write(enqueue_runs, [new])
        return enqueued.run.id

    async def enqueue_unchecked(self, job_name: str, args: Mapping[str, Any], **changes: Any) -> int:
        """Put a run into the queue without judging its arguments, as `enqueue` in a transaction of the user's does."""
        new = replace(NewRun(job_name, Trigger.API, args=dict(args), retries=0, retry_delay=0.0), **changes)
        (enqueued,) = await self.database.write(put, [new])
        return enqueued.run.id

    async def set_secret(self, name: str, value: str, keys: KeyRing) -> None:
        """Keep a secret."""
        await self.database.write(set_secret, name, value, keys)

    async def has_ended(self, run_id: int) -> bool:
        """Return whether the newest attempt of the run has ended."""
        executions = await self.executions(run_id)
        return bool(executions) and executions[-1].completed_at is not None

    async def wait_end(self, run_id: int) -> None:
        """Wait until the newest attempt of the run has ended."""
        await eventually(lambda: self.has_ended(run_id), message=f"an attempt of run {run_id} to end")

    async def run(self, run_id: int) -> Run:
        """The run as it is stored now."""
        return (await self.reader.read(runs.by_ids, [run_id]))[run_id]

    async def run_until(self, run_id: int, *states: RunState) -> Run:
        """Wait until the run is in one of these states."""

        async def reached() -> Run | None:
            run = await self.run(run_id)
            return run if run.state in states else None

        found = await eventually(reached, message=f"run {run_id} to become {' or '.join(states)}")
        assert found is not None
        return found

    async def run_until_finished(self, run_id: int) -> Run:
        """Wait until the run is in a final state."""
        return await self.run_until(run_id, *FINAL)

    async def finish(self, job_name: str, args: Mapping[str, Any] | None = None, **changes: Any) -> "Finished":
        """Enqueue, wait for the end, and read all that was stored about it."""
        run_id = await self.enqueue(job_name, args, **changes)
        return await self.finished(run_id)

    async def finished(self, run_id: int) -> "Finished":
        """Wait for the end of a run and read all that was stored about it."""
        run = await self.run_until_finished(run_id)
        executions = await self.executions(run_id)
        return Finished(run, executions, await self.lines(executions[-1].id) if executions else [])

    async def executions(self, run_id: int) -> list[Execution]:
        """The executions of a run, in order."""
        return await self.reader.read(_executions, run_id)

    async def lines(self, execution_id: int, after: int = 0, limit: int = 100_000) -> list[LogLine]:
        """The stored log lines of an execution."""
        return await self.reader.read(logs.after, execution_id, after, limit)

    async def has_line(self, run_id: int, message: str) -> bool:
        """Return whether the newest execution of the run has written this line."""
        executions = await self.executions(run_id)
        return bool(executions) and any(line.message == message for line in await self.lines(executions[-1].id))

    async def wait_line(self, run_id: int, message: str) -> None:
        """Wait until the newest execution of the run has written this line."""
        await eventually(lambda: self.has_line(run_id, message), message=f"run {run_id} to write {message!r}")

    async def cancel_elsewhere(self, run_id: int, reason: str = "enough") -> Run:
        """Cancel a run through a connection of its own, of which this node hears nothing but what it finds stored."""
        (run,) = self.database.write_sync(cancel_all, [run_id], reason=reason)
        return run

    async def trigger_new_task(self, spec: TaskSpec) -> int:
        """Make a task and trigger it by hand; the run's id."""
        await self.database.write(create_task, spec, submitter="tester")
        return await self.trigger(spec.name)

    async def trigger(self, task_name: str) -> int:
        """Trigger a task by hand; the run's id."""
        return (await self.database.write(trigger_task, task_name, args=None, actor="tester")).id

    async def checkpoint(self, task_name: str) -> Any:
        """The stored checkpoint of a task."""
        return await self.reader.read(_checkpoint, task_name)

    def unstoppable(self) -> frozenset[int]:
        """The runs of threads that cannot be stopped."""
        return self.engine.unstoppable


class Finished:
    """What is stored about a finished run."""

    def __init__(self, run: Run, executions: list[Execution], lines: list[LogLine]) -> None:
        self.run = run
        self.executions = executions
        self.execution = executions[-1]
        self.lines = lines

    @property
    def messages(self) -> list[str]:
        """The messages of the last execution's lines."""
        return [line.message for line in self.lines]


def _executions(conn: Connection, run_id: int) -> list[Execution]:
    statement = select(job_execution).where(job_execution.c.run_id == run_id).order_by(job_execution.c.attempt)
    return [execution_from(row) for row in conn.execute(statement)]


def _checkpoint(conn: Connection, task_name: str) -> Any:
    return conn.execute(select(periodic_task.c.checkpoint).where(periodic_task.c.name == task_name)).scalar_one()


@asynccontextmanager
async def running_engine(
    url: str,
    registry: Registry,
    settings: EngineSettings = QUICK,
    keys: KeyRing | None = None,
    clock: Callable[[], datetime] | None = None,
) -> AsyncGenerator[RunningEngine]:
    """Start an engine on a migrated database, and stop it afterwards."""
    database = Database(url, clock=clock)
    services = Services(database, keys=no_keys if keys is None else lambda: keys, public_url="https://cronograph.test/")
    engine = Engine(services, registry, settings)
    try:
        await engine.start()
        yield RunningEngine(engine, database)
    finally:
        await engine.stop()
        await database.close()


StartEngine = Callable[..., Awaitable[RunningEngine]]


@pytest.fixture(scope="session")
def launch() -> Iterator[StartLauncher]:
    """Starts launchers as forks of one process of this session: in earnest each imports for 0.6 s of a processor."""
    nursery = Nursery("launchers")

    def start(control: socket.socket) -> Running:
        return nursery.start(["launcher"], Path.cwd(), os.environ, STANDARD_ERROR, control.fileno())

    yield start
    nursery.close()


@pytest.fixture
async def start_engine(database_url: str, launch: StartLauncher) -> AsyncIterator[StartEngine]:
    """Starts engines on a fresh database (the test runs on SQLite and on PostgreSQL); all are stopped at the end."""
    async with AsyncExitStack() as stack:

        async def start(
            registry: Registry, settings: EngineSettings = QUICK, keys: KeyRing | None = None, **changes: Any
        ) -> RunningEngine:
            chosen = replace(settings, **{"launch": launch, **changes})
            return await stack.enter_async_context(running_engine(database_url, registry, chosen, keys))

        yield start
