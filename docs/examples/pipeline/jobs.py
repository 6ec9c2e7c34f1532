"""A data pipeline: files are summed up in child processes, which may be killed and go on where they were.

cronograph serve --jobs jobs
"""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cronograph.jobs import JobContext, Result, job

STEP = 1_000
"""Rows between two checkpoints."""


@job(schedule="0 0 2 * * *", args={"folder": "incoming"}, group="pipeline")
def collect(ctx: JobContext, folder: str) -> int:
    """Every night: one run for each file, all of them or none, and the total after the last."""
    files = sorted(Path(folder).glob("*.csv"))
    ctx.enqueue_many_sync([sum_up.run(str(one)) for one in files])
    return len(files)


@job(isolation="process", group="pipeline", retries=5, retry_delay=0.1, timeout=600)
def sum_up(ctx: JobContext, path: str) -> Result:
    """Sums up the sales of a file by product; the checkpoint holds how far it is and the sums so far."""
    start: dict[str, Any] = ctx.checkpoint or {"row": 0, "sums": {}}
    sums, done = Counter[str](start["sums"]), int(start["row"])
    total = sum(1 for _ in rows(path))
    for done, row in enumerate(rows(path), 1):
        if done <= start["row"]:
            continue
        sums[row["product"]] += int(row["amount"])
        if done % STEP == 0:
            ctx.save_checkpoint({"row": done, "sums": dict(sums)})
            ctx.progress(done, total, path)
        if ctx.should_stop:  # the time box, a cancel, or a node that shuts down
            ctx.save_checkpoint({"row": done, "sums": dict(sums)})
            raise InterruptedError(f"stopped after {done} rows")
    Path(path).with_suffix(".sums").write_text("\n".join(f"{name},{sums[name]}" for name in sorted(sums)))
    return Result(records_processed=done - start["row"], value=dict(sums))


def rows(path: str) -> Iterator[dict[str, str]]:
    """The rows of a file, one at a time."""
    with Path(path).open(newline="") as file:
        yield from csv.DictReader(file)
