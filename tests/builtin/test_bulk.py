"""The job `bulk_action`: a portion and what is known of it are one, however it is stopped."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Connection

from cronograph.jobs.base.services import Also, Services
from cronograph.jobs.builtin import register_builtin
from cronograph.jobs.core.base.errors import InvalidState
from cronograph.jobs.core.model import Run
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.steps import StepEnd
from cronograph.jobs.queue.steps import store_within
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import runs as stored_runs
from cronograph.jobs.store.statements.runs import by_ids
from tests.support.engines import QUICK, RunningEngine
from tests.support.storage import Stored
from tests.support.waiting import eventually

AT = datetime(2026, 11, 3, tzinfo=UTC)


class SlowApi:
    """An API whose portions are committed, but answered only once they may be."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.portions = 0
        self.may_answer = asyncio.Event()

    async def call(self, query: str, *, also: Also | None = None, **more: object) -> dict[str, Any]:
        assert "setRunPriorities" in query
        assert more["variables"]
        if also is None:
            return {"data": {"setRunPriorities": {"count": 800, "errors": []}}}
        kept = {"runs": [7, 8], "count": 2, "hasMore": True, "endCursor": "here"}
        await self._database.write(lambda tx: also(tx, kept))
        self.portions += 1
        await self.may_answer.wait()
        return {"data": {"setRunPriorities": {"count": 2, "errors": []}}}


@pytest.mark.costly
async def test_a_portion_that_outlasts_the_grace_of_a_cancel_is_known_and_counted(database: Database) -> None:
    registry, api = Registry(), SlowApi(database)
    register_builtin(registry)
    engine = Engine(Services(database, api), registry, replace(QUICK, hard_stop_grace=0.0))
    await engine.start()
    running = RunningEngine(engine, database)
    run_id = await running.enqueue("bulk_action", {"action": "high", "filter": {}, "all": True})
    await eventually(lambda: api.portions == 1, message="the first portion to be committed")

    def stored(conn: Connection) -> tuple[Run, dict[str, Any]]:
        return by_ids(conn, [run_id])[run_id], dict(stored_runs.step_results_of(conn, [run_id])[run_id])

    run, steps = await database.read(stored)
    assert run.progress == {"done": 2, "total": 800, "message": "set to high priority"}
    assert steps["portion"].value == {"hasMore": True, "endCursor": "here", "count": 2, "ids": ["7", "8"]}

    (job,) = [task for task in asyncio.all_tasks() if task.get_name() == f"cronograph-run-{run_id}"]
    await running.cancel_elsewhere(run_id)
    await eventually(job.cancelling, message="the hard stop")
    api.may_answer.set()
    done = await running.finished(run_id)
    assert (done.run.state, done.run.error) == (RunState.CANCELLED, "stopped after 2 of 800 runs")
    assert done.run.progress == run.progress
    await engine.stop()


def test_nothing_is_stored_of_a_portion_whose_run_was_taken_away(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue().id
    attempt = worker.start().run.attempt
    end = StepEnd("portion", AT, AT, value={"ids": []})

    def portion(tx: Tx, attempt: int) -> None:
        store_within(tx, run_id, attempt, end, {"done": 1, "total": 2, "message": None})

    for other in (attempt - 1, attempt + 1):
        with pytest.raises(InvalidState, match="step 'portion': not done, since the run was taken from its node"):
            stored.do(portion, other)
    stored.do(portion, attempt)
    assert stored.do(lambda tx: by_ids(tx.conn, [run_id])[run_id].progress)["done"] == 1
