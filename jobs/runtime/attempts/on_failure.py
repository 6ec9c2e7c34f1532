"""The function that a job wants to be called when a run of it has failed for good."""

import asyncio
import inspect
import logging

from ...actions.failures import failure_of
from ...actions.queue.finish import Finish
from ...core.outcome import Failed, Failure, TimedOut, judge
from ...core.states import RunState
from ...registry import JobDefinition
from ..job.ownership import Outsider, is_asked_to_end

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds that such a function may take; then nobody waits for it any more."""


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
        async with asyncio.timeout(PATIENCE):
            if inspect.iscoroutinefunction(function):
                await function(failure)
            else:
                await asyncio.to_thread(function, failure)
    except BaseException as error:
        if is_asked_to_end(error):
            raise
        log.error("on_failure of job '%s' failed after run %d", definition.name, failure.run_id, exc_info=error)
