"""Find the history that a pruning would delete, without deleting anything, and the part of it that is still needed.

Everything that deletes history asks ``NEEDED_FLOW``, ``needed_run`` and ``NEEDED_EXECUTION`` first: by age, by number,
or because somebody asked for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select

from ...core.retention import Keeping
from ...core.states import RELEASING
from ..db.functions import sql_literals
from ..schema.tables import flow as f
from ..schema.tables import job as j
from ..schema.tables import job_execution as e
from ..schema.tables import periodic_task, skipped_occurrence
from ..schema.tables import queue_group as g
from ..schema.tables import run as r
from ..schema.tables import run_awaited as a

BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Before every run."""

IN_FLOW: Final = r.c.flow_id.is_not(None) & exists().where(f.c.id == r.c.flow_id)
"""That a run belongs to a flow that is still there: a flow is pruned as a whole."""

_parent = r.alias("parent")
NEEDED_FLOW: Final = or_(
    f.c.finished_at.is_(None), exists().where(_parent.c.id == f.c.parent_id, _parent.c.finished_at.is_(None))
)
"""That a flow has not ended, or that the run has not that began it: each attempt reads how the flow ended."""

_of_execution = r.alias("of_execution")
NEEDED_EXECUTION: Final = exists().where(
    _of_execution.c.id == e.c.run_id,
    or_(_of_execution.c.finished_at.is_(None), exists().where(f.c.id == _of_execution.c.flow_id, NEEDED_FLOW)),
)
"""That the run of an execution has not ended, or is one of a flow that is needed: its page shows all attempts."""


def needed_run(now: datetime) -> ColumnElement[bool]:
    """Return that a run which has ended is part of a flow, is yet to be read by a step, or holds its key.

    It holds its unique key for a time that is not over.
    """
    released = sql_literals(RELEASING)
    awaited = exists().where(a.c.awaited_id == r.c.id)
    return or_(IN_FLOW, awaited, and_(r.c.key_until.is_not(None), r.c.key_until > now, r.c.state.not_in(released)))


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A place in the order in which runs finished; a walk over runs proceeds from it."""

    finished_at: datetime = BEGINNING
    id: int = 0


def keeping(conn: Connection, now: datetime, age: timedelta) -> Keeping:
    """Return how long the history of jobs and groups is kept: their present settings, ``age`` where they have none."""
    groups = conn.execute(select(g.c.name, g.c.keep).where(g.c.keep.is_not(None)))
    jobs = conn.execute(select(j.c.name, j.c.defaults))
    by_job = {row.name: row.defaults["keep"] for row in jobs if row.defaults.get("keep") is not None}
    return Keeping(now, age, by_job, {row.name: row.keep for row in groups})


def ended_runs(conn: Connection, place: RunPlace, before: datetime, limit: int, now: datetime) -> Sequence[Any]:
    """``limit`` runs that finished before ``before``, after ``place``, in the order in which they did.

    ``needed``: whether something that has not ended needs the run.
    """
    needed = needed_run(now).label("needed")
    statement = (
        select(r.c.id, r.c.finished_at, r.c.job_name, r.c.group_name, IN_FLOW.label("in_flow"), needed)
        .where(
            r.c.finished_at.is_not(None),
            r.c.finished_at >= place.finished_at,
            r.c.finished_at < before,
            (r.c.finished_at > place.finished_at) | (r.c.id > place.id),
        )
        .order_by(r.c.finished_at, r.c.id)
        .limit(limit)
    )
    return conn.execute(statement).all()


@dataclass(frozen=True, slots=True)
class EndedRuns:
    """One step of a walk over runs that are kept for a shorter time than usual.

    Attributes:
        runs: Those to delete.
        executions: Their executions to delete, those that a task keeps left out.
        place: Where the next step begins; None = the end.
        needed: When the first of them finished that is kept because it is still needed; None = none is.
    """

    runs: list[int]
    executions: list[int]
    place: RunPlace | None
    needed: datetime | None = None


def briefly_kept(conn: Connection, keep: timedelta, kept: Keeping, place: RunPlace, limit: int) -> EndedRuns:
    """Among ``limit`` runs that finished after ``place``: those that are kept for ``keep``, and are over.

    Runs of flows are left out: a flow goes as a whole, and not before its usual time.
    """
    rows = ended_runs(conn, place, kept.now - keep, limit, kept.now)
    brief = [row for row in rows if not row.in_flow and kept.of(row.job_name, row.group_name) == keep]
    over = [row.id for row in brief if not row.needed]
    needed = next((row.finished_at for row in brief if row.needed), None)
    next_place = RunPlace(rows[-1].finished_at, rows[-1].id) if len(rows) == limit else None
    statement = select(e.c.id, e.c.task_id).where(e.c.run_id.in_(over)).order_by(e.c.id)
    found: Sequence[Any] = conn.execute(statement).all() if over else ()
    newest = kept_executions(conn, sorted({row.task_id for row in found if row.task_id is not None}))
    return EndedRuns(over, [row.id for row in found if row.id not in newest], next_place, needed)


@dataclass(frozen=True, slots=True)
class Walk:
    """One step of a walk over executions.

    Attributes:
        doomed: The ids to delete.
        last: The greatest id that was looked at; the next step begins after it.
        more: Whether anything old may follow.
    """

    doomed: list[int]
    last: int
    more: bool


def old_executions(conn: Connection, after: int, before: datetime, limit: int, kept: Keeping | None = None) -> Walk:
    """Among the ``limit`` executions after id ``after``: those that started and ended before ``before``.

    With ``kept`` those stay that are to be kept longer.

    Ids ascend with the time of the start, so a step that finds nothing started before ``before`` is the last one:
    the young rest of the table, the largest part, is never read.
    """
    rows = conn.execute(
        select(e.c.id, e.c.task_id, e.c.started_at, e.c.completed_at, e.c.job_name, e.c.run_id)
        .where(e.c.id > after)
        .order_by(e.c.id)
        .limit(limit)
    ).all()
    if not rows:
        return Walk([], after, more=False)
    old = [row for row in rows if row.completed_at is not None and max(row.started_at, row.completed_at) < before]
    if kept is not None and kept.has_longer:
        groups = _groups_of(conn, old) if kept.groups else {}
        old = [row for row in old if kept.is_over(row.job_name, groups.get(row.run_id), row.completed_at)]
    newest = kept_executions(conn, sorted({row.task_id for row in old if row.task_id is not None}))
    newest |= _needed(conn, [row.id for row in old])
    begun_before = any(row.started_at < before for row in rows)
    return Walk([row.id for row in old if row.id not in newest], rows[-1].id, more=begun_before and len(rows) == limit)


def _needed(conn: Connection, ids: Sequence[int]) -> set[int]:
    if not ids:
        return set()
    return set(conn.execute(select(e.c.id).where(e.c.id.in_(ids), NEEDED_EXECUTION)).scalars())


def _groups_of(conn: Connection, executions: Sequence[Any]) -> dict[int, str]:
    statement = select(r.c.id, r.c.group_name).where(r.c.id.in_(sorted({row.run_id for row in executions})))
    return {row.id: row.group_name for row in conn.execute(statement)}


def kept_executions(conn: Connection, task_ids: Sequence[int]) -> set[int]:
    """Of each of these tasks that still exist: the newest execution and the newest finished one."""
    newest = select(func.max(e.c.id)).where(e.c.task_id == periodic_task.c.id)
    finished = newest.where(e.c.completed_at.is_not(None))
    statement = select(newest.scalar_subquery(), finished.scalar_subquery()).where(periodic_task.c.id.in_(task_ids))
    return {execution_id for row in conn.execute(statement) for execution_id in row if execution_id is not None}


def surplus_executions(conn: Connection, task_id: int, keep: int, limit: int) -> list[int]:
    """The oldest finished executions of a task beyond its ``keep`` newest ones (at least 1)."""
    cut = (
        select(e.c.id).where(e.c.task_id == task_id).order_by(e.c.id.desc()).offset(keep - 1).limit(1).scalar_subquery()
    )
    statement = (
        select(e.c.id)
        .where(e.c.task_id == task_id, e.c.completed_at.is_not(None), e.c.id < cut, ~NEEDED_EXECUTION)
        .order_by(e.c.id)
        .limit(limit)
    )
    kept = kept_executions(conn, [task_id])
    return [execution_id for execution_id in conn.execute(statement).scalars() if execution_id not in kept]


def tasks_with_history(conn: Connection, after: int, limit: int) -> list[int]:
    """The ids of ``limit`` tasks after id ``after`` that have history, existing or deleted ones, ascending."""
    tables = (e, r, skipped_occurrence)
    found: list[int] = []
    while len(found) < limit:
        smallest = [
            conn.execute(select(func.min(table.c.task_id)).where(table.c.task_id > after)).scalar_one()
            for table in tables
        ]
        present = [task_id for task_id in smallest if task_id is not None]
        if not present:
            break
        after = min(present)
        found.append(after)
    return found


BATCH: Final = 500
MOST: Final = 10_000
"""So many executions are looked at, unless said."""

MOST_TASKS: Final = 500
"""Of so many tasks the surplus is looked for."""


@dataclass(frozen=True, slots=True)
class Prunable:
    """Hold the history that would be deleted.

    Attributes:
        executions: The executions, oldest first.
        complete: False: there is more than was looked at, and more may go.
    """

    executions: list[int]
    complete: bool


def prunable(conn: Connection, kept: Keeping, keep: int | None, *, most: int = MOST) -> Prunable:
    """Look for the executions that a pruning would delete; bounded work, however long the log is.

    Args:
        conn: A connection.
        kept: How long history is kept.
        keep: Of each task only so many executions stay (at least 1); None = any number.
        most: So many executions are looked at because of their age, so many because of their number, and so many runs
            for each time that some job or group says.
    """
    doomed, complete = _old(conn, kept, most)
    for each in kept.shorter:
        more, all_of_them = _brief(conn, each, kept, most)
        doomed, complete = doomed | more, complete and all_of_them
    if keep is not None:
        surplus, all_surplus = _surplus(conn, doomed, keep, most)
        doomed, complete = doomed | surplus, complete and all_surplus
    return Prunable(sorted(doomed), complete)


def _brief(conn: Connection, keep: timedelta, kept: Keeping, most: int) -> tuple[set[int], bool]:
    """Return executions of runs that are kept for this shorter time, and whether these are all of them."""
    doomed: set[int] = set()
    place: RunPlace | None = RunPlace(kept.before)
    looked_at = 0
    while place is not None and looked_at < most:
        step = briefly_kept(conn, keep, kept, place, BATCH)
        doomed.update(step.executions)
        place, looked_at = step.place, looked_at + BATCH
    return doomed, place is None


def _old(conn: Connection, kept: Keeping, most: int) -> tuple[set[int], bool]:
    """Return executions beyond the age, and whether these are all of them."""
    doomed: set[int] = set()
    after, looked_at, more = 0, 0, True
    while more and looked_at < most:
        size = min(BATCH, most - looked_at)
        step = old_executions(conn, after, kept.before, size, kept)
        doomed.update(step.doomed)
        after, more, looked_at = step.last, step.more, looked_at + size
    return doomed, not more


def _surplus(conn: Connection, gone: set[int], keep: int, most: int) -> tuple[set[int], bool]:
    """Return executions beyond the number once ``gone`` are deleted, and whether these are all of them."""
    tasks = tasks_with_history(conn, 0, MOST_TASKS + 1)
    doomed: set[int] = set()
    room = most
    for task_id in tasks[:MOST_TASKS]:
        newest = select(e.c.id, e.c.completed_at).where(e.c.task_id == task_id).order_by(e.c.id.desc()).limit(room + 1)
        rows = conn.execute(newest).all()
        kept = kept_executions(conn, [task_id])
        left = [row for row in rows[:room] if row.id not in gone]
        surplus = [row.id for row in left[keep:] if row.completed_at is not None and row.id not in kept]
        doomed.update(set(surplus) - _needed(conn, surplus))
        if len(rows) > room:
            return doomed, False
        room -= len(rows)
    return doomed, len(tasks) <= MOST_TASKS
