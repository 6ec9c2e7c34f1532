"""Cronograph in ``tests.bench.peers.kinds``, with its defaults."""

import asyncio
import importlib

import uvloop

from cronograph.jobs import RunSpec, enqueue_many_sync
from cronograph.jobs.base.services import Services
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.peers.kinds_jobs import REGISTRIES, declare
from tests.bench.peers.kinds_work import Round
from tests.support.schema import migrate


async def main(this: Round) -> None:
    """Enqueue, drain, tell."""
    if this.work == "import200":
        declare(this.work, importlib.import_module("tests.bench.peers.kinds_slow").import200)
    migrate(this.place)
    engine = sync_engine(parse_url(this.place), pooled=1)
    with engine.begin() as conn:
        enqueue_many_sync(conn, [RunSpec(this.work)] * this.runs)
    engine.dispose()
    leave_out_what_stays()
    database = Database(this.place)
    node = Engine(Services(database), REGISTRIES[this.kind], EngineSettings())
    await node.start()
    while not this.is_over:  # noqa: ASYNC110 - jobs are done in other processes
        await asyncio.sleep(0.002)
    await node.drain()
    await node.stop()
    await database.close()
    this.tell()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(Round()))
