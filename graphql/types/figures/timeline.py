"""The timeline, as clients see it: a row for each task, its bars and skips as columns."""

from datetime import datetime
from typing import Self

import strawberry

from ....jobs.core.model import SkipReason
from ....jobs.store.read.figures import timeline as stored
from ...base.scalars import BigInt


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
class TimelineRow:
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

    @classmethod
    def from_row(cls, row: stored.TimelineRow) -> Self:
        """The GraphQL object of a row."""
        bars, skips = row.bars, row.skips
        return cls(
            task_name=row.task_name,
            job_name=row.job_name,
            group=row.group,
            failing=row.failing,
            late=row.late,
            executions=row.executions,
            failures=row.failures,
            bars=TimelineBars(
                begins=[one.begin for one in bars],
                ends=[one.end for one in bars],
                counts=[one.count for one in bars],
                failures=[one.failures for one in bars],
                ids=[strawberry.ID(str(one.execution_id)) for one in bars],
            ),
            skips=TimelineSkips(
                first=[one.first for one in skips],
                last=[one.last for one in skips],
                reasons=[one.reason for one in skips],
                counts=[BigInt(one.count) for one in skips],
                run_ids=[None if one.run_id is None else strawberry.ID(str(one.run_id)) for one in skips],
            ),
        )


@strawberry.type(description="What ran and what was skipped in a span of time.")
class Timeline:
    """The rows of a span."""

    rows: list[TimelineRow] = strawberry.field(
        description="Failing tasks first, then late ones, then the others by name."
    )
    total_rows: int = strawberry.field(description="How many rows there are, also those behind `first`.")
    since: datetime | None = strawberry.field(
        description="Executions that began before are left out, since the span has more than 100,000; null if all "
        "of them count."
    )

    @classmethod
    def from_timeline(cls, timeline: stored.Timeline) -> Self:
        """The GraphQL object of a timeline."""
        return cls(
            rows=[TimelineRow.from_row(row) for row in timeline.rows],
            total_rows=timeline.total,
            since=timeline.since,
        )
