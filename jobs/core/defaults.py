"""Defaults of runs and tasks, and how long their history is kept. Order: enqueue or task, then job, then product."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from .admission.caps import Rate
from .admission.holding import Hold, hold_faults
from .admission.labels import LabelRule
from .base.errors import InvalidInput
from .base.signature import VERSION, signature_of
from .limits import LIMITS, Keys, Limits, UniqueKey
from .model import (
    DEFAULT_GROUP,
    DEFAULT_RETRIES,
    DEFAULT_RETRY_DELAY,
    Isolation,
    Json,
    MisfirePolicy,
    NewRun,
    OverlapPolicy,
    Priority,
    TaskSpec,
)
from .rules import number_faults

MAX_KEEP: Final = 36500 * 86400.0


def keep_faults(keep: object) -> Iterator[InvalidInput]:
    """Yield the faults of the seconds for which the history of a job or a group is kept."""
    if keep is not None:
        yield from number_faults(keep, "keep", 1, MAX_KEEP)


@dataclass(frozen=True, slots=True)
class Keeping:
    """Limit the age of finished runs and their executions.

    Attributes:
        now: The time from which ages are counted.
        age: The default for runs whose group and job set none.
        jobs: Seconds by the names of those jobs that say something.
        groups: Seconds by the names of those groups that say something; it counts before the job's setting.
        archived: Rows that ended at this time or later stay, since the archive lacks it; None = there is no archive.
    """

    now: datetime
    age: timedelta
    jobs: Mapping[str, float] = field(default_factory=dict[str, float])
    groups: Mapping[str, float] = field(default_factory=dict[str, float])
    archived: datetime | None = None

    def of(self, job_name: str, group_name: str | None) -> timedelta:
        """Return how long the history of such a run is kept."""
        return self.rule_of(job_name, group_name)[0]

    def rule_of(self, job_name: str, group_name: str | None) -> tuple[timedelta, str | None]:
        """Return the same, and who says so: ``group 'mail'``, ``job 'send'``; None = nobody but the pruning."""
        if group_name is not None and group_name in self.groups:
            return timedelta(seconds=self.groups[group_name]), f"group '{group_name}'"
        if job_name in self.jobs:
            return timedelta(seconds=self.jobs[job_name]), f"job '{job_name}'"
        return self.age, None

    def is_over(self, job_name: str, group_name: str | None, ended: datetime) -> bool:
        """Return whether a run that ended at ``ended`` is kept no longer."""
        return ended < self.before_of(self.of(job_name, group_name))

    @property
    def before(self) -> datetime:
        """Return the time before which history is deleted by default."""
        return self.before_of(self.age)

    def before_of(self, age: timedelta) -> datetime:
        """Return the time before which history is deleted that is kept for ``age``."""
        over = self.now - age
        return over if self.archived is None else min(over, self.archived)

    @property
    def shorter(self) -> list[timedelta]:
        """Each time that is shorter than the usual one, the longest first."""
        ages = {timedelta(seconds=seconds) for seconds in (*self.jobs.values(), *self.groups.values())}
        return sorted((each for each in ages if each < self.age), reverse=True)

    @property
    def has_longer(self) -> bool:
        """Return whether anything is kept longer than usual."""
        usual = self.age.total_seconds()
        return any(seconds > usual for seconds in (*self.jobs.values(), *self.groups.values()))

    @property
    def digest(self) -> str:
        """Differs when jobs or groups say something else."""
        text = json.dumps([sorted(self.jobs.items()), sorted(self.groups.items())])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Retained:
    """Hold the limits of all history.

    Attributes:
        kept: How long it is kept.
        max_per_task: How many executions of each task are kept at most; None = any number.
        pruning: The task that prunes; None = there is none.
        is_paused: Whether it is paused.
    """

    kept: Keeping
    max_per_task: int | None
    pruning: str | None
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class JobDefaults:
    """Hold the settings that a job declares for its runs and tasks. None = the product's default. Seconds.

    Only the job can say some of them: ``on_failure`` names the job that gets a run when one of this job fails for good,
    ``on_cancel`` the same for one that is cancelled,
    ``unique_key`` how the key of a run follows from its arguments, ``labels`` which labels all runs get, ``limits`` how
    many start and run at once, ``ttl`` how long runs may wait for their start, ``on_expired`` the job that gets a run
    when one has waited too long, ``hold`` how unique keys hold, ``keep`` how long their history is kept.
    """

    group: str | None = None
    priority: Priority | None = None
    retries: int | None = None
    retry_delay: float | None = None
    timeout: float | None = None
    max_duration: float | None = None
    overlap: OverlapPolicy | None = None
    misfire: MisfirePolicy | None = None
    on_failure: str | None = None
    on_cancel: str | None = None
    unique_key: UniqueKey | None = None
    labels: LabelRule | None = None
    ttl: float | None = None
    on_expired: str | None = None
    hold: Hold | None = None
    limits: Limits | None = None
    keep: float | None = None

    @property
    def makes_keys(self) -> bool:
        """Return whether keys of a run follow from its arguments, by its job's published form."""
        return self.limits is not None or (self.unique_key is not None and not self.unique_key.in_code)

    @property
    def settles(self) -> bool:
        """Return whether parts of a run follow from its arguments, so that no statement can copy them."""
        return self.makes_keys or not (self.labels is None and self.ttl is None and self.hold is None)


NO_DEFAULTS: Final = JobDefaults()
_OF_JOB_ONLY: Final = frozenset(
    {"on_failure", "on_cancel", "unique_key", "labels", "limits", "ttl", "on_expired", "hold", "keep"}
)
TASK_POLICIES: Final = tuple(one.name for one in fields(JobDefaults) if one.name not in _OF_JOB_ONLY)
"""Settings that a task inherits from its job unless it has its own."""
RUN_POLICIES: Final = ("group", "priority", "retries", "retry_delay", "timeout", "max_duration")
"""Settings that a run inherits from its job unless it has its own."""
UNIQUE_KEY: Final = "unique_key"
PER_RUN: Final = "per_run"
"""Stands among what a run inherits for that which its job says of each run by itself, besides its keys: its labels."""
TTL: Final = "ttl"
"""The same for the time in which it has to start, alone: a run that is made again has its labels already."""
FROM_ARGUMENTS: Final = frozenset({UNIQUE_KEY, LIMITS, PER_RUN, TTL})
"""Inherited settings of a run that follow from its arguments, or that each run sets for itself."""
FOLLOWED: Final = frozenset({*RUN_POLICIES, UNIQUE_KEY, LIMITS, PER_RUN})
"""Inherited settings of a run that sets none itself: the policies, and those that follow from its arguments."""
_PRODUCT: Final[Mapping[str, Any]] = {
    "group": DEFAULT_GROUP,
    "priority": Priority.LOW,
    "retries": DEFAULT_RETRIES,
    "retry_delay": DEFAULT_RETRY_DELAY,
    "misfire": MisfirePolicy.LAST,
}


def value_of(defaults: JobDefaults, name: str) -> Any:  # noqa: ANN401 - each policy has its own type
    """Return the value of a policy that a run or task does not set: the job's, or else the product's."""
    of_job = getattr(defaults, name)
    return _PRODUCT.get(name) if of_job is None else of_job


def run_of_job(
    run: NewRun, defaults: JobDefaults, signature: str | None = None, unknown: Collection[str] = ()
) -> NewRun:
    """Return ``run`` with its job's settings, of the version with this signature if its arguments were checked.

    Keys and labels that are made of arguments that are ``unknown`` yet it gets once they are known.
    """
    inherited = {name: value_of(defaults, name) for name in run.inherits - FROM_ARGUMENTS}
    run = settle(run, defaults, unknown)
    return replace(run, inherits=frozenset(), signature=signature or run.signature, **inherited)


def settle(run: NewRun, defaults: JobDefaults, unknown: Collection[str] = ()) -> NewRun:
    """Return ``run`` with the values that its job makes for each run, as far as it inherits them.

    Raises:
        InvalidInput: an argument that is to be a label cannot be one, or a time is given to a run whose job says when
            it starts.
    """
    changes: dict[str, Any] = {}
    if defaults.unique_key is not None and not defaults.unique_key.fits(run.args):
        # They are of another version of the job. By this key all its runs would be one.
        defaults = replace(defaults, unique_key=None, hold=None)
    if UNIQUE_KEY in run.inherits:
        made = None if defaults.unique_key is None else defaults.unique_key.of(run.job_name, run.args, unknown)
        changes["unique_key"] = made or run.unique_key
    if LIMITS in run.inherits and defaults.limits is not None:
        keys = defaults.limits.keys_of(run.job_name, run.args, Keys.of(run), unknown)
        changes |= {**keys._asdict(), "cap": defaults.limits.cap}
    if PER_RUN in run.inherits and defaults.labels is not None:
        changes["labels"] = defaults.labels.of(run.args, run.labels, unknown)
    if not run.inherits.isdisjoint({PER_RUN, TTL}) and run.ttl is None and run.expires_at is None:
        changes["ttl"] = defaults.ttl
    if PER_RUN in run.inherits and run.hold is None:
        changes["hold"] = defaults.hold
        for fault in hold_faults(defaults.hold, run.available_at):
            raise fault
    if changes.get("hold", run.hold) is not None and changes.get("unique_key", run.unique_key) is None:
        # Without another key, all runs of the job have one.
        changes["unique_key"] = run.job_name
    rest = run.inherits - FROM_ARGUMENTS
    return run if rest == run.inherits and not changes else replace(run, inherits=rest, **changes)


def task_of_job(spec: TaskSpec, defaults: JobDefaults) -> TaskSpec:
    """Return ``spec`` with the current policies of its job where it inherits them."""
    inherited = spec.inherits.intersection(TASK_POLICIES)
    return replace(spec, **{name: value_of(defaults, name) for name in inherited}) if inherited else spec


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job as the nodes publish it.

    ``schedule`` is the declared cron string, ``args_schema`` a JSON Schema; nodes may choose by ``tags``. Where an
    operator has set another rate, this is in ``defaults``, and ``declared_rate`` is that of the code. ``slots``: how
    many of a node's slots a run takes.
    """

    name: str
    description: str = ""
    schedule: str | None = None
    isolation: Isolation = Isolation.ASYNC
    args_schema: dict[str, Json] = field(default_factory=dict[str, Json])
    nodes: tuple[str, ...] = ()
    defaults: JobDefaults = NO_DEFAULTS
    tags: tuple[str, ...] = ()
    declared_rate: Rate | None = None
    slots: int = 1

    @property
    def code_version(self) -> str | None:
        """Return the version that its code says; None = it says none."""
        return self.args_schema.get(VERSION)

    @property
    def signature(self) -> str:
        """Distinguishes this version of the job from others that take other arguments."""
        return signature_of(self.name, self.args_schema)
