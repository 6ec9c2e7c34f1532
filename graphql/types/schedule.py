"""Schedules as they are stored and as they are judged."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar, Final, Self

import strawberry

from ...jobs.core import model
from ...jobs.core.occurrences import first_occurrence, occurrences, schedule_of
from ...jobs.core.schedule import ScheduleError as Fault
from ...jobs.core.schedule import Syntax
from ..base.fields import Size, resolved
from ..base.scalars import COUNT, MAX_COUNT, checked_count
from ..execution.shown import FromModel, Makers
from ..resolving.context import Info
from .common import UserError

TIMES: Final = Size(("count",), default=5, most=MAX_COUNT, each=3)
"""Times of a schedule: each is computed."""

AT_ONCE: Final = 10
"""So many are computed without a look at what else is to be done: the costliest take some milliseconds."""


@strawberry.type(description="A schedule of a task.")
class Schedule:
    """A schedule of a task, with the values computed from it."""

    syntax: Syntax = strawberry.field(description="The syntax in which `value` is written.")
    value: str = strawberry.field(description="The schedule as it was entered.")
    timezone: str = strawberry.field(description="The IANA time zone in which wall times are read.")
    spec: strawberry.Private[model.ScheduleSpec]
    task: strawberry.Private[model.Task]

    @classmethod
    def from_model(cls, spec: model.ScheduleSpec, task: model.Task) -> Self:
        """Return a schedule of ``task``: the one in force or the declared one."""
        return cls(syntax=spec.syntax, value=spec.value, timezone=spec.timezone, spec=spec, task=task)

    @resolved()
    def humanized(self) -> str:
        """The schedule as an English sentence. The server computes it and never stores it."""
        try:
            return schedule_of(self.spec, self.task.anchor_at).describe()
        except Fault as error:
            # A zone can vanish from the system's database after the schedule was stored.
            return f"cannot be read any more: {error.message}"

    @resolved(
        description="The next nominal times after now, within the task's `startAt` and `endAt` and without its jitter, "
        "whether or not the task is enabled.",
        size=TIMES,
    )
    async def next_executions(self, info: Info, count: COUNT = 5) -> list[datetime]:
        """The next times."""
        wanted, now = checked_count(count), await info.context.now()
        found: list[datetime] = []
        upcoming = iter(self._upcoming(now))
        while len(found) < wanted:
            await info.context.slices.turn()
            some = list(islice(upcoming, min(AT_ONCE, wanted - len(found))))
            if not some:
                break
            found += some
        return found

    def _upcoming(self, now: datetime) -> Iterable[datetime]:
        try:
            schedule = schedule_of(self.spec, self.task.anchor_at)
        except Fault:
            return ()
        spec = self.task.spec
        return occurrences(spec, schedule, first_occurrence(spec, schedule, now))


@strawberry.type(
    description="A schedule that cannot be used; code `INVALID_SCHEDULE`, `NEVER_FIRES` or `UNKNOWN_TIMEZONE`."
)
class ScheduleError(UserError):
    """A refused schedule."""

    field: str | None = strawberry.field(
        description="The faulty part: second, minute, hour, day, month, year, weekday, value or timezone."
    )
    position: int | None = strawberry.field(
        description="The position in `value` at which the faulty part begins, counted from 0; null if unknown."
    )
    suggestion: str | None = strawberry.field(
        description="A valid replacement of the faulty part, or of the whole `value` if `field` is `value`; null if "
        "none is known."
    )
    corrected: str | None = strawberry.field(
        description="The whole `value` with the suggestion in place; null if the suggestion is for `timezone`."
    )

    @classmethod
    def from_fault(cls, fault: Fault) -> Self:
        """Return the data behind a fault that ``validateSchedule`` found."""
        path = ["timezone" if fault.field == "timezone" else "value"]
        return cls(code=fault.code, message=fault.message, path=path, **parts_of(fault))


def parts_of(fault: Exception | None) -> dict[str, Any]:
    """Return the parser's data on a faulty schedule: the place, and a better text; only None for another fault."""
    return {name: getattr(fault, name, None) for name in ("field", "position", "suggestion", "corrected")}


@strawberry.type(description="The verdict on a schedule, with its next times.")
class ScheduleValidation(FromModel):
    """The answer of ``validateSchedule``."""

    valid: bool = strawberry.field(name="isValid", description="Whether a task may have the schedule.")
    humanized: str | None = strawberry.field(
        description="The schedule as an English sentence; null if it is not valid."
    )
    next_executions: list[datetime] = strawberry.field(
        description="The next times of the schedule, strictly after `from`."
    )
    error: ScheduleError | None = strawberry.field(description="The fault of the schedule; null if it is valid.")

    MADE: ClassVar[Makers] = {
        "next_executions": lambda found: list(found.next_occurrences),
        "error": lambda found: None if found.error is None else ScheduleError.from_fault(found.error),
    }
