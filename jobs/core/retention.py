"""How long history is kept: what a group says, or else the job, or else the pruning."""

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
    """What is wrong with the seconds that the history of a job or of a group is kept."""
    if keep is not None:
        yield from number_faults(keep, "keep", 1, MAX_KEEP)


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long finished runs and their executions are kept.

    Attributes:
        now: The time from which ages are counted.
        age: What holds where neither the group nor the job says anything.
        jobs: Seconds by the names of those jobs that say something.
        groups: Seconds by the names of those groups that say something; it counts before what a job says.
    """

    now: datetime
    age: timedelta
    jobs: Mapping[str, float] = field(default_factory=dict[str, float])
    groups: Mapping[str, float] = field(default_factory=dict[str, float])

    def of(self, job_name: str, group_name: str | None) -> timedelta:
        """How long the history of such a run is kept."""
        said = self.groups.get(group_name) if group_name is not None else None
        if said is None:
            said = self.jobs.get(job_name)
        return self.age if said is None else timedelta(seconds=said)

    def is_over(self, job_name: str, group_name: str | None, ended: datetime) -> bool:
        """Whether what ended at ``ended`` is kept no longer."""
        return ended < self.now - self.of(job_name, group_name)

    @property
    def before(self) -> datetime:
        """What ended earlier goes where nothing else is said."""
        return self.now - self.age

    @property
    def shorter(self) -> list[timedelta]:
        """Each time that is shorter than the usual one, the longest first."""
        said = {timedelta(seconds=seconds) for seconds in (*self.jobs.values(), *self.groups.values())}
        return sorted((each for each in said if each < self.age), reverse=True)

    @property
    def has_longer(self) -> bool:
        """Whether anything is kept longer than usual."""
        usual = self.age.total_seconds()
        return any(seconds > usual for seconds in (*self.jobs.values(), *self.groups.values()))

    @property
    def digest(self) -> str:
        """Differs when jobs or groups say something else."""
        said = json.dumps([sorted(self.jobs.items()), sorted(self.groups.items())])
        return hashlib.sha256(said.encode()).hexdigest()[:16]
