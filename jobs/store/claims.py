"""Statements of the claim: what a node could take, taking it, and starting it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, null, select, text, update

from ..core.fairness import Candidate
from ..core.model import Priority, Run
from ..core.states import CLAIMABLE, OCCUPYING, RunState
from . import dialect
from .runs import run_from, select_runs, values_of
from .tables import job_execution as e
from .tables import queue_group as g
from .tables import quoted
from .tables import run as r

# A task's exclusive runs never occupy two slots; what would be a second one is no candidate.
_FREE = f"""(NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
    SELECT 1 FROM run b WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ({quoted(OCCUPYING)})))"""
# The general condition is repeated beside the special one so that SQLite sees that its partial index applies.
_CLAIMABLE = f"state IN ({quoted(CLAIMABLE)})"


def _lane(condition: str, jobs: str) -> str:
    return f"""SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, r.available_at
        FROM run r WHERE r.{_CLAIMABLE} AND {condition} AND {jobs} AND {_FREE}
        ORDER BY r.available_at, r.id LIMIT :depth"""


def _lanes(group: str, jobs: str) -> list[str]:
    """Per group: due stuck runs (strictly after their time), then waiting ones by priority, first in, first out."""
    waiting = f"r.state = 'waiting' AND r.group_name = {group} AND r.available_at <= :now"
    return [
        _lane(f"r.state = 'stuck' AND r.group_name = {group} AND r.available_at < :now", jobs),
        _lane(f"{waiting} AND r.priority = 'high'", jobs),
        _lane(f"{waiting} AND r.priority = 'low'", jobs),
    ]


_NEXT_GROUP = f"SELECT min(group_name) FROM run WHERE {_CLAIMABLE} AND group_name > "

# Groups with something pending, in order, by jumping along the index; LIMIT stops the jumping early.
_POSTGRES = f"""
WITH RECURSIVE pending(name) AS (
    {_NEXT_GROUP} :after
    UNION ALL
    SELECT ({_NEXT_GROUP} p.name) FROM pending p WHERE p.name IS NOT NULL
)
SELECT c.* FROM pending p
LEFT JOIN queue_group q ON q.name = p.name
CROSS JOIN LATERAL ({" UNION ALL ".join(f"({lane})" for lane in _lanes("p.name", "r.job_name = ANY(:jobs)"))}) c
WHERE p.name IS NOT NULL AND q.paused_at IS NULL AND (CAST(:last AS text) IS NULL OR p.name <= :last)
LIMIT :rows
"""
_SQLITE_LANES = [text(lane) for lane in _lanes(":group", "r.job_name IN (SELECT value FROM json_each(:jobs))")]
_SQLITE_NEXT = text(f"{_NEXT_GROUP} :after")


@dataclass(frozen=True, slots=True)
class Want:
    """What a node asks for: the time, the jobs it can run, and how deep to look into each lane."""

    now: datetime
    jobs: Sequence[str]
    depth: int


_Find = Callable[[Connection, Want, str, str | None], list[Candidate]]


def candidates(conn: Connection, want: Want, after: str | None) -> list[Candidate]:
    """What could be taken now, of the groups after ``after`` first, then wrapping to the start.

    Enough groups and lanes are read that ``core.fairness.take`` of ``want.depth`` runs sees all that matter to it.
    """
    find: _Find = _from_postgres if dialect.is_postgresql(conn) else _from_sqlite
    found = find(conn, want, after or "", None)
    if after and len({candidate.group for candidate in found}) < want.depth:
        found += find(conn, want, "", after)
    return found


def _from_postgres(conn: Connection, want: Want, after: str, last: str | None) -> list[Candidate]:
    parameters = {
        "after": after,
        "last": last,
        "now": want.now,
        "jobs": list(want.jobs),
        "depth": want.depth,
        # A lane holds at most ``depth`` rows, so this many rows are at least ``depth`` whole groups.
        "rows": 3 * want.depth * want.depth,
    }
    return [_candidate(row) for row in conn.execute(text(_POSTGRES), parameters)]


def _from_sqlite(conn: Connection, want: Want, after: str, last: str | None) -> list[Candidate]:
    base = {"now": dialect.bound_time(want.now), "jobs": dialect.bound_list(want.jobs), "depth": want.depth}
    found: list[Candidate] = []
    groups = 0
    paused = paused_groups(conn)
    while groups < want.depth:
        group: str | None = conn.execute(_SQLITE_NEXT, {"after": after}).scalar_one()
        if group is None or (last is not None and group > last):
            break
        after = group
        if group in paused:
            continue
        rows = [row for lane in _SQLITE_LANES for row in conn.execute(lane, {**base, "group": group})]
        groups += 1 if rows else 0
        found += [_candidate(row) for row in rows]
    return found


def _candidate(row: Any) -> Candidate:
    return Candidate(
        run_id=row.id,
        group=row.group_name,
        priority=Priority(row.priority),
        stuck=row.state == RunState.STUCK.value,
        blocks=row.task_id if row.exclusive else None,
    )


def paused_groups(conn: Connection) -> set[str]:
    """The names of all paused groups."""
    return set(conn.execute(select(g.c.name).where(g.c.paused_at.is_not(None))).scalars())


def free_capacities(conn: Connection, groups: Sequence[str]) -> dict[str, int]:
    """For those of ``groups`` that have a limit: how many more may occupy a slot now. Locks these groups' rows."""
    limits = lock_limits(conn, groups)
    if not limits:
        return {}
    used = occupied_counts(conn, list(limits))
    return {name: max(0, limit - used.get(name, 0)) for name, limit in limits.items()}


def lock_limits(conn: Connection, groups: Sequence[str]) -> dict[str, int]:
    """The limits of those of ``groups`` that have one, locked so that two nodes never fill the same place."""
    statement = (
        select(g.c.name, g.c.max_running)
        .where(g.c.name.in_(groups), g.c.max_running.is_not(None))
        .order_by(g.c.name)
        .with_for_update()
    )
    return {key: value for key, value in conn.execute(statement)}


def occupied_counts(conn: Connection, groups: Sequence[str]) -> dict[str, int]:
    """How many runs of these groups are scheduled or running, on all nodes."""
    statement = (
        select(r.c.group_name, func.count())
        .where(r.c.group_name.in_(groups), r.c.state.in_(values_of(OCCUPYING)))
        .group_by(r.c.group_name)
    )
    return {key: value for key, value in conn.execute(statement)}


def lock_claimable(conn: Connection, ids: Sequence[int]) -> dict[int, Run]:
    """Those of these runs that nobody else is taking, locked until the commit."""
    statement = (
        select_runs()
        .where(r.c.id.in_(ids), r.c.state.in_(values_of(CLAIMABLE)))
        .with_for_update(of=r, skip_locked=True)
    )
    return {row.id: run_from(row) for row in conn.execute(statement)}


def lock_scheduled(conn: Connection, ids: Sequence[int], node_id: int) -> dict[int, Run]:
    """Those of these runs that are still handed to this node, locked until the commit."""
    statement = (
        select_runs()
        .where(r.c.id.in_(ids), r.c.state == RunState.SCHEDULED.value, r.c.node_id == node_id)
        .with_for_update(of=r)
    )
    return {row.id: run_from(row) for row in conn.execute(statement)}


def reserve(conn: Connection, ids: Sequence[int], node_id: int) -> None:
    """Hand runs to a node ahead of a free slot; no attempt begins."""
    statement = update(r).where(r.c.id.in_(ids)).values(state=RunState.SCHEDULED.value, node_id=node_id)
    conn.execute(statement)


def start(conn: Connection, ids: Sequence[int], node_id: int, now: datetime) -> None:
    """Begin the next attempt of runs on a node."""
    statement = (
        update(r)
        .where(r.c.id.in_(ids))
        .values(
            state=RunState.RUNNING.value,
            node_id=node_id,
            attempt=r.c.attempt + 1,
            started_at=now,
            progress=null(),
        )
    )
    conn.execute(statement)


def open_executions(conn: Connection, runs: Sequence[Run], node_id: int, node: str, now: datetime) -> dict[int, int]:
    """Insert the open execution of each started run (as it was before its start); execution ids by run id."""
    statement = insert(e).returning(e.c.id, e.c.run_id)
    rows = [
        {
            "job_name": run.job_name,
            "started_at": now,
            "run_id": run.id,
            "task_id": run.task_id,
            "task_name": run.task_name,
            "attempt": run.attempt + 1,
            "node_id": node_id,
            "node": node,
            "trigger": run.trigger.value,
            "scheduled_for": run.scheduled_for,
            "submitted_at": run.submitted_at,
            "log_lines": 0,
            "log_cut": 0,
        }
        for run in runs
    ]
    return {run_id: execution_id for execution_id, run_id in conn.execute(statement, rows)}
