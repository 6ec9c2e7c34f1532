"""What alarms cost an occurrence: the processor time of the reader with 10,000 alarms, and without any.

Run it from the repository's root: ``python -m tests.bench.bench_alarms``; ``--help`` lists the options. Each occurrence
starts and succeeds (two entries of the event log, four events), and each has an alarm that fails in a row, one that is
slow and one that is late, whose timer comes due with it. Each look judges what happened in a second. Garbage is
collected as in a server. The processor time of PostgreSQL itself is not counted.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.actions.tasks import create_task
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.alarms import AlarmSpec, Condition, Settings, Severity, SubjectKind
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.events import ENDED, STARTED, Listed
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.delivery import actions, write
from cronograph.jobs.delivery.rules import TimerKind
from cronograph.jobs.runtime.duties.alarms import AlarmReader
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.measuring import DATABASES, fresh_database

CONDITIONS: Final = (
    (Condition.FAILING, Settings(failed_runs=3)),
    (Condition.SLOW, Settings(after=60.0)),
    (Condition.LATE, Settings(grace=30.0)),
)
BATCH: Final = 10
"""Occurrences of one transaction."""


class Bench:
    """A database with tasks and alarms, and one reader, at a time that the bench sets."""

    def __init__(self, url: str) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.database = Database(url, clock=lambda: self.now)
        self.reader = AlarmReader(Services(self.database), 1, poll=60.0)
        self.run_id = 0

    def fill(self, tasks: int, *, with_alarms: bool) -> None:
        """Create tasks, and three alarms for each."""
        self.database.write_sync(join, NewNode("bench", 1, "1", (JobInfo("work"),), 60.0), only_node=False)
        spec = TaskSpec("", "work", ScheduleSpec(Syntax.CRON, "0 0 3 * * *"))

        def create(tx: Tx, numbers: range) -> None:
            for number in numbers:
                name = f"task-{number}"
                create_task(tx, replace(spec, name=name), submitter="bench")
                for condition, settings in CONDITIONS if with_alarms else ():
                    about = (condition, SubjectKind.TASK, name, settings)
                    wanted = AlarmSpec(f"{condition} {name}", *about, (), Severity.INFO, "")
                    actions.create_alarm(tx, wanted)

        for first in range(0, tasks, 100):
            self.database.write_sync(create, range(first, min(first + 100, tasks)))

    def happen(self, occurrences: int, tasks: int, *, with_alarms: bool) -> None:
        """Let occurrences start and succeed, and timers of late alarms come due."""

        def record(tx: Tx, numbers: range) -> None:
            rows = [
                (self.run_id + n, self.run_id + n, "work", "default", n % tasks + 1, f"task-{n % tasks}")
                for n in numbers
            ]
            tx.emit([Listed(STARTED, rows, "bench"), Listed(ENDED, rows, "bench")])
            if with_alarms:
                # The third alarm of each task is the late one.
                timers = [(3 * (n % tasks) + 3, TimerKind.LOOK, 0, tx.now) for n in numbers]
                write.put_timers(tx.conn, timers)

        for first in range(0, occurrences, BATCH):
            self.database.write_sync(record, range(first, min(first + BATCH, occurrences)))
        self.run_id += occurrences

    async def cost(self, seconds: int, rate: int, tasks: int, *, with_alarms: bool) -> float:
        """Return the processor seconds of the looks at so many seconds."""
        await self.reader.look()
        spent = 0.0
        for _ in range(seconds):
            self.now += timedelta(seconds=1)
            self.happen(rate, tasks, with_alarms=with_alarms)
            began = time.process_time()
            await self.reader.look()
            spent += time.process_time() - began
        return spent

    async def close(self) -> None:
        """End."""
        await self.reader.stop()
        await self.database.close()


async def measure(url: str, tasks: int, rate: int, seconds: int, *, with_alarms: bool) -> str:
    """Return a line about one database."""
    bench = Bench(url)
    try:
        bench.fill(tasks, with_alarms=with_alarms)
        spent = await bench.cost(seconds, rate, tasks, with_alarms=with_alarms)
    finally:
        await bench.close()
    of_one = spent / (seconds * rate)
    alarms = len(CONDITIONS) * tasks if with_alarms else 0
    return (
        f"{alarms:6,} alarms  {rate:4} occurrences/s  {1e6 * of_one:6.1f} us each  {100 * spent / seconds:5.2f} % of a "
        f"core  1 % at {0.01 / of_one if of_one else 0:,.0f}/s"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--alarms", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=50, help="occurrences a second")
    parser.add_argument("--seconds", type=int, default=60)
    chosen = parser.parse_args(arguments)
    tasks = max(1, chosen.alarms // len(CONDITIONS))
    leave_out_what_stays()
    for kind in chosen.database or DATABASES:
        for with_alarms in (False, True):
            with fresh_database(kind) as url:
                line = asyncio.run(measure(url, tasks, chosen.rate, chosen.seconds, with_alarms=with_alarms))
            print(f"{kind:8} {line}", flush=True)


if __name__ == "__main__":
    main()
