"""How late runs start while somebody ends the connections of a node to PostgreSQL again and again.

Run it from the repository's root: ``python -m tests.bench.bench_kills``; ``--help`` lists the options. Runs come in at
a steady rate from a user of the database whom nobody disturbs. Twice a second one connection of the node's user, any of
them, is ended by ``pg_terminate_backend``. Every run has to end with success, some after a second attempt.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psycopg
import uvloop
from sqlalchemy import ColumnElement, func, select

from cronograph.jobs import JobContext
from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import Enqueued, NewRun, Trigger
from cronograph.jobs.core.states import FINAL, RunState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db import dialect
from cronograph.jobs.store.db.address import libpq_url, parse_url
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.schema.tables import run as run_table
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.measuring import fresh_database, load, milliseconds
from tests.support.waiting import eventually

NODE: str = "bench_node"
"""The node's user of the database."""
BATCHES = 20
"""So often in a second runs are enqueued."""


@dataclass
class Starts:
    """When runs were wanted and first began, by their keys."""

    wanted: dict[int, float] = field(default_factory=dict[int, float])
    began: dict[int, float] = field(default_factory=dict[int, float])

    async def job(self, ctx: JobContext) -> None:
        """The job."""
        self.began.setdefault(ctx.run_id, time.perf_counter())

    def late(self) -> list[float]:
        """Seconds from the wish to the first line, of all that have begun."""
        return [self.began[key] - wanted for key, wanted in self.wanted.items() if key in self.began]


def put_from_outside(tx: Tx, runs: Sequence[NewRun]) -> list[Enqueued]:
    """Put runs into the queue and notify the node, as an application that enqueues in a transaction of its own does."""
    made = put(tx, runs)
    dialect.notify(tx.conn, str((Wake.RUNS | Wake.EVENTS).value))
    return made


async def enqueue(database: Database, starts: Starts, rate: int, seconds: float) -> None:
    """Enqueue at a steady rate, also while the node does nothing."""
    began, size = time.perf_counter(), max(1, rate // BATCHES)
    for number in range(int(seconds * rate / size)):
        await asyncio.sleep(max(0.0, began + number * size / rate - time.perf_counter()))
        wanted = time.perf_counter()
        for made in await database.write(put_from_outside, [NewRun("noted", Trigger.API) for _ in range(size)]):
            starts.wanted[made.run.id] = wanted


async def kill(url: str, every: float, killed: list[str]) -> None:
    """End a connection of the node's user now and then."""
    async with await psycopg.AsyncConnection.connect(libpq_url(parse_url(url)), autocommit=True) as line:
        while True:
            await asyncio.sleep(every)
            found = await line.execute("SELECT pid, application_name FROM pg_stat_activity WHERE usename = %s", [NODE])
            if backends := await found.fetchall():
                pid, name = random.choice(backends)
                await line.execute("SELECT pg_terminate_backend(%s)", [pid])
                killed.append(str(name))


def unfinished(conn: Connection) -> int:
    """Return how many runs have not ended."""
    return count_of(conn, run_table.c.state.not_in([state.value for state in FINAL]))


def failed(conn: Connection) -> int:
    """Return how many runs have no success."""
    return count_of(conn, run_table.c.state != RunState.SUCCESS.value)


def count_of(conn: Connection, condition: ColumnElement[bool]) -> int:
    """Return how many runs are like that."""
    count: int = conn.execute(select(func.count()).select_from(run_table).where(condition)).scalar_one()
    return count


async def measure(url: str, options: argparse.Namespace) -> None:
    """Print a line for each part of the time, and one for all of it."""
    await _make_user(url)
    starts, killed, registry = Starts(), list[str](), Registry()
    registry.add(define("noted", starts.job))
    ours, of_node = Database(url), Database(url.replace("://postgres@", f"://{NODE}@"))
    engine = Engine(Services(of_node), registry, EngineSettings())
    await engine.start()
    killing = asyncio.create_task(kill(url, options.every, killed)) if options.every else None
    for part in range(options.parts):
        starts.wanted.clear()
        await enqueue(ours, starts, options.rate, options.seconds / options.parts)
        await eventually(lambda: starts.wanted.keys() <= starts.began.keys(), within=120, interval=0.01)
        print(f"part {part + 1}: {milliseconds(starts.late())}; {len(killed)} connections ended so far", flush=True)
    if killing is not None:
        killing.cancel()

    async def over() -> bool:
        return await ours.read(unfinished) == 0

    await eventually(over, within=120)
    without_success = await ours.read(failed)
    await engine.stop()
    for database in (of_node, ours):
        await database.close()
    print(f"all {len(starts.began)} runs have ended, {without_success} of them without success")


async def _make_user(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(libpq_url(parse_url(url)), autocommit=True) as line:
        await line.execute(f"CREATE ROLE {NODE} LOGIN SUPERUSER".encode())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=600, help="runs a second")
    parser.add_argument("--seconds", type=float, default=30, help="for which runs come in")
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two kills; 0 = none")
    parser.add_argument("--parts", type=int, default=5, help="of that time, each with its line")
    options = parser.parse_args(arguments)
    # As ``cronograph serve`` does.
    leave_out_what_stays()
    print(f"{options.rate} runs a second, a connection ended every {options.every:g} s; {load()}")
    with fresh_database("postgres") as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(measure(url, options))


if __name__ == "__main__":
    main()
