"""The host of a job in its child process: it sends the messages of the job to the node, and brings the answers back."""

import asyncio
import itertools
import logging
import threading
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...base.branches import Branches, RunIsOverError
from ...base.context import StopReason
from ...base.hiding import Redactor
from ...base.outside import Done
from ...core.base.errors import NotFound, python_names
from ...core.base.lazy import LazyModule
from ...core.flows import FlowSpec, StartedBy
from ...core.model import Json
from ...core.run_spec import RunSpec, RunTarget
from ...core.states import RunState
from ...core.steps import StepEnd, StoredStep
from ...core.waits import RunChange, Wait
from ..job.lines import RawLine
from ..job.ownership import StopSignal, wait_unless_stopped
from ..job.printing import Lines, Pieces
from ..job.results import failed_step_line, message_of
from ..job.values import plain_json, progress_document
from .wire import (
    Answer,
    BeginWait,
    ChangeRun,
    Enqueue,
    FindStep,
    KeepStep,
    MakeSignalUrl,
    Outbox,
    Progress,
    Request,
    Save,
    Sender,
)

if TYPE_CHECKING:
    from ...queue.enqueue import requests
    from ...queue.flows import new_flows
else:
    # They bring SQLAlchemy, which a fork would have to copy for every child.
    requests = LazyModule("cronograph.jobs.queue.enqueue.requests")
    new_flows = LazyModule("cronograph.jobs.queue.flows.new_flows")

T = TypeVar("T")


class StepRefusedError(Exception):
    """The node could not store a step, or read it; the message says why."""


class CheckpointRefusedError(Exception):
    """The node could not store a checkpoint; the message says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the checkpoint could not be kept: {why}")


class EnqueueRefusedError(Exception):
    """The node could not put runs into the queue; the message says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the runs could not be put into the queue: {why}")


class ChangeRefusedError(Exception):
    """The node could not change a run; the message says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the run could not be changed: {why}")


def _refused_change(why: str) -> Exception:
    kind, _, message = why.partition(": ")
    return NotFound(message) if kind == NotFound.__name__ else ChangeRefusedError(why)


class Requests:
    """The requests of a child that its node has not answered yet; every call is safe from any thread."""

    def __init__(self, connection: Sender) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self._asked: dict[int, tuple[Future[Any], Callable[[Answer], Any], Callable[[str], Exception]]] = {}
        self._lock = threading.Lock()
        self._is_over = False

    def ask(
        self,
        wish: str,
        request: Callable[[int], Request],
        pick: Callable[[Answer], T],
        refused: Callable[[str], Exception] = StepRefusedError,
    ) -> Future[T]:
        """Send a request.

        Args:
            wish: The request of the job, for the error of a run that is over.
            request: Makes the message of this number.
            pick: Takes the result from the answer.
            refused: Makes the exception of a refusal.

        Raises:
            RunIsOverError: the run has ended.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._is_over:
                raise RunIsOverError(f"a thread wanted to {wish} for a run that has ended")
            number = next(self._numbers)
            self._asked[number] = future, pick, refused
            self._connection.send(request(number))
        return future

    def on_answer(self, answer: Answer) -> None:
        """Hand an answer to the code that waits for it."""
        with self._lock:
            asked = self._asked.pop(answer.number, None)
        if asked is None:
            return
        future, pick, refused = asked
        if answer.error is None:
            future.set_result(pick(answer))
        else:
            future.set_exception(refused(answer.error))

    def wait_all(self) -> None:
        """Block until every request is answered, whether anybody waits for it or not."""
        with self._lock:
            asked = [future for future, _, _ in self._asked.values()]
        for one in asked:
            one.exception()

    def end(self) -> None:
        """Take no more requests."""
        with self._lock:
            self._is_over = True


class ChildSteps:
    """The steps of an attempt, which its node stores; every call is safe from any thread.

    Args:
        host: The host of the job.
        may_have_steps: Earlier attempts at the run may have stored steps.
    """

    def __init__(self, host: "ChildHost", *, may_have_steps: bool) -> None:
        self._host = host
        self.may_have_steps = may_have_steps

    @property
    def branches(self) -> Branches:
        """The tasks and steps that the attempt has begun."""
        return self._host.branches

    def _ask(self, request: Callable[[int], Request], pick: Callable[[Answer], T]) -> Future[T]:
        return self._host.requests.ask("take a step", request, pick)

    def _find(self, label: str) -> Future[StoredStep | None]:
        return self._ask(lambda number: FindStep(number=number, label=label), lambda answer: answer.step)

    def _keep(self, end: StepEnd) -> Future[None]:
        return self._ask(lambda number: KeepStep(number=number, end=end), lambda _answer: None)

    def _begin_wait(self, asked: Wait) -> Future[Any]:
        return self._ask(lambda number: BeginWait(number=number, wait=asked), lambda answer: answer.step)

    def _signal_url(self, label: str, page: Mapping[str, Json] | None) -> Future[Any]:
        shown = None if page is None else dict(page)
        return self._ask(
            lambda number: MakeSignalUrl(number=number, label=label, page=shown), lambda answer: answer.url
        )

    def left_step(self, label: str) -> None:
        """Return nothing: code that an earlier attempt left behind was killed with its process."""

    def left_step_waiting(self, label: str) -> None:
        """Return at once; see ``left_step``."""

    def find_step(self, label: str) -> Awaitable[StoredStep | None]:
        """Return the stored state of a step."""
        return asyncio.wrap_future(self._find(label))

    def find_step_waiting(self, label: str) -> StoredStep | None:
        """Do the same as ``find_step`` for code that no event loop runs."""
        return self._find(label).result()

    def keep_step(self, end: StepEnd) -> Awaitable[None]:
        """Store the end of a step, whether it is awaited or not."""
        return _Keeping(self._keep(end))

    def keep_step_waiting(self, end: StepEnd) -> None:
        """Do the same as ``keep_step`` for code that no event loop runs."""
        self._keep(end).result()

    def begin_wait(self, asked: Wait) -> Awaitable[StoredStep]:
        """Begin a wait unless it has begun, and end it if its event has come; return its state."""
        return asyncio.wrap_future(self._begin_wait(asked))

    def begin_wait_waiting(self, asked: Wait) -> StoredStep:
        """Do the same as ``begin_wait`` for code that no event loop runs."""
        found: StoredStep = self._begin_wait(asked).result()
        return found

    def signal_url(self, label: str, page: Mapping[str, Json] | None = None) -> Awaitable[str]:
        """Return a new address for the signal of a wait."""
        return asyncio.wrap_future(self._signal_url(label, page))

    def signal_url_waiting(self, label: str, page: Mapping[str, Json] | None = None) -> str:
        """Do the same as ``signal_url`` for code that no event loop runs."""
        made: str = self._signal_url(label, page).result()
        return made

    def step_json(self, value: Json, label: str) -> Json:
        """Return the value of a step as it is stored."""
        return self._host.redactor.json(plain_json(value, f"the value of step '{label}'"))

    def step_cleanup(self, run: RunSpec) -> RunSpec:
        """Return the run that undoes a step as it is stored."""
        with python_names():
            requests.new_run(run)
        return replace(run, args=self._host.redactor.json(dict(run.args or {})))

    def step_failed(self, label: str, error: BaseException, retry_in: float | None) -> str:
        """Note that a step failed; return the message."""
        message = message_of(error, self._host.redactor)
        self._host.log(logging.WARNING, failed_step_line(label, error, message, retry_in), None)
        return message

    def pause(self, seconds: float) -> Awaitable[None]:
        """Wait."""
        return asyncio.sleep(seconds)

    def pause_waiting(self, seconds: float) -> bool:
        """Do the same as ``pause`` for code that no event loop runs; return False at once if the job should stop."""
        return wait_unless_stopped(self._host.signal, seconds)


class _Keeping(Awaitable[None]):
    """The end of a step on its way to the node, whether the job waits for it or not."""

    def __init__(self, keeping: Future[None]) -> None:
        self._keeping = keeping

    def __await__(self) -> Any:  # noqa: ANN401 - what an event loop takes
        yield from asyncio.shield(asyncio.wrap_future(self._keeping)).__await__()


class _Saving(Awaitable[None]):
    """A checkpoint on its way to the node; whether the job waits for it or not."""

    def __init__(self, future: Future[None]) -> None:
        self._future = future
        self._awaited = False

    def __await__(self) -> Generator[Any, None, None]:
        self._awaited = True
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def wait(self) -> None:
        """Block until it is stored; raise if it could not be."""
        self._awaited = True
        self._future.result()

    @property
    def is_over(self) -> bool:
        """Return whether it is stored, or the job knows that it is not."""
        return self._future.done() and (self._awaited or self._future.exception() is None)

    def fault(self) -> BaseException | None:
        """Block until it is stored; return why it could not be, unless the job knows already."""
        fault = self._future.exception()
        return None if self._awaited else fault


class ChildHost:
    """Implements ``Host`` in a child process; every call is safe from any thread.

    Args:
        signal: Why and when to stop.
        checkpoint: The last one of the task.
        redactor: Cuts the secrets that the job was given out of its output.
        maker: The run, as a flow names it that the job enqueues.
        may_have_steps: Earlier attempts at the run may have stored steps.
        grace: Seconds that tasks have to end, or to begin a step while others wait.

    Attributes:
        branches: The tasks and steps that the attempt has begun.
        main: The task of a coroutine.
        at_end: The runs to enqueue if the attempt ends well.
        steps: The steps of the attempt.
    """

    def __init__(
        self,
        connection: Sender,
        signal: StopSignal,
        checkpoint: Json,
        redactor: Redactor,
        *,
        maker: StartedBy,
        may_have_steps: bool = False,
        grace: float = 10.0,
    ) -> None:
        self._maker = maker
        self.requests = Requests(connection)
        self.signal = signal
        self._checkpoint = checkpoint
        self.redactor = redactor
        self._outbox = Outbox(connection)
        self._savings: list[_Saving] = []
        self.at_end: list[RunSpec] = []
        self._prints = Lines()
        self._pieces = Pieces(redactor, self._keep_printed)
        self._lock = threading.Lock()
        self.main: asyncio.Task[Any] | None = None
        self.branches = Branches(lambda: self.main, grace, lambda: signal.reason is not None)
        self.steps = ChildSteps(self, may_have_steps=may_have_steps)

    def note_late(self, steps: Collection[str]) -> None:
        """Log that something the attempt has begun, in these steps, still goes on."""
        where = f" (step {', '.join(sorted(steps))})" if steps else ""
        self.log(logging.ERROR, f"the job has left, but work that it began goes on{where}; waiting for it to end", None)

    def stop_reason(self) -> StopReason | None:
        """Return why the job should stop; None if it need not."""
        return self.signal.reason

    @property
    def maker(self) -> StartedBy:
        """Return the run, as a flow names it that the job enqueues."""
        return self._maker

    def remaining(self) -> float | None:
        """Return the seconds left of the time box."""
        return self.signal.remaining()

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Keep a line with the execution."""
        self._outbox.line(RawLine.now(level, message, fields, self.redactor))

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the job is."""
        self._outbox.progress(Progress(**progress_document(done, total, message, self.redactor)))

    def checkpoint(self) -> Json:
        """Return the last checkpoint."""
        return self._checkpoint

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        """Keep a checkpoint; outside of an event loop this waits until it is durable."""
        self._checkpoint = self.redactor.json(plain_json(value, "the checkpoint"))
        saved = self._checkpoint
        asked = self.requests.ask(
            "save a checkpoint",
            lambda number: Save(number=number, value=saved),
            lambda _answer: None,
            CheckpointRefusedError,
        )
        saving = _Saving(asked)
        with self._lock:
            self._savings = [one for one in self._savings if not one.is_over] + [saving]
        if _in_event_loop():
            return saving
        saving.wait()
        return Done()

    def await_checkpoints(self) -> BaseException | None:
        """Wait for checkpoints that the job saved without awaiting; return why one could not be stored."""
        with self._lock:
            under_way = list(self._savings)
        faults = [saving.fault() for saving in under_way]
        return next((fault for fault in faults if fault is not None), None)

    def enqueue(self, runs: Sequence[RunSpec]) -> Awaitable[list[int]]:
        """Ask the node to put runs into the queue; return their ids."""
        return asyncio.wrap_future(self._ordered(runs))

    def enqueue_waiting(self, runs: Sequence[RunSpec]) -> list[int]:
        """Do the same as ``enqueue`` for code that no event loop runs."""
        return self._ordered(runs).result()

    async def enqueue_flow(self, flow: FlowSpec) -> int:
        """Ask the node to put a flow into the queue; return its id."""
        new_flows.new_flow(flow)
        (flow_id,) = await asyncio.wrap_future(self._ordered((), flow))
        return flow_id

    def enqueue_flow_waiting(self, flow: FlowSpec) -> int:
        """Do the same as ``enqueue_flow`` for code that no event loop runs."""
        new_flows.new_flow(flow)
        (flow_id,) = self._ordered((), flow).result()
        return flow_id

    def _ordered(self, runs: Sequence[RunSpec], flow: FlowSpec | None = None) -> "Future[list[int]]":
        # What is wrong with them is said here, as an exception of the job's own call.
        requests.new_runs(runs)
        return self.requests.ask(
            "enqueue runs",
            lambda number: Enqueue(number=number, runs=list(runs), flow=flow),
            lambda answer: answer.ids,
            EnqueueRefusedError,
        )

    def change(self, target: RunTarget, change: RunChange) -> Awaitable[RunState]:
        """Ask the node to change a run of the queue; return its state then."""
        return asyncio.wrap_future(self._changed(target, change))

    def change_waiting(self, target: RunTarget, change: RunChange) -> RunState:
        """Do the same as ``change`` for code that no event loop runs."""
        return self._changed(target, change).result()

    def _changed(self, target: RunTarget, change: RunChange) -> "Future[RunState]":
        return self.requests.ask(
            "change a run",
            lambda number: ChangeRun(number=number, target=target, change=change),
            lambda answer: RunState(str(answer.state)),
            _refused_change,
        )

    def enqueue_at_end(self, runs: Sequence[RunSpec]) -> None:
        """Put runs into the queue in the transaction that ends the attempt, if it ends well."""
        requests.new_runs(runs)
        self.at_end += runs

    def printed(self, text: str, show: Callable[[str], object], *, keep: bool) -> None:
        """Show the prints of the job, without its secrets; and keep them with the execution, line by line, if asked."""
        self._pieces.write(text, show, keep=keep)

    def _keep_printed(self, text: str) -> None:
        self._log_printed(self._prints.take(text))

    def _log_printed(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.log(logging.INFO, line, None)

    def end(self) -> None:
        """Send all lines and progress, and take nothing more: the process may run another job."""
        self._pieces.end()
        self._log_printed(self._prints.rest())
        self._outbox.end()
        self.requests.end()


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
