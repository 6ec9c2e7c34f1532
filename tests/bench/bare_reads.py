"""What the most frequent reads of the log cost beside the shortest statements that anybody would write for the same.

Three are made by turns: *bare*, statements written by hand on the bare driver, without a transaction; *statements*,
those that the API sends, on the same connection; *whole*, the read as a resolver makes it, through a thread, in a
snapshot of its own, with its rows made into what is shown.
"""

import asyncio
import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import psycopg
from sqlalchemy import Connection, Engine

from cronograph.jobs.core.model import FAILURES
from cronograph.jobs.store.db.database import Database, parse_url, sqlite_path, sync_engine
from cronograph.jobs.store.schema.types import to_text
from cronograph.jobs.store.statements.figures import failures, reports
from cronograph.jobs.store.statements.figures.scope import Scope
from cronograph.jobs.store.statements.listing.criteria import AllOf, Criteria, equal, one_of
from cronograph.jobs.store.statements.listing.keyset import OrderKey, PageRequest
from cronograph.jobs.store.statements.listing.pages import page
from cronograph.jobs.store.statements.lists import EXECUTIONS
from tests.bench.large_log import RARE_JOB, Size
from tests.bench.measuring import percentile
from tests.bench.recording import again, recorded

DAY = timedelta(days=1)
NEWEST = (OrderKey("id", descending=True),)
SHOWN = ("id", "job_name", "started_at", "completed_at", "success", "error_message", "records_processed")
"""The seven columns that the product is about."""

_LOG = f"SELECT {', '.join(SHOWN)} FROM cronograph.job_execution"
_END = "ORDER BY id DESC LIMIT 50"
_JOB, _BELOW = "job_name = :job", "id < :below"
_SPAN = "started_at >= :start AND started_at < :end"
_FAILURES = ", ".join(repr(one.value) for one in sorted(FAILURES))
_FAILURE = f"outcome IN ({_FAILURES})"
_COUNTS = f"count(*), sum(CASE WHEN {_FAILURE} THEN 1 ELSE 0 END), sum(records_processed)"
_UNITS: Final = {
    "sqlite": {
        "hour": "CAST(strftime('%s', started_at) AS int) / 3600",
        "minute": "CAST(strftime('%s', completed_at) AS int) / 60",
        "took": "julianday(completed_at) - julianday(started_at)",
        "failed": "success = 0",
    },
    "postgresql": {
        "hour": "extract(epoch FROM started_at)::bigint / 3600",
        "minute": "extract(epoch FROM completed_at)::bigint / 60",
        "took": "extract(epoch FROM completed_at - started_at)",
        "failed": "NOT success",
    },
}
"""What the two databases say differently."""


@dataclass(frozen=True)
class Pair:
    """A read of the API, and the statements for the same by hand.

    Attributes:
        name: What it is called.
        read: The read; with the values that are drawn for each time.
        bare: The statements.
    """

    name: str
    read: Callable[[Connection, Mapping[str, Any]], object]
    bare: tuple[str, ...]


@dataclass
class Times:
    """Seconds that each of the three took."""

    bare: list[float] = field(default_factory=list[float])
    statements: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])

    def __str__(self) -> str:
        bare, statements, whole = (percentile(one, 0.5) * 1e3 for one in (self.bare, self.statements, self.whole))
        return (
            f"bare {bare:8.2f} ms; statements {statements:8.2f} ms, {statements / bare:5.2f} ×;"
            f" whole {whole:8.2f} ms, {whole / bare:5.2f} ×"
        )


def pairs(size: Size, dialect: str) -> list[Pair]:
    """The reads that are asked for again and again."""
    return [*_pages(dialect), *_figures(size, dialect)]


def _pages(dialect: str) -> Iterator[Pair]:
    failed = (equal("success", value=False), one_of("outcome", tuple(sorted(FAILURES))))
    of_job, of_rare = equal("job_name", "job-007"), equal("job_name", RARE_JOB)
    is_failed = f"{_UNITS[dialect]['failed']} AND {_FAILURE}"
    lists: list[tuple[str, tuple[Criteria, ...], str]] = [
        ("", (), ""),
        (" of a job", (of_job,), _JOB),
        (" of a rare job", (of_rare,), _JOB.replace(":job", f"'{RARE_JOB}'")),
        (", failures", failed, is_failed),
        (", failures of a job", (*failed, of_job), f"{is_failed} AND {_JOB}"),
    ]
    for name, conditions, where in lists:
        yield Pair(f"newest 50{name}", partial(_page, conditions), (_statement(where),))
        yield Pair(f"a page deep down{name}", partial(_deep, conditions), (_statement(where, _BELOW),))


def _statement(*conditions: str) -> str:
    where = " AND ".join(one for one in conditions if one)
    return f"{_LOG} {f'WHERE {where}' if where else ''} {_END}"


def _page(conditions: tuple[Criteria, ...], conn: Connection, _drawn: Mapping[str, Any]) -> object:
    return page(conn, EXECUTIONS.only(SHOWN), PageRequest(NEWEST, 50, AllOf(conditions))).items


def _deep(conditions: tuple[Criteria, ...], conn: Connection, drawn: Mapping[str, Any]) -> object:
    request = PageRequest(NEWEST, 50, AllOf(conditions), after=(drawn["below"],))
    return page(conn, EXECUTIONS.only(SHOWN), request).items


def _figures(size: Size, dialect: str) -> Iterator[Pair]:
    unit, now = _UNITS[dialect], size.now
    log = "FROM cronograph.job_execution"
    whole, of_job = Scope(now - DAY, now), Scope(now - DAY, now, "job-007")
    chart = reports.Wanted(total=False, points=False, lateness=False, stalled=False)
    usual = reports.Wanted(total=True, points=False, lateness=False, stalled=False)
    for name, scope, where in ((" of a job", of_job, f"{_SPAN} AND {_JOB}"), ("", whole, _SPAN)):
        by_hour = f"SELECT {unit['hour']}, {_COUNTS} {log} WHERE {where} GROUP BY 1"
        yield Pair(f"statistics of 24 h{name}", partial(_statistics, scope, now, chart), (by_hour,))
        p95 = _p95(dialect, f"{unit['took']} AS took {log} WHERE {where} AND completed_at IS NOT NULL")
        yield Pair(f"statistics of 24 h{name}, with p95", partial(_statistics, scope, now, usual), (by_hour, p95))
    groups = (
        "SELECT job_name, error_type, substr(error_message, 1, 300), count(*), min(started_at), max(started_at),"
        f" max(id) {log} WHERE {_SPAN} AND {unit['failed']} AND {_FAILURE} GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 1000"
    )
    yield Pair("failureGroups of 24 h", lambda conn, _: failures.failures(conn, Scope(now - DAY, now), 1000), (groups,))
    tiles = (
        f"SELECT started_at >= :start, {_COUNTS} {log} WHERE started_at >= :before AND started_at < :end GROUP BY 1",
        f"SELECT {unit['minute']}, count(*) {log} WHERE completed_at >= :hour AND completed_at < :end GROUP BY 1",
        "SELECT state, count(*) FROM cronograph.run WHERE finished_at IS NULL GROUP BY state",
        "SELECT state, slots FROM cronograph.node WHERE state NOT IN ('stopped', 'lost')",
    )
    yield Pair("overview", lambda conn, _: reports.overview(conn, now), tiles)


def _statistics(
    scope: Scope, now: datetime, wanted: reports.Wanted, conn: Connection, _drawn: Mapping[str, Any]
) -> object:
    return reports.statistics(conn, scope, 3600, now, wanted)


def _p95(dialect: str, rows: str) -> str:
    if dialect == "postgresql":
        return f"SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY took) FROM (SELECT {rows}) AS judged"
    return (
        f"WITH judged AS (SELECT {rows}) SELECT took FROM judged ORDER BY took"
        " LIMIT 1 OFFSET (SELECT count(*) * 95 / 100 FROM judged)"
    )


class Bare:
    """The driver without anything else; times are bound as the columns hold them."""

    def __init__(self, url: str) -> None:
        address = parse_url(url)
        self._is_sqlite = address.get_backend_name() == "sqlite"
        if self._is_sqlite:
            self._conn: Any = sqlite3.connect(sqlite_path(address), isolation_level=None)
        else:
            plain = address.set(drivername="postgresql").render_as_string(hide_password=False)
            self._conn = psycopg.connect(plain, autocommit=True)

    def run(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """Execute one statement; its rows."""
        if self._is_sqlite:
            bound = {name: to_text(one) if isinstance(one, datetime) else one for name, one in values.items()}
            found: list[Any] = self._conn.execute(statement.replace("cronograph.", ""), bound).fetchall()
            return found
        marked = re.sub(r"(?<!:):(\w+)", r"%(\1)s", statement)
        rows: list[Any] = self._conn.execute(marked, values).fetchall()
        return rows

    def close(self) -> None:
        """Close it."""
        self._conn.close()


async def compared(url: str, size: Size, seconds: float, only: str) -> list[tuple[str, Times]]:
    """Each pair by turns for so many seconds; those whose name contains ``only``."""
    engine, database, bare = sync_engine(parse_url(url), pooled=1, read_only=True), Database(url), Bare(url)
    chosen = [pair for pair in pairs(size, engine.dialect.name) if only in pair.name]
    found = [(pair.name, await _compare(engine, database, bare, pair, size, seconds)) for pair in chosen]
    bare.close()
    await database.close()
    engine.dispose()
    return found


async def _compare(engine: Engine, database: Database, bare: Bare, pair: Pair, size: Size, seconds: float) -> Times:
    chance, times = random.Random(1), Times()
    until = time.perf_counter() + seconds
    fixed = {
        "job": "job-007", "start": size.now - DAY, "before": size.now - 2 * DAY,
        "hour": size.now - timedelta(hours=1), "end": size.now,
    }  # fmt: skip
    while len(times.whole) < 3 or (len(times.whole) < 300 and time.perf_counter() < until):
        drawn = {**fixed, "below": chance.randrange(size.executions // 10, size.executions)}
        # Once before: each of the three finds its pages in memory.
        for statement in pair.bare:
            bare.run(statement, drawn)
        began = time.perf_counter()
        for statement in pair.bare:
            bare.run(statement, drawn)
        times.bare.append(time.perf_counter() - began)
        with engine.begin() as conn:
            with recorded(conn) as sent:
                pair.read(conn, drawn)
            times.statements.append(sum(again(conn, *one) for one in sent))
        began = time.perf_counter()
        await database.read(pair.read, drawn)
        times.whole.append(time.perf_counter() - began)
    return times


def compare_all(url: str, size: Size, seconds: float, only: str) -> Iterator[str]:
    """A line for each pair."""
    for name, times in asyncio.run(compared(url, size, seconds, only)):
        yield f"beside bare SQL: {name:40} {times}"
