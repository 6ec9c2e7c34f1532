"""Rows of the past, put straight into the tables, for tests of what reads or deletes history."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Table, func, insert, select, text

from cronograph.jobs.core.model import FAILURES, Outcome
from cronograph.jobs.queue.base.runs import count_ends
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.parts import BLOCK
from cronograph.jobs.store.schema.tables import event, job_execution, periodic_task, run
from cronograph.jobs.store.schema.tables import execution_minute as minutes

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

Rows = Sequence[dict[str, Any]]


def add(conn: Connection, table: Table, **values: object) -> int:
    """Insert a row; returns its key, the first column of it."""
    key: int = conn.execute(insert(table).values(**values).returning(*table.primary_key)).one()[0]
    return key


def add_many(conn: Connection, table: Table, rows: Rows) -> None:
    """Insert thousands of rows that have the same columns; PostgreSQL takes them as one stream, which costs a third."""
    if conn.dialect.name != "postgresql":
        conn.execute(insert(table), rows)
        return
    columns = [table.c[name] for name in rows[0]]
    processors = [column.type.dialect_impl(conn.dialect).bind_processor(conn.dialect) for column in columns]
    preparer = conn.dialect.identifier_preparer
    names = ", ".join(map(preparer.format_column, columns))
    driver: Any = conn.connection.driver_connection
    into = f"COPY {preparer.format_table(table)} ({names}) FROM STDIN"
    with driver.cursor() as cursor, cursor.copy(into) as copy:
        for row in rows:
            values = [row[column.name] for column in columns]
            copy.write_row([to(value) if to else value for to, value in zip(processors, values, strict=True)])


def add_task(conn: Connection, task_id: int) -> int:
    """A task with this id that is never due."""
    values: dict[str, Any] = {
        "name": f"task {task_id}", "description": "", "enabled": True, "source": "api", "job_name": "j", "args": {},
        "group_name": "default", "priority": "low", "schedule_syntax": "cron", "schedule_value": "0 0 * * * *",
        "timezone": "UTC", "inherits": [], "labels": {}, "overridden": False, "jitter": 0, "misfire": "last",
        "misfire_grace": 60,
        "catch_up_limit": 100, "retries": 2, "retry_delay": 60, "anchor_at": LONG_AGO, "counter": 0, "version": 1,
        "created_at": LONG_AGO, "updated_at": LONG_AGO,
    }  # fmt: skip
    return add(conn, periodic_task, id=task_id, **values)


def add_run(conn: Connection, finished_at: datetime | None, task_id: int | None = None, **values: object) -> int:
    """A run that succeeded at `finished_at`, or that waits; `values` replace other columns."""
    defaults: dict[str, Any] = {
        "task_id": task_id, "job_name": "j", "args": {}, "group_name": "default", "priority": "low", "trigger": "api",
        "submitted_at": LONG_AGO, "available_at": LONG_AGO, "finished_at": finished_at, "attempt": 1,
        "failures": 0, "retries": 2, "retry_delay": 60, "exclusive": False, "description": "",
        "state": "success" if finished_at else "waiting",
    }  # fmt: skip
    return add(conn, run, **{**defaults, **values})


def add_execution(
    conn: Connection,
    run_id: int,
    started_at: datetime,
    completed_at: datetime | None,
    task_id: int | None = None,
    attempt: int = 1,
    **more: object,
) -> int:
    """An execution that succeeded at `completed_at`, or that is open; returns its id."""
    ended = {"success": True, "outcome": "success"} if completed_at else {}
    values: dict[str, Any] = {
        "job_name": "j", "run_id": run_id, "started_at": started_at, "completed_at": completed_at, "task_id": task_id,
        "attempt": attempt, "node_id": 1, "node": "n", "trigger": "api", "submitted_at": LONG_AGO, "log_lines": 0,
        "log_cut": 0,
    }  # fmt: skip
    return add(conn, job_execution, **{**values, **ended, **more})


def history(conn: Connection, task_id: int | None, *ends: datetime) -> list[tuple[int, int]]:
    """One finished run with one execution for each end; (run id, execution id)."""
    pairs: list[tuple[int, int]] = []
    for end in ends:
        run_id = add_run(conn, end, task_id)
        pairs.append((run_id, add_execution(conn, run_id, end, end, task_id)))
    return pairs


def fill_block(tx: Tx, number: int = 1) -> None:
    """Let the ids of runs, executions and events go past the end of this block: the next ones are in the one behind."""
    first = number * BLOCK
    run_id = add_run(tx.conn, tx.now, id=first)
    add_execution(tx.conn, run_id, tx.now, tx.now, id=first)
    if tx.conn.dialect.name == "postgresql":
        tx.conn.execute(insert(event).values(id=first, at=tx.now, changes=[]))
        for table in ("run", "job_execution", "event"):
            tx.conn.execute(text(f"SELECT setval('cronograph.{table}_id_seq', {first})"))


def counted_minutes(conn: Connection) -> dict[datetime, tuple[int, int, int]]:
    """Return what the transactions that ended executions counted: by minute the ends, the failures, the successes."""
    ends, failures, successes = map(func.sum, (minutes.c.ended, minutes.c.failures, minutes.c.successes))
    statement = select(minutes.c.minute, ends, failures, successes).group_by(minutes.c.minute)
    return {minute: (int(ended), int(failed), int(good)) for minute, ended, failed, good in conn.execute(statement)}


def minutes_of_log(conn: Connection) -> dict[datetime, tuple[int, int, int]]:
    """The same as the log says it, one execution after the other."""
    ended, failed, good = (Counter[datetime]() for _ in range(3))
    x = job_execution.c
    for began, done, outcome in conn.execute(
        select(x.started_at, x.completed_at, x.outcome).where(x.success.is_not(None))
    ):
        begin = began.replace(second=0, microsecond=0)
        ended[done.replace(second=0, microsecond=0)] += 1
        failed[begin] += Outcome(outcome) in FAILURES
        good[begin] += Outcome(outcome) is Outcome.SUCCESS
    return {minute: (ended[minute], failed[minute], good[minute]) for minute in ended.keys() | failed.keys()}


_AT_ONCE: Final = 100_000
"""So many are counted by one statement: those of a large log are too many to be sent together."""


def count_log(conn: Connection, since: datetime = LONG_AGO) -> None:
    """Count the ends since a time that a test has put straight into the log; each must be counted once."""
    over = select(job_execution.c.id).where(job_execution.c.completed_at >= since)
    for some in conn.execute(over.execution_options(stream_results=True)).scalars().partitions(_AT_ONCE):
        count_ends(conn, some)
