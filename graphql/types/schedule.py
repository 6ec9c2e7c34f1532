"""Schedules as they are stored and as they are judged."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from itertools import islice
from typing import ClassVar, Final, Self

import strawberry

from ...jobs.core import model
from ...jobs.core.occurrences import first_occurrence, occurrences, schedule_of
from ...jobs.core.schedule import ScheduleError, Syntax
from ..base.arguments import COUNT, MAX_COUNT, checked_count
from ..base.enums import ErrorCode
from ..base.fields import Size, resolved
from ..execution.shown import FromModel, Makers
from ..resolving.context import Info

TIMES: Final = Size(("count",), default=5, most=MAX_COUNT, each=3)
"""Times of a schedule: each is computed."""

AT_ONCE: Final = 10
"""So many are computed without a look at what else is to be done: the costliest take some milliseconds."""


@strawberry.type(description="When a task is due.")
class Schedule:
    """A schedule of a task, with what is computed from it."""

    syntax: Syntax = strawberry.field(description="How `value` is written.")
    value: str = strawberry.field(description="The schedule as it was entered.")
    timezone: str = strawberry.field(description="The IANA zone in which its wall times are read.")
    spec: strawberry.Private[model.ScheduleSpec]
    task: strawberry.Private[model.Task]

    @classmethod
    def from_model(cls, spec: model.ScheduleSpec, task: model.Task) -> Self:
        """A schedule of ``task``: the one in force or the declared one."""
        return cls(syntax=spec.syntax, value=spec.value, timezone=spec.timezone, spec=spec, task=task)

    @resolved()
    def humanized(self) -> str:
        """When it fires, as an English sentence. Computed, never stored."""
        try:
            return schedule_of(self.spec, self.task.anchor_at).describe()
        except ScheduleError as error:
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
        except ScheduleError:
            return ()
        spec = self.task.spec
        return occurrences(spec, schedule, first_occurrence(spec, schedule, now))


@strawberry.type(description="Why a schedule cannot be used.")
class ScheduleFault:
    """A refused schedule."""

    code: ErrorCode = strawberry.field(description="`INVALID_SCHEDULE`, `NEVER_FIRES` or `UNKNOWN_TIMEZONE`.")
    message: str = strawberry.field(description="What is wrong, in a sentence.")
    field: str | None = strawberry.field(
        description="The faulty part: second, minute, hour, day, month, year, weekday, value or timezone."
    )
    position: int | None = strawberry.field(description="Where it begins in `value`, counted from 0.")
    suggestion: str | None = strawberry.field(
        description="What to write instead of the faulty part, or of the whole `value` when `field` is `value`, if "
        "something better is known. It is valid itself."
    )
    corrected: str | None = strawberry.field(
        description="The whole `value` with the suggestion in place; null when the suggestion is for `timezone`."
    )

    @classmethod
    def from_error(cls, error: ScheduleError) -> Self:
        """The data behind a refusal."""
        return cls(**{one.name: getattr(error, one.name) for one in fields(cls)})


@strawberry.type(description="Whether a schedule can be used, and when it fires.")
class ScheduleValidation(FromModel):
    """The answer of ``validateSchedule``."""

    valid: bool = strawberry.field(description="Whether a task may have it.")
    humanized: str | None = strawberry.field(description="When it fires, as an English sentence.")
    next_executions: list[datetime] = strawberry.field(description="The next times, strictly after `from`.")
    error: ScheduleFault | None = strawberry.field(description="What is wrong with it, if it is not valid.")

    MADE: ClassVar[Makers] = {
        "next_executions": lambda found: list(found.next_occurrences),
        "error": lambda found: None if found.error is None else ScheduleFault.from_error(found.error),
    }
