"""One attempt: what runs, by what the node holds it, and what every kind of body can do."""

import asyncio
import contextvars
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from ...base.context import RunInfo
from ...core.actor import Submitter
from ...core.arguments.secrets import resolved
from ...core.base.tracing import AttemptSpan, TracedAttempt
from ...core.durable.deadline import attempt_deadline
from ...core.model import Isolation, Json
from ...core.outcome import HandedBack, JobOutcome, judge
from ...queue.claims.claim import Started
from ...queue.finish import Finish
from ...registry import JobDefinition
from ..job.host import LocalHost
from ..job.middleware import Middleware
from ..job.stopping import StopSignal

NO_PLACE: Final[dict[Isolation, JobOutcome]] = {
    Isolation.ASYNC: HandedBack("it had not begun"),
    Isolation.THREAD: HandedBack("no thread of its node became free for it; it had not begun"),
    Isolation.PROCESS: HandedBack("no child process of its node became free for it; it had not begun"),
}
"""How an attempt ends for which there is no place soon enough, or that should stop before it has one."""

Running = asyncio.Future[JobOutcome]


class Body(Protocol):
    """What runs a job's handler."""

    def begin(self, context: contextvars.Context) -> Running:
        """Begin; its outcome comes. Called in the node's own context; the job's code runs in ``context``."""
        ...

    async def stop_hard(self, running: Running) -> JobOutcome:
        """End ``running`` (of ``begin``, which did not leave when it was asked to), as far as that is possible."""
        ...


@dataclass(slots=True)
class Attempt:
    """One attempt under way.

    Attributes:
        started: The run and its execution.
        signal: Why and when it should stop.
        host: What the job says goes there.
        secrets: Name to value of the secrets that its arguments refer to.
        middleware: Hooks and resources of its job; None = there are none.
        span: What a tracing system gets of it; None = there is none.
        at_work: Its code has begun, and neither ended nor was it left behind.
        left_behind: Its code goes on after the node was cut off; its end is reported with the end of the life.
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

    @property
    def args(self) -> Mapping[str, Json]:
        """The arguments that the job gets: secrets stand in the place of their references."""
        args = self.started.run.args
        return resolved(args, self.secrets) if self.secrets else args

    def ended(self, outcome: JobOutcome) -> Finish:
        """Its end, where nothing else is to be kept of it."""
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
        """What a trace says of it."""
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
        """What the job may know of its attempt."""
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
        )
