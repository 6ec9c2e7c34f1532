"""Oban for Python: enqueues and drains jobs that do nothing. For ``tests.bench.peers.run``."""

import asyncio
import importlib
import json
import sys
import time
from typing import Any

from tests.bench.peers.tally import Tally, asked

oban: Any = importlib.import_module("oban")
schema: Any = importlib.import_module("oban.schema")
uvloop: Any = importlib.import_module("uvloop")

CONCURRENCY = 100


async def main(url: str, runs: int, tally: Tally) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    ended = asyncio.Event()

    class Nothing:
        async def process(self, _job: Any) -> None:
            if tally.one():
                ended.set()

    nothing = oban.worker(queue="default")(Nothing)
    pool = await oban.Oban.create_pool(url)
    await schema.install(pool)
    client = oban.Oban(pool=pool, name="client")
    began = time.perf_counter()
    for first in range(0, runs, 1000):
        await client.enqueue_many([nothing.new({}) for _ in range(min(1000, runs - first))])
    enqueued = time.perf_counter() - began
    # Anyone who measures the server's processor time may look at it now.
    print("enqueued", flush=True)
    sys.stdin.readline()
    began, cpu = time.perf_counter(), time.process_time()
    async with oban.Oban(pool=pool, queues={"default": CONCURRENCY}):
        await ended.wait()
    drained, used = time.perf_counter() - began, time.process_time() - cpu
    await pool.close()
    return {"enqueue": enqueued, "drain": drained, "cpu": used}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(*asked()))))
