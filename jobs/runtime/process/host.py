"""The host of a job in its child process: what the job says goes to the node, and stop requests come from there."""

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
from ...core.flows.spec import FlowSpec
from ...core.model import Json
from ...core.run_spec import RunSpec
from ..job.done import Done
from ..job.lines import RawLine
from ..job.printing import Lines, Pieces
from ..job.redaction import Redactor
from ..job.stopping import StopSignal
from ..job.values import plain_json, progress_document
from .outbox import Connection, Outbox
from .steps import ChildSteps
from .wire import Enqueue, Enqueued, Progress, Save, Saved

if TYPE_CHECKING:
    from ...queue.enqueue import enqueue_many
    from ...queue.flows import enqueue_flow
else:
    # They bring SQLAlchemy, which a fork would have to copy for every child.
    enqueue_many = LazyModule("cronograph.jobs.queue.enqueue.enqueue_many")
    enqueue_flow = LazyModule("cronograph.jobs.queue.flows.enqueue_flow")


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
