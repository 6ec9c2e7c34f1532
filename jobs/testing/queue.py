"""A real queue in a temporary SQLite file, with a clock that the test moves, also to work off the queue."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypedDict, Unpack

from typing_extensions import override

from ..actions.flows import cancel_overdue
from ..actions.nodes import NewNode, join
from ..actions.retries import preview
from ..actions.runs import enqueue_runs, put, save_checkpoint
from ..actions.signals import signal_by_link, signal_run
from ..actions.task_sets import declare_tasks
from ..actions.tasks import create_task, trigger_task
from ..base.services import Services
from ..core.base.resources import Resources
from ..core.defaults import TASK_POLICIES
from ..core.explain.previews import Preview
from ..core.flows import FlowSpec
from ..core.model import Json, MisfirePolicy, NewRun, OverlapPolicy, Priority, Run, ScheduleSpec, TaskSpec
from ..core.outcome import Succeeded
from ..core.run_spec import DURATIONS_OF_TASKS, RunSpec, Seconds, seconds_of
from ..core.states import RunState
from ..core.steps import StepEnd, StepState
from ..core.waits import Signal
from ..queue import waits
from ..queue.cancel import fail_overdue, next_deadline
from ..queue.claims.candidates import next_available
from ..queue.claims.claim import Claimant, Started, claim
from ..queue.claims.fairness import FairnessState
from ..queue.due_tasks import look_ahead
from ..queue.enqueue.requests import new_run, new_runs
from ..queue.finish import Finish, finish
from ..queue.limits.admission import look_for_tokens
from ..queue.occurrences import dispatch_due
from ..registry import Rate, Registry, default_registry, registry_or_default
from ..registry.define import schedule_from
from ..registry.queue import RunOptions, RunQueue, in_seconds
from ..runtime.attempts.attempt import call_on_failure, failure_for
from ..runtime.attempts.keeping import Keeping
from ..runtime.duties.figures import declarations
from ..store.db.address import address_of_file
from ..store.db.database import Connection, Database
from ..store.db.opening import create_tables
from ..store.db.transaction import Tx
from ..store.statements import runs as run_store
from ..store.statements import tasks as task_store
from ..store.statements.listing.criteria import EVERYTHING, equal
from .capture import CapturedQueue
from .clock import START, TICK, FakeClock
from .results import TEST_URL, AttemptResult, defaults_of, explanation, find_enqueued
from .single import AnyJob, Recorder, carry, find

_FOREVER = 366 * 86400.0
_POLICIES = {"overlap": OverlapPolicy, "misfire": MisfirePolicy, "priority": Priority}


class TaskSettings(TypedDict, total=False):
    """Further settings of ``schedule``, as ``createTask`` has them."""

    description: str
    enabled: bool
    owner: str | None
    group: str
    priority: Priority | str
    overlap: OverlapPolicy | str
    misfire: MisfirePolicy | str
    misfire_grace: Seconds
    catch_up_limit: int
    tolerance: Seconds | None
    timeout: Seconds | None
    max_duration: Seconds | None
    retries: int
    retry_delay: Seconds
    jitter: Seconds
    start_at: datetime | None
    end_at: datetime | None
    labels: dict[str, str]
    rate: Rate | None
    resources: Resources | None


@dataclass(frozen=True, slots=True)
class DrainedRun:
    """A run and all its attempts so far.

    Attributes:
        run: As it is stored now: ``state``, ``args``, ``scheduled_for``, ``error``, ``result``, ``progress`` …
        attempts: In order.
    """

    run: Run
    attempts: tuple[AttemptResult, ...]

    @property
    def state(self) -> RunState:
        """The state of the run."""
        return self.run.state

    @property
    def job_name(self) -> str:
        """Its job."""
        return self.run.job_name

    @property
    def last(self) -> AttemptResult:
        """The newest attempt."""
        return self.attempts[-1]


class Queue:
    """A queue of its own, with one node that knows the jobs of ``registry``; use it in ``async with``, or in ``with``.

    Within the block all that enqueues puts its runs there: ``job.enqueue(…)``, ``enqueue_sync``, and by name
    ``enqueue(session, …)``; from code that has called ``connect`` or not, whichever database its session is of. All
    rules of the jobs hold: schedules, policies, unique keys, hooks and resources. Jobs that are declared within the
    block are found as well.

    Args:
        registry: The jobs; the default registry unless given.
        clock: The time of everything; a new ``FakeClock`` unless given.
        start: The time that a new clock shows, with a zone; 1 January 2026, 00:00 UTC unless given. Code that computes
            times from ``datetime.now()`` needs ``start=datetime.now(UTC)``: ``drain`` moves the clock to each.
        resources: The resources of the jobs by type, instead of those that ``@resource`` opens.
        secrets: The values of those that arguments refer to, by name.

    Attributes:
        clock: The time of everything: of runs, steps, schedules, retries, sleeps, expiry, keys and rates.
        database: The database behind it; gone afterwards.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        clock: FakeClock | None = None,
        resources: Mapping[Any, object] = MappingProxyType({}),
        secrets: Mapping[str, str] = MappingProxyType({}),
        *,
        start: datetime | None = None,
    ) -> None:
        if clock is not None and start is not None:
            raise TypeError("Queue: takes clock or start, got both; give the clock its time: FakeClock(start)")
        self.clock = clock or FakeClock(START if start is None else start)
        self.registry = registry_or_default(registry)
        self._resources = resources
        self._secrets = secrets
        self._folder = tempfile.TemporaryDirectory(prefix="cronograph-test-")
        url = address_of_file(Path(self._folder.name) / "queue.db")
        create_tables(url)
        self.database = Database(url, clock=self.clock)
        self._fairness = FairnessState()
        self._claimant = Claimant(0, "test", ())
        self._tokens_at: list[datetime] = []
        self._attempts: dict[int, list[AttemptResult]] = {}
        self._captured = CapturedQueue(self.database, self._learn)
        self._before: list[tuple[Registry, RunQueue | None]] = []
        self._steps = _StepsByClock(self.database, TEST_URL, self.clock, self._learn)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __enter__(self) -> Self:
        self._join()
        # Runs that are enqueued by name belong to the jobs of the default registry.
        self._before = [(one, one.queue) for one in (self.registry, default_registry())]
        for registry, _ in self._before:
            registry.queue = self._captured
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for registry, before in self._before:
            registry.queue = before
        self._before = []
        self.database.close_sync()
        self._folder.cleanup()

    def _join(self, name: str = "test", *, only_node: bool = True) -> None:
        new = NewNode(name, 1, "0", tuple(job.info for job in self.registry), _FOREVER)
        node = self.database.write_sync(join, new, only_node=only_node)
        self._claimant = Claimant(node.id, node.name, self.registry.names())
        self.database.write_sync(declare_tasks, declarations(self.registry), self.registry.names())

    def _learn(self) -> None:
        """Publish jobs and schedules that were declared since the queue was opened."""
        if self._before and self._claimant.jobs != self.registry.names():
            # A run that is under way keeps its node.
            self._join(f"test-{self._claimant.node_id + 1}", only_node=False)

    def enqueued(self, job: AnyJob | None = None) -> list[Run]:
        """Return the runs that were put into the queue so far, the oldest first; also those that have ended since.

        Args:
            job: Only those of this job; all unless given. A name need not be registered, as for ``enqueue``.
        """
        return self._captured.found(EVERYTHING if job is None else equal("job_name", self._name_of(job)))

    def assert_enqueued(
        self, job: AnyJob, args: Mapping[str, object] | None = None, **options: Unpack[RunOptions]
    ) -> Run:
        """Assert that a matching run of a job was put into the queue; return the first one.

        Its state by now does not matter, nor whether code, a trigger or a schedule has made it.

        Args:
            job: The job, or its name.
            args: Arguments that it must have, as the function takes them, defaults included. Others do not matter.
            options: Further conditions, see ``RunOptions``: ``group="vip"``.

        Raises:
            AssertionError: there is none; says how each run of the job differs.
            TypeError: there is no such option, e.g. because an argument was given as one.
        """
        runs, name = self.enqueued(job), self._name_of(job)
        defaults = defaults_of(self.registry.get(name))
        found = find_enqueued(runs, args, options, defaults)
        if found is None:
            raise AssertionError(explanation(name, runs, self.enqueued(), args, options, defaults))
        return found

    def refute_enqueued(
        self, job: AnyJob, args: Mapping[str, object] | None = None, **options: Unpack[RunOptions]
    ) -> None:
        """Assert the opposite of ``assert_enqueued``.

        Raises:
            AssertionError: there is such a run; names it.
        """
        found = find_enqueued(self.enqueued(job), args, options, defaults_of(self.registry.get(self._name_of(job))))
        if found is not None:
            raise AssertionError(f"run {found.id} of job '{found.job_name}' was enqueued with {found.args!r}")

    def _name_of(self, job: AnyJob) -> str:
        return job if isinstance(job, str) else find(job, self.registry).name

    async def enqueue(self, job: AnyJob, args: Mapping[str, Json] | None = None, **options: Unpack[RunOptions]) -> int:
        """Put a run into the queue; return its id.

        Args:
            job: The job, or its name.
            args: Its arguments.
            options: As ``cronograph.jobs.enqueue`` takes them, see ``RunOptions``.

        Raises:
            UserError: unknown job, arguments that do not fit.
        """
        return (await self.database.write(enqueue_runs, [self._new_run(job, args, options)]))[0].run.id

    async def preview(
        self, job: AnyJob, args: Mapping[str, Json] | None = None, **options: Unpack[RunOptions]
    ) -> Preview:
        """Predict ``enqueue`` at the clock's time, ``QueueFull`` included, and why the run would wait."""
        new = self._new_run(job, args, options)
        return await self.database.write(preview, [new.job_name], lambda tx: enqueue_runs(tx, [new]))

    def _new_run(self, job: AnyJob, args: Mapping[str, Json] | None, options: RunOptions) -> NewRun:
        self._learn()
        definition = find(job, self.registry)
        chosen: dict[str, Any] = {"unique_key": definition.unique_key_of(args or {}), **in_seconds(options)}
        return new_run(RunSpec(definition.name, args, **chosen))

    async def schedule(
        self,
        job: AnyJob,
        schedule: str | ScheduleSpec,
        args: Mapping[str, Json] | None = None,
        *,
        name: str | None = None,
        timezone: str | None = None,
        **settings: Unpack[TaskSettings],
    ) -> str:
        """Make a task and return its name. Its occurrences become runs while ``drain`` moves the clock.

        Args:
            job: The job, or its name.
            schedule: A six-field cron string, or a ``ScheduleSpec``.
            args: The job's arguments.
            name: The task's name; the job's unless given. A job that declares a schedule has a task of its name.
            timezone: Of a cron string, an IANA name; UTC unless given.
            settings: See ``TaskSettings``.

        Raises:
            UserError: the API would refuse it.
            ValueError: a ``ScheduleSpec`` has a time zone of its own.
        """
        self._learn()
        spec = schedule_from(schedule, timezone)
        job_name = find(job, self.registry).name
        given: dict[str, Any] = {**settings}
        given |= {key: _POLICIES[key](given[key].lower()) for key in _POLICIES.keys() & given.keys()}
        given |= {key: seconds_of(key, given[key]) for key in DURATIONS_OF_TASKS & given.keys()}
        if (rate := settings.get("rate")) is not None:
            given["rate"] = rate.stored()
        if (resources := settings.get("resources")) is not None:
            given["resources"] = resources.document()
        inherits = frozenset(TASK_POLICIES).difference(given)
        task = TaskSpec(name or job_name, job_name, spec, args=dict(args or {}), inherits=inherits, **given)
        await self.database.write(create_task, task, submitter=None)
        return task.name

    async def trigger(self, task: str, args: Mapping[str, Json] | None = None) -> int:
        """Trigger a task by hand; the run's id."""
        self._learn()
        given = None if args is None else dict(args)
        return (await self.database.write(trigger_task, task, args=given, actor="test")).id

    async def signal(self, run_id: int, name: str, payload: Json = None, *, reject: str | None = None) -> None:
        """Send a signal to an unfinished run, as ``signalRun`` does.

        Args:
            run_id: Which run.
            name: The signal that it waits for, or will.
            payload: The data of the signal.
            reject: It says no, for this reason.

        Raises:
            UserError: the API would refuse it.
        """
        await self.database.write(signal_run, run_id=run_id, signal=Signal(name, payload, reject))

    async def signal_by_url(self, url: str, payload: Json = None, *, reject: str | None = None) -> None:
        """Send a signal by an address that a job got of ``ctx.signal_url``, as anyone who has it does.

        Raises:
            UserError: the server would refuse it: it was used, its run is over, the payload does not fit.
        """
        await self.database.write(signal_by_link, url.rpartition("/")[2], payload, reject, address=None)

    async def checkpoint(self, task: str) -> Json:
        """Return the stored checkpoint of a task; None if there is no such task."""
        return await self.database.read(_checkpoint, task)

    async def run(self, run_id: int) -> DrainedRun:
        """Return a run as it is now, with its attempts so far."""
        stored = (await self.database.read(run_store.by_ids, [run_id]))[run_id]
        return DrainedRun(stored, tuple(self._attempts.get(run_id, ())))

    async def step(self) -> int | None:
        """Make due runs, take the next run, and carry out one attempt; return its id, None = nothing to take."""
        self._learn()
        claimant = self._claimant
        while (await self.database.write(dispatch_due, claimant.node)).more:
            continue
        await self.database.write(fail_overdue, claimant.node)
        while await self.database.write(cancel_overdue):
            continue
        if overlooked := await self.database.read(waits.overlooked):
            await self.database.write(waits.wake_overlooked, overlooked)
        token_at = await self.database.write(look_for_tokens)
        claimed = await self.database.write(claim, claimant, self._fairness, slots=1)
        self._fairness = claimed.fairness
        if claimed.held_back:
            token_at = await self.database.write(look_for_tokens)
        self._tokens_at = [*claimed.blocked.values(), *(() if token_at is None else (token_at,))]
        for started in claimed.started:
            await self._carry(started, claimant)
            return started.run.id
        return None

    async def _carry(self, started: Started, claimant: Claimant) -> None:
        definition = self.registry.get(started.run.job_name)
        if definition is None:
            raise LookupError(f"job '{started.run.job_name}' has left the registry")
        recorder = Recorder(self.clock, started.checkpoint)
        services = Services(self.database)
        carried = await carry(
            started,
            definition,
            recorder,
            clock=self.clock,
            save=self._save,
            queue=self._steps,
            steps=self._steps,
            services=services,
            hooks=self.registry.hooks,
            resources=self._resources,
            secrets=self._secrets,
        )
        shown = recorder.shown[-1] if recorder.shown else None
        ended = Finish(started.run, started.execution_id, carried.outcome, cancelled=carried.cancelled, progress=shown)
        if isinstance(carried.outcome, Succeeded):
            ended = replace(ended, at_end=carried.at_end, unused_steps=carried.unused_steps)
        await self.database.write(finish, claimant.node_id, claimant.node, [ended])
        stored = await self._steps.stored(started)
        values = {one.label: one.value for one in stored.values() if one.state is not StepState.WAITING}
        result = replace(carried.result(), steps=values)
        self._attempts.setdefault(started.run.id, []).append(result)
        failure = failure_for(definition, ended)
        if failure is not None:
            await call_on_failure(definition, failure)

    async def _save(self, started: Started, value: Json) -> None:
        await self.database.write(save_checkpoint, started.run, value)

    async def next_time(self, *, schedules: bool) -> datetime | None:
        """Return when something is due by time alone: a retry, a later run, a token, or with ``schedules`` a task."""
        due = await self.database.write(_next_time, schedules)
        return min((at for at in (due, *self._tokens_at) if at is not None), default=None)


class _StepsByClock(Keeping):
    """Stores steps with the time of the test's clock, which no step moves; enqueues jobs declared since as well."""

    def __init__(self, database: Database, public_url: str, clock: FakeClock, learn: Callable[[], None]) -> None:
        super().__init__(database, public_url)
        self._clock = clock
        self._learn = learn

    @override
    async def enqueue(self, asked: Sequence[RunSpec] | FlowSpec) -> list[int]:
        self._learn()
        if isinstance(asked, FlowSpec):
            return await super().enqueue(asked)
        return [one.run.id for one in await self._database.write(put, new_runs(asked))]

    @override
    def keep(self, started: Started, end: StepEnd) -> asyncio.Future[bool]:
        now = self._clock.now()
        return super().keep(started, replace(end, started_at=now, finished_at=now))


def _checkpoint(conn: Connection, task: str) -> Json:
    found = task_store.by_name(conn, task)
    return None if found is None else found.checkpoint


def _next_time(tx: Tx, schedules: bool) -> datetime | None:
    # A retry that waits no time is available now, and due in a moment.
    upcoming, deadline = look_ahead(tx.conn), next_deadline(tx.conn)
    times = [next_available(tx.conn, tx.now - TICK), upcoming.wakes_at, deadline]
    if schedules:
        times.append(upcoming.task_at)
    return min((time for time in times if time is not None), default=None)


class DrainError(Exception):
    """The queue does not become empty."""


async def drain(queue: Queue, *, until: datetime | None = None, limit: int = 1000) -> list[DrainedRun]:
    """Carry out attempt after attempt until nothing is left, moving the clock to the next due time.

    Args:
        queue: The queue.
        until: Work up to this time and leave the clock there; occurrences of tasks count too. None = until no run is
            waiting for anything but a schedule.
        limit: How many attempts at most.

    Returns:
        Every run that was attempted, in the order of their first attempts.

    Raises:
        DrainError: more than ``limit`` attempts; perhaps a job snoozes for ever.
    """
    seen: dict[int, None] = {}
    for _ in range(limit):
        run_id = await _attempt_next(queue, until)
        if run_id is None:
            break
        seen[run_id] = None
    else:
        raise DrainError(f"drain: still not empty after {limit} attempts; does a job snooze for ever? See ``limit``")
    if until is not None:
        queue.clock.set(max(until, queue.clock.now()))
    return [await queue.run(run_id) for run_id in seen]


def drain_sync(queue: Queue, *, until: datetime | None = None, limit: int = 1000) -> list[DrainedRun]:
    """Do the same as ``drain`` in a plain test.

    Raises:
        DrainError: see ``drain``.
        RuntimeError: an event loop runs in this thread; await ``drain`` there.
    """
    return asyncio.run(drain(queue, until=until, limit=limit))


async def _attempt_next(queue: Queue, until: datetime | None) -> int | None:
    """Carry out the next attempt, once it is due; None if there is none before ``until``."""
    while (run_id := await queue.step()) is None:
        due = await queue.next_time(schedules=until is not None)
        if due is None or (until is not None and due > until):
            return None
        # A retry is due strictly after its time.
        queue.clock.set(due if due > queue.clock.now() else queue.clock.now() + TICK)
    return run_id
