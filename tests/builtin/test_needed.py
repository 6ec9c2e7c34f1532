"""What something needs that has not ended is deleted by nobody: each reader of history beside each that deletes it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, update

from cronograph.jobs.builtin.prune import Retention, prune
from cronograph.jobs.core.defaults import Keeping
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import (
    execution_log,
    flow,
    flow_run,
    job,
    job_execution,
    queue_group,
    remote_attempt,
    run,
    run_signal,
    run_step,
)
from cronograph.jobs.store.statements import prunable
from cronograph.jobs.store.statements.prunable import blocks_of
from tests.support.history import add, add_execution, add_run, fill_block, history

DAY = timedelta(days=1)
AGO = 40 * DAY
TASK = 5
"""Deleted, so that nothing of it stays as its newest."""
SUSPENDED: dict[str, Any] = {"state": "suspended", "awaits": {"kind": "time", "label": "nap", "runs": [], "count": 0}}


@dataclass(frozen=True, slots=True)
class Needed:
    """What has to stay: runs, executions and flows, and how their reader comes to its end."""

    runs: tuple[int, ...]
    executions: tuple[int, ...]
    flows: tuple[int, ...]
    release: Callable[[Tx], None]


def ended(tx: Tx, flow_id: int | None = None, **values: object) -> tuple[int, int]:
    """A run that ended long ago, with its execution, which has a line."""
    at = tx.now - AGO
    run_id = add_run(tx.conn, at, TASK, flow_id=flow_id, **values)
    execution_id = add_execution(tx.conn, run_id, at, at, TASK)
    line = {"execution_id": execution_id, "line": 0, "at": at, "level": "INFO", "message": "m"}
    tx.conn.execute(insert(execution_log).values(**line))
    if flow_id is not None:
        add(tx.conn, flow_run, run_id=run_id, flow_id=flow_id, key="a", condition="success")
    return run_id, execution_id


def add_flow(tx: Tx, state: str, parent_id: int | None = None) -> int:
    at = tx.now - AGO
    values = {"name": "f", "state": state, "submitted_at": at, "callbacks": {}, "closed_at": at, "parent_id": parent_id}
    return add(tx.conn, flow, **values, finished_at=None if state == "running" else at)


def end_run(run_id: int) -> Callable[[Tx], None]:
    def end(tx: Tx) -> None:
        over = {"state": "cancelled", "awaits": None, "finished_at": tx.now - AGO}
        tx.conn.execute(update(run).where(run.c.id == run_id).values(**over))

    return end


def a_child_flow_of_a_run_that_goes_on(tx: Tx) -> Needed:
    parent = add_run(tx.conn, None, **SUSPENDED)
    child = add_flow(tx, "success", parent)
    run_id, execution_id = ended(tx, child)
    return Needed((run_id, parent), (execution_id,), (child,), end_run(parent))


def an_attempt_of_a_run_that_goes_on(tx: Tx) -> Needed:
    at = tx.now - AGO
    asleep = add_run(tx.conn, None, TASK, **SUSPENDED)
    executions = tuple(add_execution(tx.conn, asleep, at, at, TASK, attempt=attempt) for attempt in (1, 2, 3))
    step = {
        "run_id": asleep,
        "step": "s",
        "failure": 0,
        "kind": StepKind.FUNCTION.value,
        "state": "done",
        "attempt": 1,
        "used": True,
    }
    tx.conn.execute(insert(run_step).values(**step, started_at=at, finished_at=at, value=1))
    add(tx.conn, run_signal, run_id=asleep, name="n", rank=1, sent_at=at)
    return Needed((asleep,), executions, (), end_run(asleep))


def a_member_of_a_flow_that_goes_on(tx: Tx) -> Needed:
    flow_id = add_flow(tx, "running")
    run_id, execution_id = ended(tx, flow_id)

    def end(tx: Tx) -> None:
        tx.conn.execute(update(flow).values(state="success", finished_at=tx.now - AGO))

    return Needed((run_id,), (execution_id,), (flow_id,), end)


def _holder(tx: Tx, *, until_start: bool | None) -> Needed:
    until = tx.now + DAY
    run_id, _ = ended(tx, unique_key="k", key_until=until, key_until_start=until_start)

    def end(tx: Tx) -> None:
        tx.conn.execute(update(run).where(run.c.id == run_id).values(key_until=tx.now - timedelta(seconds=1)))

    # Its log is not needed.
    return Needed((run_id,), (), (), end)


def a_run_that_holds_its_key_for_a_time(tx: Tx) -> Needed:
    return _holder(tx, until_start=None)


def the_first_run_of_a_throttle(tx: Tx) -> Needed:
    return _holder(tx, until_start=True)


def an_attempt_that_its_engine_still_knows(tx: Tx) -> Needed:
    run_id, execution_id = ended(tx)
    at = tx.now - AGO
    values = {
        "run_id": run_id, "attempt": 1, "executor": "command", "name": "n", "token_hash": "t", "submitted_at": at,
        "engine_state": "unknown", "engine_text": "", "engine_since": at, "begin": {}, "sequence": 0, "log_lines": 0,
    }  # fmt: skip
    tx.conn.execute(insert(remote_attempt).values(**values, execution_id=execution_id, ended_at=at))

    def end(tx: Tx) -> None:
        tx.conn.execute(update(remote_attempt).values(over_at=at))

    return Needed((run_id,), (execution_id,), (), end)


READERS = (
    a_child_flow_of_a_run_that_goes_on,
    an_attempt_of_a_run_that_goes_on,
    a_member_of_a_flow_that_goes_on,
    a_run_that_holds_its_key_for_a_time,
    the_first_run_of_a_throttle,
    an_attempt_that_its_engine_still_knows,
)


def _keep_of_job(tx: Tx) -> None:
    published = {"name": "j", "description": "", "isolation": "async", "args_schema": {}, "tags": [], "signature": "s"}
    tx.conn.execute(insert(job).values(**published, defaults={"keep": 60.0}))


def _keep_of_group(tx: Tx) -> None:
    tx.conn.execute(insert(queue_group).values(name="default", keep=60.0))


def _newer(tx: Tx) -> None:
    history(tx.conn, TASK, *[tx.now] * 3)


def _many(tx: Tx) -> None:
    """So many old ones that those which are needed are few beside them."""
    history(tx.conn, None, *[tx.now - AGO] * 60)


DELETERS = {
    "by age": (Retention(30 * DAY), None),
    "by blocks": (Retention(30 * DAY), _many),
    "by number": (Retention(3650 * DAY, 1), _newer),
    "by what the job keeps": (Retention(3650 * DAY), _keep_of_job),
    "by what the group keeps": (Retention(3650 * DAY), _keep_of_group),
}


def there(conn: Connection, needed: Needed) -> tuple[int, int, int, int]:
    """Return how many of the runs, executions, flows and lines of the executions are there."""
    lines = select(execution_log.c.execution_id).where(execution_log.c.execution_id.in_(needed.executions))
    asked = (
        select(run.c.id).where(run.c.id.in_(needed.runs)),
        select(job_execution.c.id).where(job_execution.c.id.in_(needed.executions)),
        select(flow.c.id).where(flow.c.id.in_(needed.flows)),
        lines,
    )
    counts = [len(conn.execute(one).all()) for one in asked]
    return counts[0], counts[1], counts[2], counts[3]


@pytest.mark.costly
@pytest.mark.both_databases
@pytest.mark.parametrize("deleter", DELETERS)
@pytest.mark.parametrize("reader", READERS)
async def test_what_is_needed_stays_and_goes_once_it_is_not(
    database: Database, reader: Callable[[Tx], Needed], deleter: str
) -> None:
    retention, prepare = DELETERS[deleter]
    if prepare is not None:
        await database.write(prepare)
    needed = await database.write(reader)
    if deleter == "by number":
        await database.write(_newer)
    if deleter == "by blocks":
        await database.write(fill_block)
    before = await database.read(there, needed)
    would = await database.read(prunable.prunable, await database.write(_kept, retention), retention.max_per_task)
    assert not set(would.executions) & set(needed.executions)
    await prune(database, retention)
    assert await database.read(there, needed) == before
    if deleter == "by blocks" and not database.is_sqlite:
        assert [one.number for one in await database.read(blocks_of, "job_execution_done")] == [0, 2]
        assert [one.number for one in await database.read(blocks_of, "run_done")] == [0, 2]
    await database.write(needed.release)
    await prune(database, retention)
    left = await database.read(there, needed)
    # A flow goes at the usual time of all, never because of a number or of what one of its jobs keeps.
    stays = deleter not in {"by age", "by blocks"} and needed.flows
    assert left[0] <= (before[0] if stays else 0 if deleter != "by number" else 1), left


def _kept(tx: Tx, retention: Retention) -> Keeping:
    return prunable.keeping(tx.conn, tx.now, retention.max_age)
