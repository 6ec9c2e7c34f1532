"""What limits cost: draining with a concurrency key beside a plain queue, by turns, and a rate over several nodes.

Run it from the repository's root: ``python -m tests.bench.bench_limits``; ``--help`` lists the options.
"""

import argparse
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Self

import uvloop
from sqlalchemy import func, select

from cronograph.jobs.actions.groups import set_group_rate
from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.schema.tables import job_execution, run
from tests.bench.measuring import fresh_database, load
from tests.support.waiting import eventually

CHUNK = 5_000


async def nothing(customer: int = 0) -> None:
    """The job."""
    del customer


async def enqueue(database: Database, runs: int, keys: int | None, group: str = "default") -> None:
    """Put runs into the queue; with ``keys`` one slot for each of so many keys, which take turns."""
    for first in range(0, runs, CHUNK):
        new = [
            NewRun(
                "nothing",
                Trigger.API,
                group=group,
                concurrency_key=None if keys is None else str(place % keys),
                max_concurrent=None if keys is None else 1,
            )
            for place in range(first, min(first + CHUNK, runs))
        ]
        await database.write(put, new)


def succeeded(conn: Connection) -> int:
    """Return how many runs have."""
    statement = select(func.count()).select_from(run).where(run.c.state == RunState.SUCCESS.value)
    count: int = conn.execute(statement).scalar_one()
    return count


def last_end(conn: Connection) -> tuple[datetime, datetime]:
    """Return when the first execution began, and the last one ended."""
    row = conn.execute(select(func.min(job_execution.c.started_at), func.max(job_execution.c.completed_at))).one()
    return row[0], row[1]


def starts(conn: Connection) -> list[datetime]:
    """Return when executions began."""
    return list(conn.execute(select(job_execution.c.started_at).order_by(job_execution.c.started_at)).scalars())


class Nodes:
    """Engines on one database."""

    def __init__(self, url: str, count: int, settings: EngineSettings) -> None:
        registry = Registry()
        registry.add(define("nothing", nothing))
        self.databases = [Database(url) for _ in range(count)]
        self.engines = [Engine(Services(one), registry, settings) for one in self.databases]

    async def __aenter__(self) -> Self:
        for engine in self.engines:
            await engine.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for engine, database in zip(self.engines, self.databases, strict=True):
            await engine.stop()
            await database.close()

    async def all_stored(self, runs: int) -> None:
        """Wait for so many successes."""

        async def stored() -> bool:
            return await self.databases[0].read(succeeded) == runs

        await eventually(stored, within=600, interval=0.05)


async def drain(kind: str, runs: int, keys: int | None) -> float:
    """Runs a second."""
    with fresh_database(kind) as url:
        database = Database(url)
        await enqueue(database, runs, keys)
        async with Nodes(url, 1, EngineSettings(slots=100)) as nodes:
            await nodes.all_stored(runs)
            first, last = await database.read(last_end)
        await database.close()
    return runs / (last - first).total_seconds()


async def reached(kind: str, rate: Rate, seconds: float, count: int) -> tuple[float, int]:
    """Return what part of a rate so many nodes reach, and how many starts too many its fullest stretch has."""
    with fresh_database(kind) as url:
        database = Database(url)
        runs = int(rate.limit / rate.per * seconds)
        await database.write(set_group_rate, "rated", rate=rate)
        await enqueue(database, runs, None, "rated")
        async with Nodes(url, count, EngineSettings(slots=100)) as nodes:
            await nodes.all_stored(runs)
            times = await database.read(starts)
        await database.close()
    took = (times[-1] - times[0]).total_seconds()
    return (runs - rate.burst) / took / (rate.limit / rate.per), excess(times, rate)


def excess(times: Sequence[datetime], rate: Rate) -> int:
    """Return how many starts the fullest stretch has beyond what the rate lets through: not above 0 if it is exact."""
    per = timedelta(seconds=rate.per)
    # The stretch from i to j has j - i + 1 starts: the best i so far is that with the smallest i - limit * t.
    least, worst = float("inf"), -rate.burst
    for place, at in enumerate(times):
        level = rate.limit * ((at - times[0]) / per)
        least = min(least, place - level)
        worst = max(worst, round(place + 1 - level - least - rate.burst - 0.5))
    return worst


async def measure(options: argparse.Namespace) -> None:
    """Print a line for each part."""
    ratios: list[float] = []
    for turn in range(options.rounds):
        plain = await drain(options.database, options.runs, None)
        keyed = await drain(options.database, options.runs, options.keys)
        ratios.append(keyed / plain)
        print(f"round {turn + 1}: plain {plain:,.0f}/s, {options.keys:,} keys {keyed:,.0f}/s: {keyed / plain:.2f}")
    rate = Rate.of(options.rate, 1.0, options.burst)
    nodes = 1 if options.database == "sqlite" else options.nodes
    before = time.process_time()
    part, most = await reached(options.database, rate, options.seconds, nodes)
    used = (time.process_time() - before) / options.seconds
    print(
        f"{rate.words}, burst {rate.burst}, over {nodes} nodes: {part:.1%} reached with {used:.2f} processors, the "
        f"fullest stretch has {most} more than it may; {load()}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="postgres")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=1_000, help="starts a second")
    parser.add_argument("--burst", type=int, help="a twentieth of the rate unless given")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to start at that rate")
    parser.add_argument("--nodes", type=int, default=3)
    options = parser.parse_args(arguments)
    print(load())
    uvloop.run(measure(options))


if __name__ == "__main__":
    main()
