"""Procrastinate: enqueues and drains jobs that do nothing. Run by ``tests.bench.peers.run`` in its own environment."""

import asyncio
import importlib
import json
import sys
import time
from typing import Any

from tests.bench.peers.tally import Tally, asked

procrastinate: Any = importlib.import_module("procrastinate")
uvloop: Any = importlib.import_module("uvloop")

CONCURRENCY = 100


async def main(url: str, runs: int, _tally: Tally) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    async def do_nothing() -> None:
        pass

    nothing = app.task(name="nothing")(do_nothing)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        began = time.perf_counter()
        for first in range(0, runs, 1000):
            await nothing.batch_defer_async(*[{}] * min(1000, runs - first))
        enqueued = time.perf_counter() - began
        # Anyone who measures the server's processor time may look at it now.
        print("enqueued", flush=True)
        sys.stdin.readline()
        began, cpu = time.perf_counter(), time.process_time()
        await app.run_worker_async(wait=False, concurrency=CONCURRENCY, install_signal_handlers=False)
        drained, used = time.perf_counter() - began, time.process_time() - cpu
    return {"enqueue": enqueued, "drain": drained, "cpu": used}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(*asked()))))
