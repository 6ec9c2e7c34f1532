"""A database as it looks after a month: an execution log of any size, its runs, a long queue, tasks, jobs, skips.

The rows go past the engine straight into the tables (COPY on PostgreSQL), the same for both databases and for equal
sizes. Jobs and tasks are used unevenly, as in life: the first job is a sixth of the log, the last hardly in it. Of a
log of several million executions PostgreSQL itself makes all but the first: the same again, later.
"""

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any

import psycopg
from sqlalchemy import Engine, Table, text

from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.model import Isolation
from cronograph.jobs.runtime.base.settings import Clock
from cronograph.jobs.runtime.duties.figures import HourCounter
from cronograph.jobs.store.db.database import Database, parse_url, sqlite_path, sync_engine
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.parts import BLOCK
from cronograph.jobs.store.schema.tables import (
    execution_log,
    job,
    job_execution,
    node,
    periodic_task,
    run,
    skipped_occurrence,
)
from cronograph.jobs.store.schema.types import UtcDateTime, to_text
from cronograph.jobs.store.statements.blocks import cut
from cronograph.jobs.store.statements.figures.hours import KEPT_FOR
from cronograph.jobs.store.statements.nodes import publish
from cronograph.jobs.store.statements.prunable import EXECUTIONS, LINES, RUNS
from tests.support.history import count_log

JOBS, TASKS, GROUPS, NODES = 200, 300, 30, 40
RARE_JOB, RARE_TASK = "rare-job", "rare-task"
"""Used a dozen times, at the beginning of the month only: anyone who looks for them along the log reads all of it."""
_RARE_ROWS = 12
LAP = 1_000_000
"""So many executions are made here; those of a longer log on PostgreSQL are copies of them."""
_HISTORY = (run, job_execution, execution_log)
_FAULTS = ("Connection to {} refused", "Order {}: the total is negative", "timeout after {} ms", "No space on disk {}")


@dataclass(frozen=True)
class Size:
    """How much there is.

    Attributes:
        executions: Rows of the execution log.
        unfinished: Runs that wait, run or are stuck.
        now: The end of the month; nothing is younger, except what is planned.
        days: How far back the log goes.
        tasks: How many tasks there are.
        groups: How many groups.
        laps: Into how many equal parts the history falls, of which the first is made and the others are its copies.
        runs: Of how many of the newest executions the runs are still there, in whole laps; None = of all. The first
            lap has its runs in any case.
    """

    executions: int
    unfinished: int
    now: datetime
    days: int = 30
    tasks: int = TASKS
    groups: int = GROUPS
    laps: int = 1
    runs: int | None = None

    @property
    def made(self) -> int:
        """Return how many executions are made here, the oldest; the rest are ``laps`` - 1 copies of them."""
        return self.executions // self.laps


def vacuum(url: str) -> None:
    """Do at once what autovacuum does after some time to the tables of a PostgreSQL that have grown."""
    engine = sync_engine(parse_url(url))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(text("SET statement_timeout = 0"))
        conn.execute(text("VACUUM (ANALYZE)"))
    engine.dispose()


def settle(url: str) -> None:
    """Make of a log that was copied in one that a server has lived through: its hours are counted, and it is vacuumed.

    Until then the first that reads a page of PostgreSQL notes in it which rows are committed, and writes all of it to
    the WAL.
    """
    # In a thread of its own: a browser that this process drives has a loop in the calling one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _count_hours(url)).result()
    if parse_url(url).get_backend_name() == "postgresql":
        vacuum(url)


async def _count_hours(url: str) -> None:
    database = Database(url)
    counter = HourCounter(database, Clock(), rest=_no_rest)
    while await counter.look():
        pass
    await database.close()


async def _no_rest(_seconds: float) -> None:
    """Nobody else is there."""


def fill(url: str, size: Size) -> None:
    """Put the rows into a database that is migrated and empty, and let PostgreSQL count them for its plans."""
    engine = sync_engine(parse_url(url))
    if engine.dialect.name == "postgresql" and size.executions > LAP and size.executions % LAP == 0:
        size = replace(size, laps=size.executions // LAP)
        _make_blocks(engine, size)
    tables: list[tuple[Table, Iterable[dict[str, Any]]]] = [
        (job, _jobs(size)),
        (node, _nodes(size)),
        (periodic_task, _tasks(size)),
        (skipped_occurrence, _skips(size)),
    ]
    history: list[tuple[Table, Iterable[dict[str, Any]]]] = [
        (run, chain((made for _, made in _history(size)), _unfinished(size))),
        (job_execution, chain((made for made, _ in _history(size)), _open(size))),
        (execution_log, _lines(size)),
    ]
    for table, rows in tables:
        _insert(url, table, rows, size)
    # A long log is copied by PostgreSQL, which takes a core for each table.
    with ThreadPoolExecutor(len(history) if size.laps > 1 else 1) as threads:
        list(threads.map(lambda one: _insert(url, one[0], one[1], size), history))
    with engine.begin() as conn:
        if engine.dialect.name == "postgresql":
            conn.execute(text("SET LOCAL statement_timeout = 0"))
        count_log(conn, size.now - KEPT_FOR)
    if engine.dialect.name == "postgresql":
        # As autovacuum would have done by then. On SQLite nothing does it, in the product either.
        vacuum(url)
    engine.dispose()


def _make_blocks(engine: Engine, size: Size) -> None:
    """Make the blocks of such a history, which a server makes while it grows."""
    with engine.begin() as conn:
        for history in (RUNS, EXECUTIONS, LINES):
            for newest in range(BLOCK, size.executions + 1, BLOCK):
                cut(conn, history, newest)


def _insert(url: str, table: Table, rows: Iterable[dict[str, Any]], size: Size) -> None:
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        return
    columns = list(first)
    values = ([_value(row[name]) for name in columns] for row in chain([first], iterator))
    address = parse_url(url)
    if address.get_backend_name() == "sqlite":
        _insert_sqlite(str(sqlite_path(address)), table, columns, values)
    else:
        _copy(address.set(drivername="postgresql").render_as_string(hide_password=False), table, columns, values, size)


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_text(value)
    return json.dumps(value) if isinstance(value, dict | list) else value


def _insert_sqlite(path: str, table: Table, columns: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
    conn = sqlite3.connect(path)
    marks = ", ".join("?" for _ in columns)
    statement = f"INSERT INTO {table.name} ({_names(columns)}) VALUES ({marks})"
    with conn:
        iterator = iter(values)
        while rows := list(islice(iterator, 5000)):
            conn.executemany(statement, rows)
    conn.close()


def _copy(address: str, table: Table, columns: Sequence[str], values: Iterable[Sequence[Any]], size: Size) -> None:
    with psycopg.connect(address) as conn, conn.cursor() as cursor:
        indexes = _take_indexes(cursor, table) if size.laps > 1 else []
        with cursor.copy(f"COPY {table.fullname} ({_names(columns)}) FROM STDIN".encode()) as copy:
            for row in values:
                copy.write_row(row)
        for lap in _later_laps(table, size):
            cursor.execute(_repetition(table, columns, size, lap).encode())
        for index in indexes:
            cursor.execute(index.encode())
        if table.primary_key.columns.keys() == ["id"]:
            sequence = f"pg_get_serial_sequence('{table.fullname}', 'id')"
            cursor.execute(f"SELECT setval({sequence}, (SELECT max(id) FROM {table.fullname}))".encode())


def _take_indexes(cursor: psycopg.Cursor[Any], table: Table) -> list[str]:
    """Drop the indexes that are no constraints; the statements that make them again. What follows is not logged."""
    cursor.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
        " WHERE indrelid IN (SELECT relid FROM pg_partition_tree(%s))"
        " AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)",
        [table.fullname],
    )
    found = cursor.fetchall()
    # With wal_level=minimal nothing is logged that goes into a table which this transaction has emptied.
    cursor.execute(f"TRUNCATE {table.fullname}".encode())
    for name, _ in found:
        cursor.execute(f"DROP INDEX {name}".encode())
    cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")
    return [made for _, made in found]


def _later_laps(table: Table, size: Size) -> range:
    """Which laps of the history are copies of the first in this table."""
    if table not in _HISTORY:
        return range(0)
    forgotten = 0 if table is not run or size.runs is None else size.laps - size.runs // size.made
    return range(max(1, forgotten), size.laps)


def _repetition(table: Table, columns: Sequence[str], size: Size, lap: int) -> str:
    """The statement that copies the first lap of the history: later, with other keys, and on other nodes."""
    nodes = NODES // size.laps
    later = f"interval '{timedelta(days=size.days).total_seconds() / size.laps * lap} seconds'"

    def shifted(name: str) -> str:
        if name in ("id", "run_id", "execution_id"):
            return f"{name} + {lap * size.made}"
        if name == "node_id":
            return f"node_id + {lap * nodes}"
        if name == "node":
            return f"'node-' || to_char(node_id - 1 + {lap * nodes}, 'FM00')"
        return f"{name} + {later}" if isinstance(table.columns[name].type, UtcDateTime) else f'"{name}"'

    key = "execution_id" if table is execution_log else "id"
    usual = "" if table is execution_log else f" AND job_name <> '{RARE_JOB}'"
    return (
        f"INSERT INTO {table.fullname} ({_names(columns)}) SELECT {', '.join(map(shifted, columns))}"
        f" FROM {table.fullname} WHERE {key} <= {size.made}{usual} ORDER BY {key}"
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def _jobs(size: Size) -> Iterator[dict[str, Any]]:
    for name in (*(f"job-{number:03}" for number in range(JOBS)), RARE_JOB):
        yield {
            "name": name,
            "description": "",
            "schedule": None,
            "isolation": "async",
            "slots": 1,
            "args_schema": {},
            "tags": [],
            "defaults": {},
            "signature": "",
        }


def _nodes(size: Size) -> Iterator[dict[str, Any]]:
    names = [f"job-{number:03}" for number in range(JOBS)]
    for number in range(NODES):
        at = size.now - timedelta(hours=number)
        yield {
            "name": f"node-{number:02}", "state": "active" if number < 3 else "stopped", "slots": 20, "running": 0,
            "version": "1", "seq": 1, "started_at": at, "heartbeat_at": at, "expires_at": at, "clock_skew": 0.0,
            "jobs": names, "signatures": dict.fromkeys(names, ""), "choice": {},
        }  # fmt: skip


def publish_jobs(tx: Tx) -> None:
    """Write the jobs once more, where they have been forgotten; nobody can run them."""
    names = (f"job-{number:03}" for number in range(JOBS))
    publish(tx.conn, [JobInfo(name, "", None, Isolation.ASYNC, {}) for name in (*names, RARE_JOB)])


def _tasks(size: Size) -> Iterator[dict[str, Any]]:
    for number in range(size.tasks):
        due = size.now + timedelta(seconds=(number * 7919) % 3600 + 1)
        yield {
            "id": number + 1, "name": f"task-{number:03}", "description": "does what it does",
            "enabled": number % 20 != 7, "source": "api", "job_name": f"job-{number % JOBS:03}", "args": {},
            "group_name": f"group-{number % size.groups:02}", "priority": "low",
            "schedule_syntax": "cron", "schedule_value": f"{number % 60} {number % 7}/7 * * * *",
            "timezone": "UTC", "inherits": [], "labels": {}, "overridden": False, "jitter": 0, "misfire": "last",
        "misfire_grace": 60,
            "catch_up_limit": 100, "retries": 2, "retry_delay": 60, "anchor_at": size.now, "next_nominal": due,
            "next_execution": due, "last_due_at": due - timedelta(hours=1), "last_started_at": due - timedelta(hours=1),
            "counter": 1000, "version": 1, "created_at": size.now, "updated_at": size.now,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Past:
    """One execution of the past, in short."""

    number: int
    job: str
    task: tuple[int, str] | None
    started: datetime
    ended: datetime
    outcome: str
    retried: bool


def _past(size: Size) -> Iterator[_Past]:
    chance = random.Random(size.executions)
    weights = [1 / (number + 1) for number in range(size.tasks)]
    chosen = chance.choices(range(size.tasks), weights, k=size.made)
    begin, step = size.now - timedelta(days=size.days), timedelta(days=size.days) / size.executions
    failed_before = False
    for number, task in enumerate(chosen):
        started = begin + step * (number + chance.random())
        draw = chance.random()
        outcome = (
            "success" if draw < 0.94 else "failed" if draw < 0.985 else "timed_out" if draw < 0.9899 else "cancelled"
        )
        if draw > 0.9999:
            outcome = "lost"
        ended = min(started + timedelta(seconds=chance.expovariate(0.5) * (1 + task % 5)), size.now)
        rare = number % 100 == 0 and number // 100 < _RARE_ROWS
        name = RARE_JOB if rare else f"job-{task % JOBS:03}"
        belongs = (size.tasks + 1, RARE_TASK) if rare else None if task % 10 == 3 else (task + 1, f"task-{task:03}")
        yield _Past(number, name, belongs, started, ended, outcome, failed_before and draw < 0.5)
        failed_before = outcome == "failed"


def _history(size: Size) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The finished executions, each with a run of its own, oldest first."""
    for one in _past(size):
        trigger = "schedule" if one.task else "api"
        if one.number % 5000 == 1:
            trigger = "manual"
        node_number = one.number * NODES // size.executions
        shared = {
            "job_name": one.job, "task_id": one.task and one.task[0], "task_name": one.task and one.task[1],
            "attempt": 2 if one.retried else 1, "node_id": node_number + 1, "trigger": trigger,
            "scheduled_for": one.started - timedelta(seconds=0.02) if trigger == "schedule" else None,
            "submitted_at": one.started - timedelta(seconds=0.01),
        }  # fmt: skip
        good = one.outcome == "success"
        fault = None if good else _FAULTS[one.number % len(_FAULTS)].format(one.number % 997)
        execution = {
            **shared, "id": one.number + 1, "run_id": one.number + 1, "node": f"node-{node_number:02}",
            "started_at": one.started, "completed_at": one.ended, "success": good, "outcome": one.outcome,
            "error_message": fault, "error_type": None if good else "OperationError",
            "traceback": None if good else "Traceback (most recent call last):\n" + "  File …\n" * 40,
            "records_processed": one.number % 100 if one.number % 3 else None,
            "log_lines": 2 if one.number % 5 == 0 else 0, "log_cut": 0,
        }  # fmt: skip
        ran = {
            **shared, "id": one.number + 1, "args": {"customer": one.number % 1000},
            "group_name": f"group-{one.number % size.groups:02}", "priority": "low",
            "state": "success" if good else "cancelled" if one.outcome == "cancelled" else "failed",
            "available_at": one.started, "started_at": one.started, "finished_at": one.ended, "failures": 0,
            "retries": 2, "retry_delay": 60, "exclusive": trigger == "schedule",
            "done_attempt": 1, "error": fault, "description": "",
        }  # fmt: skip
        yield execution, ran


def _unfinished(size: Size) -> Iterator[dict[str, Any]]:
    chance = random.Random(size.executions)
    for number in range(size.unfinished):
        state = "running" if number < 20 else "stuck" if number % 20 == 1 else "waiting"
        at = size.now - timedelta(seconds=chance.random() * 3600)
        yield {
            "job_name": f"job-{number % JOBS:03}", "task_id": None, "task_name": None,
            "attempt": 1 if state == "running" else 0, "node_id": 1 if state == "running" else None, "trigger": "api",
            "scheduled_for": None, "submitted_at": at, "id": size.executions + 1 + number,
            "args": {"customer": number},
            "group_name": f"group-{number % size.groups:02}", "priority": "high" if number % 10 == 0 else "low",
            "state": state,
            "available_at": at + timedelta(hours=number % 3), "started_at": at if state == "running" else None,
            "finished_at": None, "failures": 0, "retries": 2, "retry_delay": 60, "exclusive": False,
            "done_attempt": None, "error": None, "description": "",
        }  # fmt: skip


def _open(size: Size) -> Iterator[dict[str, Any]]:
    for number in range(min(20, size.unfinished)):
        at, key = size.now - timedelta(seconds=number), size.executions + 1 + number
        yield {
            "job_name": f"job-{number % JOBS:03}", "task_id": None, "task_name": None, "attempt": 1, "node_id": 1,
            "trigger": "api", "scheduled_for": None, "submitted_at": at, "id": key, "run_id": key, "node": "node-00",
            "started_at": at, "completed_at": None, "success": None, "outcome": None, "error_message": None,
            "error_type": None, "traceback": None, "records_processed": None, "log_lines": 0, "log_cut": 0,
        }  # fmt: skip


def _lines(size: Size) -> Iterator[dict[str, Any]]:
    at = size.now - timedelta(days=size.days)
    for number in range(0, size.made, 5):
        for line in (1, 2):
            yield {"execution_id": number + 1, "line": line, "at": at, "level": "info", "message": "something was done"}


def _skips(size: Size) -> Iterator[dict[str, Any]]:
    chance = random.Random(size.executions)
    count = size.executions // 50
    for number in range(count):
        at = size.now - timedelta(days=size.days) * (1 - number / count)
        task = chance.randrange(size.tasks)
        yield {
            "task_id": task + 1, "task_name": f"task-{task:03}", "reason": "overlap", "first_scheduled_for": at,
            "last_scheduled_for": at, "occurrences": 1, "policy": {"overlap": "skip"}, "node": "node-00", "at": at,
        }  # fmt: skip
