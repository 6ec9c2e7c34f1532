"""One attempt under way: what runs, and the threads by which the node holds it."""

from dataclasses import dataclass
from datetime import timedelta

from ...actions.claim import Started
from ...context import RunInfo
from ...registry import JobDefinition
from ..job.host import LocalHost
from ..job.stopping import StopSignal


@dataclass(slots=True)
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
