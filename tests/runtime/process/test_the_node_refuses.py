"""What a child asks of its node that the node cannot do is told to the job; arguments may fit in one process only."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from typing_extensions import override

from cronograph.jobs.actions.checkpoints import save_checkpoint
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.outcome import INVALID_ARGUMENTS
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.enqueue.enqueue_many import put_many
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from tests.runtime.process_jobs import JOBS
from tests.support.engines import QUICK, RunningEngine, StartEngine

P = ParamSpec("P")
T = TypeVar("T")


class Faulty(Database):
    """A real database; the code that serves children has a fault."""

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        faulty: tuple[Callable[..., Any], ...] = (put_many, save_checkpoint)
        if function in faulty:
            raise RuntimeError("a fault of our own")
        return await super().write(function, *args, **kwargs)


@pytest.mark.parametrize(
    ("job", "error"),
    [("enqueues", "EnqueueRefusedError"), ("keeps", "CheckpointRefusedError")],
    ids=["enqueue", "checkpoint"],
)
async def test_what_the_node_could_not_store_fails_where_the_job_asked_for_it(
    sqlite_url: str, job: str, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    database = Faulty(sqlite_url)
    engine = Engine(Services(database), JOBS, QUICK)
    await engine.start()
    try:
        done = await RunningEngine(engine, database).finish(job)
        assert (done.run.state, done.execution.error_type) == (RunState.FAILED, error)
        assert "RuntimeError: a fault of our own" in (done.run.error or "")
        assert "a fault of our own" in caplog.text
    finally:
        await engine.stop()
        await database.close()


async def test_arguments_that_fit_the_node_but_not_the_child_fail_for_good(
    start_engine: StartEngine, tmp_path: Path
) -> None:
    engine = await start_engine(JOBS)
    mark = tmp_path / "judged"
    run_id = await engine.enqueue_unchecked("judged_once", {"mark": str(mark)}, retries=3)
    done = await engine.finished(run_id)
    assert (done.execution.error_type, len(done.executions)) == (INVALID_ARGUMENTS, 1)
    assert "only one process takes it" in (done.run.error or "")
