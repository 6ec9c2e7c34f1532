"""What `cronograph check` finds in a database, without a process of its own for each."""

from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.server.database.schema import check_database
from tests.support.storage import Stored


def _update(tx: Tx, change: str) -> None:
    tx.conn.execute(SchemaText(f"UPDATE cronograph.periodic_task SET {change}"))


def test_a_schedule_that_cannot_be_read_any_more_is_a_fault_unless_its_task_is_finished(
    database_url: str, stored: Stored
) -> None:
    stored.node()
    for name in ("lost", "finished"):
        stored.task(name=name)
    stored.do(_update, "timezone = 'Mars/Olympus'")
    stored.do(_update, "next_nominal = NULL, next_execution = NULL WHERE name = 'finished'")
    report = check_database(database_url, Registry())
    assert report.tasks == 2
    (fault,) = report.faults
    assert fault.startswith("task 'lost': schedule ")
    assert "Mars/Olympus" in fault


def test_a_database_that_nobody_serves_is_a_fault() -> None:
    report = check_database("postgresql://nobody@127.0.0.1:1/nothing", Registry())
    (fault,) = report.faults
    assert "127.0.0.1" in fault
