"""What a flow costs: many runs of which one comes after all others, and as many runs that know nothing of each other.

Run it from the repository's root: ``python -m tests.bench.bench_flows``; ``--help`` lists the options. One process, one
node, a job that does nothing. It judges nothing.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from functools import partial

import uvloop
from sqlalchemy import func, select

from cronograph.jobs import job
from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.flows import NewFlow, NewMember
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.queue.flows.new_flows import put_flow
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import run as run_table
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.measuring import DATABASES, counting_statements, cpu_seconds, fresh_database, load
from tests.support.waiting import eventually

CHUNK = 1000


def jobs() -> Registry:
    """The job."""
    registry = Registry()

    @job("nothing", registry=registry)
    async def nothing() -> None:
        pass

    assert nothing.name
    return registry


def enqueue_plain(tx: Tx, runs: int) -> None:
    """Runs that know nothing of each other."""
    for first in range(0, runs, CHUNK):
        put(tx, [NewRun("nothing", Trigger.API) for _ in range(min(CHUNK, runs - first))])


def enqueue_fan_in(tx: Tx, runs: int) -> None:
    """A flow of as many runs, the last of which comes after all others."""
    keys = [str(number) for number in range(runs - 1)]
    members = [NewMember(key, NewRun("nothing", Trigger.API)) for key in keys]
    put_flow(tx, NewFlow("fan-in", (*members, NewMember("last", NewRun("nothing", Trigger.API), tuple(keys)))))


def _finished(conn: Connection) -> int:
    statement = select(func.count()).where(run_table.c.finished_at.is_not(None))
    count: int = conn.execute(statement).scalar_one()
    return count


async def drained(url: str, kind: str, runs: int) -> tuple[float, float, float, float]:
    """Seconds to enqueue, seconds, processor seconds of this process and statements until all runs have ended."""
    with counting_statements(listed=False) as statements:
        database = Database(url)
        before = await database.read(_finished)
        began = time.perf_counter()
        await database.write(enqueue_fan_in if kind == "flow" else enqueue_plain, runs)
        enqueued = time.perf_counter() - began
        engine = Engine(Services(database), jobs(), EngineSettings())
        statements.forget()
        began, cpu = time.perf_counter(), cpu_seconds()
        await engine.start()
        await eventually(partial(_all_ended, database, before + runs), within=600)
        took = time.perf_counter() - began, cpu_seconds() - cpu, float(statements.total)
        await engine.stop()
        await database.close()
        return enqueued, *took


async def _all_ended(database: Database, runs: int) -> bool:
    return await database.read(_finished) >= runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--runs", type=int, default=10_000, help="of each kind")
    parser.add_argument("--rounds", type=int, default=1, help="plain and flow in turn, so many times")
    chosen = parser.parse_args(arguments)
    leave_out_what_stays()
    print(load())
    for database in chosen.database or DATABASES:
        with fresh_database(database) as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for kind in ("plain", "flow") * chosen.rounds:
                enqueued, took, cpu, statements = runner.run(drained(url, kind, chosen.runs))
                per = f"{cpu / chosen.runs * 1e6:6.0f} µs of CPU and {statements / chosen.runs:5.3f} statements per run"
                print(
                    f"{database:8} {kind:6} enqueued in {enqueued:5.2f} s, drained in {took:6.2f} s, {per}", flush=True
                )


if __name__ == "__main__":
    main()
