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
    """When a task is due.

    Attributes:
        syntax: how ``value`` is written.
        value: the schedule, at most 256 characters.
        timezone: an IANA zone, in which wall times are read.
    """

    syntax: ScheduleSyntax
    value: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateInput:
    """How many runs start in how long: a token bucket, of which each start takes a token.

    Attributes:
        limit: how many in ``per`` seconds; from one a day to 100,000 a second.
        per: seconds.
        burst: how many start at once after a pause; a twentieth of the limit unless given, at least 1.
    """

    limit: int
    per: Seconds = 1
    burst: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebounceInput:
    """One run for many enqueues of a key, with the last arguments.

    Attributes:
        delay: seconds without a new one after which it is due.
        max_wait: it is due at the latest so many seconds after the first.
    """

    delay: Seconds
    max_wait: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleInput:
    """At most one run of a key is enqueued in a period.

    Attributes:
        period: seconds.
        last: whether what comes within it is folded into one run at its end, with the newest arguments; else, and
            unless given, it is answered with the first.
    """

    period: Seconds
    last: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """A run to be put into the queue. Null = the default.

    Attributes:
        job_name: the job; see ``availableJobs``.
        args: its arguments, an object; none unless given.
        group: its group; the job's, or else ``default``, unless given.
        priority: its priority; the job's, or else LOW, unless given.
        run_at: it does not start before this time.
        unique_key: while a run with this key is unfinished, that one is answered instead; as the job declares, unless
            given.
        retries: how many failures it survives; as the job says, or else 2, unless given.
        retry_delay: seconds before the first retry; as the job says, or else 60, unless given.
        timeout: the time box of an attempt in seconds; the job's, or else none, unless given.
        max_duration: seconds that it may take from its first start, sleeping and waiting included; the job's, or else
            any.
        description: what it is for.
        labels: words by which it is found, added to those of the job: an object of texts.
        unique_for: the unique key holds so many seconds after the enqueueing, or until the run is finished, whichever
            is later.
        unique_among: [WAITING]: the unique key is free once the run has begun.
        debounce: one run for many enqueues of the unique key: it has the last arguments, and waits for further ones.
        throttle: at most one run of the unique key is enqueued in a period.
        expires_at: it is skipped, with the reason EXPIRED, unless it has started by then.
        ttl: the same in seconds from when it may start; as the job says, unless given.
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
    labels: Any | None = None
    unique_for: Seconds | None = None
    unique_among: Sequence[RunState] | None = None
    debounce: DebounceInput | None = None
    throttle: ThrottleInput | None = None
    expires_at: datetime | None = None
    ttl: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun(RunSettings):
    """A run to be put into the queue. Null = the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFlowRun(RunSettings):
    """A run of a flow. It starts once all runs named in ``after`` are over, as ``when`` says.

    Attributes:
        key: what it is called in the flow, 1 to 200 characters.
        after: the keys of the runs that it comes after; none unless given.
        when: after which ends of these it starts; SUCCESS unless given.
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
    labels: Any | None
    rate: RateInput | None
    dry_run: bool | None


class TaskChanges(TaskSettings, total=False):
    """What can be changed on a task."""

    job_name: str
    schedule: ScheduleInput
