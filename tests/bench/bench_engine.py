"""How fast the engine is: runs a second, time from enqueue to start, lateness of many tasks due at once, idle cost.

Run it from the repository's root: ``python -m tests.bench.bench_engine``; ``--help`` lists the options. One process,
one node, a job that does nothing. It judges nothing. Everything shares the machine, the database too; processor time
per run and statements per run say more than runs a second when others are busy.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import uvloop
from sqlalchemy import func, select

from cronograph.jobs import RunSpec, connect, job
from cronograph.jobs.actions.runs import put
from cronograph.jobs.actions.tasks import create_tasks
from cronograph.jobs.base.context import JobContext
from cronograph.jobs.base.services import Services
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.model import NewRun, ScheduleSpec, TaskSpec, Trigger
from cronograph.jobs.core.nodes import NodeChoice
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Connection as Transaction
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import run as run_table
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.measuring import (
    DATABASES,
    Statements,
    counting_statements,
    cpu_seconds,
    fresh_database,
    load,
    milliseconds,
)
from tests.support.waiting import eventually

CHUNK = 1000
"""Runs and tasks that one transaction of the benchmark inserts."""


class Recorder:
    """The jobs of the benchmark, and when each was started."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.count = 0
        self.started: dict[str, float] = {}
        self.late: list[float] = []

        @job("nothing", registry=self.registry)
        async def nothing() -> None:
            self.count += 1

        @job("stamp", registry=self.registry)
        async def stamp(key: str) -> None:
            self.started[key] = time.perf_counter()

        @job("late", registry=self.registry)
        async def late(context: JobContext) -> None:
            nominal = context.scheduled_for
            assert nominal is not None
            self.late.append((datetime.now(UTC) - nominal).total_seconds())

        self.jobs = (nothing, stamp, late)


@dataclass(frozen=True)
class Bench:
    """An engine at work on a fresh database."""

    url: str
    database: Database
    recorder: Recorder
    statements: Statements
    engine: Engine


@asynccontextmanager
async def engine_on(url: str, settings: EngineSettings, statements: Statements) -> AsyncGenerator[Bench]:
    """An engine that is made but not started yet; it is stopped afterwards."""
    recorder = Recorder()
    database = Database(url)
    engine = Engine(Services(database), recorder.registry, settings)
    try:
        yield Bench(url, database, recorder, statements, engine)
    finally:
        await engine.stop()
        await database.close()


async def throughput(bench: Bench, runs: int) -> str:
    """Runs a second with a full queue, from the start of the engine to the last stored end."""
    for first in range(0, runs, CHUNK):
        new = [NewRun("nothing", Trigger.API) for _ in range(min(CHUNK, runs - first))]
        await bench.database.write(put, new)
    await bench.engine.start()
    await eventually(lambda: bench.recorder.count > 0, within=60)
    bench.statements.forget()
    done, began, cpu = bench.recorder.count, time.perf_counter(), cpu_seconds()
    await eventually(lambda: bench.recorder.count >= runs, within=600)
    await eventually(partial(_all_stored, bench.database, runs), within=60)
    took, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    # Few runs may all be done in the first batch, before anything is counted.
    counted = max(1, bench.recorder.count - done)
    return (
        f"{counted / took:8.0f} runs/s, {cpu / counted * 1e6:6.0f} µs of this process' CPU and "
        f"{bench.statements.total / counted:5.2f} statements per run{_commonest(bench.statements, counted)}"
    )


async def _all_stored(database: Database, runs: int) -> bool:
    return await database.read(_finished) >= runs


def _finished(conn: Transaction) -> int:
    statement = select(func.count()).where(run_table.c.finished_at.is_not(None))
    count: int = conn.execute(statement).scalar_one()
    return count


def _commonest(statements: Statements, runs: int) -> str:
    if not statements.listed:
        return ""
    lines = statements.by_text.most_common(30)
    return "".join(f"\n    {count * 20 / runs:6.2f} per 20 runs: {text}" for text, count in lines)


async def latency(bench: Bench, runs: int) -> str:
    """Seconds from the beginning of an enqueue to the first line of the job, nothing else going on."""
    await bench.engine.start()
    # The first one waits until the statements of the enqueueing have been put together.
    first = await _start_after(bench, "first", _enqueue_here)
    own = [await _start_after(bench, str(place), _enqueue_here) for place in range(runs)]
    here = f"enqueued by this node:          {milliseconds(own)}; the first of all {first * 1000:.0f} ms"
    if bench.database.is_sqlite:
        return here
    with connect(bench.url, registry=bench.recorder.registry) as connection:
        elsewhere = partial(_enqueue_elsewhere, connection)
        await _start_after(bench, "first other", elsewhere)
        foreign = [await _start_after(bench, f"other-{place}", elsewhere) for place in range(runs)]
    return f"{here}\n{'':20}enqueued by `connect(…)`:       {milliseconds(foreign)}"


Enqueue = Callable[[Bench, str], Awaitable[None]]


async def _start_after(bench: Bench, key: str, enqueue: Enqueue) -> float:
    began = time.perf_counter()
    await enqueue(bench, key)
    await eventually(lambda: key in bench.recorder.started, interval=0.02)
    # What follows the end of a run (its result, its events) must not be part of the next one's time.
    await asyncio.sleep(0.03)
    return bench.recorder.started[key] - began


async def _enqueue_here(bench: Bench, key: str) -> None:
    await bench.database.write(put, [NewRun("stamp", Trigger.API, args={"key": key})])


async def _enqueue_elsewhere(connection: Connection, _bench: Bench, key: str) -> None:
    """As a process does that only enqueues: the node hears of it by a notification of the database."""
    await asyncio.to_thread(connection.put, RunSpec("stamp", {"key": key}))


async def due_together(bench: Bench, tasks: int) -> str:
    """Return how late the jobs of many tasks start that are due at the same second."""
    return milliseconds(await lateness(bench, tasks))


async def lateness(bench: Bench, tasks: int) -> Sequence[float]:
    """By how many seconds each of the jobs is late."""
    await bench.engine.start()
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5 + tasks // 500)
    schedule = ScheduleSpec(Syntax.TIMESTAMP, due.isoformat().replace("+00:00", "Z"))
    for first in range(0, tasks, CHUNK):
        names = [f"task-{place:06}" for place in range(first, min(tasks, first + CHUNK))]
        await bench.database.write(_create, [TaskSpec(name, "late", schedule) for name in names])
    await eventually(lambda: len(bench.recorder.late) >= tasks, within=120, interval=0.05)
    return bench.recorder.late


async def each_second(bench: Bench, tasks: int) -> str:
    """Return how late the jobs of many tasks start that are due in each of ten seconds."""
    await bench.engine.start()
    schedule = ScheduleSpec(Syntax.CRON, "* * * * * *")
    await bench.database.write(_create, [TaskSpec(f"task-{place:04}", "late", schedule) for place in range(tasks)])
    # The first second may have begun while they were made.
    await eventually(lambda: len(bench.recorder.late) >= 2 * tasks, within=60)
    bench.recorder.late.clear()
    await eventually(lambda: len(bench.recorder.late) >= 10 * tasks, within=60)
    return milliseconds(bench.recorder.late)


def _create(tx: Tx, specs: Sequence[TaskSpec]) -> None:
    create_tasks(tx, specs)


async def idle(bench: Bench, seconds: int) -> str:
    """Return what a node costs that has nothing to do."""
    await bench.engine.start()
    await asyncio.sleep(1)
    bench.statements.forget()
    cpu, began = cpu_seconds(), time.perf_counter()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    return f"{(cpu_seconds() - cpu) / took * 100:5.2f} % of a core, {bench.statements.total / took:5.2f} statements/s"


Part = Callable[[Bench, int], Awaitable[str]]
PARTS: dict[str, Part] = {
    "throughput": throughput,
    "latency": latency,
    "due": due_together,
    "each": each_second,
    "idle": idle,
}


async def measure(url: str, part: Part, size: int, settings: EngineSettings, *, listed: bool = False) -> str:
    """One line (or a few) about one part."""
    with counting_statements(listed=listed) as statements:
        async with engine_on(url, settings, statements) as bench:
            return await part(bench, size)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--part", choices=list(PARTS), action="append", help="all unless given")
    parser.add_argument("--runs", type=int, default=10_000, help="runs of the throughput part")
    parser.add_argument("--latencies", type=int, default=100, help="runs of the latency part")
    parser.add_argument("--tasks", type=int, default=1_000, help="tasks due at one second")
    parser.add_argument("--each", type=int, default=200, help="tasks due each second")
    parser.add_argument("--idle-seconds", type=int, default=20)
    parser.add_argument("--slots", type=int, default=EngineSettings().slots)
    parser.add_argument("--prefetch", type=int, default=EngineSettings().prefetch)
    parser.add_argument(
        "--groups", nargs="*", default=(), help="take runs of these groups only; 'default' are all of them"
    )
    parser.add_argument("--statements", action="store_true", help="list the statements of the throughput part")
    chosen = parser.parse_args(arguments)
    sizes = {
        "throughput": chosen.runs,
        "latency": chosen.latencies,
        "due": chosen.tasks,
        "each": chosen.each,
        "idle": chosen.idle_seconds,
    }
    choice = NodeChoice(groups=tuple(chosen.groups))
    settings = EngineSettings(slots=chosen.slots, prefetch=chosen.prefetch, choice=choice)
    # As ``cronograph serve`` does.
    leave_out_what_stays()
    print(f"{load()}; {chosen.slots} slots")
    for kind in chosen.database or DATABASES:
        for name in chosen.part or PARTS:
            with fresh_database(kind) as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                measured = measure(url, PARTS[name], sizes[name], settings, listed=chosen.statements)
                print(f"{kind:8} {name:10} {runner.run(measured)}", flush=True)


if __name__ == "__main__":
    main()
