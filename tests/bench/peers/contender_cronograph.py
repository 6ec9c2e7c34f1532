"""Cronograph through its public interface, with its defaults: enqueues and drains jobs that do nothing."""

import asyncio
import json
import sys
import time

import uvloop
from sqlalchemy import func, select

from cronograph.jobs import RunSpec, enqueue_many_sync, job
from cronograph.jobs.base.services import Services
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Connection, Database, parse_url, sync_engine
from cronograph.jobs.store.schema.tables import run
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.peers.tally import Tally, asked
from tests.support.schema import migrate


def _unfinished(conn: Connection) -> int:
    statement = select(func.count()).where(run.c.finished_at.is_(None))
    count: int = conn.execute(statement).scalar_one()
    return count


def _enqueue(url: str, runs: int) -> float:
    """Seconds that it takes on a connection that is kept and open, as that of the others is."""
    engine = sync_engine(parse_url(url), pooled=1)
    engine.connect().close()
    began = time.perf_counter()
    for first in range(0, runs, 1000):
        with engine.begin() as conn:
            enqueue_many_sync(conn, [RunSpec("nothing")] * min(1000, runs - first))
    took = time.perf_counter() - began
    engine.dispose()
    return took


async def main(url: str, runs: int, tally: Tally) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    enqueued = 0.0
    if not tally.member:
        migrate(url)
        enqueued = _enqueue(url, runs)
    # Anyone who measures the server's processor time may look at it now.
    print("enqueued", flush=True)
    sys.stdin.readline()
    registry, database, ended = Registry(), Database(url), asyncio.Event()

    @job("nothing", registry=registry)
    async def nothing() -> None:
        if tally.one():
            ended.set()

    # As ``cronograph serve`` does.
    leave_out_what_stays()
    node = Engine(Services(database), registry, EngineSettings())
    began, cpu = time.perf_counter(), time.process_time()
    await node.start()
    await (ended.wait() if tally.members == 1 else tally.wait())
    await node.drain()
    drained, used = time.perf_counter() - began, time.process_time() - cpu
    while await database.read(_unfinished):
        # Another process is about to write down the end of its last runs.
        assert tally.members > 1
    await node.stop()
    await database.close()
    return {"enqueue": enqueued, "drain": drained, "cpu": used}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(*asked()))))
