"""What explaining costs."""

from cronograph.jobs.store.statements import facts
from cronograph.jobs.store.statements import runs as run_store
from cronograph.jobs.store.statements import tasks as stored_tasks
from tests.support.storage import Stored


def test_explaining_a_hundred_takes_as_many_statements_as_explaining_one(stored: Stored) -> None:
    stored.node()
    for place in range(30):
        stored.task(name=f"task-{place}")
        stored.enqueue()
    found = stored.do(lambda tx: list(stored_tasks.by_ids(tx.conn, range(1, 31)).values()))
    runs = stored.do(lambda tx: list(run_store.by_ids(tx.conn, range(1, 31)).values()))
    one = stored.statements(lambda tx: facts.of_tasks(tx.conn, found[:1], stored.now))
    assert stored.statements(lambda tx: facts.of_tasks(tx.conn, found, stored.now)) == one
    one = stored.statements(lambda tx: facts.of_runs(tx.conn, runs[:1], stored.now))
    assert stored.statements(lambda tx: facts.of_runs(tx.conn, runs, stored.now)) == one
