"""The steps of a job in its child process: the node stores them."""

import asyncio
import itertools
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Any

from ...base.branches import Branches
from ...core.durable.steps import StepEnd, StoredStep
from ...core.durable.waits import Wait
from ...core.model import Json
from ..job.redaction import Redactor
from ..job.results import failed_step_line, message_of
from ..job.stopping import StopSignal, wait_unless_stopped
from ..job.values import plain_json
from .outbox import Connection
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
