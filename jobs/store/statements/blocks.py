"""Make and drop the blocks of a history on PostgreSQL (see ``schema.parts``).

Who changes which blocks there are locks everybody else out of the history for a moment, and waits for that no longer
than ``LOCK_TIMEOUT``: who comes behind it waits as well. It fails like any conflict then, and nothing was done. The
long work, the copying of kept rows, is done before; changes of the rows meanwhile are made to the copies
afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    MetaData,
    Select,
    Table,
    exists,
    func,
    insert,
    literal,
    select,
    text,
    true,
    union_all,
)

from ...core.defaults import Keeping
from ..schema.parts import BLOCK, block_name
from ..schema.tables import execution_log as line
from ..schema.tables import job_execution as e
from ..schema.tables import remote_attempt, run_awaited, run_label, run_signal, run_step, signal_link
from ..schema.tables import run as r
from ..schema.types import SCHEMA, SchemaText
from ..statements.prunable import (
    EVENTS,
    EXECUTIONS,
    FEW,
    HISTORIES,
    KEPT_SHARE,
    LINES,
    NEEDED_BY_EXECUTIONS,
    NEEDED_ENDED_RUNS,
    RUNS,
    Block,
    History,
    OldBlocks,
    aged_execution,
    aged_run,
    blocks_of,
    kept_executions,
    over_event,
)

LOCK_TIMEOUT: Final = "500ms"
"""Less than the second after which PostgreSQL looks for deadlocks: where two wait for each other, the pruning gives
way."""
_BRIEF: Final = "100ms"
"""The same for what is tried again every minute, by every node, while a long transaction of somebody else goes on."""
_PATIENCE: Final = "3s"
"""For a lock behind which hardly anybody waits."""
_LONGEST: Final = "30min"
"""For which one statement may read and copy old blocks; nothing waits for it."""


def cut(conn: Connection, history: History, newest: int, size: int = BLOCK) -> bool:
    """Give the last block of a history an end, and make the one behind it, if ids will soon be there.

    Ids that are far within the last block already stay there: PostgreSQL would read all of its rows while writers wait.

    Args:
        newest: The greatest id that is in use.
        size: Ids of a block.
    """
    last = blocks_of(conn, history.name)[-1]
    assert last.first is not None
    if not last.first - size // 2 < newest < last.first + FEW:
        return False
    made = Block(history.name, last.number + 1, last.first + size, None)
    _lock(conn, history, _BRIEF)
    _execute(
        conn,
        f"ALTER TABLE {SCHEMA}.{history.name} DETACH PARTITION {SCHEMA}.{last.name}",
        f"{_attach(history, last.name)} FROM ({last.first}) TO ({made.first})",
    )
    names = _make_like(conn, last, made.name, made.number)
    _execute(conn, f"{_attach(history, made.name)} FROM ({made.first}) TO (MAXVALUE)")
    _rename_indexes(conn, names)
    return True


@dataclass(frozen=True, slots=True)
class Carried:
    """Hold the rows of old blocks that a history is to keep, copied to a table of its own.

    Attributes:
        blocks: The old ones.
        before: Rows that ended at this time or later are young.
        seen: The transaction from which on changes were not seen by the copy.
        rows: How many rows there were.
        copies: How many of them were copied.
    """

    history: History
    blocks: Sequence[Block]
    before: datetime
    seen: str
    rows: int
    copies: int

    @property
    def next(self) -> Table:
        """The table with the copies."""
        return _NEXT[self.history.name]

    @property
    def end(self) -> int:
        """The first id behind the blocks."""
        return OldBlocks(self.blocks, None).end


def drop_executions(conn: Connection, old: OldBlocks, kept: Keeping) -> dict[str, int] | None:
    """Drop old blocks of executions with their log lines; rows still needed are carried over.

    Returns:
        How many ``executions`` and ``log_lines`` are gone; None = too much would have to be carried over.
    """
    carried = carry_over_executions(conn, old, kept)
    return None if carried is None else replace_executions(conn, *carried)


def drop_runs(conn: Connection, old: OldBlocks, kept: Keeping) -> dict[str, int] | None:
    """Drop old blocks of runs, with the rows that belong to them; runs still needed are carried over.

    Returns:
        How many ``runs`` are gone; None = too much would have to be carried over.
    """
    carried = carry_over_runs(conn, old, kept)
    return None if carried is None else {"runs": replace_runs(conn, carried)}


def drop_events(conn: Connection, old: OldBlocks, kept: Keeping) -> dict[str, int] | None:
    """Drop old blocks of events; those without a number are carried over.

    Returns:
        How many ``events`` are gone; None = too much would have to be carried over.
    """
    carried = _carry_over(conn, EVENTS, old.blocks, kept, ~over_event(kept.before))
    if carried is None:
        return None
    return {"events": _replace(conn, carried)}


def carry_over_executions(conn: Connection, old: OldBlocks, kept: Keeping) -> tuple[Carried, Carried] | None:
    """Copy the old executions to keep, and their log lines; nobody has to wait for it."""
    blocks = [one for one in blocks_of(conn, LINES.name) if one.end is not None and one.end <= old.end]
    if not blocks or blocks[-1].end != old.end:
        return None
    newest = [one for one in kept_executions(conn, None) if one < old.end]
    young = ~aged_execution(kept) | e.c.id.in_(newest)
    executions = _carry_over(
        conn, EXECUTIONS, old.blocks, kept, young, e.c.run_id.in_(union_all(*NEEDED_BY_EXECUTIONS))
    )
    if executions is None:
        return None
    lines = Carried(LINES, blocks, kept.before, _seen(conn), _count(conn, LINES, old.end), 0)
    _make_next(conn, lines)
    return executions, replace(lines, copies=_copy_lines(conn, _with_open(executions, true())))


def carry_over_runs(conn: Connection, old: OldBlocks, kept: Keeping) -> Carried | None:
    """Copy the old runs to keep, and delete the rows of the others; nobody has to wait for it."""
    executed = select(e.c.run_id).where(e.c.run_id < old.end)
    needed = r.c.id.in_(union_all(executed, *NEEDED_ENDED_RUNS))
    runs = _carry_over(conn, RUNS, old.blocks, kept, ~aged_run(kept), needed)
    if runs is not None:
        for table in (run_step, run_awaited, run_signal, signal_link, run_label, remote_attempt):
            of_run = table.c.run_id
            copied = exists().where(runs.next.c.id == of_run)
            still_open = exists().where(r.c.id == of_run, r.c.finished_at.is_(None))
            conn.execute(table.delete().where(of_run < old.end, ~copied, ~still_open))
    return runs


def replace_executions(conn: Connection, executions: Carried, lines: Carried) -> dict[str, int]:
    """Replace the old blocks by the copies; return how many executions and lines are gone."""
    for one in (lines, executions):
        _lock(conn, one.history)
    _bring_up_to_date(conn, executions)
    # Those of others were all there when they were copied.
    _copy_lines(conn, _with_open(executions, executions.next.c.completed_at >= executions.before))
    for one in (lines, executions):
        _swap(conn, one)
    return {"executions": executions.rows - executions.copies, "log_lines": lines.rows - lines.copies}


def _with_open(executions: Carried, condition: ColumnElement[bool]) -> CompoundSelect[Any]:
    still_open = select(e.c.id).where(e.c.completed_at.is_(None), e.c.id < executions.end)
    return select(executions.next.c.id).where(condition).union_all(still_open)


def replace_runs(conn: Connection, runs: Carried) -> int:
    """Replace the old blocks by the copies; return how many runs are gone."""
    awaited = r.c.id.in_(select(run_awaited.c.awaited_id).where(run_awaited.c.awaited_id < runs.end))
    return _replace(conn, runs, awaited)


def _replace(conn: Connection, carried: Carried, needed: ColumnElement[bool] | None = None) -> int:
    """Replace old blocks by the copies and by rows that are ``needed`` by now; return how many rows are gone."""
    _lock(conn, carried.history)
    _bring_up_to_date(conn, carried)
    late = 0 if needed is None else _copy(conn, carried, needed)
    _swap(conn, carried)
    return carried.rows - carried.copies - late


_NEXT: Final = {
    one.name: Table(
        f"{one.name}_next", MetaData(schema=SCHEMA), *(Column(each.name, each.type) for each in one.table.columns)
    )
    for one in HISTORIES
}
"""The tables for what is carried over, until they take the place of the dropped blocks."""


def _carry_over(
    conn: Connection,
    history: History,
    old: Sequence[Block],
    kept: Keeping,
    young: ColumnElement[bool],
    needed: ColumnElement[bool] | None = None,
) -> Carried | None:
    """Copy the rows that are ``young``, or ``needed``; None = these are too many, and nothing was copied.

    Those that are needed are looked for by themselves, from the few rows that need them: PostgreSQL would ask it of one
    old row after the other.
    """
    end = OldBlocks(old, None).end
    _execute(conn, f"SET LOCAL statement_timeout = '{_LONGEST}'")
    counts = select(func.count(), func.count().filter(young)).select_from(history.table).where(history.within(end))
    rows, stay = conn.execute(counts).one()
    most = rows // KEPT_SHARE
    if stay > most:
        return None
    carried = Carried(history, old, kept.before, _seen(conn), rows, 0)
    _make_next(conn, carried)
    copies = _copy(conn, carried, young)
    if needed is not None:
        copies += _copy(conn, carried, needed, most + 1)
    if copies > most:
        _execute(conn, f"DROP TABLE {SCHEMA}.{carried.next.name}")
        return None
    return replace(carried, copies=copies)


def _count(conn: Connection, history: History, end: int) -> int:
    rows: int = conn.execute(select(func.count()).select_from(history.table).where(history.within(end))).scalar_one()
    return rows


def _seen(conn: Connection) -> str:
    seen: str = conn.execute(_OLDEST_AT_WORK).scalar_one()
    return seen


def _make_next(conn: Connection, carried: Carried) -> None:
    """Create the table for the copies so that PostgreSQL need not scan it when it becomes a block."""
    history, last = carried.history, carried.blocks[-1]
    # A vacuum that works at them ends for this, and none begins; nobody else waits.
    _wait_no_longer_than(conn, _PATIENCE)
    names = ", ".join(f"{SCHEMA}.{one.name}" for one in carried.blocks)
    _execute(conn, f"LOCK TABLE {names} IN SHARE UPDATE EXCLUSIVE MODE")
    _make_like(conn, last, carried.next.name, 0)
    place = conn.execute(SchemaText(f"SELECT pg_get_partition_constraintdef('{SCHEMA}.{history.name}'::regclass)"))
    conditions = " AND ".join([*filter(None, place.scalars()), f"{history.id.name} < {last.end}"])
    _execute(conn, f"ALTER TABLE {SCHEMA}.{carried.next.name} ADD CONSTRAINT place CHECK ({conditions})")


def _copy(conn: Connection, carried: Carried, condition: ColumnElement[bool], most: int | None = None) -> int:
    """Copy at most ``most`` remaining rows of the old blocks; return how many."""
    history, made = carried.history, carried.next
    rows = select(history.table).where(history.within(carried.end), condition, ~exists().where(made.c.id == history.id))
    return _insert(conn, made, rows.limit(most))


def _copy_lines(conn: Connection, executions: Select[Any] | CompoundSelect[Any]) -> int:
    """Copy the remaining lines of these executions; return how many."""
    made, ids = _NEXT[LINES.name], executions.subquery()
    # Each by its key: PostgreSQL knows nothing of the new table, and might read all lines instead.
    of_each = select(line).where(line.c.execution_id == ids.c.id).offset(literal(0)).lateral()
    copied = exists().where(made.c.execution_id == of_each.c.execution_id, made.c.line == of_each.c.line)
    rows = select(of_each).select_from(ids.join(of_each, true())).where(~copied)
    return _insert(conn, made, rows)


def _insert(conn: Connection, made: Table, rows: Select[Any]) -> int:
    statement = insert(made).from_select([one.name for one in made.columns], rows)
    return conn.execute(statement.execution_options(preserve_rowcount=True)).rowcount


def _lock(conn: Connection, history: History, patience: str = LOCK_TIMEOUT) -> None:
    _wait_no_longer_than(conn, patience)
    _execute(conn, f"LOCK TABLE {SCHEMA}.{history.name} IN ACCESS EXCLUSIVE MODE")


def _bring_up_to_date(conn: Connection, carried: Carried) -> None:
    """Apply later changes of rows to their copies, and copy rows that have ended; the history is locked."""
    made = carried.next
    changed = SchemaText(_CHANGED.format(next=made.name, history=carried.history.name))
    stale = conn.execute(changed, {"seen": carried.seen}).scalars().all()
    if stale:
        conn.execute(made.delete().where(made.c.id.in_(stale)))
        _copy(conn, carried, carried.history.id.in_(stale))
    _copy(conn, carried, carried.history.ended >= carried.before)


def _swap(conn: Connection, carried: Carried) -> None:
    """Drop the old blocks, and let the copies be the first block."""
    history, last, made = carried.history, carried.blocks[-1], carried.next
    first = Block(history.name, 0, None, last.end)
    names = _names_of_indexes(conn, last, made.name, first.number)
    _execute(
        conn,
        *(f"ALTER TABLE {SCHEMA}.{history.name} DETACH PARTITION {SCHEMA}.{one.name}" for one in carried.blocks),
        f"{_attach(history, made.name)} FROM (MINVALUE) TO ({last.end})",
        f"ALTER TABLE {SCHEMA}.{made.name} DROP CONSTRAINT place",
        *(f"DROP TABLE {SCHEMA}.{one.name}" for one in carried.blocks),
        f"ALTER TABLE {SCHEMA}.{made.name} RENAME TO {first.name}",
    )
    _rename_indexes(conn, names)


def _make_like(conn: Connection, block: Block, name: str, number: int) -> list[tuple[str, str]]:
    """Create a table that can replace a block; return the names of its indexes, and their final names."""
    like = "INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES"
    _execute(conn, f"CREATE TABLE {SCHEMA}.{name} (LIKE {SCHEMA}.{block.name} {like})")
    return _names_of_indexes(conn, block, name, number)


def _names_of_indexes(conn: Connection, block: Block, name: str, number: int) -> list[tuple[str, str]]:
    """Return the names of the indexes of a table like a block, each with its name in the block of this number."""
    rows = conn.execute(_OWN_INDEXES, {"block": block.name, "name": name})
    return [(row.present, block_name(row.of_block.rpartition("_")[0], number)) for row in rows]


def _rename_indexes(conn: Connection, names: Sequence[tuple[str, str]]) -> None:
    _execute(conn, *(f"ALTER INDEX {SCHEMA}.{present} RENAME TO {name}" for present, name in names))


def _attach(history: History, name: str) -> str:
    return f"ALTER TABLE {SCHEMA}.{history.name} ATTACH PARTITION {SCHEMA}.{name} FOR VALUES"


def _wait_no_longer_than(conn: Connection, time: str) -> None:
    _execute(conn, f"SET LOCAL lock_timeout = '{time}'")


def _execute(conn: Connection, *statements: str) -> None:
    for one in statements:
        conn.execute(SchemaText(one))


_OLDEST_AT_WORK: Final = text("SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text)")
_CHANGED: Final = f"""
    SELECT n.id FROM {SCHEMA}.{{next}} n
    LEFT JOIN LATERAL (SELECT age(b.xmin) AS age FROM {SCHEMA}.{{history}} b WHERE b.id = n.id OFFSET 0) b ON true
    WHERE b.age IS NULL OR b.age <= age(CAST(CAST(CAST(:seen AS text) AS xid8) AS xid))
"""
_OWN_INDEXES: Final = SchemaText(f"""
    SELECT a.relname AS of_block, b.relname AS present
    FROM pg_index i JOIN pg_class a ON a.oid = i.indexrelid
    JOIN pg_class x ON x.oid = i.indrelid AND x.relname = :block AND x.relnamespace = '{SCHEMA}'::regnamespace
    JOIN pg_class y ON y.relname = :name AND y.relnamespace = x.relnamespace
    JOIN pg_index j ON j.indrelid = y.oid AND j.indisunique = i.indisunique AND NOT j.indisprimary
        AND split_part(pg_get_indexdef(j.indexrelid), ' USING ', 2)
            = split_part(pg_get_indexdef(i.indexrelid), ' USING ', 2)
    JOIN pg_class b ON b.oid = j.indexrelid
    WHERE NOT i.indisprimary
""")
