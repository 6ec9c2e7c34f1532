"""Jobs in child processes."""

import os

from cronograph.jobs.core.states import RunState
from tests.support.engines import StartEngine

from tests.runtime.process_jobs import JOBS


async def test_a_plain_function_runs_in_a_process_of_its_own(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish("p_add", {"a": 2, "b": 3})
    assert done.run.state is RunState.SUCCESS, done.execution
    assert done.execution.records_processed == 5
    assert done.execution.value["pid"] != os.getpid()


async def test_a_coroutine_runs_in_a_process_of_its_own(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish("p_add_async", {"a": 2})
    assert done.run.state is RunState.SUCCESS, done.execution
    assert done.execution.value == {"pid": done.execution.value["pid"], "attempt": 1}
