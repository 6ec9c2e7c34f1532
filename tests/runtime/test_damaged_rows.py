"""A node goes on with all that it can read, with any nonsense in the other rows of its tables, and names those."""

import logging

import pytest

from cronograph.jobs.actions.tasks import create_task
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.attempts.bodies import fault_of_arguments
from cronograph.jobs.store.read import tasks
from tests.support.damages import damage_all, refuse_nothing
from tests.support.engines import RunningEngine, StartEngine
from tests.support.storage import Stored
from tests.support.waiting import eventually


async def work() -> None:
    """A job that does nothing."""


def registry() -> Registry:
    """One job."""
    found = Registry()
    found.add(define("work", work))
    return found


async def was_started(engine: RunningEngine, name: str) -> bool:
    """Whether a task has had a run."""
    (task,) = (await engine.database.read(tasks.by_names, [name])).values()
    return task.last_started_at is not None


@pytest.mark.costly
@pytest.mark.altered_log
async def test_a_node_starts_and_works_beside_rows_that_cannot_be_read(
    stored: Stored, start_engine: StartEngine, caplog: pytest.LogCaptureFixture
) -> None:
    stored.node()
    stored.task("0 0 0 * * *", name="nightly")
    before = stored.enqueue()
    stored.pass_time(86_400)
    stored.dispatch()
    stored.do(lambda tx: refuse_nothing(tx.conn))
    stored.do(damage_all)
    with caplog.at_level(logging.ERROR):
        engine = await start_engine(registry())
        assert (await engine.finish("work")).run.state is RunState.SUCCESS
        assert (await engine.run_until_finished(before.id)).state is RunState.SUCCESS
        spec = TaskSpec("each second", "work", ScheduleSpec(Syntax.CRON, "* * * * * *", "UTC"))
        await engine.database.write(create_task, spec, submitter="tester")
        await eventually(lambda: was_started(engine, "each second"), message="the task to be started")
    for table in ("run", "periodic_task", "node"):
        assert f"cannot be read: table {table}, row " in caplog.text


@pytest.mark.parametrize("args", [[1], 7, "t", None])
def test_an_attempt_whose_arguments_are_no_object_fails_with_a_sentence(args: object) -> None:
    fault = fault_of_arguments(args)
    assert fault is not None
    assert fault.message == (
        f"the arguments of the run must be an object, got {args!r}; set column args of its row right in the database"
    )
    assert fault.permanent
    assert fault_of_arguments({}) is None
