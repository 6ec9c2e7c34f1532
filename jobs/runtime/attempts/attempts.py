"""The attempts of this process: begun, executed, and held until their ends are stored.

Each is a state machine. The states on the left need no task of their own, those on the right have one::

    STARTED ─────── its arguments name secrets ───────► READING SECRETS
       │◄─────────────────────────────────────────────────────┘
    RUNNING ─────── asked to stop, or out of time ────► STOPPING
       │                                                      ▼
       ├─────────── left more than its outcome ───────► COMPLETING
       │◄─────────────────────────────────────────────────────┘
    STORING ─────── failed for good, has on_failure ──► CALLING
       │◄─────────────────────────────────────────────────────┘
    forgotten: its slot is free

Most attempts go straight down: a short job costs no task but its own. A fault outside the job's code fails the attempt.
A task that breaks forgets its attempt, and the node gives the run back.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Container, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...base.context import StopReason
from ...base.services import Services
from ...core.arguments.secrets import references
from ...core.base.lazy import LazyModule
from ...core.model import Isolation, Run
from ...core.outcome import Failed, JobOutcome, Succeeded, Suspended, time_box
from ...core.remote import LET_GO, RemoteAttempt
from ...queue.base.shapes import HeldRun
from ...queue.claims.claim import Started
from ...queue.finish import Finish
from ...registry import Registry
from ..base.settings import EngineSettings
from ..job.host import LocalHost
from ..job.middleware import middleware_of_all
from ..job.ownership import StopSignal
from ..job.results import message_of, type_name
from ..job.secrets import read_secrets
from ..live.writers import LogWriter, ProgressWriter
from ..process.children import ChildPool
from .attempt import NO_PLACE, Attempt, Running, begin_on_failure, ended_by_deadline, failure_for, retried
from .bodies import (
    ELSEWHERE,
    Body,
    begin,
    body_of,
    executor_failed,
    fault_of_arguments,
    outcome_of,
    supervise,
)
from .capacity import Capacity
from .finisher import Finisher
from .keeping import Keeping
from .threads import ThreadPool

if TYPE_CHECKING:
    from ..remote.supervisor import RemoteSupervisor
    from . import remote_bodies
    from .remote_bodies import RemoteBody
else:
    # Only nodes with jobs at engines load it.
    remote_bodies = LazyModule(f"{__package__}.remote_bodies")

log = logging.getLogger(__name__)


class Attempts:
    """Executes started attempts and gives every end to the finisher; a slot is free once that is stored.

    Args:
        services: Database and API for jobs.
        registry: The jobs this node can run.
        settings: Of the node: how long a stop takes, and how long runs wait for a version.
        capacity: Is notified of attempts that begin and end.
        on_free: Called when slots became free by themselves, not in a transaction that fills them again.
        on_fault: Called when ends can no longer be stored: the node must end its life.

    Attributes:
        held: How many slots attempts hold by where they run, those whose ends are not stored yet among them.
        heavy: How many of them take several slots each.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        logs: LogWriter,
        progress: ProgressWriter,
        *,
        settings: EngineSettings,
        capacity: Capacity,
        threads: ThreadPool[JobOutcome],
        children: ChildPool,
        on_free: Callable[[], None],
        on_fault: Callable[[], None],
    ) -> None:
        self._remote: RemoteSupervisor | None = None
        self._services = services
        self._registry = registry
        self._logs = logs
        self._progress = progress
        self._grace = settings.hard_stop_grace
        self._version_wait = settings.version_wait
        self._children = children
        self._on_free = on_free
        self._on_fault = on_fault
        self.finisher = Finisher(services, self._stored, on_free, self._not_stored)
        self._keeping = Keeping(services.database, services.public_url)
        self._capacity = capacity
        self.threads = threads
        self.held: Counter[Isolation] = Counter()
        self.heavy: Counter[Isolation] = Counter()
        self._middleware = middleware_of_all(registry, services.resources)
        self._active: dict[int, Attempt] = {}
        # Those that are RUNNING, with the timer of their deadline.
        self._running: dict[int, tuple[Running, asyncio.TimerHandle | None]] = {}
        # Of those that are in any other state but STORING.
        self._tasks: set[asyncio.Task[None]] = set()
        # Set whenever an attempt, or the work of its code, is over.
        self._progressed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._active)

    def held_by(self, ends: Sequence[Finish]) -> Counter[Isolation]:
        """Count the slots that these ended attempts hold, by where they ran."""
        held = Counter[Isolation]()
        for end in ends:
            attempt = self._active.get(end.execution_id)
            if attempt is not None:
                held[attempt.definition.isolation] += attempt.definition.slots
        return held

    @property
    def waiting(self) -> Mapping[Isolation, int]:
        """Return the numbers of attempts that wait for a thread or a child process."""
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
            self._hold(attempt, 1)
            self._logs.open(one.execution_id)
            self._start(attempt)

    def hand_out_to(self, remote: "RemoteSupervisor") -> None:
        """Have ``remote`` look after attempts at engines."""
        self._remote = remote
        remote.on_taken_over = self.take_over

    def take_over(self, started: Started, known: RemoteAttempt) -> None:
        """Hold an attempt at an engine that another node has submitted, or an earlier life of this one."""
        if started.execution_id in self._active:
            return
        attempt = self._prepare(started)
        self._active[started.execution_id] = attempt
        self._hold(attempt, 1)
        self._logs.open(started.execution_id)
        self._run(attempt, known)

    def _hold(self, attempt: Attempt, sign: int) -> None:
        kind, slots = attempt.definition.isolation, attempt.definition.slots
        self.held[kind] += sign * slots
        if slots > 1:
            self.heavy[kind] += sign

    def _start(self, attempt: Attempt) -> None:
        """Enter STARTED: read secrets first, if the arguments name any; else run."""
        if fault := fault_of_arguments(args := attempt.started.run.args) or ended_by_deadline(attempt):
            self._in_task(attempt, self._complete(attempt, fault))
        elif args and (names := references(args)):
            self._in_task(attempt, self._read_secrets(attempt, names))
        else:
            self._run(attempt)

    async def _read_secrets(self, attempt: Attempt, names: frozenset[str]) -> None:
        """Enter READING SECRETS."""
        try:
            values = await read_secrets(self._services, names)
        except Exception as error:
            values = executor_failed(attempt, error)
        if not isinstance(values, dict):
            await self._complete(attempt, values)
            return
        attempt.secrets = values
        attempt.host.hide(values)
        self._run(attempt)

    def _run(self, attempt: Attempt, known: RemoteAttempt | None = None) -> None:
        """Enter RUNNING: no task waits for the body, only a callback and a timer."""
        begun = self._begin_body(attempt, known)
        if isinstance(begun, Failed):
            self._in_task(attempt, self._complete(attempt, begun))
            return
        body, running = begun
        remaining, deadline = attempt.signal.remaining(), None
        if remaining is not None:
            later = asyncio.get_running_loop().call_later
            deadline = later(remaining, self._on_stop, attempt, body, StopReason.DEADLINE)
        self._running[attempt.started.execution_id] = running, deadline
        running.add_done_callback(partial(self._on_end, attempt))
        attempt.host.subscribe_stops(partial(self._on_stop, attempt, body))

    def _begin_body(self, attempt: Attempt, known: RemoteAttempt | None) -> tuple[Body, Running] | Failed:
        try:
            if known is not None:
                body: Body | Failed = self._at_engine(attempt, known)
            else:
                body = body_of(attempt, self._services, self.threads, self._children, self._at_engine)
            if isinstance(body, Failed):
                return body
            attempt.at_work = True
            return body, begin(body, attempt)
        except BaseException as error:
            return executor_failed(attempt, error)

    def _at_engine(self, attempt: Attempt, known: RemoteAttempt | None = None) -> "RemoteBody":
        assert self._remote is not None
        return remote_bodies.RemoteBody(attempt, self._remote, self._logs, known)

    def _on_stop(self, attempt: Attempt, body: Body, _reason: StopReason) -> None:
        """Go from RUNNING to STOPPING: from now on a task waits for the body."""
        if running := self._take_running(attempt):
            self._in_task(attempt, self._stop(attempt, body, running))

    async def _stop(self, attempt: Attempt, body: Body, running: Running) -> None:
        """Enter STOPPING: the body first gets its grace, then it is stopped hard."""
        try:
            outcome = retried(attempt, await supervise(body, running, attempt, self._grace_of(attempt)))
        except Exception as error:
            outcome = executor_failed(attempt, error)
        await self._complete(attempt, outcome)

    def _grace_of(self, attempt: Attempt) -> float:
        """Return the seconds from "please stop" to the hard stop; code at an engine learns of it later."""
        at_engine = self._remote is not None and attempt.definition.isolation is Isolation.REMOTE
        return self._grace + self._remote.heartbeat if at_engine and self._remote is not None else self._grace

    def _on_end(self, attempt: Attempt, running: Running) -> None:
        """Go from RUNNING to STORING, or to COMPLETING if there is more to store than the outcome."""
        if not self._take_running(attempt):
            return
        outcome = retried(attempt, outcome_of(attempt, running))
        host = attempt.host
        if host.left_more or not self._logs.close_unwritten(attempt.started.execution_id):
            self._in_task(attempt, self._complete(attempt, outcome))
            return
        self._note_over(attempt)
        if host.latest_progress is not None:
            self._progress.forget(attempt.started.run.id)
        self._store(attempt, attempt.ended(outcome))

    def _take_running(self, attempt: Attempt) -> Running | None:
        running, deadline = self._running.pop(attempt.started.execution_id, (None, None))
        if deadline is not None:
            deadline.cancel()
        return running

    def _store(self, attempt: Attempt, end: Finish) -> None:
        """Enter STORING: the finisher has the end; ``_stored`` or ``_not_stored`` follows."""
        attempt.host.end()
        if end.outcome is LET_GO:
            self._forget(end.execution_id)
            self._on_free()
            return
        attempt.end_span(end)
        if isinstance(end.outcome, Failed):
            # A child process may have imported other code than its node.
            end = replace(end, version_wait=self._version_wait)
        if attempt.left_behind:
            self._forget(end.execution_id)
            return
        kind = attempt.definition.isolation
        found_no_place = end.outcome is NO_PLACE[kind] and attempt.signal.reason is None
        if found_no_place:
            self._capacity.stalled(kind)
        else:
            self._capacity.ended(kind, self.waiting.get(kind, 0))
        self.finisher.submit(end, self._capacity.gathering(kind, self._children.waiting))

    def _in_task(self, attempt: Attempt, work: Coroutine[Any, Any, None]) -> None:
        name = f"cronograph-end-{attempt.started.run.id}"
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(partial(self._on_task_done, attempt.started))

    def _prepare(self, started: Started) -> Attempt:
        definition = self._registry.get(started.run.job_name)
        # The time of an attempt at an engine counts from the start of its code there.
        at_engine = definition is not None and definition.isolation is Isolation.REMOTE
        signal = StopSignal(None if at_engine else time_box(started.run))
        host = LocalHost(
            started,
            signal,
            checkpoint=started.checkpoint,
            save=self._keeping.save_checkpoint,
            queue=self._keeping,
            lines=self._logs,
            show_progress=self._progress.show,
            steps=self._keeping,
            grace=self._grace,
        )
        if definition is None:
            raise LookupError(
                f"run {started.run.id} was claimed for job '{started.run.job_name}', which is not registered"
            )
        return Attempt(started, definition, signal, host, middleware=self._middleware.get(definition.name))

    async def _complete(self, attempt: Attempt, outcome: JobOutcome) -> None:
        """Enter COMPLETING: wait for the rest of the job (tasks, threads, checkpoints, lines), then store its end."""
        ended = await attempt.host.end_branches(outcome)
        outcome = outcome if ended is outcome else retried(attempt, ended)
        self._note_over(attempt)
        started, seconds = attempt.started, attempt.signal.elapsed()
        unsaved = await attempt.host.await_checkpoints()
        if unsaved is not None and isinstance(outcome, Succeeded):
            outcome = Failed(
                type_name(unsaved), f"a checkpoint could not be kept: {message_of(unsaved, attempt.host.redactor)}"
            )
        unused = await attempt.host.end_steps()
        self._progress.forget(started.run.id)
        attempt.host.end_prints()
        tail = await self._logs.close(started.execution_id)
        pins = attempt.definition.version is not None and isinstance(outcome, Suspended)
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
            unused_steps=unused if isinstance(outcome, Succeeded) else frozenset(),
            seconds=seconds,
            trace_id=attempt.trace_id,
            pinned=attempt.definition.signature if pins else None,
        )
        self._store(attempt, end)

    def _note_over(self, attempt: Attempt) -> None:
        if attempt.at_work:
            attempt.at_work = False
            self._progressed.set()

    def _on_task_done(self, started: Started, task: asyncio.Task[None]) -> None:
        """Forget an attempt whose task broke outside the job; any other has gone on to its next state."""
        self._tasks.discard(task)
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
        """Go from STORING to CALLING after a final failure if the job has ``on_failure``; the attempt keeps a slot."""
        failure = failure_for(self._active[end.execution_id].definition, end)
        if failure is None:
            return False
        calling = begin_on_failure(self._active[end.execution_id].definition, failure)
        self._tasks.add(calling)
        calling.add_done_callback(partial(self._on_called, end.execution_id))
        return True

    def _on_called(self, execution_id: int, calling: asyncio.Task[None]) -> None:
        self._tasks.discard(calling)
        self._forget(execution_id)
        self._on_free()

    def _not_stored(self, lost: Sequence[Finish]) -> None:
        """Forget ends that nobody stores any more; the node that closes its attempts takes care of their runs."""
        for one in lost:
            self._forget(one.execution_id)
        self._on_fault()

    def _forget(self, execution_id: int) -> None:
        attempt = self._active.pop(execution_id)
        self._note_over(attempt)
        self._hold(attempt, -1)
        self._progressed.set()

    async def close(self) -> None:
        """Store nothing more for jobs."""
        await self.finisher.close()
        await self._keeping.close()

    def cancel(self, run_ids: Container[int]) -> None:
        """Ask these runs to stop, where they execute here."""
        for attempt in self._active.values():
            if attempt.started.run.id in run_ids:
                attempt.host.ask_to_stop(StopReason.CANCEL)

    async def wait_idle(self, timeout: float | None) -> bool:
        """Wait until nothing runs and every end is stored; False if that is not so after ``timeout`` seconds."""
        return await self._wait_until(lambda: not self._active, timeout)

    def ask_to_stop(self) -> None:
        """Ask attempts to stop, as their node ends. Another node looks after attempts at an engine."""
        if self._remote is not None:
            self._remote.let_go_at_once()
        for attempt in self._active.values():
            if attempt.definition.isolation is not Isolation.REMOTE:
                attempt.host.ask_to_stop(StopReason.SHUTDOWN)

    def hurry(self) -> None:
        """Stop hard the attempts that were asked to stop, however much of their grace is left."""
        for attempt in self._active.values():
            attempt.host.hurry()

    def leave_behind(self) -> list[Attempt]:
        """Wait for nobody any more; those whose code goes on, whose ends are reported with the end of this life."""
        for attempt in self._active.values():
            attempt.left_behind = attempt.at_work and attempt.definition.isolation not in ELSEWHERE
            attempt.host.abandon()
        return [attempt for attempt in self._active.values() if attempt.left_behind]

    async def wait_quiet(self, timeout: float) -> bool:
        """Wait until no code of an attempt is awaited, whether the ends are stored or not; False after ``timeout``."""
        return await self._wait_until(lambda: not any(one.at_work for one in self._active.values()), timeout)

    async def _wait_until(self, is_so: Callable[[], bool], timeout: float | None) -> bool:
        try:
            async with asyncio.timeout(timeout):
                while not is_so():
                    self._progressed.clear()
                    await self._progressed.wait()
        except TimeoutError:
            return False
        return True

    async def hand_back(self) -> None:
        """Ask attempts to stop, then stop them hard and give them back to the queue."""
        self.ask_to_stop()
        await self.wait_idle(self._grace)
        for attempt in self._active.values():
            attempt.host.abandon()
        # Coroutines that swallow their cancel are left behind like threads; leaving gives back what they held.
        if not await self.wait_idle(max(5.0, self._grace + 5.0)):
            log.error("%d runs could not be ended", len(self._active))
