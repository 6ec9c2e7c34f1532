"""The kinds of bodies a job can have in this process: a coroutine and a thread."""

import asyncio
import contextlib
import contextvars
from typing import Any, Final, NamedTuple, Protocol

from ...context import StopReason, current_host
from ...core.model import Isolation
from ...core.outcome import HandedBack, JobOutcome
from ...registry import Handler
from ..job.results import from_exception, from_return, stopped
from .attempt import Attempt
from .threads import Call, ThreadPool

_CANCEL_AGAIN = 1.0
_CANCEL_AGAIN_SOON = 0.02
"""Seconds after which a coroutine that swallowed its cancel is cancelled again; the second while the lease ends."""

NO_PLACE: Final[dict[Isolation, JobOutcome]] = {
    Isolation.ASYNC: HandedBack("it had not begun"),
    Isolation.THREAD: HandedBack("no thread of its node became free for it; it had not begun"),
    Isolation.PROCESS: HandedBack("no child process of its node became free for it; it had not begun"),
}
"""How an attempt ends for which there is no place soon enough, or that should stop before it has one."""

Running = asyncio.Future[JobOutcome]


class Alone(NamedTuple):
    """A body without a task that waits for it: its outcome to come, and what rings at the end of its time box."""

    running: Running
    deadline: asyncio.TimerHandle | None

    def end(self) -> None:
        """It is not alone any more."""
        if self.deadline is not None:
            self.deadline.cancel()


class Body(Protocol):
    """What runs a job's handler."""

    def begin(self, context: contextvars.Context) -> Running:
        """Begin; its outcome comes. Called in the node's own context; the job's code runs in ``context``."""
        ...

    async def stop_hard(self, running: Running) -> JobOutcome:
        """End ``running`` (of ``begin``, which did not leave when it was asked to), as far as that is possible."""
        ...


class CoroutineBody:
    """A coroutine on the event loop: it can be cancelled, as long as it awaits something now and then.

    Args:
        attempt: What it runs.
        arguments: Of the handler.
        handler: That of the job, unless something surrounds it.

    Attributes:
        attempt: What it runs; ``loop_watch`` finds it here when the coroutine keeps the loop from turning.
    """

    __slots__ = ("_arguments", "_handler", "attempt")

    def __init__(self, attempt: Attempt, arguments: dict[str, Any], handler: Handler | None = None) -> None:
        self.attempt = attempt
        self._arguments = arguments
        self._handler = handler or attempt.definition.handler

    def begin(self, context: contextvars.Context) -> Running:
        """Await the handler in a task of its own, which is the node's: other jobs do not find it."""
        name = f"cronograph-run-{self.attempt.started.run.id}"
        return asyncio.get_running_loop().create_task(self.run(), name=name, context=context)

    async def run(self) -> JobOutcome:
        """Await the handler."""
        current_host.set(self.attempt.host)
        host = self.attempt.host
        try:
            returned = await self._handler(**self._arguments)
            if host.exit is None:
                return from_return(returned, host.redactor)
            return self._raised(host.exit)
        except asyncio.CancelledError:
            # One of its tasks wanted to end the process: that ends the attempt, and is why it was cancelled.
            if host.exit is None:
                raise
            return self._raised(host.exit)
        except BaseException as error:
            # A SystemExit inside a job must not end the server, nor a GeneratorExit its attempt without a result.
            return self._raised(error)

    def _raised(self, error: BaseException) -> JobOutcome:
        attempt = self.attempt
        return from_exception(error, attempt.signal.reason, attempt.definition.policies, attempt.host.redactor)

    async def stop_hard(self, running: Running) -> JobOutcome:
        """Cancel it until it ends; on shutdown one that swallows every cancel is left behind."""
        host = self.attempt.host
        running.cancel()
        while not await _ended_or_abandoned(
            running, host.abandoned, _CANCEL_AGAIN_SOON if host.hurried else _CANCEL_AGAIN
        ):
            if host.abandoned.is_set():
                return stopped(StopReason.SHUTDOWN)
            running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        return stopped(self.attempt.signal.reason)


class ThreadBody:
    """A plain function in a thread of the node: nothing can stop it but itself.

    Args:
        attempt: What it runs.
        arguments: Of the handler.
        threads: The threads of the node.
    """

    def __init__(self, attempt: Attempt, arguments: dict[str, Any], threads: ThreadPool[JobOutcome]) -> None:
        self._attempt = attempt
        self._arguments = arguments
        self._threads = threads
        self._call: Call[JobOutcome] | None = None

    def begin(self, context: contextvars.Context) -> Running:
        """Have a thread call the handler."""
        self._call = self._threads.submit(self._work, NO_PLACE[Isolation.THREAD], context)
        self._attempt.host.subscribe_stops(self._recall)
        return self._call.ended

    def _recall(self, _reason: StopReason) -> None:
        """A job that should stop before it has begun does not begin."""
        if self._call is not None:
            self._threads.recall(self._call)

    def _work(self) -> JobOutcome:
        attempt = self._attempt
        current_host.set(attempt.host)
        try:
            returned = self._handle()
            if attempt.host.exit is None:
                return from_return(returned, attempt.host.redactor)
            fault = attempt.host.exit
        except BaseException as error:
            # A SystemExit inside a job must not pass for success.
            fault = error
        return from_exception(fault, attempt.signal.reason, attempt.definition.policies, attempt.host.redactor)

    def _handle(self) -> object:
        return self._attempt.definition.handler(**self._arguments)

    async def stop_hard(self, running: Running) -> JobOutcome:
        """Wait: its run stays running until the thread ends by itself; on shutdown it is left behind."""
        attempt = self._attempt
        attempt.host.note_unstoppable()
        if not await _ended_or_abandoned(running, attempt.host.abandoned, None):
            running.cancel()
            return stopped(StopReason.SHUTDOWN)
        outcome = await running
        return outcome if attempt.signal.reason is StopReason.CANCEL else stopped(attempt.signal.reason)


async def _ended_or_abandoned(running: Running, abandoned: asyncio.Event, timeout: float | None) -> bool:
    """Wait for the end, for ``timeout`` seconds, or until nobody waits any more; whether it has ended."""
    left = asyncio.ensure_future(abandoned.wait())
    either: list[asyncio.Future[Any]] = [running, left]
    try:
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        left.cancel()
    return running.done()
