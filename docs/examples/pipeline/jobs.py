"""A data pipeline: files are summed up in child processes, which may be killed and go on where they were.

cronograph serve --jobs jobs
"""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cronograph.jobs import Flow, JobContext, Result, job

STEP = 1_000
"""Rows between two checkpoints."""


@job(schedule="0 0 2 * * *", args={"folder": "incoming"}, group="pipeline")
def collect(folder: str) -> int:
    """Every night: one run for each file, four at once, and the total after the last, or nothing after six hours."""
    files = sorted(Path(folder).glob("*.csv"))
    if files:
        night = Flow("sales", labels={"folder": Path(folder).name}, max_concurrent=4, deadline="6h")
        sums = [night.add(file.name, sum_up, str(file)) for file in files]
        night.add("total", total, folder=folder, sums=[one.result for one in sums])
        night.enqueue_sync()
    return len(files)


@job(group="pipeline")
def total(folder: str, sums: list[dict[str, int]]) -> Result:
    """Adds the files up. If one of them was wrong: mend it, and `cronograph flows retry ID --from-run RUN`."""
    added: Counter[str] = sum(map(Counter[str], sums), Counter[str]())
    Path(folder, "total.txt").write_text("\n".join(f"{name},{added[name]}" for name in sorted(added)))
    return Result(records_processed=len(sums), value=dict(added))


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
