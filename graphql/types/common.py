"""Small types that others share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Self

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.admission.caps import WhenFull
from ...jobs.core.base.resources import CARRIED, resources_of
from ...jobs.core.model import LogLevel
from ...jobs.store.statements.logs import LogLine as StoredLine
from ..base.enums import ErrorCode
from ..base.fields import FEW, sized
from ..base.scalars import BigInt, Duration, Labels
from ..execution.shown import FromModel, Makers


@strawberry.interface(description="A reason why an input was refused. Nothing was changed.")
class UserError:
    """An error of the engine as data."""

    code: ErrorCode = strawberry.field(description="The reason as a word that programs can test.")
    message: str = strawberry.field(
        description="A sentence for people: the thing, its rule, the value it got, and often a suggestion."
    )
    path: list[str] = strawberry.field(
        description='The place of the fault in the input, outermost first, e.g. `["schedule", "value"]`.'
    )


@strawberry.interface(description="The answer of every mutation.")
class MutationPayload:
    """A refusal is data."""

    errors: list[UserError] = strawberry.field(
        description="The reasons why nothing was changed; empty if the change was made.",
        default_factory=list[UserError],
        metadata=sized(FEW),
    )


@strawberry.type(description="The progress that a job reports of itself.")
class Progress:
    """The progress that a job last reported."""

    done: float = strawberry.field(description="The amount that is done, in the unit of the job.")
    total: float | None = strawberry.field(
        description="The whole amount, in the unit of the job; null if the job does not know it."
    )
    message: str | None = strawberry.field(description="The present activity of the job, in words.")

    @classmethod
    def from_json(cls, stored: Any) -> Self | None:  # noqa: ANN401 - a stored JSON document
        """Return the progress behind a stored document ``{done, total, message}``, or None if nothing was reported."""
        if stored is None:
            return None
        return cls(done=stored["done"], total=stored.get("total"), message=stored.get("message"))


@strawberry.type(description="One line that a job logged.")
class LogLine:
    """A kept line of an execution's log."""

    line: int = strawberry.field(description="The number of the line within its execution, from 1.")
    at: datetime = strawberry.field(description="The time when the line was logged.")
    level: LogLevel = strawberry.field(description="The level of the line.")
    message: str = strawberry.field(description="The text of the line.")
    fields: JSON | None = strawberry.field(description="Structured values that were logged with the line.")
    step: str | None = strawberry.field(description="The step of the run that logged the line; null outside of steps.")

    @classmethod
    def from_model(cls, stored: StoredLine) -> Self:
        """Return the line behind a stored one."""
        level = LogLevel(stored.level)
        return cls(
            line=stored.line,
            at=stored.at,
            level=level,
            message=stored.message,
            fields=stored.fields,
            step=stored.step,
        )


@strawberry.type(description="A part of an execution's log.")
class LogPage:
    """Some lines, and where they stand."""

    lines: list[LogLine] = strawberry.field(description="The kept lines of this page, in their order.")
    last_line: int = strawberry.field(
        description="The number of the last line of this page: pass it as `after` to read on. On an empty page it "
        "is `after` itself."
    )
    cut: BigInt = strawberry.field(
        description="The number of lines of the execution that were dropped to keep its log within bounds."
    )
    ended: bool = strawberry.field(
        name="hasEnded", description="Whether the execution is over, so that no further line will come."
    )


@strawberry.type(description="New lines of an execution's log; the last message has `hasEnded: true`.")
class LogPart:
    """A message of `executionLog`."""

    lines: list[LogLine] = strawberry.field(description="Lines in their order; each kept line is sent once.")
    cut: BigInt = strawberry.field(
        description="The number of lines of the execution that were dropped so far to keep its log within bounds."
    )
    ended: bool = strawberry.field(
        name="hasEnded",
        description="Whether the execution is over and all kept lines were sent; true in the last message only.",
    )


@strawberry.type(description="The resources that a run needs at the engine of its job. Null = nothing is said of it.")
class Resources(FromModel):
    """Resources of a job, a task, a run or an attempt."""

    cpus: float | None = strawberry.field(description="The number of processor cores.")
    memory: BigInt | None = strawberry.field(description="The bytes of memory.")
    gpus: int | None = strawberry.field(description="The number of graphics processors.")
    image: str | None = strawberry.field(description="The container image that has the code.")
    queue: str | None = strawberry.field(description="The queue or the partition of the engine.")
    options: Labels = strawberry.field(description="Further words of the executor.")

    MADE: ClassVar[Makers] = {}

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> "Resources | None":
        """Return the stored form for a client; None stays None."""
        return None if not document else cls.from_model(resources_of({CARRIED: document}))


@strawberry.type(description="A limit on waiting runs: runs that have never begun count, except runs of flows.")
class Cap(FromModel):
    """A cap of a group or a job."""

    limit: int = strawberry.field(description="The largest number of waiting runs.")
    when_full: WhenFull = strawberry.field(description="The treatment of a run that arrives when the limit is reached.")


@strawberry.type(
    name="RateLimit",
    description="A limit on the number of starts in a period: a token bucket, from which each start takes a token.",
)
class Rate(FromModel):
    """A rate of a group or a job."""

    limit: int = strawberry.field(description="The number of tokens that arrive in each period `per`.")
    per: Duration = strawberry.field(description="The period in which `limit` tokens arrive.")
    burst: int = strawberry.field(
        description="The number of tokens that the bucket holds: as many runs start at once after a pause."
    )
