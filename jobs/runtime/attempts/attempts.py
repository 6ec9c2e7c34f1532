"""The attempts under way in this process: begun, executed, and held until their ends are stored."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Container, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from ...actions.checkpoints import save_checkpoint
from ...actions.queue.claim import Started
from ...actions.queue.enqueue_many import put_many
from ...actions.queue.finish import Finish
from ...context import StopReason
from ...core.auth.secrets import references
from ...core.held import HeldRun
from ...core.model import Isolation, Json, Run
from ...core.outcome import Failed, JobOutcome, Succeeded
from ...core.run_spec import RunSpec
from ...registry import Registry
from ...services import Services
from ..job.host import LocalHost
from ..job.middleware import middleware_of_all
from ..job.results import message_of
from ..job.stopping import StopSignal
from ..live.log_writer import LogWriter
from ..live.progress import ProgressWriter
from ..process.children import ChildPool
from .attempt import Attempt
from .bodies import NO_PLACE, Alone, Body, Running
from .capacity import Capacity
from .executor import begin, body_of, ended, supervise
from .finisher import Finisher
from .in_flight import InFlight
from .on_failure import begin_on_failure, failure_for
from .retrying import retried
from .secrets import read_secrets
from .threads import ThreadPool

log = logging.getLogger(__name__)


class Attempts:
    """Executes what has been started and gives every end to the finisher; a slot is free once that is stored.

    Args:
        services: Database and API for jobs.
        registry: The jobs this node can run.
        logs: Keeps log lines.
        progress: Writes progress.
        grace: Seconds between "please stop" and the hard stop.
        capacity: Hears of what begins and ends.
        threads: Where plain functions run.
        children: Gives child processes.
        on_free: Called when slots became free by themselves, not in a transaction that fills them anew.
        on_fault: Called when ends can no longer be stored: the node must end its life.

    Attributes:
        finisher: Stores the ends.
        threads: Where plain functions run.
        held: How many attempts there are by where they run, those whose ends are not stored yet among them.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        logs: LogWriter,
        progress: ProgressWriter,
        *,
        grace: float,
        capacity: Capacity,
        threads: ThreadPool[JobOutcome],
        children: ChildPool,
        on_free: Callable[[], None],
        on_fault: Callable[[], None],
    ) -> None:
        self._services = services
        self._registry = registry
        self._logs = logs
        self._progress = progress
        self._grace = grace
        self._children = children
        self._on_free = on_free
        self._on_fault = on_fault
        self.finisher = Finisher(services, self._stored, on_free, self._not_stored)
        self._capacity = capacity
        self.threads = threads
        self.held: Counter[Isolation] = Counter()
        self._middleware = middleware_of_all(registry, services.resources)
        self._active: dict[int, Attempt] = {}
        # Of these, those that nobody has asked to stop: they need nobody beside them.
        self._alone: dict[int, Alone] = {}
        self._companions: set[asyncio.Task[None]] = set()
        self._held = InFlight()
        self._at_work = InFlight()

    def __len__(self) -> int:
        return len(self._active)

    def kinds_of(self, ends: Sequence[Finish]) -> Counter[Isolation]:
        """How many of the attempts that ended ran where, as far as they are held."""
        attempts = (self._active.get(end.execution_id) for end in ends)
        return Counter(attempt.definition.isolation for attempt in attempts if attempt is not None)

    @property
    def waiting(self) -> Mapping[Isolation, int]:
        """How many attempts wait for a thread or a child process."""
        return {Isolation.THREAD: self.threads.waiting, Isolation.PROCESS: self._children.waiting}

    @property
    def run_ids(self) -> set[int]:
        """The runs that execute, and those whose ends are not stored yet."""
        return {attempt.started.run.id for attempt in self._active.values()}

    @property
    def executing(self) -> list[Run | HeldRun]:
        """The runs that execute, in the order of their start."""
        return [attempt.started.run for attempt in list(self._active.values())]

    @property
    def unstoppable(self) -> frozenset[int]:
        """The runs whose thread passed its hard stop and cannot be killed."""
        return frozenset(attempt.started.run.id for attempt in self._active.values() if attempt.host.unstoppable)

    def begin(self, started: Sequence[Started]) -> None:
        """Execute runs whose start is committed."""
        self._services.counts.begun([one.run for one in started])
        for one in started:
            attempt = self._prepare(one)
            self._active[one.execution_id] = attempt
            kind = attempt.definition.isolation
            self._capacity.begun(kind, self.held[kind])
            self.held[kind] += 1
            self._held.begin()
            self._logs.open(one.execution_id)
            self._begin(attempt)

    def _begin(self, attempt: Attempt) -> None:
        args = attempt.started.run.args
        if args and (names := references(args)):
            self._accompany(attempt, self._run_with_secrets(attempt, names))
            return
        body = self._body(attempt)
        if isinstance(body, Failed):
            self._accompany(attempt, self._complete(attempt, body))
            return
        self._note_begun(attempt)
        running = self._begun(attempt, body)
        if isinstance(running, Failed):
            self._accompany(attempt, self._complete(attempt, running))
            return
        # Until it should stop it needs nobody beside it.
        remaining, deadline = attempt.signal.remaining(), None
        if remaining is not None:
            later = asyncio.get_running_loop().call_later
            deadline = later(remaining, self._should_stop, attempt, body, StopReason.DEADLINE)
        self._alone[attempt.started.execution_id] = Alone(running, deadline)
        running.add_done_callback(partial(self._ended_alone, attempt))
        attempt.host.subscribe_stops(partial(self._should_stop, attempt, body))

    def _body(self, attempt: Attempt) -> Body | Failed:
        try:
            return body_of(attempt, self._services, self.threads, self._children)
        except BaseException as error:
            return _executor_failed(attempt, error)

    def _begun(self, attempt: Attempt, body: Body) -> Running | Failed:
        try:
            return begin(body, attempt)
        except Exception as error:
            return _executor_failed(attempt, error)

    def _should_stop(self, attempt: Attempt, body: Body, _reason: StopReason) -> None:
        """An attempt that was alone so far should stop: from now on somebody waits for it."""
        alone = self._alone.pop(attempt.started.execution_id, None)
        if alone is not None:
            alone.end()
            self._accompany(attempt, self._run(attempt, body, alone.running))

    def _ended_alone(self, attempt: Attempt, running: Running) -> None:
        alone = self._alone.pop(attempt.started.execution_id, None)
        if alone is None:
            return
        self._note_over(attempt)
        alone.end()
        outcome = retried(attempt, _outcome(attempt, running))
        host = attempt.host
        if host.left_more or not self._logs.close_unwritten(attempt.started.execution_id):
            self._accompany(attempt, self._complete(attempt, outcome))
            return
        if host.latest_progress is not None:
            self._progress.forget(attempt.started.run.id)
        self._submit(attempt, attempt.ended(outcome))

    def _submit(self, attempt: Attempt, end: Finish) -> None:
        if attempt.left_behind:
            self._forget(end.execution_id)
            return
        kind = attempt.definition.isolation
        if end.outcome is NO_PLACE[kind] and attempt.signal.reason is None:
            self._capacity.stalled(kind)
        else:
            self._capacity.ended(kind)
        self.finisher.submit(end)

    def _accompany(self, attempt: Attempt, work: Coroutine[Any, Any, None]) -> None:
        name = f"cronograph-end-{attempt.started.run.id}"
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._companions.add(task)
        task.add_done_callback(partial(self._left, attempt.started))

    def _prepare(self, started: Started) -> Attempt:
        signal = StopSignal(started.run.timeout)
        host = LocalHost(
            started,
            signal,
            checkpoint=started.checkpoint,
            save=self._save_checkpoint,
            enqueue=self._enqueue,
            lines=self._logs,
            show_progress=self._progress.show,
        )
        definition = self._registry.get(started.run.job_name)
        if definition is None:
            raise LookupError(
                f"run {started.run.id} was claimed for job '{started.run.job_name}', which is not registered"
            )
        return Attempt(started, definition, signal, host, middleware=self._middleware.get(definition.name))

    async def _run(self, attempt: Attempt, body: Body | Failed, running: Running | None) -> None:
        if isinstance(body, Failed):
            await self._complete(attempt, body)
            return
        try:
            self._note_begun(attempt)
            running = running or begin(body, attempt)
            outcome = retried(attempt, await supervise(body, running, attempt, self._grace))
        except Exception as error:
            outcome = _executor_failed(attempt, error)
        await self._complete(attempt, outcome)

    async def _run_with_secrets(self, attempt: Attempt, names: frozenset[str]) -> None:
        try:
            values = await read_secrets(self._services, names)
        except Exception as error:
            values = _executor_failed(attempt, error)
        if not isinstance(values, dict):
            await self._complete(attempt, values)
            return
        attempt.secrets = values
        attempt.host.hide(values)
        await self._run(attempt, self._body(attempt), None)

    async def _complete(self, attempt: Attempt, outcome: JobOutcome) -> None:
        """Wait for what the job left behind (checkpoints, log lines), and have its end stored."""
        self._note_over(attempt)
        started, seconds = attempt.started, attempt.signal.elapsed()
        unsaved = await attempt.host.await_checkpoints()
        if unsaved is not None and isinstance(outcome, Succeeded):
            outcome = Failed(
                type(unsaved).__name__, f"a checkpoint could not be kept: {message_of(unsaved, attempt.host.redactor)}"
            )
        self._progress.forget(started.run.id)
        attempt.host.end_prints()
        tail = await self._logs.close(started.execution_id)
        end = Finish(
            started.run,
            started.execution_id,
            outcome,
            cancelled=attempt.signal.reason is StopReason.CANCEL,
            progress=attempt.host.latest_progress,
            log_tail=tail.lines,
            log_lines=tail.kept,
            log_cut=tail.cut,
            at_end=attempt.host.at_end if isinstance(outcome, Succeeded) else (),
            seconds=seconds,
        )
        self._submit(attempt, end)

    def _note_begun(self, attempt: Attempt) -> None:
        if not attempt.at_work:
            attempt.at_work = True
            self._at_work.begin()

    def _note_over(self, attempt: Attempt) -> None:
        """Nothing of its code is awaited any more."""
        if attempt.at_work:
            attempt.at_work = False
            self._at_work.end()

    async def _enqueue(self, runs: Sequence[RunSpec]) -> list[int]:
        return await self._services.database.write(put_many, runs)

    async def _save_checkpoint(self, started: Started, value: Json) -> None:
        kept = await self._services.database.write(save_checkpoint, started.run, value)
        if not kept:
            log.warning("a checkpoint of run %d was refused: the run had been taken from this node", started.run.id)

    def _left(self, started: Started, task: asyncio.Task[None]) -> None:
        """The end is in the finisher's hands; of an attempt that broke off outside its job there is none."""
        self._companions.discard(task)
        if not task.cancelled() and task.exception() is None:
            return
        if not task.cancelled():
            log.error("run %d could not be completed", started.run.id, exc_info=task.exception())
        self._forget(started.execution_id)
        self._on_free()

    def _stored(self, end: Finish, accepted: bool) -> None:
        if not accepted:
            log.warning(
                "the result of run %d, attempt %d, was refused: the run had been taken from this node",
                end.run.id,
                end.run.attempt,
            )
        elif type(end.outcome) is not Succeeded and self._calls_on_failure(end):
            return
        self._forget(end.execution_id)

    def _calls_on_failure(self, end: Finish) -> bool:
        """Call the job's own function for a final failure; the attempt keeps its slot until that is done."""
        attempt = self._active[end.execution_id]
        failure = failure_for(attempt.definition, end)
        if failure is None:
            return False
        calling = begin_on_failure(attempt.definition, failure)
        self._companions.add(calling)
        calling.add_done_callback(partial(self._called, end.execution_id))
        return True

    def _called(self, execution_id: int, calling: asyncio.Task[None]) -> None:
        self._companions.discard(calling)
        self._forget(execution_id)
        self._on_free()

    def _not_stored(self, lost: Sequence[Finish]) -> None:
        """Nobody stores these ends any more; whoever closes what this node held takes care of their runs."""
        for one in lost:
            self._forget(one.execution_id)
        self._on_fault()

    def _forget(self, execution_id: int) -> None:
        attempt = self._active.pop(execution_id)
        self._note_over(attempt)
        self.held[attempt.definition.isolation] -= 1
        self._held.end()

    def cancel(self, run_ids: Container[int]) -> None:
        """Ask these runs to stop, where they execute here."""
        for attempt in self._active.values():
            if attempt.started.run.id in run_ids:
                attempt.host.ask_to_stop(StopReason.CANCEL)

    async def wait_idle(self, timeout: float | None) -> bool:
        """Wait until nothing runs and every end is stored; False if that is not so after ``timeout`` seconds."""
        return await self._held.wait_none(timeout)

    def ask_to_stop(self) -> None:
        """Ask what runs to stop: its node ends."""
        for attempt in self._active.values():
            attempt.host.ask_to_stop(StopReason.SHUTDOWN)

    def hurry(self) -> None:
        """Stop hard what was asked to stop, however much of its grace is left."""
        for attempt in self._active.values():
            attempt.host.hurry()

    def leave_behind(self) -> list[Attempt]:
        """Wait for nobody any more; those whose code goes on, whose ends are told with the end of this life."""
        for attempt in self._active.values():
            attempt.left_behind = attempt.at_work and attempt.definition.isolation is not Isolation.PROCESS
            attempt.host.abandon()
        return [attempt for attempt in self._active.values() if attempt.left_behind]

    async def wait_quiet(self, timeout: float) -> bool:
        """Wait until no code of an attempt is awaited, whether the ends are stored or not; False after ``timeout``."""
        return await self._at_work.wait_none(timeout)

    async def hand_back(self) -> None:
        """Ask what runs to stop, then stop it hard and give it back to the queue."""
        self.ask_to_stop()
        await self.wait_idle(self._grace)
        for attempt in self._active.values():
            attempt.host.abandon()
        # Coroutines that swallow their cancel are left behind like threads; leaving gives back what they held.
        if not await self.wait_idle(max(5.0, self._grace + 5.0)):
            log.error("%d runs could not be ended", len(self._active))


def _outcome(attempt: Attempt, running: Running) -> JobOutcome:
    try:
        return ended(running, attempt.signal.reason)
    except Exception as error:
        return _executor_failed(attempt, error)


def _executor_failed(attempt: Attempt, error: BaseException) -> Failed:
    log.error("executing run %d failed outside its job", attempt.started.run.id, exc_info=error)
    return Failed(type(error).__name__, f"the executor failed: {message_of(error, attempt.host.redactor)}")
