"""What a dispatch reads depends on the tasks that are due, not on the runs that are there, whenever it was planned."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import text

from cronograph.jobs.core.model import OverlapPolicy
from cronograph.jobs.queue import due_tasks as occurrences
from cronograph.jobs.queue.due_tasks import unfinished_counts
from cronograph.jobs.queue.occurrences import dispatch_due, rehearse
from cronograph.jobs.store.db.dialect import is_postgresql
from cronograph.jobs.store.db.transaction import Tx
from tests.support.plans import work
from tests.support.storage import Stored

TASKS = 50
OFTEN = 12
"""So often a statement is sent that driver and server keep its plan."""
READ = text("SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables WHERE relname IN ('run', 'run_open', 'run_done')")


def read_in_whole(tx: Tx) -> int:
    """Rows of runs and tasks that a dispatch reads by walking through a whole table."""
    dispatch_due(tx, "node-a")
    return int(tx.conn.execute(READ).scalar_one() or 0)


@pytest.mark.postgres
def test_a_plan_that_was_made_while_there_were_no_runs_does_not_read_all_of_them_later(postgres_url: str) -> None:
    stored = Stored(postgres_url)
    stored.node()
    for _ in range(OFTEN):
        stored.do(rehearse)
    for number in range(TASKS):
        stored.task(name=f"task {number}", overlap=OverlapPolicy.ALLOW)
    read: list[int] = []
    for minute in range(1, OFTEN):
        stored.now += timedelta(minutes=1) if minute > 1 else timedelta(seconds=61)
        read.append(stored.do(read_in_whole))
    assert max(read) <= TASKS
    stored.close()


def test_what_is_unfinished_is_counted_of_the_due_tasks_alone(stored: Stored) -> None:
    node = stored.node()
    ids = [stored.task(name=f"task {number}", overlap=OverlapPolicy.ALLOW).id for number in range(TASKS)]
    for minute in range(1, OFTEN):
        stored.at(60 * minute + 1)
        stored.dispatch()
    node.take(7)

    def judged(tx: Tx) -> None:
        occurrences.plan(tx.conn)
        counting = partial(unfinished_counts, tx.conn, ids[:3])
        assert counting() == {task_id: (OFTEN - 1, task_id) for task_id in ids[:3]}
        assert work(tx.conn, counting) <= (OFTEN * 3 * 2 if is_postgresql(tx.conn) else 1_000)

    stored.do(judged)


@pytest.mark.postgres
def test_a_due_task_is_not_compared_with_the_runs_of_others(postgres_url: str) -> None:
    stored = Stored(postgres_url)
    stored.node()
    for number in range(TASKS):
        stored.task(name=f"task {number}", overlap=OverlapPolicy.ALLOW)
    for minute in range(1, OFTEN):
        stored.at(60 * minute + 1)
        stored.dispatch()

    def judged(tx: Tx) -> int:
        return work(tx.conn, partial(dispatch_due, tx, "node-a"))

    stored.at(60 * OFTEN + 1)
    # Of each task its own unfinished runs are counted.
    assert stored.do(judged) <= TASKS * OFTEN * 5
    stored.close()
