"""Takes runs as slots allow, executes them, and hands their ends to the finisher."""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime
from functools import partial

from typing_extensions import override

from ..actions.checkpoints import save_checkpoint
from ..actions.claim import Claimant, Claimed, Started, claim, start_reserved
from ..actions.finish import Finish, disown
from ..actions.runs import hand_back
from ..context import StopReason
from ..core.fairness import CountingScheme, FairnessState
from ..core.model import Json, Node
from ..core.outcome import Failed, JobOutcome, Succeeded
from ..registry import Isolation, Registry
from ..services import Services
from ..store import runs as run_store
from ..store.database import Connection
from ..store.transaction import Tx, Wake
from .attempt import Attempt
from .executor import execute
from .finisher import Finisher
from .host import LocalHost
from .logs import LogTail, LogWriter
from .process_child import check_findable
from .process_spawner import Spawner
from .progress import ProgressWriter
from .results import message_of
from .service import Service
from .settings import EngineSettings
from .stopping import StopSignal

log = logging.getLogger(__name__)

_LAUNCHER_PAUSE = 5.0


class Worker(Service):
    """The executing part of a node.

    Args:
        services: Database and API for jobs.
        registry: The jobs this node can run.
        settings: Slots, prefetch, grace.
        node: This process' node.
        logs: Keeps log lines.
        progress: Writes progress.

    Attributes:
        fenced: Set when the database says that this node was declared dead.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        settings: EngineSettings,
        node: Node,
        logs: LogWriter,
        progress: ProgressWriter,
    ) -> None:
        super().__init__("worker")
        self._services = services
        self._database = services.database
        self._registry = registry
        self._settings = settings
        self._prefetch = settings.prefetch_for(is_sqlite=self._database.is_sqlite)
        self._fairness = FairnessState(CountingScheme.parse(settings.counting_scheme))
        self._finisher = Finisher(self._database)
        self._spawner = Spawner()
        in_process = [one for one in registry if one.isolation is Isolation.PROCESS]
        for definition in in_process:
            check_findable(definition)
        self._has_process_jobs = bool(in_process)
        at_once = tuple(one.name for one in registry if one.isolation is not Isolation.PROCESS)
        self._claimant = Claimant(node.id, node.name, at_once)
        self._logs = logs
        self._progress = progress
        self._active: dict[int, tuple[Attempt, asyncio.Task[None]]] = {}
        self._reserved: list[int] = []
        self._work = asyncio.Event()
        self._cancels = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._taking = True
        # Held while the database is asked for runs: what it hands out is unknown here until the answer has come.
        self._claiming = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self.fenced = asyncio.Event()

    @property
    def running(self) -> int:
        """How many runs execute now."""
        return len(self._active)

    def on_wake(self, wakes: Wake) -> None:
        """Look for work or cancels."""
        if wakes & (Wake.RUNS | Wake.GROUPS):
            self._work.set()
        if wakes & Wake.CANCEL:
            self._cancels.set()

    def unstoppable(self) -> frozenset[int]:
        """The runs whose thread passed its hard stop and cannot be killed."""
        return frozenset(run_id for run_id, (attempt, _) in self._active.items() if attempt.host.unstoppable)

    def poke(self) -> None:
        """Look for work and cancels."""
        self._work.set()
        self._cancels.set()

    async def run(self) -> None:
        """Take and execute until stopped."""
        self.poke()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._open_process_jobs())
            group.create_task(self._take_work())
            group.create_task(self._watch_cancels())

    async def _open_process_jobs(self) -> None:
        """Take runs of process jobs once child processes can be had at once; their time boxes begin with the claim."""
        if not self._has_process_jobs:
            return
        while not await self._spawner.ready():
            log.error("the launcher of child processes does not start; again in %g s", _LAUNCHER_PAUSE)
            await asyncio.sleep(_LAUNCHER_PAUSE)
        self._claimant = replace(self._claimant, jobs=self._registry.names())
        self._work.set()

    async def _take_work(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._taking and await self._fill():
                await asyncio.sleep(0)

    async def _fill(self) -> bool:
        """Fill free slots; whether there may be more to take at once."""
        async with self._claiming:
            return self._taking and await self._take()

    async def _take(self) -> bool:
        free = self._settings.slots - len(self._active)
        if free > 0 and self._reserved:
            wanted, self._reserved = self._reserved[:free], self._reserved[free:]
            self._begin(await self._database.write(start_reserved, self._claimant, wanted))
            free = self._settings.slots - len(self._active)
        ahead = max(0, self._prefetch - len(self._reserved))
        # With prefetch, wait until half of it is used up: one claim for many instead of one each.
        if free <= 0 and (ahead == 0 or ahead * 2 < self._prefetch):
            return False
        claimed = await self._claim(max(0, free), ahead)
        return len(claimed.started) + len(claimed.reserved) == max(0, free) + ahead and claimed.fenced is False

    async def _claim(self, slots: int, prefetch: int) -> Claimed:
        claimed = await self._database.write(claim, self._claimant, self._fairness, slots=slots, prefetch=prefetch)
        self._fairness = claimed.fairness
        if claimed.fenced:
            self._taking = False
            self.fenced.set()
            return claimed
        self._reserved += claimed.reserved
        self._begin(claimed.started)
        if len(claimed.started) < slots:
            await self._set_timer()
        return claimed

    async def _set_timer(self) -> None:
        """Nothing is due now: look again when the next run becomes available by time alone."""
        now, at = await self._database.write(_next_available)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at is not None:
            # A retry is due strictly after its time, hence the millisecond.
            delay = max(0.0, (at - now).total_seconds()) + 0.001
            self._timer = asyncio.get_running_loop().call_later(min(delay, 3600.0), self._work.set)

    def _begin(self, started: tuple[Started, ...]) -> None:
        loop = asyncio.get_running_loop()
        for one in started:
            attempt = self._prepare(one)
            self._logs.open(one.execution_id)
            self._idle.clear()
            task = loop.create_task(self._attempt(attempt), name=f"cronograph-run-{one.run.id}")
            self._active[one.run.id] = (attempt, task)
            task.add_done_callback(partial(self._ended, one.run.id))

    def _ended(self, run_id: int, task: asyncio.Task[None]) -> None:
        del self._active[run_id]
        if not task.cancelled() and task.exception() is not None:
            log.error("run %d could not be completed", run_id, exc_info=task.exception())
        if not self._active:
            self._idle.set()
        self._work.set()

    def _prepare(self, started: Started) -> Attempt:
        signal = StopSignal(started.run.timeout)
        host = LocalHost(
            started,
            signal,
            checkpoint=started.checkpoint,
            save=self._save_checkpoint,
            lines=self._logs,
            show_progress=self._progress.show,
        )
        definition = self._registry.get(started.run.job_name)
        if definition is None:
            raise LookupError(
                f"run {started.run.id} was claimed for job '{started.run.job_name}', which is not registered"
            )
        return Attempt(started, definition, signal, host)

    async def _attempt(self, attempt: Attempt) -> None:
        started = attempt.started
        outcome = await self._execute(attempt)
        self._progress.forget(started.run.id)
        await self._finish(attempt, outcome, await self._logs.close(started.execution_id))

    async def _execute(self, attempt: Attempt) -> JobOutcome:
        try:
            outcome = await execute(attempt, self._services, self._spawner, grace=self._settings.hard_stop_grace)
        except Exception as error:
            log.exception("executing run %d failed outside its job", attempt.started.run.id)
            return Failed(type(error).__name__, f"the executor failed: {message_of(error)}")
        unsaved = await attempt.host.settle()
        if unsaved is not None and isinstance(outcome, Succeeded):
            return Failed(type(unsaved).__name__, f"a checkpoint could not be kept: {message_of(unsaved)}")
        return outcome

    async def _finish(self, attempt: Attempt, outcome: JobOutcome, tail: LogTail) -> None:
        cancelled = attempt.signal.reason is StopReason.CANCEL
        ended = Finish(
            attempt.started.run,
            attempt.started.execution_id,
            outcome,
            cancelled=cancelled,
            progress=attempt.host.latest_progress,
            log_tail=tail.lines,
            log_lines=tail.kept,
            log_cut=tail.cut,
        )
        if not await self._finisher.submit(ended):
            log.warning(
                "the result of run %d, attempt %d, was refused: the run had been taken from this node",
                attempt.started.run.id,
                attempt.started.run.attempt,
            )

    async def _save_checkpoint(self, started: Started, value: Json) -> None:
        kept = await self._database.write(save_checkpoint, started.run, value)
        if not kept:
            log.warning("a checkpoint of run %d was refused: the run had been taken from this node", started.run.id)

    async def _watch_cancels(self) -> None:
        while True:
            await self._cancels.wait()
            self._cancels.clear()
            if not self._active:
                continue
            asked = await self._database.read(_cancel_requests, self._claimant.node_id)
            for run_id in asked.keys() & self._active.keys():
                self._active[run_id][0].host.ask_to_stop(StopReason.CANCEL)

    @override
    async def stop(self) -> None:
        """End, and wait for the end; child processes end too."""
        await super().stop()
        await self._spawner.stop()

    async def stop_taking(self) -> None:
        """Take nothing new, and give back what was only reserved; what a claim under way brings still begins."""
        self._taking = False
        async with self._claiming:
            if self._timer is not None:
                self._timer.cancel()
            self._reserved = []
            await self._database.write(_hand_back, self._claimant.node_id)

    async def halt(self) -> None:
        """Stop looking for work at once, even in the middle of a claim; for a node that the others take for dead."""
        self._taking = False
        if self._timer is not None:
            self._timer.cancel()
        await super().stop()

    async def disown_unknown(self) -> int:
        """Settle what the database says this node holds and the node does not know; how many runs.

        The answer of a claim can be lost after its commit. Nobody would ever execute or end these runs.
        """
        async with self._claiming:
            known = self._active.keys() | set(self._reserved)
            held = await self._database.read(_held, self._claimant.node_id)
            if held <= known:
                return 0
            disowned = await self._database.write(disown, self._claimant.node_id, self._claimant.node, known)
        log.warning("%d runs were held by this node without its knowledge and are due again", disowned)
        return disowned

    async def wait_idle(self, timeout: float | None) -> bool:
        """Wait until nothing runs; False if it still does after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def hand_back_running(self) -> None:
        """Ask what runs to stop, then stop it hard and give it back to the queue."""
        for attempt, _ in self._active.values():
            attempt.host.ask_to_stop(StopReason.SHUTDOWN)
        await self.wait_idle(self._settings.hard_stop_grace)
        for attempt, _ in self._active.values():
            attempt.host.abandon()
        # Coroutines that swallow their cancel are left behind like threads; leaving gives back what they held.
        if not await self.wait_idle(max(5.0, self._settings.hard_stop_grace + 5.0)):
            log.error("%d runs could not be ended", len(self._active))


def _next_available(tx: Tx) -> tuple[datetime, datetime | None]:
    return tx.now, run_store.next_available(tx.conn, tx.now)


def _cancel_requests(conn: Connection, node_id: int) -> dict[int, str]:
    return run_store.cancel_requests(conn, node_id)


def _held(conn: Connection, node_id: int) -> set[int]:
    return run_store.held_by(conn, node_id)


def _hand_back(tx: Tx, node_id: int) -> list[int]:
    return hand_back(tx, {"node_id": node_id})
