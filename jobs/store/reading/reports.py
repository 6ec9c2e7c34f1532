"""Figures that belong together, each report read from one snapshot."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from ...core.model import FAILURES, Outcome
from ...core.states import UNFINISHED, RunState
from ..nodes import live
from ..runs import values_of
from ..statistics import (
    Figures,
    Point,
    Scope,
    completed_per_minute,
    lateness,
    outcomes_since,
    points,
    stalled,
    totals,
)
from ..tables import run

DAY = timedelta(days=1)
MINUTES = 60
"""How many minutes the overview's rate goes back."""


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
class Statistics:
    """Figures of a scope: durations in all, over time, lateness, and how many of its tasks are stalled."""

    total: Figures
    points: tuple[Point, ...]
    lateness: Figures
    stalled: int


def overview(conn: Connection, now: datetime) -> Overview:
    """The state of the queue, and what became of the last day."""
    outcomes = outcomes_since(conn, now - 2 * DAY, now - DAY)
    minute = now.replace(second=0, microsecond=0)
    start = minute - timedelta(minutes=MINUTES)
    ended = completed_per_minute(conn, start, minute)
    nodes = live(conn)
    return Overview(
        at=now,
        states=_states(conn),
        failed=sum(outcomes.get((outcome, True), 0) for outcome in FAILURES),
        failed_before=sum(outcomes.get((outcome, False), 0) for outcome in FAILURES),
        succeeded=outcomes.get((Outcome.SUCCESS, True), 0),
        per_minute=tuple(ended.get(start + timedelta(minutes=one), 0) for one in range(MINUTES)),
        stalled=stalled(conn, now),
        live_nodes=len(nodes),
        slots=sum(node.slots for node in nodes),
    )


def _states(conn: Connection) -> dict[RunState, int]:
    statement = select(run.c.state, func.count()).where(run.c.state.in_(values_of(UNFINISHED))).group_by(run.c.state)
    return {RunState(state): count for state, count in conn.execute(statement)}


def statistics(conn: Connection, scope: Scope, seconds: int, now: datetime) -> Statistics:
    """The figures of a scope, in all and per bucket of ``seconds``."""
    return Statistics(
        total=totals(conn, scope),
        points=tuple(points(conn, scope, seconds)),
        lateness=lateness(conn, scope),
        stalled=stalled(conn, now, job_name=scope.job_name, task_name=scope.task_name),
    )
