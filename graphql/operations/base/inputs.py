"""The input objects of mutations, and how they become values of the engine.

``UNSET`` means absent. Where a mutation creates, absent and null are the default (the job's, or else the product's);
where it updates, absent means unchanged and null the default.
"""

from dataclasses import fields
from datetime import datetime
from typing import Any, Final

import strawberry
from strawberry.scalars import JSON

from ....jobs.core.admission.caps import Cap, Rate, WhenFull, rate_faults
from ....jobs.core.base.errors import refuse
from ....jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec
from ....jobs.core.schedule import Syntax
from ...base.fields import Size, sized
from ...base.scalars import BigInt, Duration, Labels

KEY: Final = (
    "A text of your choice, 1 to 200 characters, that makes a repetition safe. Within 24 hours the same key with the "
    "same request answers as before and changes nothing; with another request it is refused. Each account has keys of "
    "its own."
)
DRY_RUN: Final = (
    "True changes nothing: the server makes the change, answers the result (in `preview` the fate of new "
    "runs), and takes it back. False unless given."
)
UNIQUE_KEY: Final = (
    "A key that no other unfinished run has: if one has it, that run is answered and none is made. The key that the "
    "job declares unless given; 1 to 200 characters."
)
LABELS: Final = "Labels by which the run is found, added to those of its job: an object of texts. None unless given."
VERSION: Final = "The `version` that the task must still have, or else the change is refused. Any version unless given."
TRY: Final = "True changes nothing: `preview` answers the fate of the run, and the limits it would meet."
RESUME_AT: Final = (
    "The time at which the pause ends by itself: an occurrence at that time becomes a run. Until it is resumed unless "
    "given."
)
REASON: Final = "The reason, which others see. None unless given; at most 1,000 characters."


def optional(description: str, size: Size | None = None) -> Any:  # noqa: ANN401 - a field specifier
    """Return a field of an input that may be absent."""
    return strawberry.field(description=description, default=strawberry.UNSET, metadata=sized(size))


@strawberry.input
class TriedInput:
    """The argument by which every mutation can be tried without a change."""

    dry_run: bool | None = optional(DRY_RUN)


@strawberry.input
class MutationInput(TriedInput):
    """The input of a mutation whose answer can be kept, so that it can be repeated."""

    idempotency_key: str | None = optional(KEY)


@strawberry.input
class TaskChangeInput(MutationInput):
    """The input of a mutation that changes one task."""

    name: str = strawberry.field(description="The name of the task to change.")
    expected_version: int | None = optional(VERSION)


@strawberry.input(description="A schedule: the times at which a task is due.")
class ScheduleInput:
    """A schedule as a client writes it."""

    syntax: Syntax = strawberry.field(description="The syntax in which `value` is written.")
    value: str = strawberry.field(
        description="The schedule in its syntax, e.g. `0 30 9 * * mon-fri` as CRON. At most 256 characters."
    )
    timezone: str = strawberry.field(
        description="The IANA time zone in which wall times are read, e.g. `Europe/Berlin`. `UTC` unless given.",
        default="UTC",
    )

    def to_spec(self) -> ScheduleSpec:
        """Return the engine's form."""
        return ScheduleSpec(self.syntax, self.value, self.timezone)


@strawberry.input(description="A limit of starts over time: a token bucket, from which each start takes a token.")
class RateInput:
    """A rate as a client writes it."""

    limit: int = strawberry.field(
        description="The number of runs that start in `per` seconds: at least one a day, at most 100,000 a second."
    )
    per: Duration = strawberry.field(
        description="The length of the period in seconds, from 0.001. 1 unless given.", default=Duration(1.0)
    )
    burst: int | None = optional(
        "The number of runs that start at once after a pause, at least 1. A twentieth of `limit` unless given."
    )

    def to_rate(self) -> Rate:
        """Return the engine's form.

        Raises:
            UserError: it is none.
        """
        rate = self.unchecked()
        refuse(rate_faults(rate.limit, rate.per, rate.burst))
        return rate

    def unchecked(self) -> Rate:
        """Return the engine's form, of which nobody has seen yet whether it is one."""
        return Rate.of(self.limit, self.per, None if self.burst is strawberry.UNSET else self.burst)


RESOURCES: Final = (
    "The resources at the engine of the job, each over that of the job; of jobs at an engine alone. Those of the job "
    "unless given."
)


@strawberry.input(
    description="The resources that a run needs at the engine of its job. Absent ones are as the job says."
)
class ResourcesInput:
    """Resources as a client writes them."""

    cpus: float | None = optional("The number of processor cores, above 0.")
    memory: BigInt | None = optional("The bytes of memory, above 0.")
    gpus: int | None = optional("The number of graphics processors, above 0.")
    image: str | None = optional("The container image that has the code.")
    queue: str | None = optional("The queue or the partition of the engine.")
    options: Labels | None = optional("Further words of the executor, each over that of the job: an object of texts.")

    def document(self) -> dict[str, Any] | None:
        """Return the stored form; None if nothing is given."""
        named = ((one.name, getattr(self, one.name)) for one in fields(ResourcesInput))
        return {name: value for name, value in named if value not in (None, strawberry.UNSET, {})} or None


@strawberry.input
class TaskSettings:
    """Settings of a task, for its creation and its change. Null = the default."""

    args: JSON | None = optional("The arguments of the task's runs, an object. None unless given.")
    description: str | None = optional(
        "A description of the task, copied to its runs. Empty unless given; at most 10,000 characters."
    )
    enabled: bool | None = optional("False pauses the task: its occurrences are skipped. True unless given.")
    group: str | None = optional("The group of the task's runs. The group of the job, or else `default`, unless given.")
    priority: Priority | None = optional("The priority of the task's runs. That of the job, or else LOW, unless given.")
    owner: str | None = optional(
        "The outside thing on whose behalf the task exists, e.g. `channel:42`. None unless given."
    )
    overlap: OverlapPolicy | None = optional(
        "The policy for an occurrence that comes while a run of the task is unfinished. That of the job unless given; "
        "else SKIP, and QUEUE for an INTERVAL."
    )
    misfire: MisfirePolicy | None = optional(
        "The policy for occurrences that are late. That of the job, or else LAST, unless given."
    )
    misfire_grace: Duration | None = optional("The seconds by which an occurrence may be late. 60 unless given.")
    catch_up_limit: int | None = optional(
        "The number of missed occurrences that policy ALL makes up for. 100 unless given."
    )
    tolerance: Duration | None = optional(
        "The seconds by which a run of an INTERVAL may start early. 5 unless given, at most a tenth of the interval."
    )
    timeout: Duration | None = optional(
        "The seconds after which an attempt is stopped. The time box of the job unless given; else none, and half the "
        "interval for an INTERVAL."
    )
    max_duration: Duration | None = optional(
        "The seconds that a run may take from its first start, sleeping and waiting included. The limit of the job, or "
        "else none, unless given."
    )
    retries: int | None = optional(
        "The number of failures that a run survives. That of the job, or else 2, unless given."
    )
    retry_delay: Duration | None = optional(
        "The seconds before the first retry; each further one waits twice as long. That of the job, or else 60, unless "
        "given."
    )
    jitter: Duration | None = optional(
        "The most seconds by which the task is delayed, by one offset that stays the same. 0 unless given."
    )
    start_at: datetime | None = optional("The time before which the task has no occurrence. Any time unless given.")
    end_at: datetime | None = optional("The time after which the task has no occurrence. Any time unless given.")
    labels: Labels | None = optional(
        "Labels of the task's runs, added to those of the job: an object of texts. None unless given."
    )
    resources: ResourcesInput | None = optional(RESOURCES)
    rate: RateInput | None = optional("The limit of starts of the task's runs over time. That of the job unless given.")


def settings_of(input: TaskSettings) -> dict[str, Any]:
    """Return the settings that are present, by the names they have in ``TaskSpec``."""
    named = ((one.name, getattr(input, one.name)) for one in fields(TaskSettings))
    given = {name: value for name, value in named if value is not strawberry.UNSET}
    if isinstance(input.rate, RateInput):
        given["rate"] = input.rate.unchecked()
    if isinstance(input.resources, ResourcesInput):
        given["resources"] = input.resources.document()
    return given


@strawberry.input(description="A limit of waiting runs: those that have never begun, apart from runs of flows.")
class CapInput:
    """A cap as a client writes it."""

    limit: int = strawberry.field(description="The number of runs that may wait, from 1 to 100,000.")
    when_full: WhenFull = strawberry.field(
        description="The fate of a new run while so many wait. REFUSE unless given.", default=WhenFull.REFUSE
    )

    def unchecked(self) -> Cap:
        """Return the engine's form, of which nobody has seen yet whether it is one."""
        return Cap(self.limit, self.when_full)


@strawberry.input
class GroupLimits:
    """Settings of a group. Null = no limit."""

    max_running: int | None = optional(
        "The number of the group's runs that may be scheduled or running on all nodes together. Null removes the "
        "limit; unchanged unless given."
    )
    rate: RateInput | None = optional(
        "The limit of starts of the group's runs over time, on all nodes together. Null removes it; unchanged unless "
        "given."
    )
    max_wait_low: Duration | None = optional(
        "The seconds after which a due run of low priority goes before those of high priority. Null leaves that to the "
        "counting scheme alone; unchanged unless given."
    )
    cap: CapInput | None = optional("The limit of the group's waiting runs. Null removes it; unchanged unless given.")
    keep: Duration | None = optional(
        "The seconds for which the history of the group's finished runs is kept. Null follows their jobs; unchanged "
        "unless given."
    )

    def limits(self) -> dict[str, Any]:
        """Return the limits that are present, by the names they have in ``Group``."""
        named = ((one.name, getattr(self, one.name)) for one in fields(GroupLimits))
        given = {name: value for name, value in named if value is not strawberry.UNSET}
        for name in ("rate", "cap"):
            if given.get(name) is not None:
                given[name] = given[name].unchecked()
        return given
