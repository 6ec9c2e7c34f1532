"""Take part in the public comparison of PostgreSQL's job queues, hardbyte/postgresql-job-queue-benchmarking.

Its harness starts ``python adapter.py`` with variables of the environment, writes ``ENQUEUE 50`` to its input, reads
JSON lines from its output, and ends it by SIGTERM; its ``CONTRIBUTING_ADAPTERS.md`` is the contract. The process is one
node with the defaults of ``cronograph serve`` but for its slots, and puts runs into the queue through the public
interface. README.md beside this file says how to run it.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import uvloop
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from cronograph.jobs import RunSpec, enqueue_many, job
from cronograph.server import Cronograph

MANIFEST: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("adapter.json").read_text())
JOB: Final = "harness.work"
KEPT: Final = 32_768
"""So many of the newest latencies are kept: a run of hours must not fill the memory."""
WINDOW: Final = 30.0
"""Seconds that the percentiles look back."""
LOOK: Final = 0.2
"""Seconds between two looks at the depth of the queue."""
OBSERVED: Final = frozenset({"queue_depth", "producer_target_rate"})
"""Figures of the whole system, which the first of several processes alone reports."""


@dataclass(frozen=True)
class Wanted:
    """What the harness asks for, by variables of the environment; the defaults are those of its contract."""

    database_url: str
    mode: str
    pacing: str
    rate: float
    batch: int
    period: float
    depth: int
    workers: int
    payload: int
    work: float
    every: int
    instance: int
    rate_file: Path | None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Wanted":
        """Read the variables; ``KeyError`` without ``DATABASE_URL``."""
        given = environment.get
        rate_file = given("PRODUCER_RATE_CONTROL_FILE")
        return cls(
            database_url=environment["DATABASE_URL"].replace("postgres://", "postgresql://", 1),
            mode=given("PRODUCER_MODE", "fixed"),
            pacing=given("PRODUCER_PACING", "adapter"),
            rate=float(given("PRODUCER_RATE", "800")),
            batch=int(given("PRODUCER_BATCH_MAX", "128")),
            period=int(given("PRODUCER_BATCH_MS", "25")) / 1e3,
            depth=int(given("TARGET_DEPTH", "1000")),
            workers=int(given("WORKER_COUNT", "32")),
            payload=int(given("JOB_PAYLOAD_BYTES", "256")),
            work=int(given("JOB_WORK_MS", "1")) / 1e3,
            every=int(given("SAMPLE_EVERY_S", "5")),
            instance=int(given("BENCH_INSTANCE_ID", "0")),
            rate_file=Path(rate_file) if rate_file else None,
        )

    def rate_now(self) -> float:
        """Jobs per second that are wanted now: the harness may change it in a file."""
        return self.rate if self.rate_file is None else float(self.rate_file.read_text().strip())


@dataclass
class Figures:
    """What was counted so far."""

    enqueued: int = 0
    completed: int = 0
    depth: int = 0
    target: float = 0.0
    latencies: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT))

    def started(self, made_at: float) -> None:
        """Keep how long a run waited for its start."""
        self.latencies.append((time.monotonic(), max(0.0, time.time() - made_at) * 1e3))

    def percentiles(self, *parts: float) -> list[float]:
        """Milliseconds from the insert to the start, of the last ``WINDOW`` seconds; 0 where nothing started."""
        since = time.monotonic() - WINDOW
        # Another thread adds to them meanwhile.
        ordered = sorted(latency for at, latency in self.latencies.copy() if at >= since)
        return [ordered[round(part * (len(ordered) - 1))] if ordered else 0.0 for part in parts]


def write(wanted: Wanted, line: Mapping[str, object]) -> None:
    """Write a line for the harness."""
    print(json.dumps({**line, "instance_id": wanted.instance}), flush=True)


def now() -> str:
    """The time, as the contract writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe(wanted: Wanted) -> None:
    """Say what takes part; before that the tables are there."""
    own = {name: MANIFEST[name] for name in ("system", "event_tables", "extensions", "db_name")}
    found = version("cronograph")
    write(wanted, {"kind": "descriptor", **own, "version": found, "schema_version": found, "started_at": now()})


def sample(wanted: Wanted, figures: Figures, enqueued: int, completed: int, seconds: float) -> None:
    """Write a line for each figure; the counts are of the last ``seconds``."""
    p50, p95, p99 = figures.percentiles(0.5, 0.95, 0.99)
    found: Sequence[tuple[str, float, float]] = (
        ("claim_p50_ms", p50, WINDOW),
        ("claim_p95_ms", p95, WINDOW),
        ("claim_p99_ms", p99, WINDOW),
        ("enqueue_rate", enqueued / seconds, wanted.every),
        ("completion_rate", completed / seconds, wanted.every),
        ("queue_depth", figures.depth, 0),
        ("producer_target_rate", figures.target, 0),
    )
    common = {"t": now(), "system": MANIFEST["system"], "kind": "adapter", "subject_kind": "adapter", "subject": ""}
    for metric, value, window in found:
        if wanted.instance == 0 or metric not in OBSERVED:
            write(wanted, {**common, "metric": metric, "value": float(value), "window_s": float(window)})


async def sampling(wanted: Wanted, figures: Figures) -> None:
    """Write the figures at each multiple of ``SAMPLE_EVERY_S`` of the clock, so that systems are shown side by side."""
    enqueued, completed, last = figures.enqueued, figures.completed, time.monotonic()
    while True:
        await asyncio.sleep(wanted.every - time.time() % wanted.every)
        seconds = max(1e-3, time.monotonic() - last)
        sample(wanted, figures, figures.enqueued - enqueued, figures.completed - completed, seconds)
        enqueued, completed, last = figures.enqueued, figures.completed, last + seconds


async def looking(engine: AsyncEngine, figures: Figures) -> None:
    """Count what waits in the queue, again and again."""
    waiting = text("SELECT count(*) FROM cronograph.run_open WHERE state IN ('waiting', 'stuck')")
    while True:
        async with engine.connect() as conn:
            figures.depth = (await conn.execute(waiting)).scalar_one()
        await asyncio.sleep(LOOK)


async def told() -> AsyncGenerator[int]:
    """Yield how many runs each line of the harness asks for."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        word, _, number = line.decode().partition(" ")
        if word == "ENQUEUE":
            yield int(number)


async def paced(wanted: Wanted, figures: Figures) -> AsyncGenerator[int]:
    """Yield how many runs are owed, by the seconds that have really passed."""
    last, owed = time.monotonic(), 0.0
    while True:
        await asyncio.sleep(max(0.0, wanted.period - (time.monotonic() - last)))
        figures.target = wanted.rate_now()
        passed = time.monotonic() - last
        last, owed = last + passed, owed + figures.target * passed
        if owed >= 1:
            count = min(wanted.batch, int(owed))
            owed -= count
            yield count


async def filling(wanted: Wanted, figures: Figures) -> AsyncGenerator[int]:
    """Yield how many runs the queue lacks."""
    while True:
        missing = min(wanted.batch, wanted.depth - figures.depth)
        if missing > 0:
            yield missing
        await asyncio.sleep(LOOK if missing <= 0 else 0)


async def producing(engine: AsyncEngine, wanted: Wanted, figures: Figures) -> None:
    """Put runs into the queue, each batch in a transaction of its own."""
    padding = "x" * wanted.payload
    batches = filling(wanted, figures) if wanted.mode == "depth-target" else paced(wanted, figures)
    if wanted.mode == "fixed" and wanted.pacing == "harness":
        figures.target, batches = wanted.rate, told()
    async for count in batches:
        spec = RunSpec(JOB, {"made_at": time.time(), "padding": padding})
        async with engine.begin() as conn:
            await enqueue_many(conn, [spec] * count)
        figures.enqueued += count


async def main(wanted: Wanted) -> None:
    """Produce, work and report until SIGTERM."""
    figures, stop = Figures(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

    @job(JOB)
    async def work(made_at: float, padding: str) -> None:
        figures.started(made_at)
        await asyncio.sleep(wanted.work)
        figures.completed += 1

    engine = create_async_engine(wanted.database_url.replace("postgresql://", "postgresql+psycopg://", 1), pool_size=2)
    # The harness wants the end within 5 s.
    async with Cronograph(wanted.database_url, jobs=[work], no_auth=True, slots=wanted.workers, drain_timeout=3):
        describe(wanted)
        async with asyncio.TaskGroup() as both:
            own = [both.create_task(producing(engine, wanted, figures)), both.create_task(sampling(wanted, figures))]
            if wanted.instance == 0:
                own.append(both.create_task(looking(engine, figures)))
            await stop.wait()
            for one in own:
                one.cancel()
    await engine.dispose()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(Wanted.of(os.environ)))
