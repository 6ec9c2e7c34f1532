"""The engine in an event loop and a thread of its own: a job that blocks that loop does not block the API."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping

from ...jobs.base.services import Services
from ...jobs.core.model import Isolation
from ...jobs.core.nodes import Node
from ...jobs.registry import Registry
from ...jobs.runtime.base.settings import Clock, EngineSettings
from ...jobs.runtime.base.wakeup import Wakeup
from ...jobs.runtime.engine import Engine
from ...jobs.runtime.job_loop import LoopEndedError, LoopThread
from ...jobs.runtime.loop_watch import BlockageWriter, LoopWatch
from ...jobs.runtime.node import leave_broken
from ...jobs.store.db.database import Database

log = logging.getLogger(__name__)

THREAD = "cronograph-engine"

CLOSE_SECONDS = 5.0
"""Seconds in which the rest in the engine's loop has to end after its stop."""

OF_JOBS = "the event loop of the jobs"
JOBS_ADVICE = (
    "Other async jobs stand still meanwhile, and nothing new starts on this node. Write a job that computes or waits "
    "without await as a plain function (it gets a thread of its own) or as a process job."
)
OF_API = "the event loop of the API"
API_ADVICE = "Requests and subscribers wait meanwhile; jobs do not."


class EngineThread:
    """One engine; its methods are called from the event loop of the API, its properties from any thread.

    While it works, each of the two event loops is watched for code that blocks it.

    Args:
        services: The database (migrated before ``start``) and the API for jobs.
        registry: The jobs this node can run.
        settings: How the node works.
        wakeup: Notifies of commits.
        api_database: The database as it is used while the engine's loop is blocked.
        on_drained: See ``Engine``; called in the engine's thread.
        clock: See ``Engine``.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        settings: EngineSettings,
        wakeup: Wakeup,
        *,
        api_database: Database,
        on_drained: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        settings.check()

        def make() -> Engine:
            return Engine(services, registry, settings, on_drained=on_drained, wakeup=wakeup, clock=clock)

        self._make = make
        self.left_behind: list[str] = []
        self._engine: Engine | None = None
        self._thread = LoopThread(THREAD, on_end=self._has_ended)
        self._own_loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._api_database = api_database
        self._blockages = BlockageWriter(api_database, lambda: self.node)
        self._watches = (
            LoopWatch(OF_JOBS, JOBS_ADVICE, on_blocked=self._blockages.blocked, on_free=self._blockages.free),
            LoopWatch(OF_API, API_ADVICE),
        )

    @property
    def ready(self) -> bool:
        """Return whether the engine has recovered the runs of a dead process, and takes new ones."""
        return self.fault is None and self._engine is not None and self._engine.ready

    @property
    def fault(self) -> str | None:
        """Return why the event loop of the jobs has ended, if nobody asked it to: nothing runs here any more."""
        return None if self._thread.fault is None else str(self._thread.fault)

    async def ended(self) -> None:
        """Wait until the event loop of the jobs has ended although nobody asked it to; see ``fault``."""
        await self._ended.wait()

    @property
    def node(self) -> Node | None:
        """The node, once it is registered."""
        return self._engine.node if self._engine is not None else None

    @property
    def node_name(self) -> str | None:
        """The node's name, once it is registered."""
        return None if self.node is None else self.node.name

    @property
    def running(self) -> int:
        """Return how many runs execute now."""
        return self._engine.running if self._engine is not None else 0

    @property
    def slots(self) -> Mapping[Isolation, tuple[int, int]]:
        """For each kind of job how many runs of it execute, and how many may."""
        return self._engine.slots if self._engine is not None else {}

    @property
    def lag(self) -> Mapping[str, float]:
        """Return how late the event loops of the jobs and of the API were at the last look, in seconds."""
        of_jobs, of_api = self._watches
        return {"jobs": of_jobs.lag, "api": of_api.lag}

    async def start(self) -> None:
        """Start the thread, and in it the engine. Once only."""
        self._thread.start()
        self._blockages.start()
        of_jobs, of_api = self._watches
        of_jobs.start(self._thread.loop, self._thread.identity)
        of_api.start(asyncio.get_running_loop(), threading.get_ident())

        async def begin() -> None:
            self._engine = self._make()
            await self._engine.start()

        await self._thread.run(begin)

    async def drain(self) -> None:
        """Let running jobs end, see ``Engine.drain``; nothing happens before the start."""
        if self._engine is not None:
            with contextlib.suppress(LoopEndedError):
                await self._thread.run(self._engine.drain)

    async def stop(self) -> None:
        """Stop the engine, see ``Engine.stop``, and end its thread; nothing happens before the start."""
        if self._engine is not None:
            try:
                await self._thread.run(self._engine.stop)
            except LoopEndedError as fault:
                await self._leave_at_once(self._engine, fault)
        for watch in self._watches:
            watch.stop()
        await self._blockages.stop()
        await self._thread.close(CLOSE_SECONDS)
        self.left_behind = self._thread.unfinished()

    async def _leave_at_once(self, engine: Engine, fault: LoopEndedError) -> None:
        """Give the node's runs to others, or to the next start: the loop has ended, and with it the node."""
        engine.stop_beating()
        if engine.node is not None:
            await leave_broken(self._api_database, engine.node, str(fault))

    def _has_ended(self, fault: LoopEndedError) -> None:
        """Log the end of the loop; called in the engine's thread as the last thing there."""
        executing = [] if self._engine is None else self._engine.executing
        runs = ", ".join(f"run {run.id} (job '{run.job_name}')" for run in executing) or "no run"
        log.critical("%s; at that time it executed %s. The process ends", fault, runs, exc_info=fault.__cause__)
        self._watches[0].stop()
        self._own_loop.call_soon_threadsafe(self._ended.set)
