"""What a node could take now: the oldest claimable runs of every lane, group by group in round-robin order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, CursorResult, Row

from ..core.model import Priority
from ..core.node_choice import in_turn
from ..core.states import RunState
from ..store.db import dialect
from . import statements
from .fairness import Candidate


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
    rows = statements.execute(conn, "candidates_by_job" if want.by_job else "candidates", parameters)
    return _candidates(rows)


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
        return _candidates(statements.execute(conn, "candidates_of_group", {**asked, "jobs": want.jobs}), limited)
    name = "candidates_of_group_by_job"
    rows = [row for job in want.jobs for row in statements.execute(conn, name, {**asked, "job": job})]
    lanes: dict[str, list[Row[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row.available_at, row.id)):
        lanes.setdefault(row.state if row.state == RunState.STUCK.value else row.priority, []).append(row)
    # What is behind so many of one job may come before what is left of another one.
    return _candidates([row for lane in lanes.values() for row in lane[:limit]], limited)


def _groups_with_work(conn: Connection, want: Want, after: str) -> Iterator[tuple[str, bool]]:
    """Groups and whether they have a limit, in round-robin order, ``depth`` per statement.

    Those that ``want`` names, whether or not something is pending there, else all with something pending.
    """
    if want.groups:
        for row in statements.execute(conn, "chosen_groups", {"groups": list(in_turn(want.groups, after))}):
            yield row.name, bool(row.limited)
        return
    name, asked = "pending_groups", {"after": after, "from_name": after, "from_lap": 0, "depth": want.depth}
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
_FOUND = ("id", "group_name", "priority", "state", "exclusive", "task_id", "judged")


def _candidates(rows: CursorResult[Any] | Sequence[Row[Any]], limited: bool | None = None) -> list[Candidate]:
    """The candidates of rows; ``limited`` of all of them, unless each row says it."""
    found = list(rows)
    if not found:
        return []
    pick = statements.picker(found[0]._fields, _FOUND)
    return [_candidate(pick(row), limited=row.limited if limited is None else limited) for row in found]


def _candidate(values: Sequence[Any], *, limited: bool) -> Candidate:
    # The word of the priority is looked up: a third of the time of asking the enumeration.
    run_id, group, priority, state, exclusive, task_id, judged = values
    stuck = state == RunState.STUCK.value
    return Candidate(run_id, group, _PRIORITIES[priority], stuck, task_id if exclusive else None, bool(judged), limited)
