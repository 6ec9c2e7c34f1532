"""The time box: asked to leave at the deadline, stopped hard after the grace where that can be done."""

from datetime import timedelta
from pathlib import Path

import pytest

from cronograph.jobs import JobContext, job
from cronograph.jobs.core.model import Outcome, ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from tests.runtime.sample_jobs import KINDS, registry_of
from tests.support.engines import StartEngine
from tests.support.waiting import eventually

SEEN = 1.5
"""Seconds of grace in which a child on a busy machine gets to say something."""


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_leaves_at_its_deadline_succeeds_and_keeps_its_checkpoint(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(registry_of(kind), hard_stop_grace=15.0)
    run_id = await engine.trigger_new_task(TaskSpec("t", "leaves", ScheduleSpec(Syntax.CRON, "@yearly"), timeout=0.3))
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.SUCCESS, Outcome.SUCCESS)
    assert done.messages == ["begun", "left"]
    assert done.lines[1].fields == {"reason": "deadline"}
    assert await engine.checkpoint("t") == {"reason": "deadline", "remaining": 0.0}


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_leaving_with_an_error_after_the_deadline_is_a_time_out(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), hard_stop_grace=15.0)
    done = await engine.finish("leaves", {"error": "half done"}, timeout=0.3)
    assert (done.run.state, done.execution.outcome) == (RunState.FAILED, Outcome.TIMED_OUT)
    assert done.execution.error_message == "used up its time box and left with half done"
    assert "RuntimeError: half done" in (done.execution.traceback or "")


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["async", "process", "async in process"])
async def test_a_job_that_does_not_leave_is_stopped_hard_and_may_clean_up(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind), hard_stop_grace=SEEN)
    done = await engine.finish("cleans_up", timeout=1.0)
    assert (done.run.state, done.execution.outcome) == (RunState.FAILED, Outcome.TIMED_OUT)
    assert done.execution.error_message == "used up its time box and did not leave when asked to"
    assert done.messages == ["begun", "cleaned up"]


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["process", "async in process"])
async def test_a_process_that_refuses_to_leave_is_killed(start_engine: StartEngine, kind: str, tmp_path: Path) -> None:
    engine = await start_engine(registry_of(kind), hard_stop_grace=SEEN)
    done = await engine.finish("ignores", {"until": str(tmp_path / "never")}, timeout=1.0)
    assert (done.run.state, done.execution.outcome) == (RunState.FAILED, Outcome.TIMED_OUT)
    assert done.messages == ["begun", "will not leave"]


async def test_a_coroutine_that_swallows_its_cancel_is_cancelled_again_until_it_ends(
    start_engine: StartEngine, tmp_path: Path
) -> None:
    engine = await start_engine(registry_of("async"))
    run_id = await engine.enqueue("ignores", {"until": str(tmp_path / "end")}, timeout=0.2)
    await engine.wait_line(run_id, "will not leave")
    assert (await engine.run(run_id)).state is RunState.RUNNING
    (tmp_path / "end").touch()
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.FAILED, Outcome.TIMED_OUT)


async def test_a_thread_past_its_hard_stop_keeps_its_run_and_its_slot_until_it_ends(
    start_engine: StartEngine, tmp_path: Path
) -> None:
    engine = await start_engine(registry_of("thread"), slots=1)
    run_id = await engine.enqueue("ignores", {"until": str(tmp_path / "end")}, timeout=0.2)
    next_id = await engine.enqueue("ends", {"how": "a number"})
    note = "should have stopped, but a thread cannot be killed; waiting for it to end"
    await engine.wait_line(run_id, note)
    assert engine.unstoppable() == {run_id}
    assert [(await engine.run(one)).state for one in (run_id, next_id)] == [RunState.RUNNING, RunState.WAITING]
    (tmp_path / "end").touch()
    done = await engine.finished(run_id)
    assert (done.run.state, done.execution.outcome) == (RunState.FAILED, Outcome.TIMED_OUT)
    assert (await engine.run_until_finished(next_id)).state is RunState.SUCCESS
    assert engine.unstoppable() == frozenset()


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_the_checkpoint_of_a_run_without_a_task_outlives_its_attempts(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(registry_of(kind))
    done = await engine.finish("counts", retries=2)
    assert (done.run.state, done.run.attempt, done.run.result) == (RunState.SUCCESS, 3, [1, 2, 3])
    assert (await engine.finish("counts", retries=0)).run.state is RunState.FAILED, "another run begins again"


async def test_a_timed_out_attempt_is_retried_with_a_fresh_time_box(start_engine: StartEngine) -> None:
    engine = await start_engine(registry_of("async"))
    done = await engine.finish("cleans_up", timeout=0.2, retries=1)
    assert [one.outcome for one in done.executions] == [Outcome.TIMED_OUT, Outcome.TIMED_OUT]


async def test_a_coroutine_that_blocks_the_loop_past_its_deadline_is_judged_by_how_it_returned(
    start_engine: StartEngine,
) -> None:
    engine = await start_engine(registry_of("async"))
    done = await engine.finish("ends", {"how": "a number"}, timeout=30)
    assert done.run.state is RunState.SUCCESS
    await eventually(lambda: engine.engine.running == 0)


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_the_end_of_the_time_of_the_whole_run_stops_it_and_leaves_no_retry(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(registry_of(kind), hard_stop_grace=15.0)
    done = await engine.finish("leaves", {"error": "half done"}, max_duration=0.3, timeout=30, retries=5)
    assert (done.run.state, done.execution.outcome) == (RunState.FAILED, Outcome.TIMED_OUT)
    assert (done.execution.error_message or "").startswith("max_duration: the run had to end by ")
    assert (done.execution.error_message or "").endswith("; used up its time box and left with half done")
    assert done.run.deadline_at is not None
    assert done.run.started_at is not None
    # SQLite reckons in milliseconds.
    assert abs(done.run.deadline_at - done.run.started_at - timedelta(seconds=0.3)) <= timedelta(milliseconds=1)


@pytest.mark.costly
async def test_a_suspended_run_is_failed_by_its_node_when_its_time_is_over(start_engine: StartEngine) -> None:
    registry = Registry()

    @job("waits", registry=registry)
    async def waits(ctx: JobContext) -> None:
        await ctx.wait_for("approved")

    engine = await start_engine(registry)
    run_id = await engine.enqueue(waits.name, max_duration=0.5)
    done = await engine.finished(run_id)
    assert done.run.state is RunState.FAILED
    assert (done.run.error or "").startswith("max_duration: the run had to end by ")
    assert done.execution.outcome is Outcome.SUSPENDED
