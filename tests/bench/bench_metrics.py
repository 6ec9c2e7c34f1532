"""What monitoring costs: the counting of a run's start and end, and a scrape of a node with many jobs.

Run it from the repository's root: ``python -m tests.bench.bench_metrics``; ``--help`` lists the options.
"""

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from cronograph.jobs.core.counts import NodeCounts
from cronograph.jobs.core.model import Isolation, Trigger
from cronograph.jobs.core.outcome import Succeeded
from cronograph.server.metrics.node import NodeParts, RequestCounts, node_text
from tests.bench.measuring import load

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def an_end(number: int, jobs: int) -> Any:
    """An attempt that ended, one in ten of them of a task."""
    task = f"task-{number % 500}" if number % 10 == 0 else None
    run = SimpleNamespace(
        id=number,
        job_name=f"job-{number % jobs}",
        group=f"group-{number % 300}",
        task_name=task,
        attempt=1,
        scheduled_for=NOW if task else None,
        trigger=Trigger.SCHEDULE if task else Trigger.API,
        available_at=NOW,
        started_at=NOW + timedelta(milliseconds=number % 4000),
    )
    return SimpleNamespace(run=run, outcome=Succeeded(), cancelled=False, seconds=number % 700 / 100, log_cut=0)


def parts_of(counts: NodeCounts) -> NodeParts:
    """A node that has counted this."""
    slots = dict.fromkeys(Isolation, (1, 20))
    lag = {"jobs": 0.001, "api": 0.001}
    return NodeParts(
        counts, RequestCounts(), (), None, lambda: "n", lambda: True, lambda: slots, lambda: lag, lambda: 0
    )


def counting(counts: NodeCounts, ends: Sequence[Any]) -> float:
    """Seconds for a start and an end, in batches of 100."""
    began = time.process_time()
    for first in range(0, len(ends), 100):
        batch = ends[first : first + 100]
        counts.begun([one.run for one in batch])
        counts.ended(batch, {one.run.id for one in batch})
    return (time.process_time() - began) / max(1, len(ends))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=100_000)
    options = parser.parse_args()
    counts = NodeCounts()
    ends = [an_end(number, options.jobs) for number in range(options.runs)]
    print(f"load {load()}")
    print(f"counting    {counting(counts, ends) * 1e6:8.2f} µs for the start and the end of a run")
    parts = parts_of(counts)
    for what, changed in (
        ("first", 0),
        ("nothing changed", 0),
        ("100 jobs changed", 100),
        ("all changed", options.jobs),
    ):
        counting(counts, ends[:changed])
        began = time.process_time()
        text = node_text(parts)
        took = time.process_time() - began
        print(f"scrape      {took * 1e3:8.2f} ms, {len(text) / 1e6:.1f} MB, {text.count(chr(10))} lines: {what}")


if __name__ == "__main__":
    main()
