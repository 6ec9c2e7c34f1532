"""Give a running job its ``JobContext``: its facts, and the words it can say."""

import logging
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, cast, overload
from zoneinfo import ZoneInfo

from ..core.base.errors import ConfigurationError, refuse
from ..core.flows import FlowSpec, StartedBy
from ..core.limits import MAX_CONCURRENT
from ..core.model import Json
from ..core.rules import number_faults
from ..core.run_spec import RunSpec, RunTarget
from ..core.states import RunState
from ..core.steps import StepKind, StoredStep, check_step
from ..core.waits import RunChange, Wait
from ..own.forks import renew_in_forks
from .durable import DurableContext
from .outcomes import RunFailed
from .outside import OUTSIDE, OutsideHost
from .services import SCHEDULE_TIMEZONE, RunInfo, StopReason
from .steps import StepHost

if TYPE_CHECKING:
    from .services import Services

__all__ = ["Host", "JobContext", "JobLog", "RunInfo", "Runnable", "StopReason", "current_host"]

P = ParamSpec("P")


class Host(Protocol):
    """Carry a job: a coroutine, a thread or a child process. Every call is safe from any thread."""

    @property
    def steps(self) -> StepHost:
        """Return where the steps of the job are stored."""
        ...

    @property
    def maker(self) -> StartedBy:
        """Return the run of the job, as a flow names it that the job enqueues."""
        ...

    def stop_reason(self) -> StopReason | None:
        """Return why the job should stop, or None."""
        ...

    def remaining(self) -> float | None:
        """Return the seconds left of the time box, never negative; None = no time box."""
        ...

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Keep a line with the execution."""
        ...

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the job is."""
        ...

    def checkpoint(self) -> Json:
        """Return the last checkpoint of the task."""
        ...

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        """Keep a checkpoint durably with the task."""
        ...

    def printed(self, text: str, show: Callable[[str], object], *, keep: bool) -> None:
        """Show the job's output, without its secrets; and keep it with the execution, line by line, if asked."""
        ...

    def enqueue(self, runs: Sequence[RunSpec]) -> Awaitable[list[int]]:
        """Put runs into the queue now; return their ids."""
        ...

    def enqueue_waiting(self, runs: Sequence[RunSpec]) -> list[int]:
        """Do the same as ``enqueue`` for code that no event loop of ours runs."""
        ...

    def enqueue_flow(self, flow: FlowSpec) -> Awaitable[int]:
        """Put a flow into the queue now, all of its runs or none; return its id."""
        ...

    def enqueue_flow_waiting(self, flow: FlowSpec) -> int:
        """Do the same as ``enqueue_flow`` for code that no event loop of ours runs."""
        ...

    def enqueue_at_end(self, runs: Sequence[RunSpec]) -> None:
        """Put runs into the queue in the transaction that ends the attempt, if it ends well."""
        ...

    def change(self, target: RunTarget, change: RunChange) -> Awaitable[RunState]:
        """Change a run of the queue now; return its state then."""
        ...

    def change_waiting(self, target: RunTarget, change: RunChange) -> RunState:
        """Do the same as ``change`` for code that no event loop of ours runs."""
        ...


class Runnable(Protocol[P]):
    """Type the result of ``@job`` on a function with these arguments."""

    def run(self, *args: P.args, **kwargs: P.kwargs) -> RunSpec:
        """Return a run to be."""
        ...


class JobLog:
    """Writes lines that are kept with the execution and shown live, as ordinary ``logging`` inside a job is.

    Any word can name a field: ``ctx.log.info("sent", message="hello", level=3)``.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    def debug(self, message: str, /, **fields: Json) -> None:
        """Detail for debugging the job."""
        self._host.log(logging.DEBUG, message, fields or None)

    def info(self, message: str, /, **fields: Json) -> None:
        """Log the job's progress."""
        self._host.log(logging.INFO, message, fields or None)

    def warning(self, message: str, /, **fields: Json) -> None:
        """Log something that an operator should know of."""
        self._host.log(logging.WARNING, message, fields or None)

    def error(self, message: str, /, **fields: Json) -> None:
        """Log that something went wrong; the job itself decides whether it fails."""
        self._host.log(logging.ERROR, message, fields or None)

    def exception(self, message: str, /, **fields: Json) -> None:
        """Log as ``error`` does, with the traceback of the exception being handled."""
        self._host.log(logging.ERROR, f"{message}\n{traceback.format_exc().rstrip()}", fields or None)


class JobContext(DurableContext):
    """Handed to every job that has a parameter annotated ``JobContext``.

    ``JobContext()`` is for code that calls the function itself, outside of Cronograph: nothing of it is stored.

    Attributes:
        info: The facts about this attempt.
        log: Lines kept with the execution.
        services: The process' database and API, for jobs that need them; None in a child process.
    """

    def __init__(self, info: RunInfo = OUTSIDE, host: Host | None = None, services: "Services | None" = None) -> None:
        carrier: Host = OutsideHost() if host is None else host
        super().__init__(info, carrier)
        self.log: JobLog = JobLog(carrier)
        self.services = services
        self._host = carrier

    @property
    def args(self) -> Mapping[str, Json]:
        """The arguments of the run as they were submitted, with secrets in the place of their references."""
        return self.info.args

    @property
    def carried(self) -> Mapping[str, Json]:
        """Return the values that ``@carries`` gave the run where it was enqueued, by name."""
        return self.info.carried or {}

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the run; its own runs inherit them."""
        return self.info.labels or {}

    @property
    def run_id(self) -> int:
        """The run's id."""
        return self.info.run_id

    @property
    def attempt(self) -> int:
        """1 for the first start of the run, and one more for each further start."""
        return self.info.attempt

    @property
    def is_last_attempt(self) -> bool:
        """Return whether a failure of this attempt ends the run as failed."""
        return self.info.is_last_attempt

    @property
    def scheduled_for(self) -> datetime | None:
        """The nominal time of the occurrence in UTC; None for runs made by hand or through the API."""
        return self.info.scheduled_for

    @property
    def scheduled_local(self) -> datetime | None:
        """The nominal time of the occurrence in the time zone of its schedule; None as for ``scheduled_for``.

        ``ctx.scheduled_local.date()`` is the day of the schedule: at 00:30 in Berlin, UTC has the day before.
        """
        at = self.info.scheduled_for
        zone = self.carried.get(SCHEDULE_TIMEZONE)
        return at.astimezone(ZoneInfo(zone)) if at is not None and isinstance(zone, str) else at

    @property
    def deadline(self) -> datetime | None:
        """Return when the time box of this attempt ends, in UTC; None = no time box."""
        return self.info.deadline

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, never negative; None = no time box."""
        return self._host.remaining()

    @property
    def should_stop(self) -> bool:
        """Return whether the job should save a checkpoint and leave; ``stop_reason`` says why."""
        return self._host.stop_reason() is not None

    @property
    def stop_reason(self) -> StopReason | None:
        """Return why ``should_stop`` is true, or None."""
        return self._host.stop_reason()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Show how far the job is; cheap, the newest value is written a few times a second.

        Args:
            done: How much is done, in any unit.
            total: How much there is in all, in the same unit; None = unknown.
            message: A short text next to the bar.
        """
        self._host.progress(done, total, message)

    @property
    def checkpoint(self) -> Json:
        """The last checkpoint of the task, saved by this attempt or an earlier run; None if there is none.

        Of a run without a task: the last one that an attempt at this run saved.
        """
        return self._host.checkpoint()

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        """Keep ``value`` durably with the task, so that the next attempt or occurrence proceeds from it.

        In an ``async`` job await it; in a thread or process it returns once the value is kept. A run without a task
        keeps it itself, for its next attempts.
        """
        return self._host.save_checkpoint(value)

    @overload
    async def enqueue(self, job: Runnable[P], /, *args: P.args, **kwargs: P.kwargs) -> int: ...
    @overload
    async def enqueue(self, job: str, /, **kwargs: Json) -> int: ...
    async def enqueue(self, job: Any, /, *args: Any, **kwargs: Any) -> int:
        """Put a run of a job into the queue of this run's database, at once; return its id. For ``async`` jobs.

        Args:
            job: A ``@job``, with ``job.options(…)`` for more about the run; or a name, for a job of any node:
                then arguments are given by name, as JSON.
            args: Arguments as its function takes them, without its ``JobContext`` and its resources.
            kwargs: The same by name.

        Raises:
            TypeError: an argument is missing or unknown.
            UserError: an argument or an option is wrong.
        """
        return (await self._host.enqueue([_asked(job, args, kwargs)]))[0]

    @overload
    def enqueue_sync(self, job: Runnable[P], /, *args: P.args, **kwargs: P.kwargs) -> int: ...
    @overload
    def enqueue_sync(self, job: str, /, **kwargs: Json) -> int: ...
    def enqueue_sync(self, job: Any, /, *args: Any, **kwargs: Any) -> int:
        """Do the same as ``enqueue`` for jobs that are plain functions."""
        return self._host.enqueue_waiting([_asked(job, args, kwargs)])[0]

    async def enqueue_many(self, runs: Iterable[RunSpec]) -> list[int]:
        """Put many runs into the queue, all or none: ``[mail.run(to=one) for one in people]``; return ids in order."""
        return await self._host.enqueue(_several(runs))

    def enqueue_many_sync(self, runs: Iterable[RunSpec]) -> list[int]:
        """Do the same as ``enqueue_many`` for jobs that are plain functions."""
        return self._host.enqueue_waiting(_several(runs))

    @overload
    def enqueue_at_end(self, job: Runnable[P], /, *args: P.args, **kwargs: P.kwargs) -> None: ...
    @overload
    def enqueue_at_end(self, job: str, /, **kwargs: Json) -> None: ...
    def enqueue_at_end(self, job: Any, /, *args: Any, **kwargs: Any) -> None:
        """Put a run into the queue in the transaction that ends this attempt: if, and only if, it ends well.

        An attempt that fails, is cancelled, snoozes or is lost with its node puts nothing there. In every kind of job.

        Raises:
            TypeError, UserError: see ``enqueue``.
        """
        self._host.enqueue_at_end([_asked(job, args, kwargs)])

    @overload
    async def run(self, job: Runnable[P], /, *args: P.args, **kwargs: P.kwargs) -> Json: ...
    @overload
    async def run(self, job: str, /, **kwargs: Json) -> Json: ...
    async def run(self, job: Any, /, *args: Any, **kwargs: Any) -> Json:
        """Begin a run of a job as a step, wait without a slot until it has ended, and return its ``Result``'s value.

        The step is known by the job's name. For ``async`` jobs; ``run_sync`` is for plain functions. To have several at
        the same time use ``run_all``.

        Raises:
            Suspend: it has not ended; no ``Exception``, so that ``except Exception`` does not catch it.
            RunFailed: it ended otherwise than successfully.
            TypeError, UserError: see ``enqueue``.
        """
        asked = _asked(job, args, kwargs)
        found = await self._steps.wait(_wait_of((asked,), asked.job_name), asked.job_name, None)
        return _values(found, return_exceptions=False)[0]

    @overload
    def run_sync(self, job: Runnable[P], /, *args: P.args, **kwargs: P.kwargs) -> Json: ...
    @overload
    def run_sync(self, job: str, /, **kwargs: Json) -> Json: ...
    def run_sync(self, job: Any, /, *args: Any, **kwargs: Any) -> Json:
        """Do the same as ``run`` for jobs that are plain functions."""
        asked = _asked(job, args, kwargs)
        found = self._steps.wait_waiting(_wait_of((asked,), asked.job_name), asked.job_name, None)
        return _values(found, return_exceptions=False)[0]

    async def run_all(
        self,
        runs: Iterable[RunSpec],
        *,
        name: str = "runs",
        return_exceptions: bool = False,
        max_concurrent: int | None = None,
    ) -> list[Any]:
        """Begin many runs as one step, all or none, wait without a slot until all have ended, and return their values.

        ``await ctx.run_all([mail.run(to=one) for one in people])``.

        Args:
            runs: The function to run. The first attempt that comes here says it for all.
            name: Of the step.
            return_exceptions: Give a ``RunFailed`` in the place of the value of each that did not succeed.
            max_concurrent: How many of them run at once, on all nodes together; any number unless given. Their jobs
                have no ``max_concurrent`` of their own then.

        Raises:
            Suspend, RunFailed, UserError: see ``run``; of those that failed the first in order.
        """
        wanted = tuple(_several(runs))
        asked = _wait_of(wanted, name, max_concurrent)
        if not wanted:
            return []
        return _values(await self._steps.wait(asked, name, None), return_exceptions=return_exceptions)

    def run_all_sync(
        self,
        runs: Iterable[RunSpec],
        *,
        name: str = "runs",
        return_exceptions: bool = False,
        max_concurrent: int | None = None,
    ) -> list[Any]:
        """Do the same as ``run_all`` for jobs that are plain functions."""
        wanted = tuple(_several(runs))
        asked = _wait_of(wanted, name, max_concurrent)
        if not wanted:
            return []
        return _values(self._steps.wait_waiting(asked, name, None), return_exceptions=return_exceptions)


def _wait_of(runs: tuple[RunSpec, ...], name: str, max_concurrent: int | None = None) -> Callable[[str], Wait]:
    check_step(name, None)
    if max_concurrent is not None:
        refuse(number_faults(max_concurrent, "max_concurrent", 1, MAX_CONCURRENT, whole=True))
    return lambda label: Wait(label, StepKind.RUNS, runs=runs, max_concurrent=max_concurrent)


def _values(found: StoredStep, *, return_exceptions: bool) -> list[Any]:
    """Return the results of the runs of a wait, in order."""
    if found.kind is None:
        # What a test has given.
        given: Any = found.value
        return list(given) if isinstance(given, list) else [given]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    ends = [
        one["value"]
        if one["state"] == RunState.SUCCESS.value
        else RunFailed(one["id"], one["job"], RunState(one["state"]), one["error"])
        for one in found.value
    ]
    failed = next((one for one in ends if isinstance(one, RunFailed)), None)
    if failed is not None and not return_exceptions:
        raise failed
    return ends


def _several(runs: object) -> list[RunSpec]:
    """Return the runs that are asked for.

    Raises:
        TypeError: it is no list of them.
    """
    found: list[object] = list(cast("Iterable[object]", runs)) if isinstance(runs, Iterable) else [runs]
    for one in found:
        if not isinstance(one, RunSpec):
            raise TypeError(f"runs: must be runs to be, e.g. [job.run(…)], got {one!r:.60}")
    return cast("list[RunSpec]", found)


def _asked(job: Runnable[...] | str, args: tuple[object, ...], kwargs: Mapping[str, Json]) -> RunSpec:
    """Return the run that is asked for.

    Raises:
        TypeError: arguments for a job by its name are given by place, or it is neither a job nor a name.
    """
    if isinstance(job, str):
        if args:
            raise TypeError(f"enqueue('{job}', …): arguments of a named job are given by name, got {args[0]!r:.60}")
        return RunSpec(job, dict(kwargs))
    if not hasattr(job, "run"):
        raise TypeError(f"enqueue: must be a job or the name of one, got {job!r:.60}; put @job on the function")
    return job.run(*args, **kwargs)


current_host: ContextVar[Host | None] = ContextVar("cronograph_current_host", default=None)
"""The host of the job that runs in this context; ordinary ``logging`` finds its execution through it."""


class _Nobody:
    """A process that job code forks belongs to no job: nothing there answers its questions to a host."""

    def renew(self) -> None:
        current_host.set(None)


_nobody: Final = _Nobody()
renew_in_forks(_nobody)


def services_of(context: JobContext) -> "Services":
    """Return the services of the process.

    Raises:
        ConfigurationError: there are none, as in a child process.
    """
    if context.services is None:
        raise ConfigurationError(
            f"job '{context.info.job_name}': must run within a node, which gives it the database and the API; "
            "it got neither. Built-in jobs cannot run with isolation 'process'"
        )
    return context.services
