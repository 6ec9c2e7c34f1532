"""Keep history for the time that a group says, or else the job, or else the pruning."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from .base.errors import InvalidInput
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
