"""Show the parts of jobs and skipped occurrences without their relations, which are in ``entities``."""

from datetime import datetime
from functools import partial
from typing import ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.core.defaults import TASK_POLICIES, value_of
from ...jobs.core.limits import PlaceHold
from ...jobs.core.model import Isolation, SkipReason
from ...jobs.store.statements.lists import JOBS, SKIPPED
from ..base.enums import Described, described
from ..base.fields import resolved
from ..base.scalars import BigInt, Duration, Labels
from ..execution.shown import FromModel, Makers
from ..lists.declared import kind_of
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


@filter_of("A filter of skipped occurrences.")
class SkippedOccurrenceFilter(RowFilter):
    """Conditions on skipped occurrences."""

    id: IdFilter | None = condition("The key of the row.")
    task_id: IdFilter | None = condition("The key of the task.")
    task_name: StringFilter | None = condition("The name of the task.")
    reason: Filter[SkipReason] | None = condition("The reason of the skip.")
    node: StringFilter | None = condition("The node that decided the skip.")
    count: BigIntFilter | None = condition("The number of occurrences that the row stands for.")
    first_scheduled_for: DateTimeFilter | None = condition("The first nominal time.")
    last_scheduled_for: DateTimeFilter | None = condition("The last nominal time.")
    at: DateTimeFilter | None = condition("The time when the row was last written.")


@described("A field by which skipped occurrences can be ordered; newest first unless given.")
class SkippedOccurrenceOrderField(Described):
    """Fields of skipped occurrences to order by."""

    ID = "id", "The key, in the order in which they were first recorded."
    TASK_NAME = "task_name", "The name of the task."
    FIRST_SCHEDULED_FOR = "first_scheduled_for", "The first nominal time."
    LAST_SCHEDULED_FOR = "last_scheduled_for", "The last nominal time."
    COUNT = "count", "The number of occurrences that the row stands for."
    AT = "at", "The time when the row was last written."


SKIPPED_LIST: Final = kind_of(SKIPPED, SkippedOccurrenceFilter, SkippedOccurrenceOrderField, "skipped occurrences")


@filter_of("A filter of jobs.")
class JobFilter(RowFilter):
    """Conditions on jobs."""

    name: StringFilter | None = condition("The name.")
    description: StringFilter | None = condition("The description.")
    schedule: StringFilter | None = condition("The cron expression that its code declares; no value = none.")
    isolation: Filter[Isolation] | None = condition("The isolation of the job: where its code runs.")


@described("A field by which jobs can be ordered; by name unless given.")
class JobOrderField(Described):
    """Fields of jobs to order by."""

    NAME = "name", "The name."


JOB_LIST: Final = kind_of(JOBS, JobFilter, JobOrderField, "jobs")


@strawberry.type(description="Settings of the runs and tasks of a job that do not set them themselves.")
class JobDefaults(FromModel):
    """The policies of a job, the product's where the job says nothing."""

    group: str = strawberry.field(description="The group of the runs.")
    priority: model.Priority = strawberry.field(description="The priority of the runs.")
    retries: int = strawberry.field(description="The number of failures that a run survives.")
    retry_delay: Duration = strawberry.field(
        description="The pause before the first retry; each further one is twice as long."
    )
    timeout: Duration | None = strawberry.field(
        description="The longest time that an attempt may take; null = no limit."
    )
    max_duration: Duration | None = strawberry.field(
        description="The longest time that a run may take from its first start; null = no limit."
    )
    overlap: model.OverlapPolicy | None = strawberry.field(
        description="The overlap policy of a task: its behaviour while a run of it is unfinished; null = `SKIP`, "
        "and `QUEUE` for INTERVAL schedules."
    )
    misfire: model.MisfirePolicy = strawberry.field(
        description="The misfire policy of a task: its behaviour when occurrences are late."
    )
    on_failure: str | None = strawberry.field(
        description="The name of the job that gets a run when a run has failed for good; null = none."
    )
    keep: Duration | None = strawberry.field(
        description="The time for which the history of finished runs is kept, unless their group has a time of its "
        "own; null = the task `prune_history` decides."
    )

    MADE: ClassVar[Makers] = {name: partial(value_of, name=name) for name in TASK_POLICIES}


@strawberry.type(description="A rule by which the unique key of a run follows from its arguments.")
class UniqueKey(FromModel):
    """The `unique_key` that a job declares."""

    arguments: list[str] = strawberry.field(description="The names of the arguments from which the key is made.")
    template: str | None = strawberry.field(
        description="The text of the key with `{name}` for each argument; null = the name of the job and these "
        "arguments."
    )
    in_code: bool = strawberry.field(
        name="isInCode",
        description="Whether a function of the job makes the key. The API cannot compute such a key: a run made "
        "here or by a schedule has none unless you give one.",
    )


@strawberry.type(description="The limits of a job: on starts, on runs at the same time, and on waiting runs.")
class JobLimits(FromModel):
    """The `rate`, `max_concurrent`, `cap` and their keys that a job declares."""

    rate: Rate | None = strawberry.field(description="The limit on starts, on all nodes together; null = no limit.")
    rate_key: UniqueKey | None = strawberry.field(
        description="The key for whose values the rate holds separately; null = for all runs of the job together."
    )
    max_concurrent: int | None = strawberry.field(
        description="The largest number of runs with the same concurrency key at the same time, on all nodes "
        "together; null = no limit."
    )
    concurrency_key: UniqueKey | None = strawberry.field(
        description="The key that `maxConcurrent` counts by; null = all runs of the job count together."
    )
    hold: PlaceHold = strawberry.field(description="The time for which a run takes its place among these.")
    cap: Cap | None = strawberry.field(description="The limit on waiting runs; null = no limit.")
    cap_key: UniqueKey | None = strawberry.field(
        description="The key for whose values the cap holds separately; null = `concurrencyKey`, or all runs of "
        "the job together."
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

    name: str = strawberry.field(description="The unique name of the job.")
    description: str = strawberry.field(description="The purpose of the job, in words.")
    schedule: str | None = strawberry.field(
        description="The cron expression that the code of the job declares; null if it declares none."
    )
    isolation: model.Isolation = strawberry.field(
        description="The place where the code of the job runs: the event loop, a thread, or a process."
    )
    args_schema: JSON | None = strawberry.field(
        description="The JSON Schema of the arguments; null if the job takes any."
    )
    defaults: JobDefaults = strawberry.field(
        description="The settings of runs and tasks that do not set them themselves."
    )
    slots: int = strawberry.field(description="The number of slots of a node that one run of the job takes.")
    code_version: str | None = strawberry.field(
        description="The version that the code of the job says; null if it says none. Runs that wait stay with the "
        "version that they began on."
    )
    tags: list[str] = strawberry.field(description="The tags by which nodes may choose the job.")
    labels: Labels = strawberry.field(description="The labels that every run of the job gets.")
    ttl: Duration | None = strawberry.field(
        description="The time within which a run has to start unless it says otherwise; null = no limit."
    )
    on_expired: str | None = strawberry.field(
        description="The name of the job that gets a run when a run is skipped because it was too old to start; "
        "null = none."
    )
    labels_from: Labels = strawberry.field(
        description="Labels that follow from arguments: by the key of the label, the name of the argument that is "
        "its value."
    )
    unique_key: UniqueKey | None = strawberry.field(
        description="The rule of the unique key of the runs: while a run with a key is unfinished, no second one "
        "is made. Null = the runs have no key."
    )

    declared_rate: Rate | None = strawberry.field(
        description="The rate that the code declares where an operator has set another one with `updateJob`; null "
        "if no operator has."
    )
    limits: JobLimits | None = strawberry.field(
        description="The limits that hold for the runs of the job; null if there are none."
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
    async def is_known(self, info: Info) -> bool:
        """True if a live node can run the job now."""
        return bool(await self.nodes(info))

    @resolved()
    async def nodes(self, info: Info) -> list[str]:
        """The names of the live nodes that can run the job."""
        return [node.name for node in await info.context.loaders.live_nodes() if self.name in node.signatures]


@strawberry.type
class SkippedFields(FromModel):
    """The columns of a skipped stretch."""

    stored: strawberry.Private[model.SkippedOccurrence]
    id: strawberry.ID = strawberry.field(description="The decimal key of the row.")
    task_name: str = strawberry.field(description="The name of the task; kept when the task is deleted.")
    reason: model.SkipReason = strawberry.field(description="The reason of the skip.")
    first_scheduled_for: datetime = strawberry.field(description="The first nominal time of the stretch.")
    last_scheduled_for: datetime = strawberry.field(description="The last nominal time of the stretch.")
    count: BigInt = strawberry.field(description="The number of occurrences that the row stands for.")
    policy: JSON = strawberry.field(description="The values of the policy that decided the skip, an object.")
    node: str | None = strawberry.field(description="The name of the node that decided the skip.")
    at: datetime = strawberry.field(description="The time when the row was last written.")
