"""Runs and executions that move from the open part of their table to the history, and who looks at them meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection, insert, text, update

from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.base import runs
from cronograph.jobs.queue.enqueue.enqueue import change_in
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.parts import is_split
from cronograph.jobs.store.schema.tables import metadata, periodic_task, run
from tests.support.storage import START, Stored
from tests.support.waiting import wait_until

PARTS = ("run_open", "run_done", "job_execution_open", "job_execution_done")
WAITS = text("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")


def sizes(conn: Connection) -> tuple[int, ...]:
    """The rows of each part."""
    return tuple(conn.execute(text(f"SELECT count(*) FROM cronograph.{part}")).scalar_one() for part in PARTS)


def test_runs_and_executions_are_the_tables_with_parts() -> None:
    assert {table.name for table in metadata.tables.values() if is_split(table)} == {"run", "job_execution"}


@pytest.mark.postgres
def test_what_ends_is_moved_once_and_what_is_tried_again_stays(postgres_url: str) -> None:
    with closing(Stored(postgres_url)) as stored:
        node = stored.node()
        for retries in (0, 1):
            stored.enqueue(retries=retries)
        first, second = node.take(2).started
        assert stored.do(lambda tx: sizes(tx.conn)) == (2, 0, 2, 0)
        node.end(first)
        assert stored.do(lambda tx: sizes(tx.conn)) == (1, 1, 1, 1)
        node.end(second, Failed("ValueError", "no"))
        assert stored.do(lambda tx: sizes(tx.conn)) == (1, 1, 0, 2)
        stored.pass_time(3600)
        node.end(node.start())
        assert stored.do(lambda tx: sizes(tx.conn)) == (0, 2, 0, 3)


def test_an_occurrence_whose_run_has_ended_gets_no_second_one(stored: Stored) -> None:
    node = stored.node()
    stored.task("* * * * * *", catch_up_limit=1)
    stored.pass_time(1)
    stored.dispatch()
    node.end(node.start())
    (before,) = stored.rows(run)
    # As if the clock, or a schedule, had come back to it.
    again = update(periodic_task).values(next_nominal=before.scheduled_for, next_execution=before.scheduled_for)
    stored.do(lambda tx: tx.conn.execute(again))
    stored.dispatch()
    found = [one.scheduled_for for one in stored.rows(run)]
    assert found == sorted(set(found))
    assert stored.rows(run, scheduled_for=before.scheduled_for) == [before]


def locked(conn: Connection, ids: list[int]) -> dict[int, RunState]:
    """Lock these runs in a transaction of somebody else, one as a change of it does; their states."""
    if len(ids) == 1:
        return change_in(conn, lambda tx: locked_by(tx.conn, ids), schema="cronograph")
    return locked_by(conn, ids)


def locked_by(conn: Connection, ids: list[int]) -> dict[int, RunState]:
    return {found.id: found.state for found in runs.lock(conn, ids).values()}


@pytest.mark.postgres
@pytest.mark.parametrize("others", [0, 5])
def test_a_run_that_ends_while_somebody_waits_for_it_is_locked_in_the_history(postgres_url: str, others: int) -> None:
    with closing(Stored(postgres_url)) as stored:
        node = stored.node()
        stored.enqueue()
        started = node.start()
        waiting = [stored.enqueue().id for _ in range(others)]
        ended, may_commit = threading.Event(), threading.Event()

        def end(tx: Tx) -> None:
            tx.conn.execute(update(run).where(run.c.id == started.run.id).values(state="success", finished_at=START))
            ended.set()
            assert may_commit.wait(30)

        engine = sync_engine(parse_url(postgres_url))
        with ThreadPoolExecutor(2) as threads, engine.connect() as theirs:
            ending = threads.submit(stored.do, end)
            assert ended.wait(30)
            # A transaction of somebody else: what it has written before stays.
            theirs.execute(insert(run).values(_row("theirs")))
            looking = threads.submit(locked, theirs, [*waiting, started.run.id])
            with engine.connect() as watching:
                wait_until(lambda: _waits(watching), message="the lock to be waited for")
            may_commit.set()
            ending.result(30)
            expected = {started.run.id: RunState.SUCCESS} | dict.fromkeys(waiting, RunState.WAITING)
            assert looking.result(30) == expected
            theirs.commit()
        engine.dispose()
        assert len(stored.rows(run, description="theirs")) == 1


def _waits(conn: Connection) -> bool:
    conn.rollback()
    return conn.execute(WAITS).first() is not None


def _row(description: str) -> dict[str, Any]:
    return {
        "job_name": "work", "args": {}, "group_name": "default", "priority": "low", "state": "waiting",
        "trigger": "api", "submitted_at": START, "available_at": START, "attempt": 0, "failures": 0, "retries": 0,
        "retry_delay": 0.0, "exclusive": False, "description": description,
    }  # fmt: skip
