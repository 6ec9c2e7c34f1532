# Made from graphql/schema.graphql by `make schema`; do not edit it.
"""Schedules, runs, conditions, settings of a task. Durations: seconds or a ``timedelta``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from .base.shapes import Seconds
from .enums import EventKind, FlowCondition, MisfirePolicy, OverlapPolicy, Priority, RunState, ScheduleSyntax


@dataclass(frozen=True, slots=True)
class ScheduleInput:
    """A schedule: the times at which a task is due.

    Attributes:
        syntax: the syntax in which ``value`` is written.
        value: the schedule in its syntax, e.g. ``0 30 9 * * mon-fri`` as CRON. At most 256 characters.
        timezone: the IANA time zone in which wall times are read, e.g. ``Europe/Berlin``. ``UTC`` unless given.
    """

    syntax: ScheduleSyntax
    value: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateInput:
    """A limit of starts over time: a token bucket, from which each start takes a token.

    Attributes:
        limit: the number of runs that start in ``per`` seconds: at least one a day, at most 100,000 a second.
        per: the length of the period in seconds, from 0.001. 1 unless given.
        burst: the number of runs that start at once after a pause, at least 1. A twentieth of ``limit`` unless given.
    """

    limit: int
    per: Seconds = 1
    burst: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesInput:
    """The resources that a run needs at the engine of its job. Absent ones are as the job says.

    Attributes:
        cpus: the number of processor cores, above 0.
        memory: the bytes of memory, above 0.
        gpus: the number of graphics processors, above 0.
        image: the container image that has the code.
        queue: the queue or the partition of the engine.
        options: further words of the executor, each over that of the job: an object of texts.
    """

    cpus: Seconds | None = None
    memory: int | None = None
    gpus: int | None = None
    image: str | None = None
    queue: str | None = None
    options: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebounceInput:
    """A delay that makes one run of many enqueues of a key, with the last arguments.

    Attributes:
        delay: the seconds without a new enqueue after which the run is due.
        max_wait: the most seconds from the first enqueue after which the run is due in any case. No limit unless given.
    """

    delay: Seconds
    max_wait: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleInput:
    """A period in which at most one run of a key is enqueued.

    Attributes:
        period: the length of the period in seconds.
        last: true folds later enqueues of the period into one run at its end, with the newest arguments; false answers
            them with the first run. False unless given.
    """

    period: Seconds
    last: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """A run that is put into the queue. Absent and null mean the default.

    Attributes:
        job_name: the name of the job, one of ``availableJobs``.
        args: the arguments of the run, an object. None unless given.
        group: the group of the run. That of the job, or else ``default``, unless given.
        priority: the priority of the run. That of the job, or else LOW, unless given.
        run_at: the time before which the run does not start. Now unless given.
        unique_key: a key that no other unfinished run has: if one has it, that run is answered and none is made. The
            key that the job declares unless given; 1 to 200 characters.
        retries: the number of failures that the run survives. That of the job, or else 2, unless given.
        retry_delay: the seconds before the first retry; each further one waits twice as long. That of the job, or else
            60, unless given.
        timeout: the seconds after which an attempt is stopped. The time box of the job, or else none, unless given.
        max_duration: the seconds that the run may take from its first start, sleeping and waiting included. The limit
            of the job, or else none, unless given.
        description: a description of the run. Empty unless given; at most 10,000 characters.
        labels: labels by which the run is found, added to those of its job: an object of texts. None unless given.
        unique_for: the seconds for which the unique key holds from the enqueueing on, and at least until the run is
            finished. Until then only unless given.
        unique_among: the states in which a run holds its unique key: ``[WAITING]`` frees the key once the run has
            begun. All unfinished states unless given.
        debounce: a delay that makes one run of many enqueues with the same unique key; the run has the last arguments.
            No delay unless given.
        throttle: a period in which at most one run of the unique key is enqueued. Any number unless given.
        expires_at: the time by which the run must have started, or else it is skipped with the reason EXPIRED. None
            unless given.
        ttl: the seconds in which the run must start once it may, or else it is skipped with the reason EXPIRED. Those
            of the job unless given.
        resources: the resources at the engine of the job, each over that of the job; of jobs at an engine alone. Those
            of the job unless given.
    """

    job_name: str
    args: Mapping[str, Any] | None = None
    group: str | None = None
    priority: Priority | None = None
    run_at: datetime | None = None
    unique_key: str | None = None
    retries: int | None = None
    retry_delay: Seconds | None = None
    timeout: Seconds | None = None
    max_duration: Seconds | None = None
    description: str | None = None
    labels: Mapping[str, str] | None = None
    unique_for: Seconds | None = None
    unique_among: Sequence[RunState] | None = None
    debounce: DebounceInput | None = None
    throttle: ThrottleInput | None = None
    expires_at: datetime | None = None
    ttl: Seconds | None = None
    resources: ResourcesInput | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun(RunSettings):
    """A run that is put into the queue. Absent and null mean the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFlowRun(RunSettings):
    """A run of a flow. It starts once all runs of ``after`` are over, as ``when`` says.

    Attributes:
        key: the name of the run in its flow, 1 to 200 characters.
        after: the keys of the runs after which this one starts. None unless given: it starts at once.
        when: the ends of the runs before that let this one start. SUCCESS unless given.
    """

    key: str
    after: Sequence[str] | None = None
    when: FlowCondition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """A filter of events; all conditions must hold. Events of kind ``RESYNC`` always pass.

    Attributes:
        kinds: only events of these kinds.
        job_name: only events about this job.
        task_name: only events about this task.
        run_id: only events about the run with this ``id``.
        group: only events about this group.
        flow_id: only events about the flow with this ``id`` and its runs.
    """

    kinds: Sequence[EventKind] | None = None
    job_name: str | None = None
    task_name: str | None = None
    run_id: int | None = None
    group: str | None = None
    flow_id: int | None = None


class TaskSettings(TypedDict, total=False):
    """What can be set on a task: what is absent is left alone, None sets the default."""

    args: Mapping[str, Any] | None
    description: str | None
    enabled: bool | None
    group: str | None
    priority: Priority | None
    owner: str | None
    overlap: OverlapPolicy | None
    misfire: MisfirePolicy | None
    misfire_grace: Seconds | None
    catch_up_limit: int | None
    tolerance: Seconds | None
    timeout: Seconds | None
    max_duration: Seconds | None
    retries: int | None
    retry_delay: Seconds | None
    jitter: Seconds | None
    start_at: datetime | None
    end_at: datetime | None
    labels: Mapping[str, str] | None
    resources: ResourcesInput | None
    rate: RateInput | None
    dry_run: bool | None


class TaskChanges(TaskSettings, total=False):
    """What can be changed on a task."""

    job_name: str
    schedule: ScheduleInput
