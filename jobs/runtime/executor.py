"""Runs one attempt of one run and says how it ended, as a value; storing that is another step."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ..actions.claim import Started
from ..context import JobContext, RunInfo, StopReason, current_host
from ..core.errors import InvalidInput
from ..core.outcome import Cancelled, Failed, HandedBack, JobOutcome, TimedOut
from ..registry import Isolation, JobDefinition
from ..services import Services
from .host import LocalHost
from .results import from_exception, from_return
from .stopping import StopSignal


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt under way."""

    started: Started
    definition: JobDefinition
    signal: StopSignal
    host: LocalHost

    def info(self) -> RunInfo:
        """What the job may know of its attempt."""
        run = self.started.run
        deadline = None
        if run.timeout is not None and run.started_at is not None:
            deadline = run.started_at + timedelta(seconds=run.timeout)
        return RunInfo(
            run_id=run.id,
            execution_id=self.started.execution_id,
            job_name=run.job_name,
            task_id=run.task_id,
            task_name=run.task_name,
            attempt=run.attempt,
            is_last_attempt=run.failures >= run.retries,
            scheduled_for=run.scheduled_for,
            deadline=deadline,
            submitter=run.submitter,
            args=run.args,
        )


Body = Callable[[], Awaitable[JobOutcome]]


async def execute(attempt: Attempt, services: Services, *, grace: float) -> JobOutcome:
    """Run the job to its end, its deadline or its cancel.

    Args:
        attempt: What to run.
        services: What the process offers to jobs.
        grace: Seconds between "please stop" and the hard stop.
    """
    context = JobContext(attempt.info(), attempt.host, services)
    try:
        arguments = attempt.definition.bind(attempt.started.run.args, context)
    except InvalidInput as error:
        return Failed("InvalidArguments", error.message, permanent=True)
    if attempt.definition.isolation is Isolation.ASYNC:
        return await _supervise(_coroutine_body(attempt, arguments), attempt, grace, killable=True)
    return await _supervise(_thread_body(attempt, arguments), attempt, grace, killable=False)


def _coroutine_body(attempt: Attempt, arguments: dict[str, Any]) -> Body:
    async def body() -> JobOutcome:
        current_host.set(attempt.host)
        try:
            return from_return(await attempt.definition.handler(**arguments))
        except Exception as error:
            return from_exception(error, attempt.signal.reason)

    return body


def _thread_body(attempt: Attempt, arguments: dict[str, Any]) -> Body:
    async def body() -> JobOutcome:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[JobOutcome] = loop.create_future()

        def work() -> None:
            current_host.set(attempt.host)
            outcome = _call(attempt, arguments)
            # The loop may be closed by now: a thread that outlives a shutdown has nobody left to tell.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, ended, outcome)

        inherited = contextvars.copy_context()
        # A daemon thread never blocks the exit of the process.
        threading.Thread(
            target=lambda: inherited.run(work), name=f"job-{attempt.started.execution_id}", daemon=True
        ).start()
        return await ended

    return body


def _call(attempt: Attempt, arguments: dict[str, Any]) -> JobOutcome:
    try:
        return from_return(attempt.definition.handler(**arguments))
    except BaseException as error:  # a SystemExit inside a job must not pass for success
        return from_exception(error, attempt.signal.reason)


def _resolve(ended: asyncio.Future[JobOutcome], outcome: JobOutcome) -> None:
    if not ended.done():
        ended.set_result(outcome)


async def _supervise(body: Body, attempt: Attempt, grace: float, *, killable: bool) -> JobOutcome:
    """Wait for the body; once it should stop, give it ``grace`` seconds, then stop it hard if that can be done."""
    task = asyncio.ensure_future(body())
    try:
        await _until_stop_or_end(task, attempt.signal, attempt.host.stop_asked)
        if not task.done():
            await asyncio.wait([task], timeout=grace)
        if task.done():
            return await _ended(task, attempt.signal.reason)
        if not killable:
            return await _wait_for_thread(task, attempt)
        return await _kill(task, attempt.signal.reason)
    except asyncio.CancelledError:
        task.cancel()
        raise


async def _until_stop_or_end(task: asyncio.Future[JobOutcome], signal: StopSignal, asked: asyncio.Event) -> None:
    stop = asyncio.ensure_future(asked.wait())
    try:
        await asyncio.wait([task, stop], timeout=signal.remaining(), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()


async def _ended(task: asyncio.Future[JobOutcome], stop: StopReason | None) -> JobOutcome:
    try:
        return await task
    except asyncio.CancelledError:
        # The job cancelled itself (asyncio's way, not ours): nobody asked for it, so it is a failure.
        return from_exception(RuntimeError("the job's coroutine was cancelled from inside"), stop)


async def _kill(task: asyncio.Future[JobOutcome], reason: StopReason | None) -> JobOutcome:
    """Cancel a coroutine until it ends; one that swallows the cancel is cancelled again."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=1.0)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return _stopped(reason)


async def _wait_for_thread(task: asyncio.Future[JobOutcome], attempt: Attempt) -> JobOutcome:
    """A thread cannot be killed: its run stays running until the thread ends by itself; on shutdown it is left behind."""
    attempt.host.note_unstoppable()
    while not task.done():
        if attempt.signal.reason is StopReason.SHUTDOWN or attempt.host.abandoned.is_set():
            task.cancel()
            return _stopped(StopReason.SHUTDOWN)
        abandoned = asyncio.ensure_future(attempt.host.abandoned.wait())
        await asyncio.wait([task, abandoned], return_when=asyncio.FIRST_COMPLETED)
        abandoned.cancel()
    outcome = await task
    return outcome if attempt.signal.reason is StopReason.CANCEL else _stopped(attempt.signal.reason)


def _stopped(reason: StopReason | None) -> JobOutcome:
    match reason:
        case StopReason.CANCEL:
            return Cancelled("did not stop when asked to and was stopped hard")
        case StopReason.SHUTDOWN:
            return HandedBack("its node shut down before the job ended")
        case _:
            return TimedOut("used up its time box and did not leave when asked to")

