"""One attempt: its run, its state on the node, and its job's rules about its failures."""

import asyncio
import inspect
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ...base.context import RunInfo
from ...core.actor import Submitter
from ...core.arguments.secrets import resolved
from ...core.base.tracing import AttemptSpan, TracedAttempt
from ...core.model import Isolation, Json
from ...core.outcome import (
    Failed,
    Failure,
    HandedBack,
    JobOutcome,
    TimedOut,
    attempt_deadline,
    deadline_sentence,
    ends_run,
    is_over,
    judge,
)
from ...core.states import RunState
from ...own.threads import in_own_thread
from ...queue.claims.claim import Started
from ...queue.enqueue.enqueue import failure_of
from ...queue.finish import Finish
from ...registry import JobDefinition
from ..job.host import LocalHost
from ..job.middleware import Middleware
from ..job.ownership import Outsider, StopSignal, is_asked_to_end
from ..job.results import message_of, type_name

NO_PLACE: Final[dict[Isolation, JobOutcome]] = {
    Isolation.ASYNC: HandedBack("it had not begun"),
    Isolation.THREAD: HandedBack("no thread of its node became free for it; it had not begun"),
    Isolation.PROCESS: HandedBack("no child process of its node became free for it; it had not begun"),
    Isolation.REMOTE: HandedBack("it had not been submitted"),
}
"""The ends of attempts that find no place soon enough, or should stop before they have one."""

Running = asyncio.Future[JobOutcome]


@dataclass(slots=True)
class Attempt:
    """One attempt under way.

    Attributes:
        started: The run and its execution.
        signal: Why and when it should stop.
        host: Receives the messages of the job.
        secrets: Name to value of the secrets that its arguments refer to.
        middleware: Hooks and resources of its job; None = there are none.
        span: Its span in a tracing system; None = there is none.
        at_work: Its code has begun, and neither ended nor was it left behind.
        left_behind: Its code goes on after the node was cut off; its end is reported with the end of the life.
        received: When this process learned of its start, by its own time of day in seconds.
    """

    started: Started
    definition: JobDefinition
    signal: StopSignal
    host: LocalHost
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    middleware: Middleware | None = None
    span: AttemptSpan | None = None
    at_work: bool = False
    left_behind: bool = False
    received: float = field(default_factory=time.time)

    @property
    def args(self) -> Mapping[str, Json]:
        """The arguments that the job gets: secrets stand in the place of their references."""
        args = self.started.run.args
        return resolved(args, self.secrets) if self.secrets else args

    def ended(self, outcome: JobOutcome) -> Finish:
        """Return its end, where nothing else is to be kept of it."""
        progress, seconds = self.host.latest_progress, self.signal.elapsed()
        return Finish(
            self.started.run,
            self.started.execution_id,
            outcome,
            progress=progress,
            seconds=seconds,
            trace_id=self.trace_id,
        )

    @property
    def trace_id(self) -> str | None:
        """The trace in which it appears; None = in none, or in one that is not recorded."""
        return None if self.host.trace is None else self.host.trace.get("trace_id")

    def traced(self) -> TracedAttempt:
        """Return the facts for a tracing system."""
        run = self.started.run
        return TracedAttempt(
            run_id=run.id,
            execution_id=self.started.execution_id,
            job_name=run.job_name,
            attempt=run.attempt,
            group=run.group,
            task_name=run.task_name,
            node=run.node,
            started_at=run.started_at,
            carried=run.carried,
        )

    def end_span(self, end: Finish) -> None:
        """End its span with how it ended, if there is one."""
        if self.span is None:
            return
        run, how, cancelled = end.run, end.outcome, end.cancelled
        it = judge(how, failures=run.failures, retries=run.retries, base_delay=run.retry_delay, cancelled=cancelled)
        self.span.end(it.outcome.value, error_type=it.error_type, message=it.error, traceback=it.traceback)

    def info(self) -> RunInfo:
        """Return the facts that the job may know of its attempt."""
        run = self.started.run
        return RunInfo(
            run_id=run.id,
            execution_id=self.started.execution_id,
            job_name=run.job_name,
            task_id=run.task_id,
            task_name=run.task_name,
            attempt=run.attempt,
            is_last_attempt=run.failures >= run.retries,
            scheduled_for=run.scheduled_for,
            deadline=attempt_deadline(run),
            submitter=None if run.submitter is None else Submitter(run.submitter, run.submitter_id),
            args=self.args,
            carried=run.carried,
            labels=run.labels,
            clock_ahead=0.0 if run.started_at is None else self.received - run.started_at.timestamp(),
        )


log = logging.getLogger(__name__)


TIMEOUT = 30.0
"""Seconds that such a function may take; then nobody waits for it any more."""


def ended_by_deadline(attempt: Attempt) -> TimedOut | None:
    """Return the end of an attempt that has no time left when it begins; None if it has some."""
    run = attempt.started.run
    return TimedOut(deadline_sentence(run.deadline_at), permanent=True) if run.deadline_at and is_over(run) else None


def retried(attempt: Attempt, outcome: JobOutcome) -> JobOutcome:
    """Return ``outcome`` with the delay of the retry if the job sets one; without a retry if the run's time is over.

    A job whose own function of the delay fails is retried as is usual; the fault is in its log.
    """
    if not isinstance(outcome, Failed | TimedOut):
        return outcome
    run = attempt.started.run
    if isinstance(outcome, TimedOut) and run.deadline_at is not None and ends_run(run):
        message = f"{deadline_sentence(run.deadline_at)}; {outcome.message}"
        return outcome if outcome.permanent else replace(outcome, message=message, permanent=True)
    try:
        delay = attempt.definition.policies.delay(run.failures + 1, run.retry_delay)
    except BaseException as error:
        why = f"{type_name(error)}: {message_of(error)}"
        sentence = f"backoff of job '{run.job_name}' failed, so the delay is as usual: {why}"
        attempt.host.log(logging.ERROR, sentence, None)
        log.warning("backoff of job %s failed, so the delay is as usual", run.job_name, exc_info=error)
        return outcome
    return outcome if delay is None else replace(outcome, retry_in=delay)


def failure_for(definition: JobDefinition, end: Finish) -> Failure | None:
    """Return the argument of the job's ``on_failure``; None if it has none, or this was not the final failure."""
    if definition.on_failure is None or not isinstance(end.outcome, Failed | TimedOut):
        return None
    run = end.run
    verdict = judge(
        end.outcome, failures=run.failures, retries=run.retries, base_delay=run.retry_delay, cancelled=end.cancelled
    )
    return failure_of(run, verdict.error, verdict.error_type) if verdict.state is RunState.FAILED else None


def begin_on_failure(definition: JobDefinition, failure: Failure) -> "asyncio.Task[None]":
    """Begin ``call_on_failure`` in a task of its own, in whose context everything belongs to the function."""
    context = Outsider(f"on_failure of job '{definition.name}'").context()
    call = call_on_failure(definition, failure)
    return asyncio.get_running_loop().create_task(call, name="cronograph-failure", context=context)


async def call_on_failure(definition: JobDefinition, failure: Failure) -> None:
    """Call the function: on the event loop (``async def``) or in a thread. A fault, or too much time, is logged."""
    function = definition.on_failure
    assert function is not None
    try:
        async with asyncio.timeout(TIMEOUT):
            if inspect.iscoroutinefunction(function):
                await function(failure)
            else:
                await in_own_thread(function, failure)
    except BaseException as error:
        if is_asked_to_end(error):
            raise
        log.error("on_failure of job '%s' failed after run %d", definition.name, failure.run_id, exc_info=error)
