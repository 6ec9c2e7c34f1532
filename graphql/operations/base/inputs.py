"""The input objects of mutations, and how they become values of the engine.

``UNSET`` means absent. Where a mutation creates, absent and null are the default (the job's, or else the product's);
where it updates, absent means unchanged and null the default.
"""

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

import strawberry
from strawberry.scalars import JSON

from ....jobs.core.admission.caps import Cap, Rate, WhenFull, rate_faults
from ....jobs.core.base.errors import UserError, refuse
from ....jobs.core.defaults import TASK_POLICIES
from ....jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, TaskSpec
from ....jobs.core.rules import task_faults
from ....jobs.core.schedule import Syntax
from ...base.fields import Size, sized

KEY: Final = (
    "Makes a repetition safe: within 24 hours the same key with the same request answers as before and changes "
    "nothing, with another request it is refused."
)
DRY_RUN: Final = "Change nothing; answer how many would change, and the first of them."
UNIQUE_KEY: Final = (
    "While a run with this key is unfinished, that one is answered instead; as the job declares, unless given."
)
LABELS: Final = "Words by which it is found, added to those of the job: an object of texts."
TRY: Final = "Change nothing; answer in `preview` what would become of it, and which limits it would meet."
REASON: Final = "Why; shown to others. At most 1,000 characters."


def optional(description: str, size: Size | None = None) -> Any:  # noqa: ANN401 - a field specifier
    """A field of an input that may be absent."""
    return strawberry.field(description=description, default=strawberry.UNSET, metadata=sized(size))


@strawberry.input(description="When a task is due.")
class ScheduleInput:
    """A schedule as a client writes it."""

    syntax: Syntax = strawberry.field(description="How `value` is written.")
    value: str = strawberry.field(description="The schedule, at most 256 characters.")
    timezone: str = strawberry.field(description="An IANA zone, in which wall times are read.", default="UTC")

    def to_spec(self) -> ScheduleSpec:
        """The engine's form."""
        return ScheduleSpec(self.syntax, self.value, self.timezone)


@strawberry.input(description="How many runs start in how long: a token bucket, of which each start takes a token.")
class RateInput:
    """A rate as a client writes it."""

    limit: int = strawberry.field(description="How many in `per` seconds; from one a day to 100,000 a second.")
    per: float = strawberry.field(description="Seconds.", default=1.0)
    burst: int | None = optional(
        "How many start at once after a pause; a twentieth of the limit unless given, at least 1."
    )

    def to_rate(self) -> Rate:
        """The engine's form.

        Raises:
            UserError: it is none.
        """
        rate = self.unchecked()
        refuse(rate_faults(rate.limit, rate.per, rate.burst))
        return rate

    def unchecked(self) -> Rate:
        """The engine's form, of which nobody has seen yet whether it is one."""
        return Rate.of(self.limit, self.per, None if self.burst is strawberry.UNSET else self.burst)


@strawberry.input
class TaskSettings:
    """What can be set when a task is created and changed when it is updated. Null = the default."""

    args: JSON | None = optional("The arguments of its runs, an object; none unless given.")
    description: str | None = optional("What it is for; copied to its runs.")
    enabled: bool | None = optional("Whether its occurrences become runs; true unless given.")
    group: str | None = optional("The group of its runs; the job's, or else `default`, unless given.")
    priority: Priority | None = optional("The priority of its runs; the job's, or else LOW, unless given.")
    owner: str | None = optional("The outside thing on whose behalf it exists, e.g. `channel:42`.")
    overlap: OverlapPolicy | None = optional(
        "What happens while a run of it is unfinished; as the job says, or else SKIP, for INTERVAL QUEUE."
    )
    misfire: MisfirePolicy | None = optional(
        "What happens to occurrences that are late; as the job says, or else LAST, unless given."
    )
    misfire_grace: float | None = optional("Seconds by which an occurrence may be late; 60 unless given.")
    catch_up_limit: int | None = optional("How many missed occurrences policy ALL makes up for; 100 unless given.")
    tolerance: float | None = optional(
        "INTERVAL only: seconds a run may start early; 5, at most a tenth, unless given."
    )
    timeout: float | None = optional(
        "The time box of an attempt in seconds; as the job says, or else none, for INTERVAL half the interval."
    )
    max_duration: float | None = optional(
        "Seconds that a run may take from its first start, sleeping and waiting included; the job's, or else any."
    )
    retries: int | None = optional("How many failures a run survives; as the job says, or else 2, unless given.")
    retry_delay: float | None = optional("Seconds before the first retry; as the job says, or else 60, unless given.")
    jitter: float | None = optional("Most seconds by which the task is delayed, by one fixed offset; 0 unless given.")
    start_at: datetime | None = optional("No occurrence before this time.")
    end_at: datetime | None = optional("No occurrence after this time.")
    labels: JSON | None = optional("Labels of its runs, added to those of the job: an object of texts; default none.")
    rate: RateInput | None = optional("How many of its runs start in how long; as the job says unless given.")


@strawberry.input(description="A task to be made.")
class CreateTaskInput(TaskSettings):
    """The input of ``createTask``."""

    name: str = strawberry.field(
        description="Unique and immutable; 1 to 200 characters, no control characters, no `/`."
    )
    job_name: str = strawberry.field(description="The job it runs; see `availableJobs`.")
    schedule: ScheduleInput = strawberry.field(description="When it is due; try it with `validateSchedule`.")
    dry_run: bool | None = optional(TRY)
    idempotency_key: str | None = optional(KEY)

    def to_spec(self) -> TaskSpec:
        """The engine's form; what is absent or null is as the job says, or else the product's default."""
        given = {name: value for name, value in settings_of(self).items() if value is not None}
        inherits = frozenset(TASK_POLICIES).difference(given)
        schedule = self.schedule.to_spec()
        return TaskSpec(name=self.name, job_name=self.job_name, schedule=schedule, inherits=inherits, **given)

    def faults(self) -> Iterator[UserError]:
        """What the engine's rules say against the task's settings."""
        return task_faults(self.to_spec())


@strawberry.input(description="Changes to a task: what is absent stays, null sets the default.")
class UpdateTaskInput(TaskSettings):
    """The input of ``updateTask``."""

    name: str = strawberry.field(description="Which task; the name itself cannot change.")
    expected_version: int | None = optional("Refuse if the task was edited since this `version` was read.")
    job_name: str | None = optional("The job it runs.")
    schedule: ScheduleInput | None = optional("When it is due.")
    dry_run: bool | None = optional(TRY)
    idempotency_key: str | None = optional(KEY)

    def changes(self) -> dict[str, Any]:
        """Field names of ``TaskSpec`` to new values, None = the default; only what is present.

        A job's name and a schedule have no default, so null leaves them as they are.
        """
        changes = settings_of(self)
        if self.job_name is not strawberry.UNSET and self.job_name is not None:
            changes["job_name"] = self.job_name
        if self.schedule is not strawberry.UNSET and self.schedule is not None:
            changes["schedule"] = self.schedule.to_spec()
        return changes


def settings_of(input: TaskSettings) -> dict[str, Any]:
    """The settings that are present, by the names they have in ``TaskSpec``."""
    named = ((one.name, getattr(input, one.name)) for one in fields(TaskSettings))
    given = {name: value for name, value in named if value is not strawberry.UNSET}
    if isinstance(input.rate, RateInput):
        given["rate"] = input.rate.unchecked()
    return given


@strawberry.input(description="A paused task to be resumed.")
class ResumeTaskInput:
    """The input of ``resumeTask``."""

    name: str = strawberry.field(description="Which task.")
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A task of code that is to follow its code again.")
class ResetTaskInput:
    """The input of ``resetTask``."""

    name: str = strawberry.field(description="Which task.")
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A task to be deleted.")
class DeleteTaskInput:
    """The input of ``deleteTask``."""

    name: str = strawberry.field(description="Which task.")
    dry_run: bool | None = optional(DRY_RUN)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A task to be paused.")
class PauseTaskInput:
    """The input of ``pauseTask``."""

    name: str = strawberry.field(description="Which task.")
    reason: str | None = optional(REASON)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="An owner that is gone.")
class DeleteTasksOfOwnerInput:
    """The input of ``deleteTasksOfOwner``."""

    owner: str = strawberry.field(description="Whose tasks, e.g. `channel:42`.")
    dry_run: bool | None = optional(DRY_RUN)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A task to be run now.")
class TriggerTaskInput:
    """The input of ``triggerTask``."""

    name: str = strawberry.field(description="Which task.")
    args: JSON | None = optional("Arguments instead of the task's, an object.")
    dry_run: bool | None = optional(TRY)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A group to be paused.")
class PauseGroupInput:
    """The input of ``pauseGroup``."""

    name: str = strawberry.field(description="Which group; it exists once it is named.")
    reason: str | None = optional(REASON)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A paused group to be resumed.")
class ResumeGroupInput:
    """The input of ``resumeGroup``."""

    name: str = strawberry.field(description="Which group.")
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="How many runs wait at most: those that have never begun, apart from those of flows.")
class CapInput:
    """A cap as a client writes it."""

    limit: int = strawberry.field(description="How many, from 1 to 100,000.")
    when_full: WhenFull = strawberry.field(
        description="What becomes of one that comes when so many wait.", default=WhenFull.REFUSE
    )

    def unchecked(self) -> Cap:
        """The engine's form, of which nobody has seen yet whether it is one."""
        return Cap(self.limit, self.when_full)


@strawberry.input
class GroupLimits:
    """What can be set of a group. Null = no limit."""

    max_running: int | None = optional(
        "How many of its runs may be scheduled or running on all nodes together; null = no limit, absent = unchanged."
    )
    rate: RateInput | None = optional(
        "How many of its runs start in how long, on all nodes together; null = any number, absent = unchanged."
    )
    max_wait_low: float | None = optional(
        "Seconds after which a due run of low priority goes before those of high priority; null = only as the counting "
        "scheme has it, absent = unchanged."
    )
    cap: CapInput | None = optional("How many of its runs wait at most; null = any number, absent = unchanged.")
    keep: float | None = optional(
        "Seconds that the history of its finished runs is kept; null = as their job says, absent = unchanged."
    )

    def limits(self) -> dict[str, Any]:
        """The limits that are present, by the names they have in ``Group``."""
        named = ((one.name, getattr(self, one.name)) for one in fields(GroupLimits))
        given = {name: value for name, value in named if value is not strawberry.UNSET}
        for name in ("rate", "cap"):
            if given.get(name) is not None:
                given[name] = given[name].unchecked()
        return given


@strawberry.input(description="The limits of a group.")
class UpdateGroupInput(GroupLimits):
    """The input of ``updateGroup``."""

    name: str = strawberry.field(description="Which group; it exists once it is named.")
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="What an operator sets of a job, instead of its code.")
class UpdateJobInput:
    """The input of ``updateJob``."""

    name: str = strawberry.field(description="Which job; see `availableJobs`.")
    rate: RateInput | None = optional(
        "How many of its runs start in how long, on all nodes together, for each of its keys if it has a `rateKey`; "
        "null = as its code says, absent = unchanged."
    )
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="What history to keep. Absent or null = the default.")
class PruneHistoryInput:
    """The input of ``pruneHistory``."""

    max_age_days: float | None = optional("Days; what ended longer ago is deleted. 30 unless given.")
    max_per_task: int | None = optional("How many of the newest to keep of each task; any number unless given.")
    dry_run: bool | None = optional(DRY_RUN)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A node to be drained.")
class DrainNodeInput:
    """The input of ``drainNode``."""

    name: str = strawberry.field(description="Which live node.")
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A node whose drain is taken back.")
class ResumeNodeInput:
    """The input of ``resumeNode``."""

    name: str = strawberry.field(description="Which live node.")
    idempotency_key: str | None = optional(KEY)
