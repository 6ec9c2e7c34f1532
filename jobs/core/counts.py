"""Count for monitoring: plain numbers, written by the loop of the jobs and read from any thread."""

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Final, Protocol

from .model import Outcome, SkipReason, Trigger
from .outcome import Cancelled, Failed, HandedBack, JobOutcome, Lost, Snoozed, Succeeded, Suspended, TimedOut, Unread

BOUNDS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 21600.0)
"""Upper bounds of the buckets of every histogram of runs, in seconds."""
MOST_NAMES: Final = 200
"""Groups and tasks that are counted by name."""
OTHER: Final = "_other"
"""The name under which the groups and tasks beyond that are counted together."""

_OUTCOMES: Final[Mapping[type[JobOutcome], Outcome]] = {
    Succeeded: Outcome.SUCCESS,
    Failed: Outcome.FAILED,
    TimedOut: Outcome.TIMED_OUT,
    Cancelled: Outcome.CANCELLED,
    Snoozed: Outcome.SNOOZED,
    Suspended: Outcome.SUSPENDED,
    HandedBack: Outcome.HANDED_BACK,
    Lost: Outcome.LOST,
    Unread: Outcome.HANDED_BACK,
}


class CountedRun(Protocol):
    """A run, as far as it is counted."""

    @property
    def id(self) -> int:
        """Its key."""
        ...

    @property
    def job_name(self) -> str:
        """Its job."""
        ...

    @property
    def group(self) -> str:
        """Its group."""
        ...

    @property
    def task_name(self) -> str | None:
        """The task that made it, if one did."""
        ...

    @property
    def attempt(self) -> int:
        """Return how often it was started."""
        ...

    @property
    def trigger(self) -> str:
        """Return its origin."""
        ...

    @property
    def scheduled_for(self) -> datetime | None:
        """The time of the schedule that it was made for."""
        ...

    @property
    def available_at(self) -> datetime:
        """Since when it could have been started."""
        ...

    @property
    def started_at(self) -> datetime | None:
        """Return when this attempt began."""
        ...


class Ended(Protocol):
    """An attempt that ended, as far as it is counted."""

    @property
    def run(self) -> CountedRun:
        """The run as it was started."""
        ...

    @property
    def outcome(self) -> JobOutcome:
        """Return how it ended."""
        ...

    @property
    def cancelled(self) -> bool:
        """Return whether it was asked to cancel."""
        ...

    @property
    def seconds(self) -> float:
        """Return how long its code ran."""
        ...

    @property
    def log_cut(self) -> int:
        """Log lines that were not kept."""
        ...


class Histogram:
    """Count values by upper bound, and add them up.

    Attributes:
        counts: By bucket, not cumulated; the last one has no bound.
        total: The sum of the values.
    """

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts: list[int] = [0] * (len(BOUNDS) + 1)
        self.total: float = 0.0

    def observe(self, seconds: float) -> None:
        """Count a value."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class JobCounts:
    """Count the runs of one job.

    Attributes:
        started: Attempts that began.
        outcomes: Attempts that ended, by how they did.
        durations: How long they took.
        log_cut: Log lines that were not kept.
    """

    __slots__ = ("durations", "log_cut", "outcomes", "started")

    def __init__(self) -> None:
        self.started: int = 0
        self.outcomes: dict[Outcome, int] = {}
        self.durations: Histogram = Histogram()
        self.log_cut: int = 0


class TaskCounts:
    """Count the runs of one task.

    Attributes:
        outcomes: Attempts that ended, by how they did.
        lateness: Seconds from the scheduled time of an occurrence to the first start of its run.
    """

    __slots__ = ("lateness", "outcomes")

    def __init__(self) -> None:
        self.outcomes: dict[Outcome, int] = {}
        self.lateness: Histogram = Histogram()


class NodeCounts:
    """Count the runs of one process since it started.

    One thread writes, a batch of runs at a time and without locks. Another one may read meanwhile: it sees each number
    as it is at that moment.

    Attributes:
        waits: By group: seconds from when a run became available to its start.
        refused: Ends that the database refused, because the run had been taken from this node.
        dispatched: Runs made of tasks that came due.
        dispatch_lag: Seconds by which tasks were overdue when the transaction began that made their runs.
        skipped: Occurrences that did not become runs, by reason.
        faults: How often each part of the node, by its name, failed unexpectedly and went on.
    """

    def __init__(self) -> None:
        self.faults: dict[str, int] = {}
        self.jobs: dict[str, JobCounts] = {}
        self.waits: dict[str, Histogram] = {}
        self.tasks: dict[str, TaskCounts] = {}
        self.refused: int = 0
        self.dispatched: int = 0
        self.dispatch_lag: Histogram = Histogram()
        self.skipped: dict[SkipReason, int] = {}

    def failed(self, part: str) -> None:
        """Count that a part of the node failed unexpectedly and goes on; a part has one thread, which alone counts."""
        self.faults[part] = self.faults.get(part, 0) + 1

    def begun(self, runs: Iterable[CountedRun]) -> None:
        """Count attempts at these runs that begin."""
        jobs, waits = self.jobs, self.waits
        for run in runs:
            (jobs.get(run.job_name) or self._job(run.job_name)).started += 1
            started = run.started_at
            if started is None:
                continue
            seconds = (started - run.available_at).total_seconds()
            (waits.get(run.group) or self._wait(run.group)).observe(max(0.0, seconds))
            # A retry by hand keeps the time that its run was scheduled for, and is not late.
            if run.attempt == 1 and run.scheduled_for is not None and run.trigger == Trigger.SCHEDULE:
                late = (started - run.scheduled_for).total_seconds()
                self._task(run.task_name or OTHER).lateness.observe(max(0.0, late))

    def ended(self, ends: Iterable[Ended], accepted: Container[int]) -> None:
        """Count attempts that have ended, once the database has their ends.

        Args:
            accepted: The runs whose end it took; the others had been taken from this node.
        """
        jobs = self.jobs
        for end in ends:
            run = end.run
            if run.id not in accepted:
                self.refused += 1
                continue
            outcome = Outcome.CANCELLED if end.cancelled else _OUTCOMES[type(end.outcome)]
            job = jobs.get(run.job_name) or self._job(run.job_name)
            job.outcomes[outcome] = job.outcomes.get(outcome, 0) + 1
            job.durations.observe(end.seconds)
            job.log_cut += end.log_cut
            if run.task_name is not None:
                by_outcome = self._task(run.task_name).outcomes
                by_outcome[outcome] = by_outcome.get(outcome, 0) + 1

    def visited(self, made: int, lags: Iterable[float], skipped: Mapping[SkipReason, int]) -> None:
        """Count due tasks that were visited.

        Args:
            lags: For each task that made any: by how many seconds it was overdue.
            skipped: Occurrences that did not become runs, by reason.
        """
        self.dispatched += made
        for lag in lags:
            self.dispatch_lag.observe(max(0.0, lag))
        for reason, count in skipped.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + count

    def _job(self, name: str) -> JobCounts:
        found = self.jobs.get(name)
        if found is None:
            found = self.jobs[name] = JobCounts()
        return found

    def _wait(self, group: str) -> Histogram:
        found = self.waits.get(group)
        if found is None:
            name = group if len(self.waits) < MOST_NAMES else OTHER
            found = self.waits.get(name) or self.waits.setdefault(name, Histogram())
        return found

    def _task(self, name: str) -> TaskCounts:
        found = self.tasks.get(name)
        if found is None:
            name = name if len(self.tasks) < MOST_NAMES else OTHER
            found = self.tasks.get(name) or self.tasks.setdefault(name, TaskCounts())
        return found
