"""What many callers enqueue at once: plain runs and one debounced key, by one caller and by many, by turns.

Run it from the repository's root: ``python -m tests.bench.bench_debounce``; ``--help`` lists the options. It judges
nothing: compare within a run. Callers are threads of one process, each of which waits for its commit. ``folded`` is how
many enqueues one transaction had.
"""

import argparse
import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select

from cronograph.jobs import RunSpec, connect, job
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.admission.holding import Debounce
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.node import register
from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from cronograph.jobs.store.schema.tables import event
from tests.bench.measuring import DATABASES, cpu_seconds, fresh_database, load

JOBS = Registry()
DEBOUNCED = {"unique_key": "k", "hold": Debounce(60.0).hold()}


@job("nothing", registry=JOBS)
async def nothing(number: int = 1) -> None:
    """The job."""
    del number


async def publish(url: str) -> None:
    """Have the job known."""
    database = Database(url)
    await register(database, JOBS, EngineSettings())
    await database.close()


def by_callers(connection: Connection, callers: int, enqueues: int, options: dict[str, Any]) -> tuple[float, float]:
    """Enqueue from so many threads; enqueues a second, and microseconds of this process for each."""

    def work(first: int) -> None:
        for number in range(first, enqueues, callers):
            connection.put(RunSpec("nothing", {"number": number}, **options))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(callers)]
    began, used = time.perf_counter(), cpu_seconds()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return enqueues / (time.perf_counter() - began), (cpu_seconds() - used) / enqueues * 1e6


def transactions(url: str) -> int:
    """Return how many have told of runs."""
    engine = sync_engine(parse_url(url))
    with engine.connect() as conn:
        found: int = conn.execute(select(func.count()).select_from(event)).scalar_one()
    engine.dispose()
    return found


def measure(url: str, callers: Sequence[int], each: int, rounds: int) -> None:
    """A line for each number of callers and kind of enqueue."""
    asyncio.run(publish(url))
    connection = connect(url, registry=JOBS)
    for several in callers:
        for _ in range(rounds):
            rates: dict[str, float] = {}
            kinds: dict[str, dict[str, Any]] = {"plain": {}, "debounced": DEBOUNCED}
            for name, options in kinds.items():
                connection.put(RunSpec("nothing", {"number": -1}, **options))
                before, enqueues = transactions(url), several * each
                rates[name], used = by_callers(connection, several, enqueues, options)
                folded = enqueues / max(1, transactions(url) - before)
                print(
                    f"  {several:4} callers, {name:9} {rates[name]:7.0f}/s, {used:6.0f} us of this process, "
                    f"{folded:5.1f} folded",
                    flush=True,
                )
            print(f"  {several:4} callers, debounced/plain {rates['debounced'] / rates['plain']:.2f}", flush=True)
    connection.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--callers", type=int, action="append", help="1, 32 and 128 unless given")
    parser.add_argument("--each", type=int, default=100, help="enqueues of a caller")
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args(arguments)
    print(load())
    for kind in chosen.database or DATABASES:
        print(kind, flush=True)
        with fresh_database(kind) as url:
            measure(url, chosen.callers or (1, 32, 128), chosen.each, chosen.rounds)


if __name__ == "__main__":
    main()
