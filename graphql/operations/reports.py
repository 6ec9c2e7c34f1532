"""Queries that compute: labels, schedules, plans, figures over time."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated, Final, Self

import strawberry

from ...jobs.core import model
from ...jobs.core.admission.labels import MAX_VALUE, key_faults, label_faults
from ...jobs.core.base.times import time_text
from ...jobs.core.occurrences import Planned, planned, planned_load
from ...jobs.core.schedule import validate
from ...jobs.own.threads import briefly_in_thread
from ...jobs.store.statements import runs as stored_runs
from ...jobs.store.statements.figures import depth, reports
from ...jobs.store.statements.figures import statistics as figures
from ...jobs.store.statements.figures import timeline as stored
from ...jobs.store.statements.figures.scope import Scope
from ...jobs.store.statements.listing.criteria import EVERYTHING, Criteria, LabelMatch
from ...jobs.store.statements.listing.keyset import OrderKey, Page, PageRequest, page_of
from ...jobs.store.statements.listing.searching import Counted, capped
from ..base.enums import Role, StatisticsBucket
from ..base.fields import Size, resolved
from ..base.scalars import (
    AFTER,
    COUNT,
    DEFAULT_PAGE,
    FORWARDS,
    MAX_PAGE,
    Duration,
    checked_count,
    checked_range,
    checked_text,
    refused,
)
from ..lists.connections import Connection, PageArguments, connect, once
from ..lists.declared import asked_of
from ..lists.filters import criteria_of_list
from ..resolving.context import Info
from ..types.account import Viewer
from ..types.entities import PlannedOccurrence, Task
from ..types.run import ExecutionFilter
from ..types.schedule import TIMES, ScheduleValidation
from ..types.statistics import (
    ExecutionCount,
    ExecutionCounts,
    Overview,
    PlannedLoad,
    PlannedLoadPoint,
    QueuePoint,
    Statistics,
    Timeline,
    parts_of,
)
from ..types.task import TaskFilter
from .base.inputs import ScheduleInput

MAX_KEYS: Final = 200
VALUES: Final = "label_values"
VALUE_ORDER: Final = (OrderKey("value"),)


@strawberry.type(description="A value that runs have for the key of a label.")
class LabelValue:
    """A value and how many runs have it."""

    value: str = strawberry.field(description="The value.")
    runs: int = strawberry.field(description="The number of runs that have the value, counted up to 10,000.")
    has_more: bool = strawberry.field(description="Whether more than 10,000 runs have the value.")

    @classmethod
    def from_model(cls, stored: stored_runs.LabelValue) -> Self:
        """Return the object of a counted value."""
        most = stored_runs.LABEL_CAP
        return cls(value=stored.value, runs=min(stored.runs, most), has_more=stored.runs > most)


@strawberry.input(description="A label.")
class LabelInput:
    """A key and a value."""

    key: str = strawberry.field(description="The key of the label.")
    value: str = strawberry.field(description="The value of the label.")

    def match(self) -> LabelMatch:
        """Return the engine's form.

        Raises:
            UserFacingError: it can be no label.
        """
        for fault in label_faults({self.key: self.value}, "label"):
            raise refused(str(fault))
        return LabelMatch(self.key, (self.value,))


@strawberry.type
class LabelQueries:
    """Queries of labels."""

    @resolved(size=Size(own=MAX_KEYS), requires=Role.VIEWER)
    async def label_keys(self, info: Info) -> list[str] | None:
        """The keys of the labels that runs have, in their order; the first 200."""
        return await info.context.database.read(stored_runs.label_keys, MAX_KEYS)

    @resolved(size=Size(("first",), default=DEFAULT_PAGE, most=MAX_PAGE, each=20), requires=Role.VIEWER)
    def label_values(
        self,
        info: Info,
        key: Annotated[str, strawberry.argument(description="The key of the label.")],
        *,
        first: FORWARDS = DEFAULT_PAGE,
        after: AFTER = None,
    ) -> Connection[LabelValue] | None:
        """The values that runs have for the key of a label, in alphabetical order, with the number of runs of each."""
        for fault in key_faults(key, "key"):
            raise refused(str(fault))
        request = PageArguments(first=first, after=after).bounded(VALUES, VALUE_ORDER, (str,))
        database = info.context.database

        async def page() -> Page[stored_runs.LabelValue]:
            behind = "" if request.after is None else str(request.after[0])[:MAX_VALUE]
            found = await database.read(stored_runs.label_values, key, behind, request.limit + 1)
            return page_of(request, [(one, (one.value,)) for one in found])

        async def count() -> Counted:
            return await database.read(stored_runs.count_label_values, key)

        return connect(VALUES, request, read=once(page), count=count, convert=LabelValue.from_model)


DAY: Final = timedelta(days=1)
SECONDS: Final = {StatisticsBucket.MINUTE: 60, StatisticsBucket.HOUR: 3600, StatisticsBucket.DAY: 86400}
MAX_POINTS: Final = 1_500
MAX_TASKS: Final = 2_000
MAX_COUNTED: Final = 10_001
MOST_COUNTED: Final = 50_000
"""Executions that a filter finds and that are counted over time."""

MOST_PLANNED: Final = 50_000
"""Occurrences that are computed for a planned load; of tasks with the same schedule, they count once."""
NAMES_OF_POINT: Final = 5

PLAN: Final = "upcoming"
PLAN_ORDER: Final = (OrderKey("effective_at"), OrderKey("task_id"))
PLAN_KINDS: Final = (datetime, int)

TO_NOW = Annotated[datetime | None, strawberry.argument(description="The end, not included; now unless given.")]
A_DAY_BEFORE = Annotated[
    datetime | None,
    strawberry.argument(name="from", description="The beginning; a day before the end unless given."),
]
FROM_NOW = Annotated[datetime | None, strawberry.argument(name="from", description="The beginning; now unless given.")]
A_DAY_LATER = Annotated[
    datetime | None, strawberry.argument(description="The end, not included; a day later unless given.")
]


class Plan:
    """The planned occurrences of a span, a page at a time.

    Args:
        start: The beginning of the span.
        end: Its end, not included.
        apart: How far occurrences of a task are from each other at least; None = all of them.
    """

    def __init__(
        self,
        info: Info,
        start: datetime,
        end: datetime,
        request: PageRequest,
        criteria: Criteria = EVERYTHING,
        *,
        apart: timedelta | None = None,
    ) -> None:
        self._info = info
        self._start = start
        self._end = end
        self._request = request
        self._criteria = criteria
        self._apart = apart

    async def page(self) -> Page[PlannedOccurrence]:
        """Return up to ``limit`` occurrences after the cursor."""
        found = await self._find(self._request.limit + 1)
        kept = found[: self._request.limit]
        loaded = await self._info.context.loaders.tasks.load_many([one.task_id for one in kept])
        known = {task.id: Task.from_model(task) for task in loaded if task is not None}
        shown = [one for one in kept if one.task_id in known]
        return Page(
            items=tuple(
                PlannedOccurrence(
                    task=known[one.task_id], scheduled_for=one.scheduled_for, effective_at=one.effective_at
                )
                for one in shown
            ),
            positions=tuple((one.effective_at, one.task_id) for one in shown),
            has_next=len(found) > len(kept),
            has_previous=self._request.after is not None,
        )

    async def count(self) -> Counted:
        """Return how many there are in the span, up to the cap."""
        tasks = await self._tasks(self._start, MAX_COUNTED)
        number = await briefly_in_thread(lambda: sum(1 for _ in islice(self._planned(tasks, self._start), MAX_COUNTED)))
        return capped(number)

    async def load(self, width: timedelta) -> PlannedLoad:
        """Return how many tasks are due in each stretch of the span."""
        tasks = await self._tasks(self._start, MAX_TASKS)
        until, points = await briefly_in_thread(
            planned_load, tasks, self._start, self._end, width, MOST_PLANNED, NAMES_OF_POINT
        )
        shown = [PlannedLoadPoint(at=one.at, tasks=one.tasks, names=list(one.names)) for one in points]
        return PlannedLoad(ends_at=until, points=shown)

    async def _find(self, wanted: int) -> list[Planned]:
        after = self._request.after
        if after is None:
            tasks = await self._tasks(self._start, wanted)
            return await briefly_in_thread(lambda: list(islice(self._planned(tasks, self._start), wanted)))
        at, last_task = after
        assert isinstance(at, datetime), "the order begins with a time"
        assert isinstance(last_task, int), "and ends with a key"
        start = max(at, self._start)
        # Further tasks may be due at the very time of the cursor, and are behind us already.
        tasks = await self._tasks(start, wanted + MAX_TASKS)
        beyond = (one for one in self._planned(tasks, start) if (one.effective_at, one.task_id) > (at, last_task))
        return await briefly_in_thread(lambda: list(islice(beyond, wanted)))

    def _planned(self, tasks: Iterable[model.Task], start: datetime) -> Iterator[Planned]:
        return planned(tasks, start, self._end, self._apart)

    async def _tasks(self, start: datetime, wanted: int) -> Iterable[model.Task]:
        loaders, criteria = self._info.context.loaders, self._criteria
        criteria = await loaders.judged(criteria)
        database = self._info.context.database
        found = await database.read(figures.planned, start, self._end, wanted, MAX_TASKS, criteria)
        return list(loaders.without_unreadable(found))


def _apart(seconds: float | None) -> timedelta | None:
    """Return the minimum distance between occurrences."""
    if seconds is None:
        return None
    most = DAY.total_seconds()
    if not 1 <= seconds <= most:
        raise refused(f"apart: must be from 1 to {most:.0f} seconds, got {seconds:g}")
    return timedelta(seconds=seconds)


@strawberry.type
class ReportQueries:
    """Queries of computed figures."""

    @resolved(size=TIMES, requires=Role.VIEWER)
    async def validate_schedule(
        self,
        info: Info,
        schedule: Annotated[ScheduleInput, strawberry.argument(description="The schedule.")],
        count: COUNT = 5,
        from_: Annotated[
            datetime | None,
            strawberry.argument(name="from", description="Times strictly after this; now unless given."),
        ] = None,
    ) -> ScheduleValidation | None:
        """Judges a schedule: whether it is valid, its faults, and when it fires next."""
        wanted = checked_count(count)
        after = from_ or await info.context.now()
        judged = await briefly_in_thread(
            validate, schedule.syntax, schedule.value, schedule.timezone, count=wanted, after=after
        )
        return ScheduleValidation.from_model(judged)

    @resolved(requires=Role.VIEWER)
    def viewer(self, info: Info) -> Viewer | None:
        """The account that asks, and its rights."""
        return Viewer.from_person(info.context.person)

    @resolved(
        description="An event cursor from before anything of this answer was read: subscribe to `events(after:)` with "
        "it, and nothing falls between.",
        requires=Role.VIEWER,
    )
    async def as_of(self, info: Info) -> str | None:
        """The cursor taken by ``EventCursor`` before the operation began."""
        return info.context.as_of or str(await info.context.bus.cursor())

    @resolved(requires=Role.VIEWER)
    async def server_time(self, info: Info) -> datetime | None:
        """The server's time, by which everything is due."""
        return await info.context.now()

    @resolved(
        description="The next occurrences of all enabled tasks in a span of time, earliest first, at most 200 at a "
        "time.",
        size=Size(("first",), default=DEFAULT_PAGE, most=MAX_PAGE, each=3, own=8_000),
        requires=Role.VIEWER,
    )
    async def upcoming(
        self,
        info: Info,
        *,
        from_: FROM_NOW = None,
        to: A_DAY_LATER = None,
        apart: Annotated[
            Duration | None,
            strawberry.argument(
                description="Show at most one occurrence of each task in this time, 1 second to a day; all unless "
                "given. A task that is due every second does not push all others off the page then."
            ),
        ] = None,
        first: FORWARDS = DEFAULT_PAGE,
        after: AFTER = None,
        filter: Annotated[TaskFilter | None, strawberry.argument(description="A filter of the tasks.")] = None,
    ) -> Connection[PlannedOccurrence] | None:
        """Planned occurrences."""
        start = from_ or await info.context.now()
        end = to or start + DAY
        request = PageArguments(first=first, after=after).bounded(PLAN, PLAN_ORDER, PLAN_KINDS)
        plan = Plan(info, start, end, request, criteria_of_list(info, filter), apart=_apart(apart))
        return connect(PLAN, request, read=plan.page, count=plan.count, convert=lambda one: one)

    @resolved(
        description="The number of enabled tasks that are due in each stretch of a span of time. Of more than 2,000 "
        "tasks those that are due first are counted.",
        size=Size(own=8_000),
        requires=Role.VIEWER,
    )
    async def planned_load(
        self,
        info: Info,
        *,
        from_: FROM_NOW = None,
        to: A_DAY_LATER = None,
        bucket: Annotated[
            StatisticsBucket, strawberry.argument(description="The width of the stretches; at most 1,500 of them.")
        ] = StatisticsBucket.MINUTE,
        filter: Annotated[TaskFilter | None, strawberry.argument(description="A filter of the tasks.")] = None,
    ) -> PlannedLoad | None:
        """The planned load."""
        begin = from_ or await info.context.now()
        start, end = span(begin, to or begin + DAY, begin)
        width = timedelta(seconds=checked_width(bucket, start, end))
        request = PageArguments(first=1, after=None).bounded(PLAN, PLAN_ORDER, PLAN_KINDS)
        return await Plan(info, start, end, request, criteria_of_list(info, filter)).load(width)

    @resolved(size=Size(own=500), requires=Role.VIEWER)
    async def overview(self, info: Info) -> Overview | None:
        """The present state of the whole: counts, rates and health."""
        return Overview.from_report(await info.context.overview(parts_of(asked_of(info))))

    @resolved(
        description="Figures about the executions of a span of time, of all or of one job, task, group, node or label; "
        "or of several of these, see `estimated`.",
        size=Size(own=4_000),
        requires=Role.VIEWER,
    )
    async def statistics(
        self,
        info: Info,
        *,
        job_name: Annotated[str | None, strawberry.argument(description="Count only executions of this job.")] = None,
        task_name: Annotated[str | None, strawberry.argument(description="Show only this task.")] = None,
        group: Annotated[
            str | None, strawberry.argument(description="Count only executions of runs of this group.")
        ] = None,
        node: Annotated[str | None, strawberry.argument(description="Count only executions on this node.")] = None,
        label: Annotated[
            LabelInput | None, strawberry.argument(description="Count only executions of runs with this label.")
        ] = None,
        from_: A_DAY_BEFORE = None,
        to: TO_NOW = None,
        bucket: Annotated[
            StatisticsBucket, strawberry.argument(description="The width of the points; at most 1,500 of them.")
        ] = StatisticsBucket.HOUR,
    ) -> Statistics | None:
        """Figures in all and over time."""
        now = await info.context.now()
        start, end = span(from_, to, now)
        width = checked_width(bucket, start, end)
        scope = Scope(
            start,
            end,
            job_name=optional_text(job_name, "jobName"),
            task_name=optional_text(task_name, "taskName"),
            group=optional_text(group, "group"),
            node=optional_text(node, "node"),
            label=None if label is None else label.match(),
        )
        report = await info.context.database.read(reports.statistics, scope, width, now, _wanted(asked_of(info)))
        return Statistics.from_report(report, start, end)

    @resolved(
        description="Executions that match a filter, counted over time; of more than 50,000 the newest.",
        size=Size(own=2_000),
        requires=Role.VIEWER,
    )
    async def execution_counts(
        self,
        info: Info,
        filter: Annotated[
            ExecutionFilter | None, strawberry.argument(description="A filter of executions; all unless given.")
        ] = None,
        from_: A_DAY_BEFORE = None,
        to: TO_NOW = None,
        bucket: Annotated[
            StatisticsBucket, strawberry.argument(description="The width of the points; at most 1,500 of them.")
        ] = StatisticsBucket.HOUR,
    ) -> ExecutionCounts | None:
        """Counts over time."""
        start, end = span(from_, to, await info.context.now())
        width, criteria = checked_width(bucket, start, end), criteria_of_list(info, filter)
        points, begins_at = await info.context.database.read(
            figures.newest_counts, criteria, (start, end), width, MOST_COUNTED
        )
        shown = [ExecutionCount.from_model(point) for point in points]
        return ExecutionCounts(begins_at=begins_at, points=shown)

    @resolved(
        description="The depth of the queue over time, in all or of one job or group. One of the nodes counts once a "
        "minute; two days are kept. Minutes at which no node was up are left out. Of a queue with more "
        "than 200 pairs of job and group the largest are kept one by one, and the others are counted in all only.",
        size=Size(own=2_000),
        requires=Role.VIEWER,
    )
    async def queue_history(
        self,
        info: Info,
        job_name: Annotated[str | None, strawberry.argument(description="Count only executions of this job.")] = None,
        group: Annotated[str | None, strawberry.argument(description="Count only runs of this group.")] = None,
        from_: A_DAY_BEFORE = None,
        to: TO_NOW = None,
        bucket: Annotated[
            StatisticsBucket, strawberry.argument(description="The width of the points; at most 1,500 of them.")
        ] = StatisticsBucket.MINUTE,
    ) -> list[QueuePoint] | None:
        """The depth of the queue over time."""
        start, end = span(from_, to, await info.context.now())
        found = await info.context.database.read(
            depth.over_time,
            start,
            end,
            checked_width(bucket, start, end),
            job_name=optional_text(job_name, "jobName"),
            group=optional_text(group, "group"),
        )
        return [QueuePoint.from_model(point) for point in found]


def optional_text(value: str | None, argument: str) -> str | None:
    """Check a name that may be absent."""
    return None if value is None else checked_text(value, argument)


def _wanted(asked: frozenset[str]) -> reports.Wanted:
    """Return the figures to compute: percentiles read every execution, stalled tasks every task: only if selected."""
    return reports.Wanted(
        total=not asked.isdisjoint({"p50", "p95", "p99"}),
        points=not asked.isdisjoint({"points.p50", "points.p95"}),
        lateness=not asked.isdisjoint({"latenessP50", "latenessP95", "latenessP99"}),
        stalled="stalled" in asked,
    )


def checked_width(bucket: StatisticsBucket, start: datetime, end: datetime) -> int:
    """Return the seconds of a bucket.

    Raises:
        UserFacingError: the span has too many of them.
    """
    width = SECONDS[bucket]
    if (end - start).total_seconds() / width > MAX_POINTS:
        raise refused(
            f"bucket: {bucket.name} from {time_text(start)} to {time_text(end)} makes more than {MAX_POINTS:,} "
            "points; choose a wider bucket or a shorter span"
        )
    return width


def span(start: datetime | None, end: datetime | None, now: datetime) -> tuple[datetime, datetime]:
    """Return the span asked for: the last day unless said otherwise.

    Raises:
        UserFacingError: it ends before it begins.
    """
    until = end or now
    since = start or until - DAY
    if until < since:
        raise refused(f"to: must not be before from ({time_text(since)}), got {time_text(until)}")
    return since, until


MAX_ROWS: Final = 100
MAX_PARTS: Final = 240
LONGEST: Final = timedelta(days=31)
WIDTHS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)
"""Seconds that a part of the span may be wide."""


def width_of(seconds: float, parts: int) -> int:
    """Return the least width by which a span of so many seconds has at most so many parts."""
    return next((width for width in WIDTHS if seconds <= width * parts), WIDTHS[-1])


@strawberry.type
class TimelineQueries:
    """The timeline."""

    @resolved(
        description="The executions and skips in a span of time of up to 31 days, small enough to be drawn: "
        "executions that began in the same part of the span are one bar. `upcoming` has the planned occurrences.",
        size=Size(("first",), default=50, most=MAX_ROWS, each=40, own=1_000),
        requires=Role.VIEWER,
        unstable=True,
    )
    async def timeline(
        self,
        info: Info,
        from_: A_DAY_BEFORE = None,
        to: TO_NOW = None,
        task_name: Annotated[str | None, strawberry.argument(description="Show only this task.")] = None,
        first: Annotated[int, strawberry.argument(description="At most so many rows, 1 to 100.")] = 50,
        parts: Annotated[int, strawberry.argument(description="At most about so many bars of a row, 1 to 240.")] = 120,
    ) -> Timeline | None:
        """The timeline of a span."""
        checked_range(first, "first", 1, MAX_ROWS)
        checked_range(parts, "parts", 1, MAX_PARTS)
        name = None if task_name is None else checked_text(task_name, "taskName")
        now = await info.context.now()
        start, end = span(from_, to, now)
        if end - start > LONGEST:
            raise refused(f"from: must be at most {LONGEST.days} days before to, got {(end - start).days} days")
        width = width_of((end - start).total_seconds(), parts)
        scope = Scope(start, end, task_name=name)
        return Timeline.from_model(await info.context.database.read(stored.read, scope, width, first, now))
