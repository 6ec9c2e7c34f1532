"""Measure this machine and this database by jobs that do nothing, in a place of their own, not in the real data."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ...jobs import RunSpec, enqueue_many_sync, job
from ...jobs.actions.tasks import create_tasks
from ...jobs.base.context import JobContext
from ...jobs.base.services import Services
from ...jobs.core.base.times import counted, time_text
from ...jobs.core.model import ScheduleSpec, TaskSpec
from ...jobs.core.schedule import Syntax
from ...jobs.own.threads import in_own_thread
from ...jobs.registry import Registry
from ...jobs.runtime.base.settings import EngineSettings
from ...jobs.runtime.engine import Engine
from ...jobs.store.db.database import Database
from ...jobs.store.db.transaction import Tx, Wake
from .schema import migrate

CHUNK = 1_000
"""Runs and tasks of one transaction."""
_NOTHING, _STAMP, _LATE = "nothing", "stamp", "late"
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Amount:
    """Set the amounts of a trial.

    Attributes:
        runs: That wait when the node starts.
        latencies: Runs that are enqueued one after the other, each when nothing else is going on.
        tasks: That are due at the same second.
    """

    runs: int = 10_000
    latencies: int = 50
    tasks: int = 300


@dataclass(frozen=True, slots=True)
class Spread:
    """Some durations in milliseconds: the middle one, the 99th of a hundred, the longest."""

    p50: float
    p99: float
    longest: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Spread":
        """Return the spread of at least one duration."""
        ordered = sorted(seconds)
        p50, p99 = (ordered[min(len(ordered) - 1, int(part * len(ordered)))] for part in (0.5, 0.99))
        return cls(*(round(value * 1e3, 1) for value in (p50, p99, ordered[-1])))


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a trial.

    Attributes:
        enqueued: Runs a second put into the queue, a thousand in a transaction.
        drained: Runs a second taken, executed and stored by one node.
        processor: Microseconds of this process' processor time for each of these.
        start: From the call of ``enqueue`` to the first line of the job, with nothing else going on.
        late: By how much the runs of tasks that are due at one second start after it.
    """

    enqueued: float
    drained: float
    processor: float
    start: Spread
    late: Spread

    def as_json(self) -> dict[str, Any]:
        """Return the fields for programs."""
        return asdict(self)


class _Jobs:
    """The jobs of a trial, and the values they have seen."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.count = 0
        self.stamps: list[float] = []
        self.late: list[float] = []
        self.changed = asyncio.Event()

        async def nothing() -> None:
            self.count += 1
            self.changed.set()

        async def stamp() -> None:
            self.stamps.append(time.perf_counter())
            self.changed.set()

        async def late(context: JobContext) -> None:
            due = context.scheduled_for or datetime.now(UTC)
            self.late.append((datetime.now(UTC) - due).total_seconds())
            self.changed.set()

        for name, handler in ((_NOTHING, nothing), (_STAMP, stamp), (_LATE, late)):
            job(name, registry=self.registry)(handler)

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until ``reached`` returns True."""
        async with asyncio.timeout(_PATIENCE):
            while not reached():
                self.changed.clear()
                await self.changed.wait()


async def measure(
    database_url: str, amount: Amount, settings: EngineSettings, note: Callable[[str], object]
) -> Figures:
    """Measure in an empty place (see ``scratch_database``), with one node of these settings.

    Args:
        amount: How much is tried.
        note: Called with the name of each step as it begins.

    Raises:
        TimeoutError: nothing happened for two minutes.
    """
    await in_own_thread(migrate, database_url)
    jobs, database = _Jobs(), Database(database_url)
    engine = Engine(Services(database), jobs.registry, settings)
    try:
        note(f"enqueueing {counted(amount.runs, 'run')}")
        enqueued = await _enqueue(database, amount.runs)
        note(f"draining {counted(amount.runs, 'run')}")
        drained, processor = await _drain(jobs, engine, amount.runs)
        note(f"starting {counted(amount.latencies, 'run')} one by one")
        start = Spread.of([await _start_one(jobs, database) for _ in range(amount.latencies)])
        note(f"waiting for {counted(amount.tasks, 'task')} due at one second")
        late = await _late(jobs, database, amount.tasks)
    finally:
        await engine.stop()
        await database.close()
    return Figures(enqueued, drained, processor, start, late)


async def _enqueue(database: Database, runs: int) -> float:
    began = time.perf_counter()
    for first in range(0, runs, CHUNK):
        await database.write(_put, _NOTHING, min(CHUNK, runs - first))
    return round(runs / (time.perf_counter() - began), 1)


async def _drain(jobs: _Jobs, engine: Engine, runs: int) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    await engine.start()
    await jobs.until(lambda: jobs.count >= runs)
    took, used = time.perf_counter() - began, time.process_time() - used
    return round(runs / took, 1), round(used / runs * 1e6, 1)


async def _start_one(jobs: _Jobs, database: Database) -> float:
    seen, began = len(jobs.stamps), time.perf_counter()
    await database.write(_put, _STAMP, 1)
    await jobs.until(lambda: len(jobs.stamps) > seen)
    took = jobs.stamps[-1] - began
    # What follows the end of a run (its result, its events) is not to be part of the next one's time.
    await asyncio.sleep(0.02)
    return took


async def _late(jobs: _Jobs, database: Database, tasks: int) -> Spread:
    # The tasks have to be there before they are due: a slow database makes some hundred a second.
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3 + tasks // 50)
    schedule = ScheduleSpec(Syntax.TIMESTAMP, time_text(due))
    for first in range(0, tasks, CHUNK):
        names = [f"trial-{place}" for place in range(first, min(tasks, first + CHUNK))]
        await database.write(create_tasks, [TaskSpec(name, _LATE, schedule) for name in names])
    await jobs.until(lambda: len(jobs.late) >= tasks)
    return Spread.of(jobs.late)


def _put(tx: Tx, job_name: str, runs: int) -> None:
    enqueue_many_sync(tx.conn, [RunSpec(job_name)] * runs)
    # Callers that enqueue in their own transaction notify the nodes; here the node is in this process.
    tx.wake(Wake.RUNS | Wake.EVENTS)
