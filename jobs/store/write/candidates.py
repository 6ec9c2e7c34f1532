"""What a node could take now: the oldest claimable runs of every lane, group by group in round-robin order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection

from ...core.fairness import Candidate
from ...core.model import Priority
from ...core.node_choice import in_turn
from ...core.schedule import Syntax
from ...core.states import CLAIMABLE, OCCUPYING, RunState
from ..db import dialect
from ..schema.naming import SchemaText
from ..schema.tables import quoted

FREE = f"""(NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
    SELECT 1 FROM cronograph.run b
    WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ({quoted(OCCUPYING)})))"""
"""A task's exclusive runs never occupy two slots; what would be a second one is no candidate."""
# The general condition is repeated beside the special one so that SQLite sees that its partial index applies.
_CLAIMABLE = f"state IN ({quoted(CLAIMABLE)})"

JUDGED = f"""(r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
    SELECT 1 FROM cronograph.periodic_task t
    WHERE t.id = r.task_id AND t.schedule_syntax = '{Syntax.INTERVAL.value}'))"""
"""Only the first start of a run that an interval made is judged by its task's tolerance."""


def _lane(condition: str, jobs: str) -> str:
    return f"""SELECT r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, {JUDGED} AS judged
        FROM cronograph.run r WHERE r.{_CLAIMABLE} AND {condition} AND {jobs} AND {FREE}
        ORDER BY r.available_at, r.id LIMIT :depth"""


def _lanes(group: str, jobs: str) -> str:
    """Per group: due stuck runs (strictly after their time), then waiting ones by priority, first in, first out."""
    waiting = f"r.state = 'waiting' AND r.group_name = {group} AND r.available_at <= :now"
    lanes = (
        _lane(f"r.state = 'stuck' AND r.group_name = {group} AND r.available_at < :now", jobs),
        _lane(f"{waiting} AND r.priority = 'high'", jobs),
        _lane(f"{waiting} AND r.priority = 'low'", jobs),
    )
    return " UNION ALL ".join(f"SELECT * FROM ({lane}) AS lane" for lane in lanes)


def _next(after: str) -> str:
    """The first group with something pending behind another one: one step along the index."""
    return f"(SELECT min(group_name) FROM cronograph.run WHERE {_CLAIMABLE}{after})"


# Groups with something pending, from the one after ``:after`` on, wrapping once; LIMIT stops the jumping early.
def _of_all_groups(jobs: str) -> str:
    return f"""
WITH RECURSIVE pending(name, lap, place) AS (
    SELECT CAST(:after AS text), 0, 0
    UNION ALL
    SELECT s.name, s.lap, p.place + 1 FROM pending p CROSS JOIN LATERAL (
        SELECT coalesce(a.name, b.name) AS name, CASE WHEN a.name IS NULL THEN 1 ELSE p.lap END AS lap
        FROM (SELECT {_next(" AND group_name > p.name")} AS name) a
        LEFT JOIN LATERAL (SELECT {_next("")} AS name) b ON a.name IS NULL AND p.lap = 0 AND p.name <> ''
    ) s WHERE s.name IS NOT NULL AND (s.lap = 0 OR s.name <= :after)
)
SELECT c.*, q.max_running IS NOT NULL AS limited FROM pending p
LEFT JOIN cronograph.queue_group q ON q.name = p.name
CROSS JOIN LATERAL ({_lanes("p.name", jobs)}) c
WHERE p.place > 0 AND q.paused_at IS NULL
LIMIT :rows
"""


# Nothing is jumped along the index: they are few, and each is looked for by its name.
def _of_chosen_groups(jobs: str) -> str:
    return f"""
SELECT c.*, q.max_running IS NOT NULL AS limited
FROM unnest(CAST(:groups AS text[])) WITH ORDINALITY AS p(name, place)
LEFT JOIN cronograph.queue_group q ON q.name = p.name
CROSS JOIN LATERAL ({_lanes("p.name", jobs)}) c
WHERE q.paused_at IS NULL
ORDER BY p.place LIMIT :rows
"""


_SQLITE_GROUPS = SchemaText(f"""
WITH RECURSIVE pending(name, lap, place) AS (
    SELECT :from_name, :from_lap, 0
    UNION ALL
    SELECT coalesce({_next(" AND group_name > p.name")},
                    CASE WHEN p.lap = 0 AND p.name <> '' THEN {_next("")} END),
           CASE WHEN {_next(" AND group_name > p.name")} IS NULL THEN 1 ELSE p.lap END,
           p.place + 1
    FROM pending p WHERE p.name IS NOT NULL AND (p.lap = 0 OR p.name < :after)
)
SELECT p.name, p.lap, q.max_running IS NOT NULL AS limited
FROM pending p LEFT JOIN cronograph.queue_group q ON q.name = p.name
WHERE p.place > 0 AND p.name IS NOT NULL AND (p.lap = 0 OR p.name <= :after) AND q.paused_at IS NULL
LIMIT :depth
""")
_SQLITE_CHOSEN_GROUPS = SchemaText("""
SELECT g.value AS name, q.max_running IS NOT NULL AS limited
FROM json_each(:groups) g LEFT JOIN cronograph.queue_group q ON q.name = g.value
WHERE q.paused_at IS NULL ORDER BY g.key
""")
_MINE = "r.job_name = ANY(:jobs)"
_OF_OWN_VERSION = "(r.signature IS NULL OR r.signature <> ALL(:foreign))"
_SQLITE_LANES = SchemaText(_lanes(":group", "r.job_name IN (SELECT value FROM json_each(:jobs))"))


@cache
def _postgres_find(*, foreign: bool, chosen: bool) -> SchemaText:
    jobs = f"{_MINE} AND {_OF_OWN_VERSION}" if foreign else _MINE
    return SchemaText(_of_chosen_groups(jobs) if chosen else _of_all_groups(jobs))


@dataclass(frozen=True, slots=True)
class Want:
    """What a node asks for: the time, the jobs it can run, how deep to look into each lane, and what to leave.

    ``foreign``: runs with these signatures are left to other nodes; while all nodes are of one version there are none,
    and on SQLite, where there is one node, never. ``groups``: the only ones to look into; empty = all.
    """

    now: datetime
    jobs: Sequence[str]
    depth: int
    foreign: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()


def candidates(conn: Connection, want: Want, after: str | None) -> list[Candidate]:
    """What could be taken now, of the groups after ``after`` first, then wrapping to the start.

    Enough groups and lanes are read that ``core.fairness.take`` of ``want.depth`` runs sees all that matter to it.
    """
    if dialect.is_postgresql(conn):
        return _from_postgres(conn, want, after or "")
    return _from_sqlite(conn, want, after or "")


def _from_postgres(conn: Connection, want: Want, after: str) -> list[Candidate]:
    parameters: dict[str, object] = {
        "now": want.now,
        "jobs": list(want.jobs),
        "depth": want.depth,
        # A lane holds at most ``depth`` rows, so this many rows are at least ``depth`` whole groups.
        "rows": 3 * want.depth * want.depth,
    }
    if want.foreign:
        parameters["foreign"] = sorted(want.foreign)
    if want.groups:
        parameters["groups"] = list(in_turn(want.groups, after))
    else:
        parameters["after"] = after
    statement = _postgres_find(foreign=bool(want.foreign), chosen=bool(want.groups))
    return [_candidate(row, limited=row.limited) for row in conn.execute(statement, parameters)]


def _from_sqlite(conn: Connection, want: Want, after: str) -> list[Candidate]:
    base = {"now": dialect.bound_time(want.now), "jobs": dialect.bound_list(want.jobs), "depth": want.depth}
    found: list[Candidate] = []
    groups = 0
    pending = _chosen_groups(conn, want.groups, after) if want.groups else _pending_groups(conn, after, want.depth)
    for name, limited in pending:
        rows = conn.execute(_SQLITE_LANES, {**base, "group": name}).all()
        groups += 1 if rows else 0
        found += [_candidate(row, limited=limited) for row in rows]
        if groups == want.depth:
            break
    return found


def _pending_groups(conn: Connection, after: str, depth: int) -> Iterator[tuple[str, bool]]:
    """Groups with something pending and whether they have a limit, in round-robin order, ``depth`` per statement."""
    name, lap = after, 0
    while True:
        parameters = {"after": after, "from_name": name, "from_lap": lap, "depth": depth}
        page = conn.execute(_SQLITE_GROUPS, parameters).all()
        yield from ((row.name, bool(row.limited)) for row in page)
        if len(page) < depth:
            return
        name, lap = page[-1].name, page[-1].lap


def _chosen_groups(conn: Connection, groups: Sequence[str], after: str) -> Iterator[tuple[str, bool]]:
    """These groups, whether or not something is pending there, in round-robin order, less those that are paused."""
    asked = {"groups": dialect.bound_list(in_turn(groups, after))}
    yield from ((row.name, bool(row.limited)) for row in conn.execute(_SQLITE_CHOSEN_GROUPS, asked).all())


def _candidate(row: Any, *, limited: bool) -> Candidate:
    return Candidate(
        run_id=row.id,
        group=row.group_name,
        priority=Priority(row.priority),
        stuck=row.state == RunState.STUCK.value,
        blocks=row.task_id if row.exclusive else None,
        judged=bool(row.judged),
        limited=limited,
    )
