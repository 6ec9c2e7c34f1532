"""What a job says about its failures: when to try again, and the function to call when a run has failed for good."""

import asyncio
import inspect
import logging
from dataclasses import replace

from ...core.durable.deadline import deadline_sentence, ends_run, is_over
from ...core.outcome import Failed, Failure, JobOutcome, TimedOut, judge
from ...core.states import RunState
from ...own.threads import in_own_thread
from ...queue.enqueue.failures import failure_of
from ...queue.finish import Finish
from ...registry import JobDefinition
from ..job.ownership import Outsider, is_asked_to_end
from ..job.results import message_of
from .attempt import Attempt

log = logging.getLogger(__name__)

TIMEOUT = 30.0
"""Seconds that such a function may take; then nobody waits for it any more."""


def ended_by_deadline(attempt: Attempt) -> TimedOut | None:
    """How an attempt ends that has no time left when it begins; None: it has some."""
    run = attempt.started.run
    return TimedOut(deadline_sentence(run.deadline_at), permanent=True) if run.deadline_at and is_over(run) else None


def retried(attempt: Attempt, outcome: JobOutcome) -> JobOutcome:
    """``outcome``, with the time until the retry if the job says something about that; none if the run's time is over.

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
        why = f"{type(error).__name__}: {message_of(error)}"
        sentence = f"backoff of job '{run.job_name}' failed, so the delay is as usual: {why}"
        attempt.host.log(logging.ERROR, sentence, None)
        log.warning("backoff of job %s failed, so the delay is as usual", run.job_name, exc_info=error)
        return outcome
    return outcome if delay is None else replace(outcome, retry_in=delay)


def failure_for(definition: JobDefinition, end: Finish) -> Failure | None:
    """What the job's function is called with after this end; None if it has none, or this was not the final failure."""
    if definition.on_failure is None or not isinstance(end.outcome, Failed | TimedOut):
        return None
    run = end.run
    verdict = judge(
        end.outcome, failures=run.failures, retries=run.retries, base_delay=run.retry_delay, cancelled=end.cancelled
    )
    return failure_of(run, verdict.error, verdict.error_type) if verdict.state is RunState.FAILED else None


def begin_on_failure(definition: JobDefinition, failure: Failure) -> "asyncio.Task[None]":
    """``call_on_failure`` in a task of its own, in whose context everything belongs to the function."""
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
