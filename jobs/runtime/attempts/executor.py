"""Runs one attempt of one run and says how it ended, as a value; storing that is another step."""

import asyncio
import contextvars
from collections.abc import Callable

from ...context import JobContext, StopReason
from ...core.errors import InvalidInput
from ...core.model import Isolation
from ...core.outcome import INVALID_ARGUMENTS, Failed, JobOutcome
from ...services import Services
from ..job.ownership import EXITS, owner
from ..job.results import from_exception
from ..process.children import ChildPool
from .attempt import Attempt
from .bodies import Body, CoroutineBody, Running, ThreadBody
from .middleware_thread import MiddlewareThread
from .process_body import ProcessBody
from .threads import ThreadPool


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
