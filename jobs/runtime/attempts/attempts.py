"""The attempts under way in this process: begun, executed, and held until their ends are stored."""

import asyncio
import logging
from collections.abc import Callable, Container, Sequence
from functools import partial

from ...actions.checkpoints import save_checkpoint
from ...actions.claim import Started
from ...actions.finish import Finish
from ...context import StopReason
from ...core.model import Json
from ...core.outcome import Failed, JobOutcome, Succeeded
from ...registry import Registry
from ...services import Services
from ..job.host import LocalHost
from ..job.stopping import StopSignal
from ..live.log_writer import LogWriter
from ..live.progress import ProgressWriter
from ..process.spawner import Spawner
from .attempt import Attempt
from .executor import execute
from .finisher import Finisher
from .results import message_of

log = logging.getLogger(__name__)


class Attempts:
    """Executes what has been started and gives every end to the finisher; a slot is free once that is stored.

    Args:
        services: Database and API for jobs.
        registry: The jobs this node can run.
        logs: Keeps log lines.
        progress: Writes progress.
        grace: Seconds between "please stop" and the hard stop.
        on_free: Called when slots became free by themselves, not in a transaction that fills them anew.
        on_fault: Called when ends can no longer be stored: the node must end its life.

    Attributes:
        finisher: Stores the ends.
        spawner: Gives child processes.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        logs: LogWriter,
        progress: ProgressWriter,
        *,
        grace: float,
        on_free: Callable[[], None],
        on_fault: Callable[[], None],
    ) -> None:
        self._services = services
        self._registry = registry
        self._logs = logs
        self._progress = progress
        self._grace = grace
        self._on_free = on_free
        self._on_fault = on_fault
        self.finisher = Finisher(services.database, self._stored, on_free, self._not_stored)
        self.spawner = Spawner()
        self._active: dict[int, tuple[Attempt, asyncio.Task[None]]] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return len(self._active)

    @property
    def run_ids(self) -> set[int]:
        """The runs that execute, and those whose ends are not stored yet."""
        return {attempt.started.run.id for attempt, _ in self._active.values()}

    @property
    def unstoppable(self) -> frozenset[int]:
        """The runs whose thread passed its hard stop and cannot be killed."""
        return frozenset(attempt.started.run.id for attempt, _ in self._active.values() if attempt.host.unstoppable)

    def begin(self, started: Sequence[Started]) -> None:
        """Execute runs whose start is committed."""
        loop = asyncio.get_running_loop()
        for one in started:
            attempt = self._prepare(one)
            self._logs.open(one.execution_id)
            self._idle.clear()
            task = loop.create_task(self._run(attempt), name=f"cronograph-run-{one.run.id}")
            self._active[one.execution_id] = (attempt, task)
            task.add_done_callback(partial(self._left, one))

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

    async def _run(self, attempt: Attempt) -> None:
        started = attempt.started
        outcome = await self._execute(attempt)
        self._progress.forget(started.run.id)
        tail = await self._logs.close(started.execution_id)
        ended = Finish(
            started.run,
            started.execution_id,
            outcome,
            cancelled=attempt.signal.reason is StopReason.CANCEL,
            progress=attempt.host.latest_progress,
            log_tail=tail.lines,
            log_lines=tail.kept,
            log_cut=tail.cut,
        )
        self.finisher.submit(ended)

    async def _execute(self, attempt: Attempt) -> JobOutcome:
        try:
            outcome = await execute(attempt, self._services, self.spawner, grace=self._grace)
        except Exception as error:
            log.exception("executing run %d failed outside its job", attempt.started.run.id)
            return Failed(type(error).__name__, f"the executor failed: {message_of(error)}")
        unsaved = await attempt.host.settle()
        if unsaved is not None and isinstance(outcome, Succeeded):
            return Failed(type(unsaved).__name__, f"a checkpoint could not be kept: {message_of(unsaved)}")
        return outcome

    async def _save_checkpoint(self, started: Started, value: Json) -> None:
        kept = await self._services.database.write(save_checkpoint, started.run, value)
        if not kept:
            log.warning("a checkpoint of run %d was refused: the run had been taken from this node", started.run.id)

    def _left(self, started: Started, task: asyncio.Task[None]) -> None:
        """The end is in the finisher's hands; of an attempt that broke off outside its job there is none."""
        if not task.cancelled() and task.exception() is None:
            return
        if not task.cancelled():
            log.error("run %d could not be completed", started.run.id, exc_info=task.exception())
        self._forget(started.execution_id)
        self._on_free()

    def _stored(self, ended: Finish, accepted: bool) -> None:
        if not accepted:
            log.warning(
                "the result of run %d, attempt %d, was refused: the run had been taken from this node",
                ended.run.id,
                ended.run.attempt,
            )
        self._forget(ended.execution_id)

    def _not_stored(self, lost: Sequence[Finish]) -> None:
        """Nobody stores these ends any more; whoever settles what this node held takes care of their runs."""
        for ended in lost:
            self._forget(ended.execution_id)
        self._on_fault()

    def _forget(self, execution_id: int) -> None:
        del self._active[execution_id]
        if not self._active:
            self._idle.set()

    def cancel(self, run_ids: Container[int]) -> None:
        """Ask these runs to stop, where they execute here."""
        for attempt, _ in self._active.values():
            if attempt.started.run.id in run_ids:
                attempt.host.ask_to_stop(StopReason.CANCEL)

    async def wait_idle(self, timeout: float | None) -> bool:
        """Wait until nothing runs and every end is stored; False if that is not so after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def hand_back(self) -> None:
        """Ask what runs to stop, then stop it hard and give it back to the queue."""
        for attempt, _ in self._active.values():
            attempt.host.ask_to_stop(StopReason.SHUTDOWN)
        await self.wait_idle(self._grace)
        for attempt, _ in self._active.values():
            attempt.host.abandon()
        # Coroutines that swallow their cancel are left behind like threads; leaving gives back what they held.
        if not await self.wait_idle(max(5.0, self._grace + 5.0)):
            log.error("%d runs could not be ended", len(self._active))
