"""Executes one attempt, from its arguments to its outcome: a coroutine, a thread, or a child process.

``body_of`` binds the arguments, ``begin`` runs the job's first line, ``supervise`` waits for one that should stop.
Storing the outcome is another step.
"""

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ...base.context import JobContext, StopReason, current_host
from ...base.services import Services
from ...core.base.errors import InvalidInput
from ...core.base.tracing import TRACED
from ...core.model import Isolation
from ...core.outcome import INVALID_ARGUMENTS, Failed, JobOutcome
from ...own.forks import EndingForks
from ...registry import Handler
from ..job.middleware import HookStack
from ..job.ownership import EXITS, owner
from ..job.printing import guard_replaced_output
from ..job.results import from_exception, from_return, message_of, stopped, type_name
from ..process.children import ChildPool
from .attempt import NO_PLACE, Attempt, Running
from .child_bodies import ProcessBody
from .threads import ThreadPool

if TYPE_CHECKING:
    from .remote_bodies import RemoteBody

log = logging.getLogger(__name__)

_CANCEL_AGAIN = 1.0
_CANCEL_AGAIN_SOON = 0.02
"""Seconds after which a coroutine that swallowed its cancel is cancelled again; the second while the lease ends."""


class CoroutineBody:
    """A coroutine on the event loop: it can be cancelled, as long as it awaits something now and then.

    Attributes:
        attempt: The attempt that it runs; ``loop_watch`` finds it here when the coroutine keeps the loop from turning.
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
            with EndingForks():
                returned = await self._handler(**self._arguments)
            if host.exit is None:
                return from_return(returned, host.redactor)
            return _raised(self.attempt, host.exit)
        except asyncio.CancelledError:
            # One of its tasks wanted to end the process: that ends the attempt, and is why it was cancelled.
            if host.exit is None:
                raise
            return _raised(self.attempt, host.exit)
        except BaseException as error:
            # A SystemExit inside a job must not end the server, nor a GeneratorExit its attempt without a result.
            return _raised(self.attempt, error)

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
        reason = self.attempt.signal.reason
        with contextlib.suppress(asyncio.CancelledError):
            outcome = await running
            if reason is StopReason.CANCEL:
                return outcome
        return stopped(reason)


def _raised(attempt: Attempt, error: BaseException) -> JobOutcome:
    return from_exception(error, attempt.signal.reason, attempt.definition.policies, attempt.host.redactor)


class ThreadBody:
    """A plain function in a thread of the node: nothing can stop it but itself.

    Hooks and resources that need the event loop go around the thread, the others are inside it.
    """

    def __init__(
        self, attempt: Attempt, arguments: dict[str, Any], threads: ThreadPool[JobOutcome], info: JobContext | None
    ) -> None:
        self._attempt = attempt
        self._arguments = arguments
        self._threads = threads
        self._info = info
        self._raised: BaseException | None = None

    def begin(self, context: contextvars.Context) -> Running:
        """Have a thread call the handler."""
        around = self._attempt.middleware
        if around is None or self._info is None:
            return self._submit(context)
        # What needs the event loop is entered and left by a task of its own.
        return asyncio.get_running_loop().create_task(self._within(around.outside(self._info)), context=context)

    def _submit(self, context: contextvars.Context) -> Running:
        call = self._threads.submit(self._work, NO_PLACE[Isolation.THREAD], context)
        self._attempt.host.subscribe_stops(lambda _reason: self._threads.recall(call))
        return call.ended

    async def _within(self, around: HookStack) -> JobOutcome:
        current_host.set(self._attempt.host)
        await around.enter()
        try:
            # The thread inherits the context of the hooks.
            return await self._submit(contextvars.copy_context())
        except BaseException as error:
            self._raised = error
            raise
        finally:
            await around.leave(self._raised)
            # Its traceback holds what holds this.
            self._raised = None

    def _work(self) -> JobOutcome:
        attempt = self._attempt
        current_host.set(attempt.host)
        try:
            returned = self._handle()
            if attempt.host.exit is None:
                return from_return(returned, attempt.host.redactor)
            return _raised(attempt, attempt.host.exit)
        except BaseException as error:
            # A SystemExit inside a job must not pass for success.
            self._raised = None if attempt.middleware is None else error
            return _raised(attempt, error)

    def _handle(self) -> object:
        around = self._attempt.middleware
        with EndingForks():
            if around is None or self._info is None:
                return self._attempt.definition.handler(**self._arguments)
            return around.call(self._info, self._arguments)

    async def stop_hard(self, running: Running) -> JobOutcome:
        """Wait: its run stays running until the thread ends by itself; on shutdown it is left behind."""
        attempt = self._attempt
        attempt.host.note_unstoppable()
        if not await _ended_or_abandoned(running, attempt.host.abandoned, None):
            running.cancel()
            return stopped(StopReason.SHUTDOWN)
        outcome = await running
        return outcome if attempt.signal.reason is StopReason.CANCEL else stopped(attempt.signal.reason)


ELSEWHERE = frozenset({Isolation.PROCESS, Isolation.REMOTE})
"""Kinds of jobs whose code runs in another process than their node."""


async def _ended_or_abandoned(running: Running, abandoned: asyncio.Event, timeout: float | None) -> bool:
    """Wait for the end, for ``timeout`` seconds, or until nobody waits any more; return whether it has ended."""
    left = asyncio.ensure_future(abandoned.wait())
    either: list[asyncio.Future[Any]] = [running, left]
    try:
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        left.cancel()
    return running.done()


Body: TypeAlias = "CoroutineBody | ThreadBody | ProcessBody | RemoteBody"


def body_of(
    attempt: Attempt,
    services: Services | None,
    threads: ThreadPool[JobOutcome],
    children: ChildPool,
    at_engine: "Callable[[Attempt], RemoteBody] | None" = None,
) -> "Body | Failed":
    """Bind the arguments of a job, and return the body to run; or the end of the attempt, if they do not fit."""
    definition, around, info = attempt.definition, attempt.middleware, None
    try:
        if definition.context_parameter is not None or around is not None:
            info = JobContext(attempt.info(), attempt.host, services)
        # Another process binds its arguments itself; here they are only judged.
        arguments = definition.bind(attempt.args, info)
    except InvalidInput as error:
        return Failed(INVALID_ARGUMENTS, attempt.host.redactor.text(error.message), permanent=True)
    match definition.isolation:
        case Isolation.ASYNC if around is not None:
            return CoroutineBody(attempt, {"context": info, "arguments": arguments}, around.in_loop)
        case Isolation.ASYNC:
            return CoroutineBody(attempt, arguments)
        case Isolation.THREAD:
            return ThreadBody(attempt, arguments, threads, info)
        case Isolation.PROCESS:
            return ProcessBody(attempt, children)
        case Isolation.REMOTE:
            assert at_engine is not None
            return at_engine(attempt)


def begin(body: "Body", attempt: Attempt) -> Running:
    """Begin ``body`` in a context in which everything belongs to the attempt."""
    context = contextvars.copy_context()
    # Of a job in another process no code runs here.
    if attempt.definition.isolation not in ELSEWHERE:
        context.run(owner.set, attempt.host)
        guard_replaced_output()
    if TRACED.by is not None:
        attempt.span = TRACED.by.attempt(attempt.traced())
        attempt.host.trace, attempt.host.export_line = attempt.span.fields, attempt.span.export_line
        context.run(attempt.span.enter)
    running = body.begin(context)
    if isinstance(body, CoroutineBody):
        attempt.host.main = running
    return running


async def execute(
    attempt: Attempt, services: Services | None, threads: ThreadPool[JobOutcome], children: ChildPool, *, grace: float
) -> JobOutcome:
    """Run the job to its end, its deadline or its cancel.

    Args:
        attempt: The attempt to run.
        services: The services of the process for jobs.
        grace: Seconds between "please stop" and the hard stop.
    """
    body = body_of(attempt, services, threads, children)
    return body if isinstance(body, Failed) else await supervise(body, begin(body, attempt), attempt, grace)


async def supervise(body: "Body", running: Running, attempt: Attempt, grace: float) -> JobOutcome:
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
    """Return the outcome of a body that is done."""
    if running.cancelled():
        # The job cancelled itself (asyncio's way, not ours): nobody asked for it, so it is a failure.
        return from_exception(RuntimeError("the job's coroutine was cancelled from inside"), stop)
    fault = running.exception()
    return from_exception(fault, stop) if isinstance(fault, EXITS) else running.result()


def outcome_of(attempt: Attempt, running: Running) -> JobOutcome:
    """Return the outcome by ``ended``; a fault outside the job fails the attempt."""
    try:
        return ended(running, attempt.signal.reason)
    except Exception as error:
        return executor_failed(attempt, error)


def executor_failed(attempt: Attempt, error: BaseException) -> Failed:
    """Log a fault outside the job, and return the end of its attempt."""
    log.error("executing run %d failed outside its job", attempt.started.run.id, exc_info=error)
    return Failed(type_name(error), f"the executor failed: {message_of(error, attempt.host.redactor)}")


def fault_of_arguments(args: object) -> Failed | None:
    """Return the end of an attempt whose stored arguments are no object: somebody wrote them past the product."""
    if isinstance(args, dict):
        return None
    shown = f"the arguments of the run must be an object, got {args!r:.60}"
    return Failed("UnreadableRow", f"{shown}; set column args of its row right in the database", permanent=True)
