"""PgQueuer: enqueues and drains jobs that do nothing. Run by ``tests.bench.peers.run`` in an environment of its own."""

import asyncio
import importlib
import json
import sys
import time
from datetime import timedelta
from typing import Any

asyncpg: Any = importlib.import_module("asyncpg")
pgqueuer: Any = importlib.import_module("pgqueuer")
uvloop: Any = importlib.import_module("uvloop")

BATCH = 500


async def main(url: str, runs: int) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    connection = await asyncpg.connect(url)
    driver = pgqueuer.AsyncpgDriver(connection)
    queries = pgqueuer.Queries(driver)
    await queries.install()
    began = time.perf_counter()
    for first in range(0, runs, 1000):
        size = min(1000, runs - first)
        await queries.enqueue(["nothing"] * size, [None] * size, [0] * size)
    enqueued = time.perf_counter() - began
    # Whoever measures the server's processor time may look at it now.
    print("enqueued", flush=True)
    sys.stdin.readline()
    queue = pgqueuer.PgQueuer(driver)
    done = 0

    async def nothing(_job: Any) -> None:
        nonlocal done
        done += 1
        if done == runs:
            queue.shutdown.set()

    queue.entrypoint("nothing")(nothing)
    began, cpu = time.perf_counter(), time.process_time()
    await queue.run(batch_size=BATCH, dequeue_timeout=timedelta(seconds=1))
    drained, used = time.perf_counter() - began, time.process_time() - cpu
    await connection.close()
    return {"enqueue": enqueued, "drain": drained, "cpu": used}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(sys.argv[1], int(sys.argv[2])))))
