"""What undoes the steps of a run that ended badly is done by the queue, the last step first, also after a kill."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cronograph.jobs import Cancellation, ConfigurationError, JobContext, RunSpec, job
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.base.errors import InvalidState
from cronograph.jobs.core.flows import Flow, FlowState
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import Connection
from cronograph.jobs.store.schema.tables import flow
from cronograph.jobs.store.statements import runs as stored_runs
from cronograph.jobs.store.statements.flows import by_ids, flow_from
from cronograph.jobs.testing import Queue, drain, run_job
from tests.runtime.step_jobs import JOBS
from tests.support.engines import RunningEngine, StartEngine
from tests.support.storage import retry_runs
from tests.support.waiting import eventually


def flows_of(conn: Connection, run_id: int) -> list[Flow]:
    return [flow_from(row) for row in conn.execute(flow.select().where(flow.c.started_by_run_id == run_id))]


async def cleaned_up(engine: RunningEngine, run_id: int) -> Flow:
    """The flow of the cleanups of a run, once it has ended."""
    (made,) = await engine.database.read(flows_of, run_id)

    async def ended() -> Flow | None:
        found = (await engine.database.read(by_ids, [made.id]))[made.id]
        return found if found.finished_at is not None else None

    return await eventually(ended) or made


@pytest.mark.costly
async def test_what_a_killed_process_did_is_undone_in_reverse_order(start_engine: StartEngine, tmp_path: Path) -> None:
    engine, notes = await start_engine(JOBS), tmp_path / "notes"
    done = await engine.finish("dies after its steps", {"path": str(notes)}, retries=1, labels={"customer": "7"})
    assert (done.run.state, done.run.attempt) == (RunState.FAILED, 2)
    made = await cleaned_up(engine, done.run.id)
    assert (made.name, made.state, made.labels) == (
        f"cleanup of run {done.run.id}",
        FlowState.SUCCESS,
        {"customer": "7"},
    )
    assert notes.read_text().split() == ["charge", "undo", "charge", "undo", "seat"]
    stored = (await engine.database.read(stored_runs.steps_of_runs, [done.run.id]))[done.run.id]
    assert [(one.label, one.cleanup_job, one.attempt) for one in stored] == [("seat", "undo", 1), ("charge", "undo", 1)]


class Trip:
    """A job that books, with cleanups, and then does as it is asked."""

    def __init__(self) -> None:
        self.registry = registry = Registry()
        self.undone: list[str] = []
        undone = self.undone

        @job(registry=registry, retries=2, retry_delay=0)
        async def release(ctx: JobContext, booking: str) -> None:
            if booking == "train 1" and ctx.attempt == 1:
                raise ConnectionError("away")
            undone.append(booking)

        @job(registry=registry, retries=0)
        async def never(booking: str) -> None:
            undone.append(f"not {booking}")
            raise ValueError(booking)

        async def book(what: str) -> str:
            return f"{what} 1"

        @job(registry=registry, retries=0, retry_delay=0)
        async def trip(ctx: JobContext, how: str) -> None:
            await ctx.cleanup("hotel", release.run(booking="hotel"))
            await ctx.step("train", book, "train", cleanup=release)
            await ctx.step("car", book, "car", cleanup=lambda booked: never.run(booking=booked))
            await ctx.step("none", book, "none")
            if how == "waits":
                await ctx.wait_for("approved", timeout="1h")
            if how != "succeeds":
                raise ValueError(how)

        self.job = trip


@pytest.mark.parametrize("how", ["fails", "waits"])
async def test_a_failed_run_is_cleaned_up_and_a_failed_cleanup_keeps_none_from_starting(how: str) -> None:
    trip = Trip()
    async with Queue(trip.registry) as queue:
        run_id = await queue.enqueue(trip.job, {"how": how})
        runs = await drain(queue)
        assert (await queue.run(run_id)).state is RunState.FAILED
        assert trip.undone == ["not car 1", "train 1", "hotel"]
        assert [(one.job_name, one.state.value) for one in runs[1:]] == [
            ("never", "failed"), ("release", "success"), ("release", "success"),
        ]  # fmt: skip
        (made,) = await queue.database.read(flows_of, run_id)
        assert made.state is FlowState.FAILED


async def test_a_run_that_succeeds_is_not_cleaned_up_and_one_that_is_retried_only_at_the_end() -> None:
    trip = Trip()
    async with Queue(trip.registry) as queue:
        await queue.enqueue(trip.job, {"how": "succeeds"})
        run_id = await queue.enqueue(trip.job, {"how": "fails"}, retries=2)
        await drain(queue)
        assert ((await queue.run(run_id)).run.attempt, trip.undone) == (3, ["not car 1", "train 1", "hotel"])


async def test_a_suspended_run_that_is_cancelled_is_cleaned_up_once() -> None:
    trip = Trip()
    async with Queue(trip.registry) as queue:
        run_id = await queue.enqueue(trip.job, {"how": "waits"})
        assert await queue.step() == run_id
        for _ in range(2):
            await queue.database.write(cancel_runs, [run_id], reason="the customer left")
        await drain(queue)
        assert ((await queue.run(run_id)).state, trip.undone) == (
            RunState.CANCELLED,
            ["not car 1", "train 1", "hotel"],
        )


async def test_a_run_made_again_from_a_step_leaves_the_steps_before_to_the_first_one() -> None:
    trip = Trip()
    async with Queue(trip.registry) as queue:
        run_id = await queue.enqueue(trip.job, {"how": "succeeds"})
        await drain(queue)
        await queue.database.write(retry_runs, [run_id], args=None, from_step="car")
        again = await drain(queue)
        assert ([one.state for one in again], trip.undone) == ([RunState.SUCCESS], [])
        (third,) = await queue.database.write(retry_runs, [run_id], from_step="none")
        await queue.database.write(cancel_runs, [third.id])
        await drain(queue)
        assert trip.undone == []


async def test_a_run_is_not_made_again_from_a_step_behind_one_that_was_undone() -> None:
    trip = Trip()
    async with Queue(trip.registry) as queue:
        run_id = await queue.enqueue(trip.job, {"how": "fails"})
        await drain(queue)
        trip.undone.clear()
        with pytest.raises(InvalidState, match=r"step 'car' comes before 'none', and job 'never' has undone it"):
            await queue.database.write(retry_runs, [run_id], from_step="none")
        (again,) = await queue.database.write(retry_runs, [run_id], from_step="car")
        await drain(queue)
        assert ((await queue.run(again.id)).state, trip.undone) == (
            RunState.FAILED,
            ["not car 1", "train 1", "hotel"],
        )


async def test_on_cancel_gets_the_cancellation() -> None:
    registry, said = Registry(), list[Cancellation]()

    @job(registry=registry)
    async def note(cancellation: Cancellation) -> None:
        said.append(cancellation)

    @job(registry=registry, on_cancel=note)
    async def waits(ctx: JobContext, order: int) -> None:
        await ctx.wait_for("approved")

    async with Queue(registry) as queue:
        first, second = [await queue.enqueue(waits, {"order": order}) for order in (1, 2)]
        await queue.step()
        await queue.database.write(cancel_runs, [first, second], reason="no need", actor="ada")
        await drain(queue)
        reason = "cancelled by ada: no need"
        assert said == [
            Cancellation(first, "waits", 1, reason, None, {"order": 1}),
            Cancellation(second, "waits", 0, reason, None, {"order": 2}),
        ]


async def test_a_running_run_that_is_cancelled_is_followed_as_well(start_engine: StartEngine) -> None:
    registry, said = Registry(), list[str]()

    @job(registry=registry)
    async def note(cancellation: Cancellation) -> None:
        said.append(f"{cancellation.job_name} {cancellation.attempt}")

    @job(registry=registry)
    async def undo() -> None:
        said.append("undone")

    @job(registry=registry, on_cancel="note")
    async def works(ctx: JobContext) -> None:
        await ctx.cleanup("all", undo.run())
        said.append("begun")
        await asyncio.Event().wait()

    engine = await start_engine(registry)
    run_id = await engine.enqueue("works")
    await eventually(lambda: said == ["begun"])
    await engine.cancel_elsewhere(run_id)
    assert (await engine.run_until_finished(run_id)).state is RunState.CANCELLED
    await eventually(lambda: sorted(said) == ["begun", "undone", "works 1"])


def not_run(_: object) -> Any:
    return 7


def fails(_: object) -> RunSpec:
    raise LookupError("no booking")


@pytest.mark.parametrize(
    ("cleanup", "error", "says"),
    [
        (7, "InvalidInput", "step 'one': cleanup must be a job that takes the result"),
        (not_run, "StepUnstorable", "step 'one': its cleanup must return a run (refund.run(…)), got 7"),
        (fails, "StepUnstorable", "step 'one': its cleanup cannot be made of None: no booking"),
        (RunSpec("work", retries=-1), "StepUnstorable", "retries: must be"),
    ],
)
async def test_what_is_no_cleanup_fails_the_attempt(cleanup: Any, error: str, says: str) -> None:
    async def work(ctx: JobContext) -> None:
        await ctx.step("one", asyncio.sleep, 0, cleanup=cleanup)

    result = await run_job(work)
    assert (result.state, result.error_type) == (RunState.FAILED if error == "StepUnstorable" else result.state, error)
    assert says in str(result.error)


def test_on_cancel_names_a_job_that_takes_the_cancellation() -> None:
    registry = Registry()

    @job(registry=registry)
    async def other(number: int) -> None: ...

    @job(registry=registry, on_cancel="other")
    async def work() -> None: ...

    with pytest.raises(ConfigurationError, match=r"on_cancel: job 'other' .* gets one argument, the run that was canc"):
        registry.check()
