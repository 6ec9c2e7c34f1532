"""No run changes its state but as the one table of the rules lists it, whichever statement does it."""

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from cronograph.jobs.core.states import FINAL, TRANSITIONS, RunState
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from tests.support.storage import Stored
from tests.support.transitions import REFUSAL, look_away, watch


def test_the_databases_of_tests_refuse_every_other_change(stored: Stored) -> None:
    node = stored.node().node
    run = stored.enqueue()

    def put(conn: Connection, state: RunState) -> None:
        finished = "submitted_at" if state in FINAL else "NULL"
        awaits = "'{}'" if state is RunState.SUSPENDED else "NULL"
        assignments = f"state = '{state}', node_id = {node.id}, finished_at = {finished}, awaits = {awaits}"
        conn.execute(SchemaText(f"UPDATE cronograph.run SET {assignments} WHERE id = {run.id}"))

    def try_all(tx: Tx) -> None:
        for before in RunState:
            look_away(tx.conn)
            put(tx.conn, before)
            watch(tx.conn)
            for after in set(RunState) - {before} - TRANSITIONS[before]:
                with pytest.raises(DBAPIError, match=REFUSAL), tx.conn.begin_nested():
                    put(tx.conn, after)
            for after in TRANSITIONS[before]:
                attempt = tx.conn.begin_nested()
                put(tx.conn, after)
                attempt.rollback()

    stored.do(try_all)
