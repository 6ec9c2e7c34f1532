"""The inputs of mutations of one run."""

from datetime import datetime

import strawberry
from strawberry.scalars import JSON

from ..base.inputs import KEY, REASON, TRY, optional


@strawberry.input(description="A run to be cancelled.")
class CancelRunInput:
    """The input of ``cancelRun``."""

    id: strawberry.ID = strawberry.field(description="Which run.")
    reason: str | None = optional(REASON)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A signal to an unfinished run, named by `id` or by `uniqueKey`.")
class SignalRunInput:
    """The input of ``signalRun``."""

    name: str = strawberry.field(
        description="What the run waits for, or will: `approved`, of a wait with a key `approved[42]`."
    )
    id: strawberry.ID | None = optional("Which run.")
    unique_key: str | None = optional("The unique key of the unfinished run.")
    payload: JSON | None = optional("What the signal brings along: any JSON, as the wait asks for it.")
    reject: str | None = optional("The signal says no, for this reason; it needs no payload.")
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A finished run to be made again.")
class RetryRunInput:
    """The input of ``retryRun``."""

    id: strawberry.ID = strawberry.field(description="Which run.")
    args: JSON | None = optional("Arguments instead of the old ones, an object.")
    from_step: str | None = optional(
        "Go on from this step, e.g. `charge` or `charge#2`: the new run has the results of all that began before it."
    )
    dry_run: bool | None = optional(TRY)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A run that waits, to be changed. What is absent stays.")
class UpdateRunInput:
    """The input of ``updateRun``."""

    id: strawberry.ID = strawberry.field(description="Which run.")
    args: JSON | None = optional("Its arguments, an object; null = none. Refused once it has begun.")
    run_at: datetime | None = optional("It does not start before this time; null = now.")
    idempotency_key: str | None = optional(KEY)
