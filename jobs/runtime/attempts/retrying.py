"""When a failed attempt is tried again, as far as its job has a say in that."""

import logging
from dataclasses import replace

from ...core.outcome import Failed, JobOutcome, TimedOut
from .attempt import Attempt

log = logging.getLogger(__name__)


def retried(attempt: Attempt, outcome: JobOutcome) -> JobOutcome:
    """``outcome``, with the time until the retry if the job says something about that.

    A job whose own function of the delay fails is retried as is usual; the fault is in its log.
    """
    if not isinstance(outcome, Failed | TimedOut):
        return outcome
    run = attempt.started.run
    try:
        delay = attempt.definition.policies.delay(run.failures + 1, run.retry_delay)
    except BaseException as error:
        sentence = f"backoff of job '{run.job_name}' failed, so the delay is as usual: {error!r}"
        attempt.host.log(logging.ERROR, sentence, None)
        log.warning("backoff of job %s failed, so the delay is as usual", run.job_name, exc_info=error)
        return outcome
    return outcome if delay is None else replace(outcome, retry_in=delay)
