"""What a node could take now: the oldest claimable runs of every lane, group by group in round-robin order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row

from ...core.fairness import Candidate
from ...core.model import Priority
from ...core.node_choice import in_turn
from ...core.schedule import Syntax
from ...core.states import OCCUPYING, RunState
from ..db import dialect
from ..schema.naming import SchemaText
from ..schema.tables import quoted
from .pending_jobs import CLAIMABLE_STATE, IN_ORDER_OF_JOBS, OF_JOBS, first_group, of_job

FREE = f"""(NOT r.exclusive OR r.task_id IS NULL OR NOT EXISTS (
    SELECT 1 FROM cronograph.run b
    WHERE b.task_id = r.task_id AND b.exclusive AND b.state IN ({quoted(OCCUPYING)})))"""
"""A task's exclusive runs never occupy two slots; what would be a second one is no candidate."""
JUDGED = f"""(r.trigger = 'schedule' AND r.attempt = 0 AND EXISTS (
    SELECT 1 FROM cronograph.periodic_task t
    WHERE t.id = r.task_id AND t.schedule_syntax = '{Syntax.INTERVAL.value}'))"""
"""Only the first start of a run that an interval made is judged by its task's tolerance."""

_FOUND = "r.id, r.group_name, r.priority, r.state, r.exclusive, r.task_id, r.available_at"


def _lane(condition: str, jobs: str) -> str:
    return f"""SELECT {_FOUND}, {JUDGED} AS judged
        FROM cronograph.run r WHERE r.{CLAIMABLE_STATE} AND {condition} AND {jobs} AND {FREE}
        ORDER BY r.available_at, r.id LIMIT :lane"""


def _lanes(group: str, jobs: str) -> str:
    """Per group: due stuck runs (strictly after their time), then waiting ones by priority, first in, first out."""
    waiting = f"r.state = 'waiting' AND r.group_name = {group} AND r.available_at <= :now"
    return _all(
        _lane(f"r.state = 'stuck' AND r.group_name = {group} AND r.available_at < :now", jobs),
        _lane(f"{waiting} AND r.priority = 'high'", jobs),
        _lane(f"{waiting} AND r.priority = 'low'", jobs),
    )


def _lanes_by_job(group: str, more: str) -> str:
    """``_lanes`` on PostgreSQL for a few of the jobs that have runs pending: each is looked for by itself."""
    return _all(
        *(
            f"""SELECT {_FOUND}, {JUDGED} AS judged
            FROM unnest(CAST(:jobs AS text[])) AS j(name)
            CROSS JOIN unnest(CAST('{priorities}' AS text[])) AS c(priority)
            CROSS JOIN LATERAL (
                SELECT r.* FROM cronograph.run r
                WHERE {of_job(group, state, "c.priority", ":now")} AND {more} AND {FREE}
                ORDER BY {IN_ORDER_OF_JOBS} LIMIT :lane) r
            ORDER BY r.available_at, r.id LIMIT :lane"""
            for state, priorities in (("stuck", "{high,low}"), ("waiting", "{high}"), ("waiting", "{low}"))
        )
    )


def _all(*lanes: str) -> str:
    return " UNION ALL ".join(f"SELECT * FROM ({lane}) AS lane" for lane in lanes)


def _next(after: str = "''") -> str:
    """The first group with something pending behind another one: one step along the index."""
    return f"(SELECT min(group_name) FROM cronograph.run WHERE {CLAIMABLE_STATE} AND group_name > {after})"


def _next_by_job(after: str = "''") -> str:
    """``_next`` on PostgreSQL for those of ``_lanes_by_job``: a step for each."""
    return f"(SELECT min({first_group('j.name', after)}) FROM unnest(CAST(:jobs AS text[])) AS j(name))"


# Groups with something pending, from the one after ``:after`` on, wrapping once. The walk ends with the LIMIT: what is
# asked of a group is asked of it alone, since a join would first want to see all groups; and OFFSET 0 has each step
# along the index made once, not once for each place that mentions it.
def _of_all_groups(step: Callable[..., str], lanes: str) -> str:
    return f"""
WITH RECURSIVE pending(name, lap, place) AS (
    SELECT CAST(:after AS text) COLLATE "C", 0, 0
    UNION ALL
    SELECT s.name, s.lap, p.place + 1 FROM pending p CROSS JOIN LATERAL (
        SELECT coalesce(a.name, b.name) AS name, CASE WHEN a.name IS NULL THEN 1 ELSE p.lap END AS lap
        FROM (SELECT {step("p.name")} AS name OFFSET 0) a
        LEFT JOIN LATERAL (
            SELECT {step()} AS name WHERE a.name IS NULL AND p.lap = 0 AND p.name <> '' OFFSET 0) b ON true
        OFFSET 0
    ) s WHERE s.name IS NOT NULL AND (s.lap = 0 OR s.name <= :after)
)
SELECT c.*, coalesce((SELECT q.max_running IS NOT NULL FROM cronograph.queue_group q WHERE q.name = p.name), false)
    AS limited
FROM (
    SELECT p.name FROM pending p
    WHERE p.place > 0 AND (SELECT q.paused_at FROM cronograph.queue_group q WHERE q.name = p.name) IS NULL
        AND (SELECT true FROM ({lanes}) AS c LIMIT 1)
    LIMIT :depth) p
CROSS JOIN LATERAL ({lanes}) c
"""


# Nothing is jumped along the index: they are few, and each is looked for by its name.
def _of_chosen_groups(lanes: str) -> str:
    return f"""
SELECT c.*, q.max_running IS NOT NULL AS limited
FROM unnest(CAST(:groups AS text[])) WITH ORDINALITY AS p(name, place)
LEFT JOIN cronograph.queue_group q ON q.name = p.name
CROSS JOIN LATERAL ({lanes}) c
WHERE q.paused_at IS NULL
ORDER BY p.place LIMIT :rows
"""


def _sqlite_groups(step: Callable[..., str]) -> SchemaText:
    return SchemaText(f"""
WITH RECURSIVE pending(name, lap, place) AS (
    SELECT :from_name, :from_lap, 0
    UNION ALL
    SELECT coalesce({step("p.name")}, CASE WHEN p.lap = 0 AND p.name <> '' THEN {step()} END),
           CASE WHEN {step("p.name")} IS NULL THEN 1 ELSE p.lap END,
           p.place + 1
    FROM pending p WHERE p.name IS NOT NULL AND (p.lap = 0 OR p.name < :after)
)
SELECT p.name, p.lap, q.max_running IS NOT NULL AS limited
FROM pending p LEFT JOIN cronograph.queue_group q ON q.name = p.name
WHERE p.place > 0 AND p.name IS NOT NULL AND (p.lap = 0 OR p.name <= :after) AND q.paused_at IS NULL
LIMIT :depth
""")


# SQLite has no statistics unless somebody asks for them: which index serves these is said.
_BY_JOB = "INDEXED BY ix_run_claimable_job"


def _sqlite_next_by_job(after: str = "''") -> str:
    first = f"""SELECT r.group_name FROM cronograph.run r {_BY_JOB}
        WHERE r.{OF_JOBS} AND r.job_name = j.value AND r.group_name > {after} ORDER BY r.group_name LIMIT 1"""
    return f"(SELECT min(({first})) FROM json_each(:jobs) j)"


def _sqlite_lanes_by_job() -> str:
    return _all(
        *(
            f"""SELECT {_FOUND}, {JUDGED} AS judged FROM cronograph.run r {_BY_JOB}
            WHERE r.{OF_JOBS} AND r.job_name = :job AND r.group_name = :group AND r.state = '{state}'
                AND r.priority = '{priority}' AND r.available_at {until} :now AND {FREE}
            ORDER BY r.available_at, r.id LIMIT :lane"""
            for state, until in (("stuck", "<"), ("waiting", "<="))
            for priority in ("high", "low")
        )
    )


_SQLITE_CHOSEN_GROUPS = SchemaText("""
SELECT g.value AS name, q.max_running IS NOT NULL AS limited
FROM json_each(:groups) g LEFT JOIN cronograph.queue_group q ON q.name = g.value
WHERE q.paused_at IS NULL ORDER BY g.key
""")
_MINE = "r.job_name = ANY(:jobs)"
_OF_OWN_VERSION = "(r.signature IS NULL OR r.signature <> ALL(:foreign))"
_SQLITE_LANES = SchemaText(_lanes(":group", "r.job_name IN (SELECT value FROM json_each(:jobs))"))
_SQLITE_LANES_BY_JOB = SchemaText(_sqlite_lanes_by_job())
_SQLITE_GROUPS, _SQLITE_GROUPS_BY_JOB = _sqlite_groups(_next), _sqlite_groups(_sqlite_next_by_job)


@cache
def _postgres_find(*, foreign: bool, chosen: bool, by_job: bool) -> SchemaText:
    version = _OF_OWN_VERSION if foreign else "true"
    lanes = _lanes_by_job("p.name", version) if by_job else _lanes("p.name", f"{_MINE} AND {version}")
    step = _next_by_job if by_job else _next
    return SchemaText(_of_chosen_groups(lanes) if chosen else _of_all_groups(step, lanes))


@dataclass(frozen=True, slots=True)
class Want:
    """What a node asks for: the time, the jobs it can run, how far to look, and what to leave.

    ``depth``: how many groups are looked into; ``lane``: how many runs of each of their lanes, if not as many.
    ``foreign``: runs with these signatures are left to other nodes; while all nodes are of one version there are none,
    and on SQLite, where there is one node, never. ``groups``: the only ones to look into; empty = all. ``by_job``:
    each of ``jobs`` is looked for by itself, because runs of others are pending, too (``jobs_among_others``).
    """

    now: datetime
    jobs: Sequence[str]
    depth: int
    foreign: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    by_job: bool = False
    lane: int | None = None


def candidates(conn: Connection, want: Want, after: str | None) -> list[Candidate]:
    """What could be taken now, of the groups after ``after`` first, then wrapping to the start.

    Enough groups are read that ``core.fairness.choose`` of ``want.depth`` runs sees all that matter to it.
    """
    if dialect.is_postgresql(conn):
        return _from_postgres(conn, want, after or "")
    return _from_sqlite(conn, want, after or "")


def _from_postgres(conn: Connection, want: Want, after: str) -> list[Candidate]:
    parameters: dict[str, object] = {
        "now": want.now,
        "jobs": list(want.jobs),
        "depth": want.depth,
        "lane": want.lane or want.depth,
        # So many rows are at least ``depth`` whole groups.
        "rows": 3 * (want.lane or want.depth) * want.depth,
    }
    if want.foreign:
        parameters["foreign"] = sorted(want.foreign)
    if want.groups:
        parameters["groups"] = list(in_turn(want.groups, after))
    else:
        parameters["after"] = after
    statement = _postgres_find(foreign=bool(want.foreign), chosen=bool(want.groups), by_job=want.by_job)
    return [_candidate(row, limited=row.limited) for row in conn.execute(statement, parameters)]


def _from_sqlite(conn: Connection, want: Want, after: str) -> list[Candidate]:
    found: list[Candidate] = []
    groups = 0
    pending = _chosen_groups(conn, want.groups, after) if want.groups else _pending_groups(conn, want, after)
    for name, limited in pending:
        rows = _of_group(conn, want, name)
        groups += 1 if rows else 0
        found += [_candidate(row, limited=limited) for row in rows]
        if groups == want.depth:
            break
    return found


def _of_group(conn: Connection, want: Want, group: str) -> Sequence[Row[Any]]:
    asked = {"now": dialect.bound_time(want.now), "lane": want.lane or want.depth, "group": group}
    if not want.by_job:
        return conn.execute(_SQLITE_LANES, {**asked, "jobs": dialect.bound_list(want.jobs)}).all()
    rows = [row for job in want.jobs for row in conn.execute(_SQLITE_LANES_BY_JOB, {**asked, "job": job})]
    lanes: dict[str, list[Row[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row.available_at, row.id)):
        lanes.setdefault(row.state if row.state == RunState.STUCK.value else row.priority, []).append(row)
    # What is behind so many of one job may come before what is left of another one.
    return [row for lane in lanes.values() for row in lane[: want.lane or want.depth]]


def _pending_groups(conn: Connection, want: Want, after: str) -> Iterator[tuple[str, bool]]:
    """Groups with something pending and whether they have a limit, in round-robin order, ``depth`` per statement."""
    statement = _SQLITE_GROUPS_BY_JOB if want.by_job else _SQLITE_GROUPS
    jobs = {"jobs": dialect.bound_list(want.jobs)} if want.by_job else {}
    name, lap = after, 0
    while True:
        parameters = {"after": after, "from_name": name, "from_lap": lap, "depth": want.depth, **jobs}
        page = conn.execute(statement, parameters).all()
        yield from ((row.name, bool(row.limited)) for row in page)
        if len(page) < want.depth:
            return
        name, lap = page[-1].name, page[-1].lap


def _chosen_groups(conn: Connection, groups: Sequence[str], after: str) -> Iterator[tuple[str, bool]]:
    """These groups, whether or not something is pending there, in round-robin order, less those that are paused."""
    asked = {"groups": dialect.bound_list(in_turn(groups, after))}
    yield from ((row.name, bool(row.limited)) for row in conn.execute(_SQLITE_CHOSEN_GROUPS, asked).all())


_PRIORITIES = {one.value: one for one in Priority}


def _candidate(row: Any, *, limited: bool) -> Candidate:
    # By place, and the word looked up: a third of the time of names and of asking the enumeration.
    run_id, group, priority, state, exclusive, task_id, _, judged = row[:8]
    stuck = state == RunState.STUCK.value
    return Candidate(run_id, group, _PRIORITIES[priority], stuck, task_id if exclusive else None, bool(judged), limited)
