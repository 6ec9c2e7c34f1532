"""What a child asks of its node that the node cannot do is told to the job; arguments may fit in one process only."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from sqlalchemy import Connection
from typing_extensions import override

from cronograph.jobs.actions.runs import save_checkpoint
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.outcome import INVALID_ARGUMENTS
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.enqueue.enqueue import put_many
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements.runs import step_results_of
from tests.runtime.process_jobs import JOBS
from tests.support.engines import QUICK, RunningEngine, StartEngine

P = ParamSpec("P")
T = TypeVar("T")


class Faulty(Database):
    """A real database; the code that serves children has a fault."""

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        faulty: tuple[Callable[..., Any], ...] = (put_many, save_checkpoint, wait)
        if function in faulty:
            raise RuntimeError("a fault of our own")
        return await super().write(function, *args, **kwargs)

    @override
    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if function is step_results_of:
            raise RuntimeError("a fault of our own")
        return await super().read(function, *args, **kwargs)


@dataclass(frozen=True)
class Refused:
    """What a job asks of its node in vain.

    Attributes:
        job: Its name.
        error: The type of what it gets.
        retries: How often it is tried again.
        message: What its error says.
        logged: Whether the node logs the fault, too.
    """

    job: str
    error: str
    retries: int = 0
    message: str = "RuntimeError: a fault of our own"
    logged: bool = True


REFUSED = {
    "enqueue": Refused("enqueues", "EnqueueRefusedError"),
    "checkpoint": Refused("keeps", "CheckpointRefusedError"),
    "steps": Refused("steps_twice", "StepRefusedError", retries=1),
    "wait": Refused("waits", "StepRefusedError", logged=False),
    "address": Refused(
        "makes_address", "StepRefusedError", message="signal_url: this node does not know", logged=False
    ),
}


@pytest.mark.costly
@pytest.mark.parametrize("refused", REFUSED.values(), ids=list(REFUSED))
async def test_what_the_node_could_not_do_fails_where_the_job_asked_for_it(
    sqlite_url: str, refused: Refused, caplog: pytest.LogCaptureFixture
) -> None:
    database = Faulty(sqlite_url)
    engine = Engine(Services(database), JOBS, QUICK)
    await engine.start()
    try:
        done = await RunningEngine(engine, database).finish(refused.job, retries=refused.retries)
        assert (done.run.state, done.execution.error_type) == (RunState.FAILED, refused.error)
        assert refused.message in (done.run.error or "")
        assert ("a fault of our own" in caplog.text) == refused.logged
    finally:
        await engine.stop()
        await database.close()


async def test_arguments_that_fit_the_node_but_not_the_child_fail_for_good(
    start_engine: StartEngine, tmp_path: Path
) -> None:
    engine = await start_engine(JOBS, version_wait=0.0)
    mark = tmp_path / "judged"
    run_id = await engine.enqueue_unchecked("judged_once", {"mark": str(mark)}, retries=3)
    done = await engine.finished(run_id)
    assert (done.execution.error_type, len(done.executions)) == (INVALID_ARGUMENTS, 1)
    assert "only one process takes it" in (done.run.error or "")
