"""A durable step of a run, as clients see it."""

from datetime import datetime
from typing import ClassVar

import strawberry
from strawberry.scalars import JSON

from cronograph.jobs.core.steps import StepKind, StepState

from ...jobs.core.actor import Role
from ..execution.shown import FromModel, Makers


@strawberry.type(description="A durable step of a run: what it returned, or a failure of it in one attempt.")
class RunStep(FromModel):
    """A stored step."""

    label: str = strawberry.field(
        description="What it is known by in its run: its name, its key in brackets, the number of its use if it is not "
        "the first, e.g. `charge`, `charge[42]#2`. `retryRun(fromStep:)` takes it."
    )
    name: str = strawberry.field(description="As the job calls it.")
    key: str | None = strawberry.field(description="Distinguishes steps of one name that run at the same time.")
    use: int = strawberry.field(description="1 for the first use of this name and key in the run.")
    kind: StepKind = strawberry.field(description="What it is.")
    state: StepState = strawberry.field(description="Its state.")
    attempt: int = strawberry.field(
        description="In which attempt at the run it ended, or a wait began; 0 = copied from the run that this one "
        "retries."
    )
    started_at: datetime = strawberry.field(description="When its function was called first, or its wait began.")
    finished_at: datetime | None = strawberry.field(description="When it ended; null while it waits.")
    wake_at: datetime | None = strawberry.field(description="Of a wait: when it ends by time.")
    signal: str | None = strawberry.field(description="Of a wait for a signal: the name by which `signalRun` sends it.")
    role: Role | None = strawberry.field(
        description="Whose signals it takes: of accounts with this role or one above it."
    )
    form: JSON | None = strawberry.field(
        description="The JSON Schema of what the signal has to bring along; null = anything."
    )
    flow_id: strawberry.ID | None = strawberry.field(
        description="Of a wait for other runs: the key of the flow that they are."
    )
    value: JSON | None = strawberry.field(description="What it returned, or what the signal brought along.")
    error: str | None = strawberry.field(description="Why it failed, or why the signal says no.")
    used: bool = strawberry.field(
        description="False: the attempt that ended well did not ask for it; the code has no such step any more."
    )
    latest: bool = strawberry.field(
        description="False: a later attempt took it again. A run has one latest step of each label: "
        "`retryRun(fromStep:)` starts there."
    )

    MADE: ClassVar[Makers] = {}
