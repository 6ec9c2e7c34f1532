"""A due task as the dispatcher has it: what is decided about its occurrences depends on this alone."""

from datetime import datetime
from typing import Any, NamedTuple

from ..base.rates import Rate
from ..model import MisfirePolicy, OverlapPolicy, ScheduleSpec, Task


class DueTask(NamedTuple):
    """``Task`` without what only its runs need; thousands are read at one moment.

    Attributes:
        enabled: False = paused, by ``paused_by`` for ``pause_reason``.
        next_nominal: The oldest occurrence that is not decided yet.
        last_due_at: The newest that is.
        rate: How many of its runs start in how long; None = as its job says.
    """

    id: int
    name: str
    job_name: str
    group: str
    schedule: ScheduleSpec
    anchor_at: datetime
    end_at: datetime | None
    jitter: float
    overlap: OverlapPolicy | None
    misfire: MisfirePolicy
    misfire_grace: float
    catch_up_limit: int
    timeout: float | None
    enabled: bool
    paused_by: str | None
    pause_reason: str | None
    next_nominal: datetime | None
    last_due_at: datetime | None
    rate: Rate | None = None

    @property
    def deciding(self) -> tuple[object, ...] | None:
        """What a decision depends on, equal for tasks of which the same is decided; None = it depends on the id."""
        if self.jitter > 0:
            return None
        anchor = self.anchor_at if self.schedule.syntax.is_anchored else None
        times = (anchor, self.end_at, self.next_nominal)
        policies = (self.overlap, self.misfire, self.misfire_grace, self.catch_up_limit)
        return (self.schedule, *times, *policies, self.job_name, self.enabled, self.paused_by, self.pause_reason)


def due_of(task: Task) -> DueTask:
    """What the dispatcher needs to know of a task that was read whole."""
    owner: dict[str, Any] = {name: task.spec if hasattr(task.spec, name) else task for name in DueTask._fields}
    return DueTask(**{name: getattr(of, name) for name, of in owner.items()})
