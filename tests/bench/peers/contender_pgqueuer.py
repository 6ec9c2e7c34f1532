"""PgQueuer: enqueues and drains jobs that do nothing. Run by ``tests.bench.peers.run`` in an environment of its own."""

import asyncio
import importlib
import json
import sys
import time
from datetime import timedelta
from typing import Any

from tests.bench.peers.tally import Tally, asked

asyncpg: Any = importlib.import_module("asyncpg")
pgqueuer: Any = importlib.import_module("pgqueuer")
uvloop: Any = importlib.import_module("uvloop")

BATCH = 500


async def main(url: str, runs: int, tally: Tally) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    connection = await asyncpg.connect(url)
    driver = pgqueuer.AsyncpgDriver(connection)
    queries = pgqueuer.Queries(driver)
    if not tally.member:
        await queries.install()
    began = time.perf_counter()
    for first in range(0, 0 if tally.member else runs, 1000):
        size = min(1000, runs - first)
        await queries.enqueue(["nothing"] * size, [None] * size, [0] * size)
    enqueued = time.perf_counter() - began
    # Anyone who measures the server's processor time may look at it now.
    print("enqueued", flush=True)
    sys.stdin.readline()
    queue = pgqueuer.PgQueuer(driver)

    async def nothing(_job: Any) -> None:
        if tally.one():
            queue.shutdown.set()

    async def shut_down() -> None:
        await tally.wait()
        queue.shutdown.set()

    queue.entrypoint("nothing")(nothing)
    began, cpu = time.perf_counter(), time.process_time()
    others = [asyncio.create_task(shut_down())] if tally.members > 1 else []
    await queue.run(batch_size=BATCH, dequeue_timeout=timedelta(seconds=1))
    await asyncio.gather(*others)
    drained, used = time.perf_counter() - began, time.process_time() - cpu
    await connection.close()
    return {"enqueue": enqueued, "drain": drained, "cpu": used}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(*asked()))))
