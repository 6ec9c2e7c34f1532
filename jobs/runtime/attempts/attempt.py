"""One attempt under way: what runs, and the threads by which the node holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ...actions.queue.claim import Started
from ...actions.queue.finish import Finish
from ...context import RunInfo
from ...core.auth.accounts import Submitter
from ...core.auth.secrets import resolved
from ...core.model import Json
from ...core.outcome import JobOutcome
from ...registry import JobDefinition
from ..job.host import LocalHost
from ..job.middleware import Middleware
from ..job.stopping import StopSignal


@dataclass(slots=True)
class Attempt:
    """One attempt under way.

    Attributes:
        started: The run and its execution.
        definition: Its job.
        signal: Why and when it should stop.
        host: What the job says goes there.
        secrets: Name to value of the secrets that its arguments refer to.
        middleware: Hooks and resources of its job; None = there are none.
        at_work: Its code has begun, and neither ended nor was it left behind.
        left_behind: Its code goes on after the node was cut off; its end is told with the end of the life.
    """

    started: Started
    definition: JobDefinition
    signal: StopSignal
    host: LocalHost
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    middleware: Middleware | None = None
    at_work: bool = False
    left_behind: bool = False

    @property
    def args(self) -> Mapping[str, Json]:
        """The arguments that the job gets: secrets stand in the place of their references."""
        args = self.started.run.args
        return resolved(args, self.secrets) if self.secrets else args

    def ended(self, outcome: JobOutcome) -> Finish:
        """Its end, where nothing else is to be kept of it."""
        progress, seconds = self.host.latest_progress, self.signal.elapsed()
        return Finish(self.started.run, self.started.execution_id, outcome, progress=progress, seconds=seconds)

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
            submitter=None if run.submitter is None else Submitter(run.submitter, run.submitter_id),
            args=self.args,
            carried=run.carried,
        )
