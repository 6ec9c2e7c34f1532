"""The facts behind an explanation, for many tasks or runs with a fixed number of statements."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, func, literal, or_, select

from ..core.explain import RunFacts, TaskFacts
from ..core.model import Group, Node, NodeState, Run, Task
from ..core.states import CLAIMABLE, OCCUPYING, UNFINISHED, RunState
from . import claims, groups, jobs, nodes, skipped
from .runs import run_from, select_runs, values_of
from .tables import job as j
from .tables import run as r

COUNTED = 1000
"""The place in the queue is counted up to this."""
_SHOWN = 20


def task_facts(conn: Connection, tasks: Sequence[Task]) -> dict[int, TaskFacts]:
    """The facts about these tasks, by id."""
    ids = [task.id for task in tasks]
    if not ids:
        return {}
    unfinished = _unfinished(conn, ids)
    skips = skipped.newest_of_tasks(conn, ids)
    known = jobs.known(conn, {task.spec.job_name for task in tasks})
    live = _serving(conn)
    return {
        task.id: TaskFacts(
            job_known=task.spec.job_name in known,
            nodes=tuple(node.name for node in live if task.spec.job_name in node.jobs),
            unfinished=tuple(unfinished.get(task.id, ())),
            newest_skip=skips.get(task.id),
        )
        for task in tasks
    }


def _unfinished(conn: Connection, task_ids: Sequence[int]) -> dict[int, list[Run]]:
    place = func.row_number().over(partition_by=r.c.task_id, order_by=r.c.id).label("place")
    numbered = (
        select(r.c.id, place)
        .where(r.c.task_id.in_(task_ids), r.c.state.in_(values_of(UNFINISHED)))
        .subquery("numbered")
    )
    statement = select_runs().join(numbered, and_(numbered.c.id == r.c.id, numbered.c.place <= _SHOWN)).order_by(r.c.id)
    found: dict[int, list[Run]] = {}
    for row in conn.execute(statement):
        found.setdefault(row.task_id, []).append(run_from(row))
    return found


def _serving(conn: Connection) -> list[Node]:
    return [node for node in nodes.live(conn) if node.state is not NodeState.DRAINING]


def run_facts(conn: Connection, runs: Sequence[Run], now: datetime) -> dict[int, RunFacts]:
    """The facts about these runs, by id."""
    if not runs:
        return {}
    names = sorted({run.group for run in runs})
    settings, occupied = groups.settings(conn), claims.occupied_counts(conn, names)
    isolations = _isolations(conn, sorted({run.job_name for run in runs}))
    blockers = _blockers(conn, sorted({run.task_id for run in runs if run.task_id is not None and run.exclusive}))
    ahead = _ahead(conn, [run.id for run in runs if run.state in CLAIMABLE], now)
    live = _serving(conn)
    return {
        run.id: _facts_of(
            run,
            live,
            isolations=isolations,
            group=settings.get(run.group),
            occupied=occupied.get(run.group, 0),
            blockers=blockers,
            ahead=ahead,
        )
        for run in runs
    }


def _facts_of(
    run: Run,
    live: Sequence[Node],
    *,
    isolations: dict[str, str],
    group: Group | None,
    occupied: int,
    blockers: dict[int, int],
    ahead: dict[int, int],
) -> RunFacts:
    able = [node for node in live if run.job_name in node.jobs]
    blocker = blockers.get(run.task_id or 0) if run.exclusive else None
    return RunFacts(
        job_known=run.job_name in isolations,
        isolation=isolations.get(run.job_name),
        nodes=tuple(node.name for node in able),
        group=group or Group(run.group),
        group_occupied=occupied,
        blocked_by=None if blocker == run.id else blocker,
        ahead=ahead.get(run.id, 0),
        free_slots=sum(max(0, node.slots - node.running) for node in able),
    )


def _isolations(conn: Connection, names: Sequence[str]) -> dict[str, str]:
    return {key: value for key, value in conn.execute(select(j.c.name, j.c.isolation).where(j.c.name.in_(names)))}


def _blockers(conn: Connection, task_ids: Sequence[int]) -> dict[int, int]:
    """The run that holds the only place of each of these tasks."""
    if not task_ids:
        return {}
    statement = select(r.c.task_id, r.c.id).where(
        r.c.task_id.in_(task_ids), r.c.exclusive, r.c.state.in_(values_of(OCCUPYING))
    )
    return {key: value for key, value in conn.execute(statement)}


def _ahead(conn: Connection, ids: Sequence[int], now: datetime) -> dict[int, int]:
    """How many due runs of the same group and lane come before each of these, counted up to ``COUNTED``."""
    if not ids:
        return {}
    mine, other = r.alias("mine"), r.alias("other")
    earlier = or_(
        other.c.available_at < mine.c.available_at,
        and_(other.c.available_at == mine.c.available_at, other.c.id < mine.c.id),
    )
    same_lane = and_(other.c.state == RunState.WAITING.value, other.c.priority == mine.c.priority)
    before = (
        select(literal(1))
        .where(
            other.c.group_name == mine.c.group_name,
            other.c.state.in_(values_of(CLAIMABLE)),
            other.c.available_at <= now,
            or_(other.c.state == RunState.STUCK.value, same_lane),
            earlier,
        )
        .correlate(mine)
        .limit(COUNTED)
        .subquery()
    )
    count = select(func.count()).select_from(before).scalar_subquery()
    statement = select(mine.c.id, count).where(mine.c.id.in_(ids))
    return {key: value for key, value in conn.execute(statement)}
