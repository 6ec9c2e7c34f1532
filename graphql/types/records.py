"""Show the parts of jobs and skipped occurrences without their relations, which are in ``entities``."""

from datetime import datetime
from functools import partial
from typing import ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.core.defaults import TASK_POLICIES, value_of
from ...jobs.core.model import Isolation, SkipReason
from ...jobs.store.read.lists import JOBS, SKIPPED
from ..base.enums import Described, described
from ..base.fields import resolved
from ..base.scalars import BigInt
from ..execution.shown import FromModel, Makers
from ..lists.declared import Kind, order_of
from ..lists.filters import (
    BigIntFilter,
    DateTimeFilter,
    Filter,
    IdFilter,
    RowFilter,
    StringFilter,
    condition,
    filter_of,
)
from ..resolving.context import Info
from .common import Cap, Rate


@filter_of("Which skipped occurrences.")
class SkippedOccurrenceFilter(RowFilter):
    """Conditions on skipped occurrences."""

    id: IdFilter | None = condition("The key.")
    task_id: IdFilter | None = condition("The key of the task.")
    task_name: StringFilter | None = condition("The name of the task.")
    reason: Filter[SkipReason] | None = condition("Why they were skipped.")
    node: StringFilter | None = condition("The node that decided it.")
    count: BigIntFilter | None = condition("How many occurrences the row stands for.")
    first_scheduled_for: DateTimeFilter | None = condition("The first nominal time.")
    last_scheduled_for: DateTimeFilter | None = condition("The last nominal time.")
    at: DateTimeFilter | None = condition("When the row was last written.")


@described("What skipped occurrences can be ordered by; newest first unless asked otherwise.")
class SkippedOccurrenceOrderField(Described):
    """Fields of skipped occurrences to order by."""

    ID = "id", "The key, in the order in which they were first recorded."
    TASK_NAME = "task_name", "The name of the task."
    FIRST_SCHEDULED_FOR = "first_scheduled_for", "The first nominal time."
    LAST_SCHEDULED_FOR = "last_scheduled_for", "The last nominal time."
    COUNT = "count", "How many occurrences the row stands for."
    AT = "at", "When the row was last written."


SkippedOccurrenceOrder = order_of(
    "SkippedOccurrenceOrder",
    SkippedOccurrenceOrderField,
    "An order of skipped occurrences; ties are broken by the key.",
)


SKIPPED_LIST: Final = Kind(SKIPPED, SkippedOccurrenceFilter, SkippedOccurrenceOrder, "Which skipped occurrences.")


@filter_of("Which jobs.")
class JobFilter(RowFilter):
    """Conditions on jobs."""

    name: StringFilter | None = condition("The name.")
    description: StringFilter | None = condition("The description.")
    schedule: StringFilter | None = condition("The cron expression that its code declares; no value = none.")
    isolation: Filter[Isolation] | None = condition("Where it runs.")


@described("What jobs can be ordered by; by name unless asked otherwise.")
class JobOrderField(Described):
    """Fields of jobs to order by."""

    NAME = "name", "The name."


JobOrder = order_of("JobOrder", JobOrderField, "An order of jobs; ties are broken by the name.")


JOB_LIST: Final = Kind(JOBS, JobFilter, JobOrder, "Which jobs.", "By name unless given.")


@strawberry.type(description="What a job's runs and tasks have unless they say otherwise. Durations in seconds.")
class JobDefaults(FromModel):
    """The policies of a job, the product's where the job says nothing."""

    group: str = strawberry.field(description="The group.")
    priority: model.Priority = strawberry.field(description="The priority.")
    retries: int = strawberry.field(description="How many failures a run survives.")
    retry_delay: float = strawberry.field(description="Seconds before the first retry.")
    timeout: float | None = strawberry.field(description="The time box of each attempt; null = none.")
    max_duration: float | None = strawberry.field(
        description="Seconds that a run may take from its first start; null = any."
    )
    overlap: model.OverlapPolicy | None = strawberry.field(
        description="What a task does while a run of it is unfinished; null = SKIP, for INTERVAL QUEUE."
    )
    misfire: model.MisfirePolicy = strawberry.field(description="What a task does with occurrences that are late.")
    on_failure: str | None = strawberry.field(
        description="The job that gets a run when a run has failed for good; null = none."
    )
    keep: float | None = strawberry.field(
        description="Seconds that the history of finished runs is kept, unless their group says something else; "
        "null = as `prune_history` says."
    )

    MADE: ClassVar[Makers] = {name: partial(value_of, name=name) for name in TASK_POLICIES}


@strawberry.type(description="How the unique key of a job's runs follows from their arguments.")
class UniqueKey(FromModel):
    """The `unique_key` that a job declares."""

    arguments: list[str] = strawberry.field(description="The arguments that it is made of.")
    template: str | None = strawberry.field(
        description="The key with `{name}` for each of them; null = the job's name and these arguments."
    )
    in_code: bool = strawberry.field(
        description="A function of the job's code makes it. The API cannot know the key: a run that is made here, or "
        "by a schedule, has none unless you give one."
    )


@strawberry.type(description="How many runs of a job start, how many run at once, and how many wait.")
class JobLimits(FromModel):
    """The `rate`, `max_concurrent`, `cap` and their keys that a job declares."""

    rate: Rate | None = strawberry.field(description="How many start in how long, on all nodes; null = any number.")
    rate_key: UniqueKey | None = strawberry.field(
        description="For each value of which the rate holds by itself; null = for all runs together."
    )
    max_concurrent: int | None = strawberry.field(
        description="How many with the same concurrency key run at once, on all nodes together; null = any number."
    )
    concurrency_key: UniqueKey | None = strawberry.field(
        description="What these have in common; null = the job's name."
    )
    cap: Cap | None = strawberry.field(description="How many wait at most; null = any number.")
    cap_key: UniqueKey | None = strawberry.field(
        description="What those have in common that are counted together for that; null = as for `concurrencyKey`, or "
        "else all runs of the job."
    )

    MADE: ClassVar[Makers] = {
        "rate": lambda limits: None if limits.rate is None else Rate.from_model(limits.rate),
        "rate_key": lambda limits: None if limits.rate_key is None else UniqueKey.from_model(limits.rate_key),
        "concurrency_key": lambda limits: (
            None if limits.concurrency_key is None else UniqueKey.from_model(limits.concurrency_key)
        ),
        "cap": lambda limits: None if limits.cap is None else Cap.from_model(limits.cap),
        "cap_key": lambda limits: None if limits.cap_key is None else UniqueKey.from_model(limits.cap_key),
    }


@strawberry.type
class JobFields(FromModel):
    """The columns of a job as the nodes publish it."""

    name: str = strawberry.field(description="Its unique name.")
    description: str = strawberry.field(description="What it does.")
    schedule: str | None = strawberry.field(description="The cron expression that its code declares, if any.")
    isolation: model.Isolation = strawberry.field(description="Where it runs.")
    args_schema: JSON | None = strawberry.field(description="The JSON Schema of its arguments.")
    defaults: JobDefaults = strawberry.field(description="What its runs and tasks have unless they say otherwise.")
    tags: list[str] = strawberry.field(description="The tags by which nodes may choose it.")
    labels: JSON = strawberry.field(description="The labels that all of its runs get, an object of texts.")
    ttl: float | None = strawberry.field(
        description="Seconds in which its runs have to start, unless they say otherwise; null = any time."
    )
    on_expired: str | None = strawberry.field(
        description="The job that gets a run when one is skipped because it was too old to start; null = none."
    )
    labels_from: JSON = strawberry.field(
        description="By the key of a label, the argument that is its value in each run, an object of texts."
    )
    unique_key: UniqueKey | None = strawberry.field(
        description="The unique key of its runs: while one is unfinished, no second one is made. Null = they have none."
    )

    declared_rate: Rate | None = strawberry.field(
        description="What its code says where an operator has set another rate (`updateJob`); null = nobody has."
    )
    limits: JobLimits | None = strawberry.field(
        description="How many of its runs start, and how many run at once; null = its code says nothing."
    )

    MADE: ClassVar[Makers] = {
        "defaults": lambda job: JobDefaults.from_model(job.defaults),
        "ttl": lambda job: job.defaults.ttl,
        "on_expired": lambda job: job.defaults.on_expired,
        "labels": lambda job: {} if job.defaults.labels is None else dict(job.defaults.labels.fixed),
        "labels_from": lambda job: {} if job.defaults.labels is None else dict(job.defaults.labels.arguments),
        "declared_rate": lambda job: None if job.declared_rate is None else Rate.from_model(job.declared_rate),
        "limits": lambda job: None if job.defaults.limits is None else JobLimits.from_model(job.defaults.limits),
        "unique_key": lambda job: (
            None if job.defaults.unique_key is None else UniqueKey.from_model(job.defaults.unique_key)
        ),
    }

    @resolved()
    async def known(self, info: Info) -> bool:
        """True if a live node can run it now."""
        return bool(await self.nodes(info))

    @resolved()
    async def nodes(self, info: Info) -> list[str]:
        """The names of the live nodes that can run it."""
        return [node.name for node in await info.context.loaders.live_nodes() if self.name in node.signatures]


@strawberry.type
class SkippedFields(FromModel):
    """The columns of a skipped stretch."""

    stored: strawberry.Private[model.SkippedOccurrence]
    id: strawberry.ID = strawberry.field(description="The decimal key.")
    task_name: str = strawberry.field(description="The name of the task; kept when that is deleted.")
    reason: model.SkipReason = strawberry.field(description="Why.")
    first_scheduled_for: datetime = strawberry.field(description="The first nominal time of the stretch.")
    last_scheduled_for: datetime = strawberry.field(description="The last nominal time of the stretch.")
    count: BigInt = strawberry.field(description="How many occurrences it stands for.")
    policy: JSON = strawberry.field(description="The policy values that decided it, an object.")
    node: str | None = strawberry.field(description="The node that decided it.")
    at: datetime = strawberry.field(description="When the row was last written.")
