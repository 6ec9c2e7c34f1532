"""Jobs of every kind take steps: what was stored is done by no later attempt."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronograph.jobs import JobContext, job
from cronograph.jobs.core.model import Json
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.steps import Step
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import Connection
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import runs as stored_runs
from tests.runtime.step_jobs import JOBS
from tests.support.engines import RunningEngine, StartEngine, running_engine
from tests.support.waiting import eventually

KINDS = ("async", "thread", "process", "async in process")


async def steps_of(engine: RunningEngine, run_id: int) -> list[Step]:
    return (await engine.database.read(stored_runs.steps_of_runs, [run_id]))[run_id]


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_later_attempt_gets_what_an_earlier_one_stored(
    start_engine: StartEngine, kind: str, tmp_path: Path
) -> None:
    engine, notes = await start_engine(JOBS), tmp_path / "notes"
    done = await engine.finish(kind, {"path": str(notes), "fails": 1}, retries=1)
    assert (done.run.state, done.execution.records_processed) == (RunState.SUCCESS, 2)
    key = f"{kind}:{done.run.id}:charge#2"
    assert done.run.result == [[1, 2, 3, 4], [key]]
    assert sorted(notes.read_text().split("\n")) == ["", *(f"charge {n}" for n in (1, 2, 3, 4)), "mail", "mail"]
    steps = await steps_of(engine, done.run.id)
    assert sorted((one.label, one.state.value, one.attempt, one.error) for one in steps) == [
        ("charge", "done", 1, None),
        ("charge#2", "done", 1, None),
        ("charge[1]", "done", 1, None),
        ("charge[2]", "done", 1, None),
        ("mail", "done", 2, None),
        ("mail", "failed", 1, "no luck"),
    ]
    lines = await engine.lines(done.executions[0].id)
    assert sorted((line.message, line.step) for line in lines) == [
        ("charging", "charge"),
        ("charging", "charge#2"),
        ("charging", "charge[1]"),
        ("charging", "charge[2]"),
        ("step 'mail' failed with ValueError: no luck; its retries are used up", "mail"),
    ]
    assert done.lines == []


async def test_a_later_attempt_gets_the_keys_in_the_same_order_and_the_same_numbers(start_engine: StartEngine) -> None:
    registry, seen = Registry(), list[str]()

    @job("measures", registry=registry)
    async def measures(ctx: JobContext) -> None:
        seen.append(repr(await ctx.step("measure", lambda: {"length": 1e23, "at": [-0.0, {"y": 1e16, "x": 1}]})))
        if ctx.attempt == 1:
            raise ValueError("no luck")

    engine = await start_engine(registry)
    await engine.finish("measures", retries=1)
    assert seen == ["{'length': 1e+23, 'at': [-0.0, {'y': 1e+16, 'x': 1}]}"] * 2


async def test_what_a_killed_process_stored_is_not_done_again(start_engine: StartEngine, tmp_path: Path) -> None:
    engine, notes = await start_engine(JOBS), tmp_path / "notes"
    done = await engine.finish("dies between steps", {"path": str(notes)}, retries=1)
    assert (done.run.state, done.run.attempt, notes.read_text()) == (RunState.SUCCESS, 2, "once\n")


async def test_results_that_nobody_asks_for_any_more_are_shown_as_unused(start_engine: StartEngine) -> None:
    registry = Registry()

    @job("changes", registry=registry)
    async def changes(ctx: JobContext) -> None:
        await ctx.step("kept", asyncio.sleep, 0)
        if ctx.attempt == 1:
            await ctx.step("old", asyncio.sleep, 0)
            raise ValueError("no luck")
        await ctx.step("new", asyncio.sleep, 0)

    engine = await start_engine(registry)
    done = await engine.finish("changes", retries=1)
    steps = await steps_of(engine, done.run.id)
    assert [(one.label, one.used) for one in steps] == [("kept", True), ("old", False), ("new", True)]


def rename(tx: Tx, old: str, new: str) -> None:
    tx.conn.execute(SchemaText(f"ALTER TABLE cronograph.{old} RENAME TO {new}"))


async def test_steps_wait_while_the_database_refuses_them(start_engine: StartEngine) -> None:
    registry, began = Registry(), asyncio.Event()

    @job("waits", registry=registry)
    async def waits(ctx: JobContext) -> int:
        async def one() -> int:
            began.set()
            return 7

        return await ctx.step("one", one)

    engine = await start_engine(registry)
    await engine.database.write(rename, "run_step", "gone")
    run_id = await engine.enqueue("waits")
    await began.wait()
    assert not await engine.has_ended(run_id)
    await engine.database.write(rename, "gone", "run_step")
    assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS
    assert [one.value for one in await steps_of(engine, run_id)] == [7]


async def test_what_a_step_returned_is_stored_although_the_job_leaves(start_engine: StartEngine) -> None:
    registry, began = Registry(), asyncio.Event()

    @job("leaves", registry=registry)
    async def leaves(ctx: JobContext) -> None:
        async def one() -> int:
            return 7

        step = asyncio.ensure_future(ctx.step("one", one))
        done, _ = await asyncio.wait([step], timeout=0.1)
        assert not done, "it cannot be stored yet"
        step.cancel()
        began.set()
        raise ValueError("no luck")

    engine = await start_engine(registry)
    await engine.database.write(rename, "run_step", "gone")
    run_id = await engine.enqueue("leaves")
    await began.wait()
    await engine.database.write(rename, "gone", "run_step")
    assert (await engine.run_until_finished(run_id)).error == "no luck"
    assert [one.value for one in await steps_of(engine, run_id)] == [7]


async def test_a_run_that_was_taken_does_no_more(start_engine: StartEngine) -> None:
    registry, taken = Registry(), asyncio.Event()
    went_on: list[str] = []

    @job("goes on", registry=registry)
    async def goes_on(ctx: JobContext) -> None:
        async def one() -> None:
            await taken.wait()

        await ctx.step("one", one)
        went_on.append("further")

    engine = await start_engine(registry)
    run_id = await engine.enqueue("goes on")
    await engine.run_until(run_id, RunState.RUNNING)
    await engine.database.write(
        lambda tx: tx.conn.execute(SchemaText("UPDATE cronograph.run SET attempt = attempt + 1"))
    )
    taken.set()

    async def left() -> bool:
        return engine.engine.running == 0

    await eventually(left)
    assert went_on == []
    assert await steps_of(engine, run_id) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_steps_of_many_runs_share_a_transaction(start_engine: StartEngine) -> None:
    registry, all_there = Registry(), asyncio.Barrier(5)

    @job("together", registry=registry)
    async def together(ctx: JobContext) -> None:
        await ctx.step("meet", all_there.wait)

    engine = await start_engine(registry)
    ids = [await engine.enqueue("together") for _ in range(5)]
    for run_id in ids:
        assert (await engine.run_until_finished(run_id)).state is RunState.SUCCESS

    def events(conn: Connection) -> list[Json]:
        rows = conn.execute(SchemaText("SELECT changes FROM cronograph.event")).all()
        return [row.changes for row in rows if '"steps"' in str(row.changes)]

    assert len(await engine.database.read(events)) < 5


async def test_a_plain_step_needs_no_thread_of_the_executor_that_other_jobs_may_fill(start_engine: StartEngine) -> None:
    jobs, free, full = Registry(), threading.Event(), threading.Event()

    @job(registry=jobs)
    async def fills(ctx: JobContext) -> None:
        waiting = [asyncio.create_task(asyncio.to_thread(free.wait)) for _ in range(64)]
        full.set()
        await asyncio.gather(*waiting)

    @job(registry=jobs)
    async def steps(ctx: JobContext) -> None:
        await ctx.step("plain", free.is_set)

    engine = await start_engine(jobs)
    filling = await engine.enqueue("fills")
    await eventually(full.is_set)
    try:
        assert (await engine.finish("steps")).run.state is RunState.SUCCESS
    finally:
        free.set()
    assert (await engine.run_until_finished(filling)).state is RunState.SUCCESS


@pytest.mark.parametrize("isolation", ["async", "process"])
async def test_steps_have_the_time_of_the_database_though_the_clock_of_their_node_is_ahead(
    database_url: str, isolation: str, tmp_path: Path
) -> None:
    off = timedelta(hours=1)
    async with running_engine(database_url, JOBS, clock=lambda: datetime.now(UTC) - off) as engine:
        done = await engine.finish(isolation, {"path": str(tmp_path / "notes"), "fails": 0})
        steps = await steps_of(engine, done.run.id)
    assert done.run.started_at is not None
    assert done.run.finished_at is not None
    assert steps != []
    assert all(done.run.started_at <= one.started_at <= done.run.finished_at for one in steps)
