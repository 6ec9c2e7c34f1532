"""An attempt is over when everything that it began is over, and its run wakes by whatever comes first."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from cronograph.jobs import JobContext, job
from cronograph.jobs.core.explain import explain_run
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.job_loop import JobLoop
from cronograph.jobs.store.statements import facts
from cronograph.jobs.store.statements import runs as stored_runs
from tests.runtime import branch_jobs
from tests.runtime.branch_jobs import JOBS
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually


class LoopOfJobs(JobLoop):
    """A loop of jobs in which the runner of the tests finds its own task, too."""

    @override
    def create_task(self, *args: Any, **kwargs: Any) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = super().create_task(*args, **kwargs)
        asyncio._register_task(task)  # noqa: SLF001 - documented under "Extending asyncio"
        return task


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The event loop of a server's jobs: it knows which tasks are whose."""
    return "asyncio", {"loop_factory": LoopOfJobs}


pytestmark = pytest.mark.both_databases


async def states_of(engine: RunningEngine, run_id: int) -> dict[str, str]:
    """The state of each step of a run, by its label."""
    steps = await engine.database.read(stored_runs.steps_of_runs, [run_id])
    return {one.label: one.state.value for one in steps[run_id]}


@pytest.mark.costly
@pytest.mark.parametrize("others_first", [True, False])
@pytest.mark.parametrize("kind", ["gathered", "grouped", "threads", "beside a run"])
async def test_a_run_wakes_by_whatever_comes_first(start_engine: StartEngine, kind: str, others_first: bool) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish(kind, {"others_first": others_first})
    assert (done.run.state, done.run.attempt) == (RunState.SUCCESS, 2)
    assert sorted((await states_of(engine, done.run.id)).values()) == ["done", "waiting"]


@pytest.mark.costly
@pytest.mark.parametrize("others_first", [True, False])
@pytest.mark.parametrize("kind", ["in process", "threads in process"])
async def test_a_run_of_a_child_process_wakes_by_whatever_comes_first(
    start_engine: StartEngine, kind: str, others_first: bool
) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish(kind, {"others_first": others_first})
    assert (done.run.state, done.run.attempt) == (RunState.SUCCESS, 2)
    assert await states_of(engine, done.run.id) == {"never": "waiting", "nap": "done"}


@pytest.mark.parametrize("kind", ["works beside", pytest.param("works beside in process", marks=pytest.mark.costly)])
async def test_a_branch_beside_a_wait_goes_on_to_its_own_wait_and_repeats_nothing(
    start_engine: StartEngine, kind: str, tmp_path: Path
) -> None:
    engine, notes = await start_engine(JOBS), tmp_path / "notes"
    run_id = await engine.enqueue(kind, {"path": str(notes)})

    async def waits_for_the_signal_alone() -> bool:
        return (await states_of(engine, run_id)).get("last") == "done" and await engine.has_ended(run_id)

    await eventually(waits_for_the_signal_alone)
    assert notes.read_text() == "step 1\nstep 2\nstep 3\nlast\n"
    executions = await engine.executions(run_id)
    assert [one.outcome for one in executions] == [Outcome.SUSPENDED, Outcome.SUSPENDED]


@pytest.fixture
def nothing_at_work() -> Iterator[None]:
    """Begin and end with nothing that acts."""
    branch_jobs.SEEN.clear()
    branch_jobs.TASKS.clear()
    branch_jobs.LET_GO.clear()
    yield
    branch_jobs.LET_GO.set()
    assert branch_jobs.AT_WORK == []


@pytest.mark.costly
@pytest.mark.usefixtures("nothing_at_work")
@pytest.mark.parametrize("how", ["step", "task", "shield"])
async def test_what_goes_on_when_a_branch_fails_is_over_before_the_next_attempt(
    start_engine: StartEngine, how: str
) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish("fails beside", {"how": how}, retries=1)
    assert (done.run.state, done.run.attempt) == (RunState.SUCCESS, 2)
    assert branch_jobs.SEEN == [[], []]


@pytest.mark.usefixtures("nothing_at_work")
async def test_a_task_that_a_job_leaves_ends_before_its_run(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish("leaves a task")
    assert (done.run.state, branch_jobs.AT_WORK) == (RunState.SUCCESS, [])
    assert [one.cancelled() for one in branch_jobs.TASKS] == [True]


@pytest.mark.costly
@pytest.mark.usefixtures("nothing_at_work")
async def test_the_thread_of_a_step_holds_its_attempt_until_it_ends_and_keeps_its_result(
    start_engine: StartEngine,
) -> None:
    engine = await start_engine(JOBS)
    run_id = await engine.enqueue("plain step", retries=1, timeout=0.05)
    line = "should have stopped, but a thread cannot be killed; waiting for it to end (step charge)"
    await engine.wait_line(run_id, line)
    assert engine.unstoppable() == {run_id}
    assert (await engine.run(run_id)).state is RunState.RUNNING
    branch_jobs.LET_GO.set()
    done = await engine.finished(run_id)
    # What the thread returned is stored, though its attempt had no time left.
    assert [one.outcome for one in done.executions] == [Outcome.TIMED_OUT, Outcome.SUCCESS]
    assert branch_jobs.SEEN == [[]]


async def test_all_that_a_run_waits_for_is_named(start_engine: StartEngine) -> None:
    registry = Registry()

    @job("waits for all", registry=registry)
    async def waits(ctx: JobContext) -> None:
        await asyncio.gather(ctx.wait_for("approved", timeout="7d"), ctx.sleep("cool down", "3d"), ctx.run("other"))

    other = JOBS.get("other")
    assert other is not None
    registry.add(other)
    engine = await start_engine(registry)
    run_id = await engine.enqueue("waits for all")
    run = await engine.run_until(run_id, RunState.SUSPENDED)
    known = await engine.reader.read(lambda conn: facts.of_runs(conn, [run], run.submitted_at))
    assert run.wake_at is not None
    assert run.started_at is not None
    assert timedelta(days=3) <= run.wake_at - run.started_at < timedelta(days=4)
    found = explain_run(run, known[run_id], run.submitted_at)
    assert found.sentence.startswith("It waits for whichever of 3 comes first. Time wakes it at ")
    said = "\n".join(found.details)
    for one in ("signal 'approved' until", "sleeps ('cool down') until", "waits ('other') for run", "Run 2 of job"):
        assert one in said


@pytest.mark.usefixtures("nothing_at_work")
async def test_a_branch_that_is_cancelled_may_take_steps_before_it_ends(
    start_engine: StartEngine, tmp_path: Path
) -> None:
    engine, notes = await start_engine(JOBS), tmp_path / "notes"
    done = await engine.finish("undoes", {"path": str(notes)})
    assert (done.run.state, done.run.error) == (RunState.FAILED, "no luck")
    assert sorted(notes.read_text().split()) == ["stayed", "undone"]
    assert await states_of(engine, done.run.id) == {"undo": "done", "stay": "done"}


@pytest.mark.costly
async def test_branches_that_wait_for_each_other_do_not_keep_a_run_from_waiting(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    run_id = await engine.enqueue("holds a place")
    run = await engine.run_until(run_id, RunState.SUSPENDED)
    assert run.awaits is not None
    # The place is free again once the first one has left: then the second one stands, too.
    assert await states_of(engine, run_id) == {"one": "waiting", "two": "waiting"}
    assert [one["name"] for one in (run.awaits, *run.awaits["others"])] == ["one", "two"]


@pytest.mark.costly
@pytest.mark.usefixtures("nothing_at_work")
async def test_what_a_thread_wants_for_an_attempt_that_is_over_is_refused(start_engine: StartEngine) -> None:
    branch_jobs.REFUSED.clear()
    engine = await start_engine(JOBS)
    done = await engine.finish("wants more")
    branch_jobs.LET_GO.set()
    await eventually(lambda: "over" in branch_jobs.REFUSED)
    assert branch_jobs.REFUSED == [
        "step 'late': not begun, since its attempt is over",
        "a task or thread wanted to enqueue runs for an attempt that is over",
        "a task or thread wanted to enqueue runs at its end for an attempt that is over",
        "a task or thread wanted to save a checkpoint for an attempt that is over",
        "over",
    ]
    assert (await engine.run(done.run.id)).progress is None
