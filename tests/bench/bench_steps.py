"""How fast steps are stored, beside the same runs without any, and how soon a signal reaches a run that waits for it.

Run it from the repository's root: ``python -m tests.bench.bench_steps``; ``--help`` lists the options. One process, one
node, ``async`` jobs whose steps do nothing. It judges nothing.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from functools import partial

import uvloop
from sqlalchemy import func, insert, literal, select, text, update

from cronograph.jobs import JobContext, job
from cronograph.jobs.actions.runs import put
from cronograph.jobs.actions.signals import signal_run
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Signal
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.address import is_sqlite
from cronograph.jobs.store.db.database import Connection, Database, parse_url, sync_engine
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import node as node_table
from cronograph.jobs.store.schema.tables import run as run_table
from cronograph.jobs.store.schema.tables import run_step
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.measuring import DATABASES, counting_statements, cpu_seconds, fresh_database, load, milliseconds
from tests.support.waiting import eventually

STEPS = 10
"""Of each run."""
CHUNK = 1000


async def nothing(number: int) -> int:
    """Return what a step does."""
    return number


def jobs() -> Registry:
    """The two jobs."""
    registry = Registry()

    @job("with steps", registry=registry)
    async def with_steps(ctx: JobContext) -> None:
        for number in range(STEPS):
            await ctx.step("do", nothing, number)

    @job("without", registry=registry)
    async def without(_ctx: JobContext) -> None:
        for number in range(STEPS):
            await nothing(number)

    @job("waits", registry=registry)
    async def waits(ctx: JobContext) -> None:
        await ctx.wait_for("go")
        went_on[ctx.run_id] = time.perf_counter()

    assert len({with_steps.name, without.name, waits.name}) == 3
    return registry


went_on: dict[int, float] = {}
"""When each run got its signal."""


def suspend_all(tx: Tx) -> None:
    """Leave all runs as an attempt leaves them that waits for a signal; through attempts it would take minutes."""
    node = tx.conn.execute(select(func.max(node_table.c.id))).scalar_one()
    awaits = Awaits(AwaitedKind.SIGNAL, "go").to_json()
    left = {"state": "suspended", "awaits": awaits, "attempt": 1, "started_at": tx.now, "node_id": node}
    tx.conn.execute(update(run_table).values(**left))
    wait = {"step": "go", "failure": 0, "kind": "signal", "attempt": 1, "state": "waiting", "started_at": tx.now}
    wait |= {"used": True, "signal": "go", "rank": 0}
    values = (literal(value, run_step.c[name].type) for name, value in wait.items())
    tx.conn.execute(insert(run_step).from_select(["run_id", *wait], select(run_table.c.id, *values)))


def clean(url: str) -> None:
    """Let PostgreSQL forget that these runs waited before, as it does by itself after a while."""
    if is_sqlite(parse_url(url)):
        return
    engine = sync_engine(parse_url(url))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(text("VACUUM ANALYZE"))
    engine.dispose()


async def idling(url: str, seconds: float) -> str:
    """What a node does that has nothing to do: its processor time, and its statements but those of its claims."""
    database = Database(url)
    engine = Engine(Services(database), jobs(), EngineSettings())
    await engine.start()
    await asyncio.sleep(1.0)
    with counting_statements(listed=False) as statements:
        cpu = cpu_seconds()
        await asyncio.sleep(seconds)
        used, sent = cpu_seconds() - cpu, statements.total
    await engine.stop()
    await database.close()
    return f"{used / seconds * 100:.2f} % of a core, {sent / seconds:.1f} statements a second"


async def signalled(url: str, suspended: int, signals: int, idle: float) -> list[str]:
    """What it costs an idle node that many runs are suspended, and how soon a signal reaches the next line of its job.

    A signal takes from its beginning, before its transaction, to the line of the job behind the wait.
    """
    said = [f"an idle node, no run suspended: {await idling(url, idle)}"]
    database = Database(url)
    ids: list[int] = []
    for first in range(0, suspended, CHUNK):
        new = [NewRun("waits", Trigger.API) for _ in range(min(CHUNK, suspended - first))]
        ids += [one.run.id for one in await database.write(put, new)]
    await database.write(suspend_all)
    clean(url)
    said.append(f"an idle node, {suspended:,} suspended: {await idling(url, idle)}")
    engine = Engine(Services(database), jobs(), EngineSettings())
    await engine.start()
    took: list[float] = []
    with counting_statements(listed=False) as statements:
        cpu = cpu_seconds()
        for run_id in ids[:: max(1, suspended // signals)][:signals]:
            began = time.perf_counter()
            await database.write(signal_run, run_id=run_id, signal=Signal("go"))
            await eventually(partial(went_on.get, run_id), interval=0.001)
            took.append(went_on[run_id] - began)
        cpu, sent = (cpu_seconds() - cpu) / len(took), statements.total / len(took)
    await engine.stop()
    await database.close()
    went_on.clear()
    cost = (
        f"{cpu * 1e3:.1f} ms of CPU of this process and {sent:.1f} statements beside the claim, all of its run included"
    )
    return [*said, f"a signal reaches its job after {milliseconds(took)}; each costs {cost}"]


def _finished(conn: Connection) -> int:
    statement = select(func.count()).where(run_table.c.finished_at.is_not(None))
    count: int = conn.execute(statement).scalar_one()
    return count


async def drained(url: str, name: str, runs: int) -> tuple[float, float, float]:
    """Seconds, processor seconds of this process, and statements, until all runs of a job have ended."""
    with counting_statements(listed=False) as statements:
        database = Database(url)
        before = await database.read(_finished)
        for first in range(0, runs, CHUNK):
            await database.write(put, [NewRun(name, Trigger.API) for _ in range(min(CHUNK, runs - first))])
        engine = Engine(Services(database), jobs(), EngineSettings())
        statements.forget()
        began, cpu = time.perf_counter(), cpu_seconds()
        await engine.start()
        await eventually(partial(all_ended, database, before + runs), within=600)
        took = time.perf_counter() - began, cpu_seconds() - cpu, float(statements.total)
        await engine.stop()
        await database.close()
        return took


async def all_ended(database: Database, runs: int) -> bool:
    """Return whether so many runs have ended."""
    return await database.read(_finished) >= runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--runs", type=int, default=1_000, help="of each job")
    parser.add_argument("--suspended", type=int, default=1_000, help="runs that wait for a signal")
    parser.add_argument("--idle", type=float, default=5.0, help="seconds for which an idle node is watched, twice")
    parser.add_argument("--signals", type=int, default=100, help="how many of them get one, one after the other")
    chosen = parser.parse_args(arguments)
    leave_out_what_stays()
    print(load())
    for kind in chosen.database or DATABASES:
        with fresh_database(kind) as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for name in ("without", "with steps"):
                took, cpu, statements = runner.run(drained(url, name, chosen.runs))
                per = f"{cpu / chosen.runs * 1e6:6.0f} µs of CPU and {statements / chosen.runs:5.2f} statements per run"
                steps = f", {chosen.runs * STEPS / took:6.0f} steps/s" if name == "with steps" else ""
                print(f"{kind:8} {name:10} {chosen.runs / took:6.0f} runs/s, {per}{steps}", flush=True)
        with fresh_database(kind) as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for line in runner.run(signalled(url, chosen.suspended, chosen.signals, chosen.idle)):
                print(f"{kind:8} {line}", flush=True)


if __name__ == "__main__":
    main()
