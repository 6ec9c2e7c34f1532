"""A whole node as the server uses it: start, readiness, drain, stop."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from ..base.services import Services
from ..core.model import Isolation, Run
from ..core.nodes import Node
from ..queue.base.shapes import HeldRun
from ..registry import Registry
from ..store.db.database import Database
from ..store.db.transaction import Wake
from .base.service import Service
from .base.settings import Clock, EngineSettings
from .base.wakeup import Wakeup
from .duties.figures import Declarer
from .job.lines import keep_lines_of_jobs
from .job.middleware import NodeResources
from .job.ownership import let_threads_belong_to_jobs
from .job.printing import guard_output
from .live.writers import LogWriter, ProgressWriter
from .node import NodeLife, register, take_back

log = logging.getLogger(__name__)


class Engine:
    """Schedules, dispatches and executes, for one process. Made inside a running event loop.

    Args:
        services: The database (migrated already) and the API for jobs.
        registry: The jobs this node can run.
        settings: How the node works.
        on_drained: Called when somebody else asked this node to drain and it has; the owner then stops the engine.
        wakeup: Notifies of commits; its owner starts and stops it. One of its own unless given.
        clock: The clocks of this process; tests give one that they can set.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        settings: EngineSettings,
        *,
        on_drained: Callable[[], None] | None = None,
        wakeup: Wakeup | None = None,
        clock: Clock | None = None,
    ) -> None:
        settings.check()
        registry.check()
        self._services = services
        self._database = services.database
        self._registry = registry
        self._settings = settings
        self._clock = clock or Clock()
        self._on_drained = on_drained
        self._owns_wakeup = wakeup is None
        self._wakeup = wakeup or Wakeup(self._database)
        self._logs = LogWriter(self._database)
        self._progress = ProgressWriter(self._database)
        self._resources = NodeResources(registry.hooks)
        self._life: NodeLife | None = None
        poll = settings.poll_for(is_sqlite=self._database.is_sqlite)
        self._declarer = Declarer(self._database, registry, poll=poll)
        self._keeper = _Keeper(self)
        for service in (self._wakeup, self._logs, self._progress, self._declarer, self._keeper):
            service.on_fault = services.counts.failed
        # Held while a life begins, or is taken back.
        self._beginning = asyncio.Lock()
        self._draining: asyncio.Task[None] | None = None

    @property
    def database(self) -> Database:
        """This node's database."""
        return self._database

    @property
    def services(self) -> tuple[Service, ...]:
        """All parts that run until they are stopped, those of the present life included."""
        life = () if self._life is None else self._life.services
        return self._wakeup, self._logs, self._progress, self._declarer, self._keeper, *life

    @property
    def wakeup(self) -> Wakeup:
        """The hints of commits by any node, for parts of the process to subscribe to."""
        return self._wakeup

    @property
    def node(self) -> Node | None:
        """The node as it was registered, once it is."""
        return self._life.node if self._life else None

    @property
    def node_name(self) -> str | None:
        """The node's name, once it is registered."""
        return self._life.node.name if self._life else None

    @property
    def running(self) -> int:
        """The number of runs that execute now."""
        return self._life.worker.running if self._life else 0

    @property
    def slots(self) -> dict[Isolation, tuple[int, int]]:
        """For each kind of job how many runs of it execute, and how many may; from any thread."""
        return self._life.worker.slots if self._life else {}

    @property
    def executing(self) -> "list[Run | HeldRun]":
        """The runs that execute now; from any thread."""
        return self._life.worker.attempts.executing if self._life else []

    @property
    def unstoppable(self) -> frozenset[int]:
        """The runs of this node whose thread should have ended, but cannot be killed."""
        return self._life.worker.attempts.unstoppable if self._life else frozenset()

    @property
    def ready(self) -> bool:
        """Return whether it takes runs: neither draining nor fenced, its database answers, and all parts get on."""
        life = self._life
        if life is None or self._draining is not None or life.drain_watcher.asked:
            return False
        return not life.fenced.is_set() and life.database_answers and life.stall() is None

    async def start(self) -> None:
        """Join as a node, write declared tasks, rescue the runs of a dead process, and begin. Once only."""
        if self._life is not None:
            return
        if self._settings.thread_logs:
            let_threads_belong_to_jobs()
        guard_output(keeps_prints=self._settings.print_logs)
        keep_lines_of_jobs()
        if self._owns_wakeup:
            self._wakeup.start()
        self._logs.start()
        self._progress.start()
        self._wakeup.subscribe(self._on_wake)
        self._services = replace(self._services, resources=await self._resources.open())
        await self.begin_life()
        if self._draining is None:
            self._keeper.start()

    async def begin_life(self) -> None:
        """Register this process as a (new) node and start its moving parts; cut short, it leaves no live node."""
        async with self._beginning:
            since = self._clock.monotonic()
            joining = asyncio.create_task(register(self._database, self._registry, self._settings))
            try:
                await self._live(await asyncio.shield(joining), since)
            except BaseException:
                await take_back(self._database, joining)
                raise

    async def _live(self, node: Node, since: float) -> None:
        await self._declarer.start_declaring()
        life = NodeLife(
            self._services,
            self._registry,
            self._settings,
            node,
            self._logs,
            self._progress,
            clock=self._clock,
            since=since,
            on_drained=self._has_drained,
        )
        await life.leave_starting()
        self._life = life
        life.start()
        log.info("node %s serves %d jobs with %d slots", node.name, len(self._registry), node.slots)

    def _on_wake(self, wakes: Wake) -> None:
        self._declarer.on_wake(wakes)
        if self._life is not None:
            self._life.on_wake(wakes)

    def _has_drained(self) -> None:
        log.info("node %s has drained because somebody asked for it", self.node_name)
        if self._on_drained is not None:
            self._on_drained()

    async def drain(self) -> None:
        """Take nothing new, let running jobs end, hand back the others. Later callers wait for the same."""
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain(), name="cronograph-drain")
        await asyncio.shield(self._draining)

    async def _drain(self) -> None:
        await self._keeper.stop()
        # A life that begins is drained too; one that was cut short has taken its registration back.
        async with self._beginning:
            life = self._life
        await self._declarer.stop()
        if life is not None:
            await life.drain_watcher.stop()
            # What fails because the database is unavailable does not keep the jobs from being ended in order.
            async with AsyncExitStack() as last_to_first:
                last_to_first.push_async_callback(life.finish, self._settings.drain_timeout)
                last_to_first.push_async_callback(life.stop_taking)

    async def stop(self) -> None:
        """Drain, if that has not happened, and end everything. Stopping twice, or without a start, is fine."""
        async with AsyncExitStack() as last_to_first:
            if self._owns_wakeup:
                last_to_first.push_async_callback(self._wakeup.stop)
            last_to_first.callback(self._wakeup.unsubscribe, self._on_wake)
            last_to_first.push_async_callback(self._logs.stop)
            last_to_first.push_async_callback(self._progress.stop)
            last_to_first.push_async_callback(self._resources.close)
            last_to_first.push_async_callback(self._leave)
            if self._draining is None or not self._draining.done():
                last_to_first.push_async_callback(self.drain)

    async def _leave(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            await life.leave()

    def stop_beating(self) -> None:
        """Stop the sign of life, where the event loop has ended and nothing else can be done; from any thread."""
        if self._life is not None:
            self._life.stop_beating()

    async def wait_fenced(self) -> None:
        """Wait until the node finds itself fenced off."""
        if self._life is not None:
            await self._life.fenced.wait()

    async def rejoin(self) -> bool:
        """End the fenced life and begin a new one under a new registration; False if it was to end anyway."""
        life = self._life
        if life is not None:
            log.error("node %s was taken for dead; it ends its jobs and joins again", life.node.name)
            await life.abandon()
            if life.drain_watcher.asked:
                # It was to end; being taken for dead has only hastened that.
                self._has_drained()
                return False
        await self.begin_life()
        return True


class _Keeper(Service):
    """Lets a fenced node join again."""

    def __init__(self, engine: Engine) -> None:
        super().__init__("keeper")
        self._engine = engine

    async def run(self) -> None:
        rejoined = True
        while rejoined:
            await self._engine.wait_fenced()
            rejoined = await self._engine.rejoin()
            self.passed()
