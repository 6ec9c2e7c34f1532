"""Figures that belong together, each report read from one snapshot."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from sqlalchemy import Connection, func, select

from ....core.nodes import TAKING_NODES
from ....core.states import RunState
from ...schema.tables import AMONG_ALL_RUNS, IS_OPEN, run
from ..listing.criteria import Spread
from ..nodes import live
from ..runs import label_spreads
from . import hours
from .depth import stalled
from .failures import known_failures, unknown_errors
from .hours import DAY, HOUR, MINUTE, NONE, Tally, ended, of_two_days
from .scope import Scope
from .statistics import Figures, Percentiles, Point, Series, counts, percentiles, scaled

MINUTES = 60
"""Number of minutes that the overview's rate goes back."""
SAMPLE = 10_000
"""So many executions say where percentiles lie as well as all: the rank of the 99th is right to 0.1 in 100."""
EXAMINED = 50_000
"""So many are looked at for conditions that no index serves: of a rare group or node the sample is small."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Describe the product's state at ``at``.

    Attributes:
        at: The time of the report.
        states: Unfinished runs by state.
        failed: Executions of the last 24 hours, to the minute, that failed, timed out or were lost.
        unknown: Those of them with errors that people do not know of.
        errors: How many errors that people do not know of runs without a task have had within the last hour.
        failing_jobs: How many jobs have them.
        failed_before: Executions of the 24 hours before these that failed, timed out or were lost.
        succeeded: Executions of the last 24 hours that succeeded.
        per_minute: How many executions ended in each of the last 60 whole minutes, oldest first.
        stalled: Tasks that should have started and did not.
        live_nodes: Nodes that are up.
        draining_nodes: Those of them that take nothing new, because they are about to end.
        slots: Their slots together.
    """

    at: datetime
    states: dict[RunState, int]
    failed: int
    unknown: int
    errors: int
    failing_jobs: int
    failed_before: int
    succeeded: int
    per_minute: tuple[int, ...]
    stalled: int
    live_nodes: int
    draining_nodes: int
    slots: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Name the statistics that cost a look at every execution, or at every task.

    Attributes:
        total: The percentiles of everything.
        stalled: How many tasks are stalled.
    """

    total: bool = True
    points: bool = True
    lateness: bool = True
    stalled: bool = True


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures of a scope: durations in all, over time, lateness, and how many of its tasks are stalled.

    With ``estimated`` the counts are those of an even sample, scaled up. Unwanted parts are None.
    """

    total: Figures
    points: tuple[Point, ...]
    lateness: Percentiles
    stalled: int | None
    estimated: bool


class Part(Enum):
    """Name a part of an overview; each costs a statement or two."""

    QUEUE = "queue"
    DAY = "day"
    UNKNOWN = "unknown"
    ERRORS = "errors"
    DAY_BEFORE = "day before"
    RATE = "rate"
    STALLED = "stalled"
    NODES = "nodes"


EVERYTHING = frozenset(Part)


def overview(conn: Connection, now: datetime, wanted: AbstractSet[Part] = EVERYTHING) -> Overview:
    """Return the state of the queue, and the results of the last day.

    Args:
        wanted: Which parts; the others are 0 and empty.
    """
    minute = now.replace(second=0, microsecond=0)
    day, next_minute = minute - DAY, minute + MINUTE
    start = minute - MINUTES * MINUTE
    earlier = ends = NONE
    if wanted & {Part.DAY, Part.UNKNOWN, Part.DAY_BEFORE}:
        begin = day - DAY if Part.DAY_BEFORE in wanted else day
        earlier, ends = of_two_days(conn, begin, day, next_minute)
    known = known_failures(conn, Scope(day, next_minute), now) if Part.UNKNOWN in wanted and ends.failures else 0
    errors = unknown_errors(conn, Scope(now - HOUR, next_minute), now) if Part.ERRORS in wanted else []
    rate: Mapping[datetime, int] = ended(conn, start, minute) if Part.RATE in wanted else {}
    nodes = live(conn) if Part.NODES in wanted else []
    return Overview(
        at=now,
        states=_states(conn) if Part.QUEUE in wanted else {},
        failed=ends.failures,
        unknown=max(0, ends.failures - known) if Part.UNKNOWN in wanted else 0,
        errors=len(errors),
        failing_jobs=len({error.job_name for error in errors}),
        failed_before=earlier.failures,
        succeeded=ends.successes,
        per_minute=tuple(rate.get(start + one * MINUTE, 0) for one in range(MINUTES)),
        stalled=len(stalled(conn, now)) if Part.STALLED in wanted else 0,
        live_nodes=len(nodes),
        draining_nodes=sum(node.state not in TAKING_NODES for node in nodes),
        slots=sum(node.slots for node in nodes),
    )


def _states(conn: Connection) -> dict[RunState, int]:
    statement = select(run.c.state, func.count()).where(IS_OPEN, AMONG_ALL_RUNS).group_by(run.c.state)
    return {RunState(state): count for state, count in conn.execute(statement)}


def statistics(
    conn: Connection,
    scope: Scope,
    seconds: int,
    now: datetime,
    wanted: Wanted = Wanted(),
    *,
    examined: int = EXAMINED,
) -> Statistics:
    """Return the figures of a scope, in all and per bucket of ``seconds``; unwanted parts are None.

    Everything is counted; percentiles of more than ``SAMPLE`` executions are those of an even sample of about so many,
    or of fewer where more than ``examined`` would have to be looked at. A thing with several names is searched for
    among so many, too.
    """
    if scope.label is not None:
        scope = replace(scope, label=replace(scope.label, spread=label_spreads(conn, [scope.label])[scope.label]))
    among = _found(scope)
    whole = _counted(conn, among, seconds)
    sampled = max(1, round(_sum(whole).count / examined)) if among != scope else 1
    is_estimated = sampled > 1 and hours.kind_of(scope) is None
    counted = whole if among == scope else _counted(conn, scope, seconds, sampled)
    total = _sum(counted)
    series = {Series.TOTAL: wanted.total, Series.POINTS: wanted.points, Series.LATENESS: wanted.lateness}
    chosen = [one for one, is_wanted in series.items() if is_wanted]
    every = max(sampled, round(total.count / SAMPLE))
    found = percentiles(conn, replace(scope, every=every), seconds, chosen)

    def judged(figures: Figures, of: Series, at: datetime | None = None) -> Figures:
        parts = found.get((of, 0 if at is None else int(at.timestamp())), Percentiles())
        return replace(figures, p50=parts.p50, p95=parts.p95, p99=parts.p99)

    return Statistics(
        total=judged(total, Series.TOTAL),
        points=tuple(Point(point.at, judged(point.figures, Series.POINTS, point.at)) for point in counted),
        lateness=found.get((Series.LATENESS, 0), Percentiles()),
        stalled=_stalled(conn, scope, now) if wanted.stalled else None,
        estimated=is_estimated,
    )


def _stalled(conn: Connection, scope: Scope, now: datetime) -> int:
    return len(stalled(conn, now, job_name=scope.job_name, task_name=scope.task_name, group=scope.group))


def _found(scope: Scope) -> Scope:
    """Return the rows an index finds: a group, a node, a common label, or a task of a job is sought among them."""
    rare = scope.label if scope.label is not None and scope.label.spread is Spread.FEW else None
    task_name = None if scope.job_name is not None else scope.task_name
    return replace(scope, group=None, node=None, label=rare, task_name=task_name)


def _counted(conn: Connection, scope: Scope, seconds: int, every: int = 1) -> list[Point]:
    """Return a scope's points from the counted hours or, with several names, from one of ``every`` executions."""
    of = hours.kind_of(scope)
    if of is None:
        return [scaled(point, every) for point in counts(conn, replace(scope, every=every), seconds)]
    tallies = hours.tallies(conn, scope.start, scope.end, seconds, of)
    return [Point(at, _figures(tally)) for at, tally in sorted(tallies.items())]


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
