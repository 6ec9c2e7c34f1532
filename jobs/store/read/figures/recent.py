"""What ended lately, counted once: a reader remembers it, and counts only what has ended since it last looked.

The hours of ``hours`` are for good, but an hour is counted only when it is over and nothing of it still runs. Until
then readers would count the same executions again and again.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, case, func, literal, select

from ....core.model import FAILURES, Outcome
from ...db.functions import BucketStart
from ...db.literals import sql_literal, sql_literals
from ...schema.figures import HourKind
from ...schema.tables import job_execution as e
from ...schema.types import UtcDateTime
from . import hours

LAG = timedelta(seconds=30)
"""What ended so long ago is committed: it is not looked for again."""
MINUTE = timedelta(minutes=1)
FARTHEST = timedelta(days=2)
"""So far back what is not counted is looked for."""
EDGES = 4
"""So many hours are remembered by their minutes."""
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ends:
    """How many executions failed (or timed out, or were lost) or succeeded, and how many ended in all."""

    failures: int = 0
    successes: int = 0
    ended: int = 0

    def __add__(self, other: "Ends") -> "Ends":
        return Ends(self.failures + other.failures, self.successes + other.successes, self.ended + other.ended)


NONE = Ends()


@dataclass(frozen=True, slots=True)
class Lately:
    """Counts by the minute in which executions began, and by that in which they ended."""

    begun: Mapping[datetime, Ends]
    ended: Mapping[datetime, Ends]


class Recent:
    """What a reader remembers; for threads, of which one looks at a time."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._lock = threading.Lock()
        self._since = self._until = _NEVER
        self._begun: dict[datetime, Ends] = {}
        self._ended: dict[datetime, Ends] = {}
        self._edges: dict[datetime, dict[datetime, Ends]] = {}

    def look(self, conn: Connection, since: datetime, now: datetime) -> Lately:
        """What has ended since a time, of which only that is read which is not remembered.

        Args:
            conn: A connection.
            since: The time.
            now: The database's time.
        """
        with self._lock:
            if since < self._since or now < self._until:
                self._begun, self._ended, self._since, self._until = {}, {}, since, since
            closed = max(self._until, now - LAG)
            found = list(_ends(conn, self._until, closed))
            self._until = closed
            for is_closed, ended_at, began_at, ends in found:
                if is_closed:
                    _add(self._begun, began_at, ends)
                    _add(self._ended, ended_at, ends)
            _forget(self._begun, since - MINUTE)
            _forget(self._ended, since - MINUTE)
            begun, ended = dict(self._begun), dict(self._ended)
        for is_closed, ended_at, began_at, ends in found:
            if not is_closed:
                _add(begun, began_at, ends)
                _add(ended, ended_at, ends)
        return Lately(begun, ended)

    def edge(self, conn: Connection, hour: datetime) -> Mapping[datetime, Ends]:
        """The minutes of an hour that is counted, by the start; the last few hours asked for are remembered."""
        with self._lock:
            known = self._edges.get(hour)
        if known is None:
            tallies = hours.tallies(conn, hour, hour + hours.HOUR, 60, (HourKind.ALL, ""))
            known = {at: Ends(tally.failures, tally.successes) for at, tally in tallies.items()}
            with self._lock:
                self._edges[hour] = known
                while len(self._edges) > EDGES:
                    del self._edges[min(self._edges)]
        return known


def total(conn: Connection, start: datetime, end: datetime, lately: Lately, recent: Recent) -> Ends:
    """How those ended that began in ``start <= time < end``, both whole minutes.

    Args:
        conn: A connection.
        start: The beginning.
        end: The end.
        lately: What ended of the hours that are not counted.
        recent: What is remembered of those that are.
    """
    stored = hours.stored(conn, hours.hour_of(start), end)
    whole = [hour for hour in stored if start <= hour and hour + hours.HOUR <= end]
    found = sum((Ends(stored[hour].failures, stored[hour].successes) for hour in whole), NONE)
    for first, last in hours.gaps(start, end, whole):
        for at in _minutes(first, last):
            hour = hours.hour_of(at)
            found += (recent.edge(conn, hour) if hour in stored else lately.begun).get(at, NONE)
    return found


def since_of(conn: Connection, now: datetime) -> datetime:
    """Since when everything has to be looked at: since the first hour that is not counted, but for an hour at least."""
    oldest = conn.execute(select(func.min(e.c.started_at, type_=UtcDateTime()))).scalar_one()
    # Hours before the log are not counted either.
    begin = hours.hour_of(max(now - FARTHEST, oldest or now))
    known = hours.counted(conn, begin, now)
    at = begin
    while at in known:
        at += hours.HOUR
    return min(at, now.replace(second=0, microsecond=0) - hours.HOUR)


def _ends(conn: Connection, start: datetime, closed: datetime) -> Iterator[tuple[bool, datetime, datetime, Ends]]:
    """What ended since ``start``: whether before ``closed``, and the minutes of end and start."""
    is_closed = case((e.c.completed_at < literal(closed, UtcDateTime()), 1), else_=0)

    def number_of(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.sum(case((condition, 1), else_=0))

    rows = (
        select(
            is_closed.label("closed"),
            BucketStart(e.c.completed_at, literal(60)).label("ended"),
            BucketStart(e.c.started_at, literal(60)).label("begun"),
            e.c.outcome,
        )
        .where(e.c.completed_at >= start)
        .subquery("ends")
    )
    counts = (
        number_of(rows.c.outcome.in_(sql_literals(FAILURES))),
        number_of(rows.c.outcome == sql_literal(Outcome.SUCCESS)),
        func.count(),
    )
    keys = (rows.c.closed, rows.c.ended, rows.c.begun)
    for was_closed, ended, begun, *numbers in conn.execute(select(*keys, *counts).group_by(*keys)):
        yield bool(was_closed), _time(ended), _time(begun), Ends(*map(int, numbers))


def _minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    while start < end:
        yield start
        start += MINUTE


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _add(found: dict[datetime, Ends], at: datetime, ends: Ends) -> None:
    found[at] = found.get(at, NONE) + ends


def _forget(found: dict[datetime, Ends], before: datetime) -> None:
    for at in [one for one in found if one < before]:
        del found[at]
