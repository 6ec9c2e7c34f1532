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

KEY: Final = (
    "Makes a repetition safe: within 24 hours the same key with the same request answers as before and changes "
    "nothing, with another request it is refused."
)
DRY_RUN: Final = (
    "Change nothing: the server does the work, answers what would change (in `preview` what would become of new "
    "runs), and takes it back. False unless given."
)
UNIQUE_KEY: Final = (
    "While a run with this key is unfinished, that one is answered instead; as the job declares, unless given."
)
LABELS: Final = "Words by which it is found, added to those of the job: an object of texts."
VERSION: Final = "Refuse the change unless the task still has this `version`. Any version unless given."
TRY: Final = "Change nothing; answer in `preview` what would become of it, and which limits it would meet."
REASON: Final = "Why; shown to others. At most 1,000 characters."


def optional(description: str, size: Size | None = None) -> Any:  # noqa: ANN401 - a field specifier
    """A field of an input that may be absent."""
    return strawberry.field(description=description, default=strawberry.UNSET, metadata=sized(size))


@strawberry.input
class TriedInput:
    """Something that every mutation can do: say what it would change."""

    dry_run: bool | None = optional(DRY_RUN)


@strawberry.input
class MutationInput(TriedInput):
    """The input of a mutation whose answer can be kept, so that it can be repeated."""

    idempotency_key: str | None = optional(KEY)


@strawberry.input
class TaskChangeInput(MutationInput):
    """The input of a mutation that changes one task."""

    name: str = strawberry.field(description="The name of the task.")
    expected_version: int | None = optional(VERSION)


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
    """Settings of a task, for its creation and its change. Null = the default."""

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


def settings_of(input: TaskSettings) -> dict[str, Any]:
    """The settings that are present, by the names they have in ``TaskSpec``."""
    named = ((one.name, getattr(input, one.name)) for one in fields(TaskSettings))
    given = {name: value for name, value in named if value is not strawberry.UNSET}
    if isinstance(input.rate, RateInput):
        given["rate"] = input.rate.unchecked()
    return given


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
    """Settings of a group. Null = no limit."""

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
