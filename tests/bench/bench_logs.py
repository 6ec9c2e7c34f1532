"""How much a job that floods its log slows the others: windows with and without a flood in turn, in one process.

Run it from the repository's root: ``python -m tests.bench.bench_logs``. It judges nothing. The time of a small job is
from its enqueueing to its end by the database's clock; windows alternate, so that a busy machine hurts both alike.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import uvloop

from tests.bench.measuring import DATABASES, fresh_database, load, percentile
from tests.runtime.flood_jobs import flooding
from tests.support.engines import RunningEngine, running_engine

KINDS = ("loop", "thread", "process")


@dataclass(frozen=True)
class Sizes:
    """How much of everything: windows of each sort, small jobs in a window, lines of a flood."""

    rounds: int
    jobs: int
    lines: int


async def small_jobs(engine: RunningEngine, count: int, gap: float) -> list[float]:
    """Enqueue small jobs at an even pace; the seconds each took."""
    ids: list[int] = []
    for _ in range(count):
        ids.append(await engine.enqueue("small"))
        await asyncio.sleep(gap)
    ends = [await engine.run_until_finished(run_id) for run_id in ids]
    return [(run.finished_at - run.available_at).total_seconds() for run in ends if run.finished_at]


async def compare(engine: RunningEngine, kind: str, sizes: Sizes) -> None:
    """Print the percentiles of the small jobs, alone and beside a flood."""
    alone: list[float] = []
    beside: list[float] = []
    took: list[float] = []
    for _ in range(sizes.rounds):
        alone += await small_jobs(engine, sizes.jobs, 0.02)
        began = time.perf_counter()
        flood = await engine.enqueue(kind, {"lines": sizes.lines})
        beside += await small_jobs(engine, sizes.jobs, 0.02)
        await engine.run_until_finished(flood)
        took.append(time.perf_counter() - began)
    words = [
        f"{name} p50 {percentile(values, 0.5) * 1e3:6.1f} ms, p95 {percentile(values, 0.95) * 1e3:6.1f} ms"
        for name, values in (("alone", alone), ("beside", beside))
    ]
    ratio = percentile(beside, 0.95) / percentile(alone, 0.95)
    print(f"{kind:8s} {'; '.join(words)}; p95 ratio {ratio:.2f}; {sizes.lines} lines in {min(took):.1f} s at best")


async def measure(url: str, sizes: Sizes) -> None:
    """All kinds of floods on one database."""
    async with running_engine(url, flooding()) as engine:
        await engine.finish("process", {"lines": 1})
        await small_jobs(engine, sizes.jobs // 3, 0.02)
        for kind in KINDS:
            await compare(engine, kind, sizes)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on each database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=150, help="small jobs in a window")
    parser.add_argument("--lines", type=int, default=100_000, help="of a flood")
    options = parser.parse_args(arguments)
    sizes = Sizes(options.rounds, options.jobs, options.lines)
    print(load())
    for database in options.database or DATABASES:
        print(f"-- {database}")
        with fresh_database(database) as url:
            uvloop.run(measure(url, sizes))


if __name__ == "__main__":
    main()
