"""Cronograph: runs of ten steps that do nothing. Run by ``tests.bench.peers.steps``."""

import asyncio
import json
import sys
import time
from functools import partial

import uvloop

from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.server.process.version import installed_version
from tests.bench.bench_steps import all_ended, jobs
from tests.support.schema import migrate
from tests.support.waiting import eventually


async def main(url: str, runs: int) -> dict[str, object]:
    """Seconds from the enqueueing to the last end, and this process' seconds of processor time meanwhile."""
    database = Database(url)
    engine = Engine(Services(database), jobs(), EngineSettings())
    await engine.start()
    await database.write(put, [NewRun("with steps", Trigger.API)])
    await eventually(partial(all_ended, database, 1))
    began, cpu = time.perf_counter(), time.process_time()
    await database.write(put, [NewRun("with steps", Trigger.API)] * runs)
    await eventually(partial(all_ended, database, runs + 1), within=600)
    seconds, used = time.perf_counter() - began, time.process_time() - cpu
    await engine.stop()
    await database.close()
    return {"seconds": seconds, "cpu": used, "version": installed_version()}


if __name__ == "__main__":
    migrate(sys.argv[1])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(sys.argv[1], int(sys.argv[2])))))
