"""PgQueuer: enqueues jobs one by one, each in a transaction of its own. Run by ``tests.bench.table``."""

import asyncio
import importlib
import json
import sys
import time
from typing import Any

asyncpg: Any = importlib.import_module("asyncpg")
pgqueuer: Any = importlib.import_module("pgqueuer")
uvloop: Any = importlib.import_module("uvloop")


async def main(url: str, runs: int) -> dict[str, float]:
    """Seconds of all, and this process' seconds of processor time."""
    connection = await asyncpg.connect(url)
    queries = pgqueuer.Queries(pgqueuer.AsyncpgDriver(connection))
    await queries.install()
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(runs):
        await queries.enqueue("nothing", json.dumps({"number": number}).encode())
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    await connection.close()
    return {"took": took, "cpu": cpu}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(sys.argv[1], int(sys.argv[2])))))
