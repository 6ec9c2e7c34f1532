"""DBOS: workflows of ten steps that do nothing. Run by ``tests.bench.peers.steps`` in an environment of its own."""

import asyncio
import importlib
import importlib.metadata
import json
import sys
import time
from typing import Any

dbos: Any = importlib.import_module("dbos")

STEPS = 10
AT_ONCE = 200


async def nothing(number: int) -> int:
    """Return what a step does."""
    return number


step: Any = dbos.DBOS.step()(nothing)


async def ten_steps() -> None:
    """A run."""
    for number in range(STEPS):
        await step(number)


workflow: Any = dbos.DBOS.workflow()(ten_steps)


async def main(url: str, runs: int) -> dict[str, object]:
    """Seconds from the first start to the last end, and this process' seconds of processor time meanwhile."""
    dbos.DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
    dbos.DBOS.launch()
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with places:
            await workflow()

    await one()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(runs)))
    seconds, used = time.perf_counter() - began, time.process_time() - cpu
    dbos.DBOS.destroy()
    return {"seconds": seconds, "cpu": used, "version": importlib.metadata.version("dbos")}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2])))))
