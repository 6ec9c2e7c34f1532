"""The job `prune_history`: retention by age and by count, counted exactly, in an order that keeps references whole."""

from datetime import datetime, timedelta

import pytest
from pydantic import ValidationError
from sqlalchemy import Connection, Table, func, insert, select

from cronograph.jobs.base.outcomes import Result
from cronograph.jobs.base.services import Services
from cronograph.jobs.builtin import builtin_jobs
from cronograph.jobs.builtin.prune import BATCH, Pruned, Retention, prune, prune_history
from cronograph.jobs.core.events import Change, EventKind
from cronograph.jobs.store.db import outbox
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import (
    event,
    execution_hour,
    execution_log,
    idempotency_key,
    job_execution,
    node,
    rate_bucket,
    run,
    skipped_occurrence,
)
from cronograph.jobs.store.statements import events
from tests.builtin.hosts import KeepingHost, context_of
from tests.support.history import add, add_execution, add_run, add_task, history

DAY = timedelta(days=1)


def counts(conn: Connection) -> dict[str, int]:
    tables: tuple[Table, ...] = (execution_log, job_execution, run, event, skipped_occurrence, idempotency_key, node)
    return {table.name: conn.execute(select(func.count()).select_from(table)).scalar_one() for table in tables}


def fill(tx: Tx, days_ago: float) -> None:
    """One of everything, that many days ago; the execution has three lines."""
    at = tx.now - days_ago * DAY
    [(_, execution_id)] = history(tx.conn, None, at)
    for number in range(3):
        values = {"execution_id": execution_id, "line": number, "at": at, "level": "INFO", "message": "m"}
        tx.conn.execute(insert(execution_log).values(**values))
    add(
        tx.conn, skipped_occurrence, task_id=9, task_name="t", reason="missed", first_scheduled_for=at,
        last_scheduled_for=at, occurrences=1, policy={}, at=at,
    )  # fmt: skip
    add(
        tx.conn, node, name="n", state="stopped", slots=1, running=0, version="0", seq=1, started_at=at,
        heartbeat_at=at, expires_at=at, clock_skew=0, jobs=[], signatures={}, choice={},
    )  # fmt: skip
    key = {"key": str(days_ago), "operation": "o", "request_hash": "h"}
    tx.conn.execute(insert(idempotency_key).values(**key, answer={}, created_at=at))
    values = {"kind": "all", "name": "", "hour": at, "executions": 1, "failures": 0, "successes": 1, "records": 0}
    tx.conn.execute(insert(execution_hour).values(**values))
    outbox.append(tx.conn, at, [Change(EventKind.RUN_CREATED)])
    events.publish(tx.conn)


def many_runs(tx: Tx, count: int, task_id: int | None = None) -> None:
    ended = tx.now - 40 * DAY
    if task_id is not None:
        add_task(tx.conn, task_id)
    history(tx.conn, task_id, *[ended] * count)


def task_history(tx: Tx, task_id: int, *days_ago: float) -> None:
    add_task(tx.conn, task_id)
    history(tx.conn, task_id, *[tx.now - days * DAY for days in days_ago])


def unfinished(tx: Tx) -> None:
    old = tx.now - 400 * DAY
    add_run(tx.conn, None)
    running = add_run(tx.conn, None, state="running", node_id=1)
    add_execution(tx.conn, running, old, None)


def ends_of_task(conn: Connection, task_id: int, table: Table) -> list[datetime]:
    ended = table.c.completed_at if table is job_execution else table.c.finished_at
    return sorted(conn.execute(select(ended).where(table.c.task_id == task_id)).scalars())


async def test_what_is_older_than_thirty_days_goes_and_every_row_is_counted(database: Database) -> None:
    for days_ago in (31, 29, 0.5):
        await database.write(fill, days_ago)
    host = KeepingHost()
    result = await prune_history(context_of(prune_history, Services(database), host))
    gone = {
        "log_lines": 3,
        "executions": 1,
        "runs": 1,
        "flows": 0,
        "events": 1,
        "hours": 1,
        "skipped_occurrences": 1,
        "idempotency_keys": 2,
        "nodes": 1,
        "rate_buckets": 0,
        "audit_entries": 0,
    }
    assert result == Result(records_processed=11, value=gone)
    assert await database.read(counts) == {
        "execution_log": 6,
        "job_execution": 2,
        "run": 2,
        "event": 2,
        "skipped_occurrence": 2,
        "idempotency_key": 1,
        "node": 2,
    }
    assert host.shown[-1][0] == 11
    again = await prune_history(context_of(prune_history, Services(database)))
    assert again.records_processed == 0


async def test_the_age_can_be_set(database: Database) -> None:
    await database.write(fill, 2)
    result = await prune_history(context_of(prune_history, Services(database)), max_age_days=1.5)
    assert result.records_processed == 10


async def test_buckets_of_rates_go_that_are_full_and_awaited_by_nobody(database: Database) -> None:
    def buckets(tx: Tx) -> None:
        for key, full_in, awaited in (("full", -1, None), ("being filled", 60, None), ("awaited", -1, tx.now)):
            full_at = tx.now + timedelta(seconds=full_in)
            row = {"job_name": "j", "rate_key": key, "full_at": full_at, "next_token_at": awaited}
            tx.conn.execute(insert(rate_bucket).values(**row))

    await database.write(buckets)
    result = await prune_history(context_of(prune_history, Services(database)))
    kept = await database.read(lambda conn: conn.execute(select(rate_bucket.c.rate_key)).scalars().all())
    assert (result.records_processed, sorted(kept)) == (1, ["awaited", "being filled"])


async def test_unfinished_runs_are_never_taken(database: Database) -> None:
    await database.write(unfinished)
    pruned = await prune(database, Retention(timedelta(microseconds=1), max_per_task=1))
    assert pruned == Pruned()


async def test_a_task_keeps_its_newest_execution_and_the_run_of_it(database: Database) -> None:
    await database.write(task_history, 1, 300, 200, 100)
    pruned = await prune(database, Retention())
    assert (pruned.executions, pruned.runs) == (2, 2)
    assert len(await database.read(ends_of_task, 1, job_execution)) == 1
    assert len(await database.read(ends_of_task, 1, run)) == 1


async def test_by_count_each_task_keeps_its_newest(database: Database) -> None:
    await database.write(task_history, 1, 5, 4, 3, 2, 1)
    await database.write(task_history, 2, 2, 1)
    await database.write(many_runs, 5)
    pruned = await prune(database, Retention(timedelta(days=1000), max_per_task=3))
    assert (pruned.executions, pruned.runs) == (2, 2)
    ends = await database.read(ends_of_task, 1, job_execution)
    assert len(ends) == 3
    assert ends == await database.read(ends_of_task, 1, run)
    assert ends[-1] - ends[0] == 2 * DAY
    assert len(await database.read(ends_of_task, 2, run)) == 2


@pytest.mark.costly
async def test_many_rows_go_in_many_transactions(database: Database) -> None:
    many = 2 * BATCH + 100
    await database.write(many_runs, many, task_id=1)
    host = KeepingHost()
    result = await prune_history(context_of(prune_history, Services(database), host))
    assert result.records_processed == 2 * (many - 1)
    taken = [done for done, _, _ in host.shown]
    assert max(after - before for before, after in zip([0.0, *taken], taken, strict=False)) <= BATCH


@pytest.mark.costly
async def test_a_pruning_that_should_stop_leaves_between_two_batches(database: Database) -> None:
    many = 2 * BATCH + 100
    await database.write(many_runs, many)
    host = KeepingHost(stop_after=2)
    result = await prune_history(context_of(prune_history, Services(database), host))
    assert host.lines[0][:2] == ("WARNING", "stopped early; the next run deletes the rest")
    stored = await database.read(counts)
    assert result.records_processed == 2 * many - stored["job_execution"] - stored["run"] == 2 * BATCH
    rest = await prune(database, Retention())
    assert rest.total == 2 * many - 2 * BATCH


@pytest.mark.parametrize("args", [{"max_age_days": 0}, {"max_age_days": -1}, {"max_per_task": 0}, {"days": 3}])
def test_a_retention_that_keeps_nothing_is_refused(args: dict[str, float]) -> None:
    definition = next(each for each in builtin_jobs() if each.name == "prune_history")
    with pytest.raises(ValidationError):
        definition.args_model.model_validate(args)
