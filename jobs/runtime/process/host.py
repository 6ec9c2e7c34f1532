"""The host of a job in its child process: it sends to the node what the job says, and brings the answers back."""

import asyncio
import itertools
import logging
import threading
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ...base.branches import Branches, RunIsOverError
from ...base.context import StopReason
from ...core.base.lazy import LazyModule
from ...core.flows import FlowSpec
from ...core.model import Json
from ...core.run_spec import RunSpec
from ..job.lines import RawLine
from ..job.printing import Lines, Pieces
from ..job.stopping import Done, StopSignal
from ..job.values import Redactor, plain_json, progress_document
from .wire import Connection, Enqueue, Enqueued, Outbox, Progress, Save, Saved

if TYPE_CHECKING:
    from ...queue.enqueue import enqueue_many
    from ...queue.flows import enqueue_flow
else:
    # They bring SQLAlchemy, which a fork would have to copy for every child.
    enqueue_many = LazyModule("cronograph.jobs.queue.enqueue.enqueue_many")
    enqueue_flow = LazyModule("cronograph.jobs.queue.flows.enqueue_flow")
from ...core.steps import StepEnd, StoredStep
from ...core.waits import Wait
from ..job.results import failed_step_line, message_of
from ..job.stopping import wait_unless_stopped
from .wire import BeginWait, FindStep, FoundStep, KeepStep, KeptStep, MadeSignalUrl, MakeSignalUrl, Message

Log = Callable[[int, str, Mapping[str, Json] | None], None]


class StepRefusedError(Exception):
    """The node could not store a step, or say what is stored of it; the message says why."""


class ChildSteps:
    """What an attempt asks of its steps; every call is safe from any thread.

    Args:
        connection: To the node.
        signal: Why and when to stop.
        redactor: Cuts the secrets that the job was given out of what it says.
        log: Keeps a line with the execution.
        check: Raises if the run is over.
        may_have_steps: Earlier attempts at the run may have stored steps.
        branches: What the attempt has begun.
    """

    def __init__(
        self,
        connection: Connection,
        signal: StopSignal,
        redactor: Redactor,
        log: Log,
        check: Callable[[str], None],
        *,
        may_have_steps: bool,
        branches: Branches,
    ) -> None:
        self._connection = connection
        self._signal = signal
        self._redactor = redactor
        self._log = log
        self._check = check
        self.may_have_steps = may_have_steps
        self.branches = branches
        self._numbers = itertools.count(1)
        self._asked: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()

    def _ask(self, request: Callable[[int], Message]) -> Future[Any]:
        answer: Future[Any] = Future()
        with self._lock:
            self._check("take a step")
            number = next(self._numbers)
            self._asked[number] = answer
            self._connection.send(request(number))
        return answer

    def on_answer(self, answer: FoundStep | KeptStep | MadeSignalUrl) -> None:
        """The node has answered."""
        with self._lock:
            asked = self._asked.pop(answer.number, None)
        if asked is None:
            return
        if answer.error is not None:
            asked.set_exception(StepRefusedError(answer.error))
        elif isinstance(answer, MadeSignalUrl):
            asked.set_result(answer.url)
        else:
            asked.set_result(answer.step if isinstance(answer, FoundStep) else None)

    def wait_all(self) -> None:
        """Block until the node has answered all that was asked, whether anybody waits for it or not."""
        with self._lock:
            asked = list(self._asked.values())
        for one in asked:
            one.exception()

    def left_step(self, label: str) -> None:
        """Return nothing: what an earlier attempt left behind was killed with its process."""

    def left_step_waiting(self, label: str) -> None:
        """Return at once; see ``left_step``."""

    def find_step(self, label: str) -> Awaitable[StoredStep | None]:
        """What is stored of a step."""
        return asyncio.wrap_future(self._ask(lambda number: FindStep(number=number, label=label)))

    def find_step_waiting(self, label: str) -> StoredStep | None:
        """``find_step`` for code that no event loop runs."""
        found: StoredStep | None = self._ask(lambda number: FindStep(number=number, label=label)).result()
        return found

    def keep_step(self, end: StepEnd) -> Awaitable[None]:
        """Store the end of a step, whether it is awaited or not."""
        return _Keeping(self._ask(lambda number: KeepStep(number=number, end=end)))

    def keep_step_waiting(self, end: StepEnd) -> None:
        """``keep_step`` for code that no event loop runs."""
        self._ask(lambda number: KeepStep(number=number, end=end)).result()

    def begin_wait(self, asked: Wait) -> Awaitable[StoredStep]:
        """Begin a wait unless it has begun, and end it if what it waits for is there; returns its state."""
        return asyncio.wrap_future(self._ask(lambda number: BeginWait(number=number, wait=asked)))

    def begin_wait_waiting(self, asked: Wait) -> StoredStep:
        """``begin_wait`` for code that no event loop runs."""
        found: StoredStep = self._ask(lambda number: BeginWait(number=number, wait=asked)).result()
        return found

    def signal_url(self, label: str) -> Awaitable[str]:
        """A new address for the signal that this wait takes."""
        return asyncio.wrap_future(self._ask(lambda number: MakeSignalUrl(number=number, label=label)))

    def signal_url_waiting(self, label: str) -> str:
        """``signal_url`` for code that no event loop runs."""
        made: str = self._ask(lambda number: MakeSignalUrl(number=number, label=label)).result()
        return made

    def step_json(self, value: Json, label: str) -> Json:
        """The value of a step as it is stored."""
        return self._redactor.json(plain_json(value, f"the value of step '{label}'"))

    def step_failed(self, label: str, error: BaseException, retry_in: float | None) -> str:
        """Note that a step failed; the message."""
        message = message_of(error, self._redactor)
        self._log(logging.WARNING, failed_step_line(label, error, message, retry_in), None)
        return message

    def pause(self, seconds: float) -> Awaitable[None]:
        """Wait."""
        return asyncio.sleep(seconds)

    def pause_waiting(self, seconds: float) -> bool:
        """``pause`` for code that no event loop runs; False, and at once: the job should stop."""
        return wait_unless_stopped(self._signal, seconds)


class _Keeping(Awaitable[None]):
    """The end of a step on its way to the node, whether the job waits for it or not."""

    def __init__(self, keeping: Future[None]) -> None:
        self._keeping = keeping

    def __await__(self) -> Any:  # noqa: ANN401 - what an event loop takes
        yield from asyncio.shield(asyncio.wrap_future(self._keeping)).__await__()


class CheckpointRefusedError(Exception):
    """The node could not keep a checkpoint; the message says why."""


class EnqueueRefusedError(Exception):
    """The node could not put runs into the queue; the message says why."""


class _Saving(Awaitable[None]):
    """A checkpoint on its way to the node; whether the job waits for it or not."""

    def __init__(self) -> None:
        self._future: Future[None] = Future()
        self._awaited = False

    def __await__(self) -> Generator[Any, None, None]:
        self._awaited = True
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def wait(self) -> None:
        """Block until it is kept; raises if it could not be."""
        self._awaited = True
        self._future.result()

    def wait_quietly(self) -> None:
        """Block until it is kept or refused."""
        self._future.exception()

    def over(self, error: str | None) -> bool:
        """It was kept, or not; whether all is well or the job learns of it."""
        if error is None:
            self._future.set_result(None)
        else:
            self._future.set_exception(CheckpointRefusedError(f"the checkpoint could not be kept: {error}"))
        return error is None or self._awaited


class ChildHost:
    """Implements ``Host`` in a child process; every call is safe from any thread.

    Args:
        connection: To the node.
        signal: Why and when to stop.
        checkpoint: The last one of the task.
        redactor: Cuts the secrets that the job was given out of what it says.
        may_have_steps: Earlier attempts at the run may have stored steps.
        grace: Seconds that tasks have to end, or to begin a step while others wait.

    Attributes:
        branches: What the attempt has begun.
        main: The task of a coroutine.
        at_end: What is put into the queue if the attempt ends well.
        steps: Where its steps are stored.
    """

    def __init__(
        self,
        connection: Connection,
        signal: StopSignal,
        checkpoint: Json,
        redactor: Redactor,
        *,
        may_have_steps: bool = False,
        grace: float = 10.0,
    ) -> None:
        self._connection = connection
        self._signal = signal
        self._checkpoint = checkpoint
        self._redactor = redactor
        self._outbox = Outbox(connection)
        self._numbers = itertools.count(1)
        self._savings: dict[int, _Saving] = {}
        self._orders: dict[int, Future[list[int]]] = {}
        self.at_end: list[RunSpec] = []
        self._prints = Lines()
        self._pieces = Pieces(redactor, self._keep_printed)
        self._lock = threading.Lock()
        self._unsaved: str | None = None
        self._is_over = False
        self.main: asyncio.Task[Any] | None = None
        self.branches = Branches(lambda: self.main, grace, lambda: signal.reason is not None)
        self.steps = ChildSteps(
            connection,
            signal,
            redactor,
            self.log,
            self._check_under_way,
            may_have_steps=may_have_steps,
            branches=self.branches,
        )

    def note_late(self, steps: Collection[str]) -> None:
        """Say that something goes on which the attempt has begun, in these steps."""
        where = f" (step {', '.join(sorted(steps))})" if steps else ""
        self.log(logging.ERROR, f"the job has left, but what it began goes on{where}; waiting for it to end", None)

    def stop_reason(self) -> StopReason | None:
        """Why the job should stop, or None."""
        return self._signal.reason

    def remaining(self) -> float | None:
        """Seconds left of the time box."""
        return self._signal.remaining()

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Keep a line with the execution."""
        self._outbox.line(RawLine.now(level, message, fields, self._redactor))

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the job is."""
        self._outbox.progress(Progress(**progress_document(done, total, message, self._redactor)))

    def checkpoint(self) -> Json:
        """The last checkpoint."""
        return self._checkpoint

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        """Keep a checkpoint; outside of an event loop this waits until it is durable."""
        self._checkpoint = self._redactor.json(plain_json(value, "the checkpoint"))
        saving = _Saving()
        with self._lock:
            self._check_under_way("save a checkpoint")
            number = next(self._numbers)
            self._savings[number] = saving
            self._connection.send(Save(number=number, value=self._checkpoint))
        if _in_event_loop():
            return saving
        saving.wait()
        return Done()

    def on_saved(self, answer: Saved) -> None:
        """The node kept a checkpoint, or could not."""
        with self._lock:
            saving = self._savings.pop(answer.number, None)
            if saving is not None and not saving.over(answer.error):
                self._unsaved = self._unsaved or answer.error

    def await_checkpoints(self) -> str | None:
        """Wait for checkpoints that the job saved without awaiting; why one could not be kept."""
        with self._lock:
            under_way = list(self._savings.values())
        for saving in under_way:
            saving.wait_quietly()
        return self._unsaved

    def enqueue(self, runs: Sequence[RunSpec]) -> Awaitable[list[int]]:
        """Have the node put runs into the queue; their ids."""
        return asyncio.wrap_future(self._ordered(runs))

    def enqueue_waiting(self, runs: Sequence[RunSpec]) -> list[int]:
        """``enqueue`` for code that no event loop runs."""
        return self._ordered(runs).result()

    async def enqueue_flow(self, flow: FlowSpec) -> int:
        """Have the node put a flow into the queue; its id."""
        enqueue_flow.new_flow(flow)
        (flow_id,) = await asyncio.wrap_future(self._ordered((), flow))
        return flow_id

    def enqueue_flow_waiting(self, flow: FlowSpec) -> int:
        """``enqueue_flow`` for code that no event loop runs."""
        enqueue_flow.new_flow(flow)
        (flow_id,) = self._ordered((), flow).result()
        return flow_id

    def _ordered(self, runs: Sequence[RunSpec], flow: FlowSpec | None = None) -> "Future[list[int]]":
        # What is wrong with them is said here, as an exception of the job's own call.
        enqueue_many.new_runs(runs)
        answer: Future[list[int]] = Future()
        with self._lock:
            self._check_under_way("enqueue runs")
            number = next(self._numbers)
            self._orders[number] = answer
            self._connection.send(Enqueue(number=number, runs=list(runs), flow=flow))
        return answer

    def on_enqueued(self, answer: Enqueued) -> None:
        """The node put runs into the queue, or could not."""
        with self._lock:
            waiting = self._orders.pop(answer.number, None)
        if waiting is None:
            return
        if answer.error is None:
            waiting.set_result(answer.ids)
        else:
            waiting.set_exception(EnqueueRefusedError(f"the runs could not be put into the queue: {answer.error}"))

    def enqueue_at_end(self, runs: Sequence[RunSpec]) -> None:
        """Put runs into the queue in the transaction that ends the attempt, if it ends well."""
        enqueue_many.new_runs(runs)
        self.at_end += runs

    def printed(self, text: str, show: Callable[[str], object], *, keep: bool) -> None:
        """Show what the job printed, without its secrets; and keep it with the execution, line by line, if asked."""
        self._pieces.write(text, show, keep=keep)

    def _keep_printed(self, text: str) -> None:
        self._log_printed(self._prints.take(text))

    def _log_printed(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.log(logging.INFO, line, None)

    def _check_under_way(self, what: str) -> None:
        if self._is_over:
            raise RunIsOverError(f"a thread wanted to {what} for a run that has ended")

    def end(self) -> None:
        """Send all lines and progress, and take nothing more: the process may run another job."""
        self._pieces.end()
        self._log_printed(self._prints.rest())
        self._outbox.end()
        with self._lock:
            self._is_over = True


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
