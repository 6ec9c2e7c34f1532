"""Figures that belong together, each report read from one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from ...core.states import UNFINISHED, RunState
from ..db.words import words
from ..read import hours
from ..schema.tables import HourKind, run
from .hours import Tally
from .nodes import live
from .scope import Scope
from .statistics import NOTHING, Figures, Point, completed_per_minute, counts, lateness, points, stalled, totals

DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
MINUTES = 60
"""How many minutes the overview's rate goes back."""
SAMPLE = 10_000
"""So many executions say where percentiles lie as well as all: the rank of the 99th is right to 0.1 in 100."""


@dataclass(frozen=True, slots=True)
class Overview:
    """How things are at ``at``.

    Attributes:
        at: The time of the report.
        states: Unfinished runs by state.
        failed: Executions of the last 24 hours that failed, timed out or were lost.
        failed_before: The same of the 24 hours before these.
        succeeded: Executions of the last 24 hours that succeeded.
        per_minute: How many executions ended in each of the last 60 whole minutes, oldest first.
        stalled: Tasks that should have started and did not.
        live_nodes: Nodes that are up.
        slots: Their slots together.
    """

    at: datetime
    states: dict[RunState, int]
    failed: int
    failed_before: int
    succeeded: int
    per_minute: tuple[int, ...]
    stalled: int
    live_nodes: int
    slots: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the statistics costs a look at every execution: the percentiles of everything, and of each point."""

    total: bool = True
    points: bool = True
    lateness: bool = True


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures of a scope: durations in all, over time, lateness, and how many of its tasks are stalled."""

    total: Figures
    points: tuple[Point, ...]
    lateness: Figures
    stalled: int


def overview(conn: Connection, now: datetime) -> Overview:
    """The state of the queue, and what became of the last day."""
    day, day_before = hours.total(conn, now - DAY, now + TICK), hours.total(conn, now - 2 * DAY, now - DAY)
    minute = now.replace(second=0, microsecond=0)
    start = minute - timedelta(minutes=MINUTES)
    ended = completed_per_minute(conn, start, minute)
    nodes = live(conn)
    return Overview(
        at=now,
        states=_states(conn),
        failed=day.failures,
        failed_before=day_before.failures,
        succeeded=day.successes,
        per_minute=tuple(ended.get(start + timedelta(minutes=one), 0) for one in range(MINUTES)),
        stalled=len(stalled(conn, now)),
        live_nodes=len(nodes),
        slots=sum(node.slots for node in nodes),
    )


def _states(conn: Connection) -> dict[RunState, int]:
    statement = select(run.c.state, func.count()).where(run.c.state.in_(words(UNFINISHED))).group_by(run.c.state)
    return {RunState(state): count for state, count in conn.execute(statement)}


def statistics(conn: Connection, scope: Scope, seconds: int, now: datetime, wanted: Wanted = Wanted()) -> Statistics:
    """The figures of a scope, in all and per bucket of ``seconds``; percentiles that are not wanted are None.

    Everything is counted; percentiles of more than ``SAMPLE`` executions are those of an even sample of about so many.
    """
    counted = _tallied(conn, scope, seconds) if is_tallied(scope) else counts(conn, scope, seconds)
    total = _sum(counted)
    sample = replace(scope, every=max(1, round(total.count / SAMPLE)))
    if wanted.points:
        found = {point.at: point.figures for point in points(conn, sample, seconds)}
        counted = [Point(point.at, _judged(point.figures, found.get(point.at, NOTHING))) for point in counted]
    return Statistics(
        total=_judged(total, totals(conn, sample)) if wanted.total else total,
        points=tuple(counted),
        lateness=lateness(conn, sample) if wanted.lateness else NOTHING,
        stalled=len(stalled(conn, now, job_name=scope.job_name, task_name=scope.task_name, group=scope.group)),
    )


def _judged(counted: Figures, sampled: Figures) -> Figures:
    return replace(counted, p50=sampled.p50, p95=sampled.p95, p99=sampled.p99)


def is_tallied(scope: Scope) -> bool:
    """Whether whole hours of the scope were counted ahead: they are of everything, of one job, or of one task."""
    named = [one for one in (scope.job_name, scope.task_name, scope.group, scope.node) if one is not None]
    return not named or (len(named) == 1 and scope.group is None and scope.node is None)


def _tallied(conn: Connection, scope: Scope, seconds: int) -> list[Point]:
    of = (HourKind.ALL, "")
    if scope.job_name is not None:
        of = (HourKind.JOB, scope.job_name)
    elif scope.task_name is not None:
        of = (HourKind.TASK, scope.task_name)
    found = hours.tallies(conn, scope.start, scope.end, seconds, of)
    return [Point(at, _figures(tally)) for at, tally in sorted(found.items())]


def _figures(tally: Tally) -> Figures:
    return Figures(tally.executions, tally.failures, tally.records, None, None, None)


def _sum(counted: Sequence[Point]) -> Figures:
    figures = [point.figures for point in counted]
    return Figures(
        sum(one.count for one in figures),
        sum(one.failures for one in figures),
        sum(one.records for one in figures),
        None,
        None,
        None,
    )
