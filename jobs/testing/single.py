"""One attempt of a job in a test, and its outcome."""

import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Any, TypeAlias

from typing_extensions import override

from ..base.context import StopReason
from ..base.services import SCHEDULE_TIMEZONE, Services
from ..core.arguments.judging import check_args
from ..core.arguments.secrets import references
from ..core.base.errors import ErrorCode, NotFound
from ..core.defaults import value_of
from ..core.flows import FlowSpec
from ..core.model import (
    DEFAULT_GROUP,
    DEFAULT_RETRIES,
    DEFAULT_RETRY_DELAY,
    Isolation,
    Json,
    NewRun,
    Priority,
    Run,
    Trigger,
)
from ..core.outcome import Failed, JobOutcome, Succeeded, Verdict, judge, time_box
from ..core.rules import unknown
from ..core.run_spec import RunSpec, RunTarget, Seconds
from ..core.states import FINAL, RunState
from ..core.waits import RunChange
from ..declared import Job
from ..queue.claims.claim import Started
from ..queue.enqueue.requests import new_runs
from ..queue.flows.new_flows import new_flow
from ..registry import Handler, JobDefinition, Registry, define, registry_or_default
from ..registry.batches import alone
from ..registry.hooks import Hooks
from ..registry.queue import in_seconds
from ..runtime.attempts.attempt import Attempt, ended_by_deadline, retried
from ..runtime.attempts.bodies import execute
from ..runtime.attempts.threads import Call, ThreadPool
from ..runtime.job.host import HostQueue, LocalHost, SaveCheckpoint
from ..runtime.job.lines import RawLine, keep_lines_of_jobs, level_name
from ..runtime.job.middleware import middleware_of
from ..runtime.job.ownership import StopSignal, noting_tasks
from ..runtime.job.printing import GuardedStream, prints_belong_to_jobs
from ..runtime.job.secrets import UNAVAILABLE
from ..runtime.job.steps import StepStore
from ..runtime.process.children import ChildPool
from ..runtime.process.spawner import Spawner
from .clock import FakeClock
from .results import AttemptResult, LoggedLine, RecordedSteps


@contextmanager
def kept_prints() -> Generator[None]:
    """Let prints of jobs be kept with their lines, and appear where they would have."""
    if prints_belong_to_jobs():
        yield
        return
    before = sys.stdout
    stream = GuardedStream(before)
    stream.keep()
    sys.stdout = stream
    try:
        yield
    finally:
        sys.stdout = before


def run_in_hand(job_name: str, args: dict[str, Json], now: datetime, scheduled_for: datetime | None) -> Run:
    """Return a run as a node would have it in hand."""
    zone = None if scheduled_for is None else getattr(scheduled_for.tzinfo, "key", None)
    known: dict[str, Any] = {
        "id": 1,
        "job_name": job_name,
        "state": RunState.RUNNING,
        "trigger": Trigger.MANUAL if scheduled_for is None else Trigger.SCHEDULE,
        "args": args,
        "group": DEFAULT_GROUP,
        "priority": Priority.LOW,
        "task_id": 1,
        "task_name": job_name,
        "scheduled_for": scheduled_for if scheduled_for is None or zone is None else scheduled_for.astimezone(UTC),
        "carried": None if zone is None else {SCHEDULE_TIMEZONE: zone},
        **dict.fromkeys(("submitted_at", "available_at", "started_at"), now),
        "attempt": 1,
        "failures": 0,
        "retries": DEFAULT_RETRIES,
        "retry_delay": DEFAULT_RETRY_DELAY,
        "exclusive": False,
        "node_id": 1,
        "node": "test",
        "description": "",
    }
    open_yet: dict[str, Any] = dict.fromkeys(field.name for field in fields(Run))
    return Run(**(open_yet | known))


AnyJob: TypeAlias = str | Handler | Job[..., ..., Any] | JobDefinition
"""A job's name, the job itself, a function that is none yet, or a definition."""
GRACE = 10.0
"""Seconds of real time between "please stop" and the hard stop."""


class Recorder:
    """Keeps the messages of a job during one attempt.

    Args:
        now: The time of its lines.
        checkpoint: The last one of the task.
        stop_after: Ask the job to stop once it has shown progress so many times.
        steps: Its steps.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        checkpoint: Json,
        stop_after: int | None = None,
        steps: RecordedSteps | None = None,
    ) -> None:
        self._now = now
        self._stop_after = stop_after
        self.lines: list[LoggedLine] = []
        self.shown: list[Json] = []
        self.checkpoint = checkpoint
        self.signal: StopSignal | None = None
        self.enqueued: list[RunSpec] = []
        self.steps = steps or RecordedSteps()

    async def enqueue(self, asked: Sequence[RunSpec] | FlowSpec) -> list[int]:
        """Keep runs, those of a flow too; their places are their ids, and that of the last one is the flow's."""
        if isinstance(asked, FlowSpec):
            new_flow(asked)
            self.enqueued += [one.run for one in asked.members]
            return [len(self.enqueued)]
        runs = asked
        new_runs(runs)
        self.enqueued += runs
        return list(range(len(self.enqueued) - len(runs) + 1, len(self.enqueued) + 1))

    async def change(self, target: RunTarget, change: RunChange) -> RunState:
        """Refuse a change: there is no queue.

        Raises:
            NotFound: always.
        """
        del change
        raise NotFound(f"run {target.unique_key or target.run_id}: run_job has no queue; use Queue to have its runs")

    def write(self, execution_id: int, lines: Iterable[RawLine], *, dropped: int = 0) -> float:
        """Keep lines."""
        del execution_id, dropped
        self.lines += [LoggedLine(self._now(), level_name(one.level), *one[2:]) for one in lines]
        return 0.0

    def show(self, _started: Started, progress: Json) -> None:
        """Keep a value."""
        self.shown.append(progress)
        if len(self.shown) == self._stop_after and self.signal is not None:
            self.signal.ask(StopReason.CANCEL)


@dataclass(frozen=True, slots=True)
class Carried:
    """An attempt that was carried out: how it ended, and its messages."""

    started: Started
    outcome: JobOutcome
    cancelled: bool
    recorder: Recorder
    completed_at: datetime
    at_end: tuple[NewRun, ...] = ()
    unused_steps: frozenset[str] = frozenset()

    def result(self) -> AttemptResult:
        """Read all of it, judged as the node would."""
        run = self.started.run
        verdict = judge(
            self.outcome,
            failures=run.failures,
            retries=run.retries,
            base_delay=run.retry_delay,
            cancelled=self.cancelled,
        )
        judged = {one.name: getattr(verdict, one.name) for one in fields(AttemptResult) if hasattr(verdict, one.name)}
        return AttemptResult(
            **judged,
            attempt=run.attempt,
            retry_in=_retry_in(verdict, self.completed_at),
            lines=tuple(self.recorder.lines),
            progress=tuple(self.recorder.shown),
            checkpoint=self.recorder.checkpoint,
            started_at=run.started_at or self.completed_at,
            completed_at=self.completed_at,
            enqueued=(*self.recorder.enqueued, *self.following()),
            steps=dict(self.recorder.steps.values),
        )

    def following(self) -> tuple[RunSpec, ...]:
        """Return the runs to enqueue at the end, if the outcome was good."""
        if not isinstance(self.outcome, Succeeded) or self.cancelled:
            return ()
        names = RunSpec.__dataclass_fields__.keys() & NewRun.__dataclass_fields__.keys()
        return tuple(
            RunSpec(run_at=one.available_at, **{name: getattr(one, name) for name in names - one.inherits})
            for one in self.at_end
        )


def _retry_in(verdict: Verdict, completed_at: datetime) -> float | None:
    """Return the seconds until the next attempt, if there will be one by time alone."""
    if verdict.state is RunState.SUSPENDED:
        return verdict.delay if verdict.until is None else max(0.0, (verdict.until - completed_at).total_seconds())
    return None if verdict.state in FINAL else verdict.delay or 0.0


class _OneThread(ThreadPool[JobOutcome]):
    """A thread for one attempt: a job that should stop from the start begins all the same, to show its behaviour."""

    @override
    def recall(self, call: Call[JobOutcome]) -> bool:
        """Return False: a call is never given back."""
        return False


async def carry(  # noqa: PLR0913 - what a test can set has a name each
    started: Started,
    definition: JobDefinition,
    recorder: Recorder,
    *,
    clock: FakeClock | None,
    save: SaveCheckpoint | None = None,
    queue: HostQueue | None = None,
    steps: StepStore | None = None,
    stop: StopReason | None = None,
    services: Services | None = None,
    hooks: Hooks | None = None,
    resources: Mapping[Any, object] = MappingProxyType({}),
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> Carried:
    """Carry out one attempt in this process; ``secrets`` are those that its arguments may refer to."""

    async def keep(of: Started, value: Json) -> None:
        recorder.checkpoint = value
        if save is not None:
            await save(of, value)

    timeout = time_box(started.run)
    signal = StopSignal(timeout) if clock is None else StopSignal(timeout, clock.monotonic)
    recorder.signal = signal
    host = LocalHost(
        started,
        signal,
        checkpoint=started.checkpoint,
        save=keep,
        queue=queue or recorder,
        lines=recorder,
        show_progress=recorder.show,
        steps=steps or recorder.steps,
        # Between the retries of a step no time is lost.
        pause=_no_time if clock is None else clock.advance,
    )
    if stop is not None:
        host.ask_to_stop(stop)
    here = in_this_process(definition)
    # Like a child process, an attempt in a test opens what its job takes itself.
    around = middleware_of(here, Hooks() if hooks is None else hooks, resources)
    attempt = Attempt(started, here, signal, host, middleware=around)
    outcome: JobOutcome | None = ended_by_deadline(attempt) or _without_secrets(attempt, secrets)
    if outcome is None:
        keep_lines_of_jobs()
        alone.set(True)
        with kept_prints(), closing(_OneThread(1)) as threads, noting_tasks(host.branches):
            outcome = retried(attempt, await execute(attempt, services, threads, ChildPool(Spawner(), 1), grace=GRACE))
            outcome = await host.end_branches(outcome)
        host.end_prints()
    fault = await host.await_checkpoints()
    if fault is not None:
        raise fault
    unused = await host.end_steps()
    now = clock.now() if clock is not None else datetime.now(UTC)
    return Carried(started, outcome, signal.reason is StopReason.CANCEL, recorder, now, host.at_end, unused)


def _without_secrets(attempt: Attempt, secrets: Mapping[str, str]) -> Failed | None:
    """Return the failure of an attempt without one of its secrets; None = it has all of them, and they are hidden."""
    names = references(attempt.started.run.args)
    missing = next((name for name in sorted(names) if name not in secrets), None)
    if missing is not None:
        return Failed(UNAVAILABLE, unknown("secret", missing, list(secrets)).message)
    attempt.secrets = {name: secrets[name] for name in names}
    attempt.host.hide(attempt.secrets)
    return None


def hooks_of(job: AnyJob, registry: Registry | None) -> Hooks:
    """Return the hooks of the test's registry, of the job's own, or of the default one."""
    if registry is None and isinstance(job, Job):
        return job.registry.hooks
    return registry_or_default(registry).hooks


def in_this_process(definition: JobDefinition) -> JobDefinition:
    """Return the job as it is, but never in a child process."""
    kind = Isolation.ASYNC if iscoroutinefunction(definition.handler) else Isolation.THREAD
    return replace(definition, isolation=kind)


def find(job: AnyJob, registry: Registry | None) -> JobDefinition:
    """Return the job that a test names.

    Raises:
        NotFound: no job has this name; with the nearest one that exists.
    """
    known = registry_or_default(registry)
    if isinstance(job, Job):
        return job.definition
    if isinstance(job, JobDefinition):
        return job
    if not isinstance(job, str):
        found = next((one for one in known if one.handler is job), None)
        return found or define(getattr(job, "__name__", "job"), job)
    definition = known.get(job)
    if definition is None:
        near = get_close_matches(job, known.names(), 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the registry has {', '.join(known.names()) or 'no jobs'}"
        raise NotFound(f"Unknown job: {job}; {hint}", path=("job",), code=ErrorCode.UNKNOWN_JOB)
    return definition


async def run_job(  # noqa: PLR0913 - every setting of a test has a name of its own
    job: AnyJob,
    args: Mapping[str, Json] | None = None,
    *,
    registry: Registry | None = None,
    clock: FakeClock | None = None,
    attempt: int = 1,
    retries: int | None = None,
    retry_delay: Seconds | None = None,
    timeout: Seconds | None = None,
    checkpoint: Json = None,
    scheduled_for: datetime | None = None,
    stop: StopReason | None = None,
    stop_after: int | None = None,
    services: Services | None = None,
    resources: Mapping[Any, object] = MappingProxyType({}),
    secrets: Mapping[str, str] = MappingProxyType({}),
    steps: Mapping[str, Json] = MappingProxyType({}),
    signals: Mapping[str, Json] = MappingProxyType({}),
) -> AttemptResult:
    """Run one attempt of a job in this process.

    Args:
        job: Its name, its function (registered or not), or its definition.
        args: Its arguments as JSON, judged as when a run is submitted.
        registry: Where to look the job up; the default registry unless given.
        clock: Judges the time box and stamps the lines; real time unless given. A job moves it by ``clock.advance``.
        attempt: Which attempt this is; the earlier ones count as failed.
        retries: How many failures the run survives; as the job says, or else 2, unless given.
        retry_delay: Before the first retry, ``60`` or ``"1m"``; as the job says, or else 60, unless given.
        timeout: Of the time box; as the job says, or else none, unless given.
        checkpoint: The value that ``ctx.checkpoint`` reads.
        scheduled_for: The nominal time of the occurrence; None = as if triggered by hand. ``ctx.scheduled_local``
            has its zone: ``datetime(2026, 3, 1, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))``.
        stop: ``ctx.should_stop`` is true from the start, for this reason.
        stop_after: Ask the job to stop (a cancel) once it has shown progress so many times.
        services: The object behind ``ctx.services``; None = nothing.
        resources: The resources of the job by type, instead of those that ``@resource`` opens.
        secrets: The values of those that arguments refer to (``{"$secret": "name"}``); cut out of the job's output.
        steps: The results of its steps stored by earlier attempts, by label: ``{"charge": 12, "cool down": None}``.
        signals: The payloads in its boxes, by name: ``{"approved": {"by": "ada"}}``.

    Raises:
        NotFound: no job has this name.
        InvalidInput: the arguments do not fit; names the argument.
    """
    definition = find(job, registry)
    given = dict(args or {})
    check_args(definition.name, definition.args_schema, given)
    now = clock if clock is not None else _real_now
    run = run_in_hand(definition.name, given, now(), scheduled_for)
    given = in_seconds({"retries": retries, "retry_delay": retry_delay, "timeout": timeout})
    run = replace(run, attempt=attempt, failures=attempt - 1, **_policies(definition, given))
    recorder = Recorder(now, checkpoint, stop_after, RecordedSteps(steps, signals, now))
    carried = carry(
        Started(run, 1, checkpoint),
        definition,
        recorder,
        clock=clock,
        stop=stop,
        services=services,
        hooks=hooks_of(job, registry),
        resources=resources,
        secrets=secrets,
    )
    return (await carried).result()


def _policies(definition: JobDefinition, given: Mapping[str, Any]) -> dict[str, Any]:
    defaults = definition.policies.defaults
    return {name: value_of(defaults, name) if value is None else value for name, value in given.items()}


def _no_time(_seconds: float) -> None:
    """Do not wait at all."""


def _real_now() -> datetime:
    return datetime.now(UTC)
