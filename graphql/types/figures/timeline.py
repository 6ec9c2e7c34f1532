"""The timeline, as clients see it: a row for each task, its bars and skips as columns."""

from datetime import datetime
from typing import ClassVar

import strawberry

from ....jobs.core.model import SkipReason
from ...base.scalars import BigInt
from ...execution.shown import FromModel, Makers


@strawberry.type(
    description="Executions of a row by the parts of the span in which they began, as columns of equal length, the "
    "earliest first."
)
class TimelineBars:
    """Columns."""

    begins: list[datetime] = strawberry.field(description="When the first of them began.")
    ends: list[datetime | None] = strawberry.field(
        description="When the last of them ended; null while one of them runs."
    )
    counts: list[int] = strawberry.field(description="How many there are.")
    failures: list[int] = strawberry.field(description="How many of them failed, timed out, or were lost.")
    ids: list[strawberry.ID] = strawberry.field(description="The newest one that failed, or else the newest one.")


@strawberry.type(description="Skipped occurrences of a row as columns of equal length, the newest first; at most 40.")
class TimelineSkips:
    """Columns."""

    first: list[datetime] = strawberry.field(description="The first nominal time of a stretch.")
    last: list[datetime] = strawberry.field(description="The last one.")
    reasons: list[SkipReason] = strawberry.field(description="Why they were skipped.")
    counts: list[BigInt] = strawberry.field(description="How many occurrences the stretch stands for.")
    run_ids: list[strawberry.ID | None] = strawberry.field(description="The run that stood in the way, if any.")


@strawberry.type(description="A task in the timeline, or the executions of a job without a task.")
class TimelineRow(FromModel):
    """A row."""

    task_name: str | None = strawberry.field(description="The task; null for executions without one.")
    job_name: str | None = strawberry.field(
        description="The job; null for a deleted task of which nothing ran in the span."
    )
    group: str | None = strawberry.field(description="The group of the task; null without one.")
    failing: bool = strawberry.field(description="Whether the newest execution of the span that has ended failed.")
    late: bool = strawberry.field(
        description="Whether the task should have started and did not, see `Task.stalled`; false if the span ends "
        "before now."
    )
    executions: int = strawberry.field(description="How many began in the span.")
    failures: int = strawberry.field(description="How many of them failed, timed out, or were lost.")
    bars: TimelineBars = strawberry.field(description="What ran.")
    skips: TimelineSkips = strawberry.field(description="What was skipped.")

    MADE: ClassVar[Makers] = {
        "bars": lambda row: TimelineBars(
            begins=[one.begin for one in row.bars],
            ends=[one.end for one in row.bars],
            counts=[one.count for one in row.bars],
            failures=[one.failures for one in row.bars],
            ids=[strawberry.ID(str(one.execution_id)) for one in row.bars],
        ),
        "skips": lambda row: TimelineSkips(
            first=[one.first for one in row.skips],
            last=[one.last for one in row.skips],
            reasons=[one.reason for one in row.skips],
            counts=[BigInt(one.count) for one in row.skips],
            run_ids=[None if one.run_id is None else strawberry.ID(str(one.run_id)) for one in row.skips],
        ),
    }


@strawberry.type(description="What ran and what was skipped in a span of time.")
class Timeline(FromModel):
    """The rows of a span."""

    rows: list[TimelineRow] = strawberry.field(
        description="Failing tasks first, then late ones, then the others by name."
    )
    total_rows: int = strawberry.field(description="How many rows there are, also those behind `first`.")
    since: datetime | None = strawberry.field(
        description="Executions that began before are left out, since the span has more than 100,000; null if all "
        "of them count."
    )

    MADE: ClassVar[Makers] = {
        "rows": lambda timeline: list(map(TimelineRow.from_model, timeline.rows)),
        "total_rows": lambda timeline: timeline.total,
    }
