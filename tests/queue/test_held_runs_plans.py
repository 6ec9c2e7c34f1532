"""What a node that stops looks for depends on the runs that it holds, not on all that it ever executed."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from cronograph.jobs.queue.base.runs import hand_back_scheduled, occupied_by
from cronograph.jobs.store.db.dialect import is_postgresql
from cronograph.jobs.store.db.transaction import Tx
from tests.support.plans import work
from tests.support.storage import Stored

FINISHED = 60


def held(tx: Tx, node_id: int) -> list[int]:
    """The runs that the node executes, or has reserved."""
    return occupied_by(tx.conn, node_id)


def handed_back(tx: Tx, node_id: int) -> list[int]:
    """The runs that the node has not started yet."""
    return hand_back_scheduled(tx.conn, {"node_id": node_id})


@pytest.mark.costly
@pytest.mark.parametrize("search", [held, handed_back])
def test_finished_runs_of_the_node_are_not_read(stored: Stored, search: Callable[[Tx, int], list[int]]) -> None:
    node = stored.node()
    for _ in range(FINISHED):
        stored.enqueue()
        node.end(node.start())

    def look(tx: Tx) -> None:
        if is_postgresql(tx.conn):
            # So few rows are read in whole unless that is forbidden; where no index serves, it is done all the same.
            tx.conn.execute(text("SET LOCAL enable_seqscan = off"))
        found: list[list[int]] = []
        needed = work(tx.conn, lambda: found.append(search(tx, node.node.id)))
        assert found == [[]]
        assert needed <= (0 if is_postgresql(tx.conn) else FINISHED * 2)

    stored.do(look)
