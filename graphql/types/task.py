"""What a task holds by itself; its relations are in ``entities``."""

from datetime import datetime
from typing import Self

import strawberry
from strawberry.scalars import JSON

from ...jobs.core import model
from ...jobs.core.policies import effective_overlap, effective_timeout, effective_tolerance
from ..arguments import camel
from ..scalars import BigInt
from .schedule import Schedule


@strawberry.type
class TaskFields:
    """The columns of a task."""

    stored: strawberry.Private[model.Task]
    id: strawberry.ID = strawberry.field(description="The decimal key.")
    name: str = strawberry.field(description="The unique, immutable name.")
    description: str = strawberry.field(description="What it is for; copied to its runs.")
    enabled: bool = strawberry.field(description="Whether its occurrences become runs; false = paused.")
    source: model.TaskSource = strawberry.field(description="Where it is defined.")
    job_name: str = strawberry.field(description="The name of the job it runs.")
    args: JSON = strawberry.field(description="The arguments of its runs, an object.")
    group: str = strawberry.field(description="The group of its runs.")
    priority: model.Priority = strawberry.field(description="The priority of its runs.")
    owner: str | None = strawberry.field(description="The outside thing on whose behalf it exists, e.g. `channel:42`.")
    submitter: str | None = strawberry.field(description="Who made it.")
    schedule: Schedule = strawberry.field(description="When it is due.")
    declared_schedule: Schedule | None = strawberry.field(description="The schedule that its code declares.")
    next_execution: datetime | None = strawberry.field(
        description="When its next run will be made, jitter included; null when paused or finished."
    )
    next_nominal: datetime | None = strawberry.field(
        description="The next nominal time of its schedule, whether or not it is paused; null when finished."
    )
    overlap: model.OverlapPolicy = strawberry.field(description="The overlap policy in force.")
    misfire: model.MisfirePolicy = strawberry.field(description="The misfire policy.")
    misfire_grace: float = strawberry.field(description="Seconds by which an occurrence may be late without a misfire.")
    catch_up_limit: int = strawberry.field(description="How many missed occurrences misfire policy ALL makes up for.")
    tolerance: float | None = strawberry.field(
        description="INTERVAL only: seconds by which a run may start earlier than one interval after the last."
    )
    timeout: float | None = strawberry.field(description="The time box of each attempt in seconds; null = none.")
    retries: int = strawberry.field(description="How many failures a run survives.")
    retry_delay: float = strawberry.field(description="Seconds before the first retry; doubled with each further one.")
    inherits: list[str] = strawberry.field(
        description="Which of its settings follow its job, because nobody has set them for this task; by name, sorted."
    )
    jitter: float = strawberry.field(description="Most seconds by which the task is delayed, by one fixed offset.")
    start_at: datetime | None = strawberry.field(description="No occurrence before this time.")
    end_at: datetime | None = strawberry.field(description="No occurrence after this time.")
    paused_at: datetime | None = strawberry.field(description="Since when it is paused.")
    paused_by: str | None = strawberry.field(description="Who paused it.")
    pause_reason: str | None = strawberry.field(description="Why it is paused.")
    finished: bool = strawberry.field(description="Whether no occurrence is left.")
    overridden: bool = strawberry.field(description="Whether an operator replaced the schedule that its code declares.")
    last_due_at: datetime | None = strawberry.field(description="The newest nominal time that was looked at.")
    last_started_at: datetime | None = strawberry.field(description="When a run made by its schedule last started.")
    counter: BigInt = strawberry.field(description="How many runs its schedule has made.")
    version: int = strawberry.field(description="Counts edits; pass it as `expectedVersion` to `updateTask`.")
    checkpoint: JSON | None = strawberry.field(description="What its job last saved to go on from.")
    created_at: datetime = strawberry.field(description="When it was made.")
    updated_at: datetime = strawberry.field(description="When it was last edited.")

    @classmethod
    def from_model(cls, task: model.Task) -> Self:
        """The GraphQL object of a task."""
        spec = task.spec
        return cls(
            stored=task,
            id=strawberry.ID(str(task.id)),
            name=spec.name,
            description=spec.description,
            enabled=spec.enabled,
            source=task.source,
            job_name=spec.job_name,
            args=JSON(spec.args),
            group=spec.group,
            priority=spec.priority,
            owner=spec.owner,
            submitter=task.submitter,
            schedule=Schedule.from_model(spec.schedule, task),
            declared_schedule=None if task.declared is None else Schedule.from_model(task.declared, task),
            next_execution=task.next_execution if spec.enabled else None,
            next_nominal=task.next_nominal,
            overlap=effective_overlap(spec),
            misfire=spec.misfire,
            misfire_grace=spec.misfire_grace,
            catch_up_limit=spec.catch_up_limit,
            tolerance=effective_tolerance(spec),
            timeout=effective_timeout(spec),
            retries=spec.retries,
            retry_delay=spec.retry_delay,
            inherits=sorted(camel(name) for name in spec.inherits),
            jitter=spec.jitter,
            start_at=spec.start_at,
            end_at=spec.end_at,
            paused_at=task.paused_at,
            paused_by=task.paused_by,
            pause_reason=task.pause_reason,
            finished=task.finished,
            overridden=task.overridden,
            last_due_at=task.last_due_at,
            last_started_at=task.last_started_at,
            counter=BigInt(task.counter),
            version=task.version,
            checkpoint=task.checkpoint,
            created_at=task.created_at,
            updated_at=task.updated_at,
        )
