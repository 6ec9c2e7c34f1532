"""How long PostgreSQL needs to prune old executions: whole blocks beside row by row, and who has to wait meanwhile.

Run it from the repository's root: ``python -m tests.bench.bench_pruning``; ``--help`` lists the options. It judges
nothing. Each run has one execution; a hundredth of them is young, and is kept. Meanwhile one run after the other ends.
"""

import argparse
import asyncio
import contextlib
import time
from collections.abc import Sequence

import uvloop
from sqlalchemy import text

from cronograph.jobs.builtin.prune import Pruned, Retention, prune
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.parts import BLOCK
from cronograph.jobs.store.schema.tables import run
from cronograph.jobs.store.statements.health import table_bytes
from tests.bench.large_log import vacuum
from tests.bench.measuring import fresh_database
from tests.support.history import add_run, fill_block

COPY = 500_000
RUNS = """
    INSERT INTO cronograph.run (id, job_name, args, group_name, priority, state, trigger, submitted_at, available_at,
        started_at, finished_at, attempt, failures, retries, retry_delay, exclusive, description)
    SELECT i, 'job ' || i % 50, '{}', 'default', 'low', 'success', 'api', at, at, at, at, 1, 0, 0, 0, false, ''
    FROM (SELECT i, now() - CASE WHEN i % 100 = 0 THEN interval '1 day' ELSE interval '40 days' END
              + i % 1000000 * interval '1 ms' AS at
          FROM generate_series(CAST(:first AS bigint), :last) i) x
"""
EXECUTIONS = """
    INSERT INTO cronograph.job_execution (id, job_name, started_at, completed_at, success, outcome, run_id, attempt,
        node_id, node, trigger, submitted_at, log_lines, log_cut)
    SELECT id, job_name, started_at, finished_at, true, 'success', id, 1, 1, 'node', trigger, submitted_at, 0, 0
    FROM cronograph.run WHERE id BETWEEN :first AND :last
"""


async def fill(database: Database, executions: int) -> None:
    """Put that many runs with their executions at the end of the first block."""
    for first in range(BLOCK - executions, BLOCK, COPY):
        bounds = {"first": first, "last": min(first + COPY, BLOCK) - 1}

        def copy(tx: Tx, bounds: dict[str, int] = bounds) -> None:
            tx.conn.execute(text("SET LOCAL statement_timeout = 0"))
            for statement in (RUNS, EXECUTIONS):
                tx.conn.execute(text(statement), bounds)

        await database.write(copy)


async def end_runs(database: Database, waits: list[float]) -> None:
    """Make a run and end it, again and again; the seconds of each."""

    def one(tx: Tx) -> None:
        key = add_run(tx.conn, None, state="running", node_id=1)
        tx.conn.execute(run.update().where(run.c.id == key).values(state="success", finished_at=tx.now))

    while True:
        began = time.perf_counter()
        await database.write(one)
        waits.append(time.perf_counter() - began)


async def pruned(database: Database) -> tuple[Pruned, float, list[float]]:
    """Prune while runs end; what went, the seconds, and those of the ends."""
    waits: list[float] = []
    ending = asyncio.create_task(end_runs(database, waits))
    began = time.perf_counter()
    found = await prune(database, Retention())
    seconds = time.perf_counter() - began
    ending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ending
    return found, seconds, sorted(waits)


async def measure(url: str, executions: int, *, full: bool) -> None:
    """Fill a database, prune it, print the figures."""
    database = Database(url)
    await fill(database, executions)
    if full:
        await database.write(fill_block)
    await asyncio.to_thread(vacuum, url)
    sizes = [await database.read(table_bytes)]
    found, seconds, waits = await pruned(database)
    sizes.append(await database.read(table_bytes))
    before, after = (sum(size.values()) for size in sizes if size is not None)
    print(
        f"{'by blocks' if full else 'row by row'}: {found.executions:,} executions and {found.runs:,} runs in "
        f"{seconds:.1f} s; {before / 1e6:,.0f} MB before, {after / 1e6:,.0f} MB after; an end took "
        f"{waits[len(waits) // 2] * 1e3:.1f} ms (p50), {waits[-1] * 1e3:.0f} ms at most",
        flush=True,
    )
    await database.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=500_000, help="up to ten million")
    parser.add_argument("--way", choices=("blocks", "rows"), action="append")
    options = parser.parse_args(arguments)
    for way in options.way or ("blocks", "rows"):
        with fresh_database("postgres") as url:
            uvloop.run(measure(url, options.executions, full=way == "blocks"))


if __name__ == "__main__":
    main()
