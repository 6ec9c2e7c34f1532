"""Find the oldest claimable runs of every lane for a node, group by group in round-robin order."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Row, select

from ...core.model import Priority
from ...core.nodes import in_turn
from ...core.states import RunState
from ...store.db import dialect
from ...store.schema.tables import run as r
from ..base import statements
from ..base.shapes import Candidate


@dataclass(frozen=True, slots=True)
class Want:
    """Hold a node's request: the time, the jobs it can run, the depth of the search, and the runs to leave.

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


# Usually a lane is read in the order in which its runs are taken, and those of jobs that the node cannot run are passed
# over. That is cheap as long as there are none. Where there are, each of the node's own jobs is looked for by itself.
def jobs_among_others(conn: Connection, jobs: Sequence[str]) -> tuple[str, ...] | None:
    """Return those of ``jobs`` with pending runs if other jobs have pending runs, too; None if they have none.

    What it costs grows with ``jobs`` and not with the runs.
    """
    if not statements.execute(conn, "pending_of_other_jobs", {"jobs": list(jobs)}).one().are_there:
        return None
    return pending_of(conn, jobs)


def pending_of(conn: Connection, jobs: Collection[str]) -> tuple[str, ...]:
    """Return those of these jobs that have pending runs, due or not."""
    return tuple(row.name for row in statements.execute(conn, "pending_of_own_jobs", {"jobs": list(jobs)}))


def weighed(conn: Connection, found: list[Candidate], heavy: Mapping[str, int]) -> list[Candidate]:
    """Return these candidates with the slots that each takes.

    Args:
        conn: The transaction.
        found: The candidates.
        heavy: The jobs whose runs take several slots, and how many.
    """
    jobs = select(r.c.id, r.c.job_name).where(r.c.id.in_([one.run_id for one in found]), r.c.job_name.in_(heavy))
    names = {row.id: row.job_name for row in conn.execute(jobs)}
    return [
        replace(one, slots=heavy[names[one.run_id]], heavy=names[one.run_id]) if one.run_id in names else one
        for one in found
    ]


def candidates(conn: Connection, want: Want, after: str | None) -> list[Candidate]:
    """Return what could be taken now, of the groups after ``after`` first, then wrapping to the start.

    Enough groups are read that ``fairness.choose`` of ``want.depth`` runs sees all that matter to it.
    """
    if dialect.is_postgresql(conn):
        return _from_postgres(conn, want, after or "")
    return _from_sqlite(conn, want, after or "")


def _from_postgres(conn: Connection, want: Want, after: str) -> list[Candidate]:
    parameters = {
        "now": want.now,
        "jobs": list(want.jobs),
        "foreign": sorted(want.foreign),
        "groups": list(in_turn(want.groups, after)) if want.groups else None,
        "after": after,
        "depth": want.depth,
        "lane": want.lane or want.depth,
    }
    return _candidates(statements.readable(conn, "candidates_by_job" if want.by_job else "candidates", parameters))


def _from_sqlite(conn: Connection, want: Want, after: str) -> list[Candidate]:
    found: list[Candidate] = []
    groups = 0
    for name, limited in _groups_with_work(conn, want, after):
        of_group = _of_group(conn, want, name, limited=limited)
        groups += 1 if of_group else 0
        found += of_group
        if groups == want.depth:
            break
    return found


def _of_group(conn: Connection, want: Want, group: str, *, limited: bool) -> list[Candidate]:
    limit = want.lane or want.depth
    asked = {"now": want.now, "lane": limit, "group": group}
    if not want.by_job:
        return _candidates(statements.readable(conn, "candidates_of_group", {**asked, "jobs": want.jobs}), limited)
    name = "candidates_of_group_by_job"
    lanes: dict[object, list[tuple[object, Candidate]]] = {}
    for job in want.jobs:
        rows = statements.readable(conn, name, {**asked, "job": job})
        if not rows:
            continue
        pick = _picker(rows)
        for row in rows:
            one = _candidate(pick(row), limited=limited)
            lanes.setdefault((one.stuck, not one.stuck and one.priority), []).append(((row.available_at, row.id), one))
    # What is behind so many of one job may come before what is left of another one.
    in_order = (sorted(lane, key=itemgetter(0))[:limit] for lane in lanes.values())
    return [one for lane in in_order for _, one in lane]


def _groups_with_work(conn: Connection, want: Want, after: str) -> Iterator[tuple[str, bool]]:
    """Groups and whether they have a limit, in round-robin order, ``depth`` per statement.

    Those that ``want`` names, whether or not something is pending there, else all with something pending.
    """
    if want.groups:
        for row in statements.execute(
            conn, "chosen_groups", {"groups": list(in_turn(want.groups, after)), "now": want.now}
        ):
            yield row.name, bool(row.limited)
        return
    name, asked = (
        "pending_groups",
        {"after": after, "from_name": after, "from_lap": 0, "depth": want.depth, "now": want.now},
    )
    if want.by_job:
        name, asked = "pending_groups_by_job", {**asked, "jobs": want.jobs}
    while True:
        page = statements.execute(conn, name, asked).all()
        for row in page:
            yield row.name, bool(row.limited)
        if len(page) < want.depth:
            return
        asked |= {"from_name": page[-1].name, "from_lap": page[-1].lap}


_PRIORITIES = {one.value: one for one in Priority}
_FOUND = ("id", "group_name", "priority", "state", "exclusive", "task_id", "judged", "keyed")


def _picker(rows: Sequence[Any]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    return statements.picker(rows[0]._fields, _FOUND)


def _candidates(rows: Sequence[Row[Any]], limited: bool | None = None) -> list[Candidate]:
    """The candidates of rows; ``limited`` of all of them, unless each row says it."""
    if not rows:
        return []
    pick = _picker(rows)
    return [_candidate(pick(row), limited=row.limited if limited is None else limited) for row in rows]


def _candidate(values: Sequence[Any], *, limited: bool) -> Candidate:
    # The word of the priority is looked up: a third of the time of asking the enumeration.
    run_id, group, priority, state, exclusive, task_id, judged, keyed = values
    stuck = state == RunState.STUCK.value
    blocks = task_id if exclusive else None
    return Candidate(run_id, group, _PRIORITIES[priority], stuck, blocks, bool(judged), limited, bool(keyed))
