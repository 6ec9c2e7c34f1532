"""Jobs of every kind put others into the queue, and what they print is kept."""

import io
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TextIO

import pytest

from cronograph.jobs import JobContext, job
from cronograph.jobs.core.flows import FlowState
from cronograph.jobs.core.model import Priority, Run
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.statements import flows
from cronograph.jobs.store.statements import runs as run_store
from cronograph.jobs.testing import Queue, drain, run_job
from tests.runtime.chaining_jobs import JOBS, LATER, coroutine
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually

KINDS = ("async", "thread", "process", "async in process")


async def told(engine: RunningEngine, after: int) -> list[Run]:
    """The runs that a job has enqueued."""
    found = await engine.database.read(run_store.by_ids, [*range(after + 1, after + 20)])
    return [found[run_id] for run_id in sorted(found)]


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_enqueues_others_at_once_and_when_it_ends_well(
    start_engine: StartEngine, kind: str, own_stdout: None, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = await start_engine(JOBS, print_logs=True)
    done = await engine.finish(kind)
    assert (done.run.state, done.execution.records_processed) == (RunState.SUCCESS, 3)
    enqueued = await told(engine, done.run.id)
    assert [one.args["number"] for one in enqueued] == [1, 2, 3, 9]
    assert [one.priority for one in enqueued] == [Priority.HIGH, Priority.LOW, Priority.LOW, Priority.LOW]
    ids = " ".join(str(one.id) for one in enqueued[:3])
    assert [line.message for line in done.lines] == [f"enqueued {ids}", "without an end"]
    if "process" not in kind:
        assert capsys.readouterr().out == f"enqueued {ids}\nwithout an end"


class Tee:
    """Hands on what it gets, as libraries that colour or copy output do."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        self.stream.write(text)


def closed() -> TextIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("instead", [io.StringIO, closed, lambda: None, lambda: Tee(sys.stdout)])
@pytest.mark.parametrize("kind", ["thread", "process"])
async def test_prints_are_kept_whatever_an_earlier_job_made_of_standard_output(
    start_engine: StartEngine, own_stdout: None, kind: str, instead: Callable[[], Any]
) -> None:
    engine = await start_engine(JOBS, print_logs=True)
    sys.stdout = instead()
    done = await engine.finish(kind)
    assert (done.run.state, [line.message for line in done.lines][1:]) == (RunState.SUCCESS, ["without an end"])


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_an_attempt_that_fails_enqueues_nothing_at_its_end(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(JOBS)
    failed = await engine.finish(kind, {"how": "fails"})
    assert failed.run.error == "no luck"
    assert [one.args["number"] for one in await told(engine, failed.run.id)] == [1, 2, 3]
    wrong = await engine.finish(kind, {"how": "wrong"})
    assert (wrong.execution.error_type, wrong.lines) == ("InvalidInput", [])
    assert wrong.run.error is not None
    assert wrong.run.error.startswith("retries: must be")


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_starts_a_flow_on_a_node_that_has_not_called_connect(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish(kind, {"how": "flow"}, labels={"customer": "42"})
    flow_id = done.execution.records_processed
    assert flow_id is not None

    async def flow_is_over() -> bool:
        return (await engine.database.read(flows.by_ids, [flow_id]))[flow_id].state is FlowState.SUCCESS

    await eventually(flow_is_over)
    stored = (await engine.database.read(flows.by_ids, [flow_id]))[flow_id]
    assert (stored.started_by_run_id, stored.started_by_task_id) == (done.run.id, None)
    runs = await told(engine, done.run.id)
    assert [(one.args, one.flow_id, one.labels) for one in runs] == [
        ({"number": number}, flow_id, {"customer": "42"}) for number in (1, 2)
    ]


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_changes_runs_on_a_node_that_has_not_called_connect(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish(kind, {"how": "changes"})
    run_id = done.execution.records_processed
    assert run_id is not None, done.run.error
    changed = (await engine.database.read(run_store.by_ids, [run_id]))[run_id]
    assert (changed.state, changed.args, changed.error) == (RunState.CANCELLED, {"number": 2}, "cancelled: no longer")
    assert changed.available_at == LATER + timedelta(days=1)


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_flow_that_is_refused_fails_its_job_and_leaves_nothing(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(JOBS)
    failed = await engine.finish(kind, {"how": "circle"})
    assert "'first' → 'second' → 'first'" in (failed.run.error or "")
    assert await told(engine, failed.run.id) == []


async def test_what_a_job_enqueues_runs_at_once(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish("async")

    async def all_ran() -> bool:
        return [one.state for one in await told(engine, done.run.id)] == [RunState.SUCCESS] * 4

    await eventually(all_ran)


async def test_an_async_job_is_warned_not_to_wait_in_the_loop(start_engine: StartEngine) -> None:
    registry = Registry()

    @job("waits", registry=registry)
    async def waits(ctx: JobContext) -> None:
        ctx.enqueue_sync(coroutine)

    engine = await start_engine(registry)
    assert "use `await ctx.enqueue(…)`" in str((await engine.finish("waits")).run.error)


async def test_tests_see_what_a_job_enqueues() -> None:
    result = await run_job("async", registry=JOBS)
    assert [(one.job_name, one.args) for one in result.enqueued] == [("told", {"number": n}) for n in (1, 2, 3, 9)]
    failed = await run_job("async", {"how": "fails"}, registry=JOBS)
    assert [one.args for one in failed.enqueued] == [{"number": n} for n in (1, 2, 3)]
    async with Queue(JOBS) as queue:
        await queue.enqueue("thread")
        drained = await drain(queue)
    assert sorted(one.job_name for one in drained) == ["thread", "told", "told", "told", "told"]


async def test_tests_see_the_flow_that_a_job_starts() -> None:
    result = await run_job("async", {"how": "flow"}, registry=JOBS)
    assert [(one.job_name, one.args) for one in result.enqueued] == [("told", {"number": n}) for n in (1, 2)]
    async with Queue(JOBS) as queue:
        await queue.enqueue("thread", {"how": "flow"})
        drained = await drain(queue)
    assert [one.job_name for one in drained] == ["thread", "told", "told"]
