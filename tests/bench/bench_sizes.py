"""What history takes on the disk: bytes of each table for a row of it, indexes included, after a node has run jobs.

Run it from the repository's root: ``python -m tests.bench.bench_sizes``; ``--help`` lists the options. It judges
nothing. Each run has one execution, which logs some lines. docs/operations.md has the figures.
"""

import argparse
from collections.abc import Sequence
from functools import partial

import uvloop
from sqlalchemy import Connection, func, select

from cronograph.jobs import JobContext, job
from cronograph.jobs.actions.runs import put
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.schema.tables import metadata, run
from cronograph.jobs.store.statements.health import HISTORY, table_bytes
from tests.bench.measuring import DATABASES, fresh_database
from tests.support.engines import RunningEngine, running_engine
from tests.support.waiting import eventually

CHUNK = 1_000
MESSAGE = "imported a page of orders from the shop, and went on with the next one"


def jobs() -> Registry:
    """A job that logs."""
    registry = Registry()

    @job("logs", registry=registry)
    async def logs(ctx: JobContext, lines: int = 0) -> None:
        for number in range(lines):
            ctx.log.info(MESSAGE, page=number)

    return registry


def unfinished(conn: Connection) -> int:
    """Runs that have not ended."""
    return conn.execute(select(func.count()).select_from(run).where(run.c.finished_at.is_(None))).scalar_one()


async def measure(url: str, runs: int, lines: int) -> None:
    """Run them all, then print what they take."""
    async with running_engine(url, jobs()) as engine:
        new = [NewRun("logs", Trigger.API, args={"lines": lines}, retries=0) for _ in range(CHUNK)]
        for first in range(0, runs, CHUNK):
            await engine.database.write(put, new[: runs - first])
        await eventually(partial(all_ended, engine), within=600)
        await engine.database.read(report)


async def all_ended(engine: RunningEngine) -> bool:
    """Return whether nothing waits or runs any more."""
    return await engine.database.read(unfinished) == 0


def report(conn: Connection) -> None:
    """A line for each table that holds history."""
    sizes = table_bytes(conn)
    if sizes is None:
        raise SystemExit("this SQLite was built without dbstat, so it does not tell the size of a table")
    for name in HISTORY:
        full = f"cronograph.{name}"
        table = metadata.tables[full] if full in metadata.tables else metadata.tables[name]
        rows = conn.execute(select(func.count()).select_from(table)).scalar_one()
        if rows:
            print(f"  {name:20} {rows:8,} rows, {sizes[name] / rows:7.0f} bytes each", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on each database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--lines", type=int, default=5, help="that each run logs")
    options = parser.parse_args(arguments)
    for database in options.database or DATABASES:
        print(f"-- {database}: {options.runs:,} runs of {options.lines} log lines")
        with fresh_database(database) as url:
            uvloop.run(measure(url, options.runs, options.lines))


if __name__ == "__main__":
    main()
