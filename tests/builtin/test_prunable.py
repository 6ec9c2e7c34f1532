"""What a pruning would delete is what it deletes then, and the look changes nothing and is bounded."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, select

from cronograph.jobs.builtin.prune import Retention, prune
from cronograph.jobs.core.defaults import Keeping
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import job_execution
from cronograph.jobs.store.statements.prunable import Prunable, prunable
from tests.support.history import add_execution, add_run, add_task, history

DAY = timedelta(days=1)


def now(tx: Tx) -> datetime:
    return tx.now


def executions(conn: Connection) -> set[int]:
    return set(conn.execute(select(job_execution.c.id)).scalars())


def varied(tx: Tx) -> None:
    """Every case: long ones, open ones, tasks with much and little history, a deleted task, runs by hand."""
    for task_id, ages in ((1, (50, 45, 40, 3, 2, 1)), (2, (60, 50, 45)), (3, (20, 10, 5, 4)), (4, ())):
        add_task(tx.conn, task_id)
        if task_id == 2:
            long = add_run(tx.conn, tx.now, task_id)
            add_execution(tx.conn, long, tx.now - 70 * DAY, tx.now, task_id)
        history(tx.conn, task_id, *[tx.now - age * DAY for age in ages])
    running = add_run(tx.conn, None, 3, state="running", node_id=1)
    add_execution(tx.conn, running, tx.now - 3 * DAY, None, 3)
    history(tx.conn, 99, *[tx.now - age * DAY for age in (41, 9, 8, 7)])
    history(tx.conn, None, tx.now - 31 * DAY, tx.now - 29 * DAY)


@pytest.mark.costly
@pytest.mark.parametrize("keep", [None, 1, 2, 3, 100])
@pytest.mark.parametrize("days", [30, 5.5, 1000])
async def test_what_would_go_is_what_goes(database: Database, days: float, keep: int | None) -> None:
    await database.write(varied)
    before = await database.read(executions)
    kept = Keeping(await database.write(now), days * DAY)
    would = await database.read(prunable, kept, keep)
    assert would.complete
    assert await database.read(executions) == before
    await prune(database, Retention(days * DAY, keep))
    assert before - await database.read(executions) == set(would.executions)


async def test_the_look_is_bounded_and_says_so(database: Database) -> None:
    def many(tx: Tx) -> None:
        add_task(tx.conn, 1)
        history(tx.conn, 1, *[tx.now - 40 * DAY] * 30, *[tx.now - DAY] * 30)

    await database.write(many)
    present = await database.write(now)
    month = Keeping(present, 30 * DAY)
    everything = sorted(await database.read(executions))
    assert await database.read(prunable, month, None) == Prunable(everything[:30], complete=True)
    assert await database.read(prunable, month, None, most=10) == Prunable(everything[:10], complete=False)
    some = await database.read(prunable, Keeping(present, 60 * DAY), 5, most=20)
    assert some == Prunable(everything[40:55], complete=False)
