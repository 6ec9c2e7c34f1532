"""APScheduler 3 in memory: how late jobs start that are due at one second. Run by ``tests.bench.table``."""

import asyncio
import importlib
import json
import resource
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

schedulers: Any = importlib.import_module("apscheduler.schedulers.asyncio")


async def main(tasks: int) -> None:
    """Make them, wait, tell."""
    late: list[float] = []
    over = asyncio.Event()
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5 + tasks // 1000)

    async def one() -> None:
        late.append((datetime.now(UTC) - due).total_seconds())
        if len(late) == tasks:
            over.set()

    scheduler = schedulers.AsyncIOScheduler(timezone=UTC)
    for _ in range(tasks):
        scheduler.add_job(one, "date", run_date=due, misfire_grace_time=None)
    used = resource.getrusage(resource.RUSAGE_SELF)
    scheduler.start()
    await over.wait()
    now = resource.getrusage(resource.RUSAGE_SELF)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    print(json.dumps({"late": late, "cpu": cpu}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
