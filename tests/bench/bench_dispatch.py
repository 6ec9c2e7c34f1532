"""How long one dispatching transaction takes when a server was down for two hours.

Run it from the repository's root: ``python -m tests.bench.bench_dispatch``; ``--help`` lists the options.
Fifty tasks of every second are two hours late, under each misfire policy. The longest transaction must stay far below
a second (250 ms is the aim), because due tasks of others wait behind it.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cronograph.jobs.core.model import MisfirePolicy
from cronograph.jobs.queue.occurrences import dispatch_due
from tests.bench.measuring import load
from tests.support.databases import sqlite_address
from tests.support.schema import migrate
from tests.support.storage import Stored


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per misfire policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--hours", type=float, default=2, help="for which the server was down")
    options = parser.parse_args(arguments)
    print(f"{options.tasks} tasks of every second, {options.hours:g} h late, SQLite; {load()}")
    for misfire in MisfirePolicy:
        with tempfile.TemporaryDirectory() as folder:
            url = sqlite_address(Path(folder) / "bench.db")
            migrate(url)
            stored = Stored(url)
            stored.node()
            for place in range(options.tasks):
                stored.task("* * * * * *", name=f"task-{place:04}", misfire=misfire)
            stored.at(options.hours * 3600 + 0.5)
            took, made = _catch_up(stored)
            stored.close()
        print(
            f"{misfire.value:5} {made:5} runs, {len(took):4} transactions, all {sum(took):6.2f} s, "
            f"longest {max(took) * 1000:6.1f} ms, median {sorted(took)[len(took) // 2] * 1000:6.1f} ms"
        )


def _catch_up(stored: Stored) -> tuple[list[float], int]:
    took: list[float] = []
    made = 0
    while True:
        began = time.perf_counter()
        dispatched = stored.do(dispatch_due, "bench")
        took.append(time.perf_counter() - began)
        made += dispatched.made
        if not dispatched.more:
            return took, made


if __name__ == "__main__":
    main()
