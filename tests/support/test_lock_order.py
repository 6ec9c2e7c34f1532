"""What is read of statements about their locks, and which orders are faults."""

import pytest
from sqlalchemy import Connection, text

from tests.support.lock_order import Lock, locks_of, recorded


@pytest.mark.parametrize(
    ("statement", "locks"),
    [
        ("SELECT 1 FROM cronograph.run r WHERE r.id = 1", []),
        ("SELECT r.id FROM cronograph.run r ORDER BY r.id FOR UPDATE", [Lock("run", waits=True)]),
        ("SELECT r.id FROM cronograph.run r FOR UPDATE OF r SKIP LOCKED", [Lock("run", waits=False)]),
        ("SELECT f.id FROM cronograph.flow f WHERE f.id IN (SELECT r.flow_id FROM cronograph.run r) FOR UPDATE",
         [Lock("flow", waits=True)]),
        (("WITH l AS (SELECT FROM cronograph.run WHERE EXISTS (SELECT FROM cronograph.node) FOR UPDATE SKIP LOCKED) "
          "UPDATE cronograph.run SET state = 'x' FROM l"), [Lock("run", waits=False)]),
        ("UPDATE cronograph.periodic_task SET counter = 1", [Lock("periodic_task", waits=True)]),
        ("DELETE FROM cronograph.flow", [Lock("flow", waits=True)]),
    ],
)  # fmt: skip
def test_the_locks_of_a_statement_are_read_off_its_text(statement: str, locks: list[Lock]) -> None:
    assert [*locks_of(statement)] == locks


@pytest.mark.parametrize(
    ("statements", "faults"),
    [
        (("SELECT id FROM cronograph.flow FOR UPDATE", "UPDATE cronograph.run SET state = state"), 0),
        (("UPDATE cronograph.run SET state = state", "SELECT id FROM cronograph.flow FOR UPDATE"), 1),
        (("UPDATE cronograph.run SET state = state", "SELECT id FROM cronograph.flow FOR UPDATE SKIP LOCKED"), 0),
        (
            (
                "SELECT id FROM cronograph.periodic_task FOR UPDATE SKIP LOCKED",
                "UPDATE cronograph.run SET state = state",
            ),
            1,
        ),
    ],
)
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_wait_out_of_the_order_is_a_fault(conn: Connection, statements: tuple[str, ...], faults: int) -> None:
    with recorded() as order:
        for one in statements:
            conn.execute(text(one))
    assert len(order.faults) == faults
