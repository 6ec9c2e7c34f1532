"""Executes one attempt, from its arguments to its outcome: a coroutine, a thread, or a child process.

``body_of`` binds the arguments, ``begin`` runs the job's first line, ``supervise`` waits for one that should stop.
Storing the outcome is another step.
"""

import asyncio
import contextlib
import contextvars
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from typing_extensions import override

from ...base.context import JobContext, StopReason, current_host
from ...base.services import Services
from ...core.base.errors import InvalidInput
from ...core.base.tracing import TRACED
from ...core.model import Isolation
from ...core.outcome import INVALID_ARGUMENTS, Failed, JobOutcome
from ...registry import Handler
from ..job.middleware import Middleware
from ..job.ownership import EXITS, owner
from ..job.results import from_exception, from_return, message_of, stopped
from ..process.children import LONGEST, LOOK_EVERY, ChildPool, WaitLimit
from .attempt import NO_PLACE, Attempt, Body, Running
from .child_bodies import ProcessBody

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Call(Generic[T]):
    """A call on its way to a thread, in one, or done.

    Attributes:
        function: What is called.
        context: Its context variables, a copy for this call alone.
        instead: The result of a call that got no thread.
        ended: What it returned.
        since: When it was submitted, by the monotonic clock.
    """

    function: Callable[[], T]
    context: contextvars.Context
    instead: T
    ended: "asyncio.Future[T]"
    since: float


class ThreadPool(Generic[T]):
    """At most ``size`` daemon threads, which never block the exit of the process.

    Everything but ``_serve`` belongs to one event loop. However many calls end at once, the loop is woken once.

    Args:
        size: How many threads there may be.
        look_every: Seconds between two looks at what waits.
    """

    def __init__(self, size: int, look_every: float = LOOK_EVERY) -> None:
        self._size = size
        self._look_every = look_every
        self._wait_limit = WaitLimit()
        self._queue: SimpleQueue[Call[T] | None] = SimpleQueue()
        # The taker of a call owns it: a thread, or the loop, which gives it back.
        self._waiting: dict[int, Call[T]] = {}
        self._threads: set[threading.Thread] = set()
        self._numbers = itertools.count(1)
        self._unfinished = 0
        self._done: deque[tuple[Call[T], Callable[[asyncio.Future[T]], None]]] = deque()
        self._is_woken = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many calls no thread has begun."""
        return len(self._waiting)

    def submit(self, function: Callable[[], T], instead: T, context: contextvars.Context | None = None) -> Call[T]:
        """Have a function called in a thread.

        Args:
            function: Takes no argument.
            instead: The result if threads do not become free any more, or if the call is recalled before it begins.
            context: For this call alone; None = a copy of the present one.

        Raises:
            RuntimeError: there is no thread, and none can be started.
        """
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context() if context is None else context
        call = Call(function, context, instead, loop.create_future(), time.monotonic())
        if self._unfinished >= len(self._threads) and len(self._threads) < self._size:
            self._start(loop)
        self._unfinished += 1
        self._waiting[id(call)] = call
        self._queue.put(call)
        if self._unfinished > len(self._threads) and self._timer is None:
            self._wait_limit.begin()
            # Not in the context of a job that happens to be the first to wait.
            self._timer = loop.call_later(0.0, self._look, loop, context=contextvars.Context())
        return call

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        thread = threading.Thread(target=self._serve, args=(loop,), name=f"job-{next(self._numbers)}", daemon=True)
        self._threads.add(thread)
        try:
            # A thread of its own context: it outlives the run for which it is started.
            contextvars.Context().run(thread.start)
        except RuntimeError:
            self._threads.discard(thread)
            if not self._threads:
                raise

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call one after the other, in a thread of the pool."""
        while (call := self._queue.get()) is not None:
            if self._waiting.pop(id(call), None) is None:
                continue
            self._done.append((call, _outcome(call)))
            if not self._is_woken:
                self._is_woken = True
                # The loop may be closed by now: a thread that outlives a shutdown has nobody left to tell.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._deliver)
            del call

    def _deliver(self) -> None:
        self._is_woken = False
        while self._done:
            call, settle = self._done.popleft()
            self._unfinished -= 1
            self._wait_limit.ended()
            if not call.ended.done():
                settle(call.ended)

    def recall(self, call: Call[T]) -> bool:
        """Give back a call that no thread has begun; whether it is one."""
        if self._waiting.pop(id(call), None) is None:
            return False
        self._unfinished -= 1
        if not call.ended.done():
            call.ended.set_result(call.instead)
        return True

    def recall_all(self) -> None:
        """Give back all that no thread has begun."""
        for call in list(self._waiting.values()):
            self.recall(call)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        is_over, due = self._wait_limit.is_over(), time.monotonic() - LONGEST
        for call in list(self._waiting.values()):
            if is_over or call.since <= due:
                self.recall(call)
        if self._waiting:
            self._timer = loop.call_later(self._look_every, self._look, loop)

    def close(self) -> None:
        """Let every thread end as soon as it is free; calls that none has begun are given back."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.recall_all()
        for _ in self._threads:
            self._queue.put(None)


def _outcome(call: Call[T]) -> "Callable[[asyncio.Future[T]], None]":
    try:
        result = call.context.run(call.function)
    except BaseException as error:
        return partial(_fail, error)
    return methodcaller("set_result", result)


def _fail(error: BaseException, ended: "asyncio.Future[T]") -> None:
    ended.set_exception(error)


_CANCEL_AGAIN = 1.0
_CANCEL_AGAIN_SOON = 0.02
"""Seconds after which a coroutine that swallowed its cancel is cancelled again; the second while the lease ends."""


async def execute(
    attempt: Attempt, services: Services | None, threads: ThreadPool[JobOutcome], children: ChildPool, *, grace: float
) -> JobOutcome:
    """Run the job to its end, its deadline or its cancel.

    Args:
        attempt: What to run.
        services: What the process offers to jobs.
        threads: Where plain functions run.
        children: Gives child processes.
        grace: Seconds between "please stop" and the hard stop.
    """
    body = body_of(attempt, services, threads, children)
    return body if isinstance(body, Failed) else await supervise(body, begin(body, attempt), attempt, grace)


def begin(body: Body, attempt: Attempt) -> Running:
    """Begin ``body`` in a context in which everything belongs to the attempt."""
    context = contextvars.copy_context()
    # Of a child process' job no code runs here.
    if not isinstance(body, ProcessBody):
        context.run(owner.set, attempt.host)
    if TRACED.by is not None:
        attempt.span = TRACED.by.attempt(attempt.traced())
        attempt.host.trace, attempt.host.export_line = attempt.span.fields, attempt.span.export_line
        context.run(attempt.span.enter)
    running = body.begin(context)
    if isinstance(body, CoroutineBody):
        attempt.host.main = running
    return running


def body_of(
    attempt: Attempt, services: Services | None, threads: ThreadPool[JobOutcome], children: ChildPool
) -> Body | Failed:
    """What will run the job; or why its arguments do not fit."""
    definition, around, info = attempt.definition, attempt.middleware, None
    try:
        if definition.context_parameter is not None or around is not None:
            info = JobContext(attempt.info(), attempt.host, services)
        # A child process binds its arguments itself; here they are only judged.
        arguments = definition.bind(attempt.args, info)
    except InvalidInput as error:
        return Failed(INVALID_ARGUMENTS, attempt.host.redactor.text(error.message), permanent=True)
    if around is not None and info is not None and definition.isolation is not Isolation.PROCESS:
        if definition.isolation is Isolation.THREAD:
            return MiddlewareThread(attempt, arguments, around, info, threads)
        return CoroutineBody(attempt, {"context": info, "arguments": arguments}, around.in_loop)
    match definition.isolation:
        case Isolation.ASYNC:
            return CoroutineBody(attempt, arguments)
        case Isolation.THREAD:
            return ThreadBody(attempt, arguments, threads)
        case Isolation.PROCESS:
            return ProcessBody(attempt, children)


async def supervise(body: Body, running: Running, attempt: Attempt, grace: float) -> JobOutcome:
    """Wait for ``running``; once it should stop, give it ``grace`` seconds, then stop it hard."""
    try:
        await _until_end_or(running, attempt.signal.remaining(), attempt.host.subscribe_stops)
        if not running.done():
            await _until_end_or(running, grace, attempt.host.subscribe_hurry)
        if running.done():
            return ended(running, attempt.signal.reason)
        return await body.stop_hard(running)
    except asyncio.CancelledError:
        running.cancel()
        raise


async def _until_end_or(
    running: Running, seconds: float | None, subscribe: Callable[[Callable[..., None]], None]
) -> None:
    """Wait for the end, for so many seconds, or until a subscribed listener is called."""
    # One future instead of a task that waits for the stop: most jobs are never asked to stop.
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def end(*_: object) -> None:
        if not over.done():
            over.set_result(None)

    deadline = None if seconds is None else loop.call_later(seconds, end)
    running.add_done_callback(end)
    subscribe(end)
    try:
        await over
    finally:
        running.remove_done_callback(end)
        if deadline is not None:
            deadline.cancel()


def ended(running: Running, stop: StopReason | None) -> JobOutcome:
    """The outcome of a body that is done."""
    if running.cancelled():
        # The job cancelled itself (asyncio's way, not ours): nobody asked for it, so it is a failure.
        return from_exception(RuntimeError("the job's coroutine was cancelled from inside"), stop)
    fault = running.exception()
    return from_exception(fault, stop) if isinstance(fault, EXITS) else running.result()


def outcome_of(attempt: Attempt, running: Running) -> JobOutcome:
    """``ended``; a fault outside the job fails the attempt."""
    try:
        return ended(running, attempt.signal.reason)
    except Exception as error:
        return executor_failed(attempt, error)


def executor_failed(attempt: Attempt, error: BaseException) -> Failed:
    """How an attempt ends that could not be executed; the fault is logged."""
    log.error("executing run %d failed outside its job", attempt.started.run.id, exc_info=error)
    return Failed(type(error).__name__, f"the executor failed: {message_of(error, attempt.host.redactor)}")


def fault_of_arguments(args: object) -> Failed | None:
    """How an attempt ends whose run has arguments that are none: somebody has written them past the product."""
    if isinstance(args, dict):
        return None
    shown = f"the arguments of the run must be an object, got {args!r:.60}"
    return Failed("UnreadableRow", f"{shown}; set column args of its row right in the database", permanent=True)


class CoroutineBody:
    """A coroutine on the event loop: it can be cancelled, as long as it awaits something now and then.

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
    """A plain function in a thread of the node: nothing can stop it but itself."""

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


class MiddlewareThread(ThreadBody):
    """A thread whose job has hooks or resources: what needs an event loop goes around it, the rest inside."""

    def __init__(
        self,
        attempt: Attempt,
        arguments: dict[str, Any],
        middleware: Middleware,
        context: JobContext,
        threads: ThreadPool[JobOutcome],
    ) -> None:
        super().__init__(attempt, arguments, threads)
        self._middleware = middleware
        self._context = context
        self._raised: BaseException | None = None

    @override
    def begin(self, context: contextvars.Context) -> Running:
        """Begin in a task of its own, for what needs the event loop."""
        return asyncio.get_running_loop().create_task(self._run(), context=context)

    async def _run(self) -> JobOutcome:
        """Enter what needs the event loop, whose context the thread inherits; then as any thread."""
        current_host.set(self._attempt.host)
        around = self._middleware.outside(self._context)
        await around.enter()
        try:
            return await super().begin(contextvars.copy_context())
        except BaseException as error:
            self._raised = error
            raise
        finally:
            await around.leave(self._raised)

    @override
    def _handle(self) -> object:
        try:
            return self._middleware.call(self._context, self._arguments)
        except BaseException as error:
            self._raised = error
            raise


async def _ended_or_abandoned(running: Running, abandoned: asyncio.Event, timeout: float | None) -> bool:
    """Wait for the end, for ``timeout`` seconds, or until nobody waits any more; whether it has ended."""
    left = asyncio.ensure_future(abandoned.wait())
    either: list[asyncio.Future[Any]] = [running, left]
    try:
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        left.cancel()
    return running.done()
