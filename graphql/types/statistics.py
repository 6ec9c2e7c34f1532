"""Figures over time: statistics, the overview and timelines."""

from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, Self

import strawberry

from ...jobs.core.model import SkipReason
from ...jobs.core.states import UNFINISHED, RunState
from ...jobs.store.statements.figures import reports
from ...jobs.store.statements.figures.depth import DepthPoint
from ..base.fields import UNSTABLE, Size, sized
from ..base.scalars import BigInt, Duration
from ..execution.shown import FromModel, Makers


@strawberry.type(
    description="Executions of a row by the parts of the span in which they began, as columns of equal length, the "
    "earliest first.",
    directives=UNSTABLE,
)
class TimelineBars:
    """Columns."""

    begins: list[datetime] = strawberry.field(description="The time when the first of these executions began.")
    ends: list[datetime | None] = strawberry.field(
        description="The time when the last of these executions ended; null while one of them runs."
    )
    counts: list[int] = strawberry.field(description="The number of executions.")
    failures: list[int] = strawberry.field(description="The number of executions that failed, timed out, or were lost.")
    ids: list[strawberry.ID] = strawberry.field(
        description="The `id` of the newest execution that failed, or of the newest execution if none failed."
    )


@strawberry.type(
    description="Skipped occurrences of a row as columns of equal length, the newest first; at most 40.",
    directives=UNSTABLE,
)
class TimelineSkips:
    """Columns."""

    first: list[datetime] = strawberry.field(description="The first nominal time of the stretch.")
    last: list[datetime] = strawberry.field(description="The last nominal time of the stretch.")
    reasons: list[SkipReason] = strawberry.field(description="The reason of the skip.")
    counts: list[BigInt] = strawberry.field(description="The number of occurrences that the stretch stands for.")
    run_ids: list[strawberry.ID | None] = strawberry.field(
        description="The `id` of the run that stood in the way; null if there was none."
    )


@strawberry.type(description="A task in the timeline, or the executions of a job without a task.", directives=UNSTABLE)
class TimelineRow(FromModel):
    """A row."""

    task_name: str | None = strawberry.field(description="The name of the task; null for executions without one.")
    job_name: str | None = strawberry.field(
        description="The name of the job; null for a deleted task of which nothing ran in the span."
    )
    group: str | None = strawberry.field(description="The group of the task; null without one.")
    failing: bool = strawberry.field(
        name="isFailing",
        description="Whether the newest execution of the span that has ended failed, with an error that is neither "
        "silenced nor solved.",
    )
    late: bool = strawberry.field(
        name="isLate",
        description="Whether the task should have started and did not, see `Task.isStalled`; false if the span "
        "ends before now.",
    )
    executions: int = strawberry.field(description="The number of executions that began in the span.")
    failures: int = strawberry.field(description="The number of executions that failed, timed out, or were lost.")
    bars: TimelineBars = strawberry.field(description="The executions of the row.")
    skips: TimelineSkips = strawberry.field(description="The skipped occurrences of the row.")

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


@strawberry.type(
    description="The executions that began and the occurrences that were skipped in a span of time.",
    directives=UNSTABLE,
)
class Timeline(FromModel):
    """The rows of a span."""

    rows: list[TimelineRow] = strawberry.field(
        description="Failing tasks first, then late ones, then the others by name."
    )
    total_rows: int = strawberry.field(description="The number of all rows, including rows behind `first`.")
    since: datetime | None = strawberry.field(
        name="beginsAt",
        description="Executions that began before are left out, since the span has more than 100,000; null if all "
        "of them count.",
    )

    MADE: ClassVar[Makers] = {
        "rows": lambda timeline: list(map(TimelineRow.from_model, timeline.rows)),
        "total_rows": lambda timeline: timeline.total,
    }


RATE_MINUTES: Final = 5

PERCENTILE: Final = Size(own=1_700)
"""A look at thousands of executions."""

OF_POINTS: Final = Size(own=170)
"""The same; the list of points counts ten times."""


_PARTS: Final = {
    **dict.fromkeys((state.value for state in UNFINISHED), reports.Part.QUEUE),
    **dict.fromkeys(("failedLast24h", "succeededLast24h", "successRate"), reports.Part.DAY),
    "unknownFailedLast24h": reports.Part.UNKNOWN,
    **dict.fromkeys(("unknownErrors", "unknownErrorsJobs"), reports.Part.ERRORS),
    "failedPrevious24h": reports.Part.DAY_BEFORE,
    **dict.fromkeys(("runsPerMinute", "perMinute"), reports.Part.RATE),
    "stalledTasks": reports.Part.STALLED,
    **dict.fromkeys(("liveNodes", "drainingNodes", "slots"), reports.Part.NODES),
}
"""Part of the report for each field of an overview, by its name in the schema."""


def parts_of(asked: AbstractSet[str]) -> frozenset[reports.Part]:
    """Return the parts of the report that the asked fields of an overview need."""
    return frozenset(_PARTS[name] for name in asked if name in _PARTS)


@strawberry.type(description="The present state of the whole system in figures.")
class Overview:
    """The tiles of the dashboard."""

    at: datetime = strawberry.field(description="The time of the figures, by the clock of the server.")
    running: BigInt = strawberry.field(description="The number of runs that are being executed.")
    waiting: BigInt = strawberry.field(description="The number of runs that wait.")
    scheduled: BigInt = strawberry.field(
        description="The number of runs that were handed to a node and have not begun."
    )
    stuck: BigInt = strawberry.field(description="The number of runs that failed and will be tried again.")
    suspended: BigInt = strawberry.field(
        description="The number of runs that sleep, or wait for a signal or for other runs."
    )
    failed_last24h: BigInt = strawberry.field(
        description="The number of executions begun in the last 24 hours, to the minute, that failed, timed out or "
        "were lost."
    )
    unknown_failed_last24h: BigInt = strawberry.field(
        description="The number of these failures whose errors are neither silenced nor solved; of more than 100,000 "
        "failures the newest are looked at."
    )
    unknown_errors: int = strawberry.field(
        description="The number of errors, as `failureGroups` has them, that runs without a task have had within the "
        "last hour and that are neither silenced nor solved."
    )
    unknown_errors_jobs: int = strawberry.field(description="The number of jobs that have had these errors.")
    failed_previous24h: BigInt = strawberry.field(
        description="The number of executions begun in the 24 hours before the last 24 hours that failed, timed "
        "out or were lost."
    )
    succeeded_last24h: BigInt = strawberry.field(
        description="The number of executions begun in the last 24 hours that succeeded."
    )
    success_rate: float | None = strawberry.field(
        description="The share of successes among successes and failures of the last 24 hours, 0 to 1; null "
        "without any."
    )
    runs_per_minute: float = strawberry.field(
        description="The number of executions that ended per minute, as the mean of five minutes."
    )
    per_minute: list[BigInt] = strawberry.field(
        description="The number of executions that ended in each of the last 60 whole minutes, oldest first."
    )
    stalled_tasks: BigInt = strawberry.field(description="The number of tasks that should have started and did not.")
    live_nodes: int = strawberry.field(description="The number of nodes that are up.")
    draining_nodes: int = strawberry.field(
        description="The number of live nodes that take no new runs because they are about to end."
    )
    slots: int = strawberry.field(
        description="The number of runs that all live nodes together can execute at the same time."
    )

    @classmethod
    def from_report(cls, report: reports.Overview) -> Self:
        """Return the GraphQL object of a report."""
        judged = report.succeeded + report.failed
        recent = report.per_minute[-RATE_MINUTES:]
        return cls(
            at=report.at,
            **{state.value: BigInt(report.states.get(state, 0)) for state in UNFINISHED},
            failed_last24h=BigInt(report.failed),
            unknown_failed_last24h=BigInt(report.unknown),
            unknown_errors=report.errors,
            unknown_errors_jobs=report.failing_jobs,
            failed_previous24h=BigInt(report.failed_before),
            succeeded_last24h=BigInt(report.succeeded),
            success_rate=report.succeeded / judged if judged else None,
            runs_per_minute=sum(recent) / len(recent),
            per_minute=[BigInt(count) for count in report.per_minute],
            stalled_tasks=BigInt(report.stalled),
            live_nodes=report.live_nodes,
            draining_nodes=report.draining_nodes,
            slots=report.slots,
        )


@strawberry.type(description="The figures of one span of time.")
class StatisticsPoint(FromModel):
    """One bucket."""

    at: datetime = strawberry.field(description="The beginning of the span.")
    count: BigInt = strawberry.field(description="The number of executions that began in the span.")
    failures: BigInt = strawberry.field(
        description="The number of these executions that failed, timed out or were lost."
    )
    records: BigInt = strawberry.field(description="The number of records that these executions processed.")
    p50: Duration | None = strawberry.field(
        description="The median duration of these executions that ended; null without any.", metadata=sized(OF_POINTS)
    )
    p95: Duration | None = strawberry.field(
        description="The 95th percentile of the duration; null without any.", metadata=sized(OF_POINTS)
    )

    PREFIX = "figures"


@strawberry.type(
    description="Figures about the executions that began in a span of time. All executions are counted unless "
    "`isEstimated`; percentiles of more than 10,000 executions are taken from an even sample of about "
    "as many."
)
class Statistics(FromModel):
    """The answer of ``statistics``."""

    from_: datetime = strawberry.field(name="beginsAt", description="The beginning of the span.")
    to: datetime = strawberry.field(name="endsAt", description="The end of the span, not included.")
    count: BigInt = strawberry.field(description="The number of executions that began in the span.")
    failures: BigInt = strawberry.field(
        description="The number of these executions that failed, timed out or were lost."
    )
    records: BigInt = strawberry.field(description="The number of records that these executions processed.")
    p50: Duration | None = strawberry.field(
        description="The median duration of these executions that ended; null without any.", metadata=sized(PERCENTILE)
    )
    p95: Duration | None = strawberry.field(
        description="The 95th percentile of the duration; null without any.", metadata=sized(PERCENTILE)
    )
    p99: Duration | None = strawberry.field(
        description="The 99th percentile of the duration; null without any.", metadata=sized(PERCENTILE)
    )
    lateness_p50: Duration | None = strawberry.field(
        description="The median lateness of scheduled runs: the time from the nominal time to the start of the "
        "first attempt; null without any.",
        metadata=sized(PERCENTILE),
    )
    lateness_p95: Duration | None = strawberry.field(
        description="The 95th percentile of the lateness; null without any.", metadata=sized(PERCENTILE)
    )
    lateness_p99: Duration | None = strawberry.field(
        description="The 99th percentile of the lateness; null without any.", metadata=sized(PERCENTILE)
    )
    estimated: bool = strawberry.field(
        name="isEstimated",
        description="Whether the counts come from an even sample as well. This happens if you select by several "
        "names, e.g. a job and a group, among more than 50,000 executions.",
    )
    stalled: BigInt = strawberry.field(description="The number of selected tasks that should have started and did not.")
    points: list[StatisticsPoint] = strawberry.field(
        description="The figures per bucket, oldest first; buckets without executions are left out."
    )

    @classmethod
    def from_report(cls, report: reports.Statistics, start: datetime, end: datetime) -> Self:
        """Return the GraphQL object of a report over ``start`` to ``end``."""
        return cls.from_model(report, from_=start, to=end)

    MADE: ClassVar[Makers] = {
        "lateness_p50": lambda report: report.lateness.p50,
        "lateness_p95": lambda report: report.lateness.p95,
        "lateness_p99": lambda report: report.lateness.p99,
        "points": lambda report: [StatisticsPoint.from_model(point) for point in report.points],
    }
    PREFIX = "total"


@strawberry.type(description="The number of executions that began in one span of time.")
class ExecutionCount(FromModel):
    """One bucket."""

    at: datetime = strawberry.field(description="The beginning of the span.")
    count: BigInt = strawberry.field(description="The executions that began in the span.")
    failures: BigInt = strawberry.field(description="The executions of them that failed, timed out or were lost.")
    records: BigInt = strawberry.field(description="The records that they processed.")

    PREFIX = "figures"


@strawberry.type(description="Executions that match a filter, counted over time.")
class ExecutionCounts:
    """The answer of ``executionCounts``."""

    begins_at: datetime = strawberry.field(
        description="The time since which all are counted: the beginning of the span, or later if more than 50,000 "
        "match. Nothing is known of the time before."
    )
    points: list[ExecutionCount] = strawberry.field(
        description="The counts per bucket since then, oldest first; buckets without executions are left out."
    )


@strawberry.type(description="The tasks that are due in one stretch of time.")
class PlannedLoadPoint:
    """One bucket."""

    at: datetime = strawberry.field(description="The beginning of the stretch.")
    tasks: int = strawberry.field(description="The number of tasks that have at least one occurrence in it.")
    names: list[str] = strawberry.field(
        description="The names of up to five of them, those that come most rarely first; without those that are due "
        "in more than a tenth of all stretches."
    )


@strawberry.type(description="The planned load of a span of time.")
class PlannedLoad:
    """The answer of ``plannedLoad``."""

    ends_at: datetime = strawberry.field(
        description="The time until which all are counted: the end of the span, or earlier if that many are due. "
        "Nothing is known of the time after it."
    )
    points: list[PlannedLoadPoint] = strawberry.field(
        description="The stretches of time, earliest first, counted from the beginning of the span; those in which "
        "nothing is due are left out."
    )


def _depth_of(state: RunState, point: DepthPoint) -> float:
    return point.states.get(state, 0.0)


@strawberry.type(description="The mean depth of the queue in a span of time, counted once a minute.")
class QueuePoint(FromModel):
    """One bucket."""

    at: datetime = strawberry.field(description="The beginning of the span.")
    waiting: float = strawberry.field(description="The mean number of runs that waited.")
    scheduled: float = strawberry.field(
        description="The mean number of runs that were handed to a node and had not begun."
    )
    running: float = strawberry.field(description="The mean number of runs that were being executed.")
    stuck: float = strawberry.field(description="The mean number of runs that had failed and were to be tried again.")
    suspended: float = strawberry.field(
        description="The mean number of runs that slept, or waited for a signal or for other runs."
    )
    oldest_wait: Duration | None = strawberry.field(
        description="The longest time that a due run had waited; null when none was due."
    )

    MADE: ClassVar[Makers] = {state.value: partial(_depth_of, state) for state in UNFINISHED}
