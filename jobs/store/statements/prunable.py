"""Find the history that a pruning would delete, without deleting anything, and the part of it that is still needed.

Everything that deletes history asks ``NEEDED_FLOW``, ``needed_run`` and ``NEEDED_EXECUTION`` first, or the parts
of these two: by age, by number, or because somebody asked for it. On PostgreSQL the history stands in blocks (see
``schema.parts``), and those of which hardly anything is kept go as a whole.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)

from ...core.defaults import Keeping
from ...core.states import RELEASING
from ..db.dialect import is_postgresql
from ..db.functions import sql_literals
from ..schema.parts import block_name
from ..schema.tables import event, periodic_task, remote_attempt, skipped_occurrence
from ..schema.tables import execution_log as line
from ..schema.tables import flow as f
from ..schema.tables import job as j
from ..schema.tables import job_execution as e
from ..schema.tables import queue_group as g
from ..schema.tables import run as r
from ..schema.tables import run_awaited as a
from ..schema.types import SCHEMA, Part, SchemaText, UtcDateTime
from . import archive

BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Before every run."""

IN_FLOW: Final = r.c.flow_id.is_not(None) & exists().where(f.c.id == r.c.flow_id)
"""That a run belongs to a flow that is still there: a flow is pruned as a whole."""

_parent = r.alias("parent")
NEEDED_FLOW: Final = or_(
    f.c.finished_at.is_(None), exists().where(_parent.c.id == f.c.parent_id, _parent.c.finished_at.is_(None))
)
"""That a flow has not ended, or that the run has not that began it: each attempt reads how the flow ended."""


_AT_ENGINE: Final = select(remote_attempt.c.run_id).where(remote_attempt.c.over_at.is_(None))
"""The runs of which an engine outside is yet to be asked to forget an attempt."""
_of_execution = r.alias("of_execution")
NEEDED_BY_EXECUTIONS: Final = (
    select(_of_execution.c.id).where(_of_execution.c.finished_at.is_(None)),
    select(_of_execution.c.id).join(f, f.c.id == _of_execution.c.flow_id).where(NEEDED_FLOW),
    _AT_ENGINE,
)
"""The runs that have not ended, those of flows that are needed (their page shows all attempts), and those that an
engine still knows: their executions are needed. In a long history they are few."""


def _is_of(rows: Sequence[Select[Any]], key: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that one of these selects returns an id; each is checked row by row."""
    return or_(*(one.where(one.selected_columns[0] == key).exists() for one in rows))


NEEDED_EXECUTION: Final = _is_of(NEEDED_BY_EXECUTIONS, e.c.run_id)
"""That an execution is needed by its run."""

NEEDED_ENDED_RUNS: Final = (
    select(_of_execution.c.id).join(f, f.c.id == _of_execution.c.flow_id),
    select(a.c.awaited_id),
    _AT_ENGINE,
)
"""The runs that are part of a flow that is still there, those that a step is yet to read, and those that an engine
knows: they are needed once they have ended."""


def needed_run(now: datetime) -> ColumnElement[bool]:
    """Return the condition of an ended run that a flow, a step or an engine still needs, or that holds its key.

    It holds its unique key for a time that is not over.
    """
    return or_(_is_of(NEEDED_ENDED_RUNS, r.c.id), _holds_key(now))


def _holds_key(now: datetime) -> ColumnElement[bool]:
    return and_(r.c.key_until.is_not(None), r.c.key_until > now, r.c.state.not_in(sql_literals(RELEASING)))


def aged_execution(kept: Keeping) -> ColumnElement[bool]:
    """Return the condition of an ended execution that is old enough to be deleted; it may still be needed."""
    group = select(r.c.group_name).where(r.c.id == e.c.run_id).scalar_subquery()
    return and_(
        e.c.completed_at.is_not(None),
        e.c.started_at < kept.before,
        e.c.completed_at < kept.before,
        _is_over(kept, e.c.completed_at, e.c.job_name, group),
    )


def aged_run(kept: Keeping) -> ColumnElement[bool]:
    """Return the condition of an ended run that is old enough to be deleted and holds no key.

    It may be one of ``NEEDED_ENDED_RUNS``, and may have executions.
    """
    over = _is_over(kept, r.c.finished_at, r.c.job_name, r.c.group_name)
    return and_(r.c.finished_at < kept.before, over, ~_holds_key(kept.now))


def over_event(before: datetime) -> ColumnElement[bool]:
    """Return the condition of a batch of events that is older than ``before`` and has a number for readers."""
    return and_(event.c.at < before, event.c.seq.is_not(None))


def _is_over(
    kept: Keeping, ended: ColumnElement[datetime], job_name: ColumnElement[str], group_name: ColumnElement[str]
) -> ColumnElement[bool]:
    """Return the condition of ``Keeping.is_over``, for rows that ended before ``kept.before``."""
    if not kept.has_longer:
        return true()
    limits = [
        (column == name, literal(kept.before_of(timedelta(seconds=seconds)), UtcDateTime()))
        for column, said in ((group_name, kept.groups), (job_name, kept.jobs))
        for name, seconds in said.items()
    ]
    return ended < case(*limits, else_=literal(kept.before, UtcDateTime()))


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
    archived = archive.of(conn)
    by_group = {row.name: row.keep for row in groups}
    return Keeping(now, age, by_job, by_group, None if archived is None else archived.through)


def ended_runs(conn: Connection, place: RunPlace, before: datetime, limit: int, now: datetime) -> Sequence[Any]:
    """Return ``limit`` runs that finished before ``before``, after ``place``, in the order in which they did.

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
    """Return those of ``limit`` runs finished after ``place`` that are kept for ``keep``, and are over.

    Runs of flows are left out: a flow goes as a whole, and not before its usual time.
    """
    rows = ended_runs(conn, place, kept.before_of(keep), limit, kept.now)
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


def old_executions(conn: Connection, after: int, end: int | None, limit: int, kept: Keeping) -> Walk:
    """Return those of the ``limit`` executions after id ``after``, and below ``end`` unless None, that are over.

    Ids ascend with the time of the start, so a step that finds nothing that began long enough ago is the last one:
    the young rest of the table, the largest part, is never read.
    """
    rows = conn.execute(
        select(e.c.id, e.c.task_id, e.c.started_at, (aged_execution(kept) & ~NEEDED_EXECUTION).label("over"))
        .where(e.c.id > after, *([] if end is None else [e.c.id < end]))
        .order_by(e.c.id)
        .limit(limit)
    ).all()
    if not rows:
        return Walk([], after, more=False)
    over = [row for row in rows if row.over]
    newest = kept_executions(conn, sorted({row.task_id for row in over if row.task_id is not None}))
    begun_before = any(row.started_at < kept.before for row in rows)
    return Walk([row.id for row in over if row.id not in newest], rows[-1].id, more=begun_before and len(rows) == limit)


def _needed(conn: Connection, ids: Sequence[int]) -> set[int]:
    if not ids:
        return set()
    return set(conn.execute(select(e.c.id).where(e.c.id.in_(ids), NEEDED_EXECUTION)).scalars())


def kept_executions(conn: Connection, task_ids: Sequence[int] | None) -> set[int]:
    """Return the newest execution, and the newest finished one, of each of these tasks that exist (None = of all)."""
    newest = select(func.max(e.c.id)).where(e.c.task_id == periodic_task.c.id)
    finished = newest.where(e.c.completed_at.is_not(None))
    statement = select(newest.scalar_subquery(), finished.scalar_subquery()).select_from(periodic_task)
    if task_ids is not None:
        statement = statement.where(periodic_task.c.id.in_(task_ids))
    return {execution_id for row in conn.execute(statement) for execution_id in row if execution_id is not None}


def surplus_executions(conn: Connection, task_id: int, keep: int, before: datetime | None, limit: int) -> list[int]:
    """Return the oldest executions of a task beyond its ``keep`` newest that ended before ``before`` (None = ever)."""
    cut = (
        select(e.c.id).where(e.c.task_id == task_id).order_by(e.c.id.desc()).offset(keep - 1).limit(1).scalar_subquery()
    )
    statement = (
        select(e.c.id)
        .where(e.c.task_id == task_id, ended_before(e.c.completed_at, before), e.c.id < cut, ~NEEDED_EXECUTION)
        .order_by(e.c.id)
        .limit(limit)
    )
    kept = kept_executions(conn, [task_id])
    return [execution_id for execution_id in conn.execute(statement).scalars() if execution_id not in kept]


def ended_before(ended: ColumnElement[datetime], before: datetime | None) -> ColumnElement[bool]:
    """Return the condition of an end, before ``before`` unless that is None."""
    return ended.is_not(None) if before is None else ended < before


def tasks_with_history(conn: Connection, after: int, limit: int) -> list[int]:
    """Return the ids of ``limit`` tasks after id ``after`` that have history, existing or deleted ones, ascending."""
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
        surplus, all_surplus = _surplus(conn, doomed, keep, kept.archived, most)
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
        step = old_executions(conn, after, None, size, kept)
        doomed.update(step.doomed)
        after, more, looked_at = step.last, step.more, looked_at + size
    return doomed, not more


def _surplus(conn: Connection, gone: set[int], keep: int, before: datetime | None, most: int) -> tuple[set[int], bool]:
    """Return executions beyond the number once ``gone`` are deleted, and whether these are all of them."""
    tasks = tasks_with_history(conn, 0, MOST_TASKS + 1)
    doomed: set[int] = set()
    room = most
    for task_id in tasks[:MOST_TASKS]:
        newest = select(e.c.id, e.c.completed_at).where(e.c.task_id == task_id).order_by(e.c.id.desc()).limit(room + 1)
        rows = conn.execute(newest).all()
        kept = kept_executions(conn, [task_id])
        left = [row for row in rows[:room] if row.id not in gone]
        ended = (row for row in left[keep:] if row.completed_at is not None and row.id not in kept)
        surplus = [row.id for row in ended if before is None or row.completed_at < before]
        doomed.update(set(surplus) - _needed(conn, surplus))
        if len(rows) > room:
            return doomed, False
        room -= len(rows)
    return doomed, len(tasks) <= MOST_TASKS


@dataclass(frozen=True, slots=True)
class History:
    """Name a table whose rows stand in blocks.

    Attributes:
        name: The table whose parts the blocks are.
        id: The column by which they are divided.
        source: The table that gives the ids.
    """

    name: str
    table: Table
    id: Column[int]
    source: Table

    def within(self, end: int) -> ColumnElement[bool]:
        """Return the condition of a row in a block below ``end``; rows of the open part do not meet it."""
        below = self.id < end
        return below if self.table is line else below & self.ended.is_not(None)

    @property
    def ended(self) -> ColumnElement[datetime]:
        """When a row became history; log lines say it of their executions."""
        return _ENDED[self.name]


RUNS: Final = History(f"run_{Part.DONE}", r, r.c.id, r)
EXECUTIONS: Final = History(f"job_execution_{Part.DONE}", e, e.c.id, e)
LINES: Final = History("execution_log", line, line.c.execution_id, e)
EVENTS: Final = History("event", event, event.c.id, event)
_ENDED: Final = {RUNS.name: r.c.finished_at, EXECUTIONS.name: e.c.completed_at, EVENTS.name: event.c.at}
HISTORIES: Final = (RUNS, EXECUTIONS, LINES, EVENTS)


@dataclass(frozen=True, slots=True)
class Block:
    """Hold the bounds of a block.

    Attributes:
        history: The table that it is a part of.
        number: Ascends with the ids; 0 = the rows that were carried over from dropped blocks.
        first: Its first id; None = no lower bound.
        end: The first id behind it; None = no upper bound.
    """

    history: str
    number: int
    first: int | None
    end: int | None

    @property
    def name(self) -> str:
        """The name of its table."""
        return block_name(self.history, self.number)


def blocks_of(conn: Connection, history: str) -> list[Block]:
    """Return the blocks of a history, the oldest first; on SQLite there are none."""
    if not is_postgresql(conn):
        return []
    found = (_block(history, row) for row in conn.execute(_BLOCKS, {"history": history}))
    return sorted(found, key=lambda one: one.number)


def _block(history: str, row: Any) -> Block:
    bounds = _BOUNDS.search(row.bounds)
    assert bounds is not None, f"{row.name} {row.bounds}"
    first, end = (None if one is None else int(one) for one in bounds.groups())
    return Block(history, int(row.name.rpartition("_")[2]), first, end)


_BOUNDS: Final = re.compile(r"FROM \((?:MINVALUE|'(\d+)')\) TO \((?:MAXVALUE|'(\d+)')\)")
_BLOCKS: Final = SchemaText(f"""
    SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    JOIN pg_namespace n ON n.oid = p.relnamespace
    WHERE n.nspname = '{SCHEMA}' AND p.relname = :history
""")


def newest_id(conn: Connection, history: History) -> int:
    """Return the greatest id that has been given to a row of this history; 0 = none has."""
    newest: int | None = conn.execute(select(func.max(history.source.c.id))).scalar_one()
    return newest or 0


FEW: Final = 100_000
"""Rows of a block that are young at most, for it to count as old."""
KEPT_SHARE: Final = 10
"""Of the rows of old blocks at most one in so many is carried over; where more are kept, it goes row by row."""
LONGER: Final = 10
"""Rows wait for their whole block for this part of the time for which they are kept at most."""


@dataclass(frozen=True, slots=True)
class OldBlocks:
    """Divide a history by the treatment of its blocks by a pruning.

    Attributes:
        blocks: Those in which hardly anything is young, the oldest first, if any of them is not the one that holds what
            was carried over.
        spared: The first id of those that will soon be old as a whole; None = there is none.
    """

    blocks: Sequence[Block]
    spared: int | None

    @property
    def end(self) -> int:
        """The first id behind the old blocks."""
        end = self.blocks[-1].end
        assert end is not None
        return end


def old_blocks(conn: Connection, history: History, kept: Keeping, few: int = FEW) -> OldBlocks:
    """Find the blocks that are old by the usual time for which history is kept, and those that will be soon.

    Args:
        kept: How long history is kept.
        few: Of an old block at most so many rows are young.
    """
    ended, newest = history.ended, newest_id(conn, history)
    old: list[Block] = []
    for block in blocks_of(conn, history.name):
        if block.end is None or block.end > newest:
            # It is being filled.
            break
        if _has_few(conn, history, block, ended >= kept.before, few):
            old.append(block)
            continue
        soon = _has_few(conn, history, block, ended >= kept.before + kept.age / LONGER, few)
        return OldBlocks(_worth_it(old), (block.first or 0) if soon else None)
    return OldBlocks(_worth_it(old), None)


def _worth_it(old: Sequence[Block]) -> Sequence[Block]:
    return old if old and old[-1].number > 0 else ()


def _has_few(conn: Connection, history: History, block: Block, condition: ColumnElement[bool], few: int) -> bool:
    assert block.end is not None
    bounds = history.within(block.end) & (history.id >= (block.first or 0))
    found = select(history.id).where(bounds, condition).limit(few + 1).subquery()
    count: int = conn.execute(select(func.count()).select_from(found)).scalar_one()
    return count <= few
