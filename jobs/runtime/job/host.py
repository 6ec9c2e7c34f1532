"""Carry a job inside this process: stop signals, log lines, progress and checkpoints, safe from any thread."""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from ...base.branches import Branches, RunIsOverError
from ...base.context import StopReason
from ...base.hiding import IN_USE, NOTHING_HIDDEN, Redactor
from ...base.outside import Done
from ...core.admission.labels import inherited
from ...core.flows import FlowSpec, StartedBy
from ...core.model import Json, NewRun, Run
from ...core.outcome import JobOutcome, Suspended
from ...core.run_spec import RunSpec, RunTarget
from ...core.states import RunState
from ...core.waits import RunChange
from ...own.forks import FORKED, forks
from ...queue.base.shapes import HeldRun
from ...queue.claims.claim import Started
from ...queue.enqueue.requests import new_runs
from .lines import RawLine
from .ownership import StopSignal, as_node
from .printing import Lines, Pieces
from .results import stopped
from .steps import LEFT_AT_WORK, JobSteps, StepStore
from .values import plain_json, progress_document

T = TypeVar("T")

log = logging.getLogger(__name__)


SaveCheckpoint = Callable[[Started, Json], Awaitable[None]]
ShowProgress = Callable[[Started, Json], None]


class HostQueue(Protocol):
    """Carry out the requests of a job in the queue."""

    def enqueue(self, asked: Sequence[RunSpec] | FlowSpec, /) -> Awaitable[list[int]]:
        """Put runs or a flow into the queue; return the ids of the runs, or that of the flow alone."""
        ...

    def change(self, target: RunTarget, change: RunChange, /) -> Awaitable[RunState]:
        """Change a run; return its state then."""
        ...


class LineSink(Protocol):
    """Takes the lines of jobs from any thread, and returns the seconds that the thread should pause then."""

    def write(self, execution_id: int, lines: Iterable[RawLine], *, dropped: int = 0) -> float:
        """Keep lines, after ``dropped`` ones that were lost."""
        ...


class _Saving(Awaitable[None]):
    """A checkpoint on its way to the database; whether the job waits for it or not."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task
        self._awaited = False

    def __await__(self) -> Generator[Any, None, None]:
        self._awaited = True
        # A job that is cancelled while it waits still keeps what it saved.
        return asyncio.shield(self._task).__await__()

    @property
    def is_over(self) -> bool:
        """Return whether it is stored, or the job knows that it is not."""
        return self._task.done() and (self._awaited or self._task.cancelled() or self._task.exception() is None)

    async def fault(self) -> BaseException | None:
        """Wait until it is kept; return the fault if it could not be kept, unless the job knows it already."""
        await asyncio.wait([self._task])
        fault = asyncio.CancelledError() if self._task.cancelled() else self._task.exception()
        return None if self._awaited else fault


class LocalHost:
    """The host of a coroutine or a thread; for a child process it is the end on this side.

    Attributes:
        signal: Why and when the job should stop.
        unstoppable: A thread passed its hard stop; its run stays running and says so.
        hurried: The grace of a job that was asked to stop is over before its time: the node's lease ends.
        latest_progress: As it was shown last.
        at_end: The runs put into the queue if the attempt ends well.
        main: The task of a coroutine; None until it is made, and for all other kinds of jobs.
        exit: The error of job code that ends the process or the loop, where nobody awaited it; it fails the attempt.
        grace: Seconds between "please stop" and the hard stop.
        redactor: Cuts the secrets that the job was given out of its output.
        trace: Further fields of each of its log lines, to be found from a trace; None = nothing is traced.
        export_line: Sends each of its log lines to a tracing system; None = there is none that wants them.
    """

    # One is made for every attempt.
    __slots__ = (
        "_abandoned",
        "_branches",
        "_checkpoint",
        "_forks",
        "_is_over",
        "_job_steps",
        "_lines",
        "_loop",
        "_on_hurry",
        "_on_stop",
        "_order",
        "_pause",
        "_pieces",
        "_prints",
        "_queue",
        "_save",
        "_savings",
        "_show_progress",
        "_step_store",
        "_stop_asked",
        "_thread",
        "at_end",
        "exit",
        "export_line",
        "grace",
        "hurried",
        "latest_progress",
        "main",
        "redactor",
        "signal",
        "started",
        "trace",
        "unstoppable",
    )

    def __init__(
        self,
        started: Started,
        signal: StopSignal,
        *,
        checkpoint: Json,
        save: SaveCheckpoint,
        queue: HostQueue,
        lines: LineSink,
        show_progress: ShowProgress,
        steps: StepStore,
        pause: Callable[[float], object] | None = None,
        grace: float = 10.0,
    ) -> None:
        self.started = started
        self.signal = signal
        self._checkpoint = checkpoint
        self._save = save
        self._queue = queue
        self.at_end: tuple[NewRun, ...] = ()
        self.main: asyncio.Future[Any] | None = None
        self.exit: BaseException | None = None
        self._branches: Branches | None = None
        self.grace = grace
        self._is_over = False
        self._lines = lines
        self._show_progress = show_progress
        self.redactor = NOTHING_HIDDEN
        self.trace: Mapping[str, str] | None = None
        self.export_line: Callable[[RawLine], None] | None = None
        self._pieces: Pieces | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._forks = forks()
        # Most jobs are never asked to stop and keep no checkpoint: what serves these is made when it is asked for.
        self._savings: list[_Saving] = []
        self._step_store = steps
        self._job_steps: JobSteps | None = None
        self._pause = pause
        self._order: asyncio.Lock | None = None
        self._abandoned: asyncio.Event | None = None
        self._prints: Lines | None = None
        self._stop_asked = False
        self.unstoppable = False
        self.latest_progress: Json = None
        self._on_stop: list[Callable[[StopReason], object]] = []
        self.hurried = False
        self._on_hurry: Callable[[], object] | None = None

    @property
    def run(self) -> Run | HeldRun:
        """The run whose attempt this is."""
        return self.started.run

    @property
    def abandoned(self) -> asyncio.Event:
        """Set when nobody waits for the job any more (shutdown)."""
        if self._abandoned is None:
            self._abandoned = asyncio.Event()
        return self._abandoned

    @property
    def left_more(self) -> bool:
        """Return whether the job left more than its outcome: checkpoints perhaps not stored yet, runs to enqueue."""
        return (
            bool(self._savings or self.at_end or self._prints or self._pieces)
            or (self._job_steps is not None and self._job_steps.left_more)
            or (self._branches is not None and not self._branches.is_quiet)
        )

    @property
    def branches(self) -> Branches:
        """The tasks and steps that the attempt has begun."""
        if self._branches is None:
            self._branches = Branches(lambda: self.main, self.grace, lambda: self.signal.reason is not None)
            if self._is_over:
                self._branches.close()
        return self._branches

    def note_task(self, task: asyncio.Task[Any]) -> None:
        """Own a task that the job has made."""
        self.branches.note(task)

    @property
    def steps_at_work(self) -> frozenset[str]:
        """The labels of its steps whose functions have not returned."""
        return frozenset() if self._branches is None else self._branches.steps_at_work

    async def end_branches(self, outcome: JobOutcome) -> JobOutcome:
        """Wait until all is over that the attempt has begun; how it ended then.

        Where it suspends itself, tasks go on until they stand too; they are cancelled where it ended otherwise.
        """
        branches = self._branches
        if branches is not None and not branches.is_quiet:
            was_cut = await branches.end(
                let_go_on=isinstance(outcome, Suspended),
                is_abandoned=lambda: self._abandoned is not None and self._abandoned.is_set(),
                on_late=self.note_unstoppable,
            )
            if not branches.is_quiet:
                LEFT_AT_WORK.add(self.run.id, branches)
            if isinstance(outcome, Suspended) and was_cut and (reason := self.signal.reason) is not None:
                # What was cut off has more to do than to wait.
                outcome = stopped(reason)
        if isinstance(outcome, Suspended) and self._job_steps is not None:
            return self._job_steps.suspended(outcome)
        return outcome

    def end(self) -> None:
        """Take nothing more: the run may begin its next attempt."""
        self._is_over = True
        # What holds this is let go: the garbage collector stops the loop for long where it finds thousands of cycles.
        if self._branches is not None:
            self._branches.close()
            if self._branches.is_quiet:
                self._branches = None
        self._on_stop, self._on_hurry, self.main, self._savings, self._job_steps = [], None, None, [], None

    def _refuse_if_over(self, what: str) -> None:
        if self._is_over:
            raise RunIsOverError(f"a task or thread wanted to {what} for an attempt that is over")

    def enqueue(self, runs: Sequence[RunSpec]) -> Awaitable[list[int]]:
        """Put runs into the queue now; return their ids."""
        self._refuse_if_over("enqueue runs")
        return self._queue.enqueue(self._inheriting(runs))

    def _inheriting(self, runs: Sequence[RunSpec]) -> Sequence[RunSpec]:
        labels = self.started.run.labels
        return [replace(run, parent_labels=labels) for run in runs] if labels else runs

    async def enqueue_flow(self, flow: FlowSpec) -> int:
        """Put a flow into the queue now; return its id."""
        self._refuse_if_over("enqueue a flow")
        (flow_id,) = await self._queue.enqueue(replace(flow, labels=inherited(self.started.run.labels, flow.labels)))
        return flow_id

    def enqueue_flow_waiting(self, flow: FlowSpec) -> int:
        """Do the same as ``enqueue_flow`` for a thread, which waits for it; see ``wait_for``."""
        return self.wait_for("flow.enqueue", self.enqueue_flow(flow))

    def enqueue_waiting(self, runs: Sequence[RunSpec]) -> list[int]:
        """Do the same as ``enqueue`` for a thread, which waits for it; see ``wait_for``."""
        return self.wait_for("ctx.enqueue", self._enqueue_now(runs))

    async def _enqueue_now(self, runs: Sequence[RunSpec]) -> list[int]:
        # Begun by the event loop alone: where waiting is refused, nothing has been made that nobody awaits.
        return await self.enqueue(runs)

    def change(self, target: RunTarget, change: RunChange) -> Awaitable[RunState]:
        """Change a run of the queue now; return its state then."""
        self._refuse_if_over("change a run")
        return self._queue.change(target, change)

    def change_waiting(self, target: RunTarget, change: RunChange) -> RunState:
        """Do the same as ``change`` for a thread, which waits for it; see ``wait_for``."""

        async def changing() -> RunState:
            return await self.change(target, change)

        return self.wait_for("its twin without _sync", changing())

    def wait_for(self, twin: str, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the event loop, for a thread that waits for it.

        Raises:
            RuntimeError: it is called in the event loop, which would wait for itself (names the ``twin`` to await), or
                in a forked process, which has no event loop.
        """
        if self._forks != forks():
            work.close()
            raise RuntimeError(FORKED)
        if threading.get_ident() == self._thread:
            work.close()
            raise RuntimeError(f"an async job must not block the event loop: use `await {twin}(…)`")
        return as_node(asyncio.run_coroutine_threadsafe, work, self._loop).result()

    def enqueue_at_end(self, runs: Sequence[RunSpec]) -> None:
        """Put runs into the queue in the transaction that ends the attempt, if it ends well."""
        self._refuse_if_over("enqueue runs at its end")
        self.at_end += new_runs(self._inheriting(runs))

    def ask_to_stop(self, reason: StopReason) -> None:
        """Ask the job to stop; called in the event loop."""
        self.signal.ask(reason)
        self._stop_asked = True
        for listener in self._on_stop:
            listener(reason)

    def subscribe_stops(self, listener: Callable[[StopReason], object]) -> None:
        """Call ``listener`` in the event loop whenever the job is asked to stop; at once if it was already."""
        self._on_stop.append(listener)
        if self._stop_asked and (reason := self.signal.reason) is not None:
            listener(reason)

    def wants_exit(self, error: BaseException) -> None:
        """Cancel the job, as a task or callback of it wants to end the process or the loop; called in the loop."""
        if self._is_over or (self.main is not None and self.main.done()):
            words = "code that run %d (job '%s') left behind raised %s, and nothing else ends"
            log.error(words, self.run.id, self.run.job_name, type(error).__name__, exc_info=error)
        if self.exit is None:
            self.exit = error
        if self.main is not None:
            self.main.cancel()

    def hurry(self) -> None:
        """Give no more time to a job that was asked to stop; called in the event loop."""
        self.hurried = True
        if self._on_hurry is not None:
            self._on_hurry()

    def subscribe_hurry(self, listener: Callable[[], object]) -> None:
        """Call ``listener``, the only one, in the event loop once there is no more time; at once if that is so."""
        self._on_hurry = listener
        if self.hurried:
            listener()

    def abandon(self) -> None:
        """Note that nobody waits any more; called in the event loop."""
        self.abandoned.set()

    def note_unstoppable(self, steps: Collection[str] = ()) -> None:
        """Note that the job passed its hard stop, in these steps, and cannot be killed."""
        self.unstoppable = True
        line = "should have stopped, but a thread cannot be killed; waiting for it to end"
        if steps:
            line = f"{line} (step {', '.join(sorted(steps))})"
        self.log(logging.ERROR, line, None)

    def stop_reason(self) -> StopReason | None:
        """Return why the job should stop; None if it need not."""
        return self.signal.reason

    @property
    def maker(self) -> StartedBy:
        """Return the run, as a flow names it that the job enqueues."""
        return StartedBy(self.started.run.id, self.started.run.task_id)

    def remaining(self) -> float | None:
        """Return the seconds left of the time box."""
        return self.signal.remaining()

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Keep a line with the execution."""
        line = RawLine.now(level, message, fields, self.redactor)
        if self.export_line is not None:
            self.export_line(line)
        if self.trace is not None:
            line = line.also(self.trace)
        pause = self._lines.write(self.started.execution_id, (line,))
        if pause and threading.get_ident() != self._thread:
            time.sleep(pause)

    def hide(self, secrets: Mapping[str, str]) -> None:
        """Start to cut these secrets out of the job's output.

        Args:
            secrets: Value by name.
        """
        self.redactor = Redactor(secrets)
        self._pieces = Pieces(self.redactor, self._keep_printed)
        IN_USE.add(secrets)

    def printed(self, text: str, show: Callable[[str], object], *, keep: bool) -> None:
        """Show the prints of the job, without its secrets; and keep them with the execution, line by line, if asked."""
        if self._pieces is not None:
            self._pieces.write(text, show, keep=keep)
            return
        if keep:
            self._keep_printed(text)
        show(text)

    def _keep_printed(self, text: str) -> None:
        if self._prints is None:
            self._prints = Lines()
        for line in self._prints.take(text):
            self.log(logging.INFO, line, None)

    def end_prints(self) -> None:
        """Show and keep the last printed text, without an end of its line."""
        if self._pieces is not None:
            self._pieces.end()
        for line in [] if self._prints is None else self._prints.rest():
            self.log(logging.INFO, line, None)

    def log_all(self, lines: Iterable[RawLine], *, dropped: int) -> None:
        """Keep lines that a child process sent."""
        trace, export_line = self.trace, self.export_line
        if export_line is not None:
            lines = list(lines)
            for line in lines:
                export_line(line)
        kept = lines if trace is None else [line.also(trace) for line in lines]
        self._lines.write(self.started.execution_id, kept, dropped=dropped)

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the job is."""
        if self._is_over:
            # The run's next attempt has a progress of its own.
            return
        self.latest_progress = progress_document(done, total, message, self.redactor)
        self._show_progress(self.started, self.latest_progress)

    def checkpoint(self) -> Json:
        """Return the last checkpoint."""
        return self._checkpoint

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        """Keep a checkpoint; in a thread this waits until it is durable."""
        self._refuse_if_over("save a checkpoint")
        self._checkpoint = self.redactor.json(plain_json(value, "the checkpoint"))
        if threading.get_ident() != self._thread:
            self.wait_for("ctx.save_checkpoint", self._saved(self._checkpoint))
            return Done()
        saving = _Saving(as_node(asyncio.ensure_future, self._saved(self._checkpoint)))
        self._savings = [one for one in self._savings if not one.is_over] + [saving]
        return saving

    async def keep_checkpoint(self, value: Json) -> None:
        """Keep a checkpoint that a child process sent."""
        self._checkpoint = value
        await self._saved(value)

    async def _saved(self, value: Json) -> None:
        # Checkpoints become durable in the order in which the job saved them.
        if self._order is None:
            self._order = asyncio.Lock()
        async with self._order:
            await self._save(self.started, value)

    async def await_checkpoints(self) -> BaseException | None:
        """Wait for checkpoints that the job saved without awaiting; return the first fault if one could not be kept."""
        faults = [await saving.fault() for saving in self._savings]
        return next((fault for fault in faults if fault is not None), None)

    @property
    def steps(self) -> JobSteps:
        """The steps of the attempt."""
        if self._job_steps is None:
            self._job_steps = JobSteps(self, self._step_store, self._pause)
        return self._job_steps

    async def end_steps(self) -> frozenset[str]:
        """Wait until the ends of the steps are stored; return the labels of results that the job did not ask for."""
        return frozenset() if self._job_steps is None else await self._job_steps.end()
