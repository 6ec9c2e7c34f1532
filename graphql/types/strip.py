"""The newest occurrences of a task as columns: sixty bars of each of fifty tasks, at the price of one page."""

from datetime import datetime
from typing import Self

import strawberry

from ...jobs.core.model import SkipReason
from ...jobs.core.states import RunState
from ...jobs.store.read.strips import Strip
from ..base.scalars import BigInt


@strawberry.type(
    description="The newest occurrences of a task as columns of equal length: one value of each column per occurrence, "
    "the newest nominal time first. The same as `occurrences`, for charts of many tasks, at a tenth of the cost."
)
class OccurrenceStrip:
    """Columns."""

    ids: list[strawberry.ID] = strawberry.field(description="The key of the run, or of the skipped stretch.")
    states: list[RunState] = strawberry.field(description="The state of the run; `SKIPPED` for a skipped stretch.")
    at: list[datetime] = strawberry.field(description="The nominal time; of a skipped stretch the last one.")
    seconds: list[float | None] = strawberry.field(
        description="Seconds from the start of the newest attempt to the end of the run; null until it has ended, and "
        "for a skipped stretch."
    )
    reasons: list[SkipReason | None] = strawberry.field(description="Why a stretch was skipped; null for a run.")
    counts: list[BigInt] = strawberry.field(description="For how many occurrences it stands: 1 for a run.")

    @classmethod
    def from_strip(cls, strip: Strip) -> Self:
        """The GraphQL object of a strip."""
        shown = cls.__new__(cls)
        vars(shown).update({name: getattr(strip, name) for name in Strip.__slots__})
        return shown
