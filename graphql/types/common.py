"""Small types that others share."""

from datetime import datetime
from typing import Any, Self

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.admission.caps import WhenFull
from ...jobs.core.model import LogLevel
from ...jobs.store.read.logs import LogLine as StoredLine
from ..base.enums import ErrorCode
from ..base.fields import FEW, sized
from ..base.scalars import BigInt
from ..execution.shown import FromModel


@strawberry.interface(description="Why an input was refused. Nothing was changed.")
class UserError:
    """An error of the engine as data."""

    code: ErrorCode = strawberry.field(description="Why, as a word that programs can test.")
    message: str = strawberry.field(
        description="A sentence for people: which thing, what it must be, what it got, and often a suggestion."
    )
    path: list[str] = strawberry.field(
        description='Where in the input the fault is, outermost first, e.g. `["schedule", "value"]`.'
    )


@strawberry.interface(description="What every mutation answers.")
class MutationPayload:
    """A refusal is data."""

    errors: list[UserError] = strawberry.field(
        description="Why nothing was changed; empty if it was done.",
        default_factory=list[UserError],
        metadata=sized(FEW),
    )


@strawberry.type(description="How far a running job says it is.")
class Progress:
    """The progress that a job last reported."""

    done: float = strawberry.field(description="How much is done, in the job's own unit.")
    total: float | None = strawberry.field(description="How much there is in all, if the job knows.")
    message: str | None = strawberry.field(description="What it is doing, in words.")

    @classmethod
    def from_json(cls, stored: Any) -> Self | None:  # noqa: ANN401 - a stored JSON document
        """The progress behind a stored document ``{done, total, message}``, or None if nothing was reported."""
        if stored is None:
            return None
        return cls(done=stored["done"], total=stored.get("total"), message=stored.get("message"))


@strawberry.type(description="One line that a job logged.")
class LogLine:
    """A kept line of an execution's log."""

    line: int = strawberry.field(description="Number of the line within its execution, from 1.")
    at: datetime = strawberry.field(description="When it was logged.")
    level: LogLevel = strawberry.field(description="How important it is.")
    message: str = strawberry.field(description="The text.")
    fields: JSON | None = strawberry.field(description="Structured values logged with it.")
    step: str | None = strawberry.field(description="The step of the run that logged it.")

    @classmethod
    def from_model(cls, stored: StoredLine) -> Self:
        """The line behind a stored one."""
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

    lines: list[LogLine] = strawberry.field(description="Kept lines in their order.")
    last_line: int = strawberry.field(
        description="Number of the last line of this page: pass it as `after` to read on; if empty, `after` itself."
    )
    cut: BigInt = strawberry.field(description="How many lines of the execution were dropped to keep its bound.")
    ended: bool = strawberry.field(description="Whether the execution is over and no further line will come.")


@strawberry.type(description="New lines of an execution's log; the last one has `ended: true`.")
class LogEvent:
    """An event of `executionLog`."""

    lines: list[LogLine] = strawberry.field(description="Lines in their order; each kept line is sent once.")
    cut: BigInt = strawberry.field(description="How many lines of the execution were dropped to keep its bound so far.")
    ended: bool = strawberry.field(description="The end mark: the execution is over and all kept lines were sent.")


@strawberry.type(description="How many runs wait at most: those that have never begun, apart from those of flows.")
class Cap(FromModel):
    """A cap of a group or a job."""

    limit: int = strawberry.field(description="How many.")
    when_full: WhenFull = strawberry.field(description="What becomes of one that comes when so many wait.")


@strawberry.type(
    name="RateLimit",
    description="How many runs start in how long: a token bucket, of which each start takes a token.",
)
class Rate(FromModel):
    """A rate of a group or a job."""

    limit: int = strawberry.field(description="How many tokens come in `per` seconds.")
    per: float = strawberry.field(description="Seconds.")
    burst: int = strawberry.field(description="How many tokens are kept: so many start at once after a pause.")
