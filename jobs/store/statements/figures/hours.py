"""Count the execution log by hours, so that figures over days cost the same however many executions there were.

An hour is counted once, when it is over and nothing that began in it still runs: then its executions do not change any
more. Nothing is written for it where executions begin and end; readers count the few hours that
are not counted yet in the log itself. Executions pruned by number later stay counted; by age the hours go with the log.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, delete, exists, func, insert, literal, select, tuple_

from ....core.model import FAILURES, Outcome
from ....core.states import RunState
from ...db import dialect
from ...db.functions import bucket_start, sql_literal, sql_literals
from ...db.unreadable import AnySelect
from ...schema.records import HourKind
from ...schema.tables import execution_hour as h
from ...schema.tables import execution_minute as m
from ...schema.tables import job_execution as e
from ...schema.tables import queue_depth as d
from ...schema.tables import run
from ...schema.types import UtcDateTime
from .depth import UNNAMED, Part
from .scope import Scope

HOUR = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)
KEPT_FOR: Final = 2 * DAY + HOUR
"""So long before the newest hour that is over."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Count the executions that failed (or timed out, or were lost), and those that succeeded."""

    failures: int = 0
    successes: int = 0


NONE: Final = Ends()


def ended(conn: Connection, start: datetime, end: datetime) -> Mapping[datetime, int]:
    """Count the executions that ended in each minute of ``start <= minute < end``; empty minutes are left out."""
    statement = select(m.c.minute, func.sum(m.c.ended)).where(_between(start, end)).group_by(m.c.minute)
    return {minute: int(number) for minute, number in conn.execute(statement)}


def of_two_days(conn: Connection, before: datetime, day: datetime, end: datetime) -> tuple[Ends, Ends]:
    """Return the ends of executions that began in ``before <= time < day``, and in ``day <= time < end``.

    Args:
        before: The beginning of the first span; all three are whole minutes.
        day: The end of it.
        end: The end of the second one.
    """
    is_later = case((m.c.minute >= day, 1), else_=0).label("is_later")
    sums = (func.sum(m.c.failures), func.sum(m.c.successes))
    found = {
        later: Ends(int(failures), int(successes))
        for later, failures, successes in conn.execute(
            select(is_later, *sums).where(_between(before, end)).group_by(is_later)
        )
    }
    return found.get(0, NONE), found.get(1, NONE)


def _between(start: datetime, end: datetime) -> ColumnElement[bool]:
    return (m.c.minute >= start) & (m.c.minute < end)


COUNTED_AFTER = timedelta(minutes=5)
"""After the end of an hour: so long a start may be under way to its commit. Transactions are cut off much earlier."""


LOOK_BACK = timedelta(days=7)
FARTHEST = timedelta(days=400)

_FILTERS: Final = {
    HourKind.JOB: "job_name",
    HourKind.TASK: "task_name",
    HourKind.GROUP: "group",
    HourKind.NODE: "node",
}
"""Fields of a ``Scope`` by the kind of name that they have, in its order."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Count executions by their begin: all, failed (or timed out, or lost), succeeded; and add up their records."""

    executions: int = 0
    failures: int = 0
    successes: int = 0
    records: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.executions + other.executions,
            self.failures + other.failures,
            self.successes + other.successes,
            self.records + other.records,
        )


def hour_of(instant: datetime) -> datetime:
    """Return the beginning of the hour that a time is in."""
    return instant.replace(minute=0, second=0, microsecond=0)


def first_to_count(conn: Connection, now: datetime) -> datetime | None:
    """Return the hour at which counting begins when a node starts; None without any execution.

    With the whole log, or where that has been done a week before the newest hour that is counted: pruning leaves
    hardly anything older, and takes the hours with it.
    """
    oldest = conn.execute(select(func.min(e.c.started_at, type_=UtcDateTime()))).scalar_one()
    if oldest is None:
        return None
    newest = conn.execute(select(func.max(h.c.hour, type_=UtcDateTime())).where(_of(HourKind.ALL, ""))).scalar_one()
    return max(hour_of(oldest), hour_of(now) - FARTHEST if newest is None else newest - LOOK_BACK)


def uncounted(conn: Connection, start: datetime, now: datetime) -> list[datetime]:
    """Return the hours since ``start`` that are over at ``now`` and not counted yet, oldest first."""
    end = hour_of(now - COUNTED_AFTER)
    known = counted(conn, start, end)
    hours = (start + number * HOUR for number in range(max(0, (end - start) // HOUR)))
    return [hour for hour in hours if hour not in known]


def counted(conn: Connection, start: datetime, end: datetime) -> set[datetime]:
    """Return the hours that begin in ``start <= hour < end`` and are counted."""
    statement = select(h.c.hour).where(_of(HourKind.ALL, ""), h.c.hour >= start, h.c.hour < end)
    return set(conn.execute(statement).scalars())


def kind_of(scope: Scope) -> tuple[HourKind, str] | None:
    """Return the kind and name by which a scope is counted ahead; None if it has several names or a label."""
    names = {kind: getattr(scope, attribute) for kind, attribute in _FILTERS.items()}
    named: list[tuple[HourKind, str]] = [(kind, name) for kind, name in names.items() if name is not None]
    if len(named) > 1 or scope.label is not None:
        return None
    return named[0] if named else (HourKind.ALL, "")


def figures() -> list[ColumnElement[int]]:
    """Return the columns of a ``Tally``, over rows of the log."""

    def number_of(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)

    return [
        func.count(),
        number_of(e.c.outcome.in_(sql_literals(FAILURES))),
        number_of(e.c.outcome == sql_literal(Outcome.SUCCESS)),
        func.coalesce(func.sum(e.c.records_processed), 0),
    ]


def tallies(
    conn: Connection, start: datetime, end: datetime, seconds: int, of: tuple[HourKind, str]
) -> dict[datetime, Tally]:
    """Return the counts of the executions that began in ``start <= time < end``, by bucket of ``seconds``.

    Args:
        start: The beginning of the span.
        end: Its end, not included.
        seconds: The width of a bucket; buckets are aligned to the epoch.
        of: Of everything, a job, a task, a group or a node, and its name.

    Returns:
        By the beginning of each bucket that has any.
    """
    found: dict[datetime, Tally] = {}

    def add(bucket: datetime, tally: Tally) -> None:
        if tally.executions:
            found[bucket] = found.get(bucket, Tally()) + tally

    spans = [(start, end)]
    if seconds % 3600 == 0:
        whole = {hour for hour in counted(conn, start, end) if hour + HOUR <= end}
        spans = gaps(start, end, whole)
        for hour, tally in _stored(conn, start, end, of):
            if hour in whole:
                add(_bucket(hour, seconds), tally)
    for first, last in spans:
        for bucket, tally in _in_log(conn, first, last, seconds, of):
            add(bucket, tally)
    return found


def gaps(start: datetime, end: datetime, hours: Collection[datetime]) -> list[tuple[datetime, datetime]]:
    """Return the spans of ``start <= time < end`` outside these hours, all of which lie within, in order."""
    edges = [start, *(edge for hour in sorted(hours) for edge in (hour, hour + HOUR)), end]
    return [(first, last) for first, last in zip(edges[::2], edges[1::2], strict=True) if first < last]


def _bucket(instant: datetime, seconds: int) -> datetime:
    at = int(instant.timestamp())
    return datetime.fromtimestamp(at - at % seconds, UTC)


def _of(kind: HourKind, name: str) -> ColumnElement[bool]:
    return and_(h.c.kind == sql_literal(kind), h.c.name == name)


def _stored(
    conn: Connection, start: datetime, end: datetime, of: tuple[HourKind, str]
) -> Iterator[tuple[datetime, Tally]]:
    figures = (h.c.executions, h.c.failures, h.c.successes, h.c.records)
    for hour, *counts in conn.execute(select(h.c.hour, *figures).where(_of(*of), h.c.hour >= start, h.c.hour < end)):
        yield hour, Tally(*counts)


def _in_log(
    conn: Connection, start: datetime, end: datetime, seconds: int, of: tuple[HourKind, str]
) -> Iterator[tuple[datetime, Tally]]:
    kind, name = of
    job, task, group, node = (name if kind is one else None for one in _FILTERS)
    scope = Scope(start, end, job, task, group, node)
    bucket = bucket_start(e.c.started_at, literal(seconds)).label("bucket")
    for at, *counts in conn.execute(select(bucket, *figures()).where(scope.condition()).group_by(bucket)):
        yield datetime.fromtimestamp(at, UTC), Tally(*map(int, counts))


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
