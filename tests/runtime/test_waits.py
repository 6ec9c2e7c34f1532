"""Jobs of every kind sleep and wait for signals: their attempts end, and the run goes on when it is woken."""

import pytest
from sqlalchemy import Connection, select

from cronograph.jobs.actions.signals import signal_by_link, signal_run
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import Signal
from cronograph.jobs.store.schema.tables import run_step
from tests.runtime.wait_jobs import JOBS
from tests.support.engines import StartEngine
from tests.support.waiting import eventually


def asked_by(conn: Connection, run_id: int) -> str:
    """The address that a job has made in its step ``ask``."""
    statement = select(run_step.c.value).where(run_step.c.run_id == run_id, run_step.c.step == "ask")
    url: str = conn.execute(statement).scalar_one()
    return url


KINDS = ("async", "thread", "process", "async in process")


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_sleeps_and_waits_without_a_slot(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(JOBS)
    run_id = await engine.enqueue(kind)

    async def waits_for_the_signal() -> bool:
        run = await engine.run(run_id)
        return run.awaits is not None and run.awaits["kind"] == "signal"

    await eventually(waits_for_the_signal)
    await eventually(lambda: engine.engine.running == 0)
    url = await engine.database.read(asked_by, run_id)
    assert url.startswith("https://cronograph.test/signal/cgn_")
    await engine.database.write(signal_by_link, url.rpartition("/")[2], {"n": 7}, None, address=None)
    done = await engine.finished(run_id)
    assert (done.run.state, done.run.result, done.run.failures) == (RunState.SUCCESS, [1, {"n": 7}], 0)
    assert [one.outcome for one in done.executions] == [Outcome.SUSPENDED, Outcome.SUSPENDED, Outcome.SUCCESS]


async def test_a_signal_that_is_there_is_taken_without_another_attempt(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    run_id = await engine.enqueue("async")
    await engine.database.write(signal_run, run_id=run_id, signal=Signal("approved", {"n": 7}))
    done = await engine.finished(run_id)
    assert (done.run.result, len(done.executions)) == ([1, {"n": 7}], 2)
