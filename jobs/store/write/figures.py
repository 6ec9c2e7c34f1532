"""Count for charts and statistics: the execution log by the hour, the queue by the minute.

The log is counted so that figures over days cost the same however many executions there were. An hour is counted once,
when it is over and nothing that began in it still runs: then its executions do not change any more.
For hours nothing is written where executions begin and end; readers count the few hours that are not counted yet in the
log itself. The minutes of the last two days are counted by the transactions that end executions. Executions pruned by
number later stay counted; by age the hours go with the log.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, literal, select, tuple_

from ...core.states import RunState
from ..db import dialect
from ..db.unreadable import AnySelect
from ..read.figures.depth import UNNAMED, Part
from ..read.figures.hours import HOUR, KEPT_FOR, figures
from ..schema.figures import HourKind
from ..schema.tables import execution_hour as h
from ..schema.tables import execution_minute as m
from ..schema.tables import job_execution as e
from ..schema.tables import queue_depth as d
from ..schema.tables import run
from ..schema.types import UtcDateTime

_NAMES: Final[dict[HourKind, ColumnElement[Any]]] = {
    HourKind.JOB: e.c.job_name,
    HourKind.TASK: e.c.task_name,
    HourKind.GROUP: run.c.group_name,
    HourKind.NODE: e.c.node,
}
"""Columns that are counted by name, in addition to everything."""
_COUNTS: Final = ("ended", "failures", "successes")
MERGED: Final = 0
"""The shard of minutes that have been added up; no connection of PostgreSQL has this number."""
MOST_PARTS = 200
"""Rows of a minute besides the sums of further ones: two days of them are half a million at the very most."""


def count_hour(conn: Connection, hour: datetime) -> bool:
    """Count an hour that is over, unless something that began in it still runs; return whether it is counted now.

    Counting it twice changes nothing: two nodes may try at once.
    """
    in_hour = (e.c.started_at >= hour, e.c.started_at < hour + HOUR)
    if conn.execute(select(exists().where(e.c.completed_at.is_(None), *in_hour))).scalar_one():
        return False
    for kind, name in _NAMES.items():
        rows = _counted(literal(kind.value), name, hour).where(*in_hour, name.is_not(None)).group_by(name)
        if kind is HourKind.GROUP:
            rows = rows.where(run.c.id == e.c.run_id)
        conn.execute(_inserting(conn, rows))
    # This one last, and also without any execution: it shows that the hour is counted.
    conn.execute(_inserting(conn, _counted(literal(HourKind.ALL.value), literal(""), hour).where(*in_hour)))
    _merge_minutes(conn, hour)
    conn.execute(delete(m).where(m.c.minute < hour - KEPT_FOR))
    return True


def _merge_minutes(conn: Connection, hour: datetime) -> None:
    """Add up the counts of several connections in the minutes of an hour in which nothing is counted any more."""
    if not dialect.is_postgresql(conn):
        return
    # Where a transaction counts at this moment, its row stays as it is, so that neither waits for the other.
    free = (
        select(m.c.minute, m.c.shard)
        .where(m.c.minute >= hour, m.c.minute < hour + HOUR, m.c.shard != MERGED)
        .with_for_update(skip_locked=True)
        .cte("free")
        .prefix_with("MATERIALIZED")
    )
    apart = (
        delete(m)
        .where(m.c.minute == free.c.minute, m.c.shard == free.c.shard)
        .returning(m.c.minute, *(m.c[name] for name in _COUNTS))
        .cte("apart")
    )
    sums = (func.sum(apart.c[name]) for name in _COUNTS)
    rows = select(apart.c.minute, literal(MERGED), *sums).group_by(apart.c.minute)
    key = ("minute", "shard")
    conn.execute(dialect.adding(conn, m, key, _COUNTS).from_select([*key, *_COUNTS], rows))


def _counted(kind: ColumnElement[str], name: ColumnElement[Any], hour: datetime) -> AnySelect:
    return select(kind, name, literal(hour, UtcDateTime()), *figures())


def _inserting(conn: Connection, rows: AnySelect) -> Any:
    columns = ["kind", "name", "hour", "executions", "failures", "successes", "records"]
    return dialect.insert_or_ignore(conn, h).from_select(columns, rows)


def prune_hours(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` rows of hours that ended before ``before``; returns how many."""
    key = (h.c.kind, h.c.name, h.c.hour)
    doomed = select(*key).where(h.c.hour <= before - HOUR).order_by(h.c.hour).limit(limit)
    return conn.execute(delete(h).where(tuple_(*key).in_(doomed))).rowcount


def keep_depth(conn: Connection, minute: datetime, parts: Sequence[Part]) -> bool:
    """Store the depth of a minute; False if another node has stored it or is about to: then nothing is written.

    Args:
        minute: The beginning of it.
        parts: The queue as it is, the largest parts first.
    """
    first, *others = _rows(minute, parts)
    # On PostgreSQL another node's row of the same minute is waited for, so only one of them goes on.
    mark = dialect.insert_or_ignore(conn, d).values(first).returning(d.c.at)
    if conn.execute(mark).first() is None:
        return False
    if others:
        conn.execute(insert(d), others)
    return True


def forget_depth(conn: Connection, before: datetime) -> int:
    """Delete the minutes before ``before``; returns how many rows they had."""
    return conn.execute(delete(d).where(d.c.at < before)).rowcount


def _rows(minute: datetime, parts: Sequence[Part]) -> list[dict[str, object]]:
    """Return the rows of a minute, the one that announces the others first."""
    sums = {RunState.WAITING: Part(UNNAMED, UNNAMED, RunState.WAITING, 0, None)}
    for part in parts[MOST_PARTS:]:
        before = sums.get(part.state)
        runs = part.runs + (before.runs if before else 0)
        oldest = min((one.oldest_at for one in (part, before) if one and one.oldest_at is not None), default=None)
        sums[part.state] = Part(UNNAMED, UNNAMED, part.state, runs, oldest)
    return [
        {
            "at": minute,
            "job_name": part.job_name,
            "group_name": part.group_name,
            "state": part.state.value,
            "runs": part.runs,
            "oldest_at": part.oldest_at,
        }
        for part in (*sums.values(), *parts[:MOST_PARTS])
    ]
