"""Declare the options of ``@job(…)``."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Final, Protocol, TypedDict

from ..core.admission.holding import Debounce, Throttle
from ..core.base.resources import Resources
from ..core.limits import PlaceHold
from ..core.model import Isolation, Json, MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec
from ..core.outcome import Failure
from ..core.run_spec import Seconds
from .limits import Cap, KeyFunction, Rate
from .policies import Alarm, Backoff, Batch, Reuse


class NamedJob(Protocol):
    """Type the result of ``@job`` on a function."""

    @property
    def name(self) -> str:
        """The job's name."""
        ...


class JobOptions(TypedDict, total=False):
    """The options of ``@job``. Words such as ``"high"`` stand for enums.

    Durations are seconds, a ``timedelta``, or a text such as ``"5m"``, ``"1h30m"`` or ``"PT5M"``.

    Attributes:
        schedule: A six-field cron string, or a ``ScheduleSpec`` of any syntax; becomes a task of the job's name.
        timezone: The IANA zone of a schedule given as a string; UTC unless given.
        args: The arguments of the declared schedule's runs, plain JSON.
        enabled: False: the task of the schedule begins paused. True unless given.
        description: For people; unless given, the first line of the docstring.
        isolation: ``"process"`` to run in a child process, or the name of an executor, e.g. ``"command"``, which hands
            each run to an engine outside of the node; unless given, ``async def`` runs on the event loop and ``def`` in
            a thread.
        resources: Of such a job: the needs of a run there, as ``Resources(cpus=4, memory=8 * 2**30, gpus=1)``. As its
            executor says unless given.
        reuse: Of a job with ``isolation="process"``: how long a child process serves one run after the other, as a
            number of runs, a ``timedelta``, or a ``Reuse``; each run gets a fresh one unless given.
        preload: Of such a job: whether its module is imported once, before child processes are forked; as the node's
            setting ``preload`` says unless given.
        retries: How many failures a run survives; 2 unless given.
        retry_delay: Seconds before the first retry; 60 unless given.
        backoff: How the delay grows: ``"exponential"`` (unless given), ``"linear"``, ``"constant"``, or a function that
            takes the number of failures so far (1, 2, …) and returns seconds.
        retry_on: Only these exceptions are retried; any unless given.
        give_up_on: These exceptions fail the run at once, as ``PermanentFailure`` does.
        timeout: Seconds each attempt may take; no limit unless given (for an INTERVAL schedule half the interval).
        max_duration: How long a whole run may take from its first start: all attempts, sleeps and waits.
            Then it is failed, even if retries are left. No limit unless given.
        group: The unit of fairness and limits; ``default`` unless given.
        priority: ``"high"`` or ``"low"``; low unless given.
        overlap: The behaviour of its tasks while a run of theirs is unfinished: ``"skip"``, ``"queue"``, ``"allow"``,
            ``"replace"``; skip unless given, queue for an INTERVAL.
        misfire: The behaviour of its tasks for late occurrences: ``"last"``, ``"all"``, ``"none"``; last unless given.
        unique_key: While a run with this key is unfinished, no second one is made. Names of arguments
            (``("order_id",)``) or a text with them in braces (``"orders-{order_id}"``) hold for every run of the job,
            also of schedules and the API. A function of the arguments by name (None = no key) holds for ``enqueue`` of
            the job itself only, because nothing else can call it. No key unless given.
        unique_for: The unique key holds so long after the enqueueing, or until the run is finished, whichever is later;
            of a run that was cancelled or skipped it is free at once. Without a ``unique_key`` all runs have one.
        unique_among: ``("waiting",)``: the unique key is free once the run has begun, not once it is finished.
        debounce: One run for many enqueues of a key: it has the last arguments, and starts when for so long none has
            come, at the latest after the time to wait at most: ``Debounce(delay=5, max_wait=60)``.
        throttle: At most one run of a key is enqueued in a period; further ones are answered with it, or folded into
            one run at the end of the period: ``Throttle(period=60, last=True)``.
        labels: Words by which runs are found: ``{"team": "billing"}``. At most 16, keys of 63 and values of 200
            characters. Those of an enqueue or a task come first.
        labels_from: Arguments that are labels of each run: ``("customer_id",)``, or with other keys
            ``{"customer": "customer_id"}``. An argument that is None is no label.
        ttl: A run that has not started in this time since it could (``run_at``, or when it was enqueued) is skipped,
            with the reason ``expired``; one that began in time is never affected. No limit unless given.
        on_expired: A job (or its name) whose run is put into the queue then, with the ``Expired`` as its argument.
        rate: How many runs of the job start in how long, on all nodes together: ``Rate(100, per="1m")``. No limit
            unless given. Retries count too; runs that a node hands back do not.
        rate_key: The arguments for each value of which the rate holds by itself, written as a ``unique_key`` is.
        max_concurrent: How many runs with the same ``concurrency_key`` run at once, on all nodes together.
        concurrency_key: Their common key, written as a ``unique_key`` is; the job's name unless given. Jobs
            that make the same text share its slots.
        hold: How long a run takes its place among these: ``"running"`` (default): while it is executed; while it waits
            for its retry, sleeps or waits, others have the place. ``"unfinished"``: from its first start until it is
            finished for good.
        cap: How many runs of the job wait at most, and the fate of further ones: ``Cap(1000,
            when_full="drop_oldest")``. Any number unless given.
        cap_key: The common key of those counted together, written as a ``unique_key`` is; unless given, as
            the ``concurrency_key``, or else all runs of the job.
        on_failure: A job (or its name) whose run is put into the queue, with the ``Failure`` as its argument, when a
            run of this job fails for good; or a function that a node calls then, at most once.
        on_cancel: A job (or its name) whose run is put into the queue, with the ``Cancellation`` as its argument, when
            a run of this job has been cancelled.
        keep: How long the history of its finished runs is kept: their executions and log lines, too. As long as
            ``prune_history`` says unless given; their group's setting counts first.
        batch: Runs that wait at the same time are carried out by one call: ``Batch(size=100, wait="200ms")``. The
            function takes a list of items, one for each run, and returns None or a list of their results, in which an
            exception fails its run.
        version: A word that distinguishes this code from other code of the job, e.g. that of a release. While a node
            with this version lives, runs that it accepted, or that wait since they began there, go on there. Unless
            given, as the setting ``code_version`` says, or else versions differ by the arguments that they take; None:
            by these alone.
        slots: How many of a node's slots one run takes, for jobs that need more memory or processors than others: a
            run starts on a node once so many are free there, and they are kept free for the run that is next. Of jobs
            in threads and child processes it takes as many of those, too. 1 unless given.
        tags: Words by which nodes choose (``serve --tags gpu``): one, or several. None unless given.
        alarms: Alarms of the job and of its schedule: ``[Alarm(failing=3, channels=["ops"])]``. None unless given.
    """

    schedule: str | ScheduleSpec | None
    timezone: str
    args: Mapping[str, Json]
    enabled: bool
    description: str | None
    isolation: Isolation | str | None
    resources: Resources | None
    reuse: int | timedelta | Reuse | None
    preload: bool | None
    retries: int
    retry_delay: Seconds
    backoff: Backoff | str | Callable[[int], Seconds]
    retry_on: type[BaseException] | Sequence[type[BaseException]]
    give_up_on: type[BaseException] | Sequence[type[BaseException]]
    timeout: Seconds | None
    max_duration: Seconds | None
    group: str
    priority: Priority | str
    overlap: OverlapPolicy | str
    misfire: MisfirePolicy | str
    unique_key: str | Sequence[str] | KeyFunction | None
    unique_for: Seconds | None
    unique_among: Sequence[str] | None
    debounce: Debounce | None
    throttle: Throttle | None
    labels: Mapping[str, str] | None
    ttl: Seconds | None
    on_expired: str | NamedJob | None
    labels_from: Sequence[str] | Mapping[str, str] | None
    rate: Rate | None
    rate_key: str | Sequence[str] | None
    max_concurrent: int | None
    concurrency_key: str | Sequence[str] | None
    hold: PlaceHold | str | None
    cap: Cap | None
    cap_key: str | Sequence[str] | None
    on_failure: str | NamedJob | Callable[[Failure], object] | None
    on_cancel: str | NamedJob | None
    keep: Seconds | None
    batch: Batch | None
    version: str | None
    slots: int | None
    tags: str | Sequence[str]
    alarms: Alarm | Sequence[Alarm]


NAMES = tuple(JobOptions.__annotations__)
"""The options that there are."""
_NAMED_ELSEWHERE: Final = {"retry": "retries", "max_retries": "retries", "cron": "schedule", "queue": "group"}
"""Names that others have for an option, where another one is nearer by its letters."""


def unknown_option(options: Mapping[str, Any]) -> str | None:
    """Return the faults in the names of options, with the nearest one that exists; None if nothing is."""
    unknown = next((name for name in options if name not in NAMES), None)
    if unknown is None:
        return None
    near = _NAMED_ELSEWHERE.get(unknown) or next(iter(get_close_matches(unknown, NAMES, 1)), None)
    hint = f"did you mean '{near}'?" if near else f"there are {', '.join(NAMES)}"
    return f"@job has no option '{unknown}'; {hint}"
