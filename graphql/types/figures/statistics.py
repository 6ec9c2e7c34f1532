"""Figures: the overview, statistics over time, and failures by their error."""

from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, Self

import strawberry

from ....jobs.core.states import UNFINISHED, RunState
from ....jobs.store.read.figures import reports
from ....jobs.store.read.figures.depth import DepthPoint
from ...base.fields import resolved, sized
from ...base.scalars import BigInt
from ...base.sizes import Size
from ...execution.shown import FromModel, Makers
from ...resolving.context import Info
from ..entities import JobExecution, load_execution
from .failures import FailureGroup as StoredGroup

RATE_MINUTES: Final = 5

PERCENTILE: Final = Size(own=1_700)
"""A look at thousands of executions."""

OF_POINTS: Final = Size(own=170)
"""The same; the list of points counts ten times."""


_PARTS: Final = {
    **dict.fromkeys((state.value for state in UNFINISHED), reports.Part.QUEUE),
    **dict.fromkeys(("failedLast24h", "succeededLast24h", "successRate"), reports.Part.DAY),
    "failedPrevious24h": reports.Part.DAY_BEFORE,
    **dict.fromkeys(("runsPerMinute", "perMinute"), reports.Part.RATE),
    "stalledTasks": reports.Part.STALLED,
    **dict.fromkeys(("liveNodes", "drainingNodes", "slots"), reports.Part.NODES),
}
"""Which part of the report each field of an overview is of, by its name in the schema."""


def parts_of(asked: AbstractSet[str]) -> frozenset[reports.Part]:
    """The parts of the report that are needed for what is asked of an overview."""
    return frozenset(_PARTS[name] for name in asked if name in _PARTS)


@strawberry.type(description="How things are now.")
class Overview:
    """The tiles of the dashboard."""

    at: datetime = strawberry.field(description="When this was read, by the server's time.")
    running: BigInt = strawberry.field(description="Runs being executed.")
    waiting: BigInt = strawberry.field(description="Runs that wait.")
    scheduled: BigInt = strawberry.field(description="Runs handed to a node that have not begun.")
    stuck: BigInt = strawberry.field(description="Runs that failed and will be tried again.")
    suspended: BigInt = strawberry.field(description="Runs that sleep, or wait for a signal or for other runs.")
    failed_last24h: BigInt = strawberry.field(
        description="Executions begun in the last 24 hours, to the minute, that failed, timed out or were lost."
    )
    failed_previous24h: BigInt = strawberry.field(description="The same for the 24 hours before these.")
    succeeded_last24h: BigInt = strawberry.field(description="Executions begun in the last 24 hours that succeeded.")
    success_rate: float | None = strawberry.field(
        description="Share of successes among successes and failures of the last 24 hours, 0 to 1; null without any."
    )
    runs_per_minute: float = strawberry.field(description="Executions that ended per minute, mean of five minutes.")
    per_minute: list[BigInt] = strawberry.field(
        description="Executions that ended in each of the last 60 whole minutes, oldest first."
    )
    stalled_tasks: BigInt = strawberry.field(description="Tasks that should have started and did not.")
    live_nodes: int = strawberry.field(description="Nodes that are up.")
    draining_nodes: int = strawberry.field(
        description="Those of them that take nothing new, because they are about to end."
    )
    slots: int = strawberry.field(description="How many runs all live nodes together execute at once.")

    @classmethod
    def from_report(cls, report: reports.Overview) -> Self:
        """The GraphQL object of a report."""
        judged = report.succeeded + report.failed
        recent = report.per_minute[-RATE_MINUTES:]
        return cls(
            at=report.at,
            **{state.value: BigInt(report.states.get(state, 0)) for state in UNFINISHED},
            failed_last24h=BigInt(report.failed),
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

    at: datetime = strawberry.field(description="When the span begins.")
    count: BigInt = strawberry.field(description="Executions that began in it.")
    failures: BigInt = strawberry.field(description="Those that failed, timed out or were lost.")
    records: BigInt = strawberry.field(description="Records that they processed.")
    p50: float | None = strawberry.field(
        description="Median duration in seconds of those that ended.", metadata=sized(OF_POINTS)
    )
    p95: float | None = strawberry.field(
        description="95th percentile of the duration in seconds.", metadata=sized(OF_POINTS)
    )

    PREFIX = "figures"


@strawberry.type(
    description="Figures about executions that began in a span of time. All are counted, unless `estimated`; "
    "percentiles of more than 10,000 are those of an even sample of about so many."
)
class Statistics(FromModel):
    """The answer of ``statistics``."""

    from_: datetime = strawberry.field(name="from", description="The beginning of the span.")
    to: datetime = strawberry.field(description="The end of the span, not included.")
    count: BigInt = strawberry.field(description="How many began.")
    failures: BigInt = strawberry.field(description="Those that failed, timed out or were lost.")
    records: BigInt = strawberry.field(description="Records that they processed.")
    p50: float | None = strawberry.field(
        description="Median duration in seconds of those that ended.", metadata=sized(PERCENTILE)
    )
    p95: float | None = strawberry.field(
        description="95th percentile of the duration in seconds.", metadata=sized(PERCENTILE)
    )
    p99: float | None = strawberry.field(
        description="99th percentile of the duration in seconds.", metadata=sized(PERCENTILE)
    )
    lateness_p50: float | None = strawberry.field(
        description="Median of the seconds from the nominal time to the first attempt's start, of scheduled runs.",
        metadata=sized(PERCENTILE),
    )
    lateness_p95: float | None = strawberry.field(
        description="95th percentile of that lateness.", metadata=sized(PERCENTILE)
    )
    lateness_p99: float | None = strawberry.field(
        description="99th percentile of that lateness.", metadata=sized(PERCENTILE)
    )
    estimated: bool = strawberry.field(
        description="Whether the counts, too, come from an even sample: of a selection by several names (a group of a "
        "job, say) among more than 50,000 executions."
    )
    stalled: BigInt = strawberry.field(description="Tasks of the selection that should have started and did not.")
    points: list[StatisticsPoint] = strawberry.field(
        description="The figures per bucket, oldest first; buckets without executions are left out."
    )

    @classmethod
    def from_report(cls, report: reports.Statistics, start: datetime, end: datetime) -> Self:
        """The GraphQL object of a report over ``start`` to ``end``."""
        return cls.from_model(report, from_=start, to=end)

    MADE: ClassVar[Makers] = {
        "lateness_p50": lambda report: report.lateness.p50,
        "lateness_p95": lambda report: report.lateness.p95,
        "lateness_p99": lambda report: report.lateness.p99,
        "points": lambda report: [StatisticsPoint.from_model(point) for point in report.points],
    }
    PREFIX = "total"


def _depth_of(state: RunState, point: DepthPoint) -> float:
    return point.states.get(state, 0.0)


@strawberry.type(description="The queue in a span of time: means of what was counted once a minute.")
class QueuePoint(FromModel):
    """One bucket."""

    at: datetime = strawberry.field(description="When the span begins.")
    waiting: float = strawberry.field(description="Runs that waited.")
    scheduled: float = strawberry.field(description="Runs handed to a node that had not begun.")
    running: float = strawberry.field(description="Runs being executed.")
    stuck: float = strawberry.field(description="Runs that had failed and were to be tried again.")
    suspended: float = strawberry.field(description="Runs that slept, or waited for a signal or for other runs.")
    oldest_wait: float | None = strawberry.field(
        description="The longest that a due run had waited, in seconds; null when none was due."
    )

    MADE: ClassVar[Makers] = {state.value: partial(_depth_of, state) for state in UNFINISHED}


@strawberry.type(description="Failures of one job with the same error; numbers and ids in messages are taken as equal.")
class FailureGroup(FromModel):
    """A group of failures."""

    stored: strawberry.Private[StoredGroup]
    job_name: str = strawberry.field(description="The job.")
    error_type: str | None = strawberry.field(description="The type of the error.")
    message: str = strawberry.field(description="The message of the newest one, its first 300 characters.")
    count: BigInt = strawberry.field(description="How many there were.")
    first: datetime = strawberry.field(description="When the first of them began.")
    last: datetime = strawberry.field(description="When the newest of them began.")

    @resolved()
    async def execution(self, info: Info) -> JobExecution | None:
        """The newest of these executions; null if it was pruned meanwhile."""
        return await load_execution(info, self.stored.execution_id)
